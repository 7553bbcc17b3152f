"""One bad rollout delays no other one, and never ends the operator (I11)."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from chaffinch.api.v1alpha1.parse import parse_record
from chaffinch.api.v1alpha1.record import RolloutRecordSpec, RolloutRecordStatus
from crash.crowd import apply, is_ready, until_all
from crash.operator_process import OperatorProcess
from crash.playground import GROUP, Playground, path_of
from crash.poison import ENDS, MINIMUM_SECONDS, Poisoner, is_promoted, version

PACE = {
    "CHAFFINCH_ACTIVE_INTERVAL": "5",
    "CHAFFINCH_IDLE_INTERVAL": "60",
    "CHAFFINCH_PASS_SPACING": "1",
    "CHAFFINCH_LEASE_DURATION": "15",
    "CHAFFINCH_LEASE_NAME": "poison",
}
"""As in production: what others are delayed by is measured in its time."""
FAST = {
    "CHAFFINCH_ACTIVE_INTERVAL": "1",
    "CHAFFINCH_IDLE_INTERVAL": "2",
    "CHAFFINCH_PASS_SPACING": "0.2",
    "CHAFFINCH_PROMETHEUS_TIMEOUT": "2",
    "CHAFFINCH_ROUTER_REPLICAS": "1",
}
CROWD = 50
MOST_DELAY = 1.5
"""How much slower others may be while a test runs on a busy machine; the criterion is 1.1."""


@contextmanager
def serving(
    playground: Playground, good: Sequence[str], **pace: str
) -> Iterator[tuple[str, OperatorProcess]]:
    """Start an operator, and let good rollouts and those to be poisoned serve their first versions."""
    with playground.namespace() as namespace, playground.proxy() as proxy:
        settings = {**PACE, **pace, "CHAFFINCH_WATCH_NAMESPACES": namespace}
        with playground.operator(proxy, "poison", **settings) as operator:
            operator.start()
            names = (*good, *ENDS)
            roll_out(playground, namespace, names, 1)
            until_all(playground, {(namespace, name): is_ready for name in names}, "all serve")
            yield namespace, operator


def roll_out(playground: Playground, namespace: str, names: Sequence[str], number: int) -> None:
    """Apply a version of each."""
    for name in names:
        apply(playground, version(namespace, name, number))


def test_rollouts_that_go_wrong_keep_no_other_from_being_promoted(playground: Playground) -> None:
    good = [f"good-{number}" for number in range(4)]
    with serving(playground, good, **FAST) as (namespace, operator):
        poisoner = Poisoner(playground, namespace)
        with poisoner.unanswered():
            poisoner.begin()
            roll_out(playground, namespace, good, 2)
            ends = dict.fromkeys(good, is_promoted) | dict(ENDS)
            until_all(
                playground, {(namespace, name): holds for name, holds in ends.items()},
                "the good are promoted, and of the others it is said what is wrong", meanwhile=poisoner.look,
            )  # fmt: skip
        assert operator.alive
        assert [line for line in operator.log.read_text().splitlines() if "ERROR" in line] == []


@pytest.mark.full
def test_rollouts_that_go_wrong_do_not_slow_down_others(playground: Playground) -> None:
    """Two clean rounds, before and after a poisoned one, tell what is the poison's from what is not."""
    good = [f"good-{number}" for number in range(CROWD - len(ENDS))]
    with serving(playground, good) as (namespace, operator):
        poisoner = Poisoner(playground, namespace)
        before = latencies(playground, namespace, good, 2)
        with poisoner.unanswered():
            poisoner.begin()
            poisoned = latencies(playground, namespace, good, 3, poisoner)
            assert operator.alive
        for name in ENDS:
            playground.api.delete(path_of(namespace, name))
        after = latencies(playground, namespace, good, 4)
    for what in ("step", "attempt"):
        clean, harmed = max(before[what], after[what]), poisoned[what]
        print(
            f"p95 of {what}: clean {before[what]:.2f} s and {after[what]:.2f} s, beside {len(ENDS)} poisoned"
            f" rollouts {harmed:.2f} s: x {harmed / clean:.2f}"
        )
        assert harmed <= MOST_DELAY * clean


def latencies(
    playground: Playground, namespace: str, good: Sequence[str], number: int, poisoner: Poisoner | None = None
) -> dict[str, float]:
    """Roll a version out to all of the good; return the p95 of their steps and of their attempts, in seconds.

    What a step takes beyond its minimum time is counted: until its weight is in force, and from then on
    until the next one begins.
    """
    roll_out(playground, namespace, good, number)
    meanwhile = poisoner.look if poisoner else lambda: None
    until_all(
        playground, {(namespace, name): is_promoted for name in good}, f"version {number} is promoted",
        seconds=600, meanwhile=meanwhile,
    )  # fmt: skip
    found = playground.api.get(f"{GROUP}/namespaces/{namespace}/rolloutrecords") or {"items": []}
    mine = [
        record
        for record in found["items"]
        if record["spec"]["rollout"] in good and record["spec"]["attempt"] == number
    ]
    assert len(mine) == len(good)
    specs = [parse_record(record) for record in mine]
    ends = [RolloutRecordStatus.model_validate(record["status"]) for record in mine]
    attempts = [took(spec, end) for spec, end in zip(specs, ends, strict=True)]
    return {"step": p95([seconds for end in ends for seconds in delays(end)]), "attempt": p95(attempts)}


def took(spec: RolloutRecordSpec, end: RolloutRecordStatus) -> float:
    """Return how long an attempt took, in seconds."""
    assert end.ended_at is not None
    return (end.ended_at - spec.started_at).total_seconds()


def delays(end: RolloutRecordStatus) -> Iterator[float]:
    """Yield what each step of an attempt took beyond its minimum time, in seconds."""
    entered = [step.entered_at for step in end.steps]
    for step, left in zip(end.steps, (*entered[1:], end.ended_at), strict=True):
        assert step.acknowledged_at is not None
        assert left is not None
        yield (left - step.entered_at).total_seconds() - MINIMUM_SECONDS


def p95(seconds: Sequence[float]) -> float:
    """Return the 95th percentile."""
    return statistics.quantiles(seconds, n=20)[-1]
