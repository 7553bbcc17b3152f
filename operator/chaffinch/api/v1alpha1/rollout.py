"""The spec of an InferenceRollout: what to serve, how to roll it out, what to hold it to."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from chaffinch.api.v1alpha1 import quantities
from chaffinch.api.v1alpha1.baseline import BaselineReference
from chaffinch.api.v1alpha1.common import LIST_ATOMIC, LIST_MAP_BY_NAME, Duration, Name, SpecModel
from chaffinch.api.v1alpha1.engine import EngineSpec, ModelSpec, PodSpec
from chaffinch.api.v1alpha1.profile import ProfileReference, WarmUp

MAX_REPLICAS = 64


class Metric(StrEnum):
    """What an objective looks at."""

    TTFT = "ttft"
    E2E = "e2e"
    TPOT = "tpot"
    ERROR_RATE = "errorRate"


class Quantile(StrEnum):
    """Which quantile of a latency an objective looks at."""

    P50 = "p50"
    P90 = "p90"
    P95 = "p95"
    P99 = "p99"

    @property
    def share(self) -> float:
        """The quantile as a share of all requests: 0.95 for `p95`."""
        return int(self.value[1:]) / 100


class Require(StrEnum):
    """What evidence a step needs before the next one may start.

    `NoHarm`: no sign of serious harm. `Proven`: shown to be no worse than the limits allow.
    """

    NO_HARM = "NoHarm"
    PROVEN = "Proven"


class Capacity(StrEnum):
    """Where a canary's pods come from: `Surge` adds them to the stable ones."""

    SURGE = "Surge"


class OnFailure(StrEnum):
    """What to do with a canary that misses an objective.

    `Rollback`: take it out at once. `Pause`: leave its weight as it is and ask a person.
    """

    ROLLBACK = "Rollback"
    PAUSE = "Pause"


class RouterKind(StrEnum):
    """Which router splits the traffic."""

    ENVOY = "Envoy"


class Objective(SpecModel):
    """One thing that a new revision is held to; it has at least one limit."""

    name: Name
    """Name of the objective in conditions and metrics."""
    metric: Metric
    """What is looked at."""
    quantile: Quantile | None = None
    """Which quantile; latencies need one, `errorRate` has none."""
    max: Annotated[str, StringConstraints(max_length=12, pattern=quantities.LIMIT_PATTERN)] | None = None
    """The most that is allowed at all: a latency such as `85ms`; for `errorRate` a share such as `0.1%`."""
    max_regression: (
        Annotated[str, StringConstraints(max_length=8, pattern=quantities.PERCENT_PATTERN)] | None
    ) = None
    """Latencies: how much slower than stable and baseline is still allowed, such as `5%`."""
    max_increase: (
        Annotated[str, StringConstraints(max_length=9, pattern=quantities.PERCENTAGE_POINTS_PATTERN)] | None
    ) = None
    """`errorRate`: how many percentage points above stable and baseline are allowed, such as `0.5pp`."""


class ProbeAction(SpecModel):
    """Measure the canary, still without users, under a fixed load."""

    profile: ProfileReference
    """The load: a built-in such as `standard/v1`, or a ProbeProfile of the namespace."""


class CanaryAction(SpecModel):
    """Give the canary a share of the users' traffic."""

    weight: Annotated[int, Field(strict=True, ge=1, le=99)]
    """The share, in percent."""
    for_: Duration = Field(alias="for")
    """How long, at least."""
    require: Require | None = None
    """The evidence that is needed to go on; `NoHarm` below 50 %, `Proven` from 50 % on, when absent."""
    max_wait: Duration | None = None
    """How long to wait before a person is asked (`Stalled`); 30m or 6 x `for`, the longer, when absent."""


class ApprovalAction(SpecModel):
    """Wait for a person's `Approve`. The canary keeps the weight that it has, and is judged on."""


class BakeAction(SpecModel):
    """Give the canary all traffic and keep the old revision ready."""

    for_: Duration = Field(alias="for")
    """How long."""


class Step(SpecModel):
    """One step of a rollout: a name and exactly one of the actions."""

    name: Name
    """Name of the step in conditions and metrics."""
    warm_up: WarmUp | None = None
    """Send requests that count for nothing; only as the first step."""
    probe: ProbeAction | None = None
    """Measure under a fixed load, before any traffic."""
    canary: CanaryAction | None = None
    """Take a share of the traffic."""
    approval: ApprovalAction | None = None
    """Wait for a person's approval."""
    bake: BakeAction | None = None
    """Take all traffic; only as the last step."""


class StrategySpec(SpecModel):
    """How a new revision is brought in."""

    capacity: Capacity | None = None
    """Where a canary's pods come from; `Surge` when absent."""
    progress_deadline: Duration | None = None
    """How long pods may take to become ready and warm; `15m` when absent."""
    steps: Annotated[tuple[Step, ...], Field(max_length=12, json_schema_extra=LIST_ATOMIC)] = ()
    """The steps, in order; when absent, warm-up, probe (with a baseline), 5 %, a pod's share, 50 %, bake."""


class TrafficSpec(SpecModel):
    """How users' traffic is split."""

    router: RouterKind
    """Which router splits it."""


class InferenceRolloutSpec(SpecModel):
    """A served model, and how its new versions are rolled out."""

    model: ModelSpec
    """The model that is served."""
    engine: EngineSpec
    """The inference server."""
    replicas: Annotated[int, Field(strict=True, ge=1, le=MAX_REPLICAS)]
    """Engine pods of the stable revision."""
    pod: PodSpec | None = None
    """What an engine pod needs besides its engine."""
    baseline: BaselineReference | None = None
    """The frozen measurement that new revisions are held to."""
    traffic: TrafficSpec | None = None
    """How users' traffic is split; Envoy when absent."""
    objectives: Annotated[
        tuple[Objective, ...], Field(min_length=1, max_length=16, json_schema_extra=LIST_MAP_BY_NAME)
    ]
    """What a new revision is held to."""
    strategy: StrategySpec | None = None
    """How a new revision is brought in; by the default steps when absent."""
    on_failure: OnFailure | None = None
    """What to do with a canary that misses an objective; `Rollback` when absent."""
