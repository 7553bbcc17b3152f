"""What ``--output json`` prints of rollouts: shapes of their own, kept compatible from version to version."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from chaffinch.api.v1alpha1.common import format_time
from chaffinch.cli.output import Shape
from chaffinch.cli.rollouts.records import Record
from chaffinch.cli.rollouts.snapshot import Arm, Snapshot

_SUMMARY_KEYS = {
    "name": "the rollout",
    "namespace": "its namespace",
    "phase": "`Healthy`, `Progressing`, `Paused` or `Degraded`",
    "observed": "whether the status speaks of the generation that is applied",
    "atRest": "whether nothing goes on by itself",
    "revisions[].revision": "hash of a revision",
    "revisions[].role": "`stable`, `candidate` or `leaving`",
    "revisions[].percent": "its share of the traffic",
    "status": "the status of the InferenceRollout as it is, with all that the API reference names: each"
    " objective's `eta` (its next look), `rollout.decision.command` (by which a person decided)",
}
_POD_KEYS = {
    "revisions[].ready": "how many of its pods are Ready",
    "revisions[].pods[].name": "a pod of it",
    "revisions[].pods[].ready": "whether it is Ready",
    "revisions[].pods[].restarts": "restarts of its engine",
    "revisions[].pods[].warm": "whether it is warmed up; null where that does not matter",
    "revisions[].pods[].trouble": "why its engine does not run, or null",
}
ROLLOUT = Shape(
    "An object; with `--watch` another one after each change, beginning on a new line.",
    _SUMMARY_KEYS | _POD_KEYS,
)
ROLLOUTS = Shape("A list, by namespace and name.", _SUMMARY_KEYS)
EXPLANATION = Shape(
    "A list, in the order in which it is to be read.",
    {"about": "what it is about: `users`, `now`, `to do`, `you can`, a reason", "text": "a sentence"},
)
HISTORY = Shape(
    "A list, the oldest attempt first.",
    {
        "attempt": "its number",
        "revision": "the revision that was tried",
        "outcome": "`Promoted`, `RolledBack`, `Superseded`, `Unknown`, or `Running`",
        "cause": "the reason, or null",
        "startedAt": "when it began",
        "seconds": "how long it took; null while it runs",
        "commandedBy": "who gave commands in it, each once",
    },
)
REPORT = Shape(
    "An object.",
    {
        "spec": "what the attempt began with: the RolloutRecord's spec",
        "status": "what came of it: the RolloutRecord's status",
    },
)
COMMAND = Shape(
    "An object, when there is an answer or none is waited for any longer.",
    {
        "name": "the RolloutCommand that was made",
        "namespace": "its namespace",
        "rollout": "the rollout",
        "revision": "the revision that it is about",
        "action": "`Abort`, `Promote`, `Approve`, `Pause`, `Resume` or `Retry`",
        "step": "the step that it approves; null of other actions",
        "outcome": "`Accepted` or `Refused`; null without an answer",
        "reason": "the reason of the answer, or null",
        "message": "the answer in a sentence, or null",
        "at": "when it was answered, or null",
    },
)


def rollout(snapshot: Snapshot) -> dict[str, Any]:
    """Return a rollout with the pods of its revisions."""
    return _rollout(snapshot, _with_pods)


def summary(snapshot: Snapshot) -> dict[str, Any]:
    """Return a rollout of which no pods have been read."""
    return _rollout(snapshot, _revision)


def _rollout(snapshot: Snapshot, revision: Callable[[Arm], dict[str, Any]]) -> dict[str, Any]:
    return {
        "name": snapshot.name,
        "namespace": snapshot.namespace,
        "phase": snapshot.phase,
        "observed": snapshot.is_observed,
        "atRest": snapshot.is_at_rest,
        "revisions": [revision(arm) for arm in snapshot.arms],
        "status": snapshot.status.to_dict(),
    }


def _revision(arm: Arm) -> dict[str, Any]:
    return {"revision": arm.revision, "role": arm.role, "percent": arm.percent}


def _with_pods(arm: Arm) -> dict[str, Any]:
    pods = [{key: value for key, value in asdict(pod).items() if key != "revision"} for pod in arm.pods]
    return {**_revision(arm), "ready": arm.ready, "pods": pods}


def explanation(pairs: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    """Return an explanation: a list of headings with sentences."""
    return [{"about": about, "text": text} for about, text in pairs]


def history(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Return the attempts of a rollout."""
    return [
        {
            "attempt": each.spec.attempt,
            "revision": each.spec.revision,
            "outcome": each.outcome,
            "cause": each.status.cause,
            "startedAt": format_time(each.spec.started_at),
            "seconds": each.seconds,
            "commandedBy": list(each.commanded_by),
        }
        for each in records
    ]


def report(record: Record) -> dict[str, Any]:
    """Return an attempt, as its record has it."""
    return {"spec": record.body["spec"], "status": record.body.get("status") or {}}


def command(made: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return a command with its answer.

    Args:
        made: The RolloutCommand as it was made.
        answer: Its status; empty without an answer.
    """
    asked, metadata = made["spec"], made["metadata"]
    return {
        "name": metadata["name"],
        "namespace": metadata["namespace"],
        **{key: asked.get(key) for key in ("rollout", "revision", "action", "step")},
        **{key: answer.get(key) for key in ("outcome", "reason", "message", "at")},
    }
