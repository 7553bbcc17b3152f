"""What starts a rollout and what does not (case C34), asked of a real API server and its controllers."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from chaffinch.adapters.cluster import FIELD_MANAGER
from chaffinch.api.v1alpha1.parse import parse_rollout
from chaffinch.domain.revision import revision_of
from crash.history import normalised
from crash.one_rollout import OneRollout, plan
from crash.operator_process import OperatorProcess
from crash.playground import NAME, Playground
from crash.rollouts import FIRST, OBJECTIVES, STEPS, service
from faultproxy import Answer, Calls, Delay, FaultProxy, Rule
from faultproxy.journal import Entry, writes
from faultproxy.rules import Fault
from stage.kubectl import condition

ANSWER_SECONDS = 2.0
SETTINGS = {"CHAFFINCH_KUBE_REQUEST_TIMEOUT": str(ANSWER_SECONDS), "CHAFFINCH_LEASE_NAME": "edits"}
LOOKS = 2  # the first may have begun before the edit

_READ = frozenset({"get", "list"})
ALL_READS = Calls(_READ, without=frozenset({"leases"}))
READS_OF_CHILDREN = Calls(_READ, without=frozenset({"leases", "inferencerollouts"}))
REFUSED = Answer(500, "InternalError")
TOO_LATE = Delay(1.5 * ANSWER_SECONDS)

LIMITS = {"cpu": "1000m", "memory": "1024Mi", "nvidia.com/gpu": "4"}
IMAGE = "registry.example/engine@sha256:" + "1" * 64
NEVER_ENDING = [*STEPS[:2], {"name": "canary-50", "canary": {"weight": 50, "for": "1h"}}, STEPS[3]]
STRICTER = [dict(OBJECTIVES[0], max="700ms")]

OF_NO_EFFECT: Sequence[dict[str, Any]] = (
    {"spec": {"pod": {"resources": {"limits": {"cpu": "1"}}}}},
    {"spec": {"pod": {"resources": {"limits": {"memory": "1Gi"}}}}},
    {"spec": {"pod": {"resources": {"limits": {"nvidia.com/gpu": 4}}}}},
    {"spec": {"pod": {"tolerations": []}}},
    {"spec": {"strategy": {"steps": NEVER_ENDING}}},
)
"""Edits that say the same, or what only the next attempt asks."""

AT_REST = (
    "Replicas are in force at once; objectives, strategy, baseline and onFailure are what the next attempt "
    "will be held to."
)


def manifest(namespace: str) -> dict[str, Any]:
    """Return the first version, with something of all that is edited."""
    body = service(namespace, FIRST).manifest()
    body["spec"]["engine"] = {
        "image": IMAGE,
        "args": {"tensorParallelSize": 4},
        "extraArgs": ["--seed=1", "--swap-space=2"],
        "env": [{"name": "HF_HOME", "value": "/models"}],
    }
    body["spec"]["pod"] = {"resources": {"limits": dict(LIMITS)}}
    return body


@dataclass(frozen=True)
class Scene:
    """A rollout that serves its first version, and its operator."""

    rollout: OneRollout
    proxy: FaultProxy
    operator: OperatorProcess

    def edited(self, document: dict[str, Any]) -> list[str]:
        """Make an edit, wait until the operator has looked at it, and return what it wrote because of it."""
        mark = time.monotonic()
        self.rollout.edit(document)
        self.rollout.until_observed()
        self.until_looked_at_since(mark)
        return [str(one.call) for one in self.writes_since(mark)]

    @property
    def status_patch(self) -> str:
        """The write by which the operator says something of the rollout."""
        return f"patch inferencerollouts/status {self.rollout.namespace} {NAME}"

    def route(self) -> dict[str, Any]:
        """Return the route that is stored."""
        stored = self.rollout.child("configmaps", f"{NAME}-router")
        return dict(json.loads(stored["data"]["route.json"]))

    def until_looked_at_since(self, mark: float, looks: int = LOOKS) -> None:
        """Wait until passes have begun and found all that they asked for."""
        deadline = time.monotonic() + 60
        while len([one for one in self._calls_since(mark) if _is_whole_look(one)]) < looks:
            assert time.monotonic() < deadline, self.operator.last_words()
            time.sleep(0.1)

    def writes_since(self, mark: float) -> list[Entry]:
        """Return what was written to the namespace since a moment."""
        return list(writes(self._calls_since(mark)))

    def _calls_since(self, mark: float) -> list[Entry]:
        found = self.proxy.journal.of_namespace(self.rollout.namespace)
        return [one for one in found if one.at >= mark and one.agent == FIELD_MANAGER]

    @contextmanager
    def trouble(self, reads: Calls, fault: Fault) -> Iterator[Rule]:
        """Let reads meet a fault."""
        rule = self.proxy.script.add(Rule(reads, fault, count=None))
        try:
            yield rule
        finally:
            self.proxy.script.clear()


def _is_whole_look(entry: Entry) -> bool:
    # Commands are what a pass reads last, whatever the rollout is at.
    return entry.call.resource == "rolloutcommands" and entry.status == 200


@pytest.fixture(scope="module")
def scene(playground: Playground) -> Iterator[Scene]:
    """One rollout for all tests of this file; each leaves it serving the first version, at rest."""
    with playground.attended(**SETTINGS) as (namespace, proxy, operator):
        operator.start()
        rollout = OneRollout(playground.api, namespace)
        rollout.apply(manifest(namespace))
        rollout.until_ready()
        playground.until_quiet(proxy, namespace)
        yield Scene(rollout, proxy, operator)


def test_edits_that_change_no_field_of_the_spec_are_not_even_answered(scene: Scene) -> None:
    before, status = scene.rollout.footprint(), scene.rollout.read()["status"]
    limits = scene.rollout.read()["spec"]["pod"]["resources"]["limits"]
    for edit in (
        {"metadata": {"labels": {"team": "search"}}},
        {"metadata": {"annotations": {"example.com/note": "checked"}}},
        {"spec": {"pod": {"resources": {"limits": dict(reversed(limits.items()))}}}},
    ):
        assert scene.edited(edit) == []
    assert (scene.rollout.footprint(), scene.rollout.read()["status"]) == (before, status)


def test_edits_that_change_nothing_that_runs_are_answered_by_one_status(scene: Scene) -> None:
    before, status = scene.rollout.footprint(), normalised(scene.rollout.read()["status"])
    for edit in OF_NO_EFFECT:
        assert scene.edited(edit) == [scene.status_patch]
    assert scene.rollout.footprint() == before
    edited = scene.rollout.read()
    assert normalised(edited["status"]) == status
    applied = condition(edited, "SpecApplied")
    assert (applied["status"], applied["message"]) == ("True", AT_REST)


def test_an_edit_of_an_objective_changes_only_where_routers_count(scene: Scene) -> None:
    before, route = scene.rollout.footprint(), scene.route()
    written = scene.edited({"spec": {"objectives": STRICTER}})
    assert set(written) == {scene.status_patch, f"update configmaps {scene.rollout.namespace} {NAME}-router"}
    after, counted = scene.rollout.footprint(), scene.route()
    assert {name for name in after if after[name] != before.get(name)} == {f"configmaps {NAME}-router"}
    assert {field for field in counted if counted[field] != route[field]} == {"sequence", "edges"}


def test_replicas_only_scale(scene: Scene) -> None:
    stable = scene.rollout.read()["status"]["stable"]["revision"]
    pods, routers = scene.rollout.uids("engine"), scene.rollout.uids("router")
    route = scene.rollout.child("configmaps", f"{NAME}-router")
    scene.rollout.edit({"spec": {"replicas": 3}})
    scene.rollout.until(lambda one: one["status"]["stable"]["ready"] == 3, "with three pods")
    more = scene.rollout.uids("engine", stable)
    assert (len(more), more > pods) == (3, True)
    scene.rollout.edit({"spec": {"replicas": 2}})
    edited = scene.rollout.until(lambda one: one["status"]["stable"]["ready"] == 2, "with two pods")
    assert scene.rollout.uids("engine") < more
    assert scene.rollout.uids("router") == routers
    assert scene.rollout.child("configmaps", f"{NAME}-router") == route
    assert (edited["status"]["attempts"], edited["status"]["stable"]["revision"]) == (1, stable)


@pytest.mark.parametrize(
    ("reads", "fault", "seconds"),
    [
        pytest.param(ALL_READS, REFUSED, 3, id="500"),
        pytest.param(READS_OF_CHILDREN, REFUSED, 3, id="500 of children"),
        pytest.param(ALL_READS, TOO_LATE, 5, id="timeout"),
        pytest.param(ALL_READS, REFUSED, 60, id="500 for a minute", marks=pytest.mark.full),
        pytest.param(ALL_READS, TOO_LATE, 60, id="timeout for a minute", marks=pytest.mark.full),
    ],
)
def test_a_read_that_fails_is_never_a_change(
    scene: Scene, reads: Calls, fault: Fault, seconds: float
) -> None:
    before, status = scene.rollout.footprint(), normalised(scene.rollout.read()["status"])
    mark = time.monotonic()
    with scene.trouble(reads, fault) as rule:
        scene.rollout.edit({"metadata": {"annotations": {"example.com/note": str(mark)}}})
        time.sleep(seconds)
        met = rule.met
    scene.until_looked_at_since(time.monotonic())
    assert met >= LOOKS
    assert scene.writes_since(mark) == []
    assert (scene.rollout.footprint(), normalised(scene.rollout.read()["status"])) == (before, status)


def test_edits_of_what_runs_begin_a_rollout_each(scene: Scene) -> None:
    rollout = scene.rollout
    first = manifest(rollout.namespace)["spec"]["engine"]
    rollout.edit({"spec": {"objectives": STRICTER, "strategy": {"steps": NEVER_ENDING}}})
    attempts = rollout.read()["status"]["attempts"]
    revisions = {rollout.read()["status"]["stable"]["revision"]}
    for engine in (
        {"image": IMAGE.replace("1", "2")},
        {"args": {"maxNumSeqs": 64}},
        {"env": [{"name": "HF_HOME", "value": "/cache"}]},
        {"extraArgs": list(reversed(first["extraArgs"]))},
    ):
        attempts += 1
        rollout.edit({"spec": {"engine": engine}})
        begun = rollout.until_attempt(attempts)
        candidate = begun["status"]["candidate"]["revision"]
        assert candidate == revision_of(parse_rollout(begun))
        assert candidate not in revisions
        revisions.add(candidate)
        # What was edited at rest is what this attempt is held to.
        assert [one["max"] for one in plan(begun)["objectives"]] == ["700ms"]
    then_an_edit_of_its_objectives_waits(scene, attempts)
    then_the_first_version_serves_again(scene, attempts)


def then_an_edit_of_its_objectives_waits(scene: Scene, attempt: int) -> None:
    scene.rollout.edit({"spec": {"objectives": list(OBJECTIVES)}})
    edited = scene.rollout.until_observed()
    applied = condition(edited, "SpecApplied")
    assert (applied["status"], applied["reason"], applied["message"]) == (
        "False", "NextAttempt", f"Changes of objectives take effect when attempt {attempt} is over."
    )  # fmt: skip
    assert edited["status"]["attempts"] == attempt
    assert [one["max"] for one in plan(edited)["objectives"]] == ["700ms"]


def then_the_first_version_serves_again(scene: Scene, attempts: int) -> None:
    first = manifest(scene.rollout.namespace)["spec"]["engine"]
    scene.rollout.edit({"spec": {"engine": {**first, "args": {"tensorParallelSize": 4, "maxNumSeqs": None}}}})
    status = scene.rollout.until_ready()["status"]
    assert (status["attempts"], status["lastAttempt"]["outcome"]) == (attempts, "Superseded")
