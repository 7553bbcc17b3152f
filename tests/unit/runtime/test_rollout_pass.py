from __future__ import annotations

import asyncio
from itertools import groupby
from typing import Any

import pytest

from fakes.virtual_time import run
from fakes.world import NAME, NAMESPACE, Shop, rollout
from unit.runtime.shops import V2, at_canary, healthy, keep_passing, until


def test_the_first_version_is_deployed_and_serves_everything() -> None:
    async def story() -> None:
        shop = await healthy()
        (revision,) = shop.revisions
        assert shop.weights == {revision: 10_000}
        assert shop.status["stable"]["revision"] == revision
        assert shop.condition("Ready") == ("True", "Promoted")
        assert shop.status["writer"]["epoch"] == shop.route["epoch"] == 7
        assert [note.action for note in shop.recorder.notes] == ["Deploy", "Promote"]

    run(story())


def test_a_good_version_is_promoted_step_by_step_without_touching_a_pod_of_it() -> None:
    async def story() -> None:
        shop = await healthy()
        first = shop.status["stable"]["revision"]
        shop.apply(rollout(**V2))
        await until(shop, lambda: "candidate" in shop.status)
        second = shop.status["candidate"]["revision"]
        weights: list[int] = []
        pods: set[str] = set()

        def promoted() -> bool:
            weights.append(shop.weights.get(second, 0))
            pods.update(shop.pods(second))
            return shop.weights == {second: 10_000} and shop.status["phase"] == "Healthy"

        await until(shop, promoted)
        assert [weight for weight, _ in groupby(weights)] == [0, 2_000, 5_000, 10_000]
        assert (len(pods), pods) == (2, shop.pods(second))
        await until(
            shop,
            lambda: shop.cluster.objects["Deployment", NAMESPACE, f"{NAME}-{first}"]["spec"]["replicas"] == 0,
        )

    run(story())


def test_an_attempt_that_has_entered_no_step_shows_no_figures_of_the_one_before() -> None:
    async def story() -> None:
        shop = await healthy()
        shop.apply(rollout(**V2))
        await until(shop, lambda: shop.status["phase"] == "Healthy" and bool(shop.status.get("objectives")))
        shop.apply(rollout(engine={"image": "engine:3"}))
        await until(shop, lambda: "candidate" in shop.status)
        assert shop.status["rollout"]["stage"] == "Deploying"
        assert not shop.status.get("objectives")
        await until(shop, lambda: bool(shop.status.get("objectives")))
        assert shop.status["objectives"][0]["step"] == "canary-20"

    run(story())


def test_a_slow_version_is_rolled_back_route_first() -> None:
    async def story() -> None:
        shop = await at_canary()
        first = shop.status["stable"]["revision"]
        shop.evidence.answer, shop.evidence.factor = None, 1.6
        before = len(shop.cluster.requests)
        await until(shop, lambda: shop.weights == {first: 10_000})
        writes = [
            key[0] for verb, key in shop.cluster.requests[before:] if verb in {"update", "patch", "apply"}
        ]
        at = writes.index("ConfigMap")
        assert "Deployment" not in writes[:at]
        await until(shop, lambda: shop.status["phase"] == "Degraded")
        assert shop.condition("Promoted") == ("False", "ObjectiveFailed")
        assert shop.condition("Available") == ("True", "StableServing")
        assert shop.route["decision"] is None or shop.route["decision"]["kind"] == "Rollback"

    run(story())


def test_nothing_is_written_once_there_is_nothing_left_to_do() -> None:
    async def story() -> None:
        shop = await healthy()
        await asyncio.sleep(600)
        await shop.run_pass()
        before = shop.cluster.writes()
        for _ in range(20):
            await shop.run_pass()
            await asyncio.sleep(60)
        assert shop.cluster.writes() == before

    run(story())


def test_a_pass_writes_the_status_at_most_once_and_signs_it() -> None:
    async def story() -> None:
        shop = Shop()
        shop.apply(rollout())
        sequences = []
        for _ in range(40):
            before = shop.cluster.writes()["patch InferenceRollout"]
            await shop.run_pass()
            assert shop.cluster.writes()["patch InferenceRollout"] - before in {0, 1}
            sequences.append(shop.status["writer"]["sequence"])
            shop.obey()
            await asyncio.sleep(2)
        assert sequences == sorted(sequences)
        assert sequences[-1] == shop.cluster.writes()["patch InferenceRollout"]

    run(story())


def test_a_restarted_process_goes_on_where_the_last_one_was() -> None:
    async def story() -> None:
        shop = await at_canary()
        candidate, attempts = shop.status["candidate"]["revision"], shop.status["attempts"]
        shop.restart()
        shop.term.epoch = 8
        shop.evidence.answer = None
        await shop.run_pass()
        assert shop.weights[candidate] == 2_000
        await until(shop, lambda: shop.status["stable"]["revision"] == candidate)
        assert shop.status["attempts"] == attempts
        assert shop.route["epoch"] == shop.status["writer"]["epoch"] == 8

    run(story())


def test_a_term_below_the_one_of_the_route_in_use_does_not_make_agents_refuse_the_next() -> None:
    async def story() -> None:
        shop = await at_canary()
        candidate = shop.status["candidate"]["revision"]
        shop.term.epoch, shop.evidence.answer = 3, None
        await until(shop, lambda: shop.status["stable"]["revision"] == candidate)
        assert shop.route["epoch"] == 7

    run(story())


@pytest.mark.parametrize(
    "edit",
    [
        {"replicas": 3},
        {"objectives": [{"name": "errors", "metric": "errorRate", "max": "2%"}]},
        {"strategy": {"steps": [{"name": "bake", "bake": {"for": "5m"}}]}},
        {"pod": {"tolerations": []}},
        {"engine": {"extraArgs": ["--seed=1"], "image": "engine:1", "env": []}},
    ],
)
def test_an_edit_that_makes_no_revision_starts_no_rollout(edit: dict[str, Any]) -> None:
    async def story() -> None:
        shop = await healthy()
        revisions, weights, attempts = shop.revisions, shop.weights, shop.status["attempts"]
        shop.apply(rollout(**edit))
        await until(shop, lambda: shop.status["observedGeneration"] == shop.body["metadata"]["generation"])
        await asyncio.sleep(1)
        await shop.run_pass()
        assert (shop.revisions, shop.weights, shop.status["attempts"]) == (revisions, weights, attempts)

    run(story())


def test_a_canary_waits_for_evidence_with_its_weight_unchanged() -> None:
    async def story() -> None:
        shop = await at_canary()
        task = asyncio.create_task(keep_passing(shop))
        await asyncio.sleep(600)
        task.cancel()
        assert 2000 in shop.weights.values()
        assert shop.condition("Evidence")[0] != "True"

    run(story())


def test_routers_that_do_not_acknowledge_hold_the_rollout_at_the_step() -> None:
    async def story() -> None:
        shop = await healthy()
        shop.routers.deaf = True
        shop.apply(rollout(**V2))
        task = asyncio.create_task(keep_passing(shop))
        for _ in range(300):
            shop.obey()
            await asyncio.sleep(1)
        task.cancel()
        assert sorted(shop.weights.values()) == [2_000, 8_000]
        assert shop.status["rollout"]["hold"]["reason"] == "WeightNotObserved"
        assert shop.evidence.questions == []

    run(story())


def test_an_invalid_spec_stalls_and_names_the_field() -> None:
    async def story() -> None:
        shop = await healthy()
        revisions = shop.revisions
        shop.apply(rollout(replicas=0))
        await shop.run_pass()
        assert shop.condition("Stalled") == ("True", "InvalidSpec")
        assert "spec.replicas" in shop.message("Stalled")
        assert shop.revisions == revisions
        before = shop.cluster.writes()
        await shop.run_pass()
        assert shop.cluster.writes() == before

    run(story())


def test_evidence_is_asked_for_this_object_and_this_attempt_only() -> None:
    async def story() -> None:
        shop = await at_canary()
        await asyncio.sleep(30)
        await shop.run_pass()
        candidate, stable = (shop.status[arm]["revision"] for arm in ("candidate", "stable"))
        asked = {
            (question.rollout_uid, question.attempt, question.candidate, question.stable)
            for question in shop.evidence.questions
        }
        assert asked == {(shop.body["metadata"]["uid"], 2, candidate, stable)}

    run(story())
