"""Another operator takes over a rollout at rest: it restarts nothing, or says why it cannot go on."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from chaffinch.runtime.preflight import missing_paths
from crash.builds import Change, build
from crash.one_rollout import OneRollout
from crash.operator_process import OperatorProcess
from crash.playground import NAME, Object, Playground
from crash.rollouts import FIRST, GOOD, revision, service
from faultproxy import FaultProxy
from faultproxy.journal import writes
from localcluster.kubectl import eventually

OLD, NEW = revision(FIRST), revision(GOOD)

CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/inferencerollouts.chaffinch.dev"
OPENAPI = "/openapi/v3/apis/chaffinch.dev/v1alpha1"
LACKING = {"InferenceRollout.status.lastAttempt", "InferenceRollout.status.rollout.stage=Promoting"}
REMEDY = "install or upgrade them with the chart, or with: kubectl apply --server-side -f crds/"
PUBLISHING_SECONDS, ENDING_SECONDS = 20.0, 30.0

MARK = "example.com/build"


def marking(module: str, labels: str) -> Change:
    """Return a change that gives what has these labels an annotation."""
    return Change(module, labels, f'"annotations": {{"{MARK}": "2"}}, {labels}')


SECOND = (
    marking("domain/manifests/pod.py", '"labels": child_labels(rollout, ENGINE, revision)'),
    marking("domain/manifests/common.py", '"labels": child_labels(rollout.name, component, revision)'),
    marking("routing/envoy.py", '"labels": child_labels(rollout.name, COMPONENT)}'),
)
"""The second build: it marks the pods of engines and routers, and all other objects of an engine."""


@contextmanager
def leading(
    playground: Playground, namespace: str, name: str, **settings: str
) -> Iterator[tuple[FaultProxy, OperatorProcess]]:
    """Start an operator for the length of the block; it hands over at its end if it still runs."""
    with (
        playground.proxy() as proxy,
        playground.operator(
            proxy, name, CHAFFINCH_WATCH_NAMESPACES=namespace, CHAFFINCH_LEASE_NAME="builds", **settings
        ) as operator,
    ):
        operator.start()
        yield proxy, operator
        if operator.alive:
            operator.terminate()


@pytest.fixture(scope="module")
def rollout(playground: Playground) -> Iterator[OneRollout]:
    """A rollout that serves its first version, at rest, and no operator."""
    with playground.namespace() as namespace:
        one = OneRollout(playground.api, namespace)
        with leading(playground, namespace, "first") as (proxy, _):
            one.apply(service(namespace, FIRST).manifest())
            one.until_ready()
            playground.until_quiet(proxy, namespace)
        yield one


def install(playground: Playground, crd: dict[str, Any], lacking: set[str]) -> None:
    """Install the CRD in helm's name, which else could not change it later; wait until it is described."""
    playground.api.apply(CRD, crd, manager="helm")
    eventually(
        lambda: (set(missing_paths(playground.api.get(OPENAPI) or {})),), PUBLISHING_SECONDS,
        f"the schema lacks {lacking}", holds=lambda found: found == (lacking,),
    )  # fmt: skip


@contextmanager
def older_crd(playground: Playground) -> Iterator[None]:
    """Let the API server have a CRD that lacks a field and a word of the status."""
    found = playground.api.get(CRD)
    assert found is not None
    metadata = {name: found["metadata"][name] for name in ("name", "labels", "annotations")}
    crd = {name: found[name] for name in ("apiVersion", "kind", "spec")} | {"metadata": metadata}
    older = copy.deepcopy(crd)
    status = older["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]
    del status["lastAttempt"]
    status["rollout"]["properties"]["stage"]["enum"].remove("Promoting")
    try:
        install(playground, older, LACKING)
        yield
    finally:
        install(playground, crd, set())


def test_an_operator_with_older_crds_writes_nothing_and_says_why(
    playground: Playground, rollout: OneRollout
) -> None:
    before, objects = rollout.read(), rollout.footprint()
    with older_crd(playground), leading(playground, rollout.namespace, "newer") as (proxy, operator):
        code = eventually(lambda: operator.exit_code, ENDING_SECONDS, "it ends", holds=lambda _: True)
        (line,) = operator.last_words().splitlines()
        assert writes(proxy.journal.entries) == ()
    assert code == 1
    assert "CRDOutdated: the installed CRDs are too old, they lack " in line
    assert line.endswith(f": {REMEDY}")
    assert [path for path in LACKING if path not in line] == []
    assert (rollout.read(), rollout.footprint()) == (before, objects)


def test_another_build_restarts_no_pod_before_the_next_revision(
    playground: Playground, rollout: OneRollout, tmp_path: Path
) -> None:
    second = build(tmp_path, SECOND)
    made, engines, routers = templates(rollout), rollout.uids("engine"), rollout.uids("router")
    assert marks(rollout.pods("engine")) == marks(rollout.pods("router")) == {None}

    with leading(playground, rollout.namespace, "second", PYTHONPATH=str(second)) as (proxy, _):
        rollout.until(lambda _: mark(rollout.child("services", f"{NAME}-{OLD}")) == "2", "written anew")
        playground.until_quiet(proxy, rollout.namespace)
        assert templates(rollout) == made
        assert (rollout.uids("engine"), rollout.uids("router")) == (engines, routers)
        then_a_lost_deployment_is_made_as_it_was(playground, rollout)

        rollout.apply(service(rollout.namespace, GOOD).manifest())
        rollout.until_ready()
        rollout.until(lambda _: marks(rollout.pods("router")) == {"2"}, "with new routers")
    assert marks(rollout.pods("engine", NEW)) == {"2"}
    assert templates(rollout)[f"{NAME}-{OLD}"] == made[f"{NAME}-{OLD}"]


def then_a_lost_deployment_is_made_as_it_was(playground: Playground, rollout: OneRollout) -> None:
    made, name, gone = templates(rollout), f"{NAME}-{OLD}", rollout.uids("engine")
    playground.kubectl("delete", f"--namespace={rollout.namespace}", "deployment", name)
    rollout.until(lambda _: len(rollout.uids("engine") - gone) == len(gone), "whole again")
    assert templates(rollout) == made


def templates(rollout: OneRollout) -> dict[str, Any]:
    """Return the pod templates of its Deployments, by name."""
    return {one["metadata"]["name"]: one["spec"]["template"] for one in rollout.children("deployments")}


def mark(found: Object) -> str | None:
    """Return which build made an object; None for the first."""
    marked: str | None = found["metadata"].get("annotations", {}).get(MARK)
    return marked


def marks(found: list[Object]) -> set[str | None]:
    """Return which builds made objects, of which there must be some."""
    assert found
    return {mark(one) for one in found}
