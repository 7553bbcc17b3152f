"""Commands in the passes of their rollout: done once, remembered in its status, then answered."""

from __future__ import annotations

import pytest

from chaffinch.ports.cluster import Kinds, UnavailableError
from fakes.cluster import Fault
from fakes.commands import answer_to
from fakes.virtual_time import run
from fakes.world import NAME, NAMESPACE, Shop
from unit.runtime.shops import ask, at_canary, healthy, until


def failing(kind: str, verb: str = "patch") -> Fault:
    """Let requests of this verb for objects of this kind fail."""
    return lambda asked, key: UnavailableError("away") if (asked, key[0]) == (verb, kind) else None


def works(_verb: str, _key: tuple[str, str, str]) -> None:
    """Let no request fail."""


def writes(shop: Shop, since: int) -> list[str]:
    """Return the kinds of the objects that were written since then, records left out, in order."""
    sent = [key[0] for verb, key in shop.cluster.requests[since:] if verb not in {"get", "list"}]
    return [kind for kind in sent if kind not in {"RolloutRecord", "Deployment"}]


def test_a_command_is_remembered_before_it_is_answered() -> None:
    async def story() -> None:
        shop = await at_canary()
        ask(shop, "wait", "Pause")
        before = len(shop.cluster.requests)
        await shop.run_pass()
        assert writes(shop, before) == ["InferenceRollout", "RolloutCommand"]
        remembered = shop.status["lastCommand"]
        assert (remembered["name"], remembered["by"], remembered["outcome"]) == ("wait", "alice", "Accepted")
        told = shop.cluster.read(Kinds.COMMAND, NAMESPACE, "wait")["status"]
        assert told == {key: remembered[key] for key in ("outcome", "reason", "message", "at")}

    run(story())


def test_an_abort_takes_the_traffic_away_before_anything_is_written_about_it() -> None:
    async def story() -> None:
        shop = await at_canary()
        ask(shop, "stop", "Abort")
        before = len(shop.cluster.requests)
        await shop.run_pass()
        assert writes(shop, before) == ["ConfigMap", "InferenceRollout", "RolloutCommand"]
        assert answer_to(shop.cluster, "stop") == ("Accepted", "Done")

    run(story())


def test_a_crash_before_the_answer_has_it_given_again_and_nothing_done_again() -> None:
    async def story() -> None:
        shop = await at_canary()
        shop.cluster.fault = failing("RolloutCommand")
        ask(shop, "wait", "Pause")
        outcome = await shop.run_pass()
        assert not outcome.failed
        assert outcome.again_in <= shop.world.timing.active
        remembered = shop.status["lastCommand"]
        assert answer_to(shop.cluster, "wait") == (None, None)
        shop.cluster.fault = works
        shop.restart()
        before = len(shop.cluster.requests)
        await shop.run_pass()
        assert writes(shop, before) == ["RolloutCommand"]
        assert answer_to(shop.cluster, "wait") == ("Accepted", "Done")
        assert shop.status["lastCommand"] == remembered

    run(story())


@pytest.mark.parametrize("restart", [False, True])
def test_a_crash_between_route_and_status_has_an_abort_accepted_all_the_same(*, restart: bool) -> None:
    async def story() -> None:
        shop = await at_canary()
        stable = shop.status["stable"]["revision"]
        ask(shop, "stop", "Abort")
        shop.cluster.fault = failing("InferenceRollout")
        with pytest.raises(UnavailableError):
            await shop.run_pass()
        assert shop.weights == {stable: 10_000}
        shop.cluster.fault = works
        if restart:
            shop.restart()
        await until(shop, lambda: answer_to(shop.cluster, "stop") != (None, None))
        assert answer_to(shop.cluster, "stop") == ("Accepted", "Done")
        await until(shop, lambda: "rollout" not in shop.status)
        assert shop.status["lastAttempt"]["cause"] == "Aborted"

    run(story())


def test_commands_are_dealt_with_one_in_a_pass_the_oldest_first() -> None:
    async def story() -> None:
        shop = await at_canary()
        ask(shop, "b-first", "Pause")
        ask(shop, "a-second", "Resume", seconds=1)
        ask(shop, "other", "Abort", of="other")
        await shop.run_pass()
        assert answer_to(shop.cluster, "b-first") == ("Accepted", "Done")
        assert answer_to(shop.cluster, "a-second") == (None, None)
        await shop.run_pass()
        assert answer_to(shop.cluster, "a-second") == ("Accepted", "Done")
        await shop.run_pass()
        assert answer_to(shop.cluster, "other") == (None, None)

    run(story())


def test_a_command_to_an_idle_rollout_is_refused_and_changes_nothing_but_that_it_was_given() -> None:
    async def story() -> None:
        shop = await healthy()
        await shop.run_pass()
        before = dict(shop.status)
        ask(shop, "stop", "Abort")
        await shop.run_pass()
        assert answer_to(shop.cluster, "stop") == ("Refused", "NothingToDo")
        after = dict(shop.status)
        del after["lastCommand"]
        assert {**after, "writer": None} == {**before, "writer": None}
        sent = shop.cluster.writes()
        await shop.run_pass()
        assert shop.cluster.writes() == sent

    run(story())


def test_a_pass_reads_commands_with_one_request_however_many_there_are() -> None:
    async def story() -> None:
        shop = await healthy()
        for number in range(20):
            ask(shop, f"stop-{number}", "Abort", seconds=number)
        before = len(shop.cluster.requests)
        await shop.run_pass()
        reads = [verb for verb, key in shop.cluster.requests[before:] if key[0] == "RolloutCommand"]
        assert reads == ["list", "patch"]

    run(story())


def test_without_the_commands_nothing_is_decided() -> None:
    async def story() -> None:
        shop = await at_canary()
        before = shop.cluster.writes()
        shop.cluster.fault = failing("RolloutCommand", "list")
        assert (await shop.run_pass()).failed
        assert shop.cluster.writes() == before

    run(story())


def test_the_record_tells_who_commanded_what_and_what_came_of_it() -> None:
    async def story() -> None:
        shop = await at_canary()
        for name, action in (("wait", "Pause"), ("on", "Resume"), ("again", "Resume"), ("stop", "Abort")):
            ask(shop, name, action)
            await shop.run_pass()
        await until(shop, lambda: "rollout" not in shop.status)
        last = shop.status["lastAttempt"]
        record = shop.cluster.read(Kinds.RECORD, NAMESPACE, f"{NAME}-{last['revision']}-a2")["status"]
        told = [(each["name"], each["by"], each["outcome"]) for each in record["commands"]]
        assert told == [
            ("wait", "alice", "Accepted"),
            ("on", "alice", "Accepted"),
            ("again", "alice", "Refused"),
            ("stop", "alice", "Accepted"),
        ]
        assert (record["outcome"], record["cause"]) == ("RolledBack", "Aborted")
        assert "Paused" in [hold["reason"] for hold in record["holds"]]

    run(story())
