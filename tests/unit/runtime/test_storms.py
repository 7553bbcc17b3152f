"""However a write is refused, and for however long: few requests meanwhile, and soon on the way again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from chaffinch.adapters.recorder import EventRecorder
from chaffinch.api.v1alpha1.parse import parse_rollout
from chaffinch.domain.evidence import NoEvidence, Problem
from chaffinch.domain.revision import revision_of
from chaffinch.ports.cluster import (
    AdmissionDeniedError,
    ClusterError,
    ConflictError,
    DeniedError,
    QuotaExceededError,
    RejectedError,
    UnavailableError,
)
from chaffinch.runtime.spending import counted
from fakes.cluster import Fault, Key
from fakes.commands import answer_to, command
from fakes.virtual_time import LoopClock, run
from fakes.world import Shop, rollout
from unit.runtime.shops import at_canary, healthy, keep_passing

CALLS_PER_MINUTE = 20
RECOVERY_SECONDS = 30
KNOWN_SECONDS = 10
"""A fault is known after its second pass, one or two seconds later; so long at most it may be asked often."""
TROUBLE_SECONDS = 600

WRITES = frozenset({"create", "apply", "update", "patch", "delete"})
ERRORS = (
    AdmissionDeniedError("a policy"),
    ConflictError("somebody else wrote in between"),
    DeniedError("no right"),
    QuotaExceededError("full"),
    RejectedError("refused (status.phase)"),
    UnavailableError("the API server answered with status 503"),
)
Refused = Callable[[str, Key], bool]


def any_write(verb: str, key: Key) -> bool:
    del key
    return verb in WRITES


def any_new_deployment(verb: str, key: Key) -> bool:
    return verb == "apply" and key[0] == "Deployment"


def the_status(verb: str, key: Key) -> bool:
    return verb == "patch" and key[0] == "InferenceRollout"


def anything(verb: str, key: Key) -> bool:
    del verb, key
    return True


@dataclass
class Calls:
    """The requests of a shop, with their times; each counts for the pass that makes it.

    Attributes:
        refused: Which of them are refused.
        error: With what.
        times: When they were made.
    """

    refused: Refused | None
    error: ClusterError
    times: list[float]

    @property
    def per_minute(self) -> float:
        """How many there were in a minute, from the first pass to the last."""
        first, last = self.times[0], self.times[-1]
        return 60 * sum(at < last for at in self.times) / (last - first)

    def met(self) -> Fault:
        """Return the fault that a cluster in trouble has."""
        report = counted(lambda *_: None)

        def fault(verb: str, key: Key) -> BaseException | None:
            report(verb, key[0], "", 0.0)
            self.times.append(_now())
            return self.error if self.refused is not None and self.refused(verb, key) else None

        return fault


def _now() -> float:
    return asyncio.get_running_loop().time()


async def in_trouble(shop: Shop, calls: Calls, over: Callable[[], bool]) -> float:
    """Let a shop's writes be refused for ten minutes; return the seconds from their end until ``over``."""
    shop.cluster.fault = calls.met()
    task = asyncio.create_task(keep_passing(shop))
    try:
        await asyncio.sleep(KNOWN_SECONDS)
        calls.times.clear()
        await asyncio.sleep(TROUBLE_SECONDS)
        assert not over()
        assert calls.per_minute <= CALLS_PER_MINUTE
        calls.refused, ended = None, _now()
        while not over():
            shop.obey()
            await asyncio.sleep(0.5)
            assert _now() - ended < 2 * RECOVERY_SECONDS, shop.status
        return _now() - ended
    finally:
        task.cancel()


async def about_to_pass() -> Shop:
    """Return a shop whose next pass records that a step has passed; Events are requests there, too."""
    shop = await at_canary()
    shop.world = replace(shop.world, recorder=EventRecorder(shop.cluster, LoopClock(), "one"))
    shop.restart()
    task = asyncio.create_task(keep_passing(shop))
    await asyncio.sleep(120)
    task.cancel()
    shop.evidence.answer = None
    return shop


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("refused", [any_write, the_status, anything], ids=lambda which: which.__name__)
def test_a_step_that_cannot_be_recorded_is_asked_for_at_leisure(
    error: ClusterError, refused: Refused
) -> None:
    async def story() -> None:
        shop = await about_to_pass()
        calls = Calls(refused, error, [])

        def passed() -> bool:
            return bool(shop.status["rollout"]["step"].get("passedAt"))

        assert await in_trouble(shop, calls, passed) <= RECOVERY_SECONDS

    run(story())


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_a_pod_that_cannot_be_made_is_asked_for_at_leisure(error: ClusterError) -> None:
    async def story() -> None:
        shop = await about_to_pass()
        shop.evidence.answer = NoEvidence(Problem.NO_DATA, "nothing was counted")
        shop.apply(rollout(engine={"image": "engine:3"}))
        third = revision_of(parse_rollout(shop.body))
        calls = Calls(any_new_deployment, error, [])
        await in_trouble(shop, calls, lambda: bool(shop.pods(third)))

    run(story())


def test_a_command_that_cannot_be_answered_is_answered_again_at_leisure() -> None:
    async def story() -> None:
        shop = await healthy()
        shop.apply(rollout(replicas=0))
        await shop.run_pass()
        shop.cluster.put(command("stop"))
        calls = Calls(any_write, RejectedError("refused"), [])
        waited = await in_trouble(shop, calls, lambda: answer_to(shop.cluster, "stop") != (None, None))
        assert waited <= RECOVERY_SECONDS

    run(story())
