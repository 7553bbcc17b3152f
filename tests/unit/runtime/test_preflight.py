from __future__ import annotations

import asyncio
import copy
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from chaffinch.api.crd import crd_of
from chaffinch.api.kinds import KINDS
from chaffinch.ports.cluster import DeniedError, UnavailableError
from chaffinch.runtime.preflight import (
    LISTED,
    NotReadyError,
    Schemas,
    check_crds,
    check_rights,
    missing_paths,
    passed,
)
from fakes.cluster import FakeCluster
from fakes.virtual_time import run

INDEX = {"paths": {"apis/chaffinch.dev/v1alpha1": {"serverRelativeURL": "/openapi/v3/apis/..."}}}


def _document() -> dict[str, Any]:
    """Return what an API server says of CRDs that are up to date."""
    schemas = {
        f"dev.chaffinch.v1alpha1.{kind.name}": {
            **copy.deepcopy(crd_of(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]),
            "x-kubernetes-group-version-kind": [
                {"group": "chaffinch.dev", "version": "v1alpha1", "kind": kind.name}
            ],
        }
        for kind in KINDS
    }
    return {"components": {"schemas": schemas}}


class Server:
    """Answers with an index and a document."""

    def __init__(self, index: dict[str, Any], document: dict[str, Any]) -> None:
        self._answers = {"": index, "/apis/chaffinch.dev/v1alpha1": document}

    async def openapi(self, path: str) -> dict[str, Any]:
        return self._answers[path]


class DeniedServer:
    """Does not tell us."""

    async def openapi(self, path: str) -> dict[str, Any]:
        raise DeniedError(f"get OpenAPI{path}: no right")


class DeadServer:
    """Does not answer."""

    async def openapi(self, path: str) -> dict[str, Any]:
        raise UnavailableError(f"get OpenAPI{path}: the API server cannot be reached")


def test_crds_that_are_up_to_date_are_fine() -> None:
    asyncio.run(check_crds(Server(INDEX, _document())))


def test_without_crds_the_remedy_is_said() -> None:
    with pytest.raises(
        NotReadyError, match=r"^CRDMissing: .* are not installed: install or upgrade them with the chart"
    ):
        asyncio.run(check_crds(Server({"paths": {}}, {})))


def test_an_outdated_crd_is_named_with_the_fields_that_it_lacks() -> None:
    document = _document()
    rollout = document["components"]["schemas"]["dev.chaffinch.v1alpha1.InferenceRollout"]
    del rollout["properties"]["status"]["properties"]["rollout"]["properties"]["plan"]
    del rollout["properties"]["spec"]["properties"]["objectives"]["items"]["properties"]["quantile"]
    rollout["properties"]["status"]["properties"]["rollout"]["properties"]["stage"]["enum"].remove(
        "Promoting"
    )
    del document["components"]["schemas"]["dev.chaffinch.v1alpha1.ProbeProfile"]
    assert sorted(missing_paths(document)) == [
        "InferenceRollout.spec.objectives[].quantile",
        "InferenceRollout.status.rollout.plan",
        "InferenceRollout.status.rollout.stage=Promoting",
        "ProbeProfile",
    ]
    with pytest.raises(
        NotReadyError, match=r"^CRDOutdated: .* too old, they lack .*kubectl apply --server-side"
    ):
        asyncio.run(check_crds(Server(INDEX, document)))


def test_a_long_list_is_cut() -> None:
    document = _document()
    rollout = document["components"]["schemas"]["dev.chaffinch.v1alpha1.InferenceRollout"]
    rollout["properties"]["spec"] = {}
    with pytest.raises(NotReadyError, match=r"and \d+ more: install"):
        asyncio.run(check_crds(Server(INDEX, document)))


def test_an_outage_is_waited_out() -> None:
    async def story() -> float:
        servers: list[Schemas] = [DeadServer(), DeadServer(), Server(INDEX, _document())]
        await passed(lambda: check_crds(servers.pop(0)))
        return asyncio.get_running_loop().time()

    assert run(story()) == 10


def test_a_check_that_fails_is_not_repeated() -> None:
    servers: list[Schemas] = [Server({"paths": {}}, {}), Server(INDEX, _document())]
    with pytest.raises(NotReadyError):
        run(passed(lambda: check_crds(servers.pop(0))))
    assert len(servers) == 1


def test_a_missing_right_to_look_is_named() -> None:
    with pytest.raises(NotReadyError, match=r"^Forbidden: .* cannot be checked: get OpenAPI: no right"):
        asyncio.run(check_crds(DeniedServer()))


@pytest.mark.parametrize(
    ("kind", "plural"),
    [
        ("InferenceRollout", "inferencerollouts"),
        ("LoadProbe", "loadprobes"),
        ("InferenceBaseline", "inferencebaselines"),
        ("RolloutCommand", "rolloutcommands"),
        ("RolloutRecord", "rolloutrecords"),
        ("Deployment", "deployments"),
        ("ControllerRevision", "controllerrevisions"),
        ("Pod", "pods"),
        ("Service", "services"),
        ("ConfigMap", "configmaps"),
    ],
)
@pytest.mark.parametrize(
    ("namespaces", "want"), [(("",), "in all namespaces"), (("shop", "lab"), "in namespace shop")]
)
def test_missing_rights_name_the_kind_and_the_remedy(
    namespaces: tuple[str, ...], want: str, kind: str, plural: str
) -> None:
    cluster = FakeCluster()
    cluster.fault = lambda _, key: DeniedError("no") if key[0] == kind else None
    with pytest.raises(NotReadyError) as refused:
        asyncio.run(check_rights(cluster, namespaces))
    assert str(refused.value) == (
        f"Forbidden: the operator may not list {plural} {want}:"
        " grant its ServiceAccount the roles of the chart,"
        " or set CHAFFINCH_WATCH_NAMESPACES to the namespaces that it may read"
    )


def test_the_kinds_that_are_listed_are_those_that_the_chart_grants_to_list() -> None:
    chart = Path(__file__).parents[3] / "charts/chaffinch/templates/rbac.yaml"
    rules = yaml.safe_load(
        re.findall(r'define "chaffinch.rules" -}}\n(.*?){{- end', chart.read_text(), re.S)[0]
    )
    granted = {name for rule in rules if "list" in rule["verbs"] for name in rule["resources"]}
    # The agents of the routers list EndpointSlices; the operator has the right only to hand it on.
    assert {kind.plural for kind in LISTED} == granted - {"endpointslices"}


def test_with_all_rights_everything_is_listed_once_per_namespace() -> None:
    cluster = FakeCluster()
    asyncio.run(check_rights(cluster, ("shop", "lab")))
    wanted = [("list", (kind.kind, where, "")) for kind in LISTED for where in ("shop", "lab")]
    assert cluster.requests == wanted
