"""Somebody else writes the route again and again: it is put back a few times, then a person is asked."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from crash.one_rollout import OneRollout
from crash.playground import GROUP, NAME, Playground
from crash.rollouts import FIRST, GOOD, revision, service
from faultproxy import FaultProxy
from faultproxy.journal import Entry, writes
from localcluster.api import ApiClient
from stage.kubectl import condition

MOST = 5
PAUSE_SECONDS = 0.3
WATCHED_SECONDS = 3.0
WRITER = "gitops"
ALL = 10_000


class OtherWriter(threading.Thread):
    """Gives a revision all traffic, in the route of a namespace, again and again until it is told to stop.

    Attributes:
        written: How many times it has.
    """

    def __init__(self, api: ApiClient, namespace: str, favourite: str) -> None:
        super().__init__(daemon=True)
        self.written = 0
        self._api = api
        self._path = f"/api/v1/namespaces/{namespace}/configmaps/{NAME}-router"
        self._favourite = favourite
        self._stopped = threading.Event()

    def run(self) -> None:
        """Write."""
        while not self._stopped.wait(PAUSE_SECONDS):
            route = self.route()
            if weight_of(route, self._favourite) < ALL:
                for arm in route["arms"]:
                    arm["weight"] = ALL if arm["revision"] == self._favourite else 0
                data = {"data": {"route.json": json.dumps(route)}}
                self._api.merge(f"{self._path}?fieldManager={WRITER}", data)
                self.written += 1

    def route(self) -> dict[str, Any]:
        """Return the route as it is stored."""
        stored = self._api.get(self._path)
        assert stored is not None
        return dict(json.loads(stored["data"]["route.json"]))

    def stop(self) -> None:
        """Write no more."""
        self._stopped.set()
        self.join()


@contextmanager
def fighting(playground: Playground, namespace: str, favourite: str) -> Iterator[OtherWriter]:
    """Let somebody else write the route for the length of the block."""
    writer = OtherWriter(playground.api, namespace, favourite)
    writer.start()
    try:
        yield writer
    finally:
        writer.stop()


@contextmanager
def without_evidence(playground: Playground) -> Iterator[None]:
    """Let nothing be measured, so that a rollout stays at its step."""
    playground.stage.script.silent = True
    try:
        yield
    finally:
        playground.stage.script.silent = False


def weight_of(route: Mapping[str, Any], of: str) -> int:
    return sum(int(arm["weight"]) for arm in route["arms"] if arm["revision"] == of)


def route_writes(proxy: FaultProxy, namespace: str, since: float) -> list[Entry]:
    """Return the writes of the route that the operator has made since a moment."""
    done = writes(proxy.journal.of_namespace(namespace))
    return [one for one in done if one.call.resource == "configmaps" and one.applied and one.at >= since]


def retry(namespace: str) -> dict[str, Any]:
    """Return the administrator's command."""
    spec = {"rollout": NAME, "revision": revision(GOOD), "action": "Retry", "requestedBy": "admin"}
    metadata = {"name": "after-the-fight", "namespace": namespace}
    return {
        "apiVersion": "chaffinch.dev/v1alpha1",
        "kind": "RolloutCommand",
        "metadata": metadata,
        "spec": spec,
    }


def fight_warnings(api: ApiClient, namespace: str) -> int:
    """Count the Events that tell of a fight."""
    found = api.get(f"/apis/events.k8s.io/v1/namespaces/{namespace}/events")
    assert found is not None
    return sum(one["reason"] == "RouteFight" for one in found["items"])


@pytest.fixture
def proxy(playground: Playground) -> Iterator[FaultProxy]:
    """The way from the operator to the API server, which counts what it writes."""
    with playground.proxy() as proxy:
        yield proxy


def test_who_writes_the_route_again_and_again_is_left_to_a_person(
    playground: Playground, proxy: FaultProxy
) -> None:
    settings = {"CHAFFINCH_LEASE_NAME": "fight"}
    with (
        playground.namespace() as namespace,
        playground.operator(proxy, CHAFFINCH_WATCH_NAMESPACES=namespace, **settings) as operator,
    ):
        operator.start()
        rollout = OneRollout(playground.api, namespace)
        playground.until_stable(service(namespace, FIRST))
        with without_evidence(playground):
            playground.apply(service(namespace, GOOD))
            rollout.until(lambda one: "acknowledgedAt" in _step(one, "canary-50"), "at its canary step")
            pods = rollout.uids("engine")
            began = time.monotonic()
            with fighting(playground, namespace, revision(GOOD)) as writer:
                found = rollout.until(_is_fought, "in a fight")
                time.sleep(WATCHED_SECONDS)
                written = route_writes(proxy, namespace, began)
                edits = found["status"]["routerEdits"]
            print(f"{writer.written} foreign writes, {len(written)} of the operator's, {edits}")
            assert len(written) <= MOST < writer.written
            assert (edits["object"], edits["by"]) == (f"ConfigMap/{NAME}-router", WRITER)
            assert f"ConfigMap/{NAME}-router is changed by {WRITER}" in condition(found, "Stalled")["message"]
            assert found["status"]["traffic"]["weight"]["desired"] == 0
            assert rollout.uids("engine") == pods
            assert fight_warnings(playground.api, namespace) == 1
        place = f"{GROUP}/namespaces/{namespace}/rolloutcommands"
        playground.api.create(place, retry(namespace))
        ended = playground.until_attempt_ends(namespace, 2)
        assert ended["status"]["lastAttempt"]["outcome"] == "Promoted"
        rollout.until_ready()


def _step(rollout: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    step: Mapping[str, Any] = ((rollout.get("status") or {}).get("rollout") or {}).get("step") or {}
    return step if step.get("name") == name else {}


def _is_fought(rollout: Mapping[str, Any]) -> bool:
    told = condition(rollout, "Stalled")
    return (told.get("status"), told.get("reason")) == ("True", "RouteFight")
