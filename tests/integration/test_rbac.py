"""What the operator's account may do, and what it may not, as the API server decides it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import yaml

from localcluster.fixtures import Kubectl, KubectlError
from stage.install import REPOSITORY, helm

pytestmark = pytest.mark.cluster

RBAC_KINDS = {"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}

GRANTED = (
    "list inferencerollouts.chaffinch.dev",
    "patch inferencerollouts.chaffinch.dev/status",
    "create inferencebaselines.chaffinch.dev",
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
    "escalate roles.rbac.authorization.k8s.io",
    "bind roles.rbac.authorization.k8s.io",
    "create clusterroles.rbac.authorization.k8s.io",
    "impersonate serviceaccounts",
    "create serviceaccounts/token",
)


@pytest.fixture(params=["everywhere", "one namespace"])
def account(request: pytest.FixtureRequest, kubectl: Kubectl) -> Iterator[str]:
    """The operator's account, with the roles of the chart for all namespaces or for the test's alone."""
    watched = f"--set=watchNamespaces={{{kubectl.namespace}}}" if request.param == "one namespace" else ""
    rendered = helm(
        "template", f"rbac-{kubectl.namespace}", str(REPOSITORY / "charts" / "chaffinch"),
        f"--namespace={kubectl.namespace}", "--set=crds.install=false",
        "--set=prometheus.url=http://prometheus:9090", "--set=image.repository=registry.example/chaffinch",
        *filter(None, [watched]),
    )  # fmt: skip
    documents = [document for document in yaml.safe_load_all(rendered) if document]
    roles = [document for document in documents if document["kind"] in RBAC_KINDS]
    kubectl.apply(*roles)
    yield f"system:serviceaccount:{kubectl.namespace}:rbac-{kubectl.namespace}"
    for role in roles:
        if role["kind"].startswith("Cluster"):
            kubectl("delete", role["kind"], role["metadata"]["name"])


def test_the_operator_may_do_its_work_and_nothing_beyond(account: str, kubectl: Kubectl) -> None:
    answers = {asked: may(kubectl, account, asked) for asked in (*GRANTED, *DENIED)}
    assert answers == dict.fromkeys(GRANTED, True) | dict.fromkeys(DENIED, False)


@pytest.mark.parametrize("account", ["one namespace"], indirect=True)
def test_an_install_for_one_namespace_grants_nothing_in_another(account: str, kubectl: Kubectl) -> None:
    elsewhere = Kubectl(kubectl.cluster, "default")
    answers = {asked: may(elsewhere, account, asked) for asked in GRANTED}
    assert answers == dict.fromkeys(GRANTED, False)


def may(kubectl: Kubectl, account: str, asked: str) -> bool:
    """Ask the API server whether an account may do something, written as ``verb resource[/subresource]``."""
    verb, resource = asked.split()
    resource, _, subresource = resource.partition("/")
    words = ["auth", "can-i", f"--as={account}", verb, resource]
    try:
        answer = kubectl(*words, *([f"--subresource={subresource}"] if subresource else []))
    except KubectlError as error:
        # "no" ends with exit code 1 and says nothing else; anything that is said is a real error.
        if any(not line.startswith("Warning:") for line in str(error).splitlines()):
            raise
        return False
    return answer.strip() == "yes"
