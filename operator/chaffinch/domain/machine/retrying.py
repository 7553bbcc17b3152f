"""The command Retry: a revision that is out is tried again, or load that came to nothing is run again."""

from __future__ import annotations

from dataclasses import replace

from chaffinch.api.v1alpha1.attempt_status import RolloutStage
from chaffinch.api.v1alpha1.reasons import CommandReason
from chaffinch.domain.commands import Command
from chaffinch.domain.machine.answer import Answer, decided_already, done, misdirected, who
from chaffinch.domain.machine.fighting import after_fight
from chaffinch.domain.machine.idle import is_barred, with_new_attempt
from chaffinch.domain.machine.probing import load_has_ended
from chaffinch.domain.machine.situation import Situation
from chaffinch.domain.machine.strength import with_all_its_time
from chaffinch.domain.machine.warming import warm_up_problem
from chaffinch.domain.verdict import Outcome


def retry(situation: Situation, command: Command) -> Answer:
    """Forget what keeps a revision from being tried, or from going on."""
    if situation.state.router_fight is not None:
        return _taken_up_again(situation, command)
    if situation.state.candidate is None:
        return _tried_again(situation, command)
    astray = misdirected(situation, command)
    if astray is not None:
        return astray
    if situation.rolls_back:
        return decided_already(situation)
    return _warmed_again(situation, command) or _measured_again(situation, command) or _goes_on(situation)


def _taken_up_again(situation: Situation, command: Command) -> Answer:
    """Put the router's objects back: whoever gives the command says that nobody changes them any more."""
    candidate = situation.state.candidate
    meant = situation.revision if candidate is None else candidate.revision
    if command.revision != meant:
        return Answer(CommandReason.OTHER_REVISION, f"It is about {meant}, not {command.revision}")
    message = f"The router's objects are put back {who(command)}"
    return done(message, situation.at_once(after_fight(situation)))


def _tried_again(situation: Situation, command: Command) -> Answer:
    state, revision = situation.state, situation.revision
    if command.revision != revision:
        message = f"The spec asks for {revision}, not {command.revision}. Change the spec to try that"
        return Answer(CommandReason.OTHER_REVISION, message)
    if state.stable is not None and state.stable.revision == revision:
        return Answer(CommandReason.NOTHING_TO_DO, f"{revision} serves already")
    if not is_barred(situation):
        return Answer(CommandReason.NOTHING_TO_DO, f"{revision} is about to be tried by itself")
    state = with_new_attempt(situation)
    state = replace(state, failed=tuple(each for each in state.failed if each != revision))
    message = f"{revision} is tried again {who(command)}, in attempt {state.attempts}"
    return done(message, situation.at_once(state))


def _warmed_again(situation: Situation, command: Command) -> Answer | None:
    if warm_up_problem(situation) is None:
        return None
    candidate, deadline = situation.candidate, situation.candidate.deadline
    if deadline is not None:
        deadline = situation.after(candidate.plan.strategy.progress_deadline_seconds)
    state = replace(situation.with_candidate(warm_up=None, deadline=deadline), hold=None)
    return done(f"{candidate.revision} is warmed again {who(command)}", situation.at_once(state))


def _measured_again(situation: Situation, command: Command) -> Answer | None:
    judgement = situation.judgement
    passed = judgement is not None and judgement.outcome is Outcome.PASS
    if situation.state.stage is not RolloutStage.STEPPING or passed or not load_has_ended(situation):
        return None
    state = replace(situation.with_candidate(step=with_all_its_time(situation)), hold=None)
    return done(f"The load of {situation.step.name} is run again {who(command)}", situation.at_once(state))


def _goes_on(situation: Situation) -> Answer:
    candidate = situation.candidate
    message = (
        f"Attempt {candidate.attempt} of {candidate.revision} goes on; no load of it has to be run again"
    )
    return Answer(CommandReason.NOTHING_TO_DO, message)
