"""The CRDs on a real API server: what it takes, what it refuses, and in which words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from kubernetes.client import ApiException, CustomObjectsApi
from kubernetes.config import new_client_from_config

from chaffinch.api.kinds import KINDS, Kind
from chaffinch.api.v1alpha1.common import GROUP, VERSION
from examples import Example, invalid_examples, valid_examples
from examples.statuses import FULL_STATUSES
from examples.variants import Variant, invalid_variants, valid_variants
from localcluster.fixtures import Kubectl, KubectlError
from unit.api.rollouts import a_status

if TYPE_CHECKING:
    from localcluster import Cluster

pytestmark = pytest.mark.cluster

_CRDS = Path(__file__).parents[2] / "crds"
_PLURALS = {kind.name: kind.plural for kind in KINDS}
_BY_STEM = {str(example): example.body for example in valid_examples()}
_OF_KIND = {example.body["kind"]: example.body for example in valid_examples()}


@pytest.fixture(scope="module")
def admin(cluster: Cluster) -> Kubectl:
    """kubectl in the namespace `default`, with the CRDs of the working tree installed."""
    admin = Kubectl(cluster, "default")
    admin("apply", "--server-side", "--force-conflicts", "-f", str(_CRDS))
    admin("wait", "--for=condition=Established", "--timeout=30s", "-f", str(_CRDS))
    return admin


@pytest.fixture
def within(admin: Kubectl, namespace: str) -> Kubectl:
    """kubectl in a namespace of the test's own, with the CRDs installed."""
    return Kubectl(admin.cluster, namespace)


@pytest.fixture(scope="module")
def objects(admin: Kubectl) -> CustomObjectsApi:
    """A client for many quick requests, each of which would cost kubectl a start."""
    client = new_client_from_config(str(admin.cluster.kubeconfig))  # type: ignore[no-untyped-call]
    return CustomObjectsApi(client)


def an_object(answer: object) -> dict[str, Any]:
    """Return an answer of the client, which is not typed, as what it is."""
    assert isinstance(answer, dict)
    return answer


def try_to_create(objects: CustomObjectsApi, body: dict[str, Any]) -> dict[str, Any]:
    """Return the object that the API server would store if kubectl created this one, without storing it."""
    stored = objects.create_namespaced_custom_object(
        GROUP,
        VERSION,
        "default",
        _PLURALS[body["kind"]],
        body,
        dry_run="All",
        field_validation="Strict",
    )
    return an_object(stored)


def refusal(objects: CustomObjectsApi, body: dict[str, Any]) -> str:
    """Return the words with which the API server refuses an object."""
    with pytest.raises(ApiException) as refused:
        try_to_create(objects, body)
    return str(json.loads(refused.value.body or "{}")["message"])


def store_status(
    objects: CustomObjectsApi, namespace: str, body: dict[str, Any], status: dict[str, Any]
) -> dict[str, Any]:
    """Create an object, write its status through the subresource, and return the status that is read then."""
    where = (GROUP, VERSION, namespace, _PLURALS[body["kind"]])
    created = an_object(objects.create_namespaced_custom_object(*where, body))
    name = created["metadata"]["name"]
    whole = {**created, "status": status}
    objects.replace_namespaced_custom_object_status(*where, name, whole, field_validation="Strict")
    return dict(an_object(objects.get_namespaced_custom_object(*where, name))["status"])


def create(kubectl: Kubectl, body: dict[str, Any]) -> None:
    kubectl("create", "--validate=strict", "-f", "-", stdin=json.dumps(body))


def replace_spec(kubectl: Kubectl, body: dict[str, Any], **fields: object) -> None:
    changed = {**body, "spec": {**body["spec"], **fields}}
    kubectl("replace", "--validate=strict", "-f", "-", stdin=json.dumps(changed))


def printed_columns(kubectl: Kubectl, *words: str) -> dict[str, str]:
    """Return what `kubectl get` prints for one object, by heading; columns are two blanks apart."""
    heading, row = kubectl("get", *words).splitlines()
    starts = [
        index
        for index in range(len(heading))
        if heading[index] != " " and heading[index - 1 : index] in ("", " ")
    ]
    ends = [*starts[1:], None]
    return {
        heading[start:end].strip(): row[start:end].strip() for start, end in zip(starts, ends, strict=True)
    }


@pytest.mark.parametrize("path", sorted(_CRDS.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_crd_is_stored_as_it_is_written(admin: Kubectl, path: Path) -> None:
    # Else helm and kubectl, who both apply it, would take each other for somebody who wants another one.
    written = yaml.safe_load(path.read_text())
    stored = json.loads(admin("get", "crd", written["metadata"]["name"], "-o", "json"))
    assert stored["spec"]["versions"] == written["spec"]["versions"]


@pytest.mark.parametrize("valid", [*valid_examples(), *valid_variants()], ids=str)
def test_a_valid_object_is_taken_and_kept_as_its_user_wrote_it(
    objects: CustomObjectsApi, valid: Example | Variant
) -> None:
    assert try_to_create(objects, valid.body)["spec"] == valid.body["spec"]


@pytest.mark.parametrize("example", invalid_examples(), ids=str)
def test_an_invalid_example_is_refused_with_its_field_and_rule(
    objects: CustomObjectsApi, example: Example
) -> None:
    message = refusal(objects, example.body)
    assert example.field in message
    assert example.expect in message


@pytest.mark.parametrize("variant", invalid_variants(), ids=str)
def test_a_variant_that_the_parser_refuses_is_refused_here_too_for_the_same_field(
    objects: CustomObjectsApi, variant: Variant
) -> None:
    assert variant.field in refusal(objects, variant.body)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_kind_is_known_by_its_short_name_and_its_category(admin: Kubectl, kind: Kind) -> None:
    assert admin("get", kind.short, "--ignore-not-found") == ""
    resources = admin("api-resources", f"--api-group={GROUP}", "--categories=chaffinch", "-o", "name").split()
    assert f"{kind.plural}.{GROUP}" in resources


def test_a_stored_spec_is_what_its_user_wrote(within: Kubectl) -> None:
    body = _BY_STEM["rollout-minimal"]
    create(within, body)
    assert within.get("iro", "chat")["spec"] == body["spec"]


def test_a_frozen_baseline_cannot_be_changed(within: Kubectl) -> None:
    body = _BY_STEM["baseline"]
    create(within, body)
    with pytest.raises(KubectlError, match="a baseline is frozen: create another version instead"):
        replace_spec(within, body, digest="sha256:" + "3" * 64)


def test_a_load_probe_cannot_be_changed(within: Kubectl) -> None:
    body = _BY_STEM["loadprobe-profile"]
    create(within, body)
    with pytest.raises(KubectlError, match="a load probe is one run: create another instead"):
        replace_spec(within, body, profile="heavy/v1")


def test_replicas_are_read_and_set_through_the_scale_subresource(within: Kubectl) -> None:
    create(within, _BY_STEM["rollout-minimal"])
    status = {"status": {"replicas": 2, "selector": "chaffinch.dev/revision=0a1b2c3d"}}
    within("patch", "iro", "chat", "--subresource=status", "--type=merge", "-p", json.dumps(status))
    within("scale", "iro", "chat", "--replicas=5")
    scale = within.get("iro", "chat", "--subresource=scale")
    assert scale["spec"] == {"replicas": 5}
    assert scale["status"] == {"replicas": 2, "selector": "chaffinch.dev/revision=0a1b2c3d"}
    with pytest.raises(KubectlError, match="should be less than or equal to 64"):
        within("scale", "iro", "chat", "--replicas=65")


def test_a_status_with_every_field_filled_is_stored_whole(objects: CustomObjectsApi, namespace: str) -> None:
    written = {kind: status.to_dict() for kind, status in FULL_STATUSES.items()}
    assert {
        kind: store_status(objects, namespace, _OF_KIND[kind], status) for kind, status in written.items()
    } == written


def test_a_status_of_the_operator_is_stored_whole_and_printed_in_short(within: Kubectl) -> None:
    create(within, _BY_STEM["rollout-minimal"])
    status = a_status().to_dict()
    within(
        "patch", "iro", "chat", "--subresource=status", "--type=merge", "-p", json.dumps({"status": status})
    )
    assert within.get("iro", "chat")["status"] == status
    printed = printed_columns(within, "iro", "chat")
    assert printed.pop("AGE")
    assert printed == {
        "NAME": "chat",
        "PHASE": "Progressing",
        "STEP": "canary-5",
        "WEIGHT": "5%",
        "STABLE": "58be2000",
        "READY": "False",
        "REASON": "RolloutInProgress",
    }
