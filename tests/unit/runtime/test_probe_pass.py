from __future__ import annotations

import asyncio
import json

import pytest

from chaffinch.ports.cluster import Kinds, RejectedError, UnavailableError
from chaffinch.ports.probe_results import Finished, Progress
from chaffinch.runtime.hub import Subject, SubjectKind
from chaffinch.runtime.loop import GONE
from fakes.workers import ADDRESS, finished, record, start_workers, warm_up
from fakes.world import NAMESPACE
from unit.runtime.benches import SMOKE, WARM_UP, bench, story


def test_a_probe_becomes_a_job_that_measures_one_pod() -> None:
    async def it() -> None:
        one = await bench(**SMOKE)
        await one.run_pass()
        job = one.shop.cluster.read(Kinds.JOB, NAMESPACE, "look")
        assert job["metadata"]["ownerReferences"][0]["uid"] == one.uid
        pod = job["spec"]["template"]["spec"]
        assert pod["imagePullSecrets"] == [{"name": "registry"}]
        args = pod["containers"][0]["args"]
        plan = json.loads(args[args.index("--plan") + 1])
        assert len(plan["targets"]) == 1
        assert plan["probeUid"] == one.uid
        assert one.status["phase"] == "Pending"
        # Smoke: 4 rounds of warm-up at 30 s, stages of 2 and 10 minutes; 15 minutes to start and to collect.
        assert job["spec"]["activeDeadlineSeconds"] == 120 + 720 + 900
        assert one.status["deadline"] == "2026-03-01T14:29:00Z"
        assert one.status["revision"] == one.shop.status["stable"]["revision"]
        assert one.shop.cluster.writes() == {"create Job": 1, "patch LoadProbe": 1}

    story(it())


def test_a_warm_up_takes_every_pod() -> None:
    async def it() -> None:
        one = await bench(**WARM_UP)
        await one.run_pass()
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
            await one.run_pass()
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


def test_a_process_that_died_after_making_the_job_leaves_no_gap_in_what_is_told() -> None:
    async def it() -> None:
        one = await bench(**SMOKE)
        one.shop.cluster.fault = lambda verb, _: UnavailableError("cut") if verb == "patch" else None
        with pytest.raises(UnavailableError):
            await one.run_pass()
        assert "revision" not in one.status
        one.shop.cluster.fault = lambda *_: None
        await one.run_to(finished(record(one.uid)))
        stable = one.shop.status["stable"]["revision"]
        assert one.status["revision"] == stable
        assert "deadline" in one.status
        assert stable in one.condition()[2]

    story(it())


def test_a_result_that_cannot_be_kept_is_not_collected() -> None:
    async def it() -> None:
        one = await bench(**SMOKE)
        await one.run_pass()
        start_workers(one.shop.cluster)
        one.results.answer = finished(record(one.uid))
        one.shop.cluster.fault = lambda verb, _: RejectedError("no") if verb == "patch" else None
        with pytest.raises(RejectedError):
            await one.run_pass()
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
        await one.run_pass()
        start_workers(one.shop.cluster, owner="somebody")
        one.results.answer = finished(record(one.uid))
        await one.run_pass()
        assert one.status["phase"] == "Pending"

    story(it())


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_worker_that_ended_without_handing_over_has_failed_whatever_its_exit_code(phase: str) -> None:
    async def it() -> None:
        one = await bench(**SMOKE)
        await one.run_pass()
        start_workers(one.shop.cluster, phase=phase)
        await one.run_pass()
        assert one.condition() == ("False", "ProbeFailed", "The worker ended without a result; see its log.")

    story(it())


def test_a_job_that_is_gone_while_it_ran_fails_the_probe() -> None:
    async def it() -> None:
        one = await bench(**SMOKE)
        await one.run_to(Progress("parallel-4", 1))
        del one.shop.cluster.objects["Job", NAMESPACE, "look"]
        await one.run_pass()
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
        await one.run_pass()
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


def test_a_probe_that_is_gone_or_another_ends_its_task() -> None:
    async def it() -> None:
        one = await bench(**SMOKE)
        assert await one._pass.run(Subject(SubjectKind.PROBE, NAMESPACE, "look", "another")) is GONE
        assert await one._pass.run(Subject(SubjectKind.PROBE, NAMESPACE, "gone", "x")) is GONE

    story(it())
