"""Records as a rollout's passes keep them."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from chaffinch.domain.names import RolloutIdentity
from chaffinch.domain.record import KEPT_RECORDS, Move, record_manifest, record_spec
from chaffinch.domain.state import Hold
from chaffinch.ports.cluster import AdmissionDeniedError, Kinds, UnavailableError
from chaffinch.runtime.metrics import Metrics
from chaffinch.runtime.recording import Recording
from fakes.cluster import FakeCluster, Fault
from fakes.virtual_time import run
from fakes.world import NAME, NAMESPACE, Shop, rollout
from unit.domain.states import CANDIDATE, DEPLOYING, NOW, REFUSED, ROLLED_BACK, SEEN, STEPPING
from unit.runtime.shops import V2, at_canary, healthy, keep_passing, until

RECORD = Kinds.RECORD.kind


def records(shop: Shop) -> dict[int, dict[str, Any]]:
    """Return the records that exist, by attempt."""
    found = [body for (kind, _, _), body in shop.cluster.objects.items() if kind == RECORD]
    return {body["spec"]["attempt"]: body for body in found}


def failures(shop: Shop) -> float:
    """Return how often a record could not be kept."""
    return shop.metrics.registry.get_sample_value("chaffinch_record_failures_total") or 0.0


def failing(verb: str) -> Fault:
    """Let requests of this verb for records fail."""
    return lambda asked, key: UnavailableError("away") if (asked, key[0]) == (verb, RECORD) else None


def at_rest(shop: Shop) -> bool:
    return shop.status["phase"] in {"Healthy", "Degraded"} and "rollout" not in shop.status


async def tried(shop: Shop, **changes: object) -> None:
    """Let another version go through its attempt."""
    attempts = shop.status["attempts"]
    shop.apply(rollout(**changes))
    await until(shop, lambda: shop.status["attempts"] > attempts and at_rest(shop))


def test_the_record_of_a_promotion_tells_its_steps_with_times_and_verdicts() -> None:
    async def story() -> None:
        shop = await healthy()
        first = shop.status["stable"]["revision"]
        await tried(shop, **V2)
        record = records(shop)[2]
        revision = shop.status["stable"]["revision"]
        assert record["metadata"]["name"] == f"{NAME}-{revision}-a2"
        assert record["spec"]["stable"] == first
        assert '"image":"engine:2"' in record["spec"]["frozen"]
        status = record["status"]
        assert (status["outcome"], status["cause"]) == ("Promoted", "AsExpected")
        assert status["endedAt"] >= status["decidedAt"]
        steps = {step["name"]: step for step in status["steps"]}
        assert {name: step["weight"] for name, step in steps.items()} == {
            "canary-20": 2_000,
            "canary-50": 5_000,
            "bake": 10_000,
        }
        for step in steps.values():
            assert step["enteredAt"] <= step["acknowledgedAt"] < step["passedAt"]
        for name in ("canary-20", "canary-50"):
            verdicts = {each["name"]: each["verdict"] for each in steps[name]["objectives"]}
            assert verdicts == {"ttft": "Pass", "errors": "Pass"}
        assert failures(shop) == 0

    run(story())


def test_the_record_of_a_rollback_holds_the_figures_that_it_fell_for() -> None:
    async def story() -> None:
        shop = await healthy()
        shop.evidence.factor = 1.6
        await tried(shop, **V2)
        status = records(shop)[2]["status"]
        assert (status["outcome"], status["cause"]) == ("RolledBack", "ObjectiveFailed")
        assert status["message"] == shop.status["lastAttempt"]["message"]
        (step,) = status["steps"]
        assert "passedAt" not in step
        assert {each["name"]: each["verdict"] for each in step["objectives"]}["ttft"] == "Fail"

    run(story())


def test_an_attempt_has_its_record_before_it_has_pods() -> None:
    async def story() -> None:
        shop = Shop()
        shop.apply(rollout())
        await shop.run_pass()
        made = [key[0] for verb, key in shop.cluster.requests if verb in {"create", "apply"}]
        assert made.index(RECORD) < made.index("Deployment")

    run(story())


def test_the_first_deployment_has_a_record_without_steps() -> None:
    async def story() -> None:
        shop = await healthy()
        record = records(shop)[1]
        assert "stable" not in record["spec"]
        assert record["status"]["outcome"] == "Promoted"
        assert "steps" not in record["status"] or record["status"]["steps"] == []

    run(story())


def test_a_hold_is_written_at_once_and_figures_now_and_then() -> None:
    async def story() -> None:
        shop = await at_canary()
        task = asyncio.create_task(keep_passing(shop))
        await asyncio.sleep(120)
        assert [hold["reason"] for hold in records(shop)[2]["status"]["holds"]] == ["NoData"]
        before = shop.cluster.writes()["patch RolloutRecord"]
        await asyncio.sleep(600)
        task.cancel()
        assert shop.cluster.writes()["patch RolloutRecord"] - before <= 600 / 30

    run(story())


def test_nothing_is_read_or_written_of_records_while_there_is_no_attempt() -> None:
    async def story() -> None:
        shop = await healthy()
        before = len(shop.cluster.requests)
        for _ in range(20):
            await shop.run_pass()
            await asyncio.sleep(60)
        later = [key[0] for _, key in shop.cluster.requests[before:]]
        assert RECORD not in later

    run(story())


def test_a_restarted_process_goes_on_with_the_record_that_it_finds() -> None:
    async def story() -> None:
        shop = await at_canary()
        before = records(shop)[2]["status"]["steps"]
        shop.restart()
        shop.evidence.answer = None
        await until(shop, lambda: at_rest(shop))
        status = records(shop)[2]["status"]
        assert status["outcome"] == "Promoted"
        assert status["steps"][0]["enteredAt"] == before[0]["enteredAt"]
        assert len(status["steps"]) == 3
        assert shop.cluster.writes()["create RolloutRecord"] == 2

    run(story())


def test_an_end_that_a_dead_process_did_not_tell_is_told_by_the_next() -> None:
    async def story() -> None:
        shop = await at_canary()
        shop.cluster.fault = failing("patch")
        shop.evidence.answer = None
        await until(shop, lambda: at_rest(shop))
        assert "outcome" not in records(shop)[2]["status"]
        shop.restart()
        shop.cluster.fault = lambda _, __: None
        await shop.run_pass()
        assert records(shop)[2]["status"]["outcome"] == "Promoted"
        before = shop.cluster.writes()
        await shop.run_pass()
        assert shop.cluster.writes() == before

    run(story())


@pytest.mark.parametrize("verb", ["get", "create", "list", "patch"])
def test_a_record_that_cannot_be_kept_stops_no_rollback_and_is_made_up_for(verb: str) -> None:
    async def story() -> None:
        shop = await healthy()
        shop.cluster.fault = failing(verb)
        shop.evidence.factor = 1.6
        await tried(shop, **V2)
        assert shop.condition("Promoted") == ("False", "ObjectiveFailed")
        assert failures(shop) > 0
        shop.cluster.fault = lambda _, __: None
        await asyncio.sleep(60)
        await shop.run_pass()
        # What cannot even be looked for is unknown to the process, so there is nothing to make up for.
        kept = records(shop).get(2, {}).get("status", {}).get("outcome")
        assert kept == (None if verb == "get" else "RolledBack")

    run(story())


def test_a_failure_that_lasts_is_logged_once_and_tried_again_at_most_every_half_minute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def story() -> None:
        shop = await at_canary()
        shop.cluster.fault = lambda asked, key: (
            AdmissionDeniedError("no records") if (asked, key[0]) == ("patch", RECORD) else None
        )
        shop.evidence.answer = None
        caplog.clear()
        began = asyncio.get_running_loop().time()
        await until(shop, lambda: at_rest(shop))
        said = [one.message for one in caplog.records if "record" in one.message]
        assert said == ["the record of an attempt could not be kept: no records"]
        seconds = asyncio.get_running_loop().time() - began
        assert 2 <= failures(shop) <= 1 + seconds / 30

    run(story())


def test_a_record_that_somebody_changed_or_deleted_is_kept_on() -> None:
    async def story() -> None:
        shop = await at_canary()
        record = records(shop)[2]
        shop.cluster.put(record)
        shop.evidence.answer = None
        await until(shop, lambda: shop.status["rollout"]["step"]["name"] == "canary-50")
        del shop.cluster.objects[RECORD, NAMESPACE, record["metadata"]["name"]]
        await until(shop, lambda: at_rest(shop))
        await asyncio.sleep(60)
        await shop.run_pass()
        status = records(shop)[2]["status"]
        assert (status["outcome"], len(status["steps"])) == ("Promoted", 3)

    run(story())


def test_a_record_of_that_name_that_belongs_to_somebody_else_is_not_touched() -> None:
    async def story() -> None:
        shop = await at_canary()
        name = records(shop)[2]["metadata"]["name"]
        del shop.cluster.objects[RECORD, NAMESPACE, name]
        foreign = {
            "apiVersion": Kinds.RECORD.api_version,
            "kind": Kinds.RECORD.kind,
            "metadata": {"namespace": NAMESPACE, "name": name},
            "spec": {"attempt": 2},
        }
        before = shop.cluster.put(foreign)
        shop.evidence.answer = None
        await until(shop, lambda: at_rest(shop))
        assert shop.cluster.read(Kinds.RECORD, NAMESPACE, name) == before

    run(story())


def test_words_that_a_record_does_not_take_stop_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        recording = Recording(FakeCluster(), Metrics(), pause=30)
        held = replace(DEPLOYING, hold=Hold("NoData", NOW, None, "x" * 600))
        await recording.follow(SEEN.rollout, Move(DEPLOYING, held, (), NOW), lambda _: {})
        assert [one.message for one in caplog.records] == [
            "the record of an attempt could not be kept: ValidationError"
        ]

    run(story())


def test_a_new_attempt_costs_four_requests_for_its_record() -> None:
    async def story() -> None:
        cluster = FakeCluster()
        recording = Recording(cluster, Metrics(), pause=30)
        for state in (DEPLOYING, STEPPING, STEPPING):
            await recording.follow(SEEN.rollout, Move(DEPLOYING, state, (), NOW), lambda _: {})
        assert [verb for verb, _ in cluster.requests] == ["get", "create", "list", "patch"]

    run(story())


def lose_status(shop: Shop) -> None:
    """Take the status away, as a restore from a backup does."""
    del shop.cluster.objects["InferenceRollout", NAMESPACE, NAME]["status"]


@pytest.mark.parametrize("restarted", [False, True], ids=["same process", "restarted"])
def test_an_attempt_whose_status_is_lost_in_a_step_is_recorded_as_given_up(restarted: bool) -> None:
    async def story() -> None:
        shop = await at_canary()
        lose_status(shop)
        if restarted:
            shop.restart()
        shop.evidence.answer = None
        await until(shop, lambda: 3 in records(shop) and at_rest(shop))
        ends = {number: body["status"]["outcome"] for number, body in records(shop).items()}
        assert ends == {1: "Promoted", 2: "Superseded", 3: "Promoted"}

    run(story())


@pytest.mark.parametrize("restarted", [False, True], ids=["same process", "restarted"])
def test_an_attempt_that_no_route_tells_of_has_an_unknown_end_when_its_status_is_lost(
    restarted: bool,
) -> None:
    async def story() -> None:
        shop = await healthy()
        shop.apply(rollout(**V2))
        await until(shop, lambda: shop.route["attempt"] == 2)
        assert shop.route["arms"][-1]["pods"] == [], "as if it were on its way out"
        lose_status(shop)
        shop.apply(rollout())
        if restarted:
            shop.restart()
        await until(shop, lambda: "outcome" in records(shop)[2].get("status", {}))
        status = records(shop)[2]["status"]
        assert (status["outcome"], status["cause"]) == ("Unknown", "StatusLost")
        assert status["endedAt"] > records(shop)[2]["spec"]["startedAt"]
        assert records(shop)[1]["status"]["outcome"] == "Promoted"
        before = shop.cluster.writes()
        await shop.run_pass()
        assert shop.cluster.writes() == before

    run(story())


def test_the_newest_ten_records_of_the_rollout_are_kept() -> None:
    async def story() -> None:
        cluster = FakeCluster()
        other = record_spec(replace(SEEN.rollout, uid="other"), CANDIDATE, None, {})
        cluster.put(record_manifest(RolloutIdentity("llm", "chat", "other"), other))
        recording = Recording(cluster, Metrics(), pause=30)
        for attempt in range(1, KEPT_RECORDS + 4):
            running = replace(DEPLOYING, candidate=replace(CANDIDATE, attempt=attempt + 10))
            ended = replace(REFUSED, last_attempt=replace(ROLLED_BACK, attempt=attempt + 10))
            for move in (Move(running, running, (), NOW), Move(running, ended, (), NOW)):
                await recording.follow(SEEN.rollout, move, lambda _: {})
        kept = [body["spec"]["attempt"] for (kind, _, _), body in cluster.objects.items() if kind == RECORD]
        assert sorted(kept) == [2, *range(14, KEPT_RECORDS + 14)]

    run(story())
