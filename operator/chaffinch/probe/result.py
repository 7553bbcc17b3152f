"""What a run measured, as the worker hands it over: whole numbers and sketches only, one text per result.

A result is keyed by the uid of its LoadProbe and the attempt, so that a late or foreign answer is never taken
for this one's. :func:`status_result` is the part that the LoadProbe's status keeps.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints, ValidationError

from chaffinch.api.v1alpha1.common import Count, Name, ShortText, SpecModel, Word
from chaffinch.api.v1alpha1.measurement import Sketch, Sketches
from chaffinch.api.v1alpha1.probe import ProbeResult, SelfCheck, StageResult
from chaffinch.probe.plan import Target

MAX_RESULT_BYTES = 256 * 1024
"""A reader takes no more than this from a worker."""

ErrorsByKind = Annotated[dict[Word, Count], Field(max_length=16)]


class ResultError(ValueError):
    """What a worker sent is not a result, or not the one that was asked for."""


class WarmUpRecord(SpecModel):
    """How the warm-up went; its latencies are not kept."""

    requests: Count
    """Requests that ended, well or not."""
    errors: Count
    """Those of them that failed."""
    errors_by_kind: ErrorsByKind = Field(default_factory=dict)
    """The failed ones by kind of failure."""
    cold: Annotated[tuple[Target, ...], Field(max_length=64)] = ()
    """The targets that have not answered one request well."""


class GeneratorFigures(SpecModel):
    """What the load generator observed of itself."""

    lag_p99_micros: Count
    """P99 of the event loop's lag, in microseconds."""
    cpu_permille: Count
    """Thousandths of a CPU core that the process used."""
    mean_concurrency_milli: Count | None = None
    """Mean number of open requests, in thousandths; absent for a stage with no steady state."""


class StageRecord(SpecModel):
    """What one stage measured, with what only reports need."""

    name: Name
    """The stage."""
    concurrency: Count
    """Clients that each had one request open."""
    planned: Count
    """Requests that the stage was to send."""
    requests: Count
    """Requests that ended, well or not."""
    errors: Count
    """Those of them that failed."""
    errors_by_kind: ErrorsByKind = Field(default_factory=dict)
    """The failed ones by kind of failure."""
    prompt_tokens: Count
    """Tokens in prompts of requests that went well, as the engine counted them."""
    cached_tokens: Count | None = None
    """Those of them that came from the prefix cache; absent if the engine does not say."""
    output_tokens: Count
    """Tokens in answers of requests that went well, as the engine counted them."""
    unknown_tokens: Count
    """Requests that went well and whose tokens the engine did not report."""
    output_tokens_per_1000_seconds: Count
    """Throughput: output tokens per 1,000 seconds of the stage."""
    duration_millis: Count
    """From the first request sent to the last one ended, in milliseconds."""
    stopped: ShortText | None = None
    """Why the stage ended before all its requests were done; absent if they were."""
    sketches: Sketches
    """The latencies; without `tpot` where the tokens of any request are unknown."""
    itl: Sketch
    """Gaps between successive token events, of all requests pooled; for reports, never gated."""
    self_check: SelfCheck
    """Whether the load generator itself kept up."""
    generator: GeneratorFigures
    """What that was decided from."""


class ProbeRecord(SpecModel):
    """What a run measured."""

    probe_uid: Word
    """Uid of the LoadProbe that the run belongs to."""
    attempt: Count
    """Attempt of the rollout that it belongs to."""
    engine_version: Annotated[str, StringConstraints(max_length=128)] | None = None
    """Version that the first target reported."""
    warm_up: WarmUpRecord | None = None
    """How the warm-up went."""
    stages: tuple[StageRecord, ...] = ()
    """What each stage measured; a run that stopped early has fewer than its plan."""

    def to_json(self) -> str:
        """Return the canonical text: keys in the order of the model, no blanks, no absent fields."""
        return self.model_dump_json(by_alias=True, exclude_none=True)


def parse_record(text: bytes | str, *, probe_uid: str, attempt: int) -> ProbeRecord:
    """Read a worker's answer and check whose it is.

    Raises:
        ResultError: If it is no result, too large, or of another probe or attempt.
    """
    if len(text) > MAX_RESULT_BYTES:
        raise ResultError(f"the worker's result has more than {MAX_RESULT_BYTES} bytes")
    try:
        record = ProbeRecord.model_validate_json(text)
    except ValidationError as error:
        fields = ", ".join(".".join(map(str, problem["loc"])) or "result" for problem in error.errors()[:4])
        raise ResultError(f"the worker's result is not valid: {fields}") from None
    if (record.probe_uid, record.attempt) != (probe_uid, attempt):
        raise ResultError("the worker's result belongs to another probe or attempt")
    return record


def status_result(record: ProbeRecord) -> ProbeResult:
    """Return the part of a record that a LoadProbe's status keeps."""
    return ProbeResult(
        engine_version=record.engine_version or None,
        stages=tuple(_status_stage(stage) for stage in record.stages),
    )


def warm_up_problem(record: ProbeRecord) -> str | None:
    """Say why the targets are not warm after a run, or None if they are.

    A single failure leaves a server warm; a warm-up of which half failed has warmed nothing, and a
    server that has answered nothing well is not warm, however well the others did.
    """
    warm_up = record.warm_up
    if warm_up is None or warm_up.requests == 0:
        return "no warm-up request ended"
    if warm_up.errors * 2 >= warm_up.requests:
        kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(warm_up.errors_by_kind.items()))
        return f"{warm_up.errors} of {warm_up.requests} warm-up requests failed ({kinds})"
    if warm_up.cold:
        return f"no warm-up request went well at {', '.join(warm_up.cold[:4])}"
    return None


def _status_stage(stage: StageRecord) -> StageResult:
    kept = StageResult.model_fields.keys() - {"complete"}
    return StageResult.model_validate(
        {**{name: getattr(stage, name) for name in kept}, "complete": stage.stopped is None}
    )
