"""A rollout in mid-step whose operator gets into trouble, and what that cost.

The operator has the pace here that it has in production: how soon it looks again, and how often, is what is
measured. At rest that is minutes, so that only a watch can tell of an edit in time. Scenes may be played side
by side: each has a namespace, a proxy and an operator with a Lease of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise

from chaffinch.adapters.cluster import FIELD_MANAGER
from crash.operator_process import FAST, PRODUCTION, OperatorProcess
from crash.playground import END_SECONDS, Object, Playground
from crash.rollouts import FIRST, GOOD, service
from faultproxy import Calls, Entry, FaultProxy, Rule
from faultproxy.rules import Fault
from localcluster.kubectl import eventually

STEP = "canary-50"
QUICK = {
    **FAST,
    **{f"CHAFFINCH_{name}": PRODUCTION[f"CHAFFINCH_{name}"] for name in ("IDLE_INTERVAL", "LEASE_DURATION")},
}
"""At rest as in production, and as short as may be before and after it."""

WRITES = frozenset({"write"})
WATCHES = frozenset({"watch"})
OF_LEASES = frozenset({"leases"})
EVERYTHING = Calls(without=OF_LEASES)
EVERY_WRITE = Calls(verbs=WRITES, without=OF_LEASES)

_UNDER_WAY_SECONDS = 1.0  # for what was sent just before the trouble began
_READ_AGAIN_SECONDS = 0.5  # after a write that was refused
_KNOWN_BY = 3  # looks: the first finds the trouble, the second that it is none of a moment
_REST_SECONDS = 5.0  # at least


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
        before = place_of(self.playground.remembered(self.namespace))
        while time.monotonic() < began + seconds:
            self.operator.revive()
            assert place_of(self.playground.remembered(self.namespace)) == before, "it moved in mid-trouble"
            time.sleep(0.2)
        end()
        ended = time.monotonic()
        recovery = self.moves_on_from(before)
        met = [one for one in self.proxy.journal.of_namespace(self.namespace) if began <= one.at <= ended]
        trouble = Trouble(began, ended, recovery, tuple(met))
        self.tell(str(trouble))
        return trouble

    def moves_on_from(self, place: object) -> float:
        """Wait until it is somewhere else; return the seconds that took."""
        began = time.monotonic()
        self.playground.until(
            self.namespace, lambda found: place_of(found) != place, "going on", meanwhile=self.operator.revive
        )
        return time.monotonic() - began

    def comes_to_rest(self) -> None:
        """Wait until no pass would come any more for minutes."""
        began = time.monotonic()
        # What is in progress is looked at after twice the interval at most.
        rest = max(_REST_SECONDS, 2.5 * float(self.operator.settings["CHAFFINCH_ACTIVE_INTERVAL"]))

        def last() -> float:
            return max((began, *(one.at for one in self.of_passes())))

        eventually(lambda: time.monotonic() - last() > rest, END_SECONDS, f"{self.title} at rest")

    def watches_meet(self, fault: Fault) -> None:
        """Let all watches have a fault from now on, those that are open as well."""
        watches = {one.call for one in self.watches()}
        self.proxy.script.add(Rule(Calls(verbs=WATCHES), fault, count=None))
        self.playground.background.run(self.proxy.cut())
        eventually(
            lambda: watches == {one.call for one in self.watches() if one.fault},
            END_SECONDS,
            "all watches have it",
        )

    def begins(self) -> None:
        """Edit the rollout, as a user does."""
        self.playground.apply(service(self.namespace, GOOD))

    def watches(self) -> list[Entry]:
        """Return all watches, in the order in which they were begun."""
        return [one for one in self.proxy.journal.entries if one.call.verb == "watch"]

    def of_passes(self, since: float = 0.0) -> list[Entry]:
        """Return the calls of passes since a moment on the monotonic clock."""
        return [one for one in self.proxy.journal.of_namespace(self.namespace) if _is_of_pass(one, since)]

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
        return [one for one in self.calls if _is_of_pass(one)]

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


def _is_of_pass(entry: Entry, since: float = 0.0) -> bool:
    return entry.agent == FIELD_MANAGER and entry.at >= since


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
        scene.begins()
        playground.until(scene.namespace, _weight_is_in_force, f"at {STEP}")
        yield scene


@contextmanager
def at_rest(playground: Playground, title: str, pace: Mapping[str, str] = PRODUCTION) -> Iterator[Scene]:
    """Bring a rollout to where only a watch can tell the operator of an edit before minutes have passed."""
    with _attended(playground, title, pace) as scene:
        scene.comes_to_rest()
        yield scene


@contextmanager
def _attended(playground: Playground, title: str, pace: Mapping[str, str]) -> Iterator[Scene]:
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
