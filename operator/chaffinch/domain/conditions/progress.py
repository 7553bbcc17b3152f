"""The conditions about work: is some under way (Reconciling), is a person needed (Stalled), how did the
last attempt end (Promoted)?
"""

from __future__ import annotations

from collections.abc import Callable

from chaffinch.api.v1alpha1.attempt_status import Outcome, RolloutStage
from chaffinch.api.v1alpha1.reasons import Reason
from chaffinch.domain.conditions.view import Finding, View, false, true, unknown
from chaffinch.domain.machine.ending import ENVIRONMENT
from chaffinch.domain.state import Candidate, Pause
from chaffinch.domain.wording import (
    DO_NOTHING,
    fight_for_router,
    moment,
    next_step,
    pods,
    ready_pods,
    sentences,
    step_title,
    storm_of_pods,
    until,
)


def reconciling(view: View) -> Finding:
    """Say whether work is in progress, and what comes next."""
    candidate = view.state.candidate
    if view.stalled_by is not None:
        return false(view.stalled_by, sentences(view.traffic, "See the condition Stalled"))
    if candidate is None:
        return _idle(view)
    if view.state.stage is RolloutStage.ROLLING_BACK:
        why = candidate.decision.message if candidate.decision else ""
        return true(
            Reason.ROLLING_BACK,
            sentences(view.traffic, f"{candidate.revision} is taken out: {why}", DO_NOTHING),
        )
    if candidate.paused is not None:
        return _paused(view, candidate, candidate.paused)
    if view.state.hold is not None:
        hold = view.state.hold
        return true(
            Reason.HOLDING,
            sentences(
                _title(view, candidate), f"{hold.reason}: {hold.message}", until(hold.deadline), DO_NOTHING
            ),
        )
    return _moving(view, candidate)


def stalled(view: View) -> Finding:
    """Say whether a person is needed, why, and what to do."""
    reason = view.stalled_by
    if reason is None:
        told = "See the condition Reconciling." if view.awaits_a_person else DO_NOTHING
        return false(Reason.AS_EXPECTED, told)
    where = _title(view, view.state.candidate) if view.state.candidate else view.traffic
    explain = _explain_refusal if view.seen.refusal else _EXPLANATIONS.get(reason, _explain_hold)
    return true(reason, sentences(where, *explain(view)))


def _explain_name_taken(view: View) -> tuple[str, ...]:
    why = f"{', '.join(view.seen.taken[:3])} belongs to someone else; nothing is written"
    return why, "Do: delete or rename it, or rename the rollout"


def _explain_refusal(view: View) -> tuple[str, ...]:
    refusal = view.seen.refusal
    return (refusal.message, f"Tried again by itself. Do: {refusal.remedy}") if refusal else ()


def _explain_rolled_back(view: View) -> tuple[str, ...]:
    last = view.state.last_attempt
    if last is not None and last.cause in ENVIRONMENT:
        remedy = f"see that its pods find room and stay, or {view.command('retry')}"
        again = f" at {moment(last.again_at)}" if last.again_at else ""
        return _last_attempt(view), f"Tried again by itself{again}. Do: {remedy}"
    return _last_attempt(view), _after_failure(view)


def _explain_failed_before(view: View) -> tuple[str, ...]:
    return f"{view.revision} failed in an earlier attempt", _after_failure(view)


def _after_failure(view: View) -> str:
    back = "change the spec, or set it back to the stable revision's"
    return f"Not retried by itself. Do: {back}; or {view.command('retry')}"


def _explain_status_lost(view: View) -> tuple[str, ...]:
    return _hold(view), "Do: restore the ConfigMap, or create the rollout anew"


def _explain_dead_stable(view: View) -> tuple[str, ...]:
    if view.state.stable is None:
        return _hold(view), "Do: get a pod of it ready; the rollout's status was lost and is restored then"
    stable = view.state.stable.revision
    remedy = f"Do: get a pod of {stable} ready; if none ever can be, {view.command('promote')}"
    return _hold(view), "Goes on by itself when that ends", remedy


def _explain_tampered(view: View) -> tuple[str, ...]:
    detail = view.seen.baseline.detail if view.seen.baseline else ""
    return f"The baseline was altered, nothing advances: {detail}", "Do: restore it, or name another version"


def _explain_hold(view: View) -> tuple[str, ...]:
    choice = f"or {view.command('promote')}, or {view.command('abort')}"
    if view.state.stable is None or view.state.stage is RolloutStage.PROMOTING:
        choice = "or change the spec"
    return _hold(view), *_next_pod(view), f"Goes on by itself when that ends. Do: look into it, {choice}"


def _next_pod(view: View) -> tuple[str, ...]:
    """Say when nodes that turn pods away are tried again, if they do."""
    return tuple(f"One pod is asked for at {moment(storm.again_at)}" for storm in view.state.storms)


def _explain_probe_failed(view: View) -> tuple[str, ...]:
    return _hold(view), f"Do: look into the LoadProbe, then {view.command('retry')}"


def _explain_fight(view: View) -> tuple[str, ...]:
    fight = view.state.router_fight
    if fight is None:
        return ()
    route = "The route may be another one than said here" if fight.object == view.route_object else ""
    remedy = f"Do: stop whoever does that, then {view.command('retry')}"
    return fight_for_router(fight), route, "Left as it is, and no revision is made smaller", remedy


def _explain_routers(view: View) -> tuple[str, ...]:
    return _hold(view), "Goes on by itself when that ends. Do: look at the router's pods"


_EXPLANATIONS: dict[str, Callable[[View], tuple[str, ...]]] = {
    Reason.NAME_TAKEN: _explain_name_taken,
    Reason.ROUTE_FIGHT: _explain_fight,
    Reason.STATUS_LOST: _explain_status_lost,
    Reason.ROLLED_BACK: _explain_rolled_back,
    Reason.REVISION_PREVIOUSLY_FAILED: _explain_failed_before,
    Reason.BASELINE_TAMPERED: _explain_tampered,
    Reason.NO_READY_ENDPOINT: _explain_dead_stable,
    Reason.PROBE_FAILED: _explain_probe_failed,
    Reason.WEIGHT_NOT_OBSERVED: _explain_routers,
    Reason.ROUTERS_SILENT: _explain_routers,
}


def promoted(view: View) -> Finding:
    """Say how the last attempt ended; Unknown while one runs."""
    candidate, last, hold = view.state.candidate, view.state.last_attempt, view.state.hold
    if candidate is not None:
        if view.state.stage is RolloutStage.ROLLING_BACK and candidate.decision is not None:
            why = f"{candidate.revision}: {candidate.decision.message}"
            return false(candidate.decision.cause, sentences(view.traffic, why))
        if view.state.stable is None and hold is not None:
            return false(hold.reason, sentences(view.traffic, hold.message))
        return unknown(Reason.IN_PROGRESS, sentences(_title(view, candidate)))
    if last is None:
        return unknown(Reason.NOT_OBSERVED, "No attempt is known of.")
    if last.outcome is Outcome.PROMOTED:
        at = f"{last.revision} was promoted at {moment(last.ended_at)}: {last.message}"
        return true(Reason.AS_EXPECTED, sentences(at))
    return false(last.cause, sentences(_last_attempt(view)))


def _idle(view: View) -> Finding:
    stable = view.state.stable
    if not view.spec_serves or stable is None:
        return true(
            Reason.DEPLOYING, sentences(view.traffic, f"An attempt of {view.revision} is about to start")
        )
    wanted, there = view.spec.replicas, view.seen.revision(stable.revision).desired_replicas
    now_ready = ready_pods(view.seen, stable.revision)
    if there != wanted or now_ready != wanted:
        storm = view.state.storm_of(stable.revision)
        why = f"{now_ready} of {pods(wanted)} are ready"
        told = (why, DO_NOTHING) if storm is None else (why, storm_of_pods(storm), "Do: look at its nodes")
        return true(Reason.SCALING, sentences(view.traffic, *told))
    return false(Reason.AS_EXPECTED, sentences(view.traffic, DO_NOTHING))


def _moving(view: View, candidate: Candidate) -> Finding:
    title = _title(view, candidate)
    if view.state.stage is RolloutStage.PROMOTING:
        return true(
            Reason.PROMOTING, sentences(title, f"{candidate.revision} takes over as stable", DO_NOTHING)
        )
    if view.state.stage is RolloutStage.DEPLOYING:
        # The first revision goes through no steps.
        following = next_step(candidate) if view.state.stable else "Next: all traffic when all pods are warm"
        if candidate.warm_up is not None:
            why = f"{pods(len(candidate.warm_up.pods))} of {candidate.revision} are being warmed"
            return true(
                Reason.WARMING_UP,
                sentences(title, why, until(candidate.deadline), following, DO_NOTHING),
            )
        why = f"Pods of {candidate.revision} are being started"
        return true(
            Reason.DEPLOYING,
            sentences(title, why, until(candidate.deadline), following, DO_NOTHING),
        )
    if view.awaits_approval is not None:
        return _awaiting_approval(view, candidate, view.awaits_approval)
    return true(Reason.STEPPING, sentences(title, _why(view, candidate), next_step(candidate), DO_NOTHING))


def _paused(view: View, candidate: Candidate, paused: Pause) -> Finding:
    hold = view.state.hold
    why = f"Paused since {moment(paused.since)}: {paused.message}"
    held = f"{hold.reason}: {hold.message}" if hold is not None else ""
    choice = f"Do: {view.command('resume')}, or {view.command('promote')}, or {view.command('abort')}"
    return true(Reason.PAUSED, sentences(_title(view, candidate), why, held, choice))


def _awaiting_approval(view: View, candidate: Candidate, step: str) -> Finding:
    judged = view.judgement.detail if view.judgement is not None else ""
    why = f"{step} waits for approval. {judged}" if judged else f"{step} waits for approval"
    choice = f"Do: {view.command('approve', f'--step {step}')}, or {view.command('abort')}"
    return true(
        Reason.AWAITING_APPROVAL, sentences(_title(view, candidate), why, next_step(candidate), choice)
    )


def _why(view: View, candidate: Candidate) -> str:
    if candidate.step is not None and candidate.step.passed_at is not None:
        return "Passed; pods for the next step are being started and warmed"
    if candidate.step is not None and candidate.step.acknowledged_at is None:
        return "The step's weight is not in force yet"
    return view.judgement.detail if view.judgement is not None else ""


def _title(view: View, candidate: Candidate) -> str:
    return f"{step_title(candidate)}: {view.traffic}"


def _hold(view: View) -> str:
    return view.state.hold.message if view.state.hold else ""


def _last_attempt(view: View) -> str:
    last = view.state.last_attempt
    if last is None:
        return ""
    ended = "was given up" if last.outcome is Outcome.SUPERSEDED else "was rolled back"
    after = (
        f" ({(last.ended_at - last.decided_at).total_seconds():.1f} s after the decision)"
        if last.decided_at
        else ""
    )
    return f"{last.revision} {ended} at {moment(last.ended_at)}{after}: {last.message}"
