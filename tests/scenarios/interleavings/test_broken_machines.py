"""Machines that lack one of their checks, or mistake a size: each breaks a law that is looked after."""

from __future__ import annotations

from importlib import import_module

import pytest

from chaffinch.api.v1alpha1.attempt_status import RolloutStage
from chaffinch.api.v1alpha1.rollout import InferenceRolloutSpec
from chaffinch.domain.machine import everywhere
from chaffinch.domain.observation import Observation
from chaffinch.domain.state import RolloutState
from scenarios.interleavings.exploring import Mix
from scenarios.interleavings.themes import THEMES, explored

SIZES = import_module("chaffinch.domain.desired")._sizes


def explore(theme: str) -> None:
    size, depth, events = THEMES[theme]
    explored(size, Mix(events), depth)


@pytest.mark.parametrize(
    ("stage", "check", "theme", "law"),
    [
        (RolloutStage.DEPLOYING, "it_is_paused", "stops that people ask for", "a step is entered in a pause"),
        (RolloutStage.STEPPING, "nothing_could_take_over", "pods", "cannot answer"),
        (RolloutStage.STEPPING, "a_person_is_waited_for", "pods", "an approval step passes by itself"),
        (RolloutStage.STEPPING, "the_verdict_is_fail", "pods", "a verdict is lost"),
        (RolloutStage.PROMOTING, "pods_are_missing", "pods", "cannot answer"),
        (
            RolloutStage.PROMOTING,
            "routers_have_not_acknowledged",
            "pods",
            "what has all traffic becomes stable",
        ),
        (RolloutStage.IDLE, "stable_is_what_the_spec_asks_for", "edits", "what serves is tried"),
    ],
)
def test_without_one_of_its_checks_the_machine_breaks_a_law(
    monkeypatch: pytest.MonkeyPatch, stage: RolloutStage, check: str, theme: str, law: str
) -> None:
    stages = import_module("chaffinch.domain.machine.step").STAGES
    others = tuple(each for each in stages[stage] if each.__name__ != check)
    assert len(others) == len(stages[stage]) - 1
    monkeypatch.setitem(stages, stage, others)
    with pytest.raises(AssertionError, match=law):
        explore(theme)


@pytest.mark.parametrize(
    ("check", "law"),
    [("a_read_has_failed", "though a read fails"), ("a_name_is_taken", "though a name is taken")],
)
def test_a_machine_that_overlooks_what_it_must_not_decide_from_breaks_a_law(
    monkeypatch: pytest.MonkeyPatch, check: str, law: str
) -> None:
    others = tuple(each for each in everywhere.CHECKS if each.__name__ != check)
    assert len(others) == len(everywhere.CHECKS) - 1
    monkeypatch.setattr(everywhere, "CHECKS", others)
    with pytest.raises(AssertionError, match=law):
        explore("nothing to decide from")


def as_the_spec_says(spec: InferenceRolloutSpec, *_: object) -> int:
    return spec.replicas


def test_a_machine_that_shrinks_in_an_attempt_breaks_a_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chaffinch.domain.desired.stable_pods", as_the_spec_says)
    with pytest.raises(AssertionError, match="is made too small"):
        explore("replicas")


def never_smaller(spec: InferenceRolloutSpec, state: RolloutState, seen: Observation) -> dict[str, int]:
    sizes = SIZES(spec, state, seen)
    return {of: max(size, seen.revision(of).desired_replicas or 0) for of, size in sizes.items()}


def test_a_machine_that_never_shrinks_breaks_a_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chaffinch.domain.desired._sizes", never_smaller)
    with pytest.raises(AssertionError, match="this is no end"):
        explore("replicas")


def test_a_machine_that_takes_any_ended_warm_up_for_its_own_breaks_a_law(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("chaffinch.domain.machine.beginning.last_warm_up", lambda *_: 0)
    with pytest.raises(AssertionError, match="that no warm-up has reached"):
        explore("load and a lost status")
