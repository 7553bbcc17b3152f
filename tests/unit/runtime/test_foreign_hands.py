"""Objects that somebody else wrote, broke, deleted or owns."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from chaffinch.api.v1alpha1.names import revision_name
from chaffinch.api.v1alpha1.parse import parse_rollout
from chaffinch.domain.manifests.common import ENGINE
from chaffinch.domain.names import RolloutIdentity, child_labels, owner_reference
from chaffinch.domain.revision import revision_of
from chaffinch.ports.cluster import (
    ConflictError,
    Kinds,
)
from chaffinch.runtime.hub import Subject, SubjectKind
from chaffinch.runtime.loop import GONE
from fakes.cluster import Key
from fakes.commands import answer_to, command
from fakes.virtual_time import LoopClock, run
from fakes.workers import load_probe
from fakes.world import NAME, NAMESPACE, Shop, rollout
from unit.runtime.shops import V2, at_canary, healthy, until


def test_a_name_that_is_taken_stalls_and_nothing_is_touched() -> None:
    async def story() -> None:
        shop = Shop()
        before = take_the_service(shop)
        shop.apply(rollout())
        await shop.run_pass()
        await asyncio.sleep(60)
        await shop.run_pass()
        assert shop.condition("Stalled") == ("True", "NameTaken")
        assert shop.cluster.writes() == {"patch InferenceRollout": 1}
        assert shop.cluster.read(Kinds.SERVICE, NAMESPACE, NAME) == before
        del shop.cluster.objects["Service", NAMESPACE, NAME]
        await until(shop, lambda: shop.status["phase"] == "Healthy")

    run(story())


def take_the_service(shop: Shop) -> dict[str, Any]:
    """Put a Service of somebody else in the place of the router's."""
    foreign = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"namespace": NAMESPACE, "name": NAME},
        "spec": {"ports": [{"port": 1}]},
    }
    shop.cluster.objects.pop(("Service", NAMESPACE, NAME), None)
    return shop.cluster.put(foreign)


def ask(shop: Shop, name: str, action: str) -> None:
    """Create a command about the candidate, else about stable."""
    revision = shop.status.get("candidate", shop.status.get("stable", {})).get("revision", "0a1b2c3d")
    shop.cluster.put(command(name, action, revision=revision, created=LoopClock().now()))


def test_while_a_name_is_taken_commands_are_refused_but_an_abort_that_needs_the_route_alone() -> None:
    async def story() -> None:
        shop = await at_canary()
        stable = shop.status["stable"]["revision"]
        take_the_service(shop)
        await asyncio.sleep(300)  # by then it has to be looked at again
        await shop.run_pass()
        assert shop.condition("Stalled") == ("True", "NameTaken")
        for name, action, want in (
            ("wait", "Pause", ("Refused", "Stalled")),
            ("go", "Promote", ("Refused", "Stalled")),
            ("on", "Resume", ("Refused", "NothingToDo")),
        ):
            ask(shop, name, action)
            await shop.run_pass()
            assert answer_to(shop.cluster, name) == want
        assert shop.weights[stable] == 8000
        told = shop.cluster.read(Kinds.COMMAND, NAMESPACE, "wait")["status"]["message"]
        assert told == "The rollout stands still (NameTaken). See to that, then create another command."
        ask(shop, "stop", "Abort")
        await shop.run_pass()
        assert answer_to(shop.cluster, "stop") == ("Accepted", "Done")
        assert shop.weights == {stable: 10_000}
        assert shop.status["lastCommand"]["name"] == "stop"

    run(story())


def test_what_was_asked_for_while_a_name_was_taken_is_not_done_once_it_is_free() -> None:
    async def story() -> None:
        shop = await at_canary()
        take_the_service(shop)
        ask(shop, "go", "Promote")
        await asyncio.sleep(300)
        await shop.run_pass()
        del shop.cluster.objects["Service", NAMESPACE, NAME]
        for _ in range(5):
            await shop.run_pass()
        assert shop.condition("Stalled")[0] == "False"
        assert shop.status["rollout"]["stage"] == "Stepping"
        assert "paused" not in shop.status["rollout"]

    run(story())


def test_looks_at_evidence_are_remembered_while_a_name_is_taken() -> None:
    async def story() -> None:
        shop = await at_canary()
        take_the_service(shop)
        await asyncio.sleep(300)
        await shop.run_pass()
        assert shop.condition("Stalled") == ("True", "NameTaken")
        before = shop.status["rollout"]["step"].get("judge")
        shop.evidence.answer = None
        await asyncio.sleep(60)
        await shop.run_pass()
        assert shop.status["rollout"]["step"]["judge"] != before
        assert "passedAt" not in shop.status["rollout"]["step"]

    run(story())


@pytest.mark.parametrize("action", ["Abort", "Promote", "Retry"])
def test_commands_are_refused_while_nobody_knows_who_is_stable(action: str) -> None:
    async def story() -> None:
        shop = await healthy()
        route = shop.cluster.objects.pop(("ConfigMap", NAMESPACE, f"{NAME}-router"))
        kept = shop.body["status"]
        shop.cluster.put({**shop.body, "status": {}})
        await shop.run_pass()
        assert shop.condition("Stalled") == ("True", "StatusLost")
        ask(shop, "do", action)
        await shop.run_pass()
        assert answer_to(shop.cluster, "do") == ("Refused", "Stalled")
        sent = shop.cluster.writes()
        await shop.run_pass()
        assert shop.cluster.writes() == sent
        shop.cluster.put(route)
        await until(shop, lambda: shop.status["phase"] == "Healthy")
        assert shop.status["stable"]["revision"] == kept["stable"]["revision"]
        assert shop.status["attempts"] == kept["attempts"]

    run(story())


def forged(shop: Shop, revision: str, name: str = "") -> dict[str, Any]:
    """Return a ControllerRevision that looks like one of the rollout's, and holds nothing."""
    identity = RolloutIdentity(NAMESPACE, NAME, shop.body["metadata"]["uid"])
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "namespace": NAMESPACE,
            "name": name or revision_name(NAME, revision),
            "labels": child_labels(NAME, ENGINE, revision),
            "ownerReferences": [owner_reference(identity)],
        },
        "revision": 7,
        "data": {},
    }


def test_a_forged_revision_that_nothing_asks_for_changes_nothing() -> None:
    async def story() -> None:
        shop = await healthy()
        await shop.run_pass()
        stable = shop.status["stable"]["revision"]
        shop.cluster.put(forged(shop, "0bad0bad"))
        shop.cluster.put(forged(shop, stable, name="another"))
        before = shop.cluster.writes()
        await shop.run_pass()
        assert shop.cluster.writes() == before
        shop.apply(rollout(**V2))
        await until(shop, lambda: shop.condition("Promoted")[0] == "True")

    run(story())


def test_a_forged_revision_in_the_place_of_the_next_one_stalls_and_is_not_touched() -> None:
    async def story() -> None:
        shop = await healthy()
        manifest = rollout(**V2)
        revision = revision_of(parse_rollout(manifest))
        before = shop.cluster.put(forged(shop, revision))
        shop.apply(manifest)
        await until(shop, lambda: shop.condition("Stalled") == ("True", "NameTaken"))
        key = ("ControllerRevision", NAMESPACE, revision_name(NAME, revision))
        assert shop.cluster.objects[key] == before
        assert not [
            name for kind, _, name in shop.cluster.objects if kind == "Deployment" and revision in name
        ]
        del shop.cluster.objects[key]
        await until(shop, lambda: shop.condition("Promoted")[0] == "True")

    run(story())


def forge_stable(shop: Shop) -> tuple[Key, dict[str, Any]]:
    """Delete the ControllerRevision of what is stable and put a forged one in its place, as somebody may."""
    stable = shop.status["stable"]["revision"]
    key = ("ControllerRevision", NAMESPACE, revision_name(NAME, stable))
    del shop.cluster.objects[key]
    return key, shop.cluster.put(forged(shop, stable))


def engines(shop: Shop, revision: str) -> tuple[dict[str, Any], set[str]]:
    """Return a revision's Deployment and the uids of its pods."""
    deployment = shop.cluster.read(Kinds.DEPLOYMENT, NAMESPACE, revision_name(NAME, revision))
    return deployment, shop.pods(revision)


@pytest.mark.parametrize("restarted", [False, True])
def test_a_forged_revision_in_the_place_of_stables_is_told_and_stable_serves_on(restarted: bool) -> None:
    async def story() -> None:
        shop = await healthy()
        stable, weights = shop.status["stable"]["revision"], shop.weights
        before = engines(shop, stable)
        key, put = forge_stable(shop)
        if restarted:
            shop.restart()
        await until(shop, lambda: shop.condition("Stalled") == ("True", "NameTaken"))
        shop.cluster.requests.clear()
        for _ in range(10):
            await asyncio.sleep(60)
            await shop.run_pass()
        assert f"ControllerRevision/{key[2]}" in shop.message("Stalled")
        assert shop.condition("Available") == ("True", "StableServing")
        assert (engines(shop, stable), shop.weights) == (before, weights)
        assert (shop.cluster.objects[key], shop.cluster.writes()) == (put, {})
        del shop.cluster.objects[key]
        await until(shop, lambda: shop.condition("Stalled")[0] == "False")
        assert (engines(shop, stable), shop.weights) == (before, weights)

    run(story())


def test_an_attempt_is_rolled_back_to_a_stable_whose_revision_was_forged() -> None:
    async def story() -> None:
        shop = await at_canary()
        stable = shop.status["stable"]["revision"]
        before = engines(shop, stable)
        key, put = forge_stable(shop)
        shop.evidence.answer, shop.evidence.factor = None, 1.6
        await until(shop, lambda: shop.status.get("lastAttempt", {}).get("attempt") == 2)
        assert shop.status["lastAttempt"]["outcome"] == "RolledBack"
        assert (engines(shop, stable), shop.weights) == (before, {stable: 10_000})
        assert shop.cluster.objects[key] == put

    run(story())


def test_a_revision_that_was_forged_while_it_was_stable_leaves_nothing_behind_after_a_promotion() -> None:
    async def story() -> None:
        shop = await at_canary()
        stable = shop.status["stable"]["revision"]
        key, _ = forge_stable(shop)
        shop.evidence.answer = None
        await until(shop, lambda: ("Deployment", *key[1:]) not in shop.cluster.objects)
        assert shop.condition("Promoted") == ("True", "AsExpected")
        assert stable not in shop.weights
        assert not [kind for kind, _, name in shop.cluster.objects if name == key[2]]
        shop.apply(rollout())
        await until(shop, lambda: shop.status["stable"]["revision"] == stable)

    run(story())


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
