from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from chaffinch.domain.evidence import NoEvidence, Problem
from chaffinch.ports.cluster import (
    ClusterError,
    ConflictError,
    DeniedError,
    Kinds,
    QuotaExceededError,
    RejectedError,
    UnavailableError,
)
from chaffinch.runtime.hub import Subject, SubjectKind
from chaffinch.runtime.loop import GONE, Pace, Watch, look_after
from fakes.cluster import Key
from fakes.virtual_time import LoopClock, run
from fakes.workers import load_probe
from fakes.world import NAME, NAMESPACE, Shop, rollout

V2: dict[str, Any] = {"engine": {"image": "engine:2", "extraArgs": ["--seed=1"]}}


async def until(shop: Shop, done: Callable[[], bool], *, seconds: float = 900) -> None:
    """Let the rollout's task and the cluster work until something is so."""
    task = asyncio.create_task(_look_after(shop))
    try:
        for _ in range(int(seconds)):
            if done():
                return
            shop.obey()
            await asyncio.sleep(1)
        raise AssertionError(f"not within {seconds} s: {shop.status}")
    finally:
        task.cancel()


async def _look_after(shop: Shop) -> None:
    await look_after(
        shop.look, asyncio.Event(), pace=Pace(), chance=lambda: 0.5, watch=Watch(), fields={"rollout": NAME}
    )


async def healthy() -> Shop:
    """Return a shop whose first version serves."""
    shop = Shop()
    shop.apply(rollout())
    await until(shop, lambda: shop.status.get("phase") == "Healthy")
    return shop


async def at_canary() -> Shop:
    """Return a shop whose second version has 20 % of the traffic, and no evidence for more yet."""
    shop = await healthy()
    shop.evidence.answer = NoEvidence(Problem.NO_DATA, "nothing was counted")
    shop.apply(rollout(**V2))
    await until(shop, lambda: "acknowledgedAt" in shop.status.get("rollout", {}).get("step", {}))
    return shop


def test_the_first_version_is_deployed_and_serves_everything() -> None:
    async def story() -> None:
        shop = await healthy()
        (revision,) = shop.revisions
        assert shop.weights == {revision: 10_000}
        assert shop.status["stable"]["revision"] == revision
        assert shop.condition("Ready") == ("True", "Promoted")
        assert shop.status["writer"]["epoch"] == shop.route["epoch"] == 7
        assert [note.action for note in shop.recorder.notes] == ["Deploy", "Promote"]

    run(story())


def test_a_good_version_is_promoted_step_by_step_without_touching_a_pod_of_it() -> None:
    async def story() -> None:
        shop = await healthy()
        first = shop.status["stable"]["revision"]
        shop.apply(rollout(**V2))
        await until(shop, lambda: shop.status["stable"]["revision"] != first)
        second = shop.status["stable"]["revision"]
        await until(shop, lambda: shop.status["phase"] == "Healthy")
        assert shop.weights == {second: 10_000}
        deployment = shop.cluster.read(Kinds.DEPLOYMENT, NAMESPACE, f"{NAME}-{second}")
        assert deployment["spec"]["replicas"] == 2
        await until(
            shop,
            lambda: shop.cluster.objects["Deployment", NAMESPACE, f"{NAME}-{first}"]["spec"]["replicas"] == 0,
        )

    run(story())


def test_a_slow_version_is_rolled_back_route_first() -> None:
    async def story() -> None:
        shop = await at_canary()
        first = shop.status["stable"]["revision"]
        shop.evidence.answer, shop.evidence.factor = None, 1.6
        before = len(shop.cluster.requests)
        await until(shop, lambda: shop.weights == {first: 10_000})
        writes = [
            key[0] for verb, key in shop.cluster.requests[before:] if verb in {"update", "patch", "apply"}
        ]
        at = writes.index("ConfigMap")
        assert "Deployment" not in writes[:at]
        await until(shop, lambda: shop.status["phase"] == "Degraded")
        assert shop.condition("Promoted") == ("False", "ObjectiveFailed")
        assert shop.condition("Available") == ("True", "StableServing")
        assert shop.route["decision"] is None or shop.route["decision"]["kind"] == "Rollback"

    run(story())


def test_nothing_is_written_once_there_is_nothing_left_to_do() -> None:
    async def story() -> None:
        shop = await healthy()
        await asyncio.sleep(600)
        await shop.look()
        before = shop.cluster.writes()
        for _ in range(20):
            await shop.look()
            await asyncio.sleep(60)
        assert shop.cluster.writes() == before

    run(story())


def test_a_pass_writes_the_status_at_most_once_and_signs_it() -> None:
    async def story() -> None:
        shop = Shop()
        shop.apply(rollout())
        sequences = []
        for _ in range(40):
            before = shop.cluster.writes()["patch InferenceRollout"]
            await shop.look()
            assert shop.cluster.writes()["patch InferenceRollout"] - before in {0, 1}
            sequences.append(shop.status["writer"]["sequence"])
            shop.obey()
            await asyncio.sleep(2)
        assert sequences == sorted(sequences)
        assert sequences[-1] == shop.cluster.writes()["patch InferenceRollout"]

    run(story())


def test_a_restarted_process_goes_on_where_the_last_one_was() -> None:
    async def story() -> None:
        shop = await at_canary()
        candidate = shop.status["candidate"]["revision"]
        shop.restart()
        shop.term.epoch = 8
        shop.evidence.answer = None
        await until(shop, lambda: shop.status["stable"]["revision"] == candidate)
        assert shop.route["epoch"] == shop.status["writer"]["epoch"] == 8

    run(story())


def test_a_term_below_the_one_of_the_route_in_use_does_not_make_agents_refuse_the_next() -> None:
    async def story() -> None:
        shop = await at_canary()
        candidate = shop.status["candidate"]["revision"]
        shop.term.epoch, shop.evidence.answer = 3, None
        await until(shop, lambda: shop.status["stable"]["revision"] == candidate)
        assert shop.route["epoch"] == 7

    run(story())


def _all_reads_fail(verb: str, key: Key) -> BaseException | None:
    del key
    return UnavailableError("the API server answered with status 500") if verb in {"get", "list"} else None


def _all_reads_but_the_rollout_fail(verb: str, key: Key) -> BaseException | None:
    return None if key[0] == "InferenceRollout" else _all_reads_fail(verb, key)


@pytest.mark.parametrize("fault", [_all_reads_fail, _all_reads_but_the_rollout_fail])
@pytest.mark.parametrize("delay", [0, 10])
@pytest.mark.parametrize("situation", [healthy, at_canary])
def test_a_minute_of_failing_reads_changes_nothing(
    situation: Callable[[], Any], delay: float, fault: Callable[[str, Key], BaseException | None]
) -> None:
    async def story() -> None:
        shop: Shop = await situation()
        await asyncio.sleep(60)
        await shop.look()
        revisions, weights, stable = shop.revisions, shop.weights, shop.status["stable"]
        before, first = shop.cluster.writes(), len(shop.cluster.requests)
        shop.cluster.fault, shop.cluster.delay = fault, delay
        task = asyncio.create_task(_look_after(shop))
        await asyncio.sleep(60)
        assert shop.cluster.writes() == before
        assert len(shop.cluster.requests) - first <= 20
        shop.cluster.fault, shop.cluster.delay = (lambda verb, key: None), 0  # noqa: ARG005
        await asyncio.sleep(60)
        task.cancel()
        assert (shop.revisions, shop.weights, shop.status["stable"]) == (revisions, weights, stable)

    run(story())


@pytest.mark.parametrize(
    "edit",
    [
        {"replicas": 3},
        {"objectives": [{"name": "errors", "metric": "errorRate", "max": "2%"}]},
        {"strategy": {"steps": [{"name": "bake", "bake": {"for": "5m"}}]}},
        {"pod": {"tolerations": []}},
        {"engine": {"extraArgs": ["--seed=1"], "image": "engine:1", "env": []}},
    ],
)
def test_an_edit_that_makes_no_revision_starts_no_rollout(edit: dict[str, Any]) -> None:
    async def story() -> None:
        shop = await healthy()
        revisions, weights, attempts = shop.revisions, shop.weights, shop.status["attempts"]
        shop.apply(rollout(**edit))
        await until(shop, lambda: shop.status["observedGeneration"] == shop.body["metadata"]["generation"])
        await asyncio.sleep(1)
        await shop.look()
        assert (shop.revisions, shop.weights, shop.status["attempts"]) == (revisions, weights, attempts)

    run(story())


def test_a_canary_waits_for_evidence_with_its_weight_unchanged() -> None:
    async def story() -> None:
        shop = await at_canary()
        task = asyncio.create_task(_look_after(shop))
        await asyncio.sleep(600)
        task.cancel()
        assert 2000 in shop.weights.values()
        assert shop.condition("Evidence")[0] != "True"

    run(story())


def test_routers_that_do_not_acknowledge_hold_the_rollout_at_the_step() -> None:
    async def story() -> None:
        shop = await healthy()
        shop.routers.deaf = True
        shop.apply(rollout(**V2))
        task = asyncio.create_task(_look_after(shop))
        for _ in range(300):
            shop.obey()
            await asyncio.sleep(1)
        task.cancel()
        assert max(weight for weight in shop.weights.values()) >= 8000
        assert shop.evidence.questions == []

    run(story())


def test_a_name_that_is_taken_stalls_and_nothing_is_touched() -> None:
    async def story() -> None:
        shop = Shop()
        foreign = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"namespace": NAMESPACE, "name": NAME},
            "spec": {"ports": [{"port": 1}]},
        }
        before = shop.cluster.put(foreign)
        shop.apply(rollout())
        await shop.look()
        await asyncio.sleep(60)
        await shop.look()
        assert shop.condition("Stalled") == ("True", "NameTaken")
        assert shop.cluster.writes() == {"patch InferenceRollout": 1}
        assert shop.cluster.read(Kinds.SERVICE, NAMESPACE, NAME) == before
        del shop.cluster.objects["Service", NAMESPACE, NAME]
        await until(shop, lambda: shop.status["phase"] == "Healthy")

    run(story())


def test_an_invalid_spec_stalls_and_names_the_field() -> None:
    async def story() -> None:
        shop = await healthy()
        revisions = shop.revisions
        shop.apply(rollout(replicas=0))
        await shop.look()
        assert shop.condition("Stalled") == ("True", "InvalidSpec")
        (message,) = [c["message"] for c in shop.status["conditions"] if c["type"] == "Stalled"]
        assert "spec.replicas" in message
        assert shop.revisions == revisions
        before = shop.cluster.writes()
        await shop.look()
        assert shop.cluster.writes() == before

    run(story())


def test_a_status_that_somebody_else_wrote_ends_the_pass_before_anything_is_made() -> None:
    async def story() -> None:
        shop = await healthy()
        shop.apply(rollout(**V2))

        def other_writer(verb: str, key: Key) -> BaseException | None:
            if (verb, key[0]) == ("patch", "InferenceRollout"):
                shop.cluster.fault = lambda verb, key: None  # noqa: ARG005
                stored = shop.body
                writer = {"epoch": 9, "sequence": stored["status"]["writer"]["sequence"] + 1}
                shop.cluster.put({**stored, "status": {**stored["status"], "writer": writer}})
            return None

        shop.cluster.fault = other_writer
        before = shop.cluster.writes()
        with pytest.raises(ConflictError, match="written by somebody else"):
            await shop.look()
        assert shop.cluster.writes() - before == {"patch InferenceRollout": 1}

    run(story())


def test_a_status_that_the_server_refuses_is_our_own_error() -> None:
    async def story() -> None:
        shop = Shop()
        shop.apply(rollout())

        def refuse(verb: str, key: Key) -> BaseException | None:
            return RejectedError("refused (status.phase)") if verb == "patch" and key else None

        shop.cluster.fault = refuse
        with pytest.raises(RejectedError, match=r"status\.phase"):
            await shop.look()

    run(story())


def test_a_route_that_somebody_else_wrote_is_not_overwritten() -> None:
    async def story() -> None:
        shop = await at_canary()
        shop.evidence.answer, shop.evidence.factor = None, 1.6

        def other_route(verb: str, key: Key) -> BaseException | None:
            if (verb, key[0]) == ("update", "ConfigMap"):
                shop.cluster.fault = lambda verb, key: None  # noqa: ARG005
                shop.cluster.put(shop.cluster.read(Kinds.CONFIG_MAP, NAMESPACE, f"{NAME}-router"))
            return None

        await asyncio.sleep(60)
        shop.cluster.fault = other_route
        with pytest.raises(ConflictError):
            await shop.look()
        assert 2000 in shop.weights.values()
        assert (await shop.look()) is not None
        assert 2000 not in shop.weights.values()

    run(story())


@pytest.mark.parametrize(
    ("error", "want_reason"),
    [(DeniedError("no right"), "Forbidden"), (QuotaExceededError("full"), "QuotaExceeded")],
)
def test_a_refused_write_is_told_to_people(error: ClusterError, want_reason: str) -> None:
    async def story() -> None:
        shop = Shop()
        shop.apply(rollout())
        shop.cluster.fault = lambda verb, key: error if (verb, key[0]) == ("apply", "Deployment") else None
        with pytest.raises(type(error)):
            await shop.look()
        note = shop.recorder.notes[-1]
        assert (note.severity, note.reason, note.message) == ("Warning", want_reason, str(error))
        with pytest.raises(type(error)):
            await shop.look()
        assert shop.condition("Stalled") == ("True", want_reason)
        assert shop.condition("Ready")[0] == "False"
        shop.cluster.fault = lambda *_: None
        await until(shop, lambda: shop.status["phase"] == "Healthy")
        assert shop.condition("Stalled")[0] == "False"

    run(story())


def test_a_route_that_cannot_be_read_is_written_anew_over_what_is_there() -> None:
    async def story() -> None:
        shop = await healthy()
        weights, sequence = shop.weights, shop.route["sequence"]
        stored = shop.cluster.read(Kinds.CONFIG_MAP, NAMESPACE, f"{NAME}-router")
        shop.cluster.put({**stored, "data": {"route.json": "garbled"}})
        await shop.look()
        assert (shop.weights, shop.route["sequence"] > sequence) == (weights, True)

    run(story())


@pytest.mark.parametrize("status", [{"phase": "Unheard"}, {"writer": "me"}, {"writer": {"epoch": 1}}])
def test_a_status_that_cannot_be_understood_is_restored_from_the_route(status: dict[str, Any]) -> None:
    async def story() -> None:
        shop = await healthy()
        stable, weights = shop.status["stable"]["revision"], shop.weights
        shop.cluster.put({**shop.body, "status": {**shop.status, **status}})
        await until(shop, lambda: shop.status.get("phase") == "Healthy")
        assert (shop.status["stable"]["revision"], shop.weights) == (stable, weights)

    run(story())


def test_pods_of_a_predecessor_of_the_name_are_not_its_own() -> None:
    async def story() -> None:
        shop = await healthy()
        pods = {key: pod for key, pod in shop.cluster.objects.items() if key[0] == "Pod"}
        shop.cluster.objects.clear()
        shop.cluster.objects.update(pods)
        await asyncio.sleep(60)
        again = rollout()
        again["metadata"]["creationTimestamp"] = LoopClock().now().isoformat()
        shop.apply(again)
        await shop.look()
        assert shop.status["rollout"]["stage"] == "Deploying"
        assert shop.status["candidate"]["ready"] == 0

    run(story())


def test_a_rollback_does_not_wait_for_a_look_at_anything_else() -> None:
    async def story() -> None:
        shop = await at_canary()
        await asyncio.sleep(60)
        shop.evidence.answer, shop.evidence.factor = None, 1.6
        down = UnavailableError("down")
        shop.cluster.fault = lambda _, key: down if key[0] == "PodDisruptionBudget" else None
        with pytest.raises(UnavailableError):
            await shop.look()
        assert 2000 not in shop.weights.values()

    run(story())


def test_a_deleted_service_is_made_again_by_the_next_pass() -> None:
    async def story() -> None:
        shop = await healthy()
        del shop.cluster.objects["Service", NAMESPACE, NAME]
        await shop.look()
        assert ("Service", NAMESPACE, NAME) in shop.cluster.objects

    run(story())


@pytest.mark.parametrize("uid", ["another", ""])
def test_an_object_that_is_gone_ends_its_task(uid: str) -> None:
    async def story() -> None:
        shop = Shop()
        if uid:
            shop.apply(rollout())
        subject = Subject(SubjectKind.ROLLOUT, NAMESPACE, NAME, "mine")
        assert await shop._pass.look(subject) is GONE
        assert shop.cluster.writes() == {}

    run(story())


def test_an_object_that_is_being_deleted_is_left_alone() -> None:
    async def story() -> None:
        shop = Shop()
        body = rollout()
        body["metadata"]["deletionTimestamp"] = "2026-03-01T14:00:00Z"
        shop.apply(body)
        await shop.look()
        assert shop.cluster.writes() == {}

    run(story())


def test_evidence_is_asked_for_this_object_and_this_attempt_only() -> None:
    async def story() -> None:
        shop = await at_canary()
        await asyncio.sleep(30)
        await shop.look()
        question = shop.evidence.questions[-1]
        assert question == replace(
            question,
            rollout_uid=shop.body["metadata"]["uid"],
            attempt=2,
            candidate=shop.status["candidate"]["revision"],
            stable=shop.status["stable"]["revision"],
        )

    run(story())


def test_load_probes_of_attempts_that_are_long_over_are_deleted() -> None:
    async def story() -> None:
        shop = await healthy()
        owners = shop.cluster.read(Kinds.CONFIG_MAP, NAMESPACE, f"{NAME}-router")["metadata"][
            "ownerReferences"
        ]
        for attempt in (1, 4, 5, 9):
            probe = load_probe(profile="smoke/v1", attempt=attempt)
            labels = {"chaffinch.dev/rollout": NAME}
            probe["metadata"] |= {"name": f"a{attempt}", "labels": labels, "ownerReferences": owners}
            shop.cluster.put(probe)
        users = load_probe(profile="smoke/v1")
        users["metadata"]["name"] = "users-own"
        shop.cluster.put(users)
        shop.cluster.put({**shop.body, "status": {**shop.status, "attempts": 9}})
        await shop.look()
        assert {key[2] for key in shop.cluster.objects if key[0] == "LoadProbe"} == {"a5", "a9", "users-own"}

    run(story())
