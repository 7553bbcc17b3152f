"""``explain``: why a rollout is where it is, and what would make it go on, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from chaffinch.api.v1alpha1.attempt_status import RolloutStage
from chaffinch.api.v1alpha1.command_line import command_line, with_names
from chaffinch.api.v1alpha1.common import Condition, ConditionStatus
from chaffinch.api.v1alpha1.reasons import ConditionType, Reason
from chaffinch.api.v1alpha1.remedies import remedy_of
from chaffinch.api.v1alpha1.step_status import ObjectiveVerdict
from chaffinch.cli.rollouts.snapshot import Snapshot
from chaffinch.cli.tables import leaves_limit_open, to_the_second

_REASONS = {str(reason): reason for reason in Reason}
_IN_ATTEMPT = {RolloutStage.DEPLOYING, RolloutStage.STEPPING}


def explanation(snapshot: Snapshot) -> list[tuple[str, str]]:
    """Return what there is to say, as pairs of a heading and a sentence.

    Args:
        snapshot: The rollout.
    """
    if not snapshot.is_observed:
        return [
            *_users(snapshot),
            ("now", "Nobody has looked at this generation of the spec yet."),
            ("to do", remedy_of(Reason.NOT_OBSERVED)),
        ]
    return [
        *_users(snapshot),
        *_now(snapshot),
        *(("objective", line) for line in _objectives(snapshot)),
        *_reasons(snapshot),
        *(("you can", line) for line in _commands(snapshot)),
    ]


def _users(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    available = snapshot.condition(ConditionType.AVAILABLE)
    if available is not None:
        users = "Users are served" if available.status is ConditionStatus.TRUE else "Users are NOT served"
        yield "users", f"{users} ({available.reason})."


def _now(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    headline = snapshot.headline
    if headline is not None:
        yield "now", headline.message
    hold = snapshot.status.rollout.hold if snapshot.status.rollout else None
    if hold is not None and hold.message:
        end = f"; it is waited until {to_the_second(hold.deadline)}" if hold.deadline else ""
        yield "missing", f"{hold.message} (since {to_the_second(hold.since)}{end})."


def _objectives(snapshot: Snapshot) -> Iterator[str]:
    if snapshot.status.rollout is None:
        return
    for each in snapshot.status.objectives:
        if each.message and (each.verdict is not ObjectiveVerdict.PASS or leaves_limit_open(each)):
            yield f"{each.name} ({each.verdict}): {each.message}"


def _reasons(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Yield the meaning and the remedy of each reason that keeps the rollout from being done."""
    told: set[str] = set()
    for word in _words(snapshot):
        reason = _REASONS.get(word)  # None of a newer operator's
        if reason is None or reason in told:
            continue
        told.add(reason)
        yield str(reason), reason.meaning
        yield "to do", with_names(remedy_of(reason), snapshot.name, snapshot.namespace)


def _words(snapshot: Snapshot) -> Iterator[str]:
    headline, progress = snapshot.headline, snapshot.status.rollout
    if headline is not None:
        yield headline.reason
    if progress is not None and progress.hold is not None:
        yield progress.hold.reason
    promoted = snapshot.condition(ConditionType.PROMOTED)
    if promoted is not None and promoted.status is ConditionStatus.FALSE:
        yield promoted.reason
    yield from _untrue(
        snapshot, ConditionType.AVAILABLE, ConditionType.BASELINE_VALID, ConditionType.SPEC_APPLIED
    )


def _untrue(snapshot: Snapshot, *kinds: ConditionType) -> Iterator[str]:
    for kind in kinds:
        found: Condition | None = snapshot.condition(kind)
        if found is not None and found.status is not ConditionStatus.TRUE:
            yield found.reason


def _commands(snapshot: Snapshot) -> Iterator[str]:
    def told(action: str, what: str, options: str = "") -> str:
        return f"{command_line(action, snapshot.name, snapshot.namespace, options=options)}: {what}"

    progress, headline = snapshot.status.rollout, snapshot.headline
    reason = headline.reason if headline is not None else None
    if reason == Reason.ROUTE_FIGHT:
        yield told("retry", "put back the router's objects, nobody else writes them by now")
    if progress is None:
        if reason in {Reason.ROLLED_BACK, Reason.REVISION_PREVIOUSLY_FAILED}:
            yield told("retry", "try the revision of the spec again")
        return
    if progress.stage not in _IN_ATTEMPT or snapshot.status.stable is None:
        return  # a first revision has nothing to go back to, and no steps to stay at or to skip
    if reason == Reason.AWAITING_APPROVAL and progress.step is not None:
        yield told("approve", "pass the approval step", f"--step {progress.step.name}")
    if progress.hold is not None and progress.step is not None and progress.step.run is not None:
        yield told("retry", "run the load of the probe step again")
    if progress.paused is not None:
        yield told("resume", "go on at this step")
    else:
        yield told("pause", "stay at this step")
    yield told("abort", "take the candidate out")
    yield told("promote", "let the candidate take over without the steps that are left")
