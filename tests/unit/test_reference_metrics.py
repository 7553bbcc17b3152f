"""The reference of metrics lists what the programs really export, with the labels that it really has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from chaffinch.meters import Description
from chaffinch.reference_metrics import operator_metrics, probe_metrics, reference, router_metrics
from fakes.expositions import operator_exposition, probe_exposition, router_exposition


@pytest.mark.parametrize(
    ("text", "documented"),
    [
        pytest.param(operator_exposition, operator_metrics, id="operator"),
        pytest.param(router_exposition, router_metrics, id="router"),
        pytest.param(probe_exposition, probe_metrics, id="probe"),
    ],
)
def test_what_is_exported_is_what_is_documented(
    text: Callable[[], str], documented: Callable[[], tuple[Description, ...]]
) -> None:
    exported = {}
    for family in text_string_to_metric_families(text()):
        if family.name.endswith("_created"):  # when a counter began; prometheus_client adds it by itself
            continue
        name = f"{family.name}_total" if family.type == "counter" else family.name
        labels = {label for sample in family.samples for label in sample.labels} - {"le"}
        exported[name] = (family.type, labels)
    assert exported == {each.name: (each.kind, set(each.labels)) for each in documented()}


def test_every_metric_is_explained_in_a_sentence() -> None:
    listed = (*operator_metrics(), *router_metrics(), *probe_metrics())
    assert not [each.name for each in listed if not each.meaning.endswith(".")]
    assert len({each.name for each in listed}) == len(listed)


def test_the_reference_page_is_up_to_date() -> None:
    page = Path(__file__).parents[2] / "docs" / "reference-metrics.md"
    remedy = "run: python -m chaffinch.reference_metrics > docs/reference-metrics.md"
    assert page.read_text() == reference(), remedy
