"""What a cluster's administrators put in the way of pods: a quota that is used up, a policy that refuses."""

from __future__ import annotations

import urllib.error
from collections.abc import Iterator
from contextlib import contextmanager

from chaffinch.domain.names import REVISION_LABEL
from crash.playground import Playground
from localcluster.kubectl import eventually

_SECONDS = 20
_GROUP = "admissionregistration.k8s.io/v1"


def leave_no_room(playground: Playground, namespace: str) -> None:
    """Let a quota admit no more pods than there are."""
    found = playground.api.get(f"/api/v1/namespaces/{namespace}/pods") or {"items": []}
    most = {"pods": str(len(found["items"]))}
    place = f"/api/v1/namespaces/{namespace}/resourcequotas/full"
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "full"},
        "spec": {"hard": most},
    }
    playground.api.apply(place, quota)
    eventually(
        lambda: (playground.api.get(place) or {}).get("status", {}).get("used"), _SECONDS,
        "the quota is used up", holds=lambda used: used == most,
    )  # fmt: skip


@contextmanager
def refused(playground: Playground, namespace: str, revision: str) -> Iterator[None]:
    """Let an admission policy refuse the pods of a revision for the length of the block."""
    name = f"no-{namespace}"
    pods = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    constraints = {
        "resourceRules": [pods],
        "objectSelector": {"matchLabels": {REVISION_LABEL: revision}},
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
    }
    policy = {"matchConstraints": constraints, "validations": [{"expression": "false"}]}
    binding = {"policyName": name, "validationActions": ["Deny"]}
    specs = {"ValidatingAdmissionPolicy": policy, "ValidatingAdmissionPolicyBinding": binding}
    plurals = {"ValidatingAdmissionPolicy": "policies", "ValidatingAdmissionPolicyBinding": "policybindings"}
    places = {kind: f"/apis/{_GROUP}/validatingadmission{plural}/{name}" for kind, plural in plurals.items()}
    for kind, spec in specs.items():
        document = {"apiVersion": _GROUP, "kind": kind, "metadata": {"name": name}, "spec": spec}
        playground.api.apply(places[kind], document)
    try:
        eventually(lambda: _is_refused(playground, namespace, revision), _SECONDS, "the policy is in force")
        yield
    finally:
        for place in places.values():
            playground.api.delete(place)


def _is_refused(playground: Playground, namespace: str, revision: str) -> bool:
    """Say whether a pod of a revision would be refused."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": "asks-", "labels": {REVISION_LABEL: revision}},
        "spec": {"containers": [{"name": "engine", "image": "localhost/engine:1"}]},
    }
    try:
        playground.api.create(f"/api/v1/namespaces/{namespace}/pods?dryRun=All", pod)
    except urllib.error.HTTPError as error:
        return error.code in {403, 422}
    return False
