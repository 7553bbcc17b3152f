"""What children take over from their rollout, and what becomes of them with it (case C03).

A tool such as Argo CD marks the objects that it knows from Git, and prunes what carries its mark and is not
in Git. Nothing that Chaffinch makes may carry it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from e2e.story import KIND, Story, restarts
from localcluster.kubectl import eventually
from stage.inventory import Inventory, everything, name_of
from stage.kubectl import Object, has_condition, says
from stage.prometheus import series
from stage.service import QUICK_OBJECTIVES, QUICK_STEPS, Service, load_probe

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
FOREIGN = {
    "labels": {
        "app.kubernetes.io/instance": "chat-app",
        "argocd.argoproj.io/instance": "chat-app",
        "team": "nlp",
    },
    "annotations": {
        "argocd.argoproj.io/tracking-id": "chat-app:chaffinch.dev/InferenceRollout:llm/chat",
        "argocd.argoproj.io/sync-wave": "3",
    },
}
FOREIGN_TEXTS = ("argocd.argoproj.io/", "chat-app", LAST_APPLIED, '"nlp"')

ROLLOUT, PROBE, BASELINE = "InferenceRollout/chat", "LoadProbe/chat-measured", "InferenceBaseline/chat-v1"
APPLIED = {ROLLOUT, PROBE}
"""What the user applied: kubectl itself writes the whole manifest into an annotation of these."""

OF_THE_ROLLOUT = {
    "ConfigMap", "ControllerRevision", "Deployment", "EndpointSlice", "Job", "LoadProbe", "Pod",
    "PodDisruptionBudget", "ReplicaSet", "Role", "RoleBinding", "Service", "ServiceAccount",
}  # fmt: skip

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
GONE_SECONDS = 60
SCRAPED_SECONDS = 30


def test_children_carry_nothing_foreign_and_go_with_their_rollout_but_for_its_baseline(story: Story) -> None:
    service = Service(story.namespace, steps=QUICK_STEPS, objectives=QUICK_OBJECTIVES, metadata=FOREIGN)
    seen = Inventory(story.kubectl)
    story.given_stable(service)
    frozen = when_a_baseline_is_frozen(story, service)
    then_prometheus_shows(frozen, story.namespace)

    with story.users(service):
        story.when_applied(service.version("--sim-seed=2"))
        story.until_step(service, "canary-50")
        seen.look()
        rollout = story.until_attempt_ends(service, 2)
        seen.look()
    assert says(rollout, "Promoted") == ("True", "AsExpected")
    assert {*FOREIGN["annotations"], LAST_APPLIED} <= rollout["metadata"]["annotations"].keys()

    then_nothing_foreign_was_taken_over(seen)
    then_every_child_has_its_owner(seen)
    then_a_label_changes_nothing(story, service)
    when_a_command_is_refused(story, service)
    then_only_the_baseline_outlives_them(story)


def when_a_baseline_is_frozen(story: Story, service: Service) -> Object:
    """Let the operator freeze what a LoadProbe measures, one that is marked as well; return the baseline."""
    probe = load_probe(service, "chat-measured", profile="smoke/v1")
    probe["metadata"] |= FOREIGN
    probe["spec"]["freeze"] = {"name": "chat", "version": "v1"}
    story.kubectl.apply(probe)
    story.kubectl.until(
        "loadprobe", "chat-measured", lambda found: has_condition(found, "Frozen", "True"),
        seconds=120, what="Frozen",
    )  # fmt: skip
    found = story.kubectl.get("inferencebaseline", "chat-v1")
    assert found is not None
    return found


def then_prometheus_shows(frozen: Object, namespace: str) -> None:
    """The figures of the gate stage can be drawn, under the baseline's version."""
    spec = frozen["spec"]
    gate = next(stage for stage in spec["stages"] if stage["name"] == spec["gateStage"])
    assert gate["sketches"].keys() == {"ttft", "e2e", "tpot"}
    latencies = {
        (spec["name"], spec["version"], metric, quantile): quantile_of(sketch, share)
        for metric, sketch in gate["sketches"].items()
        for quantile, share in QUANTILES.items()
    }
    errors = {(spec["name"], spec["version"]): gate["errors"] / gate["requests"]}

    identity = ("baseline", "baseline_version")
    for metric, labels, figures in (
        ("chaffinch_baseline_latency_seconds", (*identity, "metric", "quantile"), latencies),
        ("chaffinch_baseline_error_ratio", identity, errors),
    ):
        selector = f'{metric}{{baseline_namespace="{namespace}"}}'
        shown = eventually(partial(series, selector), SCRAPED_SECONDS, f"Prometheus has {selector}")
        assert by_labels(shown, labels) == figures


def quantile_of(sketch: str, share: float) -> float:
    """Return the upper edge, in seconds, of the bucket in which a share of the counts is reached.

    Buckets are as the baseline's documentation has them: ``index:count``, edges at 1 ms times the square
    root of 1.05 to the power of the index.
    """
    counts = [tuple(map(int, pair.split(":"))) for pair in sketch.split()]
    missing = math.ceil(share * sum(count for _, count in counts))
    for bucket, count in counts:
        missing -= count
        if missing <= 0:
            return to_the_nanosecond(0.001 * math.pow(1.05, bucket / 2))
    raise AssertionError("the sketch is empty")


def by_labels(
    found: Iterable[tuple[Mapping[str, str], float]], labels: tuple[str, ...]
) -> dict[tuple[str, ...], float]:
    """Return values by the values of some labels."""
    return {tuple(each[label] for label in labels): to_the_nanosecond(value) for each, value in found}


def to_the_nanosecond(seconds: float) -> float:
    """Return a time without the last digits, in which two ways of computing it may differ."""
    return round(seconds, 9)


def then_nothing_foreign_was_taken_over(seen: Inventory) -> None:
    """No object but what the user applied has the foreign marks, wherever in it."""
    texts = {
        name_of(each): json.dumps(each) for each in seen.objects.values() if name_of(each) not in APPLIED
    }
    marked = {name: [mark for mark in FOREIGN_TEXTS if mark in text] for name, text in texts.items()}
    assert {name: marks for name, marks in marked.items() if marks} == {}


def then_every_child_has_its_owner(seen: Inventory) -> None:
    """The chains of controllers end at what the user applied, but for the baseline, which has no owner."""
    kinds: dict[str, set[str]] = {}
    for child in seen.objects.values():
        root = seen.root_of(child)
        assert root is not None, f"an owner of {name_of(child)} was never there"
        kinds.setdefault(name_of(root), set()).add(child["kind"])
    of_the_rollout = kinds.pop(ROLLOUT)
    assert kinds == {BASELINE: {"InferenceBaseline"}, PROBE: {"LoadProbe", "Job", "Pod"}}
    assert of_the_rollout >= OF_THE_ROLLOUT


def then_a_label_changes_nothing(story: Story, service: Service) -> None:
    """A label of the rollout makes no revision, changes no Deployment and restarts no pod."""
    before = what_runs(story, service)
    story.kubectl("label", KIND, service.name, "team=search", "--overwrite")
    # A label makes no generation. The operator has seen it when it has looked at a later edit.
    edited = [dict(QUICK_OBJECTIVES[0], max="900ms"), QUICK_OBJECTIVES[1]]
    patch = json.dumps({"spec": {"objectives": edited}})
    story.kubectl("patch", KIND, service.name, "--type=merge", f"--patch={patch}")
    rollout = story.kubectl.until(
        KIND, service.name,
        lambda found: found["status"]["observedGeneration"] == found["metadata"]["generation"],
        seconds=60, what="looked at",
    )  # fmt: skip
    assert rollout["metadata"]["labels"]["team"] == "search"
    assert what_runs(story, service) == before


def what_runs(story: Story, service: Service) -> dict[str, Any]:
    """Return what a new revision, a changed Deployment or a restarted pod would change."""
    status = story.rollout(service)["status"]
    revision = status["stable"]["revision"]
    deployments = {name_of(each): each for each in story.kubectl.list("deployments")}
    pods = story.engine_pods(revision) + list(
        story.kubectl.list("pods", "--selector=app.kubernetes.io/component=router")
    )
    return {
        "attempts": status["attempts"],
        "revisions": sorted(map(name_of, story.kubectl.list("controllerrevisions"))),
        "templates": {name: each["spec"]["template"] for name, each in deployments.items()},
        "pods": {pod["metadata"]["uid"] for pod in pods},
        "restarts": restarts(pods),
    }


def when_a_command_is_refused(story: Story, service: Service) -> None:
    """Somebody asks for what nothing can be done about now, and is told so; the answer can be read on."""
    spec = {
        "rollout": service.name,
        "revision": story.rollout(service)["status"]["stable"]["revision"],
        "action": "Abort",
        "requestedBy": "alice",
    }
    command = {"kind": "RolloutCommand", "metadata": {"name": "abort"}, "spec": spec}
    story.kubectl(
        "create", "--as=alice", "--as-group=system:masters", "--filename=-",
        stdin=json.dumps({"apiVersion": "chaffinch.dev/v1alpha1", **command}),
    )  # fmt: skip
    story.kubectl.until(
        "rolloutcommand", "abort", lambda found: found.get("status", {}).get("outcome") == "Refused",
        seconds=30, what="refused",
    )  # fmt: skip


def then_only_the_baseline_outlives_them(story: Story) -> None:
    """Whoever deletes the rollout and the probe finds nothing left but what was frozen, soon."""
    story.kubectl("delete", KIND, "chat")
    story.kubectl("delete", "loadprobe", "chat-measured")
    eventually(
        lambda: {name_of(each) for each in everything(story.kubectl)}, GONE_SECONDS,
        "all but the baseline is gone", every=2, holds=lambda left: left == {BASELINE},
    )  # fmt: skip
