"""What a scrape of a registry gives, as a value to compare."""

from __future__ import annotations

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def scrape(registry: CollectorRegistry) -> Samples:
    """Return all samples of a scrape by name and labels."""
    families = text_string_to_metric_families(generate_latest(registry).decode())
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def series_of(registry: CollectorRegistry, name: str, *labels: str) -> dict[tuple[str, ...], float]:
    """Return the samples of one metric by the values of some of its labels."""
    return {
        tuple(dict(having)[label] for label in labels): value
        for (found, having), value in scrape(registry).items()
        if found == name
    }
