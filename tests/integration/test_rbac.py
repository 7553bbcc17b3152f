"""What the operator's account may do, and what it may not, as the API server decides it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from localcluster.fixtures import Kubectl
from stage.access import ROLES, applied, may

pytestmark = pytest.mark.cluster

GRANTED = (
    "list inferencerollouts.chaffinch.dev",
    "patch inferencerollouts.chaffinch.dev/status",
    "create inferencebaselines.chaffinch.dev",
    "watch rolloutcommands.chaffinch.dev",
    "delete rolloutcommands.chaffinch.dev",
    "patch rolloutcommands.chaffinch.dev/status",
    "create rolloutrecords.chaffinch.dev",
    "patch rolloutrecords.chaffinch.dev/status",
    "create deployments.apps",
    "update configmaps",
    "watch pods",
    "create jobs.batch",
    "create events.events.k8s.io",
)
DENIED = (
    "get secrets",
    "list secrets",
    "create pods/exec",
    "get pods/log",
    "create pods",
    "patch inferencerollouts.chaffinch.dev",
    "delete inferencerollouts.chaffinch.dev",
    "patch inferencebaselines.chaffinch.dev",
    "update inferencebaselines.chaffinch.dev",
    "delete inferencebaselines.chaffinch.dev",
    "create rolloutcommands.chaffinch.dev",
    "patch rolloutcommands.chaffinch.dev",
    "patch rolloutrecords.chaffinch.dev",
    "escalate roles.rbac.authorization.k8s.io",
    "bind roles.rbac.authorization.k8s.io",
    "create clusterroles.rbac.authorization.k8s.io",
    "impersonate serviceaccounts",
    "create serviceaccounts/token",
)


@pytest.fixture(params=["everywhere", "one namespace"])
def account(request: pytest.FixtureRequest, kubectl: Kubectl) -> Iterator[str]:
    """The operator's account, with the roles of the chart for all namespaces or for the test's alone."""
    watched = [f"--set=watchNamespaces={{{kubectl.namespace}}}"] if request.param == "one namespace" else []
    with applied(kubectl, ROLES, *watched) as release:
        yield f"system:serviceaccount:{kubectl.namespace}:{release}"


def test_the_operator_may_do_its_work_and_nothing_beyond(account: str, kubectl: Kubectl) -> None:
    answers = {asked: may(kubectl, account, asked) for asked in (*GRANTED, *DENIED)}
    assert answers == dict.fromkeys(GRANTED, True) | dict.fromkeys(DENIED, False)


@pytest.mark.parametrize("account", ["one namespace"], indirect=True)
def test_an_install_for_one_namespace_grants_nothing_in_another(account: str, kubectl: Kubectl) -> None:
    elsewhere = Kubectl(kubectl.cluster, "default")
    answers = {asked: may(elsewhere, account, asked) for asked in GRANTED}
    assert answers == dict.fromkeys(GRANTED, False)
