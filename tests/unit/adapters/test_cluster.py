from __future__ import annotations

import asyncio
import json
from collections import Counter
from contextvars import ContextVar
from typing import Any

import pytest
import urllib3

from chaffinch.adapters.apiserver import Answer, ConnectionSettingsError, connect
from chaffinch.adapters.cluster import KubernetesCluster, Limits
from chaffinch.ports.cluster import (
    Kinds,
    Manifest,
    NameTakenError,
    NotLeadingError,
    UnavailableError,
)

LIMITS = Limits(connect_timeout=5, request_timeout=10, connections=2)
NOT_FOUND = json.dumps({"kind": "Status", "reason": "NotFound", "details": {"name": "chat"}})


class Wire:
    """Stands for the API server: notes what would be sent, answers what it was told to."""

    def __init__(self, *answers: object) -> None:
        self.sent: list[tuple[str, str, dict[str, Any]]] = []
        self.answers = list(answers)
        self.codes: Counter[str] = Counter()
        self.left = 15.0

    def request(self, method: str, path: str, **options: object) -> Answer:
        self.sent.append((method, path, options))
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        if isinstance(answer, Answer):
            return answer
        return Answer(200, answer if isinstance(answer, bytes) else json.dumps(answer).encode())

    def report(self, verb: str, kind: str, code: str, seconds: float) -> None:
        assert seconds >= 0
        self.codes[f"{verb} {kind} {code}"] += 1

    def cluster(self) -> KubernetesCluster:
        return KubernetesCluster(self, LIMITS, lambda: self.left, self.report)  # type: ignore[arg-type]


def _failure(status: int, body: str = "") -> Answer:
    return Answer(status, body.encode())


def _service(owner: str = "u1", port: int = 80) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "namespace": "shop",
            "name": "chat",
            "ownerReferences": [{"uid": owner, "controller": True}],
        },
        "spec": {"ports": [{"port": port}]},
    }


def test_an_absent_object_is_applied_with_force_under_our_name() -> None:
    wire = Wire(_failure(404, NOT_FOUND), _service())
    asyncio.run(wire.cluster().apply(_service()))
    method, path, options = wire.sent[1]
    assert (method, path) == ("PATCH", "/api/v1/namespaces/shop/services/chat")
    assert options["body"] == _service()
    assert options["content_type"] == "application/apply-patch+yaml"
    assert options["query"] == {"fieldManager": "chaffinch", "force": "true"}
    assert wire.codes == {"get Service 404": 1, "apply Service 200": 1}


def test_an_object_that_is_as_wanted_is_not_written() -> None:
    wire = Wire(_service())
    asyncio.run(wire.cluster().apply(_service()))
    asyncio.run(wire.cluster().apply(_service(), live=_service()))
    assert [method for method, _, _ in wire.sent] == ["GET"]


def test_an_object_that_differs_is_written() -> None:
    wire = Wire(_service(port=81), _service())
    asyncio.run(wire.cluster().apply(_service()))
    assert [method for method, _, _ in wire.sent] == ["GET", "PATCH"]


@pytest.mark.parametrize("owners", [[], [{"uid": "u2", "controller": True}], [{"uid": "u1"}]])
def test_a_foreign_object_is_never_touched(owners: list[dict[str, Any]]) -> None:
    live = _service()
    live["metadata"]["ownerReferences"] = owners
    wire = Wire(live)
    with pytest.raises(NameTakenError, match="Service shop/chat exists and belongs to somebody else"):
        asyncio.run(wire.cluster().apply(_service()))
    assert [method for method, _, _ in wire.sent] == ["GET"]


def test_a_process_that_does_not_lead_reads_and_writes_nothing() -> None:
    wire = Wire(_service())
    wire.left = 0.9
    cluster = wire.cluster()
    asyncio.run(cluster.get(Kinds.SERVICE, "shop", "chat"))
    for write in (
        cluster.apply(_service(port=81), live=_service()),
        cluster.create(_service()),
        cluster.replace(_service()),
        cluster.patch_status(Kinds.ROLLOUT, "shop", "chat", []),
        cluster.delete(Kinds.SERVICE, "shop", "chat", "u9"),
    ):
        with pytest.raises(NotLeadingError):
            asyncio.run(write)
    assert [method for method, _, _ in wire.sent] == ["GET"]


@pytest.mark.parametrize(("left", "want"), [(15.0, (5, 10)), (7.0, (5, 7)), (3.0, (3, 3))])
def test_a_write_may_not_take_longer_than_this_process_leads(left: float, want: tuple[float, float]) -> None:
    wire = Wire(_service())
    wire.left = left
    asyncio.run(wire.cluster().create(_service()))
    assert wire.sent[0][2]["timeouts"] == want


@pytest.mark.parametrize(
    "failure",
    [
        urllib3.exceptions.ReadTimeoutError(urllib3.HTTPConnectionPool("x"), "/", "slow"),
        urllib3.exceptions.ProtocolError("cut"),
        ConnectionResetError(),
        b"<html>not json",
        b"[]",
        _failure(500, "a remote text"),
        _failure(429),
    ],
)
def test_trouble_on_the_way_is_unavailable_and_says_nothing_of_the_answer(failure: object) -> None:
    with pytest.raises(
        UnavailableError, match=r"^get Service shop/chat: the API server [a-z 0-9,]+( JSON)?$"
    ):
        asyncio.run(Wire(failure).cluster().get(Kinds.SERVICE, "shop", "chat"))


def test_a_list_names_its_kind_and_asks_for_all_labels() -> None:
    wire = Wire({"items": [{"metadata": {"name": "a"}}]})
    found = asyncio.run(wire.cluster().list(Kinds.DEPLOYMENT, "shop", {"b": "2", "a": "1"}))
    assert found == [{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}}]
    assert wire.sent[0][1] == "/apis/apps/v1/namespaces/shop/deployments"
    assert wire.sent[0][2]["query"] == {"labelSelector": "a=1,b=2"}


def test_a_status_patch_goes_to_the_subresource_as_a_json_patch() -> None:
    wire = Wire({"kind": "InferenceRollout"})
    patch: list[Manifest] = [{"op": "test", "path": "/metadata/uid", "value": "u1"}]
    asyncio.run(wire.cluster().patch_status(Kinds.ROLLOUT, "shop", "chat", patch))
    method, path, options = wire.sent[0]
    assert method == "PATCH"
    assert path == "/apis/chaffinch.dev/v1alpha1/namespaces/shop/inferencerollouts/chat/status"
    assert (options["body"], options["content_type"]) == (patch, "application/json-patch+json")


def test_a_deletion_is_of_one_uid_and_an_absent_object_is_fine() -> None:
    wire = Wire(_failure(404, NOT_FOUND))
    asyncio.run(wire.cluster().delete(Kinds.JOB, "shop", "chat", "u7"))
    assert wire.sent[0][2]["body"]["preconditions"] == {"uid": "u7"}
    assert wire.sent[0][2]["body"]["propagationPolicy"] == "Background"


def test_without_a_way_to_the_api_server_the_remedy_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(
        ConnectionSettingsError, match="run in a pod with a ServiceAccount, or set KUBECONFIG"
    ):
        connect(connections=1)


def test_a_report_is_given_in_the_context_of_whoever_asked() -> None:
    who, heard = ContextVar("who", default="nobody"), []
    wire = Wire({"kind": "Pod"})

    async def story() -> None:
        cluster = KubernetesCluster(wire, LIMITS, lambda: 15.0, lambda *_: heard.append(who.get()))  # type: ignore[arg-type]
        who.set("this pass")
        await cluster.get(Kinds.POD, "shop", "chat-0")

    asyncio.run(story())
    assert heard == ["this pass"]
