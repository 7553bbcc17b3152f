from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from chaffinch.domain.observation import CreationRefusal, Pod, Termination
from chaffinch.runtime.reading import (
    UnreadableRevisionError,
    controller_uid,
    creation_refusal,
    frozen_revision_of,
    moment,
    pod_of,
    readable_revisions,
)

MADE = datetime(2026, 3, 1, 14, 0, tzinfo=UTC)
TAKEN = "2026-03-01T14:00:01Z"
BARE = Pod("chat-1", "uid-1", MADE)


def _pod(status: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:  # noqa: ANN401 - a manifest
    base = {"name": "chat-1", "uid": "uid-1", "creationTimestamp": "2026-03-01T14:00:00Z"}
    return {"metadata": {**base, **metadata}, **({} if status is None else {"status": status})}


def _engine(**fields: Any) -> dict[str, Any]:  # noqa: ANN401 - a manifest
    return {"containerStatuses": [{"name": "sidecar", "restartCount": 9}, {"name": "engine", **fields}]}


def _condition(kind: str, status: str, reason: str = "") -> dict[str, Any]:
    at = "2026-03-01T14:01:00Z"
    return {"conditions": [{"type": kind, "status": status, "reason": reason, "lastTransitionTime": at}]}


@pytest.mark.parametrize(
    ("manifest", "want"),
    [
        (_pod(), BARE),
        (_pod({}), BARE),
        (_pod({"podIP": "10.0.0.1"}), Pod("chat-1", "uid-1", MADE, ip="10.0.0.1")),
        (
            _pod(_condition("Ready", "True")),
            Pod("chat-1", "uid-1", MADE, ready=True, ready_since=datetime(2026, 3, 1, 14, 1, tzinfo=UTC)),
        ),
        (_pod(_condition("Ready", "False")), BARE),
        (_pod(_condition("Ready", "Unknown")), BARE),
        (
            _pod(_condition("PodScheduled", "False", "Unschedulable")),
            Pod("chat-1", "uid-1", MADE, unschedulable=True),
        ),
        (_pod(_condition("PodScheduled", "False", "SchedulingGated")), BARE),
        (_pod({}, deletionTimestamp="2026-03-01T14:02:00Z"), Pod("chat-1", "uid-1", MADE, terminating=True)),
        (_pod({"phase": "Failed", "reason": "Evicted"}), Pod("chat-1", "uid-1", MADE, failed="Evicted")),
        (
            _pod({"phase": "Failed", "reason": "OutOfnvidia.com/gpu"}),
            Pod("chat-1", "uid-1", MADE, failed="OutOfnvidia.com/gpu"),
        ),
        (_pod({"phase": "Failed"}), Pod("chat-1", "uid-1", MADE, failed="Failed")),
        (_pod({"phase": "Pending", "startTime": TAKEN}), Pod("chat-1", "uid-1", MADE, accepted=True)),
        (_pod({"phase": "Failed", "startTime": TAKEN}), Pod("chat-1", "uid-1", MADE, failed="Failed")),
        (_pod({"phase": "Succeeded"}), Pod("chat-1", "uid-1", MADE, failed="Completed")),
        (
            _pod({"phase": "Succeeded", "reason": "Evicted"}),
            Pod("chat-1", "uid-1", MADE, failed="Evicted"),
        ),
        (_pod({"phase": "Failed", "reason": "OutOf words"}), Pod("chat-1", "uid-1", MADE, failed="Failed")),
        (_pod(_engine(restartCount=3)), Pod("chat-1", "uid-1", MADE, restarts=3)),
        (
            _pod(_engine(state={"running": {"startedAt": "2026-03-01T14:02:00Z"}})),
            Pod("chat-1", "uid-1", MADE, started=datetime(2026, 3, 1, 14, 2, tzinfo=UTC)),
        ),
        (
            _pod(_engine(state={"waiting": {"reason": "ImagePullBackOff", "message": "from a registry"}})),
            Pod("chat-1", "uid-1", MADE, waiting="ImagePullBackOff"),
        ),
        (_pod(_engine(state={"waiting": {"reason": "not one word"}})), BARE),
        (
            _pod(_engine(lastState={"terminated": {"exitCode": 137, "reason": "OOMKilled"}})),
            Pod("chat-1", "uid-1", MADE, last_termination=Termination(137, "OOMKilled")),
        ),
        (
            _pod(
                _engine(
                    state={"terminated": {"exitCode": 1, "reason": "Error"}},
                    lastState={"terminated": {"exitCode": 137, "reason": "OOMKilled"}},
                )
            ),
            Pod("chat-1", "uid-1", MADE, last_termination=Termination(1, "Error")),
        ),
    ],
)
def test_a_pod_is_read_as_what_can_be_relied_on(manifest: dict[str, Any], want: Pod) -> None:
    assert pod_of(manifest) == want


@pytest.mark.parametrize(
    ("status", "message", "want"),
    [
        ("True", 'pods "x" is forbidden: exceeded quota: gpus', CreationRefusal.QUOTA),
        ("True", "admission webhook denied", CreationRefusal.ADMISSION),
        ("False", "exceeded quota", None),
    ],
)
def test_the_refusal_of_pods_is_told_apart(status: str, message: str, want: CreationRefusal | None) -> None:
    condition = {"type": "ReplicaFailure", "status": status, "message": message}
    assert creation_refusal({"status": {"conditions": [condition]}}) is want


def test_a_deployment_without_a_status_is_not_refused() -> None:
    assert creation_refusal({}) is None


def test_only_the_controller_owns() -> None:
    owners = [{"uid": "a"}, {"uid": "b", "controller": True}]
    assert controller_uid({"metadata": {"ownerReferences": owners}}) == "b"
    assert controller_uid({"metadata": {"ownerReferences": owners[:1]}}) is None
    assert controller_uid({"metadata": {}}) is None


@pytest.mark.parametrize("text", [None, "", "yesterday", 7])
def test_a_time_that_cannot_be_read_is_none(text: object) -> None:
    assert moment(text) is None


TEMPLATE = {"spec": {"containers": [{"name": "engine"}]}}
DATA = {"hashVersion": 1, "template": TEMPLATE, "spec": {"model": {}, "engine": {}}, "startupSeconds": 600}


def kept(revision: object = 3, **data: object) -> dict[str, Any]:
    return {
        "metadata": {"labels": {"chaffinch.dev/revision": "1a2b3c4d"}},
        "revision": revision,
        "data": {**DATA, **data},
    }


def test_a_revision_is_read_as_it_was_frozen() -> None:
    frozen = frozen_revision_of(kept())
    assert (frozen.number, frozen.hash_version, frozen.startup_seconds) == (3, 1, 600)
    assert (frozen.template, frozen.spec) == (TEMPLATE, DATA["spec"])
    assert readable_revisions([kept()]) == {"1a2b3c4d": frozen}


@pytest.mark.parametrize(
    "manifest",
    [
        kept(revision="3"),
        kept(hashVersion=None),
        kept(template={"spec": {"containers": []}}),
        kept(template="x"),
        kept(spec={"model": {}}),
        kept(spec=[]),
        kept(startupSeconds="600"),
        {**kept(), "data": {}},
        {**kept(), "data": "x"},
        {"metadata": {}, "revision": 3},
    ],
)
def test_what_nobody_froze_is_not_read_as_a_revision(manifest: dict[str, Any]) -> None:
    with pytest.raises(UnreadableRevisionError, match="delete it"):
        frozen_revision_of(manifest)
    assert readable_revisions([manifest]) == {}
