"""The part of a rollout's status that tells of its step: its clock, why it stays there, and its objectives.

What its judge remembers of the evidence is kept here too, so that a new process goes on with it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import StringConstraints

from chaffinch.api.v1alpha1.common import Count, Message, Name, ShortText, StatusModel, Timestamp, Word
from chaffinch.api.v1alpha1.rollout import Require

JUDGE_STATE_MAX_LENGTH = 8192


class ObjectiveVerdict(StrEnum):
    """What the evidence says of one objective."""

    PASS = "Pass"  # noqa: S105 - a verdict, no password
    FAIL = "Fail"
    INCONCLUSIVE = "Inconclusive"


class StepStatus(StatusModel):
    """The step that the rollout is at."""

    name: Name
    """Name of the step."""
    index: Count
    """Its place among the steps, counted from 0."""
    of: Count
    """How many steps there are."""
    require: Require | None = None
    """The evidence that is needed to go on, where the step gathers any."""
    entered_at: Timestamp
    """When the step was entered first."""
    restarted_at: Timestamp | None = None
    """When it was last begun anew because pods were lost."""
    acknowledged_at: Timestamp | None = None
    """When all routers had acknowledged the step's weight; its time runs from here."""
    earliest_end: Timestamp | None = None
    """When its minimum time is over."""
    passed_at: Timestamp | None = None
    """When it was passed; its weight stays until the next step's pods are warm."""
    run: Count | None = None
    """Which run of its load probe this is, from 1."""
    runs_before: Count | None = None
    """How many of those runs came before a person's `Retry`; they count as failures no more."""
    judge: Annotated[str, StringConstraints(max_length=JUDGE_STATE_MAX_LENGTH)] | None = None
    """What the judge remembers of the looks that it has taken, in its own words."""


class HoldStatus(StatusModel):
    """Why the rollout waits at its step."""

    reason: Word
    """The reason."""
    since: Timestamp
    """Since when."""
    deadline: Timestamp | None = None
    """When waiting ends."""
    message: Message | None = None
    """What is missing, in words."""


class PauseStatus(StatusModel):
    """Why the rollout stays at its step until a person says otherwise."""

    since: Timestamp
    """Since when."""
    cause: Word
    """Why: `Commanded` by a person, or the reason for which it asks for one."""
    by: ShortText | None = None
    """Who paused it."""
    message: Message
    """Why, in words."""


class ArmSamples(StatusModel):
    """How many requests a verdict rests on."""

    candidate: Count
    """The candidate's."""
    stable: Count | None = None
    """The stable revision's, where it was compared with."""


ValueText = Annotated[str, StringConstraints(max_length=32)]
"""A measured value with its unit, such as ``241ms`` or ``0.02%``."""


class ObjectiveStatus(StatusModel):
    """What is known of one objective at the current or last step."""

    name: Name
    """The objective."""
    verdict: ObjectiveVerdict
    """What the evidence says."""
    reason: Word
    """Why: a reason."""
    value: ValueText | None = None
    """The candidate's value."""
    control: ValueText | None = None
    """The stable revision's or the baseline's value."""
    ratio: ValueText | None = None
    """The one divided by the other, such as `1.29`."""
    interval: ValueText | None = None
    """Where the truth lies, such as `1.19..1.41`."""
    limit: ValueText | None = None
    """The limit that it is held to."""
    ruled_out: ValueText | None = None
    """Of a `Pass`, what is proven not to be reached; absent where no harm beside stable is all it says."""
    samples: ArmSamples | None = None
    """How many requests this rests on."""
    eta: Timestamp | None = None
    """When it is looked at next if requests come as they did in this step so far; no verdict is promised."""
    step: Name | None = None
    """The step at which it was judged."""
    message: Message | None = None
    """The same in words."""
