from __future__ import annotations

from typing import Any

from chaffinch.runtime.status import rollout_patch, versioned_patch

STATUS = {"phase": "Healthy", "writer": {"epoch": 4, "sequence": 10}}


def _body(status: dict[str, Any] | None) -> dict[str, Any]:
    body: dict[str, Any] = {"metadata": {"uid": "u1", "resourceVersion": "77"}}
    return body if status is None else {**body, "status": status}


def test_a_status_is_replaced_only_if_its_last_writer_is_the_one_that_was_read() -> None:
    body = _body({"writer": {"epoch": 3, "sequence": 9}, "phase": "Progressing"})
    assert rollout_patch(body, STATUS) == [
        {"op": "test", "path": "/metadata/uid", "value": "u1"},
        {"op": "test", "path": "/status/writer/epoch", "value": 3},
        {"op": "test", "path": "/status/writer/sequence", "value": 9},
        {"op": "add", "path": "/status", "value": STATUS},
    ]


def test_the_first_status_is_written_only_if_nothing_has_changed_at_all() -> None:
    want = [
        {"op": "test", "path": "/metadata/uid", "value": "u1"},
        {"op": "test", "path": "/metadata/resourceVersion", "value": "77"},
        {"op": "add", "path": "/status", "value": STATUS},
    ]
    for status in (None, {}, {"phase": "Progressing"}):
        assert rollout_patch(_body(status), STATUS) == want
    assert versioned_patch(_body(None), STATUS) == want
