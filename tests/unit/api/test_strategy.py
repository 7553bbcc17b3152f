from typing import Any

import pytest

from chaffinch.api.v1alpha1.parse import parse_rollout
from chaffinch.api.v1alpha1.rollout import Capacity, Require
from chaffinch.api.v1alpha1.strategy import (
    BakeStep,
    CanaryStep,
    ProbeStep,
    Strategy,
    WarmUpStep,
    startup_seconds,
    strategy_of,
)
from unit.api.rollouts import rollout_body

BASELINE = {"name": "chat-a100", "version": "v1"}


def resolved(**spec: object) -> Strategy:
    return strategy_of(parse_rollout(rollout_body(**spec)))


def test_the_default_ladder_probes_only_against_a_baseline() -> None:
    without = resolved()
    with_baseline = resolved(baseline=BASELINE)
    assert without == Strategy(
        capacity=Capacity.SURGE,
        progress_deadline_seconds=900,
        steps=(
            WarmUpStep("warm-up", 100, 4),
            CanaryStep("canary-5", 500, 300, Require.NO_HARM, 1800),
            CanaryStep("canary-one-pod", 2000, 600, Require.NO_HARM, 3600),
            CanaryStep("canary-50", 5000, 600, Require.PROVEN, 3600),
            BakeStep("bake", 1800),
        ),
    )
    assert with_baseline.steps == (without.steps[0], ProbeStep("probe", "standard/v1"), *without.steps[1:])


@pytest.mark.parametrize(
    ("replicas", "want_weights"),
    [
        (1, [500, 5000]),  # one pod is half
        (2, [500, 3333, 5000]),
        (4, [500, 2000, 5000]),
        (18, [500, 526, 5000]),
        (19, [500, 5000]),  # one pod is 5 %
        (64, [500, 5000]),  # one pod is less than 5 %
    ],
)
def test_parity_with_one_pod_is_a_rung_where_it_lies_between_the_others(
    replicas: int, want_weights: list[int]
) -> None:
    steps = resolved(replicas=replicas).steps
    assert [step.weight for step in steps if isinstance(step, CanaryStep)] == want_weights


@pytest.mark.parametrize(
    ("canary", "want"),
    [
        ({"weight": 49, "for": "5m"}, CanaryStep("c", 4900, 300, Require.NO_HARM, 1800)),
        ({"weight": 50, "for": "5m"}, CanaryStep("c", 5000, 300, Require.PROVEN, 1800)),
        ({"weight": 50, "for": "6m"}, CanaryStep("c", 5000, 360, Require.PROVEN, 2160)),
        ({"weight": 5, "for": "1s", "require": "Proven"}, CanaryStep("c", 500, 1, Require.PROVEN, 1800)),
        (
            {"weight": 50, "for": "1h", "require": "NoHarm"},
            CanaryStep("c", 5000, 3600, Require.NO_HARM, 21_600),
        ),
        ({"weight": 5, "for": "10s", "maxWait": "20s"}, CanaryStep("c", 500, 10, Require.NO_HARM, 20)),
    ],
)
def test_what_a_canary_step_leaves_out_follows_from_its_weight_and_time(
    canary: dict[str, Any], want: CanaryStep
) -> None:
    assert resolved(strategy={"steps": [{"name": "c", "canary": canary}]}).steps == (want,)


def test_an_empty_list_of_steps_means_the_default_ladder() -> None:
    assert resolved(strategy={"steps": []}) == resolved()


def test_written_steps_and_deadline_are_taken_as_written() -> None:
    strategy = resolved(
        baseline=BASELINE,
        strategy={
            "progressDeadline": "90s",
            "steps": [
                {"name": "warm", "warmUp": {"requests": 8, "concurrency": 2}},
                {"name": "probe", "probe": {"profile": "smoke/v1"}},
                {"name": "bake", "bake": {"for": "10s"}},
            ],
        },
    )
    assert strategy == Strategy(
        capacity=Capacity.SURGE,
        progress_deadline_seconds=90,
        steps=(WarmUpStep("warm", 8, 2), ProbeStep("probe", "smoke/v1"), BakeStep("bake", 10)),
    )


def test_a_strategy_knows_whether_it_warms_up() -> None:
    assert resolved().warm_up == WarmUpStep("warm-up", 100, 4)
    assert resolved(strategy={"steps": [{"name": "c", "canary": {"weight": 5, "for": "1m"}}]}).warm_up is None


def test_the_start_up_budget_is_ten_minutes_unless_written() -> None:
    assert startup_seconds(parse_rollout(rollout_body())) == 600
    assert startup_seconds(parse_rollout(rollout_body(pod={"startupSeconds": 45}))) == 45
