"""Decides whether a status is worth a write.

Figures move on every pass; writing each of them would make every watcher of every rollout work every
few seconds. So figures alone are written every 30 s at most, anything else at once, and nothing never.
"""

from __future__ import annotations

from datetime import datetime

from chaffinch.api.v1alpha1.common import Condition
from chaffinch.api.v1alpha1.status import RolloutStatus
from chaffinch.api.v1alpha1.step_status import HoldStatus
from chaffinch.domain.timing import Timing


def is_due(
    previous: RolloutStatus | None,
    following: RolloutStatus,
    written_at: datetime | None,
    now: datetime,
    timing: Timing | None = None,
) -> bool:
    """Say whether a status has to be written now.

    Args:
        previous: What is stored; None if nothing is.
        following: What the pass has come to.
        written_at: When this process last wrote the status; None if it never did.
        now: The time.
        timing: Intervals; the usual ones if None.
    """
    if previous is None:
        return True
    following = following.model_copy(update={"writer": previous.writer})
    if following == previous:
        return False
    if _with_figures_of(previous, following) != previous:
        return True
    pause = (timing or Timing()).objectives
    return written_at is None or (now - written_at).total_seconds() >= pause


def _with_figures_of(previous: RolloutStatus, following: RolloutStatus) -> RolloutStatus:
    """Return the following status with all that is only figures taken from the previous one."""
    old = {condition.type: condition for condition in previous.conditions}
    changes: dict[str, object] = {
        "objectives": previous.objectives,
        "conditions": tuple(_with_message_of(old.get(each.type), each) for each in following.conditions),
    }
    before = previous.rollout.hold if previous.rollout else None
    if following.rollout is not None and following.rollout.hold is not None and before is not None:
        hold = _with_text_of(before, following.rollout.hold)
        changes["rollout"] = following.rollout.model_copy(update={"hold": hold})
    return following.model_copy(update=changes)


def _with_message_of(old: Condition | None, new: Condition) -> Condition:
    return new if old is None else new.model_copy(update={"message": old.message})


def _with_text_of(old: HoldStatus, new: HoldStatus) -> HoldStatus:
    return new.model_copy(update={"message": old.message})
