"""No URL can be given in a custom resource, in whatever form: what is asked is the administrator's choice."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from chaffinch.api.v1alpha1.parse import InvalidSpec
from examples import Example, valid_examples
from examples.texts import URLS, Place, text_fields
from examples.urls import ONLY_KEPT, places, spec_schemas
from unit.api.words import PARSERS

PACKAGE = Path(__file__).parents[3] / "operator" / "chaffinch"
PLACES = tuple(places())
CLIENTS = {"httpx", "aiohttp", "requests", "urllib.request", "http.client", "urllib3"}
WHO_SPEAKS_HTTP = {
    "adapters/apiserver.py",  # the API server, from kubeconfig or the pod's environment
    "adapters/cluster.py",  # the same
    "adapters/plain_http.py",  # opens sessions for the next two, and knows no address
    "adapters/pods.py",  # pods' IP addresses
    "adapters/prometheus_queries.py",  # the address in the settings
    "agent/admin.py",  # Envoy's socket
    "agent/kube.py",  # the API server, from the pod's environment
    "agent/process.py",  # serves
    "agent/web.py",  # serves
    "probe/client.py",  # the plan's targets: pods' IP addresses
    "probe/server.py",  # serves
    "runtime/web.py",  # serves
}


def test_every_field_that_takes_a_text_is_in_a_valid_example() -> None:
    fields = {
        f"{kind} {field}" for kind, schema in spec_schemas().items() for field in text_fields(schema, "spec")
    }
    assert fields - {f"{example.body['kind']} {place.field}" for example, place in PLACES} == set()
    assert set(ONLY_KEPT) <= fields
    assert {example.body["kind"] for example in valid_examples()} == set(spec_schemas())


@pytest.mark.parametrize(("example", "place"), PLACES, ids=lambda value: str(getattr(value, "field", value)))
def test_a_url_is_refused_or_stands_where_a_text_is_only_kept(example: Example, place: Place) -> None:
    kind = example.body["kind"]
    for url in URLS:
        filled = place.filled(example.body, url)
        if f"{kind} {place.field}" in ONLY_KEPT:
            PARSERS[kind](filled)
        else:
            with pytest.raises(InvalidSpec) as refusal:
                PARSERS[kind](filled)
            assert place.written.startswith(refusal.value.field_path)


def test_only_these_modules_speak_http() -> None:
    speakers = {
        str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py") if CLIENTS & set(_imports(path))
    }
    assert speakers == WHO_SPEAKS_HTTP


def _imports(path: Path) -> list[str]:
    found: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return found
