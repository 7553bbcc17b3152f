"""What people may do with Chaffinch's roles, and in whose name they may command, on a real API server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from localcluster import Cluster
from localcluster.fixtures import Kubectl, KubectlError, eventually
from stage.access import POLICIES, ROLES, applied, may

pytestmark = pytest.mark.cluster

CRDS = Path(__file__).parents[2] / "crds"
READS = ("list inferencerollouts.chaffinch.dev", "watch rolloutcommands.chaffinch.dev")
READ_RECORDS = "get rolloutrecords.chaffinch.dev"
EDIT = "patch inferencerollouts.chaffinch.dev"
COMMAND = "create rolloutcommands.chaffinch.dev"
# Nobody forges an answer or a record.
NEVER = (
    "patch rolloutcommands.chaffinch.dev/status",
    "update rolloutcommands.chaffinch.dev",
    "create rolloutrecords.chaffinch.dev",
    "patch rolloutrecords.chaffinch.dev/status",
)


@pytest.fixture
def people(cluster: Cluster, kubectl: Kubectl) -> Iterator[Kubectl]:
    """kubectl in a namespace with the chart's roles and its policy, for that namespace alone."""
    Kubectl(cluster, "default")("apply", "--server-side", "--force-conflicts", "-f", str(CRDS))
    kubectl("wait", "--for=condition=Established", "--timeout=30s", "-f", str(CRDS))
    with applied(kubectl, ROLES | POLICIES, f"--set=watchNamespaces={{{kubectl.namespace}}}") as release:
        for user, role in (("vera", "view"), ("edith", "edit"), ("ada", "admin")):
            kubectl("create", "rolebinding", user, f"--clusterrole={role}", f"--user={user}")
        for user in ("alice", "bob"):
            role = f"--clusterrole={release}-approver"
            kubectl("create", "rolebinding", user, role, f"--user={user}")
        yield kubectl


def test_rights_come_with_the_built_in_roles_but_only_approvers_and_admins_command(people: Kubectl) -> None:
    eventually(lambda: may(people, "ada", COMMAND), within=20, what="the roles are aggregated")
    asked = (*READS, READ_RECORDS, EDIT, COMMAND, *NEVER)
    reads = dict.fromkeys((*READS, READ_RECORDS), True) | dict.fromkeys((EDIT, COMMAND, *NEVER), False)
    wanted = {
        "vera": reads,
        "edith": reads | {EDIT: True},
        "ada": reads | {EDIT: True, COMMAND: True},
        "alice": reads | {COMMAND: True},
        "mallory": dict.fromkeys(asked, False),
    }
    assert {user: {one: may(people, user, one) for one in asked} for user in wanted} == wanted


def test_nobody_commands_in_the_name_of_another(people: Kubectl) -> None:
    def refused() -> str | None:
        try:
            give(people, "alice", requestedBy="bob")
        except KubectlError as error:
            return str(error)
        return None

    said = eventually(refused, within=20, what="the policy is in force")
    assert (
        'spec.requestedBy must be the user who creates the command: set it to "alice", or use'
        " kubectl chaffinch, which does"
    ) in said
    with pytest.raises(KubectlError, match='set it to "bob"'):
        give(people, "bob")
    with pytest.raises(KubectlError, match='set it to "admin"'):
        give(people, None, requestedBy="alice")
    for user in ("alice", "bob"):
        assert give(people, user, requestedBy=user)["spec"]["requestedBy"] == user
    with pytest.raises(KubectlError, match="forbidden"):
        give(people, "edith", requestedBy="edith")


def test_the_policy_of_an_install_for_one_namespace_leaves_others_alone(people: Kubectl) -> None:
    elsewhere = Kubectl(people.cluster, "default")
    made = give(elsewhere, None)
    elsewhere("delete", "rolloutcommand", made["metadata"]["name"])


def give(kubectl: Kubectl, user: str | None, **fields: str) -> dict[str, Any]:
    """Create a command as a user, as the administrator without one; return it."""
    body = {
        "apiVersion": "chaffinch.dev/v1alpha1",
        "kind": "RolloutCommand",
        "metadata": {"generateName": "stop-"},
        "spec": {"rollout": "chat", "revision": "0a1b2c3d", "action": "Abort", **fields},
    }
    acting = [f"--as={user}"] if user else []
    answer: dict[str, Any] = json.loads(
        kubectl("create", *acting, "--filename=-", "--output=json", stdin=json.dumps(body))
    )
    return answer
