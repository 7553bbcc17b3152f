"""Names of every kind (case C35): each is refused in words when it is given, or works to the end."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import pytest

from chaffinch.api.v1alpha1.names import revision_name, router_name, service_name
from crash.one_rollout import OneRollout
from crash.operator_process import OperatorProcess
from crash.playground import GROUP, Playground, path_of
from crash.rollouts import FIRST, GOOD, STEPS, service
from localcluster.kubectl import eventually
from stage.service import load_probe

MODEL = "meta-llama/Llama-3.2-3B"
LONGEST = "a" * 40
NAMES = ("vllm", "vllm-router", LONGEST, LONGEST[:-1] + "b")
"""A name that Kubernetes would turn into the engine's own variables, one that another's children could have,
and two that differ in the last character only."""

UNENDING = ({"name": "canary-50", "canary": {"weight": 50, "for": "1h"}}, STEPS[-1])
LABEL = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
PROBE_SECONDS = 60.0


def manifest(namespace: str, name: str, version: int = FIRST) -> dict[str, Any]:
    """Return a version of a service of any name."""
    body = service(namespace, version).manifest()
    body["metadata"]["name"] = name
    body["spec"]["model"]["name"] = MODEL
    body["spec"]["replicas"] = 1
    return body


def named(name: str) -> dict[str, Any]:
    """Return a rollout of a name."""
    return manifest("default", name)


def with_model(name: str) -> dict[str, Any]:
    """Return a rollout that serves its model under a name."""
    body = named("chat")
    body["spec"]["model"]["name"] = name
    return body


def with_env(*names: str) -> dict[str, Any]:
    """Return a rollout whose engine is given variables."""
    body = named("chat")
    body["spec"]["engine"]["env"] = [{"name": name, "value": str(at)} for at, name in enumerate(names)]
    return body


NAME_RULE = (
    "metadata.name: Invalid value: the name of a rollout has at most 40 lower case letters, digits and "
    "dashes, begins with a letter and ends with a letter or digit: the names of its Services are made from it"
)
MODEL_RULE = (
    "the name that clients ask for has letters, digits, dots, dashes, underscores and slashes, and begins "
    "with a letter or digit"
)
ENV_RULE = (
    "spec.engine.env: Invalid value: an environment variable is one that the operator keeps for itself: "
    "leave it out (VLLM_API_KEY, VLLM_HOST_IP, VLLM_PORT and all that begin with CHAFFINCH_)"
)
TWICE = (
    "failed to create typed patch object (default/chat; chaffinch.dev/v1alpha1, Kind=InferenceRollout): "
    '.spec.engine.env: duplicate entries for key [name="LEVEL"]'
)


def refusal(name: str, rule: str) -> str:
    """Return the sentence with which the API server says that an object breaks a rule."""
    return f'InferenceRollout.chaffinch.dev "{name}" is invalid: {rule}'


def not_a_model(quoted: str) -> str:
    """Return the rule of model names as it is told of one, which is told by pattern and in words."""
    pattern = "^[A-Za-z0-9][A-Za-z0-9._/-]*$"
    return (
        f"[spec.model.name: Invalid value: {quoted}: spec.model.name in body should match '{pattern}', "
        f"spec.model.name: Invalid value: {quoted}: {MODEL_RULE}]"
    )


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (named("qwen2.5-7b"), refusal("qwen2.5-7b", NAME_RULE)),
        (named("7b-chat"), refusal("7b-chat", NAME_RULE)),
        (named("a" * 60), refusal("a" * 60, NAME_RULE)),
        (named("a" * 50 + "-one"), refusal("a" * 50 + "-one", NAME_RULE)),
        (named("a" * 50 + "-two"), refusal("a" * 50 + "-two", NAME_RULE)),
        (with_model('a"b\\c'), refusal("chat", not_a_model(r'"a\"b\\c"'))),
        (with_model(".*"), refusal("chat", not_a_model('".*"'))),
        (with_env("LEVEL", "LEVEL"), TWICE),
        (with_env("VLLM_PORT"), refusal("chat", ENV_RULE)),
    ],
)
def test_what_cannot_work_is_refused_with_the_rule(
    playground: Playground, body: dict[str, Any], words: str
) -> None:
    place = path_of("default", body["metadata"]["name"])
    with pytest.raises(urllib.error.HTTPError) as refused:
        playground.api.apply(place, body)
    assert json.loads(refused.value.read())["message"] == words
    assert playground.api.get(place) is None


@pytest.fixture
def operator(playground: Playground) -> Iterator[tuple[str, OperatorProcess]]:
    """A namespace, and the operator that looks after it."""
    with playground.attended(CHAFFINCH_LEASE_NAME="names") as (namespace, _, operator):
        operator.start()
        yield namespace, operator


def test_whatever_is_admitted_works_to_the_end(
    playground: Playground, operator: tuple[str, OperatorProcess]
) -> None:
    namespace, process = operator
    rollouts = [OneRollout(playground.api, namespace, name) for name in NAMES]
    given_each_serves(rollouts)
    then_every_name_leads_to_its_own(rollouts)
    when_each_is_promoted(rollouts)
    when_each_is_aborted(rollouts)
    when_each_is_probed(rollouts)
    then_the_names_fit_and_differ(rollouts)
    metrics = metrics_of(process)
    assert [name for name in NAMES if f'rollout="{name}"' not in metrics] == []


def given_each_serves(rollouts: Sequence[OneRollout]) -> None:
    for one in rollouts:
        one.apply(manifest(one.namespace, one.name))
    for one in rollouts:
        one.until_ready()


def when_each_is_promoted(rollouts: Sequence[OneRollout]) -> None:
    for one in rollouts:
        one.apply(manifest(one.namespace, one.name, GOOD))
    for one in rollouts:
        assert one.until_ready()["status"]["lastAttempt"]["outcome"] == "Promoted"


def when_each_is_aborted(rollouts: Sequence[OneRollout]) -> None:
    for one in rollouts:
        one.edit({"spec": {"strategy": {"steps": UNENDING}, "engine": {"extraArgs": ["--seed=9"]}}})
    for one in rollouts:
        candidate = one.until_attempt(3)["status"]["candidate"]["revision"]
        one.api.apply(f"{GROUP}/namespaces/{one.namespace}/rolloutcommands/{one.name}", abort(one, candidate))
    for one in rollouts:
        ended = one.until(lambda found: found["status"]["lastAttempt"]["attempt"] == 3, "at the end of 3")
        last = ended["status"]["lastAttempt"]
        assert (last["outcome"], last["cause"]) == ("RolledBack", "Aborted")


def abort(rollout: OneRollout, revision: str) -> dict[str, Any]:
    """Return the administrator's command."""
    spec = {"rollout": rollout.name, "revision": revision, "action": "Abort", "requestedBy": "admin"}
    return {
        "apiVersion": "chaffinch.dev/v1alpha1",
        "kind": "RolloutCommand",
        "metadata": {"name": rollout.name, "namespace": rollout.namespace},
        "spec": spec,
    }


def when_each_is_probed(rollouts: Sequence[OneRollout]) -> None:
    """Probe each by a LoadProbe whose name is as long as it may be."""
    probes = {one.name: one.name.ljust(60, "p") for one in rollouts}
    for one in rollouts:
        made = load_probe(service(one.namespace, GOOD), probes[one.name], profile="smoke/v1")
        made["spec"]["target"]["rollout"] = one.name
        one.api.apply(f"{GROUP}/namespaces/{one.namespace}/loadprobes/{probes[one.name]}", made)
    for one in rollouts:
        until_succeeded(one, probes[one.name])


def until_succeeded(rollout: OneRollout, probe: str) -> None:
    """Wait until a LoadProbe has its result."""
    place = f"{GROUP}/namespaces/{rollout.namespace}/loadprobes/{probe}"
    eventually(
        lambda: rollout.api.get(place), PROBE_SECONDS, f"{probe} has succeeded",
        holds=lambda found: found.get("status", {}).get("phase") == "Succeeded",
    )  # fmt: skip


def then_every_name_leads_to_its_own(rollouts: Sequence[OneRollout]) -> None:
    """Services, budgets and the route of each find the pods of that rollout, and no others."""
    for one in rollouts:
        revision = one.read()["status"]["stable"]["revision"]
        (engine,) = one.pods("engine")
        assert engine["spec"]["enableServiceLinks"] is False
        assert MODEL in engine["spec"]["containers"][0]["args"]
        behind = {
            service_name(one.name): one.uids("router"),
            revision_name(one.name, revision): one.uids("engine"),
        }
        for name, pods in behind.items():
            assert endpoints(one, name) == pods
        budgets = {
            budget["metadata"]["name"]: budget["status"]["expectedPods"]
            for budget in one.children("poddisruptionbudgets")
        }
        assert budgets == {router_name(one.name): 2, revision_name(one.name, revision): 1}
        route = json.loads(one.child("configmaps", router_name(one.name))["data"]["route.json"])
        assert [arm["revision"] for arm in route["arms"]] == [revision]


def endpoints(rollout: OneRollout, service: str) -> set[str]:
    """Return the uids of the pods behind a Service."""
    return {
        endpoint["targetRef"]["uid"]
        for one in rollout.children("endpointslices")
        if one["metadata"]["labels"]["kubernetes.io/service-name"] == service
        for endpoint in one["endpoints"] or ()
    }


def then_the_names_fit_and_differ(rollouts: Sequence[OneRollout]) -> None:
    names = {one.name: set(one.footprint()) for one in rollouts}
    for made in names.values():
        assert [name for name in made if not LABEL.fullmatch(name.split()[1])] == []
    assert [pair for pair in combinations(names, 2) if names[pair[0]] & names[pair[1]]] == []


def metrics_of(operator: OperatorProcess) -> str:
    """Return the operator's own metrics."""
    port = operator.settings["CHAFFINCH_METRICS_PORT"]
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        return str(answer.read().decode())
