"""Faults of the day on a real node: told by their reasons, in time, and stable and its users lose nothing.

The kubelet, the kernel and the container runtime do here to a canary's pods what they do in production. All
faults happen side by side, each to the second version of a rollout of its own, which has users all the while.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime

import pytest

import oracle
from e2e.story import FIRST_SECONDS, Story
from e2e.troubled import MEMORY, Fault, Troubled, past_of
from localcluster.api import ApiClient
from localcluster.kubectl import eventually
from localcluster.settings import Settings
from stage.kubectl import Object, condition, says
from stage.node import SEAT, evict, label_node, labelled, seats, squatted
from stage.users import Users

POOL = "example.com/pool"
"""Label of the node while it takes the pods of a certain canary."""
HELD = "example.com/held"
"""Finalizer that keeps a pod from going."""
LATE_SECONDS = 10.0
"""How long after its deadline a fault has to be told at the latest."""
MOST_PODS = 20
RATE = 10
OUT_SECONDS = 60


def is_told(rollout: Troubled) -> Object:
    """The second version is applied, and rolled back."""
    rollout.when_rolled_out()
    return rollout.until_told()


def is_told_while_its_pods_do_not_go(rollout: Troubled) -> Object:
    """A canary pod stays, Terminating, when the canary is taken out. That keeps nothing from ending."""
    rollout.when_rolled_out()
    with held(rollout.api, rollout.first_pod(rollout.canary)):
        found = rollout.until_told()
        eventually(lambda: stuck(rollout) == 1, OUT_SECONDS, "the canary's pod is Terminating")
        assert rollout.size(rollout.canary) == 0
        rollout.until_reverted()
        assert stuck(rollout) == 1
    return found


def is_told_when_its_node_is_drained(rollout: Troubled) -> Object:
    """The canary has traffic when its only pod is evicted, and no node takes another one."""
    rollout.when_rolled_out()
    rollout.until(has_weight, "the canary has its weight")
    label_node(rollout.api, POOL, None)
    rollout.began = datetime.now(UTC)
    evict(rollout.api, rollout.first_pod(rollout.canary))
    rollout.until(lambda found: hold_of(found) == "CanaryUnavailable", "the loss is told", LATE_SECONDS)
    return rollout.until_told()


def is_told_when_the_node_turns_it_away_and_then_so_is_stable(rollout: Troubled) -> Object:
    """The kubelet has given all seats away. First canary pods are turned away, then those of stable."""
    with squatted(rollout.api, Settings.from_environment(), 2):
        rollout.when_rolled_out()
        found = rollout.until_told()
        eventually(lambda: rollout.size(rollout.canary) == 0, OUT_SECONDS, "the canary is taken out")
        rollout.until_reverted()
        seats(rollout.api, 3)
        evict(rollout.api, rollout.pods(rollout.stable)[0])
        rollout.until(is_in_storm, "the storm of stable's pods is told", LATE_SECONDS)
    return found


TURNED_AWAY = Fault(  # its canary is to have two pods at once
    "turned-away", "Unschedulable", 60, replicas=2, limits={SEAT: "1"}, first_step=40, least_ready=1
)
OTHERS: Sequence[tuple[Fault, Callable[[Troubled], Object]]] = (
    (Fault("image", "ImagePull", 60, image="localhost:1/none:1"), is_told),
    (Fault("memory", "OutOfMemory", 60, flags=("--sim-memory-mib=512",)), is_told),
    (
        # Ready for some seconds between two crashes (case C31), but never for as long as its warm-up takes.
        Fault(
            "crash-loop", "CrashLoop", 120, flags=("--sim-crash-after=8",),
            warm_up={"name": "warm-up", "warmUp": {"requests": 400, "concurrency": 1}},
        ),
        is_told_while_its_pods_do_not_go,
    ),
    (
        # The first line of its log is more than it may store. It is evicted before it can become Ready.
        Fault(
            "evicted", "Unschedulable", 60, replicas=2, flags=("--sim-start-delay=600",),
            pod={"resources": {"limits": {**MEMORY, "ephemeral-storage": "1Ki"}}},
        ),
        is_told,
    ),
    (
        Fault("drained", "Unschedulable", 60, pod={"nodeSelector": {POOL: "yes"}}, weight=2_000),
        is_told_when_its_node_is_drained,
    ),
)  # fmt: skip


@pytest.mark.full
def test_a_canary_that_a_node_cannot_run_says_why_and_costs_stable_and_users_nothing(story: Story) -> None:
    api = ApiClient(Settings.from_environment().pki)
    stormed = Troubled(TURNED_AWAY, story.namespace, api)
    others = [Troubled(fault, story.namespace, api) for fault, _ in OTHERS]
    rollouts = [stormed, *others]
    with ExitStack() as stack:
        stack.enter_context(labelled(api, POOL))
        stack.enter_context(seated(api))
        given_stable(rollouts)
        users = [stack.enter_context(users_of(story, each)) for each in rollouts]
        # Alone, as how many pods are made until that is stopped is a matter of time.
        told = [is_told_when_the_node_turns_it_away_and_then_so_is_stable(stormed), *side_by_side(others)]
        stormed.until(is_in_no_storm, "the node takes the pods of stable again")
        seen = [each.summary for each in users]
    then_each_is_told_in_time(rollouts, told)
    then_stable_is_spared_and_pods_are_few(story, rollouts)
    assert [each["failed"] for each in seen] == [0] * len(seen)
    assert min(each["requests"] for each in seen) > RATE


@contextmanager
def seated(api: ApiClient) -> Iterator[None]:
    """Let the node have seats for the length of the block."""
    seats(api, 4)
    try:
        yield
    finally:
        seats(api, None)


def given_stable(rollouts: Sequence[Troubled]) -> None:
    """Apply all first versions and wait until they serve."""
    for each in rollouts:
        each.apply(each.fault.first(each.namespace))
    for each in rollouts:
        each.until(lambda found: says(found, "Ready")[0] == "True", "the first version serves", FIRST_SECONDS)


def users_of(story: Story, rollout: Troubled) -> Users:
    """Let users call a rollout."""
    service = rollout.fault.service(story.namespace)
    return Users(service, story.folder / f"{service.name}.json", rate=RATE)


def side_by_side(rollouts: Sequence[Troubled]) -> list[Object]:
    """Let all faults happen at once; return each rollout as it was when its fault was told."""
    with ThreadPoolExecutor(len(rollouts)) as threads:
        running = [threads.submit(story, each) for each, (_, story) in zip(rollouts, OTHERS, strict=True)]
    return [each.result() for each in running]


def then_each_is_told_in_time(rollouts: Sequence[Troubled], told: Sequence[Object]) -> None:
    """The condition has the right reason and no time is wasted; what serves is still said to."""
    for each, found in zip(rollouts, told, strict=True):
        print(f"{each.fault.name}: {each.told_after:.1f} s, {condition(found, 'Promoted')['message']}")
    reasons = {each.fault.name: says(found, "Promoted") for each, found in zip(rollouts, told, strict=True)}
    assert reasons == {each.fault.name: ("False", each.fault.reason) for each in rollouts}
    late = {
        each.fault.name: each.told_after
        for each in rollouts
        if each.told_after > each.fault.deadline + LATE_SECONDS
    }
    assert late == {}
    assert {says(found, "Available") for found in told} == {("True", "StableServing")}


def then_stable_is_spared_and_pods_are_few(story: Story, rollouts: Sequence[Troubled]) -> None:
    """Stable has had its Ready pods, the canary only the traffic it was to have, and few pods were made."""
    writes = oracle.read_writes(story.audit_log, story.namespace)
    pasts = {each.fault.name: past_of(each, writes) for each in rollouts}
    for name, past in pasts.items():
        print(f"{name}: {past}")
    assert {name: past.least_ready for name, past in pasts.items()} == {
        each.fault.name: each.fault.least_ready or each.fault.replicas for each in rollouts
    }
    assert {name: past.most_weight for name, past in pasts.items()} == {
        each.fault.name: each.fault.weight for each in rollouts
    }
    assert max(max(past.made.values()) for past in pasts.values()) <= MOST_PODS


@contextmanager
def held(api: ApiClient, pod: Object) -> Iterator[None]:
    """Keep a pod from going for the length of the block, whoever deletes it."""
    metadata = pod["metadata"]
    place = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
    api.merge(place, {"metadata": {"finalizers": [HELD]}})
    try:
        yield
    finally:
        api.merge(place, {"metadata": {"finalizers": None}})


def stuck(rollout: Troubled) -> int:
    """Return how many canary pods are Terminating because something holds them."""
    metadata = [pod["metadata"] for pod in rollout.pods(rollout.canary)]
    return sum("deletionTimestamp" in each and each.get("finalizers") == [HELD] for each in metadata)


def has_weight(rollout: Object) -> bool:
    """Say whether the routers give the canary what its step asks for."""
    return "acknowledgedAt" in ((rollout["status"].get("rollout") or {}).get("step") or {})


def hold_of(rollout: Object) -> str | None:
    """Return why an attempt waits."""
    hold = (rollout["status"].get("rollout") or {}).get("hold") or {}
    return hold.get("reason")


def is_in_storm(rollout: Object) -> bool:
    """Say whether nodes turn away the pods of stable, and that is told."""
    undersized = says(rollout, "Available") == ("True", "StableUndersized")
    return undersized and bool(rollout["status"].get("podStorms"))


def is_in_no_storm(rollout: Object) -> bool:
    """Say whether stable has all its pods."""
    return says(rollout, "Ready") == ("True", "Promoted") and not rollout["status"].get("podStorms")
