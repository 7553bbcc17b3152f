"""Derives the conditions of a rollout, each from a small function in one of the modules beside this one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from chaffinch.api.v1alpha1.common import Condition
from chaffinch.api.v1alpha1.reasons import ConditionType, Reason
from chaffinch.domain.conditions import progress, serving, trust
from chaffinch.domain.conditions.view import Finding, View, false, true
from chaffinch.domain.wording import sentences

_CONDITIONS: dict[ConditionType, Callable[[View], Finding | None]] = {
    ConditionType.AVAILABLE: serving.available,
    ConditionType.READY: serving.ready,
    ConditionType.RECONCILING: progress.reconciling,
    ConditionType.STALLED: progress.stalled,
    ConditionType.PROMOTED: progress.promoted,
    ConditionType.EVIDENCE: trust.evidence,
    ConditionType.BASELINE_VALID: trust.baseline_valid,
    ConditionType.SPEC_APPLIED: trust.spec_applied,
}


def conditions_of(view: View, previous: Sequence[Condition], generation: int) -> tuple[Condition, ...]:
    """Return all conditions.

    Args:
        view: What they are derived from.
        previous: The stored ones: a condition that keeps its status keeps its transition time.
        generation: The generation of the spec that was looked at.
    """
    findings = {kind: finding for kind, of in _CONDITIONS.items() if (finding := of(view)) is not None}
    return _dated(findings, previous, generation, view.now)


def invalid_spec_conditions(
    field: str,
    message: str,
    previous: Sequence[Condition],
    generation: int,
    now: datetime,
    *,
    goes_on: bool = False,
) -> tuple[Condition, ...]:
    """Return the conditions of a rollout whose spec breaks a rule.

    Args:
        field: The path of the field.
        message: The rule and the remedy.
        previous: The stored conditions; those that say nothing of the spec are kept.
        generation: The generation of the spec.
        now: The time.
        goes_on: Whether an attempt goes on as it began; else traffic stays as it is.
    """
    meanwhile = "The attempt goes on as it began" if goes_on else "Nothing is changed until that is mended"
    text = sentences(f"{field}: {message}", meanwhile)
    findings = {
        ConditionType.READY: false(Reason.INVALID_SPEC, text),
        ConditionType.RECONCILING: false(Reason.INVALID_SPEC, text),
        ConditionType.STALLED: true(Reason.INVALID_SPEC, text),
        ConditionType.SPEC_APPLIED: false(Reason.INVALID_SPEC, text),
    }
    told = _dated(findings, previous, generation, now)
    rest = tuple(each for each in previous if each.type not in {new.type for new in told})
    return (*rest, *told)


def _dated(
    findings: dict[ConditionType, Finding], previous: Sequence[Condition], generation: int, now: datetime
) -> tuple[Condition, ...]:
    old = {condition.type: condition for condition in previous}
    return tuple(
        Condition(
            type=kind.value,
            status=finding.status,
            reason=finding.reason,
            message=finding.message,
            observed_generation=generation,
            last_transition_time=_since(old.get(kind.value), finding, now),
        )
        for kind, finding in findings.items()
    )


def _since(old: Condition | None, finding: Finding, now: datetime) -> datetime:
    return old.last_transition_time if old is not None and old.status is finding.status else now
