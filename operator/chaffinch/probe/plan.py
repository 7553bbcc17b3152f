"""What one run of the load generator is to do: everything in one value, small enough for an argument.

A plan is complete: the worker reads no object of the cluster, and needs no token and no ConfigMap.
"""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, StringConstraints, ValidationError, model_validator

from chaffinch.api.v1alpha1.common import SpecModel
from chaffinch.api.v1alpha1.engine import ModelName
from chaffinch.api.v1alpha1.profile import Output, ProbeProfileSpec, Prompt, Stage, WarmUp
from chaffinch.api.v1alpha1.quantities import duration_seconds

MAX_PLAN_BYTES = 32 * 1024
"""Far below what one argument of a process may hold, and more than 64 targets and 8 stages need."""

Target = Annotated[str, StringConstraints(max_length=256, pattern=r"^https?://[A-Za-z0-9.:\[\]-]+$")]
"""Where a server is: scheme, host and port, such as ``http://10.1.2.3:8000``."""

_WARM_UP_PROMPT_TOKENS = 256
_WARM_UP_OUTPUT_TOKENS = 32
_WARM_UP_REQUEST_TIMEOUT = "120s"


class PlanError(ValueError):
    """A plan that cannot be run; the text names the field and the remedy."""


class ProbePlan(SpecModel):
    """One run: whom to load, with what, and whose result it is.

    A plan without stages only warms its targets up.
    """

    probe_uid: Annotated[str, StringConstraints(min_length=1, max_length=64)]
    """Uid of the LoadProbe; with `attempt` the key of the result, and the source of fresh prompts."""
    attempt: Annotated[int, Field(strict=True, ge=1)] = 1
    """Attempt of the rollout that the run belongs to."""
    targets: Annotated[tuple[Target, ...], Field(min_length=1, max_length=64)]
    """The servers; requests go to them in turn."""
    model: ModelName
    """The model's name in requests."""
    seed: Annotated[int, Field(strict=True, ge=0, lt=2**31)] = 1
    """Decides the order of prompt lengths."""
    warm_up: WarmUp | None = None
    """Requests to each target before the first stage; they count for nothing."""
    stages: Annotated[tuple[Stage, ...], Field(max_length=8)] = ()
    """The stages, in order."""
    gate_stage: str | None = None
    """The stage that verdicts are reached from."""
    prompt: Prompt
    """How long the prompts are."""
    output: Output
    """How long the answers are."""
    request_timeout: str
    """When a single request is given up."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        names = [stage.name for stage in self.stages]
        if len(set(names)) < len(names):
            raise ValueError("stages: two of them have the same name; give each its own")
        if bool(self.stages) != (self.gate_stage in names):
            raise ValueError("gateStage: it must name one of the stages (and none where there are none)")
        if not self.stages and self.warm_up is None:
            raise ValueError("stages: there is nothing to do; give stages, or a warmUp, or both")
        prompt_mix(self.prompt)
        for text in (self.request_timeout, *(stage.timeout for stage in self.stages)):
            duration_seconds(text)
        return self

    @property
    def request_timeout_seconds(self) -> int:
        """When a single request is given up, in seconds."""
        return duration_seconds(self.request_timeout)

    def to_json(self) -> str:
        """Return the plan as the text that the worker takes.

        Raises:
            PlanError: If it is longer than :data:`MAX_PLAN_BYTES`.
        """
        text = self.model_dump_json(by_alias=True, exclude_none=True)
        if len(text.encode()) > MAX_PLAN_BYTES:
            raise PlanError(f"the plan has more than {MAX_PLAN_BYTES} bytes; use fewer targets or stages")
        return text


def plan_of(
    load: ProbeProfileSpec | WarmUp,
    *,
    probe_uid: str,
    attempt: int,
    targets: tuple[str, ...],
    model: str,
    seed: int = 1,
) -> ProbePlan:
    """Return the plan that runs a profile, or that only warms servers up.

    Raises:
        PlanError: If the parts do not make a plan.
    """
    run = {"probe_uid": probe_uid, "attempt": attempt, "targets": targets, "model": model, "seed": seed}
    fields = _only(load) if isinstance(load, WarmUp) else dict(load)
    try:
        return ProbePlan.model_validate(run | fields)
    except ValidationError as error:
        raise PlanError(_describe(error)) from None


def parse_plan(text: str) -> ProbePlan:
    """Read what :meth:`ProbePlan.to_json` wrote.

    Raises:
        PlanError: If the text is no plan; the message names each wrong field.
    """
    if len(text.encode()) > MAX_PLAN_BYTES:
        raise PlanError(f"the plan has more than {MAX_PLAN_BYTES} bytes")
    try:
        return ProbePlan.model_validate_json(text)
    except ValidationError as error:
        raise PlanError(_describe(error)) from None


def prompt_mix(prompt: Prompt) -> tuple[tuple[int, int], ...]:
    """Return the prompt lengths as pairs of tokens and whole percent.

    Raises:
        ValueError: If not exactly one of ``tokens`` and ``mix`` is given, or the shares are not 100 %.
    """
    if (prompt.tokens is None) == (not prompt.mix):
        raise ValueError("prompt: give exactly one of tokens and mix")
    if prompt.tokens is not None:
        return ((prompt.tokens, 100),)
    shares = tuple((part.tokens, int(part.share.removesuffix("%"))) for part in prompt.mix)
    total = sum(percent for _, percent in shares)
    if total != 100:
        raise ValueError(f"prompt.mix: the shares add up to {total}%, not 100%")
    return shares


def longest_seconds(plan: ProbePlan) -> int:
    """Return the longest time that a plan can take, in seconds.

    The warm-up has no timeout of its own: it takes at most as long as if every request timed out. Its
    targets are warmed side by side.
    """
    stages = sum(duration_seconds(stage.timeout) for stage in plan.stages)
    if plan.warm_up is None:
        return stages
    rounds = -(-plan.warm_up.requests // plan.warm_up.concurrency)
    return stages + rounds * plan.request_timeout_seconds


def _only(warm_up: WarmUp) -> dict[str, object]:
    return {
        "warm_up": warm_up,
        "prompt": Prompt(tokens=_WARM_UP_PROMPT_TOKENS),
        "output": Output(tokens=_WARM_UP_OUTPUT_TOKENS),
        "request_timeout": _WARM_UP_REQUEST_TIMEOUT,
    }


def _describe(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(map(str, problem['loc'])) or 'plan'}: {problem['msg']}" for problem in error.errors()
    )
