"""Passes that cannot read or write what they want to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from chaffinch.ports.cluster import (
    AdmissionDeniedError,
    ClusterError,
    DeniedError,
    QuotaExceededError,
    RejectedError,
    UnavailableError,
)
from fakes.cluster import Key
from fakes.virtual_time import run
from fakes.world import Shop, rollout
from unit.runtime.scrape import series_of
from unit.runtime.shops import V2, at_canary, healthy, keep_passing, until


def _all_reads_fail(verb: str, key: Key) -> BaseException | None:
    del key
    return UnavailableError("the API server answered with status 500") if verb in {"get", "list"} else None


def _all_reads_but_the_rollout_fail(verb: str, key: Key) -> BaseException | None:
    return None if key[0] == "InferenceRollout" else _all_reads_fail(verb, key)


@pytest.mark.parametrize("fault", [_all_reads_fail, _all_reads_but_the_rollout_fail])
@pytest.mark.parametrize("delay", [0, 10])
@pytest.mark.parametrize("situation", [healthy, at_canary])
def test_a_minute_of_failing_reads_changes_nothing(
    situation: Callable[[], Any], delay: float, fault: Callable[[str, Key], BaseException | None]
) -> None:
    async def story() -> None:
        shop: Shop = await situation()
        await asyncio.sleep(60)
        await shop.run_pass()
        revisions, weights, stable = shop.revisions, shop.weights, shop.status["stable"]
        before, first = shop.cluster.writes(), len(shop.cluster.requests)
        shop.cluster.fault, shop.cluster.delay = fault, delay
        task = asyncio.create_task(keep_passing(shop))
        await asyncio.sleep(60)
        assert shop.cluster.writes() == before
        assert len(shop.cluster.requests) - first <= 20
        shop.cluster.fault, shop.cluster.delay = (lambda verb, key: None), 0  # noqa: ARG005
        await asyncio.sleep(60)
        task.cancel()
        assert (shop.revisions, shop.weights, shop.status["stable"]) == (revisions, weights, stable)

    run(story())


def test_a_status_that_the_server_refuses_is_our_own_error() -> None:
    async def story() -> None:
        shop = Shop()
        shop.apply(rollout())

        def refuse(verb: str, key: Key) -> BaseException | None:
            return RejectedError("refused (status.phase)") if verb == "patch" and key else None

        shop.cluster.fault = refuse
        with pytest.raises(RejectedError, match=r"status\.phase"):
            await shop.run_pass()

    run(story())


def _deployments_fail_with(error: ClusterError) -> Callable[[str, Key], BaseException | None]:
    return lambda verb, key: error if (verb, key[0]) == ("apply", "Deployment") else None


_MEND = (
    "mend the field of the spec that this comes from; if there is none, it is a fault of Chaffinch to report"
)


@pytest.mark.parametrize(
    ("error", "want_reason", "want_remedy"),
    [
        (DeniedError("no right"), "Forbidden", "remove what forbids it"),
        (QuotaExceededError("full"), "QuotaExceeded", "remove what forbids it"),
        (AdmissionDeniedError("a policy"), "AdmissionDenied", "remove what forbids it"),
        (
            RejectedError("apply Deployment: refused (spec.template.spec.priorityClassName)"),
            "AdmissionDenied",
            _MEND,
        ),
    ],
)
def test_a_refused_write_is_told_to_people(error: ClusterError, want_reason: str, want_remedy: str) -> None:
    async def story() -> None:
        shop = Shop()
        shop.apply(rollout())
        shop.cluster.fault = _deployments_fail_with(error)
        with pytest.raises(type(error)):
            await shop.run_pass()
        note = shop.recorder.notes[-1]
        assert (note.severity, note.reason, note.message) == ("Warning", want_reason, str(error))
        with pytest.raises(type(error)):
            await shop.run_pass()
        assert shop.condition("Stalled") == ("True", want_reason)
        assert shop.message("Stalled").endswith(f"{error}. Tried again by itself. Do: {want_remedy}.")
        assert shop.condition("Ready")[0] == "False"
        shop.cluster.fault = lambda *_: None
        await until(shop, lambda: shop.status["phase"] == "Healthy")
        assert shop.condition("Stalled")[0] == "False"

    run(story())


def test_an_object_that_the_server_refuses_is_offered_again_at_leisure() -> None:
    async def story() -> None:
        shop = Shop()
        shop.apply(rollout())
        shop.cluster.fault = _deployments_fail_with(RejectedError("refused"))
        task = asyncio.create_task(keep_passing(shop))
        await asyncio.sleep(600)
        task.cancel()
        tried = sum(verb == "apply" and key[0] == "Deployment" for verb, key in shop.cluster.requests)
        assert 10 <= tried <= 40
        assert shop.cluster.writes()["patch InferenceRollout"] <= tried + 1
        assert shop.condition("Stalled") == ("True", "AdmissionDenied")

    run(story())


def test_a_rollback_does_not_wait_for_a_look_at_anything_else() -> None:
    async def story() -> None:
        shop = await at_canary()
        await asyncio.sleep(300)  # by then the budgets have to be looked at again
        shop.evidence.answer, shop.evidence.factor = None, 1.6
        down = UnavailableError("down")
        shop.cluster.fault = lambda _, key: down if key[0] == "PodDisruptionBudget" else None
        with pytest.raises(UnavailableError):
            await shop.run_pass()
        assert 2000 not in shop.weights.values()

    run(story())


SHORT: dict[str, Any] = {
    "objectives": [{"name": "ttft", "metric": "ttft", "quantile": "p95", "max": "300ms"}],
    "strategy": {
        "steps": [
            {"name": "canary-50", "canary": {"weight": 50, "for": "10s"}},
            {"name": "bake", "bake": {"for": "10s"}},
        ]
    },
}


class LosesOne:
    """Loses the answer to one write, and counts them."""

    def __init__(self, which: int | None) -> None:
        self.writes = 0
        self._which = which

    def __call__(self, verb: str, key: Key) -> BaseException | None:
        self.writes += 1
        return UnavailableError(f"no answer to {verb} {key}") if self.writes == self._which else None


def _what_came_of(which: int | None, factor: float) -> tuple[int, dict[str, object]]:
    """Roll a version out; return how many writes that took, and all that people can see of it."""
    found: dict[str, object] = {}
    loses = LosesOne(which)

    async def story() -> None:
        shop = await healthy()
        shop.evidence.factor = factor
        shop.recorder.notes.clear()
        shop.cluster.lost = loses
        shop.apply(rollout(**SHORT, **V2))
        await until(shop, lambda: shop.status.get("lastAttempt", {}).get("attempt") == 2)
        ended = asyncio.get_running_loop().time()
        await until(shop, lambda: asyncio.get_running_loop().time() > ended + 60)
        last = shop.status["lastAttempt"]
        found.update(
            end=(shop.status["phase"], last["outcome"], last["cause"], shop.status["attempts"]),
            weights=shop.weights,
            revisions=shop.revisions,
            notes=[(note.severity, note.reason, note.action) for note in shop.recorder.notes],
            counted=series_of(shop.metrics.registry, "chaffinch_rollout_attempts_total", "outcome", "cause"),
        )

    run(story())
    return loses.writes, found


@pytest.mark.parametrize("factor", [1.0, 1.6], ids=["promoted", "rolled back"])
def test_a_write_whose_answer_is_lost_changes_neither_the_end_nor_what_is_told(factor: float) -> None:
    writes, want = _what_came_of(None, factor)
    assert writes > 10
    for which in range(1, writes + 1):
        assert _what_came_of(which, factor)[1] == want, f"no answer to write {which}"
