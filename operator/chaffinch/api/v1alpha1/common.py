"""What all kinds are built from: frozen base models, bounded text types, times, conditions.

Every string, list and map in a custom resource is bounded, because the API server prices the
rules on it by its largest size, and because an object that cannot be stored cannot be repaired.
"""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StrictBool,
    StringConstraints,
    WithJsonSchema,
)
from pydantic.alias_generators import to_camel

from chaffinch.api.v1alpha1 import quantities

GROUP = "chaffinch.dev"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"

NAME_PATTERN = r"^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$"
OBJECT_NAME_PATTERN = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"

LIST_MAP_BY_NAME: dict[str, Any] = {
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
}
LIST_MAP_BY_TYPE: dict[str, Any] = {
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
}
LIST_ATOMIC: dict[str, Any] = {"x-kubernetes-list-type": "atomic"}
MAP_ATOMIC: dict[str, Any] = {"x-kubernetes-map-type": "atomic"}


class SpecModel(BaseModel):
    """A part of a spec: frozen, camelCase outside, and closed: an unknown field is an error."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=True,
        use_attribute_docstrings=True,
    )


class StatusModel(BaseModel):
    """A part of a status: frozen, camelCase outside; fields of a later version are read over."""

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        alias_generator=to_camel,
        populate_by_name=True,
        use_attribute_docstrings=True,
    )

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form that goes into the object: camelCase, without absent fields."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


def format_time(moment: datetime) -> str:
    """Write a moment as RFC 3339 in UTC; fractions of a second appear only when there are any.

    Raises:
        ValueError: If the moment has no time zone.
    """
    return _in_utc(moment).isoformat().replace("+00:00", "Z")


def _in_utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError("a time needs a time zone, such as the Z in 2026-03-01T14:07:31Z")
    return moment.astimezone(UTC)


def _resource_amount_as_written(amount: object) -> object:
    if not isinstance(amount, int | str):
        raise ValueError("a resource amount is a whole number or text such as 500m or 16Gi")
    quantities.resource_amount(amount)
    return amount


Timestamp = Annotated[
    datetime,
    AfterValidator(_in_utc),
    PlainSerializer(format_time, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time", "maxLength": 40}),
]
"""A moment in UTC, written as RFC 3339."""

Flag = StrictBool
Count = Annotated[int, Field(strict=True, ge=0, le=1_000_000_000_000)]
"""A whole number of things that were counted."""

Name = Annotated[str, StringConstraints(max_length=63, pattern=NAME_PATTERN)]
"""The name of a step, stage or objective: lower case letters, digits and dashes."""

ObjectName = Annotated[str, StringConstraints(max_length=253, pattern=OBJECT_NAME_PATTERN)]
"""The name of another object of the same namespace."""

RolloutName = Annotated[str, StringConstraints(max_length=40, pattern=r"^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$")]
"""The name of an InferenceRollout; its children's names are made from it."""

RevisionHash = Annotated[str, StringConstraints(max_length=8, pattern=r"^[0-9a-f]{8}$")]
"""A revision: the first 8 hex digits of the digest of what makes it."""

Duration = Annotated[str, StringConstraints(max_length=7, pattern=quantities.DURATION_PATTERN)]
"""A length of time such as ``90s``, ``15m`` or ``2h``."""

ResourceAmount = Annotated[
    int | str,
    BeforeValidator(_resource_amount_as_written),
    WithJsonSchema(
        {
            "x-kubernetes-int-or-string": True,
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "maxLength": 24,
            "pattern": quantities.RESOURCE_AMOUNT_PATTERN,
        }
    ),
]
"""An amount of a resource, as Kubernetes writes it: 4, ``500m``, ``16Gi``."""

Message = Annotated[str, StringConstraints(max_length=512)]
ShortText = Annotated[str, StringConstraints(max_length=256)]
Word = Annotated[str, StringConstraints(max_length=64)]


class ConditionStatus(StrEnum):
    """Whether a condition holds."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Condition(StatusModel):
    """One aspect of an object's state, as all of Kubernetes writes it."""

    type: Annotated[str, StringConstraints(max_length=64, pattern=r"^[A-Z][A-Za-z]*$")]
    """Which aspect."""
    status: ConditionStatus
    """Whether it holds."""
    reason: Annotated[str, StringConstraints(max_length=64, pattern=r"^[A-Z][A-Za-z]*$")]
    """Why, in one word of a closed list."""
    message: Message
    """Why, for people: where traffic is, why, what comes next, what to do."""
    observed_generation: Count
    """The generation of the spec that this was said of."""
    last_transition_time: Timestamp
    """When the status last changed."""
