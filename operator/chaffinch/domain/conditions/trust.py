"""The conditions about what decisions rest on: Evidence, BaselineValid, SpecApplied."""

from __future__ import annotations

from chaffinch.api.v1alpha1.attempt_status import RolloutStage
from chaffinch.api.v1alpha1.reasons import Reason
from chaffinch.domain.conditions.view import Finding, View, false, true, unknown
from chaffinch.domain.plan import baseline_name_of, plan_of
from chaffinch.domain.verdict import EvidenceReason
from chaffinch.domain.wording import sentences, step_title

_CANNOT_TELL = frozenset(
    {
        EvidenceReason.UNAVAILABLE,
        EvidenceReason.NO_DATA,
        EvidenceReason.STALE_DATA,
        EvidenceReason.NOT_COMPARABLE,
    }
)

_AT_REST = (
    "Replicas are in force at once; objectives, strategy, baseline and onFailure are what the next attempt "
    "will be held to."
)


def evidence(view: View) -> Finding:
    """Say whether there is enough evidence to decide the current step."""
    judgement, candidate = view.judgement, view.state.candidate
    if candidate is None or view.state.stage is not RolloutStage.STEPPING:
        return unknown(Reason.AS_EXPECTED, "No step is being judged.")
    if judgement is None and view.awaits_approval is not None and candidate.weight == 0:
        return unknown(
            Reason.AS_EXPECTED, sentences(step_title(candidate), "Nothing is judged without traffic")
        )
    if judgement is None:
        return unknown(Reason.NO_DATA, sentences(step_title(candidate), "Nothing has been measured yet"))
    message = sentences(f"{step_title(candidate)}: {judgement.detail}")
    if judgement.reason is EvidenceReason.SUFFICIENT:
        return true(Reason.SUFFICIENT, message)
    if judgement.reason in _CANNOT_TELL:
        return unknown(judgement.reason.value, message)
    return false(judgement.reason.value, message)


def baseline_valid(view: View) -> Finding | None:
    """Say whether the named baseline can be compared with; nothing if none is named."""
    frozen = view.state.candidate.plan.baseline if view.state.candidate else None
    name = frozen.name if frozen else baseline_name_of(view.spec)
    seen = view.seen.baseline
    if name is None:
        return None
    if seen is None or seen.name != name:
        return unknown(Reason.NOT_OBSERVED, f"InferenceBaseline {name} has not been looked at yet.")
    if not seen.found:
        return false(
            Reason.BASELINE_NOT_FOUND,
            f"InferenceBaseline {name} does not exist. Do: freeze it from a load probe.",
        )
    if seen.problem is not None:
        return false(seen.problem, sentences(f"InferenceBaseline {name}: {seen.detail}"))
    return true(Reason.MATCHED, f"InferenceBaseline {name} ({seen.digest[:19]}).")


def spec_applied(view: View) -> Finding:
    """Say whether everything in the spec is in force, and what waits for the next attempt."""
    candidate = view.state.candidate
    if candidate is None:
        return true(Reason.AS_EXPECTED, _AT_REST)
    running, written = candidate.plan, plan_of(view.spec)
    names = (running.baseline.name if running.baseline else None, baseline_name_of(view.spec))
    waiting = [
        field
        for field, differs in (
            ("objectives", running.objectives != written.objectives),
            ("strategy", running.strategy != written.strategy),
            ("baseline", names[0] != names[1]),
            ("onFailure", running.on_failure != written.on_failure),
            ("replicas", _is_smaller(view)),
        )
        if differs
    ]
    if not waiting:
        return true(Reason.AS_EXPECTED, f"Attempt {candidate.attempt} goes by the spec as it is written.")
    return false(
        Reason.NEXT_ATTEMPT,
        f"Changes of {', '.join(waiting)} take effect when attempt {candidate.attempt} is over.",
    )


def _is_smaller(view: View) -> bool:
    stable = view.state.stable
    if stable is None:
        return False
    return (view.seen.revision(stable.revision).desired_replicas or 0) > view.spec.replicas
