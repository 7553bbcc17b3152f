"""The route of a rollout: the one document by which the operator tells the routers what to serve.

It lives in the ConfigMap ``<rollout>-router`` under the key ``route.json``. Writing it is the act
of every weight change, promotion and rollback, and it is all that a router's agent needs to keep
serving with the operator gone. The text is canonical, so that an unchanged route is an unchanged
object.
"""

from __future__ import annotations

import json
from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from chaffinch.api.v1alpha1.strategy import FULL_WEIGHT
from chaffinch.domain.grid import EDGE_COUNT

"""All traffic, in the unit of the document's weights."""
ROUTE_KEY = "route.json"

RevisionName = Annotated[str, Field(pattern=r"^[0-9a-f]{8}$")]
EdgeIndex = Annotated[int, Field(ge=0, lt=EDGE_COUNT)]
Count = Annotated[int, Field(ge=0, lt=2**53)]


class RouteError(ValueError):
    """A text that is no route; the message names the field and the rule, never foreign text."""


class _Part(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, alias_generator=to_camel, populate_by_name=True
    )


class Arm(_Part):
    """One revision and its share of the traffic.

    Attributes:
        revision: The revision's 8 hexadecimal digits.
        weight: Its share in 1/10,000.
        pods: The pods that may get traffic; None admits every Ready endpoint.
    """

    revision: RevisionName
    weight: Annotated[int, Field(ge=0, le=FULL_WEIGHT)]
    pods: tuple[str, ...] | None = None


class Edges(_Part):
    """Which edges of the global grid are exported, as rising indices, per latency."""

    ttft: tuple[EdgeIndex, ...] = ()
    e2e: tuple[EdgeIndex, ...] = Field(default=(), alias="e2e")

    @model_validator(mode="after")
    def _rise(self) -> Edges:
        for edges in (self.ttft, self.e2e):
            if list(edges) != sorted(set(edges)):
                raise ValueError("edges must rise")
        return self


class Decision(_Part):
    """How the attempt ended, as long as the route says so.

    Attributes:
        kind: What was decided.
        cause: The reason, one of the documented constants.
        at: When it was decided.
    """

    kind: Literal["Promote", "Rollback"]
    cause: str
    at: AwareDatetime


class Route(_Part):
    """What the routers of one rollout are to serve.

    Attributes:
        version: The schema's version.
        rollout_namespace: The namespace of the rollout.
        rollout: The rollout's name.
        rollout_uid: The rollout's uid; a router serves no other.
        epoch: The lease epoch of the operator that wrote the route.
        sequence: Rises with each route; a router refuses a lower (epoch, sequence).
        attempt: The attempt that requests are counted for.
        stable: The stable revision; None before the first promotion.
        arms: The revisions, each once; their weights add up to 10,000, or to 0 when nothing serves.
        edges: The exported edges.
        decision: The decision that this route carries out, if any.
    """

    version: Literal[1] = 1
    rollout_namespace: str
    rollout: str
    rollout_uid: str
    epoch: Count
    sequence: Count
    attempt: Count
    stable: RevisionName | None = None
    arms: tuple[Arm, ...] = ()
    edges: Edges = Edges()
    decision: Decision | None = None

    @model_validator(mode="after")
    def _add_up(self) -> Route:
        if len({arm.revision for arm in self.arms}) != len(self.arms):
            raise ValueError("each revision may be named once in arms")
        if sum(arm.weight for arm in self.arms) not in {0, FULL_WEIGHT}:
            raise ValueError(f"the weights of arms must add up to {FULL_WEIGHT}, or to 0")
        return self

    @property
    def order(self) -> tuple[int, int]:
        """What routes are compared by: (epoch, sequence)."""
        return (self.epoch, self.sequence)


def route_json(route: Route) -> str:
    """Write a route as canonical JSON: sorted keys, no spaces, every key present."""
    document = route.model_dump(mode="json", by_alias=True)
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def parse_route(text: str) -> Route:
    """Read a route strictly: unknown keys, wrong types and wrong sums are refused.

    Raises:
        RouteError: If the text is no route; says where and which rule.
    """
    try:
        return Route.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "route"
        raise RouteError(f"{ROUTE_KEY}: {where}: {first['msg']}") from None
