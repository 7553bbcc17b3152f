"""A rollout in mid-step whose operator gets into trouble, and what that cost.

The operator has the pace here that it has in production: how soon it looks again, and how often, is what is
measured. Scenes may be played side by side: each has a namespace, a proxy and an operator with a Lease of
its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise

from chaffinch.adapters.cluster import FIELD_MANAGER
from crash.operator_process import OperatorProcess
from crash.playground import Object, Playground
from crash.rollouts import FIRST, GOOD, service
from faultproxy import Calls, Entry, FaultProxy, Rule
from faultproxy.rules import Fault

STEP = "canary-50"
LEASE = {"CHAFFINCH_LEASE_DURATION": "15"}
"""Nobody takes over here, and many operators that begin at once share few cores."""
PRODUCTION = {
    **LEASE,
    "CHAFFINCH_ACTIVE_INTERVAL": "5",
    "CHAFFINCH_IDLE_INTERVAL": "60",
    "CHAFFINCH_PASS_SPACING": "1",
    "CHAFFINCH_BACKOFF_LIMIT": "30",
}

WRITES = frozenset({"write"})
WATCHES = frozenset({"watch"})
OF_LEASES = frozenset({"leases"})
EVERYTHING = Calls(without=OF_LEASES)
EVERY_WRITE = Calls(verbs=WRITES, without=OF_LEASES)

_UNDER_WAY_SECONDS = 1.0  # for what was sent just before the trouble began
_READ_AGAIN_SECONDS = 0.5  # after a write that was refused
_KNOWN_BY = 3  # looks: the first finds the trouble, the second that it is none of a moment


@dataclass(frozen=True)
class Scene:
    """A rollout in the middle of a step, whose weight the routers have in force.

    Attributes:
        title: What is played.
        playground: The surroundings.
        proxy: Between operator and API server.
        operator: The process.
        namespace: Where the rollout is.
    """

    title: str
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
        self.tell(str(trouble))
        return trouble

    def goes_on_to_its_end(self) -> None:
        """Wait for the end of the attempt, which is the same as without trouble."""
        found = self.playground.until_attempt_ends(self.namespace, 2, self.operator.revive)
        assert found["status"]["lastAttempt"]["outcome"] == "Promoted"
        self.playground.then_no_invariant_was_broken(self.namespace)

    def tell(self, figures: str) -> None:
        """Print the figures of the scene."""
        print(f"{self.title}: {figures}", flush=True)


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
    def calls_per_minute(self) -> float | None:
        """How many calls passes made in a minute, once the trouble was known.

        None if there were too few passes to tell: that is no sign of restraint.
        """
        calls = self.of_passes
        looks = [one.at for before, one in pairwise((None, *calls)) if one and _begins_a_pass(one, before)]
        if len(looks) < _KNOWN_BY:
            return None
        known = [one for one in calls if one.at >= looks[_KNOWN_BY - 1]]
        return 60 * len(known) / (self.ended - looks[_KNOWN_BY - 2])

    def __str__(self) -> str:
        """Tell the figures."""
        watches, rate = len(self.calls) - len(self.of_passes), self.calls_per_minute
        told = (
            "too few passes to say how many a minute" if rate is None else f"{rate:.0f} a minute once known"
        )
        return (
            f"{self.ended - self.began:.0f} s of trouble: it went on {self.recovery:.1f} s after its end;"
            f" {len(self.of_passes)} calls of passes ({told}), {watches} of the watch engine"
        )


def _begins_a_pass(entry: Entry, before: Entry | None) -> bool:
    """Say whether a call is the first of a pass; after a write that was refused its object is read again."""
    looks = entry.call.resource == "inferencerollouts" and entry.call.verb == "get"
    after_write = before is not None and before.call.is_write and entry.at - before.at < _READ_AGAIN_SECONDS
    return looks and not after_write


def place_of(rollout: Object) -> object:
    """Return what must not move: stage, step and weight, and what is stable."""
    status = rollout["status"]
    step = status["rollout"].get("step", {}) if status.get("rollout") else {}
    weight = (status.get("traffic") or {}).get("weight")
    stable = status["stable"]["revision"]
    return (status.get("rollout", {}).get("stage"), step.get("name"), step.get("passedAt"), weight, stable)


@contextmanager
def in_mid_step(playground: Playground, title: str) -> Iterator[Scene]:
    """Bring a rollout to the weight of a step."""
    with _attended(playground, title, PRODUCTION) as scene:
        playground.apply(service(scene.namespace, GOOD))
        playground.until(scene.namespace, _weight_is_in_force, f"at {STEP}")
        yield scene


@contextmanager
def rolling_out(playground: Playground, title: str, fault: Fault) -> Iterator[Scene]:
    """Begin a rollout, all of whose watches have a fault from then on."""
    with _attended(playground, title, LEASE) as scene:
        playground.until_quiet(scene.proxy, scene.namespace)
        scene.proxy.script.add(Rule(Calls(verbs=WATCHES), fault, count=None))
        playground.background.run(scene.proxy.cut())
        playground.apply(service(scene.namespace, GOOD))
        yield scene


@contextmanager
def _attended(playground: Playground, title: str, pace: dict[str, str]) -> Iterator[Scene]:
    """Let a first version serve."""
    name = title.replace(" ", "-")
    settings = {**pace, "CHAFFINCH_LEASE_NAME": f"scene-{name}"}
    with playground.attended(name, **settings) as (namespace, proxy, operator):
        operator.start()
        playground.until_stable(service(namespace, FIRST))
        yield Scene(title, playground, proxy, operator, namespace)


def _weight_is_in_force(rollout: Object) -> bool:
    step = ((rollout.get("status") or {}).get("rollout") or {}).get("step") or {}
    return step.get("name") == STEP and "acknowledgedAt" in step
