"""What is shown of baselines, to people and as JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from chaffinch.api.v1alpha1.baseline import InferenceBaselineSpec
from chaffinch.api.v1alpha1.common import format_time
from chaffinch.api.v1alpha1.measurement import StageMeasurement
from chaffinch.api.v1alpha1.names import baseline_object_name
from chaffinch.api.v1alpha1.parse import InvalidSpec, parse_baseline
from chaffinch.cli.documents import Document
from chaffinch.cli.output import Shape
from chaffinch.cli.tables import columns, quantile, stage_table
from chaffinch.domain import grid
from chaffinch.domain.baseline import verify

_DECIMALS = 6  # microseconds; an edge of the grid has more digits than it means
_QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
_LATENCY = (
    "in seconds, at most 2.5 % above the exact value; `unbounded` where too many failed; null if it was not"
    " measured"
)
_CHECKED = {
    "object": "name of the InferenceBaseline",
    "ok": "whether it is what was frozen",
    "problem": "why not, or null",
}
_NAMED = {
    "name": "name of the baseline",
    "version": "its version",
    "digest": "SHA-256 of its content",
}

FROZEN = Shape(
    "An object.",
    {
        "object": _CHECKED["object"],
        **_NAMED,
        "file": "the file with the manifest; null if the object was created in the cluster",
        "gateStage": "the stage that verdicts are reached from",
        "requests": "requests of that stage",
        "ttftP95": "its P95 time to first token, like the latencies of `baseline show`",
    },
)
SHOWN = Shape(
    "A list: a file may hold several.",
    {
        **_CHECKED,
        **_NAMED,
        "model": "the model: the object's `spec.model`",
        "fingerprint": "what was measured: `spec.fingerprint`",
        "provenance": "where it came from: `spec.provenance`",
        "gateStage": "the stage that verdicts are reached from",
        "stages[].name": "a stage",
        "stages[].concurrency": "clients that each had one request open",
        "stages[].requests": "requests that ended, well or not",
        "stages[].errors": "those of them that failed",
        **{
            f"stages[].{name}.{label}": f"{label.upper()} {what}, {_LATENCY}"
            for name, what in (
                ("ttft", "time to first token"),
                ("e2e", "time to last token"),
                ("tpot", "time per output token"),
            )
            for label in _QUANTILES
        },
    },
)
LISTED = Shape(
    "A list, by name of the object.",
    {
        **_CHECKED,
        "version": "its version; null, as all that follows, if the object cannot be read",
        "name": "name of the baseline",
        "model": "name of the model in requests",
        "engineVersion": "version that the engine reported",
        "gpuProduct": "GPU product that the pods ask for; empty if they take any",
        "gpuCount": "GPUs per pod",
        "frozenAt": "when it was frozen",
    },
)
VERIFIED = Shape("A list, in the order of the files.", {"file": "the file", **_CHECKED})
DIFFERENCE = Shape(
    "An object.",
    {
        "comparable": "whether a comparison of the two means something",
        "differences[].field": "a circumstance that differs",
        "differences[].obstacle": "whether it forbids the comparison",
    },
)


@dataclass(frozen=True, slots=True)
class Checked:
    """A baseline that has been compared with its digest.

    Attributes:
        document: Where it comes from.
        spec: What it holds; None if that cannot be read.
        problem: Why it is not what was frozen; None if it is.
    """

    document: Document
    spec: InferenceBaselineSpec | None
    problem: str | None


def checked(document: Document) -> Checked:
    """Read a baseline and compare it with its digest and its name."""
    try:
        spec = parse_baseline(document.body)
    except InvalidSpec as error:
        return Checked(document, None, str(error))
    return Checked(document, spec, verify(spec, document.name))


def table_of(found: Sequence[Checked]) -> str:
    """Return baselines as a table, a line each."""
    return columns(
        [("name", "version", "model", "engine", "gpus", "frozen", "check"), *(_line(each) for each in found)]
    )


def _line(found: Checked) -> tuple[str, ...]:
    verdict = found.problem or "ok"
    if found.spec is None:
        return (found.document.name, "", "", "", "", "", verdict)
    spec, circumstances = found.spec, found.spec.fingerprint
    gpus = f"{circumstances.gpu_count} x {circumstances.gpu_product or 'GPU'}"
    frozen = format_time(spec.provenance.created_at)
    engine = circumstances.engine_version
    return (found.document.name, spec.version, spec.model.name, engine, gpus, frozen, verdict)


def description(spec: InferenceBaselineSpec, object_name: str) -> str:
    """Return all that people ask of a baseline."""
    circumstances, source = spec.fingerprint, spec.provenance
    problem = verify(spec, object_name)
    model = spec.model.source + (f"@{spec.model.revision}" if spec.model.revision else "")
    facts = columns(
        [
            ("baseline", f"{spec.name} {spec.version}"),
            ("digest", f"{spec.digest} ({problem or 'verified'})"),
            ("model", f"{spec.model.name} from {model}"),
            ("engine", f"{circumstances.engine_image}, version {circumstances.engine_version}"),
            ("arguments", " ".join(circumstances.engine_args) or "(none)"),
            ("hardware", f"{circumstances.gpu_count} x {circumstances.gpu_product or 'GPU'} per pod"),
            ("pods measured", str(circumstances.replicas)),
            ("measured by", f"probe {source.probe} on {source.rollout}, revision {source.revision}"),
            ("frozen", format_time(source.created_at)),
        ]
    )
    table = stage_table(spec.stages, spec.gate_stage)
    return f"{facts}\n\n{table}\n\n* the stage that verdicts are reached from"


def gate_summary(spec: InferenceBaselineSpec) -> str:
    """Say on how much a baseline rests."""
    gate = _gate(spec)
    p95 = quantile(gate.sketches.ttft, _QUANTILES["p95"])
    return f"it holds {gate.requests} requests of stage {gate.name}, P95 TTFT {p95}"


def frozen_shape(spec: InferenceBaselineSpec, file: str | None) -> dict[str, Any]:
    """Return what was frozen, and where it is."""
    gate = _gate(spec)
    return {
        "object": baseline_object_name(spec.name, spec.version),
        **_named(spec),
        "file": file,
        "gateStage": gate.name,
        "requests": gate.requests,
        "ttftP95": _seconds(gate.sketches.ttft, _QUANTILES["p95"]),
    }


def shown_shape(spec: InferenceBaselineSpec, object_name: str) -> dict[str, Any]:
    """Return all that a baseline holds, its sketches as quantiles."""
    whole = spec.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {
        **_verdict(object_name, verify(spec, object_name)),
        **_named(spec),
        **{key: whole[key] for key in ("model", "fingerprint", "provenance", "gateStage")},
        "stages": [_stage(stage) for stage in spec.stages],
    }


def listed_shape(found: Checked) -> dict[str, Any]:
    """Return one line of the list."""
    spec = found.spec
    return {
        **_verdict(found.document.name, found.problem),
        "version": spec and spec.version,
        "name": spec and spec.name,
        "model": spec and spec.model.name,
        "engineVersion": spec and spec.fingerprint.engine_version,
        "gpuProduct": spec and spec.fingerprint.gpu_product,
        "gpuCount": spec and spec.fingerprint.gpu_count,
        "frozenAt": spec and format_time(spec.provenance.created_at),
    }


def verified_shape(found: Checked) -> dict[str, Any]:
    """Return what became of the check of one baseline of a file."""
    return {"file": found.document.place, **_verdict(found.document.name, found.problem)}


def _verdict(name: str, problem: str | None) -> dict[str, Any]:
    return {"object": name, "ok": problem is None, "problem": problem}


def _named(spec: InferenceBaselineSpec) -> dict[str, str]:
    return {"name": spec.name, "version": spec.version, "digest": spec.digest}


def _gate(spec: InferenceBaselineSpec) -> StageMeasurement:
    return next(stage for stage in spec.stages if stage.name == spec.gate_stage)


def _stage(stage: StageMeasurement) -> dict[str, Any]:
    sketches = {"ttft": stage.sketches.ttft, "e2e": stage.sketches.e2e, "tpot": stage.sketches.tpot}
    return {
        "name": stage.name,
        "concurrency": stage.concurrency,
        "requests": stage.requests,
        "errors": stage.errors,
        **{
            name: {label: _seconds(sketch, p) for label, p in _QUANTILES.items()}
            for name, sketch in sketches.items()
        },
    }


def _seconds(sketch: str | None, p: float) -> float | str | None:
    """Return a quantile as JSON can have it: JSON has no infinity."""
    seconds = grid.decode(sketch).quantile_seconds(p) if sketch else None
    if seconds is None:
        return None
    return "unbounded" if math.isinf(seconds) else round(seconds, _DECIMALS)
