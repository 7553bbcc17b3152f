"""Derives the events of a pass from the transition that it made: the old state and the new one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from chaffinch.api.v1alpha1.attempt_status import DecisionKind, Outcome, RolloutStage
from chaffinch.api.v1alpha1.reasons import Reason
from chaffinch.domain.pod_storms import kept_revisions
from chaffinch.domain.state import COMMANDED, Candidate, RolloutState
from chaffinch.domain.wording import fight_for_router, moment, percent, step_title, storm_of_pods


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened.

    Attributes:
        warning: Whether a person should look.
        reason: One word, from the closed list of reasons.
        action: What the operator did, in one word.
        message: A sentence of our own.
    """

    warning: bool
    reason: str
    action: str
    message: str


_USUAL_HOLDS = frozenset({Reason.NO_DATA, Reason.BELOW_FLOOR, Reason.JUDGING})
"""Every step begins with these, the best one too; what lasts longer than it may has another reason."""


def normal(reason: str, action: str, message: str) -> Event:
    """Return an event that is only told."""
    return Event(warning=False, reason=reason, action=action, message=message)


def warning(reason: str, action: str, message: str) -> Event:
    """Return an event that a person should look at."""
    return Event(warning=True, reason=reason, action=action, message=message)


def events_of(before: RolloutState, after: RolloutState) -> tuple[Event, ...]:
    """Return what happened between two states; of a pass that changed nothing, nothing."""
    return tuple(event for source in _SOURCES for event in source(before, after))


def _attempt_started(before: RolloutState, after: RolloutState) -> Iterator[Event]:
    new = after.candidate
    if new is None or (before.candidate is not None and before.candidate.attempt == new.attempt):
        return
    yield normal(Reason.DEPLOYING, "Deploy", f"attempt {new.attempt}: {new.revision} is being deployed")


def _step_entered(before: RolloutState, after: RolloutState) -> Iterator[Event]:
    new = after.candidate
    if new is None or new.step is None or _index(before.candidate) == new.step.index:
        return
    yield normal(Reason.STEPPING, "EnterStep", f"{step_title(new)} begins, {new.revision}")


def _weight_changed(before: RolloutState, after: RolloutState) -> Iterator[Event]:
    old, new = before.candidate, after.candidate
    if old is None or new is None or old.weight == new.weight or new.decision is not None:
        return
    message = f"{new.revision} gets {percent(new.weight)} of the traffic, {step_title(new)}"
    told = warning if new.weight < old.weight else normal
    yield told(Reason.STEPPING, "SetWeight", message)


def _step_passed(before: RolloutState, after: RolloutState) -> Iterator[Event]:
    old, new = before.candidate, after.candidate
    if old is None or new is None or old.step is None or new.step is None:
        return
    if old.step.passed_at is None and new.step.passed_at is not None:
        yield normal(Reason.SUFFICIENT, "PassStep", f"{step_title(new)} passed, {new.revision}")


def _held(before: RolloutState, after: RolloutState) -> Iterator[Event]:
    old, new = before.hold, after.hold
    if new is not None and (old is None or old.reason != new.reason):
        told = normal if new.reason in _USUAL_HOLDS else warning
        yield told(new.reason, "Hold", new.message)
    if old is not None and new is None and after.candidate is not None and after.candidate.decision is None:
        yield normal(Reason.STEPPING, "Resume", f"{old.reason} is over")


def _fought(before: RolloutState, after: RolloutState) -> Iterator[Event]:
    """Tell of a fight for the router between attempts; during one it is what the attempt is held for."""
    old, new = before.router_fight, after.router_fight
    if new is not None and old is None and after.candidate is None:
        yield warning(Reason.ROUTE_FIGHT, "Hold", fight_for_router(new))
    if new is None and old is not None and before.candidate is None:
        yield normal(Reason.AS_EXPECTED, "Resume", f"{Reason.ROUTE_FIGHT} is over")


def _stormed(before: RolloutState, after: RolloutState) -> Iterator[Event]:
    for storm in after.storms:
        if before.storm_of(storm.revision) is None:
            yield warning(Reason.UNSCHEDULABLE, "Scale", storm_of_pods(storm))
    for storm in before.storms:
        if after.storm_of(storm.revision) is None and storm.revision in kept_revisions(after):
            yield normal(Reason.SCALING, "Scale", f"nodes take the pods of {storm.revision} again")


def _paused(before: RolloutState, after: RolloutState) -> Iterator[Event]:
    old = before.candidate.paused if before.candidate else None
    new = after.candidate.paused if after.candidate else None
    if new is not None and (old is None or old.cause != new.cause):
        told = normal if new.cause == COMMANDED else warning
        yield told(Reason.PAUSED, "Pause", new.message)
    if old is not None and new is None and after.stage in {RolloutStage.DEPLOYING, RolloutStage.STEPPING}:
        yield normal(Reason.STEPPING, "Resume", f"the pause of {moment(old.since)} is over")


def _answered(before: RolloutState, after: RolloutState) -> Iterator[Event]:
    command = after.last_command
    if command is None or (before.last_command is not None and before.last_command.uid == command.uid):
        return
    yield normal(command.reason, command.action, f"{command.outcome}: {command.message}")


def _decided(before: RolloutState, after: RolloutState) -> Iterator[Event]:
    old, new = before.candidate, after.candidate
    if new is None or new.decision is None or (old is not None and old.decision is not None):
        return
    decision = new.decision
    if decision.kind is DecisionKind.PROMOTE:
        yield normal(Reason.PROMOTING, "Promote", f"{new.revision} is promoted: {decision.message}")
    else:
        told = normal if decision.cause == Reason.SUPERSEDED else warning
        yield told(decision.cause, "RollBack", f"{new.revision} is rolled back: {decision.message}")


def _ended(before: RolloutState, after: RolloutState) -> Iterator[Event]:
    last = after.last_attempt
    if last is None or last == before.last_attempt:
        return
    if last.outcome is Outcome.PROMOTED:
        yield normal(Reason.PROMOTED, "Promote", f"{last.revision} is stable: {last.message}")
    else:
        told = warning if last.outcome is Outcome.ROLLED_BACK else normal
        serves = "stable serves alone" if after.stable else "nothing serves yet"
        message = f"{last.revision} is out, {serves}: {last.message}"
        yield told(Reason.ROLLED_BACK, "RollBack", message)


def _index(candidate: Candidate | None) -> int | None:
    return candidate.step.index if candidate is not None and candidate.step is not None else None


_SOURCES: tuple[Callable[[RolloutState, RolloutState], Iterator[Event]], ...] = (
    _attempt_started,
    _step_passed,
    _step_entered,
    _weight_changed,
    _held,
    _fought,
    _stormed,
    _paused,
    _decided,
    _ended,
    _answered,
)
