"""Deletion always ends, whatever the rollout was at, and whether or not there is an operator (I10).

Rollouts stand still at their places side by side, and all are deleted at once.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

import pytest

from crash.operator_process import OperatorProcess
from crash.playground import GROUP, Playground, path_of
from crash.standstills import STANDSTILLS, Standstill, brought
from fakes.baselines import baseline_object
from faultproxy import FaultProxy
from localcluster.kubectl import eventually
from stage.inventory import everything, name_of
from stage.kubectl import Kubectl

GONE_SECONDS = 60
BASELINE = "InferenceBaseline/chat-v1"
REST_SECONDS = 5.0
"""How long is watched whether anything comes back; some passes long."""

SAMPLE = frozenset({"warming", "stepping", "promoting"})
PACE = {
    "CHAFFINCH_ACTIVE_INTERVAL": "1",
    "CHAFFINCH_IDLE_INTERVAL": "2",
    "CHAFFINCH_LEASE_DURATION": "15",
    "CHAFFINCH_ROUTER_REPLICAS": "1",
}


class Way(StrEnum):
    """How rollouts are deleted."""

    ROLLOUT = "Background"
    """As kubectl deletes them: their children go after them."""
    ROLLOUT_LAST = "Foreground"
    """As Argo CD deletes them: their children go first."""
    NAMESPACE = "Namespace"


@dataclass(frozen=True)
class Side:
    """An operator, and the namespaces that it serves.

    Attributes:
        operator: The process.
        proxy: Its way to the API server.
        namespaces: One for each way to delete what is in it.
    """

    operator: OperatorProcess
    proxy: FaultProxy
    namespaces: dict[Way, str]

    @classmethod
    @contextmanager
    def open(cls, playground: Playground, name: str, ways: Sequence[Way]) -> Iterator[Side]:
        """Start the operator of a side."""
        namespaces = {way: playground.make_namespace() for way in ways}
        for namespace in namespaces.values():
            keep_a_baseline(playground, namespace)
        settings = {
            **PACE,
            "CHAFFINCH_LEASE_NAME": name,
            "CHAFFINCH_WATCH_NAMESPACES": ",".join(namespaces.values()),
        }
        try:
            with playground.proxy() as proxy, playground.operator(proxy, name, **settings) as operator:
                operator.start()
                yield cls(operator, proxy, namespaces)
        finally:
            for way, namespace in namespaces.items():
                if way is not Way.NAMESPACE:
                    playground.drop_namespace(namespace)

    def made_since(self, moment: float) -> list[str]:
        """Return what it has made, or tried to make, since a moment."""
        written = [one for one in self.proxy.journal.entries if one.at >= moment]
        return [str(one) for one in written if one.call.verb in {"create", "apply"}]

    def errors(self) -> list[str]:
        """Return the lines of its log that tell of a fault of its own."""
        lines = self.operator.log.read_text().splitlines()
        return [line for line in lines if any(word in line for word in ("ERROR", "CRITICAL", "Traceback"))]


def keep_a_baseline(playground: Playground, namespace: str) -> None:
    """Put a baseline into a namespace."""
    baseline = baseline_object("chat", "v1")
    baseline["metadata"] = {"name": "chat-v1", "namespace": namespace}
    playground.api.apply(f"{GROUP}/namespaces/{namespace}/inferencebaselines/chat-v1", baseline)


@pytest.mark.parametrize(
    ("standstills", "ways"),
    [
        pytest.param(
            [one for one in STANDSTILLS if one.name in SAMPLE], [Way.ROLLOUT, Way.NAMESPACE], id="sample"
        ),
        # One way at a time: more rollouts at once only show how fast the machine's garbage collector is.
        *(pytest.param(STANDSTILLS, [way], id=way.name, marks=pytest.mark.full) for way in Way),
    ],
)
def test_whatever_a_rollout_is_at_nothing_but_baselines_outlives_it(
    playground: Playground, standstills: Sequence[Standstill], ways: Sequence[Way]
) -> None:
    with ExitStack() as stack:
        up, down = (
            stack.enter_context(Side.open(playground, f"deletion-{name}", ways)) for name in ("up", "down")
        )
        namespaces = [*up.namespaces.values(), *down.namespaces.values()]
        with brought(playground, standstills, namespaces):
            then_nothing_waits_for_an_operator(namespaces)
            assert down.operator.terminate() == 0
            began = time.monotonic()
            for side in (up, down):
                delete(playground, side, standstills)
            for side in (up, down):
                until_gone(playground, side, began)
            then_nothing_comes_back(playground, up, down)


def then_nothing_waits_for_an_operator(namespaces: Sequence[str]) -> None:
    """No object has a finalizer that Kubernetes itself does not see to."""
    found = {
        f"{name_of(each)}: {finalizer}"
        for namespace in namespaces
        for each in everything(Kubectl(namespace))
        for finalizer in each["metadata"].get("finalizers", ())
        if not finalizer.startswith(("kubernetes.io/", "batch.kubernetes.io/"))
    }
    assert found == set()


def delete(playground: Playground, side: Side, standstills: Sequence[Standstill]) -> None:
    """Delete all that there is of a side."""
    for way, namespace in side.namespaces.items():
        if way is Way.NAMESPACE:
            playground.api.delete(f"/api/v1/namespaces/{namespace}")
            continue
        for one in standstills:
            place = path_of(namespace, one.name)
            playground.api.delete(place, propagation=way)


def until_gone(playground: Playground, side: Side, began: float) -> None:
    """Wait until nothing is left of a side but baselines."""
    for way, namespace in side.namespaces.items():
        eventually(
            partial(what_is_too_much, playground, namespace, way), began + GONE_SECONDS - time.monotonic(),
            f"{side.operator.name}, {way}: all is gone", 1, holds=lambda left: left == set(),
            show=partial(told, namespace),
        )  # fmt: skip
        print(f"{side.operator.name}, {way}: gone after {time.monotonic() - began:.1f} s", flush=True)


def what_is_too_much(playground: Playground, namespace: str, way: Way) -> set[str]:
    """Return the names of what should be gone and is not; of a namespace its own."""
    if way is not Way.NAMESPACE:
        return {name_of(each) for each in everything(Kubectl(namespace))} - {BASELINE}
    return {f"Namespace/{namespace}"} if playground.api.get(f"/api/v1/namespaces/{namespace}") else set()


def told(namespace: str, _: set[str] | None) -> str:
    """Say what is left in a namespace."""
    return ", ".join(sorted(map(name_of, everything(Kubectl(namespace)))))


def then_nothing_comes_back(playground: Playground, up: Side, down: Side) -> None:
    """Neither an operator that saw the deletions, nor one that comes back after them, makes anything."""
    gone = time.monotonic()
    down.operator.start()
    down.operator.until_ready()
    while time.monotonic() < gone + REST_SECONDS:
        assert up.operator.alive
        assert down.operator.alive
        time.sleep(0.5)
    for side in (up, down):
        assert side.made_since(gone) == []
        assert side.errors() == []
        for way, namespace in side.namespaces.items():
            assert what_is_too_much(playground, namespace, way) == set()
            if way is not Way.NAMESPACE:
                assert BASELINE in {name_of(each) for each in everything(Kubectl(namespace))}
