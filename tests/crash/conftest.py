"""Fixtures of the crash tests: one playground for all of them."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from crash.playground import Playground
from crash.rollouts import SLOW, SLOW_SECONDS, revision
from faultproxy import Upstream
from kwokstage import Background, Script, Stage
from kwokstage.api import Api, administrator
from localcluster import Cluster, ClusterError, Settings, kwok
from localcluster.api import ApiClient
from localcluster.kubectl import Kubectl
from localcluster.settings import API_URL, REPOSITORY
from stage.install import NAMESPACE, RELEASE, VALUES, helm, uninstall

_TOKEN_HOURS = 12
_ANSWER_SECONDS = 30.0  # for the administrator, beside operators that keep the machine busy

_ROLE = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "lanes"}
_LANES_LEASES = (
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "lanes", "namespace": NAMESPACE},
        "rules": [
            {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "update"]}
        ],
    },
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "lanes", "namespace": NAMESPACE},
        "roleRef": _ROLE,
        "subjects": [{"kind": "ServiceAccount", "name": RELEASE, "namespace": NAMESPACE}],
    },
)
"""Several operators side by side have a Lease each; the chart's role knows one name only."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.cluster)


async def _api(tls: ssl.SSLContext) -> Api:
    return Api(API_URL, tls)


def _install(kubectl: Kubectl) -> None:
    """Install the chart for its CRDs and roles; its own operator finds no node that would take it."""
    kubectl.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    kubectl.apply(*_LANES_LEASES)
    values = {**VALUES, "nodeSelector.chaffinch\\.dev/nowhere": "yes"}
    chart = str(REPOSITORY / "charts" / "chaffinch")
    settings = [f"--set={name}={value}" for name, value in values.items()]
    helm("upgrade", "--install", RELEASE, chart, f"--namespace={NAMESPACE}", *settings)


@pytest.fixture(scope="package")
def playground(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playground]:
    """Everything but the operator; the roles are those of the chart."""
    if not Kubectl(cluster, "default").get("nodes", "-l", f"type={kwok.NAME}")["items"]:
        raise ClusterError("The cluster has no pretended nodes", "python -m localcluster up --kwok")
    settings = Settings.from_environment()
    kubectl = Kubectl(cluster, NAMESPACE)
    _install(kubectl)
    tls = administrator(settings.pki)
    token = kubectl("create", "token", RELEASE, f"--duration={_TOKEN_HOURS}h").strip()
    with Background() as background:
        api = background.run(_api(tls))
        stage = Stage(api, Script(slow_seconds=SLOW_SECONDS, slow={revision(SLOW)}))
        background.run(stage.start())
        try:
            yield Playground(
                api=ApiClient(settings.pki, timeout=_ANSWER_SECONDS),
                kubectl=kubectl,
                background=background,
                stage=stage,
                upstream=Upstream(
                    API_URL,
                    ssl.create_default_context(cafile=str(settings.pki / "ca.crt")),
                    {"Authorization": f"Bearer {token}"},
                ),
                folder=tmp_path_factory.mktemp("operators"),
                audit_log=settings.audit_log,
            )
        finally:
            background.run(stage.stop())
            background.run(api.close())
    uninstall()
