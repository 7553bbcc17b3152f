"""Objects are written where they differ, and compared only when somebody has written them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from chaffinch.domain.names import RolloutIdentity, child_labels, owner_reference
from chaffinch.domain.observation import ForeignEdit
from chaffinch.ports.cluster import Kinds, Manifest
from chaffinch.runtime.children import Children
from chaffinch.runtime.reading import Address, address_of
from chaffinch.runtime.wanted import Wanted
from fakes.cluster import FakeCluster
from fakes.virtual_time import LoopClock, run

NAMESPACE = "shop"
ROLLOUT = RolloutIdentity(NAMESPACE, "chat", "uid-1")


class Watched(FakeCluster):
    """Notes what is handed to it to be applied."""

    def __init__(self) -> None:
        super().__init__()
        self.compared: list[Address] = []

    async def apply(self, manifest: Manifest, *, live: Manifest | None = None) -> Manifest:
        self.compared.append(address_of(manifest))
        return await super().apply(manifest, live=live)


def service(port: int = 80) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "namespace": NAMESPACE,
            "name": "chat",
            "labels": child_labels("chat", "engine", "0a1b2c3d"),
            "ownerReferences": [owner_reference(ROLLOUT)],
        },
        "spec": {"ports": [{"port": port}]},
    }


ADDRESS = address_of(service())


async def made(children: Children, cluster: FakeCluster, wanted: Manifest) -> None:
    """Do what a pass does: Services are listed by it already."""
    key = ("Service", NAMESPACE, "chat")
    known = {ADDRESS: cluster.objects[key]} if key in cluster.objects else {}
    pass_wants = [Wanted(wanted)]
    live, taken = await children.survey(pass_wants, known)
    assert taken == ()
    await children.make(pass_wants, live)


def nothing(_: FakeCluster) -> None:
    pass


def relabelled(cluster: FakeCluster) -> None:
    found = deepcopy(dict(cluster.read(Kinds.SERVICE, NAMESPACE, "chat")))
    found["metadata"]["labels"]["example.com/team"] = "a"
    cluster.put(found)


def led_elsewhere(cluster: FakeCluster) -> None:
    cluster.put({**cluster.read(Kinds.SERVICE, NAMESPACE, "chat"), "spec": {"ports": [{"port": 81}]}})


def deleted(cluster: FakeCluster) -> None:
    del cluster.objects["Service", NAMESPACE, "chat"]


@pytest.mark.parametrize(
    ("meanwhile", "port", "compared", "written"),
    [
        (nothing, 80, 0, 0),
        (relabelled, 80, 1, 0),
        (led_elsewhere, 80, 1, 1),
        (deleted, 80, 1, 1),
        (nothing, 8080, 1, 1),
    ],
    ids=["nothing", "a label of somebody", "a field of ours", "deleted", "another is wanted"],
)
def test_what_nobody_has_written_is_not_compared_again(
    meanwhile: Callable[[FakeCluster], None], port: int, compared: int, written: int
) -> None:
    async def story() -> None:
        cluster = Watched()
        children = Children(cluster, LoopClock(), recheck_seconds=300)
        await made(children, cluster, service())
        meanwhile(cluster)
        cluster.compared.clear()
        before = cluster.writes()
        await made(children, cluster, service(port))
        assert len(cluster.compared) == compared
        assert sum((cluster.writes() - before).values()) == written
        assert cluster.read(Kinds.SERVICE, NAMESPACE, "chat")["spec"] == {"ports": [{"port": port}]}

    asyncio.run(story())


def of_router(kind: str) -> Wanted:
    api_version = "v1" if kind == "ServiceAccount" else "rbac.authorization.k8s.io/v1"
    labels = child_labels("chat", "router")
    metadata = {"namespace": NAMESPACE, "name": "chat-router", "labels": labels}
    owners = {"ownerReferences": [owner_reference(ROLLOUT)]}
    return Wanted({"apiVersion": api_version, "kind": kind, "metadata": {**metadata, **owners}})


def test_what_is_due_for_another_look_while_others_are_looked_at_was_not_deleted_for_that() -> None:
    async def story() -> tuple[ForeignEdit, ...]:
        cluster, binding, account = FakeCluster(), of_router("RoleBinding"), of_router("ServiceAccount")
        children = Children(cluster, LoopClock(), recheck_seconds=300)
        await children.make([binding], {})
        await asyncio.sleep(299.5)
        cluster.delay = 1
        live, _ = await children.survey([binding, account], {})
        return children.edited([binding, account], live)

    assert run(story()) == ()
