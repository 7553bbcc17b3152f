"""Chaffinch installed for one namespace: it works there with Roles alone, and sees nothing of others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import oracle
from e2e.story import KIND, Story, begun
from stage.install import NAMESPACE, OPERATOR_USER, RELEASE, install, uninstall
from stage.inventory import everything, name_of
from stage.kubectl import Kubectl, Object, says
from stage.service import QUICK_OBJECTIVES, QUICK_STEPS, Service

FOR_PEOPLE = [f"ClusterRole/{RELEASE}-{word}" for word in ("approver", "edit", "view")]
"""What people get through built-in roles, or are bound to; no account of ours is."""


@pytest.fixture
def watched(chaffinch: None, tmp_path: Path) -> Iterator[Story]:  # noqa: ARG001 - installed for its effect
    """A story in the only namespace that is watched; other stories have the whole cluster back."""
    uninstall()
    try:
        with begun(tmp_path) as told:
            install(watchNamespaces=f"{{{told.namespace}}}")
            yield told
    finally:
        uninstall()
        install()


def test_an_install_for_one_namespace_promotes_there_with_roles_alone(watched: Story, namespace: str) -> None:
    service = Service(watched.namespace, replicas=1, steps=QUICK_STEPS, objectives=QUICK_OBJECTIVES)
    elsewhere = replace(service, namespace=namespace)
    outside = Kubectl(namespace)
    outside.apply(elsewhere.manifest())
    watched.given_stable(service)

    with watched.users(service) as users:
        watched.when_applied(service.version("--sim-seed=2"))
        rollout = watched.until_attempt_ends(service, 2)
        seen = users.summary

    assert says(rollout, "Promoted") == ("True", "AsExpected")
    assert seen["failed"] == 0
    assert [name_of(each) for each in everything(outside)] == [f"InferenceRollout/{elsewhere.name}"]
    left_alone = outside.get(KIND, elsewhere.name)
    assert left_alone is not None
    assert "status" not in left_alone
    assert [write for write in oracle.read_writes(watched.audit_log, namespace) if is_ours(write)] == []
    assert cluster_wide_bindings() == []
    assert cluster_roles() == FOR_PEOPLE


def is_ours(write: oracle.Write) -> bool:
    """Say whether the operator wrote something."""
    return write.user == OPERATOR_USER


def cluster_wide_bindings() -> list[str]:
    """Return the ClusterRoleBindings that name the operator's account, or its namespace's accounts."""
    found = Kubectl("default").list("clusterrolebindings.rbac.authorization.k8s.io")
    return [
        name_of(binding) for binding in found if any(map(means_the_operator, binding.get("subjects", ())))
    ]


def cluster_roles() -> list[str]:
    """Return the ClusterRoles of the chart."""
    found = Kubectl("default").list("clusterroles", "--selector=app.kubernetes.io/name=chaffinch")
    return sorted(map(name_of, found))


def means_the_operator(subject: Object) -> bool:
    """Say whether a subject of a binding stands for the operator's account."""
    account = (subject["kind"], subject["name"], subject.get("namespace"))
    group = ("Group", f"system:serviceaccounts:{NAMESPACE}", None)
    return account in {("ServiceAccount", RELEASE, NAMESPACE), ("User", OPERATOR_USER, None), group}
