"""What the conditions say in words."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from chaffinch.domain.conditions import conditions_of, invalid_spec_conditions
from chaffinch.domain.conditions.view import View
from chaffinch.domain.state import COMMANDED, Pause
from chaffinch.domain.verdict import EvidenceReason
from chaffinch.domain.wording import sentences
from unit.domain.revisions import edited
from unit.domain.states import (
    AT_CANARY,
    FIRST,
    HEALTHY,
    NEW,
    NOW,
    OLD,
    OVERDUE,
    REFUSED,
    ROLLED_BACK,
    SEEN,
    SPEC,
    STEPPING,
    WAITING,
    judged,
    pods,
)


def test_a_step_says_where_traffic_is_why_and_what_comes_next() -> None:
    judgement = judged(EvidenceReason.JUDGING)
    found = conditions_of(View(SPEC, STEPPING, SEEN, judgement, NOW), (), 3)
    message = next(c.message for c in found if c.type == "Reconciling")
    assert message == (
        f"Step 2/5 canary-5: 5% on {NEW} (1 pod), 95% on {OLD} (4 pods)."
        " ttft p95 1.02x stable, n 2310/9240: undecided. Next: canary-one-pod on pass. Do: nothing."
    )


def test_a_rollback_says_where_traffic_is_why_and_what_to_do() -> None:
    found = conditions_of(View(SPEC, REFUSED, SEEN, None, NOW), (), 3)
    assert next(c.message for c in found if c.type == "Stalled") == (
        f"100% on {OLD} (4 pods). {NEW} was rolled back at 14:07:31Z: ttft p95 1.29x stable."
        " Not retried by itself. Do: change the spec, or set it back to the stable revision's;"
        " or kubectl chaffinch retry chat -n llm."
    )


def test_a_revision_that_found_no_room_is_said_to_be_tried_again() -> None:
    again = NOW + timedelta(minutes=10)
    last = replace(
        ROLLED_BACK, cause="Unschedulable", message="no node has room for its pods", again_at=again
    )
    found = conditions_of(View(SPEC, replace(REFUSED, failed=(), last_attempt=last), SEEN, None, NOW), (), 3)
    assert next(c.message for c in found if c.type == "Stalled") == (
        f"100% on {OLD} (4 pods). {NEW} was rolled back at 14:07:31Z: no node has room for its pods."
        " Tried again by itself at 14:17:31Z. Do: see that its pods find room and stay,"
        " or kubectl chaffinch retry chat -n llm."
    )


@pytest.mark.parametrize(
    ("paused", "want"),
    [
        (COMMANDED, "paused by ann"),
        ("ObjectiveFailed", "ttft p95 1.29x stable"),
    ],
)
def test_a_pause_says_why_and_how_it_ends(paused: str, want: str) -> None:
    state = replace(STEPPING, candidate=replace(AT_CANARY, paused=Pause(NOW, paused, None, want)))
    found = conditions_of(View(SPEC, state, SEEN, None, NOW), (), 3)
    assert next(c.message for c in found if c.type == "Reconciling") == (
        f"Step 2/5 canary-5: 5% on {NEW} (1 pod), 95% on {OLD} (4 pods)."
        f" Paused since 14:07:31Z: {want}. Do: kubectl chaffinch resume chat -n llm,"
        " or kubectl chaffinch promote chat -n llm, or kubectl chaffinch abort chat -n llm."
    )


def test_a_first_revision_is_not_said_to_go_through_steps() -> None:
    found = conditions_of(View(SPEC, FIRST, SEEN, None, NOW), (), 3)
    message = next(c.message for c in found if c.type == "Reconciling")
    assert message.startswith("Attempt 2: No revision serves yet. Pods of ")
    assert "Next: all traffic when all pods are warm." in message


def test_what_to_do_is_not_cut_however_long_names_and_reasons_are() -> None:
    rollout = replace(SEEN.rollout, name="n" * 40, namespace="s" * 63)
    state = replace(STEPPING, candidate=replace(AT_CANARY, paused=Pause(NOW, COMMANDED, None, "why " * 99)))
    found = conditions_of(View(SPEC, state, replace(SEEN, rollout=rollout), None, NOW), (), 3)
    message = next(c.message for c in found if c.type == "Reconciling")
    this = f"{rollout.name} -n {rollout.namespace}"
    assert len(message) <= 512
    assert message.startswith(f"Step 2/5 canary-5: 5% on {NEW} (1 pod), 95% on {OLD} (4 pods).")
    assert message.endswith(
        f"… Do: kubectl chaffinch resume {this}, or kubectl chaffinch promote {this},"
        f" or kubectl chaffinch abort {this}."
    )


def test_a_last_sentence_that_leaves_no_room_for_another_is_cut_itself() -> None:
    told = sentences("100% on 58be2aaa", "x" * 500)
    assert told == f"100% on 58be2aaa. {'x' * 493}…"
    assert len(told) == 512


def test_an_approval_step_says_what_is_known_and_how_it_is_approved() -> None:
    found = conditions_of(View(SPEC, WAITING, SEEN, judged(EvidenceReason.JUDGING), NOW), (), 3)
    assert next(c.message for c in found if c.type == "Reconciling") == (
        f"Step 3/6 sign-off: 5% on {NEW} (1 pod), 95% on {OLD} (4 pods). sign-off waits for approval."
        " ttft p95 1.02x stable, n 2310/9240: undecided. Next: canary-one-pod on approval."
        " Do: kubectl chaffinch approve chat -n llm --step sign-off, or kubectl chaffinch abort chat -n llm."
    )


def test_a_step_without_evidence_says_what_a_person_can_do() -> None:
    found = conditions_of(View(SPEC, OVERDUE, SEEN, None, NOW), (), 3)
    assert next(c.message for c in found if c.type == "Stalled").endswith(
        " no block has matured. Goes on by itself when that ends. Do: look into it,"
        " or kubectl chaffinch promote chat -n llm, or kubectl chaffinch abort chat -n llm."
    )


def test_an_invalid_spec_changes_nothing_but_what_is_said_of_it() -> None:
    healthy = conditions_of(View(SPEC, HEALTHY, replace(SEEN, revisions=(pods(NEW, 4),)), None, NOW), (), 3)
    found = invalid_spec_conditions("spec.replicas", "must be 1 or more", healthy, 4, NOW)
    by_type = {each.type: each for each in found}
    assert set(by_type) == {each.type for each in healthy}
    assert by_type["Available"] == healthy[0]
    told = ("Ready", "Reconciling", "Stalled", "SpecApplied")
    said = [(by_type[kind].status.value, by_type[kind].reason) for kind in told]
    assert said == [
        ("False", "InvalidSpec"), ("False", "InvalidSpec"), ("True", "InvalidSpec"), ("False", "InvalidSpec")
    ]  # fmt: skip
    assert by_type["Stalled"].message == (
        "spec.replicas: must be 1 or more. Nothing is changed until that is mended."
    )


def spec_applied(view: View) -> tuple[str, str]:
    """Return what the condition SpecApplied says."""
    found = conditions_of(view, (), 3)
    return next((one.status.value, one.message) for one in found if one.type == "SpecApplied")


def test_an_edit_of_what_becomes_of_a_failure_waits_for_the_next_attempt() -> None:
    assert spec_applied(View(edited("onFailure", "Pause"), STEPPING, SEEN, None, NOW)) == (
        "False",
        "Changes of onFailure take effect when attempt 2 is over.",
    )


def test_an_attempt_that_goes_by_the_spec_says_so() -> None:
    assert spec_applied(View(SPEC, STEPPING, SEEN, None, NOW)) == (
        "True",
        "Attempt 2 goes by the spec as it is written.",
    )


def test_at_rest_it_is_said_which_edits_wait_for_the_next_attempt() -> None:
    status, message = spec_applied(View(edited("onFailure", "Pause"), HEALTHY, SEEN, None, NOW))
    assert status == "True"
    assert message == (
        "Replicas are in force at once; objectives, strategy, baseline and onFailure are what the next"
        " attempt will be held to."
    )
