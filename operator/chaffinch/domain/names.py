"""Who a rollout is, and what its children carry: labels, owner, and the names of an attempt's probes.

Names are derived, never stored, so that every place that refers to a child derives the same one; the
names that users meet are in :mod:`chaffinch.api.v1alpha1.names`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from chaffinch.api.v1alpha1.common import API_VERSION
from chaffinch.api.v1alpha1.names import load_probe_name

MANAGED_BY = "chaffinch"
MANAGED_BY_LABEL = "app.kubernetes.io/managed-by"
COMPONENT_LABEL = "app.kubernetes.io/component"
ROLLOUT_LABEL = "chaffinch.dev/rollout"
REVISION_LABEL = "chaffinch.dev/revision"

_REVISION = re.compile(r"[0-9a-f]{8}")
_WARM_UP = re.compile(r"-[0-9a-f]{8}-a\d+-w\d+$")


@dataclass(frozen=True, slots=True)
class RolloutIdentity:
    """One rollout object, told apart from a later one of the same name by its uid."""

    namespace: str
    name: str
    uid: str


def step_probe_name(rollout: str, revision: str, attempt: int, step: int, run: int = 1) -> str:
    """Name the LoadProbe of a step (counted from 0); a second run of it (``run`` > 1) says so."""
    again = f"-{run}" if run > 1 else ""
    return load_probe_name(rollout, revision, attempt=attempt, step=step) + again


def warm_up_name(rollout: str, revision: str, attempt: int, serial: int) -> str:
    """Name the ``serial``-th LoadProbe (from 1) that warms pods in an attempt."""
    return f"{rollout}-{revision}-a{attempt}-w{serial}"


def last_warm_up(names: Iterable[str], rollout: str, revision: str, attempt: int) -> int:
    """Return the highest serial among the warm-ups of an attempt that LoadProbes are named after; 0: none."""
    begin = warm_up_name(rollout, revision, attempt, 0).removesuffix("0")
    serials = (name.removeprefix(begin) for name in names if name.startswith(begin))
    return max((int(serial) for serial in serials if serial.isdecimal()), default=0)


def is_warm_up_name(name: str) -> bool:
    """Say whether a LoadProbe of this name was made to warm pods."""
    return _WARM_UP.search(name) is not None


def is_revision(text: str) -> bool:
    """Say whether a text has the form of a revision: 8 lower-case hexadecimal digits."""
    return _REVISION.fullmatch(text) is not None


def child_labels(rollout: str, component: str, revision: str | None = None) -> dict[str, str]:
    """Return the labels of a child; nothing is ever copied from the rollout object itself."""
    labels = {MANAGED_BY_LABEL: MANAGED_BY, COMPONENT_LABEL: component, ROLLOUT_LABEL: rollout}
    return labels if revision is None else labels | {REVISION_LABEL: revision}


def owner_reference(rollout: RolloutIdentity) -> dict[str, object]:
    """Return the controller reference that makes a child go when its rollout goes."""
    return {
        "apiVersion": API_VERSION,
        "kind": "InferenceRollout",
        "name": rollout.name,
        "uid": rollout.uid,
        "controller": True,
        "blockOwnerDeletion": False,
    }
