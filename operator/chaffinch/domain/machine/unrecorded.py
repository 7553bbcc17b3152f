"""A decision to roll back that the route carries and the status has missed.

The route is written before the status. A process that ends in between, or whose write fails, has carried the
decision out and has not said why.
"""

from __future__ import annotations

from chaffinch.api.v1alpha1.attempt_status import DecisionKind
from chaffinch.api.v1alpha1.command import CommandAction
from chaffinch.api.v1alpha1.reasons import Reason
from chaffinch.domain.commands import Command
from chaffinch.domain.machine.answer import aborted
from chaffinch.domain.machine.ending import missed_objective, rolled_back_by
from chaffinch.domain.machine.situation import Check, Situation, first
from chaffinch.domain.machine.types import Next
from chaffinch.domain.route import Decision, RouteDecision
from chaffinch.domain.wording import clip

_UNKNOWN = "decided in an earlier pass, which could not record why"


def after_the_route(*checks: Check) -> tuple[Check, ...]:
    """Return the checks of a stage, with one before them: whether the route has decided already.

    The route does not tell why; what led to the decision mostly still does, when it is looked at again.
    """

    def the_route_says_rolled_back(situation: Situation) -> Next | None:
        written = _written(situation)
        if written is None:
            return None
        decision = _explained(situation, written, checks)
        return situation.at_once(rolled_back_by(situation, decision))

    return (the_route_says_rolled_back, *checks)


def _written(situation: Situation) -> RouteDecision | None:
    """Return the decision against this attempt that the route carries."""
    stored = situation.seen.router.route
    if (
        stored is None
        or stored.intent.decision is None
        or stored.intent.attempt != situation.candidate.attempt
    ):
        return None
    written = stored.intent.decision
    return written if written.kind is DecisionKind.ROLLBACK else None


def _explained(situation: Situation, written: RouteDecision, checks: tuple[Check, ...]) -> Decision:
    command = _abort(situation) if written.cause == Reason.ABORTED else None
    if command is not None:
        message, by = aborted(command), command.name
    else:
        message, by = _found_again(situation, written, checks) or _UNKNOWN, None
    return Decision(written.kind, written.cause, written.at, clip(message), by)


def _abort(situation: Situation) -> Command | None:
    """Return the Abort that has not been told yet that it was done."""
    revision = situation.candidate.revision
    return next(
        (
            command
            for command in situation.seen.commands
            if command.action is CommandAction.ABORT and command.revision == revision
        ),
        None,
    )


def _found_again(situation: Situation, written: RouteDecision, checks: tuple[Check, ...]) -> str | None:
    """Return what the stage would say if it decided by now, unless that is for another cause."""
    if written.cause == Reason.OBJECTIVE_FAILED:
        return missed_objective(situation)
    candidate = first(checks, situation).state.candidate
    decision = None if candidate is None else candidate.decision
    if decision is None or decision.kind is not written.kind or decision.cause != written.cause:
        return None
    return decision.message
