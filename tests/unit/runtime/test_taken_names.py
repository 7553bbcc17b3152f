"""Names that somebody else has taken, and revisions that somebody has forged: told, and left alone."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from chaffinch.api.v1alpha1.names import revision_name
from chaffinch.api.v1alpha1.parse import parse_rollout
from chaffinch.domain.manifests.common import ENGINE
from chaffinch.domain.names import RolloutIdentity, child_labels, owner_reference
from chaffinch.domain.revision import revision_of
from chaffinch.ports.cluster import Kinds
from fakes.cluster import Key
from fakes.commands import answer_to
from fakes.virtual_time import run
from fakes.world import NAME, NAMESPACE, Shop, rollout
from unit.runtime.shops import V2, ask, at_canary, healthy, until


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
