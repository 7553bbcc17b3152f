"""The operator needs every right that the chart grants it, and no other.

This runs after all stories and looks back at them. What they made it use is counted: alone, or after a few,
that fails. What it was refused between stories, where none of them looks, is counted as well, unless it had
lost its roles: when a story removes the chart, or the only namespace that it was installed for.
"""

from __future__ import annotations

from localcluster.settings import Settings
from oracle.rights import granted, refused, used
from stage.install import NAMESPACE, OPERATOR_USER, RELEASE
from stage.kubectl import Kubectl, Object

HANDED_ON = "is handed to the agents of routers, and nobody can hand on what they do not have"
BINDINGS = {f"{RELEASE}-operator", f"{RELEASE}-lease"}
NOT_USED_BY_ANY_STORY = {
    "get endpointslices.discovery.k8s.io": HANDED_ON,
    "list endpointslices.discovery.k8s.io": HANDED_ON,
    "watch endpointslices.discovery.k8s.io": HANDED_ON,
}
"""What the operator itself does not use, and why it is needed."""


def test_no_right_is_granted_that_nothing_uses(chaffinch: None) -> None:  # noqa: ARG001 - its roles are looked at
    kubectl = Kubectl(NAMESPACE)
    roles = (("clusterrole", f"{RELEASE}-operator"), ("role", f"{RELEASE}-lease"))
    rights = granted(rule for kind, name in roles for rule in _found(kubectl, kind, name)["rules"])
    unused = rights - used(Settings.from_environment().audit_log, OPERATOR_USER) - set(NOT_USED_BY_ANY_STORY)
    assert not unused, f"granted, but used by no story so far: {', '.join(sorted(unused))}"
    excused = set(NOT_USED_BY_ANY_STORY) - rights
    assert not excused, f"excused, but not granted at all: {', '.join(sorted(excused))}"


def test_the_operator_was_refused_nothing(chaffinch: None) -> None:  # noqa: ARG001 - it wrote the audit log
    denied = refused(Settings.from_environment().audit_log, OPERATOR_USER, BINDINGS)
    assert not denied, f"the operator was forbidden to {', '.join(denied)}"


def _found(kubectl: Kubectl, kind: str, name: str) -> Object:
    found = kubectl.get(kind, name)
    assert found is not None, f"the chart has installed no {kind} {name}"
    return found
