from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from chaffinch.api.v1alpha1.attempt_status import Outcome
from chaffinch.api.v1alpha1.status import RolloutStatus
from chaffinch.domain.evidence import Evidence, NoEvidence, Problem
from chaffinch.runtime.metrics import Metrics
from chaffinch.runtime.rollout_metrics import ObjectiveFigure, RolloutFigures
from fakes.virtual_time import run
from fakes.world import FakeRouters, Shop, rollout
from unit.runtime.scrape import scrape, series_of
from unit.runtime.shops import V2, at_canary, healthy, until

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def _publish(metrics: Metrics, status: dict[str, Any], *, after: float = 0) -> None:
    told = RolloutStatus.model_validate(status)
    metrics.rollouts.publish("shop", "chat", RolloutFigures(told, NOW + timedelta(seconds=after)))


def _value(metrics: Metrics, name: str) -> float | None:
    return series_of(metrics.registry, f"chaffinch_rollout_{name}").get(())


def _traffic(sequence: int, acknowledged: int | None, *, routers: int = 2) -> dict[str, Any]:
    return {"sequence": sequence, "acknowledged": acknowledged, "routers": routers}


def _rolled_back(attempt: int, *, over: bool) -> dict[str, Any]:
    at = NOW.isoformat()
    if over:
        ended = {"revision": "0a1b2c3d", "attempt": attempt, "outcome": "RolledBack", "cause": "CrashLoop"}
        return {"lastAttempt": {**ended, "at": at, "message": "crashed"}}
    return {
        "candidate": {"revision": "0a1b2c3d", "attempt": attempt, "replicas": 1, "ready": 1},
        "rollout": {
            "id": f"0a1b2c3d-{attempt}",
            "stage": "RollingBack",
            "startedAt": at,
            "decision": {"kind": "Rollback", "cause": "CrashLoop", "at": at},
        },
    }


def test_an_idle_rollout_says_who_serves_it_and_how_well() -> None:
    async def story() -> dict[str, dict[tuple[str, ...], float]]:
        shop = await healthy()
        await shop.run_pass()  # the routers have acknowledged its last route by now
        of = shop.metrics.registry
        (revision,) = shop.revisions
        assert series_of(of, "chaffinch_rollout_revision_info", "arm", "revision") == {
            ("stable", revision): 1
        }
        return {
            "phase": series_of(of, "chaffinch_rollout_phase", "phase"),
            "stage": series_of(of, "chaffinch_rollout_stage", "stage"),
            "desired": series_of(of, "chaffinch_rollout_desired_replicas", "arm"),
            "ready": series_of(of, "chaffinch_rollout_ready_replicas", "arm"),
            "weight": series_of(of, "chaffinch_rollout_canary_weight_ratio"),
            "routers": series_of(of, "chaffinch_rollout_routers_ready"),
            "lag": series_of(of, "chaffinch_rollout_route_lag_seconds"),
            "hold": series_of(of, "chaffinch_rollout_hold_since_timestamp_seconds"),
            "evidence": series_of(of, "chaffinch_rollout_evidence", "result"),
            "attempts": series_of(of, "chaffinch_rollout_attempts_total", "outcome", "cause"),
        }

    assert run(story()) == {
        "phase": {("Healthy",): 1},
        "stage": {("Idle",): 1},
        "desired": {("stable",): 2},
        "ready": {("stable",): 2},
        "weight": {(): 0},
        "routers": {(): 2},
        "lag": {(): 0},
        "hold": {},
        "evidence": {},
        "attempts": {("Promoted", "AsExpected"): 1},
    }


def test_each_condition_has_one_series_that_follows_it() -> None:
    async def story() -> None:
        shop = await healthy()

        def conditions() -> set[tuple[str, ...]]:
            named = ("type", "status", "reason")
            return set(series_of(shop.metrics.registry, "chaffinch_rollout_condition", *named))

        told = {(each["type"], each["status"], each["reason"]) for each in shop.status["conditions"]}
        assert conditions() == told
        shop.apply(rollout(**V2))
        await shop.run_pass()
        after = {(each["type"], each["status"], each["reason"]) for each in shop.status["conditions"]}
        assert conditions() == after != told

    run(story())


def test_a_canary_that_waits_says_for_what_and_since_when() -> None:
    async def story() -> None:
        shop = await at_canary()
        await asyncio.sleep(60)
        await shop.run_pass()
        of = shop.metrics.registry
        assert series_of(of, "chaffinch_rollout_canary_weight_ratio") == {(): 0.2}
        assert series_of(of, "chaffinch_rollout_evidence", "result") == {("NoData",): 1}
        since = datetime.fromisoformat(shop.status["rollout"]["hold"]["since"]).timestamp()
        named = series_of(of, "chaffinch_rollout_hold_since_timestamp_seconds", "reason")
        assert named == {("NoData",): pytest.approx(since)}

    run(story())


def test_attempts_are_counted_by_how_they_ended() -> None:
    async def story() -> None:
        shop = await at_canary()
        shop.evidence.answer, shop.evidence.factor = None, 1.6
        await until(shop, lambda: shop.status["phase"] == "Degraded")
        ends = series_of(shop.metrics.registry, "chaffinch_rollout_attempts_total", "outcome", "cause")
        assert ends == {("Promoted", "AsExpected"): 1, ("RolledBack", "ObjectiveFailed"): 1}

    run(story())


def test_a_spec_that_breaks_a_rule_is_published_too() -> None:
    async def story() -> None:
        shop = Shop()
        shop.apply(rollout(replicas=-1))
        await shop.run_pass()
        found = series_of(shop.metrics.registry, "chaffinch_rollout_condition", "type", "status", "reason")
        assert ("Stalled", "True", "InvalidSpec") in found

    run(story())


def test_a_route_that_no_router_follows_lags_from_the_pass_that_saw_it_first() -> None:
    metrics = Metrics()
    lags = []
    for after, acknowledged in ((0, 3), (5, 3), (10, None), (15, 4), (20, 4)):
        sequence = 3 if after == 0 else 4
        _publish(metrics, {"traffic": _traffic(sequence, acknowledged)}, after=after)
        lags.append(_value(metrics, "route_lag_seconds"))
    assert lags == [0, 0, 5, 0, 0]


def test_without_a_ready_router_no_route_lags() -> None:
    metrics = Metrics()
    _publish(metrics, {"traffic": _traffic(4, None, routers=0)})
    _publish(metrics, {"traffic": _traffic(4, None, routers=0)}, after=60)
    assert _value(metrics, "route_lag_seconds") == 0


@pytest.mark.parametrize(
    ("passes", "want"),
    [
        ([(False, None), (False, 6)], [1, 1]),
        ([(False, 7), (True, 7)], [0, 0]),
        ([(False, 6), (True, 6), (True, 7), (True, None)], [1, 1, 0, 0]),
    ],
    ids=["not yet", "at once", "late; what a router does not answer afterwards is another matter"],
)
def test_a_rollback_is_unacknowledged_until_all_routers_have_followed(
    passes: list[tuple[bool, int | None]], want: list[float]
) -> None:
    metrics, found = Metrics(), []
    for over, acknowledged in passes:
        _publish(metrics, {**_rolled_back(2, over=over), "traffic": _traffic(7, acknowledged)})
        found.append(_value(metrics, "rollback_unacknowledged"))
    assert found == want


def test_a_promotion_is_no_rollback() -> None:
    metrics = Metrics()
    status = _rolled_back(2, over=True)
    status["lastAttempt"]["outcome"] = "Promoted"
    _publish(metrics, {**status, "traffic": _traffic(7, None)})
    assert _value(metrics, "rollback_unacknowledged") == 0


def test_the_last_reading_of_evidence_is_remembered_while_evidence_is_needed() -> None:
    metrics, found = Metrics(), []
    usable: Any = Evidence(candidate=None, control=None, until=NOW)  # type: ignore[arg-type]
    for after, evidence in ((0, usable), (5, NoEvidence(Problem.UNAVAILABLE, "")), (10, None)):
        figures = RolloutFigures(RolloutStatus(), NOW + timedelta(seconds=after), evidence=evidence)
        metrics.rollouts.publish("shop", "chat", figures)
        results = series_of(metrics.registry, "chaffinch_rollout_evidence", "result")
        found.append((_value(metrics, "evidence_success_timestamp_seconds"), results))
    assert found == [
        (NOW.timestamp(), {("Read",): 1}),
        (NOW.timestamp(), {("EvidenceUnavailable",): 1}),
        (None, {}),
    ]


def test_figures_of_objectives_stay_until_there_are_newer_ones() -> None:
    metrics = Metrics()
    figures = RolloutFigures(RolloutStatus(), NOW, (ObjectiveFigure("ttft", 0.25, 0.2),))
    metrics.rollouts.publish("shop", "chat", figures)
    _publish(metrics, {})
    named = series_of(metrics.registry, "chaffinch_objective_value", "objective", "arm")
    assert named == {("ttft", "candidate"): 0.25, ("ttft", "control"): 0.2}


def test_nothing_is_left_of_a_rollout_that_is_gone_and_others_stay() -> None:
    metrics = Metrics()
    for name in ("chat", "other"):
        figures = (ObjectiveFigure("ttft", 0.25, None),)
        status = RolloutStatus.model_validate({"traffic": _traffic(7, 6)})
        metrics.rollouts.publish("shop", name, RolloutFigures(status, NOW, figures))
        metrics.rollouts.had_pass("shop", name, failed=True)
        metrics.rollouts.ended("shop", name, Outcome.ROLLED_BACK, "CrashLoop")
    metrics.rollouts.forget("shop", "chat")
    of = {dict(labels).get("rollout") for _, labels in scrape(metrics.registry)}
    assert of == {None, "other"}


def test_fake_routers_that_are_deaf_show_as_a_lag() -> None:
    async def story() -> None:
        shop = await healthy()
        assert isinstance(shop.routers, FakeRouters)
        shop.routers.deaf = True
        shop.apply(rollout(**V2))
        for _ in range(120):
            shop.obey()
            await shop.run_pass()
            await asyncio.sleep(1)
        assert (_value(shop.metrics, "route_lag_seconds") or 0) > 0

    run(story())
