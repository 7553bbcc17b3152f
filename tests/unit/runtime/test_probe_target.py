"""What a probe asks, and with what."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from chaffinch.ports.cluster import Kinds
from fakes.cluster import FakeCluster, Key
from fakes.world import NAME, NAMESPACE, rollout
from unit.runtime.benches import SMOKE, WARM_UP, Bench, bench, story


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        ({"target": {"rollout": "other", "revision": "Stable"}}, "There is no rollout other"),
        ({"target": {"rollout": NAME, "revision": "Candidate"}}, "has no Candidate revision now"),
        ({"target": {"rollout": NAME, "revision": "00000000"}}, "has no Deployment"),
    ],
)
def test_a_target_that_is_not_there_yet_is_waited_for(spec: dict[str, Any], want: str) -> None:
    async def it() -> None:
        one = await bench(**SMOKE, **spec)
        await one.run_pass()
        assert one.status["phase"] == "Pending"
        assert want in one.condition()[2]
        before = one.shop.cluster.writes()
        await one.run_pass()
        assert one.shop.cluster.writes() == before

    story(it())


def frozen_of(one: Bench) -> dict[str, Any]:
    """Return what the stable revision was frozen as."""
    name = f"{NAME}-{one.shop.status['stable']['revision']}"
    frozen: dict[str, Any] = one.shop.cluster.objects["ControllerRevision", NAMESPACE, name]["data"]["spec"]
    return frozen


def deleted(cluster: FakeCluster, key: Key) -> None:
    del cluster.objects[key]


def leaving(cluster: FakeCluster, key: Key) -> None:
    cluster.objects[key]["metadata"]["deletionTimestamp"] = "2026-03-01T14:00:00Z"


def evicted(cluster: FakeCluster, key: Key) -> None:
    cluster.objects[key]["status"] = {"phase": "Failed", "reason": "Evicted"}


@pytest.mark.parametrize("goes", [deleted, leaving, evicted])
def test_a_pod_that_is_not_ready_yet_is_waited_for_and_one_that_is_gone_is_not(
    goes: Callable[[FakeCluster, Key], None],
) -> None:
    async def it() -> None:
        one = await bench(**WARM_UP)
        name = f"{NAME}-{one.shop.status['stable']['revision']}-0"
        body = one.body
        body["spec"]["target"]["pods"] = [name]
        pod = one.shop.cluster.read(Kinds.POD, NAMESPACE, name)
        pod["status"]["conditions"] = []
        await one.run_pass()
        assert one.condition()[2].endswith(f"waiting for pod {name} to become ready.")
        goes(one.shop.cluster, ("Pod", NAMESPACE, name))
        await one.run_pass()
        assert one.condition()[:2] == ("False", "ProbeFailed")
        assert f"Pod {name} of revision" in one.condition()[2]

    story(it())


def test_an_unknown_profile_fails_with_the_remedy() -> None:
    async def it() -> None:
        one = await bench(profile="mine")
        await one.run_pass()
        assert one.condition()[1:] == (
            "ProfileDoesNotFit",
            "spec.profile: there is no ProbeProfile mine; create it, or use heavy/v1, smoke/v1, standard/v1.",
        )

    story(it())


def test_a_profile_that_is_longer_than_the_context_fails_with_the_remedy() -> None:
    async def it() -> None:
        one = await bench(**SMOKE)
        frozen_of(one)["engine"]["args"] = {"maxModelLen": 79}
        await one.run_pass()
        assert one.condition()[1] == "ProfileDoesNotFit"
        assert "its longest request has 80 tokens, and the engine's maxModelLen is 79" in one.condition()[2]

    story(it())


def test_a_revision_is_measured_as_it_was_frozen_whatever_the_rollout_asks_for_by_now() -> None:
    async def it() -> None:
        one = await bench(**SMOKE)
        one.shop.apply(rollout(model={"name": "other", "source": "example/other"}, replicas=0))
        await one.run_pass()
        assert one.condition()[1] == "InProgress"
        job = one.shop.cluster.read(Kinds.JOB, NAMESPACE, "look")
        assert '"model":"chat"' in json.dumps(job, separators=(",", ":")).replace('\\"', '"')

    story(it())


def test_a_revision_that_nothing_tells_of_is_waited_for() -> None:
    async def it() -> None:
        one = await bench(**SMOKE)
        revision = one.shop.status["stable"]["revision"]
        del one.shop.cluster.objects["ControllerRevision", NAMESPACE, f"{NAME}-{revision}"]
        await one.run_pass()
        assert one.condition()[2] == f"Revision {revision} of rollout {NAME} has no ControllerRevision."

    story(it())


def test_a_revision_that_somebody_forged_is_waited_for_with_the_remedy() -> None:
    async def it() -> None:
        one = await bench(**SMOKE)
        revision = one.shop.status["stable"]["revision"]
        kept = one.shop.cluster.read(Kinds.CONTROLLER_REVISION, NAMESPACE, f"{NAME}-{revision}")
        one.shop.cluster.put({**kept, "data": {"spec": "x"}})
        await one.run_pass()
        assert one.condition()[2] == (
            f"Revision {revision} of rollout {NAME}:"
            " the ControllerRevision is not one that Chaffinch wrote; delete it."
        )

    story(it())


def test_an_invalid_spec_names_the_field() -> None:
    async def it() -> None:
        one = await bench(profile="UPPER")
        await one.run_pass()
        assert one.condition()[1] == "InvalidSpec"
        assert one.condition()[2].startswith("spec.profile: ")

    story(it())
