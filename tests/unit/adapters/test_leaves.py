from __future__ import annotations

import json
from typing import Any

import pytest

from chaffinch.adapters.leaves import covers, dropped

LIVE: dict[str, Any] = {
    "metadata": {
        "labels": {"app": "chat", "added-by": "somebody"},
        "ownerReferences": [{"uid": "u1", "controller": True}, {"uid": "u2"}],
    },
    "spec": {
        "replicas": 3,
        "revisionHistoryLimit": 1,
        "template": {
            "spec": {
                "containers": [
                    {
                        "name": "engine",
                        "image": "engine:1",
                        "args": ["serve", "m"],
                        "imagePullPolicy": "IfNotPresent",
                        "resources": {"limits": {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "4"}},
                        "env": [{"name": "A", "value": "1"}],
                    },
                    {"name": "sidecar", "image": "mesh:1"},
                ]
            }
        },
    },
}


def _containers(**changes: object) -> dict[str, Any]:
    return {"spec": {"template": {"spec": {"containers": [{"name": "engine", **changes}]}}}}


@pytest.mark.parametrize(
    ("wanted", "want_covered"),
    [
        ({}, True),
        ({"metadata": {"labels": {"app": "chat"}}}, True),
        ({"metadata": {"labels": {"app": "code"}}}, False),
        ({"metadata": {"annotations": {}}}, False),
        ({"metadata": {"ownerReferences": [{"uid": "u1", "controller": True}]}}, True),
        ({"metadata": {"ownerReferences": [{"uid": "u3"}]}}, False),
        ({"spec": {"replicas": 3}}, True),
        ({"spec": {"replicas": 4}}, False),
        ({"spec": {"replicas": True}}, False),
        ({"spec": {"replicas": "3"}}, False),
        (_containers(image="engine:1"), True),
        (_containers(image="engine:2"), False),
        (_containers(args=["serve", "m"]), True),
        (_containers(args=["m", "serve"]), False),
        (_containers(args=["serve"]), False),
        (_containers(env=[{"name": "A", "value": "1"}]), True),
        (_containers(env=[{"name": "B", "value": "1"}]), False),
        (_containers(resources={"limits": {"cpu": "1000m", "memory": "1024Mi", "nvidia.com/gpu": 4}}), True),
        (_containers(resources={"limits": {"cpu": "1500m"}}), False),
        (_containers(resources={"requests": {"cpu": "1"}}), False),
        (_containers(resources={"limits": {"cpu": "much"}}), False),
    ],
)
def test_an_object_is_covered_when_it_has_every_leaf_that_we_own(
    wanted: dict[str, Any], want_covered: bool
) -> None:
    assert covers(LIVE, wanted) is want_covered


MANIFEST: dict[str, Any] = {
    "metadata": {"labels": {"app": "chat"}, "finalizers": ["a"]},
    "spec": {"ports": [{"port": 80, "name": "http"}], "selector": {"app": "chat"}},
}
PORT = 'k:{"port":80,"protocol":"TCP"}'
OWNED: dict[str, Any] = {
    "f:metadata": {"f:labels": {"f:app": {}}, "f:finalizers": {'v:"a"': {}}},
    "f:spec": {"f:ports": {PORT: {".": {}, "f:port": {}, "f:name": {}}}, "f:selector": {}},
}


def _owned(**changes: object) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(json.dumps(OWNED))
    for path, value in changes.items():
        *parents, last = path.split("__")
        place: Any = fields
        for name in parents:
            place = place[f"f:{name}"]
        place[last if ":" in last else f"f:{last}"] = value
    return fields


@pytest.mark.parametrize(
    ("fields", "want_dropped"),
    [
        (OWNED, False),
        (_owned(metadata__labels__gone={}), True),
        (_owned(metadata__finalizers={'v:"b"': {}}), True),
        (_owned(spec__ports={'k:{"port":81,"protocol":"TCP"}': {".": {}}}), True),
        (_owned(spec__ports={PORT: {"f:appProtocol": {}}}), True),
        (_owned(spec__type={}), True),
    ],
)
def test_a_leaf_that_we_own_and_no_longer_want_is_found(fields: dict[str, Any], want_dropped: bool) -> None:
    entry = {"manager": "chaffinch", "operation": "Apply", "fieldsV1": fields}
    live = {"metadata": {"managedFields": [entry]}}
    assert dropped(live, MANIFEST, "chaffinch") is want_dropped


def test_leaves_of_other_writers_are_theirs() -> None:
    gone = _owned(metadata__labels__gone={})
    entries = [
        {"manager": "kubectl", "operation": "Apply", "fieldsV1": gone},
        {"manager": "chaffinch", "operation": "Update", "fieldsV1": gone},
        {"manager": "chaffinch", "operation": "Apply", "subresource": "status", "fieldsV1": gone},
    ]
    assert not dropped({"metadata": {"managedFields": entries}}, MANIFEST, "chaffinch")
