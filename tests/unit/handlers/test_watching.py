from __future__ import annotations

import asyncio
from collections.abc import Iterable
from itertools import islice
from typing import Any

import kopf
import pytest

from chaffinch.adapters.clock import SystemClock
from chaffinch.handlers import Wakers, engine_settings, registry_of
from chaffinch.runtime.baseline_export import BaselineExport
from chaffinch.runtime.health import Health
from chaffinch.runtime.hub import Hub, Subject, SubjectKind
from chaffinch.runtime.metrics import Metrics
from chaffinch.runtime.wake import Version

CHAT = Subject(SubjectKind.ROLLOUT, "shop", "chat", "uid-chat")
STOP = Subject(SubjectKind.COMMAND, "shop", "stop", "uid-stop")
LOOK = Subject(SubjectKind.PROBE, "shop", "look", "uid-look")


class ListeningHub(Hub):
    """Notes what it is told instead of looking after anything."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def saw(self, subject: Subject, *, deleted: bool = False, version: Version | None = None) -> None:
        self.told.append(("saw", subject, deleted, *([] if version is None else [version])))

    def wake(
        self, kind: SubjectKind, namespace: str, name: str | None = None, *, at_once: bool = False
    ) -> None:
        self.told.append(("wake at once" if at_once else "wake", kind.value, namespace, name))


async def _nothing() -> None:
    return


def _registry(hub: Hub) -> tuple[kopf.OperatorRegistry, Health]:
    health = Health(SystemClock(), longest_pass=60)
    return registry_of(Wakers(hub, health, BaselineExport(Metrics()), _nothing)), health


def _tell(handler_id: str, body: dict[str, Any], kind: str | None = "MODIFIED") -> list[tuple[Any, ...]]:
    """Send one event through a handler; return what the hub was told."""
    hub = ListeningHub()
    registry, health = _registry(hub)
    (handler,) = (one for one in registry._watching.get_all_handlers() if one.id == handler_id)
    labels = body["metadata"].get("labels", {})
    event = {"type": kind, "object": body}
    asyncio.run(handler.fn(event=event, body=body, labels=labels, namespace="shop"))  # type: ignore[arg-type, call-arg]
    assert health.report(1).details["watchSecondsAgo"] is not None
    return hub.told


def _body(name: str, uid: str = "", **labels: str) -> dict[str, Any]:
    version = {"resourceVersion": "17", "generation": 3}
    return {"metadata": {"namespace": "shop", "name": name, "uid": uid, "labels": labels, **version}}


@pytest.mark.parametrize("kind", [None, "ADDED", "MODIFIED"])
def test_an_event_of_a_rollout_is_passed_to_its_task(kind: str | None) -> None:
    version = [] if kind is None else [("17", 3)]  # what is listed anew wakes it in any case
    assert _tell("rollout", _body("chat", "uid-chat"), kind) == [("saw", CHAT, False, *version)]


def test_the_end_of_a_rollout_ends_its_task_and_wakes_the_commands_of_the_namespace() -> None:
    told = _tell("rollout", _body("chat", "uid-chat"), "DELETED")
    assert told == [("saw", CHAT, True, ("17", 3)), ("wake", "command", "shop", None)]


@pytest.mark.parametrize("kind", [None, "ADDED", "MODIFIED", "DELETED"])
def test_an_event_of_a_command_is_passed_to_its_task_and_wakes_the_rollout_that_it_names(
    kind: str | None,
) -> None:
    body = {**_body("stop", "uid-stop"), "spec": {"rollout": "chat"}}
    assert _tell("command", body, kind) == [
        ("saw", STOP, kind == "DELETED"),
        ("wake", "rollout", "shop", "chat"),
    ]


@pytest.mark.parametrize("spec", [{}, {"spec": {}}, {"spec": {"rollout": ""}}, {"spec": {"rollout": 7}}])
def test_a_command_that_names_no_rollout_wakes_none(spec: dict[str, Any]) -> None:
    assert _tell("command", {**_body("stop", "uid-stop"), **spec}) == [("saw", STOP, False)]


def test_an_event_of_a_probe_is_passed_to_its_task_and_wakes_its_rollout() -> None:
    body = _body("look", "uid-look", **{"chaffinch.dev/rollout": "chat"})
    assert _tell("probe", body) == [("saw", LOOK, False), ("wake", "rollout", "shop", "chat")]
    assert _tell("probe", _body("look", "uid-look")) == [("saw", LOOK, False)]


def test_an_event_of_a_baseline_wakes_every_rollout_of_the_namespace() -> None:
    assert _tell("baseline", _body("chat-base-v1")) == [("wake", "rollout", "shop", None)]


@pytest.mark.parametrize("kind", ["deployments", "pods", "services", "configmaps"])
def test_an_event_of_a_child_wakes_its_rollout(kind: str) -> None:
    body = _body("chat-0a1b2c3d", **{"chaffinch.dev/rollout": "chat"})
    assert _tell(kind, body) == [("wake", "rollout", "shop", "chat")]


@pytest.mark.parametrize(
    ("kind", "phase", "metadata", "want"),
    [
        ("MODIFIED", "Failed", {}, "wake at once"),
        ("MODIFIED", "Succeeded", {}, "wake at once"),
        ("MODIFIED", "Running", {}, "wake"),
        ("MODIFIED", "Failed", {"deletionTimestamp": "2026-03-01T14:02:00Z"}, "wake"),
        ("DELETED", "Failed", {}, "wake"),
        (None, "Failed", {}, "wake"),
    ],
)
def test_a_pod_that_its_node_has_just_turned_away_is_urgent(
    kind: str | None, phase: str, metadata: dict[str, str], want: str
) -> None:
    body = _body("chat-0a1b2c3d-x", **{"chaffinch.dev/rollout": "chat"})
    body = {"metadata": body["metadata"] | metadata, "status": {"phase": phase}}
    assert _tell("pods", body, kind) == [(want, "rollout", "shop", "chat")]


def test_an_event_of_a_probe_worker_wakes_both() -> None:
    labels = {"chaffinch.dev/rollout": "chat", "batch.kubernetes.io/job-name": "look"}
    assert _tell("pods", _body("look-0", **labels)) == [
        ("wake", "rollout", "shop", "chat"),
        ("wake", "probe", "shop", "look"),
    ]


def test_no_handler_makes_the_engine_write_anything() -> None:
    registry, _ = _registry(ListeningHub())
    for writing in (registry._changing, registry._spawning, registry._indexing, registry._webhooks):
        assert list(writing.get_all_handlers()) == []


def test_the_engine_writes_no_events_and_filters_children_on_the_server() -> None:
    settings = engine_settings(request=10, connect=5, watch=300)
    assert not settings.posting.enabled
    assert settings.scanning.disabled
    assert (settings.networking.request_timeout, settings.watching.server_timeout) == (10, 300)
    assert set(settings.watching.label_selectors.values()) == {"chaffinch.dev/rollout"}
    assert len(settings.watching.label_selectors) == 4


def test_a_watch_that_fails_is_tried_again_without_an_end_at_a_bounded_pace() -> None:
    settings = engine_settings(request=10, connect=5, watch=300)
    backoffs = settings.networking.error_backoffs
    assert isinstance(backoffs, Iterable)
    for _ in range(2):  # each request begins anew
        assert list(islice(backoffs, 1000)) == [1, 2, 4, 8, *[15] * 996]
    assert settings.watching.reconnect_backoff == 1


def test_a_silent_watch_is_given_up_after_its_bookmark_is_due_and_before_the_server_forgets() -> None:
    assert hasattr(kopf.OperatorSettings().watching, "inactivity_timeout"), "the engine has no such setting"
    settings = engine_settings(request=10, connect=5, watch=300)
    bookmark, forgotten = 60 + 1.25, 75  # of kube-apiserver; it looks for due bookmarks every 1 to 1.25 s
    assert bookmark < settings.watching.inactivity_timeout < forgotten
