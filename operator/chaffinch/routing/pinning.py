"""Keeps the routers of a rollout as they are until its next attempt.

A new version of the operator, or a change of its settings, makes another pod template. Applied at once it
would restart the routers of every rollout at the same time, and close clients' connections without any
need. The live template is kept instead; it moves when an attempt starts, before the canary has any traffic.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Mapping
from typing import Any

Manifest = dict[str, Any]
TEMPLATE_ANNOTATION = "chaffinch.dev/router-template"
"""On the router's Deployment: a digest of the pod template that it was last written with."""


def template_digest(template: Mapping[str, Any]) -> str:
    """Return a short digest of a pod template as we build it, without what the API server adds to it."""
    text = json.dumps(template, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def pinned(deployment: Mapping[str, Any], live: Mapping[str, Any] | None) -> Manifest:
    """Return a router's Deployment with the pod template that is live, if that is of another make.

    Where the digest is the same the built template stays, so that foreign changes of it are undone.

    Args:
        deployment: As it is built now.
        live: As the API server has it; None if it does not exist.
    """
    made = None if live is None else live["metadata"].get("annotations", {}).get(TEMPLATE_ANNOTATION)
    if live is None or made == deployment["metadata"]["annotations"][TEMPLATE_ANNOTATION]:
        return dict(deployment)
    kept = copy.deepcopy(dict(deployment))
    annotations = kept["metadata"]["annotations"]
    kept["spec"]["template"] = copy.deepcopy(live["spec"]["template"])
    del annotations[TEMPLATE_ANNOTATION]
    if made is not None:
        annotations[TEMPLATE_ANNOTATION] = made
    return kept
