"""Edits that break a rule while an attempt runs."""

from __future__ import annotations

from chaffinch.ports.cluster import Kinds, UnavailableError
from chaffinch.runtime.loop import Outcome
from fakes.commands import answer_to, command
from fakes.virtual_time import run
from fakes.world import NAMESPACE, rollout
from unit.runtime.shops import V2, at_canary, healthy, until

SOON, IDLE = 5, 60


def test_an_invalid_edit_does_not_keep_harm_from_being_found() -> None:
    async def story() -> None:
        shop = await at_canary()
        first = shop.status["stable"]["revision"]
        shop.apply(rollout(**V2, replicas=0))
        await shop.look()
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


def test_after_a_restart_an_attempt_waits_for_an_invalid_spec_to_be_mended() -> None:
    async def story() -> None:
        shop = await at_canary()
        shop.apply(rollout(**V2, replicas=0))
        shop.restart()
        weights = shop.weights
        await shop.look()
        assert shop.condition("Stalled") == ("True", "InvalidSpec")
        assert shop.weights == weights
        shop.apply(rollout(**V2))
        shop.evidence.answer = None
        await until(shop, lambda: shop.status["phase"] == "Healthy")

    run(story())


def test_a_command_to_a_rollout_with_an_invalid_spec_is_told_what_to_mend() -> None:
    async def story() -> None:
        shop = await healthy()
        shop.apply(rollout(replicas=0))
        shop.cluster.put(command("again", "Retry"))
        shop.cluster.put(command("stop"))
        await shop.look()
        for name in ("again", "stop"):
            assert answer_to(shop.cluster, name) == ("Refused", "InvalidSpec")
        message = shop.cluster.read(Kinds.COMMAND, NAMESPACE, "stop")["status"]["message"]
        assert message.startswith("The rollout's spec breaks a rule (spec.replicas: ")
        assert message.endswith("): mend it, then create another command.")
        before = shop.cluster.writes()
        await shop.look()
        assert shop.cluster.writes() == before

    run(story())


def test_a_command_that_could_not_be_answered_is_soon_answered_again() -> None:
    async def story() -> None:
        shop = await healthy()
        shop.apply(rollout(replicas=0))
        await shop.look()
        shop.cluster.put(command("stop"))
        shop.cluster.fault = lambda verb, _: UnavailableError("away") if verb == "patch" else None
        assert await shop.look() == Outcome(SOON)
        shop.cluster.fault = lambda _, __: None
        assert await shop.look() == Outcome(IDLE)
        assert answer_to(shop.cluster, "stop") == ("Refused", "InvalidSpec")

    run(story())
