"""The operator's way to a real API server: apply, compare, status patches, Lease, checks at the start."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from chaffinch.adapters.apiserver import connect
from chaffinch.adapters.clock import SystemClock
from chaffinch.adapters.cluster import KubernetesCluster, Limits
from chaffinch.adapters.recorder import EventRecorder
from chaffinch.domain.names import RolloutIdentity, owner_reference
from chaffinch.domain.route import RouteArm, RouteIntent, RouteOrder
from chaffinch.ports.cluster import (
    ConflictError,
    Kinds,
    Manifest,
    NamespaceEndingError,
    NameTakenError,
    NotFoundError,
    NotLeadingError,
    QuotaExceededError,
    RejectedError,
    UnavailableError,
)
from chaffinch.ports.recorder import Note, Severity
from chaffinch.routing.envoy import router_manifests
from chaffinch.routing.settings import RouterSettings
from chaffinch.runtime.lease import Lease, LeaseTerms
from chaffinch.runtime.preflight import check_crds, check_rights
from chaffinch.runtime.route_store import write_route
from chaffinch.runtime.status import rollout_patch
from fakes.world import rollout
from localcluster.fixtures import Kubectl, eventually

pytestmark = pytest.mark.cluster

CRDS = Path(__file__).parents[2] / "crds"
REVISION = "0a1b2c3d"


class Api:
    """The adapter, with a count of what it sent."""

    def __init__(self) -> None:
        self.requests: Counter[str] = Counter()
        self.leads_for = float("inf")
        self.cluster = KubernetesCluster(connect(4), Limits(), lambda: self.leads_for, self._count)

    def _count(self, verb: str, kind: str, code: str, seconds: float) -> None:
        assert seconds < 10
        self.requests[f"{verb} {kind} {code}"] += 1


@pytest.fixture
def api() -> Iterator[Api]:
    one = Api()
    yield one
    one.cluster.close()


@pytest.fixture
def identity(kubectl: Kubectl) -> RolloutIdentity:
    """A rollout object that owns what the tests make."""
    kubectl.apply(*(yaml.safe_load(path.read_text()) for path in sorted(CRDS.glob("*.yaml"))))
    body = rollout()
    body["metadata"] = {"namespace": kubectl.namespace, "name": "chat"}
    eventually(lambda: _created(kubectl, body), within=20, what="the CRDs are served")
    return RolloutIdentity(
        kubectl.namespace, "chat", kubectl.get("inferencerollout", "chat")["metadata"]["uid"]
    )


def _created(kubectl: Kubectl, body: dict[str, Any]) -> bool:
    try:
        kubectl.apply(body)
    except Exception:  # noqa: BLE001 - a CRD takes a moment to be served
        return False
    return True


def _service(identity: RolloutIdentity, port: int = 80) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "namespace": identity.namespace,
            "name": "thing",
            "labels": {"app": "chat"},
            "ownerReferences": [owner_reference(identity)],
        },
        "spec": {"selector": {"app": "chat"}, "ports": [{"name": "http", "port": port}]},
    }


def test_a_second_apply_writes_nothing_for_any_object_of_a_router(
    api: Api, identity: RolloutIdentity
) -> None:
    manifests = router_manifests(identity, RouterSettings("chaffinch:1", "envoy:1", replicas=1))

    async def story() -> None:
        for manifest in manifests:
            await api.cluster.apply(manifest)
        api.requests.clear()
        for manifest in manifests:
            await api.cluster.apply(manifest)

    asyncio.run(story())
    assert all(request.startswith("get ") for request in api.requests), api.requests
    assert api.requests.total() == len(manifests)


def test_a_change_is_applied_and_what_is_no_longer_wanted_goes(api: Api, identity: RolloutIdentity) -> None:
    async def story() -> Manifest:
        await api.cluster.apply(_service(identity))
        await api.cluster.apply(_service(identity, port=81))
        without = _service(identity, port=81)
        del without["metadata"]["labels"]
        await api.cluster.apply(without)
        return await api.cluster.get(Kinds.SERVICE, identity.namespace, "thing")

    live = asyncio.run(story())
    assert [port["port"] for port in live["spec"]["ports"]] == [81]
    assert "labels" not in live["metadata"]
    assert (api.requests["apply Service 201"], api.requests["apply Service 200"]) == (1, 2)


def test_what_others_changed_back_is_put_right(api: Api, identity: RolloutIdentity, kubectl: Kubectl) -> None:
    asyncio.run(api.cluster.apply(_service(identity)))
    kubectl("patch", "service", "thing", "--type=merge", "-p", '{"spec":{"selector":{"app":"other"}}}')
    live = asyncio.run(api.cluster.apply(_service(identity)))
    assert live["spec"]["selector"] == {"app": "chat"}


def test_a_foreign_object_is_not_touched(api: Api, identity: RolloutIdentity, kubectl: Kubectl) -> None:
    kubectl("create", "service", "clusterip", "thing", "--tcp=1:1")
    before = kubectl.get("service", "thing")
    with pytest.raises(NameTakenError):
        asyncio.run(api.cluster.apply(_service(identity)))
    assert kubectl.get("service", "thing") == before


def test_a_status_is_written_only_over_the_writer_that_was_read(api: Api, identity: RolloutIdentity) -> None:
    place = (Kinds.ROLLOUT, identity.namespace, "chat")

    async def write(body: Manifest, epoch: int, sequence: int) -> Manifest:
        status = {"phase": "Progressing", "writer": {"epoch": epoch, "sequence": sequence}}
        return await api.cluster.patch_status(*place, rollout_patch(body, status))

    async def story() -> None:
        unwritten = await api.cluster.get(*place)
        first = await write(unwritten, 1, 1)
        with pytest.raises(RejectedError):
            await write(unwritten, 1, 1)
        await write(first, 2, 2)
        with pytest.raises(RejectedError):
            await write(first, 1, 2)
        stored = await api.cluster.get(*place)
        assert stored["status"] == {"phase": "Progressing", "writer": {"epoch": 2, "sequence": 2}}
        assert "finalizers" not in stored["metadata"]

    asyncio.run(story())


def test_a_status_that_the_schema_refuses_is_named_by_field(api: Api, identity: RolloutIdentity) -> None:
    place = (Kinds.ROLLOUT, identity.namespace, "chat")

    async def story() -> None:
        body = await api.cluster.get(*place)
        await api.cluster.patch_status(*place, rollout_patch(body, {"phase": 7}))

    with pytest.raises(RejectedError, match=r"refused the content \(status\.phase"):
        asyncio.run(story())


def test_a_route_is_written_only_over_the_version_that_was_read(api: Api, identity: RolloutIdentity) -> None:
    def order(sequence: int, version: str | None) -> RouteOrder:
        intent = RouteIntent(1, REVISION, (RouteArm(REVISION, 10_000),), None)
        return RouteOrder(intent, sequence, version, changed=True)

    async def story() -> None:
        await write_route(api.cluster, identity, 1, order(1, None))
        with pytest.raises(ConflictError):
            await write_route(api.cluster, identity, 1, order(2, None))
        stored = await api.cluster.get(Kinds.CONFIG_MAP, identity.namespace, "chat-router")
        version = stored["metadata"]["resourceVersion"]
        await write_route(api.cluster, identity, 1, order(2, version))
        with pytest.raises(ConflictError):
            await write_route(api.cluster, identity, 1, order(3, version))

    asyncio.run(story())


def test_errors_of_a_real_server_have_the_ports_names(
    api: Api, identity: RolloutIdentity, kubectl: Kubectl
) -> None:
    namespace = identity.namespace
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"}}
    kubectl.apply({**quota, "spec": {"hard": {"services": "0"}}})

    async def story() -> None:
        with pytest.raises(NotFoundError):
            await api.cluster.get(Kinds.SERVICE, namespace, "absent")
        with pytest.raises(QuotaExceededError):
            await _until_refused(api, identity)
        api.leads_for = 0
        with pytest.raises(NotLeadingError):
            await api.cluster.create(_service(identity))

    asyncio.run(story())


async def _until_refused(api: Api, identity: RolloutIdentity) -> None:
    # The quota controller takes a moment to count; until then objects are admitted.
    for _ in range(100):
        made = await api.cluster.create(_service(identity))
        await api.cluster.delete(Kinds.SERVICE, identity.namespace, "thing", made["metadata"]["uid"])
        await asyncio.sleep(0.1)


def test_nothing_is_created_in_a_namespace_that_ends(
    api: Api, identity: RolloutIdentity, kubectl: Kubectl
) -> None:
    hold = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "hold", "finalizers": ["chaffinch.dev/test"]},
    }
    kubectl.apply(hold)
    kubectl("delete", "namespace", identity.namespace, "--wait=false")
    try:
        with pytest.raises(NamespaceEndingError):
            asyncio.run(api.cluster.create(_service(identity)))
    finally:
        kubectl("patch", "configmap", "hold", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')


def test_a_deletion_of_another_uid_deletes_nothing(api: Api, identity: RolloutIdentity) -> None:
    async def story() -> None:
        made = await api.cluster.create(_service(identity))
        with pytest.raises(ConflictError):
            await api.cluster.delete(Kinds.SERVICE, identity.namespace, "thing", "another")
        await api.cluster.delete(Kinds.SERVICE, identity.namespace, "thing", made["metadata"]["uid"])
        await api.cluster.delete(Kinds.SERVICE, identity.namespace, "thing", made["metadata"]["uid"])

    asyncio.run(story())


def test_the_same_event_is_recorded_once(api: Api, identity: RolloutIdentity, kubectl: Kubectl) -> None:
    note = Note(Severity.WARNING, "QuotaExceeded", "Apply", "no room")

    async def story() -> None:
        body = await api.cluster.get(Kinds.ROLLOUT, identity.namespace, "chat")
        for instance in ("one", "two"):
            await EventRecorder(api.cluster, SystemClock(), instance).record(body, note)

    asyncio.run(story())
    (event,) = kubectl.get("events.events.k8s.io")["items"]
    assert (event["reason"], event["note"], event["regarding"]["name"]) == (
        "QuotaExceeded",
        "no room",
        "chat",
    )


def test_of_two_processes_one_leads_and_hands_over(api: Api, namespace: str) -> None:
    async def story() -> None:
        first, second = (
            Lease(api.cluster, SystemClock(), LeaseTerms(namespace, "chaffinch", name, 3)) for name in "ab"
        )
        await first.acquire()
        waiting = asyncio.create_task(second.acquire())
        await asyncio.sleep(1)
        assert not waiting.done()
        epoch = first.epoch
        await first.release()
        async with asyncio.timeout(3):
            await waiting
        assert second.epoch == epoch + 1
        assert first.seconds_left() < 0 < second.seconds_left()

    asyncio.run(story())


def test_a_leader_that_slept_through_its_term_is_replaced_and_stops(api: Api, namespace: str) -> None:
    async def story() -> None:
        first, second = (
            Lease(api.cluster, SystemClock(), LeaseTerms(namespace, "chaffinch", name, 3)) for name in "ab"
        )
        await first.acquire()
        async with asyncio.timeout(3 + 5):
            await second.acquire()
        assert first.seconds_left() <= 0
        async with asyncio.timeout(5):
            await first.keep()

    asyncio.run(story())


def test_the_checks_at_the_start_pass_on_the_installed_crds(api: Api, identity: RolloutIdentity) -> None:
    asyncio.run(check_crds(api.cluster))
    asyncio.run(check_rights(api.cluster, ("",)))
    asyncio.run(check_rights(api.cluster, (identity.namespace,)))


def test_a_kind_that_is_not_served_is_not_an_absent_object(api: Api, namespace: str) -> None:
    unknown = Kinds.ROLLOUT.__class__("chaffinch.dev/v9", "InferenceRollout", "inferencerollouts")
    with pytest.raises(UnavailableError, match="does not know this kind; are the CRDs installed"):
        asyncio.run(api.cluster.get(unknown, namespace, "chat"))
