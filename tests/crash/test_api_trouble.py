"""While the API server is in trouble nothing moves and nobody storms it; then the rollout goes on.

The operator has the pace here that it has in production: how soon it looks again, and how often, is what is
measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise

import pytest

from chaffinch.adapters.cluster import FIELD_MANAGER
from crash.operator_process import OperatorProcess
from crash.playground import Object, Playground
from crash.rollouts import FIRST, GOOD, service
from faultproxy import Answer, Calls, CutBefore, Entry, Expire, FaultProxy, Mute, Replay, Rule
from faultproxy.rules import Fault

RECOVERY_SECONDS = 30
CALLS_PER_MINUTE = 20
STEP = "canary-50"
PRODUCTION = {
    "CHAFFINCH_ACTIVE_INTERVAL": "5",
    "CHAFFINCH_IDLE_INTERVAL": "60",
    "CHAFFINCH_PASS_SPACING": "1",
    "CHAFFINCH_BACKOFF_LIMIT": "30",
    "CHAFFINCH_LEASE_DURATION": "15",
    "CHAFFINCH_LEASE_NAME": "trouble",
}

_UNDER_WAY_SECONDS = 0.5  # for what was sent just before the trouble began

WRITES = frozenset({"write"})
WATCHES = frozenset({"watch"})


@dataclass(frozen=True)
class Scene:
    """A rollout in the middle of a step, whose weight the routers have in force.

    Attributes:
        playground: The surroundings.
        proxy: Between operator and API server.
        operator: The process.
        namespace: Where the rollout is.
    """

    playground: Playground
    proxy: FaultProxy
    operator: OperatorProcess
    namespace: str

    def met_with(self, calls: Calls, fault: Fault, seconds: float) -> Trouble:
        """Let calls meet a fault for a while."""
        return self.troubled(
            lambda: self.proxy.script.add(Rule(calls, fault, count=None)), self.proxy.script.clear, seconds
        )

    def troubled(self, begin: Callable[[], object], end: Callable[[], object], seconds: float) -> Trouble:
        """Let there be trouble for a while, in which nothing may move, and wait until something does."""
        began = time.monotonic()
        begin()
        time.sleep(_UNDER_WAY_SECONDS)
        before = place_of(self.playground.rollout(self.namespace))
        while time.monotonic() < began + seconds:
            self.operator.revive()
            assert place_of(self.playground.rollout(self.namespace)) == before, "it moved in mid-trouble"
            time.sleep(0.2)
        end()
        ended = time.monotonic()
        self.playground.until(
            self.namespace,
            lambda found: place_of(found) != before,
            "going on",
            meanwhile=self.operator.revive,
        )
        recovery = time.monotonic() - ended
        met = [one for one in self.proxy.journal.of_namespace(self.namespace) if began <= one.at <= ended]
        trouble = Trouble(began, ended, recovery, tuple(met))
        print(trouble, flush=True)
        return trouble

    def goes_on_to_its_end(self) -> None:
        """Wait for the end of the attempt, which is the same as without trouble."""
        found = self.playground.until_attempt_ends(self.namespace, 2, self.operator.revive)
        assert found["status"]["lastAttempt"]["outcome"] == "Promoted"
        self.playground.then_no_invariant_was_broken(self.namespace)


@dataclass(frozen=True)
class Trouble:
    """What happened in a time of trouble.

    Attributes:
        began: When, on the monotonic clock.
        ended: When it was over.
        recovery: Seconds from then on until the rollout moved.
        calls: All calls of its namespace meanwhile.
    """

    began: float
    ended: float
    recovery: float
    calls: tuple[Entry, ...]

    @property
    def of_passes(self) -> list[Entry]:
        """The calls of passes; the watch engine calls under another name."""
        return [one for one in self.calls if one.agent == FIELD_MANAGER]

    @property
    def calls_per_minute(self) -> float:
        """How many calls passes made in a minute, once the trouble was known.

        The first pass finds the trouble, the second one that it is none of a moment; what counts is how often
        it is asked from then on.
        """
        calls = self.of_passes
        looks = [one.at for before, one in pairwise((None, *calls)) if one and _begins_a_pass(one, before)]
        if len(looks) < 3:
            return 0.0
        known = [one for one in self.of_passes if one.at >= looks[2]]
        return 60 * len(known) / (self.ended - looks[1])

    def __str__(self) -> str:
        """Tell the figures."""
        watches = len(self.calls) - len(self.of_passes)
        return (
            f"{self.ended - self.began:.0f} s of trouble: it went on {self.recovery:.1f} s after its end;"
            f" {len(self.of_passes)} calls of passes ({self.calls_per_minute:.0f} a minute once known),"
            f" {watches} of the watch engine"
        )


def _begins_a_pass(entry: Entry, before: Entry | None) -> bool:
    """Say whether a call is the first of a pass; after a write that was refused its object is read again."""
    looks = entry.call.resource == "inferencerollouts" and entry.call.verb == "get"
    after_write = before is not None and before.call.is_write and entry.at - before.at < _UNDER_WAY_SECONDS
    return looks and not after_write


def place_of(rollout: Object) -> object:
    """Return what must not move: stage, step and weight, and what is stable."""
    status = rollout["status"]
    step = status["rollout"].get("step", {}) if status.get("rollout") else {}
    weight = (status.get("traffic") or {}).get("weight")
    stable = status["stable"]["revision"]
    return (status.get("rollout", {}).get("stage"), step.get("name"), step.get("passedAt"), weight, stable)


@pytest.fixture
def scene(playground: Playground) -> Iterator[Scene]:
    """A rollout in mid-step, with a minute left in it."""
    with playground.attended(**PRODUCTION) as (namespace, proxy, operator):
        operator.start()
        playground.until_stable(service(namespace, FIRST))
        playground.apply(service(namespace, GOOD))
        playground.until(namespace, _weight_is_in_force, f"at {STEP}")
        yield Scene(playground, proxy, operator, namespace)


def _weight_is_in_force(rollout: Object) -> bool:
    step = ((rollout.get("status") or {}).get("rollout") or {}).get("step") or {}
    return step.get("name") == STEP and "acknowledgedAt" in step


EVERYTHING = Calls(without=frozenset({"leases"}))


@pytest.mark.parametrize(
    ("calls", "fault"),
    [
        pytest.param(
            Calls(verbs=WRITES, without=frozenset({"leases"})),
            Answer(409, "Conflict"),
            id="409",
            marks=pytest.mark.full,
        ),
        pytest.param(
            EVERYTHING, Answer(429, "TooManyRequests", retry_after=1), id="429", marks=pytest.mark.full
        ),
        pytest.param(EVERYTHING, Answer(503, "ServiceUnavailable"), id="503"),
    ],
)
def test_a_short_trouble_is_waited_out(scene: Scene, calls: Calls, fault: Fault) -> None:
    assert scene.met_with(calls, fault, seconds=8).recovery <= RECOVERY_SECONDS
    scene.goes_on_to_its_end()


@pytest.mark.full
@pytest.mark.parametrize(
    ("calls", "fault"),
    [
        pytest.param(Calls(verbs=WRITES, without=frozenset({"leases"})), Answer(409, "Conflict"), id="409"),
        pytest.param(EVERYTHING, Answer(429, "TooManyRequests", retry_after=1), id="429"),
        pytest.param(Calls(verbs=WRITES, without=frozenset({"leases"})), Answer(422, "Invalid"), id="422"),
        pytest.param(EVERYTHING, Answer(500, "InternalError"), id="500"),
        pytest.param(EVERYTHING, Answer(403, "Forbidden"), id="403"),
        pytest.param(EVERYTHING, CutBefore(), id="cut"),
        pytest.param(Calls(verbs=WRITES, without=frozenset({"leases"})), CutBefore(), id="writes cut"),
        pytest.param(Calls(resources=frozenset({"pods"})), Answer(503, "ServiceUnavailable"), id="pods 503"),
    ],
)
def test_a_long_trouble_causes_no_storm(scene: Scene, calls: Calls, fault: Fault) -> None:
    trouble = scene.met_with(calls, fault, seconds=100)
    assert trouble.recovery <= RECOVERY_SECONDS
    assert trouble.calls_per_minute <= CALLS_PER_MINUTE
    scene.goes_on_to_its_end()


@pytest.mark.full
def test_an_api_server_that_is_away_for_20_seconds_holds_everything(scene: Scene) -> None:
    run, proxy = scene.playground.background.run, scene.proxy
    trouble = scene.troubled(lambda: run(proxy.go_away()), lambda: run(proxy.come_back()), seconds=20)
    assert trouble.recovery <= RECOVERY_SECONDS
    scene.goes_on_to_its_end()


@pytest.mark.parametrize(
    "fault",
    [pytest.param(Mute(), id="mute"), pytest.param(CutBefore(), id="cut", marks=pytest.mark.full)],
)
def test_a_rollout_goes_on_when_watches_that_told_nothing_tell_again(
    playground: Playground, fault: Fault
) -> None:
    with rolling_out(playground, fault) as scene:
        time.sleep(20)
        scene.proxy.script.clear()
        playground.background.run(scene.proxy.cut())
        before, ended = place_of(playground.rollout(scene.namespace)), time.monotonic()
        playground.until(scene.namespace, lambda found: place_of(found) != before, "going on")
        print(f"{fault}: it went on {time.monotonic() - ended:.1f} s after the watches did")
        assert time.monotonic() - ended <= RECOVERY_SECONDS
        scene.goes_on_to_its_end()


@pytest.mark.full
@pytest.mark.parametrize("fault", [pytest.param(Replay(), id="stale"), pytest.param(Expire(), id="410")])
def test_watches_that_tell_old_things_or_end_at_once_make_nothing_wrong(
    playground: Playground, fault: Fault
) -> None:
    with rolling_out(playground, fault) as scene:
        began = time.monotonic()
        scene.goes_on_to_its_end()
        calls = [one for one in scene.proxy.journal.entries if one.at >= began and one.agent != FIELD_MANAGER]
        print(f"{fault}: {len(calls)} calls of the watch engine in {time.monotonic() - began:.0f} s")


@contextmanager
def rolling_out(playground: Playground, fault: Fault) -> Iterator[Scene]:
    """Begin a rollout, all of whose watches have a fault from then on."""
    with playground.attended(CHAFFINCH_LEASE_NAME="watches") as (namespace, proxy, operator):
        operator.start()
        playground.until_stable(service(namespace, FIRST))
        playground.until_quiet(proxy, namespace)
        proxy.script.add(Rule(Calls(verbs=WATCHES), fault, count=None))
        playground.background.run(proxy.cut())
        playground.apply(service(namespace, GOOD))
        yield Scene(playground, proxy, operator, namespace)
