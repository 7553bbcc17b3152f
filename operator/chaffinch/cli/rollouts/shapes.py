"""What ``--output json`` prints: a shape of its own, kept compatible from version to version."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from chaffinch.cli.rollouts.snapshot import Snapshot


def rollout(snapshot: Snapshot) -> dict[str, Any]:
    """Return a rollout: name, namespace, phase, revisions with pods, and the status of the API as it is."""
    return {
        "name": snapshot.name,
        "namespace": snapshot.namespace,
        "phase": snapshot.phase,
        "observed": snapshot.is_observed,
        "atRest": snapshot.is_at_rest,
        "revisions": [
            {
                "revision": arm.revision,
                "role": arm.role,
                "percent": arm.percent,
                "ready": arm.ready,
                "pods": [
                    {key: value for key, value in asdict(pod).items() if key != "revision"}
                    for pod in arm.pods
                ],
            }
            for arm in snapshot.arms
        ],
        "status": snapshot.status.to_dict(),
    }


def explanation(pairs: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    """Return an explanation: a list of headings with sentences."""
    return [{"about": about, "text": text} for about, text in pairs]
