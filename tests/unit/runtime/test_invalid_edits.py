"""Edits that break a rule while an attempt runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from chaffinch.ports.cluster import Kinds, UnavailableError
from chaffinch.runtime.loop import Outcome
from fakes.commands import answer_to, command
from fakes.virtual_time import run
from fakes.world import NAME, NAMESPACE, Shop, rollout
from unit.runtime.shops import V2, at_canary, healthy, until

SOON, IDLE = 5, 60


def test_an_invalid_edit_does_not_keep_harm_from_being_found() -> None:
    async def story() -> None:
        shop = await at_canary()
        first = shop.status["stable"]["revision"]
        shop.apply(rollout(**V2, replicas=0))
        await shop.run_pass()
        assert shop.condition("Stalled") == ("True", "InvalidSpec")
        message = shop.message("Stalled")
        assert "spec.replicas" in message
        assert message.endswith("The attempt goes on as it began.")
        assert 2000 in shop.weights.values()
        shop.evidence.answer, shop.evidence.factor = None, 1.6
        await until(shop, lambda: shop.weights == {first: 10_000})
        await until(shop, lambda: "rollout" not in shop.status)
        assert shop.condition("Promoted") == ("False", "ObjectiveFailed")
        assert shop.condition("Stalled") == ("True", "InvalidSpec")

    run(story())


def test_an_attempt_goes_on_after_a_restart_though_the_spec_breaks_a_rule() -> None:
    async def story() -> None:
        shop = await at_canary()
        second = shop.status["candidate"]["revision"]
        shop.apply(rollout(**V2, replicas=0))
        shop.restart()
        weights = shop.weights
        await shop.run_pass()
        assert shop.condition("Stalled") == ("True", "InvalidSpec")
        assert shop.condition("SpecApplied") == ("False", "InvalidSpec")
        assert shop.message("Stalled").endswith("The attempt goes on as it began.")
        assert shop.weights == weights
        shop.evidence.answer = None
        await until(shop, lambda: "rollout" not in shop.status)
        assert shop.status["stable"]["revision"] == second
        assert shop.condition("Stalled") == ("True", "InvalidSpec")
        shop.apply(rollout(**V2))
        await until(shop, lambda: shop.status["phase"] == "Healthy")

    run(story())


@pytest.mark.parametrize("broken", [{"replicas": 0}, {"engine": {"image": "Not An Image"}}, {"model": None}])
def test_an_attempt_can_be_aborted_after_a_restart_though_the_spec_breaks_a_rule(
    broken: dict[str, object],
) -> None:
    async def story() -> None:
        shop = await at_canary()
        first, second = shop.status["stable"]["revision"], shop.status["candidate"]["revision"]
        shop.apply(rollout(**{**V2, **broken}))
        shop.restart()
        shop.cluster.put(command("wait", "Pause", revision=second))
        await shop.run_pass()
        assert answer_to(shop.cluster, "wait") == ("Accepted", "Done")
        shop.restart()
        shop.cluster.put(command("stop", revision=second))
        await shop.run_pass()
        assert answer_to(shop.cluster, "stop") == ("Accepted", "Done")
        assert shop.weights == {first: 10_000}
        await until(shop, lambda: not shop.pods(second))
        assert len(shop.pods(first)) == rollout()["spec"]["replicas"]
        assert shop.status["lastAttempt"]["cause"] == "Aborted"
        assert shop.condition("Stalled") == ("True", "InvalidSpec")

    run(story())


def test_what_an_attempt_began_with_is_not_made_up_when_it_is_gone() -> None:
    async def story() -> None:
        shop = await at_canary()
        second, weights = shop.status["candidate"]["revision"], shop.weights
        shop.apply(rollout(**V2, replicas=0))
        del shop.cluster.objects["ControllerRevision", NAMESPACE, f"{NAME}-{second}"]
        shop.cluster.put(command("stop", revision=second))
        await shop.run_pass()
        assert answer_to(shop.cluster, "stop") == ("Refused", "InvalidSpec")
        assert shop.message("Stalled").endswith("Nothing is changed until that is mended.")
        assert shop.weights == weights

    run(story())


def size(shop: Shop, revision: str) -> int | None:
    """Return how many pods a revision's Deployment asks for; None if it has none."""
    found = shop.cluster.objects.get(("Deployment", NAMESPACE, f"{NAME}-{revision}"))
    return None if found is None else int(found["spec"]["replicas"])


def scaled_up(shop: Shop, revision: str) -> None:
    found = shop.cluster.read(Kinds.DEPLOYMENT, NAMESPACE, f"{NAME}-{revision}")
    shop.cluster.put({**found, "spec": {**found["spec"], "replicas": 1}})


def readable(_: dict[str, Any]) -> None:
    pass


def unreadable(frozen: dict[str, Any]) -> None:
    frozen["data"] = {"template": "none of ours"}


@pytest.mark.parametrize(
    ("change", "want"), [(readable, 0), (unreadable, None)], ids=["scaled down", "deleted"]
)
def test_what_is_out_goes_while_the_spec_breaks_a_rule_and_then_it_is_seldom_looked_at(
    change: Callable[[dict[str, Any]], None], want: int | None
) -> None:
    async def story() -> None:
        shop = await at_canary()
        first, second = shop.status["stable"]["revision"], shop.status["candidate"]["revision"]
        shop.cluster.put(command("stop", revision=second))
        await until(shop, lambda: "rollout" not in shop.status and size(shop, second) == 0)
        scaled_up(shop, second)
        change(shop.cluster.read(Kinds.CONTROLLER_REVISION, NAMESPACE, f"{NAME}-{second}"))
        shop.apply(rollout(replicas=0))
        assert await shop.run_pass() == Outcome(SOON)
        assert size(shop, second) == want
        assert (second in shop.revisions) == (want is not None)
        assert size(shop, first) == rollout()["spec"]["replicas"]
        before = shop.cluster.writes()
        assert await shop.run_pass() == Outcome(IDLE)
        assert shop.cluster.writes() == before

    run(story())


def test_a_failed_read_refuses_nobody_while_the_spec_breaks_a_rule() -> None:
    async def story() -> None:
        shop = await at_canary()
        shop.apply(rollout(**V2, replicas=0))
        shop.cluster.put(command("stop", revision=shop.status["candidate"]["revision"]))
        shop.cluster.fault = lambda verb, key: (
            UnavailableError("away") if (verb, key[0]) == ("list", "Pod") else None
        )
        before = shop.cluster.writes()
        assert await shop.run_pass() == Outcome(SOON, failed=True)
        assert shop.cluster.writes() == before

    run(story())


def test_a_command_to_a_rollout_with_an_invalid_spec_is_told_what_to_mend() -> None:
    async def story() -> None:
        shop = await healthy()
        shop.apply(rollout(replicas=0))
        shop.cluster.put(command("again", "Retry"))
        shop.cluster.put(command("stop"))
        await shop.run_pass()
        for name in ("again", "stop"):
            assert answer_to(shop.cluster, name) == ("Refused", "InvalidSpec")
        message = shop.cluster.read(Kinds.COMMAND, NAMESPACE, "stop")["status"]["message"]
        assert message.startswith("The rollout's spec breaks a rule (spec.replicas: ")
        assert message.endswith("): mend it, then create another command.")
        before = shop.cluster.writes()
        await shop.run_pass()
        assert shop.cluster.writes() == before

    run(story())


def test_a_command_that_could_not_be_answered_is_soon_answered_again() -> None:
    async def story() -> None:
        shop = await healthy()
        shop.apply(rollout(replicas=0))
        await shop.run_pass()
        shop.cluster.put(command("stop"))
        shop.cluster.fault = lambda verb, _: UnavailableError("away") if verb == "patch" else None
        assert await shop.run_pass() == Outcome(SOON)
        shop.cluster.fault = lambda _, __: None
        assert await shop.run_pass() == Outcome(IDLE)
        assert answer_to(shop.cluster, "stop") == ("Refused", "InvalidSpec")

    run(story())


def test_a_first_revision_gets_all_the_pods_that_were_asked_for_before_the_edit_and_then_users() -> None:
    async def story() -> None:
        shop = Shop()
        shop.apply(rollout(replicas=4))
        await shop.run_pass()
        (first,) = shop.revisions
        assert len(shop.pods(first)) < 4
        shop.apply(rollout(replicas=0))
        await until(shop, lambda: "stable" in shop.status)
        assert shop.status["stable"]["replicas"] == len(shop.pods(first)) == 4

    run(story())


def test_stable_goes_on_to_grow_to_what_was_asked_for_before_the_edit() -> None:
    async def story() -> None:
        shop = await healthy()
        (stable,) = shop.revisions
        shop.apply(rollout(replicas=6))
        await shop.run_pass()
        assert len(shop.pods(stable)) < 6
        shop.apply(rollout(replicas=6, engine={"image": "Not An Image"}))
        assert await shop.run_pass() == Outcome(SOON)
        await until(shop, lambda: len(shop.pods(stable)) == 6)
        assert await shop.run_pass() == Outcome(IDLE)

    run(story())


def test_a_canary_gets_all_the_pods_that_were_asked_for_before_the_edit() -> None:
    async def story() -> None:
        shop = await healthy()
        shop.apply(rollout(**V2, replicas=6))
        await shop.run_pass()
        second = shop.status["candidate"]["revision"]
        shop.apply(rollout(**V2, replicas=0))
        await until(shop, lambda: "rollout" not in shop.status)
        assert shop.status["stable"]["revision"] == second
        assert len(shop.pods(second)) == 6

    run(story())
