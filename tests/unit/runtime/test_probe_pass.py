from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import pytest

from chaffinch.api.v1alpha1.parse import parse_baseline
from chaffinch.domain.baseline import verify
from chaffinch.ports.cluster import Kinds, RejectedError
from chaffinch.ports.probe_results import Finished, Progress
from chaffinch.runtime.freezing import Freezer
from chaffinch.runtime.hub import Subject, SubjectKind
from chaffinch.runtime.loop import GONE, Outcome
from chaffinch.runtime.probe_pass import ProbePass, ProbeSettings
from fakes.cluster import FakeCluster, Key
from fakes.virtual_time import LoopClock, run
from fakes.workers import ADDRESS, FakeResults, finished, load_probe, record, start_workers, warm_up
from fakes.world import NAME, NAMESPACE, Shop, rollout

SMOKE = {"profile": "smoke/v1"}
WARM_UP = {"warmUp": {"requests": 20, "concurrency": 4}}
FREEZE = {**SMOKE, "freeze": {"name": "chat-base", "version": "v1"}}


@dataclass
class Bench:
    """A probe beside a rollout that serves."""

    shop: Shop
    results: FakeResults = field(default_factory=FakeResults)

    def __post_init__(self) -> None:
        cluster = self.shop.cluster
        settings = ProbeSettings("chaffinch:1", active=5, idle=60)
        self._pass = ProbePass(cluster, self.results, Freezer(cluster), LoopClock(), settings)

    async def look(self) -> Outcome:
        uid = self.body["metadata"]["uid"]
        return await self._pass.look(Subject(SubjectKind.PROBE, NAMESPACE, "look", uid))

    async def run_to(self, answer: Finished | Progress | None) -> None:
        """Start the Job and its worker, and look at what the worker says."""
        await self.look()
        start_workers(self.shop.cluster)
        self.results.answer = answer
        await self.look()

    @property
    def body(self) -> dict[str, Any]:
        return self.shop.cluster.read(Kinds.PROBE, NAMESPACE, "look")

    @property
    def status(self) -> dict[str, Any]:
        status: dict[str, Any] = self.body.get("status", {})
        return status

    @property
    def uid(self) -> str:
        return str(self.body["metadata"]["uid"])

    def condition(self, kind: str = "Complete") -> tuple[str, str, str]:
        found = next(one for one in self.status["conditions"] if one["type"] == kind)
        return found["status"], found["reason"], found["message"]


async def bench(**spec: object) -> Bench:
    """Return a probe of a rollout that serves with two pods."""
    shop = Shop()
    shop.apply(rollout())
    for _ in range(10):
        await shop.look()
        shop.obey()
    assert shop.status["stable"]["ready"] == 2
    shop.cluster.put(load_probe(**spec))
    shop.cluster.requests.clear()
    return Bench(shop)


def story(coroutine: Coroutine[Any, Any, None]) -> None:
    run(coroutine)


def test_a_probe_becomes_a_job_that_measures_one_pod() -> None:
    async def it() -> None:
        one = await bench(**SMOKE)
        await one.look()
        job = one.shop.cluster.read(Kinds.JOB, NAMESPACE, "look")
        assert job["metadata"]["ownerReferences"][0]["uid"] == one.uid
        args = job["spec"]["template"]["spec"]["containers"][0]["args"]
        plan = json.loads(args[args.index("--plan") + 1])
        assert len(plan["targets"]) == 1
        assert plan["probeUid"] == one.uid
        assert one.status["phase"] == "Pending"
        assert one.status["revision"] == one.shop.status["stable"]["revision"]
        assert one.shop.cluster.writes() == {"create Job": 1, "patch LoadProbe": 1}

    story(it())


def test_a_warm_up_takes_every_pod() -> None:
    async def it() -> None:
        one = await bench(**WARM_UP)
        await one.look()
        job = one.shop.cluster.read(Kinds.JOB, NAMESPACE, "look")
        args = job["spec"]["template"]["spec"]["containers"][0]["args"]
        assert len(json.loads(args[args.index("--plan") + 1])["targets"]) == 2

    story(it())


def test_progress_is_shown_while_the_worker_works() -> None:
    async def it() -> None:
        one = await bench(**SMOKE)
        await one.run_to(Progress("parallel-4", 17))
        assert one.status["phase"] == "Running"
        assert one.status["progress"] == {"stage": "parallel-4", "requests": 17}
        before = one.shop.cluster.writes()["patch LoadProbe"]
        for number in range(60):
            one.results.answer = Progress("parallel-4", 20 + number)
            await one.look()
            await asyncio.sleep(1)
        assert one.shop.cluster.writes()["patch LoadProbe"] - before <= 2

    story(it())


def test_the_result_is_kept_before_the_worker_may_go() -> None:
    async def it() -> None:
        one = await bench(**SMOKE)
        one.results.answer = None
        await one.run_to(finished(record(one.uid)))
        assert one.status["phase"] == "Succeeded"
        assert one.condition()[:2] == ("True", "AsExpected")
        assert one.status["result"]["stages"][0]["requests"] == 200
        assert one.results.collected_from == [ADDRESS]

    story(it())


def test_a_result_that_cannot_be_kept_is_not_collected() -> None:
    async def it() -> None:
        one = await bench(**SMOKE)
        await one.look()
        start_workers(one.shop.cluster)
        one.results.answer = finished(record(one.uid))
        one.shop.cluster.fault = lambda verb, _: RejectedError("no") if verb == "patch" else None
        with pytest.raises(RejectedError):
            await one.look()
        assert one.results.collected_from == []

    story(it())


@pytest.mark.parametrize(
    ("text", "want"),
    [
        (b"not json", "the worker's result is not valid"),
        (b"{}", "the worker's result is not valid"),
        (record("another-uid").to_json().encode(), "belongs to another probe"),
        (b" " * 300_000, "has more than"),
    ],
)
def test_an_answer_that_is_not_its_result_fails_the_probe(text: bytes, want: str) -> None:
    async def it() -> None:
        one = await bench(**SMOKE)
        await one.run_to(Finished(text))
        status, reason, message = one.condition()
        assert (one.status["phase"], status, reason) == ("Failed", "False", "ProbeFailed")
        assert want in message

    story(it())


def test_pods_of_somebody_else_are_not_asked() -> None:
    async def it() -> None:
        one = await bench(**SMOKE)
        await one.look()
        start_workers(one.shop.cluster, owner="somebody")
        one.results.answer = finished(record(one.uid))
        await one.look()
        assert one.status["phase"] == "Pending"

    story(it())


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_worker_that_ended_without_handing_over_has_failed_whatever_its_exit_code(phase: str) -> None:
    async def it() -> None:
        one = await bench(**SMOKE)
        await one.look()
        start_workers(one.shop.cluster, phase=phase)
        await one.look()
        assert one.condition() == ("False", "ProbeFailed", "The worker ended without a result; see its log.")

    story(it())


def test_a_job_that_is_gone_while_it_ran_fails_the_probe() -> None:
    async def it() -> None:
        one = await bench(**SMOKE)
        await one.run_to(Progress("parallel-4", 1))
        del one.shop.cluster.objects["Job", NAMESPACE, "look"]
        await one.look()
        assert one.condition()[1:] == ("ProbeFailed", "The Job is gone before its result was collected.")

    story(it())


def test_a_job_of_somebody_else_is_not_touched() -> None:
    async def it() -> None:
        one = await bench(**SMOKE)
        foreign = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"namespace": NAMESPACE, "name": "look"},
        }
        before = one.shop.cluster.put(foreign)
        await one.look()
        assert one.condition()[1] == "NameTaken"
        assert one.shop.cluster.read(Kinds.JOB, NAMESPACE, "look") == before

    story(it())


@pytest.mark.parametrize(
    ("errors", "want_phase"), [(0, "Succeeded"), (9, "Succeeded"), (10, "Failed"), (20, "Failed")]
)
def test_a_warm_up_of_which_half_failed_has_warmed_nothing(errors: int, want_phase: str) -> None:
    async def it() -> None:
        one = await bench(**WARM_UP)
        result = record(one.uid).model_copy(update={"stages": (), "warm_up": warm_up(errors)})
        await one.run_to(finished(result))
        assert one.status["phase"] == want_phase

    story(it())


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
        await one.look()
        assert one.status["phase"] == "Pending"
        assert want in one.condition()[2]
        before = one.shop.cluster.writes()
        await one.look()
        assert one.shop.cluster.writes() == before

    story(it())


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
        await one.look()
        assert one.condition()[2].endswith(f"waiting for pod {name} to become ready.")
        goes(one.shop.cluster, ("Pod", NAMESPACE, name))
        await one.look()
        assert one.condition()[:2] == ("False", "ProbeFailed")
        assert f"Pod {name} of revision" in one.condition()[2]

    story(it())


def test_an_unknown_profile_fails_with_the_remedy() -> None:
    async def it() -> None:
        one = await bench(profile="mine")
        await one.look()
        assert one.condition()[1:] == (
            "ProfileDoesNotFit",
            "spec.profile: there is no ProbeProfile mine; create it, or use heavy/v1, smoke/v1, standard/v1.",
        )

    story(it())


def test_a_profile_that_is_longer_than_the_context_fails_with_the_remedy() -> None:
    async def it() -> None:
        one = await bench(**SMOKE)
        args = {"maxModelLen": 79}
        one.shop.apply(rollout(engine={"image": "engine:1", "extraArgs": ["--seed=1"], "args": args}))
        await one.look()
        assert one.condition()[1] == "ProfileDoesNotFit"
        assert "its longest request has 80 tokens, and the engine's maxModelLen is 79" in one.condition()[2]

    story(it())


def test_an_invalid_spec_names_the_field() -> None:
    async def it() -> None:
        one = await bench(profile="UPPER")
        await one.look()
        assert one.condition()[1] == "InvalidSpec"
        assert one.condition()[2].startswith("spec.profile: ")

    story(it())


def test_a_result_is_frozen_as_a_baseline_that_verifies() -> None:
    async def it() -> None:
        one = await bench(**FREEZE)
        await one.run_to(finished(record(one.uid)))
        await one.look()
        assert one.condition("Frozen")[:2] == ("True", "AsExpected")
        kept = one.shop.cluster.read(Kinds.BASELINE, NAMESPACE, "chat-base-v1")
        assert "ownerReferences" not in kept["metadata"]
        baseline = parse_baseline(kept)
        assert verify(baseline, "chat-base-v1") is None
        assert baseline.fingerprint.engine_image == "engine:1"
        assert (baseline.fingerprint.replicas, baseline.fingerprint.engine_version) == (1, "0.32.0")
        assert (baseline.provenance.rollout, baseline.provenance.probe) == (NAME, "look")
        before = one.shop.cluster.writes()
        await one.look()
        assert one.shop.cluster.writes() == before

    story(it())


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
        await one.look()
        assert one.condition("Frozen")[:2] == ("False", "NameTaken")
        assert "freeze under another version" in one.condition("Frozen")[2]
        assert one.shop.cluster.read(Kinds.BASELINE, NAMESPACE, "chat-base-v1") == before

    story(it())


def test_a_baseline_that_was_created_before_a_crash_is_recognised() -> None:
    async def it() -> None:
        one = await bench(**FREEZE)
        await one.run_to(finished(record(one.uid)))
        one.shop.cluster.fault = lambda verb, _: RejectedError("crash") if verb == "patch" else None
        with pytest.raises(RejectedError):
            await one.look()
        one.shop.cluster.fault = lambda *_: None
        await one.look()
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
        await one.look()
        status, reason, message = one.condition("Frozen")
        assert (status, reason) == ("False", "ProbeFailed")
        assert want in message
        assert ("InferenceBaseline", NAMESPACE, "chat-base-v1") not in one.shop.cluster.objects

    story(it())


def test_a_probe_that_is_gone_or_another_ends_its_task() -> None:
    async def it() -> None:
        one = await bench(**SMOKE)
        assert await one._pass.look(Subject(SubjectKind.PROBE, NAMESPACE, "look", "another")) is GONE
        assert await one._pass.look(Subject(SubjectKind.PROBE, NAMESPACE, "gone", "x")) is GONE

    story(it())
