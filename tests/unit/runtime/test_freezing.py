"""Results of probes that are to be frozen as baselines."""

from __future__ import annotations

import pytest

from chaffinch.api.v1alpha1.parse import parse_baseline
from chaffinch.domain.baseline import verify
from chaffinch.domain.observation import FrozenRevision
from chaffinch.ports.cluster import Kinds, RejectedError
from chaffinch.runtime.freezing import fingerprint_of
from fakes.workers import finished, record, start_workers
from fakes.world import NAME, NAMESPACE
from unit.runtime.benches import SMOKE, bench, story

FREEZE = {**SMOKE, "freeze": {"name": "chat-base", "version": "v1"}}


def test_a_result_is_frozen_as_a_baseline_that_verifies() -> None:
    async def it() -> None:
        one = await bench(**FREEZE)
        await one.run_to(finished(record(one.uid)))
        await one.run_pass()
        assert one.condition("Frozen")[:2] == ("True", "AsExpected")
        kept = one.shop.cluster.read(Kinds.BASELINE, NAMESPACE, "chat-base-v1")
        assert "ownerReferences" not in kept["metadata"]
        baseline = parse_baseline(kept)
        assert verify(baseline, "chat-base-v1") is None
        assert baseline.fingerprint.engine_image == "engine:1"
        assert (baseline.fingerprint.replicas, baseline.fingerprint.engine_version) == (1, "0.32.0")
        assert (baseline.provenance.rollout, baseline.provenance.probe) == (NAME, "look")
        before = one.shop.cluster.writes()
        await one.run_pass()
        assert one.shop.cluster.writes() == before

    story(it())


@pytest.mark.parametrize(
    ("nodes", "want"),
    [
        ({}, ""),
        ({"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "zone": "a"}, "NVIDIA-H100-80GB-HBM3"),
        ({"amd.com/gpu.product-name": "MI300X"}, "MI300X"),
    ],
)
def test_the_gpu_is_the_one_that_the_pods_ask_for(nodes: dict[str, str], want: str) -> None:
    pod = {"containers": [{"image": "engine:1"}], "nodeSelector": nodes}
    frozen = FrozenRevision(1, 1, {"spec": pod}, {}, 600)
    assert fingerprint_of(frozen, "0.33.0").gpu_product == want


def test_a_baseline_is_never_replaced() -> None:
    async def it() -> None:
        one = await bench(**FREEZE)
        there = {
            "apiVersion": "chaffinch.dev/v1alpha1",
            "kind": "InferenceBaseline",
            "metadata": {"namespace": NAMESPACE, "name": "chat-base-v1"},
            "spec": {},
        }
        before = one.shop.cluster.put(there)
        await one.run_to(finished(record(one.uid)))
        await one.run_pass()
        assert one.condition("Frozen")[:2] == ("False", "NameTaken")
        assert "freeze under another version" in one.condition("Frozen")[2]
        assert one.shop.cluster.read(Kinds.BASELINE, NAMESPACE, "chat-base-v1") == before

    story(it())


def test_nothing_is_frozen_of_a_revision_that_somebody_forged() -> None:
    async def it() -> None:
        one = await bench(**FREEZE)
        await one.run_pass()
        revision = one.shop.status["stable"]["revision"]
        kept = one.shop.cluster.read(Kinds.CONTROLLER_REVISION, NAMESPACE, f"{NAME}-{revision}")
        one.shop.cluster.put({**kept, "data": {**kept["data"], "template": {"spec": {"containers": []}}}})
        start_workers(one.shop.cluster)
        one.results.answer = finished(record(one.uid))
        await one.run_pass()
        await one.run_pass()
        status, reason, message = one.condition("Frozen")
        assert (status, reason) == ("False", "ProbeFailed")
        assert message.endswith("the ControllerRevision is not one that Chaffinch wrote; delete it.")

    story(it())


def test_a_baseline_that_was_created_before_a_crash_is_recognised() -> None:
    async def it() -> None:
        one = await bench(**FREEZE)
        await one.run_to(finished(record(one.uid)))
        one.shop.cluster.fault = lambda verb, _: RejectedError("crash") if verb == "patch" else None
        with pytest.raises(RejectedError):
            await one.run_pass()
        one.shop.cluster.fault = lambda *_: None
        await one.run_pass()
        assert one.condition("Frozen")[:2] == ("True", "AsExpected")

    story(it())


@pytest.mark.parametrize(
    ("requests", "errors", "want"),
    [(100, 0, "100 requests say nothing"), (200, 50, "50 of 200 requests failed")],
)
def test_a_poor_result_is_not_frozen(requests: int, errors: int, want: str) -> None:
    async def it() -> None:
        one = await bench(**FREEZE)
        await one.run_to(finished(record(one.uid, requests=requests, errors=errors)))
        await one.run_pass()
        status, reason, message = one.condition("Frozen")
        assert (status, reason) == ("False", "ProbeFailed")
        assert want in message
        assert ("InferenceBaseline", NAMESPACE, "chat-base-v1") not in one.shop.cluster.objects

    story(it())
