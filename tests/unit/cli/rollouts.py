"""Rollouts, pods and records as the API server has them, for the tool to show."""

from __future__ import annotations

from typing import Any

STABLE, CANDIDATE, GONE = "58be2a01", "7c9f1d2e", "11112222"
_START = "2026-03-01T14:00:00Z"


def condition(kind: str, status: str, reason: str, message: str) -> dict[str, Any]:
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "observedGeneration": 4,
        "lastTransitionTime": _START,
    }


OBJECTIVES = [
    {
        "name": "ttft-p95",
        "verdict": "Inconclusive",
        "reason": "Judging",
        "value": "246ms",
        "control": "241ms",
        "ratio": "1.02",
        "interval": "0.97..1.08",
        "limit": "1.05",
        "samples": {"candidate": 231, "stable": 924},
        "eta": "2026-03-01T14:03:40Z",
        "step": "canary-20",
        "message": "ttft p95 1.02x stable (0.97..1.08; limit 1.05x), n 231/924: undecided",
    },
    {
        "name": "errors",
        "verdict": "Pass",
        "reason": "Sufficient",
        "value": "0.02%",
        "limit": "0.30%",
        "samples": {"candidate": 231},
        "step": "canary-20",
        "message": "errorRate 0.02% (0.00%..0.29%; limit 0.30%), n 231: pass, no harm beside stable;"
        " its limit is not proven.",
    },
]


def rollout(name: str = "chat", **status: object) -> dict[str, Any]:
    """A rollout in the middle of its third step."""
    return {
        "apiVersion": "chaffinch.dev/v1alpha1",
        "kind": "InferenceRollout",
        "metadata": {"name": name, "namespace": "llm", "generation": 4, "uid": "u"},
        "spec": {
            "model": {"name": "chat", "source": "example/chat-1b"},
            "engine": {"image": "registry.example/engine:2"},
            "replicas": 2,
            "pod": {"resources": {"limits": {"nvidia.com/gpu": "1"}}},
            "objectives": [{"name": "errors", "metric": "errorRate", "max": "0.3%"}],
        },
        "status": _stepping() | status,
    }


def _stepping() -> dict[str, Any]:
    return {
        "observedGeneration": 4,
        "phase": "Progressing",
        "stable": {"revision": STABLE, "since": _START, "replicas": 2, "ready": 2},
        "candidate": {
            "revision": CANDIDATE,
            "attempt": 3,
            "replicas": 1,
            "ready": 1,
            "warm": [{"name": f"chat-{CANDIDATE}-c", "restarts": 0}],
        },
        "rollout": {
            "id": f"{CANDIDATE}-a3",
            "stage": "Stepping",
            "startedAt": _START,
            "step": {
                "name": "canary-20",
                "index": 2,
                "of": 5,
                "require": "NoHarm",
                "enteredAt": _START,
                "acknowledgedAt": _START,
                "earliestEnd": "2026-03-01T14:05:00Z",
            },
        },
        "attempts": 3,
        "traffic": {
            "sequence": 9,
            "acknowledged": 9,
            "routers": 2,
            "weight": {"step": 2000, "desired": 2000, "observed": 2000, "percent": "20%"},
        },
        "objectives": OBJECTIVES,
        "conditions": [
            condition("Available", "True", "StableServing", "80% on 58be2a01 (2 pods). Do: nothing."),
            condition("Ready", "False", "RolloutInProgress", "7c9f1d2e is being rolled out."),
            condition("Reconciling", "True", "Stepping", "Step 3/5 canary-20: 20% on 7c9f1d2e. Do: nothing."),
            condition("Stalled", "False", "AsExpected", "Do: nothing."),
        ],
    }


def healthy(name: str = "quiet") -> dict[str, Any]:
    body = rollout(name)
    status = body["status"]
    for key in ("candidate", "rollout", "objectives"):
        del status[key]
    del status["traffic"]["weight"]
    status["phase"] = "Healthy"
    status["conditions"] = [
        condition("Available", "True", "StableServing", "100% on 58be2a01 (2 pods). Do: nothing."),
        condition("Ready", "True", "Promoted", "100% on 58be2a01 (2 pods). Do: nothing."),
    ]
    return body


def rolled_back(name: str = "chat") -> dict[str, Any]:
    body = healthy(name)
    why = "7c9f1d2e was rolled back at 14:07:31Z: ttft p95 1.29x stable, n 1180/4720."
    body["status"]["phase"] = "Degraded"
    body["status"]["conditions"] = [
        condition("Available", "True", "StableServing", "100% on 58be2a01 (2 pods). Do: nothing."),
        condition("Ready", "False", "RolledBack", why),
        condition("Stalled", "True", "RolledBack", f"{why} Not retried."),
        condition("Promoted", "False", "ObjectiveFailed", why),
    ]
    return body


def pod(
    name: str, revision: str, *, ready: bool = True, restarts: int = 0, **engine: object
) -> dict[str, Any]:
    return {
        "metadata": {
            "name": name,
            "labels": {
                "chaffinch.dev/rollout": "chat",
                "chaffinch.dev/revision": revision,
                "app.kubernetes.io/component": "engine",
            },
        },
        "status": {
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
            "containerStatuses": [{"name": "engine", "restartCount": restarts, **engine}],
        },
    }


PODS = [
    pod(f"chat-{STABLE}-a", STABLE),
    pod(f"chat-{STABLE}-b", STABLE, restarts=1),
    pod(f"chat-{CANDIDATE}-c", CANDIDATE),
    pod(
        f"chat-{GONE}-d",
        GONE,
        ready=False,
        state={"waiting": {"reason": "CrashLoopBackOff"}},
    ),
]


def record(attempt: int = 3, **status: object) -> dict[str, Any]:
    step = {
        "name": "canary-20",
        "kind": "canary",
        "index": 2,
        "weight": 2000,
        "enteredAt": _START,
        "acknowledgedAt": "2026-03-01T14:00:02Z",
        "objectives": OBJECTIVES,
    }
    return {
        "apiVersion": "chaffinch.dev/v1alpha1",
        "kind": "RolloutRecord",
        "metadata": {
            "name": f"chat-{CANDIDATE}-a{attempt}",
            "namespace": "llm",
            "labels": {"chaffinch.dev/rollout": "chat"},
        },
        "spec": {
            "rollout": "chat",
            "rolloutUid": "u",
            "revision": CANDIDATE,
            "attempt": attempt,
            "stable": STABLE,
            "startedAt": _START,
            "frozen": '{"engine":{"image":"registry.example/engine:2"},"model":{"name":"chat"}}',
            "plan": '{"objectives":[{"max":"0.3%","metric":"errorRate","name":"errors"}],'
            '"steps":[{"canary":{"for_seconds":300,"name":"canary-20","weight":2000}}]}',
        },
        "status": {
            "outcome": "RolledBack",
            "cause": "Aborted",
            "message": "aborted by ada@example.org: <script>alert(1)</script> | wrong model",
            "decidedAt": "2026-03-01T14:07:30Z",
            "endedAt": "2026-03-01T14:07:31Z",
            "steps": [step],
            "holds": [
                {
                    "reason": "NoData",
                    "since": "2026-03-01T14:00:05Z",
                    "until": "2026-03-01T14:00:25Z",
                    "step": "canary-20",
                    "message": "no router has counted the step's first block yet",
                }
            ],
            "commands": [
                {
                    "name": "chat-abort-x7k2p",
                    "action": "Abort",
                    "by": "ada@example.org",
                    "reason": "wrong model",
                    "at": "2026-03-01T14:07:30Z",
                    "outcome": "Accepted",
                    "message": "7c9f1d2e is being rolled back",
                }
            ],
        }
        | status,
    }
