"""At rest nothing is written, however a rollout came to rest, and whoever looks at it (I8)."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

import pytest

from bench.scale.audit import AuditTail, but_leases
from chaffinch.api.v1alpha1.command import CommandAction
from chaffinch.api.v1alpha1.parse import parse_rollout
from chaffinch.domain.revision import revision_of
from crash.crowd import Holds, apply, is_ready, says, scripted, status_of, until_all
from crash.operator_process import OperatorProcess
from crash.playground import Object, Playground
from crash.poison import Poisoner, is_promoted, version
from crash.rollouts import STEPS
from crash.standstills import ask, progress
from faultproxy import Call, FaultProxy
from localcluster.kubectl import eventually
from stage.install import OPERATOR_USER

REST_SECONDS = 60.0
QUIET_SECONDS = 10.0
LONGEST_SECONDS = 240.0
LOOKS = 2
"""One right after the start of a process, and one that its own pace brings."""

LEASE = {"CHAFFINCH_LEASE_NAME": "at-rest"}
PACE = {
    "CHAFFINCH_ACTIVE_INTERVAL": "5",
    "CHAFFINCH_IDLE_INTERVAL": "60",
    "CHAFFINCH_PASS_SPACING": "1",
    "CHAFFINCH_LEASE_DURATION": "15",
}
"""As in production, but that all are looked at within a minute: there only those are that need a person."""
LASTING = ({"name": "canary-50", "canary": {"weight": 50, "for": "1h"}}, STEPS[-1])

TOO_SLOW_SECONDS = 2.0  # also for the limit, which is all that a probe has
SLOW = ("slow", "slow-in-probe", "given-up", "remembered")
"""Whose second version is rolled back by the evidence: by that of a step, or of a probe."""
COMMANDED = {"aborted": CommandAction.ABORT, "told": CommandAction.PROMOTE}
WITH_USERS = (*COMMANDED, "superseded")
"""Whose second version stays at its weight until something is done about it."""
FOREIGN = ("taken", "forged")
SERVED = ("first", "promoted", *SLOW, *WITH_USERS, *FOREIGN)
CLAIMED = "claimed"
"""A rollout whose Service was somebody else's before it came."""


def stalled(reason: str) -> Holds:
    """Whether a person is needed for a reason, and no attempt runs."""
    return lambda one: says(one, "Stalled") == ("True", reason) and not progress(one)


def was_aborted(rollout: Object) -> bool:
    last = status_of(rollout).get("lastAttempt", {})
    return stalled("RolledBack")(rollout) and last["cause"] == "Aborted"


def has_its_weight(rollout: Object) -> bool:
    return "acknowledgedAt" in (progress(rollout).get("step") or {})


ENDS: Mapping[str, Holds] = {
    "first": is_ready,
    "promoted": is_promoted,
    "slow": stalled("RolledBack"),
    "slow-in-probe": stalled("RolledBack"),
    "given-up": is_ready,
    "remembered": stalled("RevisionPreviouslyFailed"),
    "aborted": was_aborted,
    "told": is_promoted,
    "superseded": is_promoted,
    "taken": stalled("NameTaken"),
    "forged": stalled("NameTaken"),
    CLAIMED: stalled("NameTaken"),
}
"""The rollouts, and how each has ended when all are at rest."""


class Park:
    """Brings rollouts to their ends.

    Args:
        playground: The surroundings.
        namespace: Where they are.
    """

    def __init__(self, playground: Playground, namespace: str) -> None:
        self._playground = playground
        self._namespace = namespace

    def manifest(self, name: str, number: int) -> dict[str, Any]:
        """Return a version of a rollout."""
        document = version(self._namespace, name, number)
        steps = {"slow-in-probe": STEPS, "promoted": STEPS} | dict.fromkeys(WITH_USERS, LASTING)
        if name in steps and number == 2:
            document["spec"]["strategy"]["steps"] = list(steps[name])
        return document

    def roll_out(self, number: int, *names: str) -> None:
        """Apply a version of some rollouts."""
        for name in names:
            apply(self._playground, self.manifest(name, number))

    def until(self, what: str, awaited: Mapping[str, Holds]) -> dict[str, Object]:
        """Wait until each of some rollouts is where it is awaited; return all rollouts by name."""
        there = {(self._namespace, name): holds for name, holds in awaited.items()}
        return {name: one for (_, name), one in until_all(self._playground, there, what).items()}

    def fill(self) -> None:
        """Bring every rollout to its end."""
        slow = {revision_of(parse_rollout(self.manifest(name, 2))) for name in SLOW}
        script = self._playground.stage.script
        with scripted(script, slow={*script.slow, *slow}, slow_seconds=TOO_SLOW_SECONDS):
            self._claim()
            self.roll_out(1, *SERVED, CLAIMED)
            self.until("the first versions serve", dict.fromkeys(SERVED, is_ready))
            self._give_second_versions()
            self._let_the_rest_end()
            self.until("all have ended", ENDS)

    def _claim(self) -> None:
        spec = {"ports": [{"port": 1}]}
        service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": CLAIMED}, "spec": spec}
        self._playground.api.apply(f"/api/v1/namespaces/{self._namespace}/services/{CLAIMED}", service)

    def _give_second_versions(self) -> None:
        self.roll_out(2, "promoted", *SLOW, *WITH_USERS)
        Poisoner(self._playground, self._namespace, FOREIGN).begin()
        ended = dict.fromkeys(SLOW, stalled("RolledBack"))
        found = self.until("some have users", dict.fromkeys(WITH_USERS, has_its_weight) | ended)
        for name, action in COMMANDED.items():
            ask(self._playground, found[name], action)

    def _let_the_rest_end(self) -> None:
        self.roll_out(1, "given-up")
        self.roll_out(3, "superseded", "remembered")
        self.until("the third version serves", {"remembered": is_promoted})
        self.roll_out(2, "remembered")


@pytest.fixture
def operator(playground: Playground) -> Iterator[tuple[str, FaultProxy, OperatorProcess]]:
    """A namespace, and its operator behind a proxy."""
    with playground.attended("at-rest", **LEASE) as (namespace, proxy, process):
        process.start()
        yield namespace, proxy, process


@contextmanager
def written(playground: Playground) -> Iterator[Counter[str]]:
    """Count what any operator writes in the block, by the API server's own account."""
    found: Counter[str] = Counter()
    with closing(AuditTail(playground.audit_log, OPERATOR_USER)) as audit:
        yield found
        found.update(audit.writes())


def until_nothing_is_written(playground: Playground) -> None:
    """Wait until the last pods and warm-ups of what is over are gone."""
    with closing(AuditTail(playground.audit_log, OPERATOR_USER)) as audit:

        def in_a_while() -> Mapping[str, int]:
            time.sleep(QUIET_SECONDS)
            return but_leases(audit.writes())

        eventually(in_a_while, LONGEST_SECONDS, "quiet", holds=lambda writes: not writes)


def rest(proxy: FaultProxy, namespace: str) -> Counter[str]:
    """Leave everything alone until time is over and every rollout was looked at; return how often."""
    mark, looks = time.monotonic(), Counter[str]()
    while time.monotonic() < mark + REST_SECONDS or min(looks[name] for name in ENDS) < LOOKS:
        assert time.monotonic() < mark + LONGEST_SECONDS, f"not all were looked at again: {looks}"
        time.sleep(1)
        calls = [one.call for one in proxy.journal.of_namespace(namespace) if one.at >= mark]
        looks = Counter(call.name for call in calls if is_look(call))
    return looks


def is_look(call: Call) -> bool:
    """Say whether a call is what each pass begins with."""
    return (call.verb, call.resource) == ("get", "inferencerollouts")


@pytest.mark.full
def test_nothing_but_the_lease_is_written_at_rest_whatever_the_end_was(
    playground: Playground, operator: tuple[str, FaultProxy, OperatorProcess]
) -> None:
    """Also not by the next process, which knows nothing of what the last one found in order."""
    namespace, proxy, process = operator
    park = Park(playground, namespace)
    park.fill()
    until_nothing_is_written(playground)
    process.terminate()
    process.settings |= PACE
    with written(playground) as found:
        process.start()
        process.until_ready()
        looks = rest(proxy, namespace)
    print(f"{len(ENDS)} rollouts at rest, looked at {looks.total()} times: {dict(found)}")
    assert (but_leases(found), bool(found)) == ({}, True)
    park.until("as they were", ENDS)
