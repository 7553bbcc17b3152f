"""Who has changed an object is told from what the API server records; what leaves no trace, from memory."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from chaffinch.domain.names import RolloutIdentity
from chaffinch.domain.observation import ForeignEdit
from chaffinch.routing.envoy import router_manifests
from chaffinch.routing.settings import RouterSettings
from chaffinch.runtime.foreign_edits import AsWanted, edits_of_route, of_router
from chaffinch.runtime.wanted import Wanted

ROLLOUT = RolloutIdentity("shop", "chat", "uid")
ROUTE = "ConfigMap/chat-router"
SERVICE: dict[str, Any] = {
    "kind": "Service",
    "metadata": {"name": "chat", "labels": {"chaffinch.dev/rollout": "chat"}},
    "spec": {"selector": {"a": "b"}, "ports": [{"name": "http", "port": 80, "targetPort": "http"}]},
}
WANTED = Wanted(SERVICE)
PORT = 'k:{"port":80,"protocol":"TCP"}'


def entry(manager: str, at: int, **fields: object) -> dict[str, Any]:
    time = f"2026-03-01T12:00:{at:02}Z"
    return {"manager": manager, "operation": "Update", "time": time, "fieldsV1": fields}


def live(recorded: list[dict[str, Any]], **changes: object) -> dict[str, Any]:
    made = copy.deepcopy(SERVICE)
    made["metadata"]["managedFields"] = recorded
    made["spec"].update(changes)
    return made


OURS = entry("chaffinch", 1, **{"f:spec": {"f:selector": {}, "f:ports": {PORT: {"f:targetPort": {}}}}})
SELECTOR: dict[str, Any] = {"f:spec": {"f:selector": {}}}
TARGET: dict[str, Any] = {"f:spec": {"f:ports": {PORT: {".": {}, "f:targetPort": {}}}}}
OTHER_PORTS = [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": 9090}]


@pytest.mark.parametrize(
    ("found", "want"),
    [
        (live([OURS]), None),
        (live([OURS], selector={"a": "old"}), None),
        (live([entry("kubectl-edit", 2, **SELECTOR)], selector={"a": "c"}), "kubectl-edit"),
        (live([entry("kubectl-edit", 2, **SELECTOR)]), None),
        (live([OURS, entry("gitops", 2, **TARGET)], ports=OTHER_PORTS), "gitops"),
        (live([OURS, entry("gitops", 2, **TARGET)], selector={"a": "old"}), None),
        (
            live([entry("one", 2, **SELECTOR), entry("two", 3, **SELECTOR)], selector={"a": "c"}),
            "two",
        ),
        (
            live([entry("<b>" * 99, 2, **SELECTOR)], selector={"a": "c"}),
            "a client without a proper name",
        ),
    ],
)
def test_who_has_set_what_differs_is_told(found: dict[str, Any], want: str | None) -> None:
    edit = None if want is None else ForeignEdit("Service/chat", want)
    assert AsWanted().edit(WANTED, found) == edit


@pytest.mark.parametrize("found", [None, live([OURS], selector={})])
def test_what_leaves_no_trace_is_told_if_it_has_been_as_wanted(found: dict[str, Any] | None) -> None:
    memory = AsWanted()
    assert memory.edit(WANTED, found) is None
    assert memory.edit(WANTED, live([OURS])) is None
    assert memory.edit(WANTED, found) == ForeignEdit("Service/chat")
    changed = copy.deepcopy(SERVICE)
    changed["spec"]["ports"][0]["name"] = "web"
    assert memory.edit(Wanted(changed), found) is None


def versioned(version: str, **changes: object) -> dict[str, Any]:
    found = live([OURS], **changes)
    found["metadata"]["resourceVersion"] = version
    return found


def test_an_object_is_unchanged_while_its_version_and_what_is_wanted_are_the_same() -> None:
    memory = AsWanted()
    assert not memory.is_unchanged(WANTED, versioned("7"))
    memory.note(WANTED, versioned("7"))
    assert memory.is_unchanged(WANTED, versioned("7"))
    assert not memory.is_unchanged(WANTED, versioned("8"))
    assert not memory.is_unchanged(WANTED, None)
    wanted = copy.deepcopy(SERVICE)
    wanted["spec"]["ports"][0]["name"] = "web"
    assert not memory.is_unchanged(Wanted(wanted), versioned("7"))


def test_an_object_without_a_version_is_never_unchanged() -> None:
    memory = AsWanted()
    memory.note(WANTED, live([OURS]))
    assert not memory.is_unchanged(WANTED, live([OURS]))


def test_a_look_at_the_fields_alone_does_not_make_an_object_unchanged() -> None:
    memory = AsWanted()
    assert memory.edit(WANTED, versioned("7")) is None
    assert not memory.is_unchanged(WANTED, versioned("7"))


def config_map(*recorded: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": "chat-router", "managedFields": list(recorded)}
    return {"kind": "ConfigMap", "metadata": metadata, "data": {}}


DATA: dict[str, Any] = {"f:data": {".": {}, "f:route.json": {}}}


@pytest.mark.parametrize(
    ("found", "was_written", "want"),
    [
        (None, False, ()),
        (None, True, (ForeignEdit(ROUTE),)),
        (config_map(), True, ()),
        (config_map(entry("chaffinch", 1, **DATA)), True, ()),
        (config_map(entry("chaffinch", 1, **DATA), entry("gitops", 2, **DATA)), True, ()),
        (config_map(entry("gitops", 2, **DATA)), True, (ForeignEdit(ROUTE, "gitops"),)),
        (config_map(entry("chaffinch", 1, **{"f:metadata": {}})), True, (ForeignEdit(ROUTE),)),
    ],
)
def test_a_route_is_somebody_else_s_if_they_have_written_it_last(
    found: dict[str, Any] | None, was_written: bool, want: tuple[ForeignEdit, ...]
) -> None:
    assert edits_of_route(found, ROLLOUT, was_written=was_written) == want


def test_the_router_s_objects_and_the_services_of_revisions_count() -> None:
    router = [Wanted(each) for each in router_manifests(ROLLOUT, RouterSettings("chaffinch:1", "envoy:1"))]
    engine = Wanted({**SERVICE, "kind": "Deployment"})
    assert of_router([*router, engine, WANTED]) == [*router, WANTED]
