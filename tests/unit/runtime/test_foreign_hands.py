"""Objects that somebody else wrote, broke or deleted."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from chaffinch.ports.cluster import ConflictError, Kinds
from chaffinch.runtime.hub import Subject, SubjectKind
from chaffinch.runtime.loop import GONE
from fakes.cluster import Key
from fakes.virtual_time import LoopClock, run
from fakes.workers import load_probe
from fakes.world import NAME, NAMESPACE, Shop, rollout
from unit.runtime.shops import V2, at_canary, healthy, until


def test_a_status_that_somebody_else_wrote_ends_the_pass_before_anything_is_made() -> None:
    async def story() -> None:
        shop = await healthy()
        shop.apply(rollout(**V2))

        def other_writer(verb: str, key: Key) -> BaseException | None:
            if (verb, key[0]) == ("patch", "InferenceRollout"):
                shop.cluster.fault = lambda verb, key: None  # noqa: ARG005
                stored = shop.body
                writer = {"epoch": 9, "sequence": stored["status"]["writer"]["sequence"] + 1}
                shop.cluster.put({**stored, "status": {**stored["status"], "writer": writer}})
            return None

        shop.cluster.fault = other_writer
        before = shop.cluster.writes()
        with pytest.raises(ConflictError, match="written by somebody else"):
            await shop.run_pass()
        assert shop.cluster.writes() - before == {"patch InferenceRollout": 1}

    run(story())


def test_a_route_that_somebody_else_wrote_is_not_overwritten() -> None:
    async def story() -> None:
        shop = await at_canary()
        shop.evidence.answer, shop.evidence.factor = None, 1.6

        def other_route(verb: str, key: Key) -> BaseException | None:
            if (verb, key[0]) == ("update", "ConfigMap"):
                shop.cluster.fault = lambda verb, key: None  # noqa: ARG005
                shop.cluster.put(shop.cluster.read(Kinds.CONFIG_MAP, NAMESPACE, f"{NAME}-router"))
            return None

        await asyncio.sleep(60)
        shop.cluster.fault = other_route
        with pytest.raises(ConflictError):
            await shop.run_pass()
        assert 2000 in shop.weights.values()
        assert (await shop.run_pass()) is not None
        assert 2000 not in shop.weights.values()

    run(story())


def test_a_route_that_cannot_be_read_is_written_anew_over_what_is_there() -> None:
    async def story() -> None:
        shop = await healthy()
        weights, sequence = shop.weights, shop.route["sequence"]
        stored = shop.cluster.read(Kinds.CONFIG_MAP, NAMESPACE, f"{NAME}-router")
        shop.cluster.put({**stored, "data": {"route.json": "garbled"}})
        await shop.run_pass()
        assert (shop.weights, shop.route["sequence"] > sequence) == (weights, True)

    run(story())


@pytest.mark.parametrize("status", [{"phase": "Unheard"}, {"writer": "me"}, {"writer": {"epoch": 1}}])
def test_a_status_that_cannot_be_understood_is_restored_from_the_route(status: dict[str, Any]) -> None:
    async def story() -> None:
        shop = await healthy()
        stable, weights = shop.status["stable"]["revision"], shop.weights
        shop.cluster.put({**shop.body, "status": {**shop.status, **status}})
        await until(shop, lambda: shop.status.get("phase") == "Healthy")
        assert (shop.status["stable"]["revision"], shop.weights) == (stable, weights)

    run(story())


def test_pods_of_a_predecessor_of_the_name_are_not_its_own() -> None:
    async def story() -> None:
        shop = await healthy()
        pods = {key: pod for key, pod in shop.cluster.objects.items() if key[0] == "Pod"}
        shop.cluster.objects.clear()
        shop.cluster.objects.update(pods)
        await asyncio.sleep(60)
        again = rollout()
        again["metadata"]["creationTimestamp"] = LoopClock().now().isoformat()
        shop.apply(again)
        await shop.run_pass()
        assert shop.status["rollout"]["stage"] == "Deploying"
        assert shop.status["candidate"]["ready"] == 0

    run(story())


def test_a_deleted_service_is_made_again_by_the_next_pass() -> None:
    async def story() -> None:
        shop = await healthy()
        del shop.cluster.objects["Service", NAMESPACE, NAME]
        await shop.run_pass()
        assert ("Service", NAMESPACE, NAME) in shop.cluster.objects

    run(story())


@pytest.mark.parametrize("uid", ["another", ""])
def test_an_object_that_is_gone_ends_its_task(uid: str) -> None:
    async def story() -> None:
        shop = Shop()
        if uid:
            shop.apply(rollout())
        subject = Subject(SubjectKind.ROLLOUT, NAMESPACE, NAME, "mine")
        assert await shop._pass.run(subject) is GONE
        assert shop.cluster.writes() == {}

    run(story())


def test_an_object_that_is_being_deleted_is_left_alone() -> None:
    async def story() -> None:
        shop = Shop()
        body = rollout()
        body["metadata"]["deletionTimestamp"] = "2026-03-01T14:00:00Z"
        shop.apply(body)
        await shop.run_pass()
        assert shop.cluster.writes() == {}

    run(story())


def test_load_probes_of_attempts_that_are_long_over_are_deleted() -> None:
    async def story() -> None:
        shop = await healthy()
        owners = shop.cluster.read(Kinds.CONFIG_MAP, NAMESPACE, f"{NAME}-router")["metadata"][
            "ownerReferences"
        ]
        for attempt in (1, 4, 5, 9):
            probe = load_probe(profile="smoke/v1", attempt=attempt)
            labels = {"chaffinch.dev/rollout": NAME}
            probe["metadata"] |= {"name": f"a{attempt}", "labels": labels, "ownerReferences": owners}
            shop.cluster.put(probe)
        users = load_probe(profile="smoke/v1")
        users["metadata"]["name"] = "users-own"
        shop.cluster.put(users)
        shop.cluster.put({**shop.body, "status": {**shop.status, "attempts": 9}})
        await shop.run_pass()
        assert {key[2] for key in shop.cluster.objects if key[0] == "LoadProbe"} == {"a5", "a9", "users-own"}

    run(story())


@pytest.mark.parametrize("kind", ["Service", "Deployment", "PodDisruptionBudget"])
def test_a_deleted_object_of_the_router_is_put_back_five_times_and_then_left(kind: str) -> None:
    name = NAME if kind == "Service" else f"{NAME}-router"

    async def story() -> None:
        shop = await healthy()
        await shop.run_pass()
        before = shop.cluster.writes()[f"apply {kind}"]
        for _ in range(7):
            await asyncio.sleep(301)  # what is not watched is looked at again after five minutes
            shop.cluster.objects.pop((kind, NAMESPACE, name), None)
            await shop.run_pass()
        assert shop.cluster.writes()[f"apply {kind}"] - before == 5
        assert shop.condition("Stalled") == ("True", "RouteFight")
        assert shop.status["routerEdits"]["object"] == f"{kind}/{name}"
        assert [note.reason for note in shop.recorder.notes].count("RouteFight") == 1
        shop.cluster.requests.clear()
        await shop.run_pass()
        assert shop.cluster.writes() == {}

    run(story())


def test_a_route_that_is_deleted_again_and_again_is_put_back_five_times() -> None:
    async def story() -> None:
        shop = await healthy()
        shop.cluster.requests.clear()
        for _ in range(8):
            await asyncio.sleep(2)
            shop.cluster.objects.pop(("ConfigMap", NAMESPACE, f"{NAME}-router"), None)
            shop.restart()
            await shop.run_pass()
        assert shop.cluster.writes()["create ConfigMap"] == 5
        assert shop.condition("Stalled") == ("True", "RouteFight")

    run(story())


def test_what_the_operator_wants_otherwise_than_before_is_no_edit_of_somebody_else() -> None:
    async def story() -> None:
        shop = await healthy()
        for replicas in range(3, 12):
            shop.world = replace(shop.world, router=replace(shop.world.router, replicas=replicas))
            shop.restart()
            await shop.run_pass()
            await shop.run_pass()
        assert "routerEdits" not in shop.status
        assert shop.cluster.read(Kinds.DEPLOYMENT, NAMESPACE, f"{NAME}-router")["spec"]["replicas"] == 11

    run(story())


def test_the_last_time_that_the_service_is_put_back_the_canary_loses_its_weight() -> None:
    async def story() -> None:
        shop = await at_canary()
        stable = shop.status["stable"]["revision"]
        await shop.run_pass()
        for rounds in range(1, 7):
            await asyncio.sleep(5)
            shop.cluster.objects.pop(("Service", NAMESPACE, NAME), None)
            await shop.run_pass()
            assert (("Service", NAMESPACE, NAME) in shop.cluster.objects) is (rounds <= 5)
            assert (shop.weights == {stable: 10_000}) is (rounds >= 5)
        assert shop.condition("Stalled") == ("True", "RouteFight")
        assert shop.pods(shop.status["candidate"]["revision"])

    run(story())
