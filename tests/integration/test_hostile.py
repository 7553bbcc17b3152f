"""Hostile objects on a real API server: refused, or taken without what they asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from kubernetes.client import ApiException, CustomObjectsApi
from kubernetes.config import new_client_from_config

from chaffinch.api.kinds import KINDS
from chaffinch.api.v1alpha1.common import GROUP, VERSION
from chaffinch.api.v1alpha1.parse import parse_load_probe, parse_rollout
from chaffinch.domain.manifests.engine import deployment, frozen_revision
from chaffinch.domain.names import RolloutIdentity
from chaffinch.domain.revision import revision_of
from examples import Example, hostile_examples
from examples.texts import URLS, Place
from examples.urls import ONLY_KEPT, places
from localcluster.fixtures import Kubectl

if TYPE_CHECKING:
    from localcluster import Cluster

pytestmark = pytest.mark.cluster

_CRDS = Path(__file__).parents[2] / "crds"
_PLURALS = {kind.name: kind.plural for kind in KINDS}
_TAKEN = "taken"
_FORMS = (URLS[0], URLS[4], URLS[-1])
"""Some of the forms: the parser's own test goes through all of them, in the same words."""


@pytest.fixture(scope="module")
def objects(cluster: Cluster) -> CustomObjectsApi:
    """A client of an API server that has the CRDs of the working tree."""
    admin = Kubectl(cluster, "default")
    admin("apply", "--server-side", "--force-conflicts", "-f", str(_CRDS))
    admin("wait", "--for=condition=Established", "--timeout=30s", "-f", str(_CRDS))
    client = new_client_from_config(str(cluster.kubeconfig))  # type: ignore[no-untyped-call]
    return CustomObjectsApi(client)


def taken(objects: CustomObjectsApi, body: dict[str, Any], validation: str) -> dict[str, Any]:
    """Return the object as the API server would store it."""
    stored = objects.create_namespaced_custom_object(
        GROUP, VERSION, "default", _PLURALS[body["kind"]], body, dry_run="All", field_validation=validation
    )
    assert isinstance(stored, dict)
    return stored


def refusal(objects: CustomObjectsApi, body: dict[str, Any], validation: str) -> str:
    """Return the words with which the API server refuses an object; empty if it takes it."""
    try:
        taken(objects, body, validation)
    except ApiException as error:
        return str(json.loads(error.body or "{}")["message"])
    return ""


def made_of(stored: dict[str, Any]) -> str:
    """Return what the operator takes from an object, and the Deployment that it would make of a rollout."""
    if stored["kind"] == "InferenceRollout":
        spec = parse_rollout(stored)
        frozen = frozen_revision("chat", revision_of(spec), spec, 1)
        rollout = RolloutIdentity("default", "chat", "uid-of-chat")
        made = deployment(rollout, revision_of(spec), frozen, spec.replicas)
        return json.dumps([made["spec"], frozen.spec])
    if stored["kind"] == "LoadProbe":
        return parse_load_probe(stored).model_dump_json()
    return json.dumps(stored["spec"])


@pytest.mark.parametrize("example", [each for each in hostile_examples() if each.expect != _TAKEN], ids=str)
def test_a_hostile_object_is_refused_with_its_field_and_rule(
    objects: CustomObjectsApi, example: Example
) -> None:
    message = refusal(objects, example.body, "Strict")
    assert example.field in message
    assert example.expect in message


@pytest.mark.parametrize("example", hostile_examples(), ids=str)
def test_where_unknown_fields_are_let_through_nothing_of_them_reaches_a_pod(
    objects: CustomObjectsApi, example: Example
) -> None:
    if example.is_refused:
        assert example.expect in refusal(objects, example.body, "Ignore")
        return
    made = made_of(taken(objects, example.body, "Ignore"))
    assert [word for word in example.trace if word in made] == []


@pytest.mark.parametrize(
    ("example", "place"), list(places()), ids=lambda value: str(getattr(value, "field", value))
)
def test_the_api_server_takes_a_url_only_where_a_text_is_only_kept(
    objects: CustomObjectsApi, example: Example, place: Place
) -> None:
    kept = f"{example.body['kind']} {place.field}" in ONLY_KEPT
    for url in _FORMS:
        assert (refusal(objects, place.filled(example.body, url), "Ignore") == "") == kept
