"""The agent's metrics as Prometheus text.

Written by hand because a vector must be of one moment: every line of one answer comes from the same
call to :meth:`~chaffinch.agent.blocks.Blocks.vectors`, and the checksum in it covers them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from chaffinch.agent.blocks import ArmKey
from chaffinch.domain.block_vector import (
    BLOCK_ID,
    CHECKSUM,
    E2E,
    FIRST_BLOCK_ID,
    LEFT,
    REQUESTS,
    TTFT,
    BlockVector,
)
from chaffinch.domain.vector_series import EDGES, Series, encode

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

COMMON = ("rollout_namespace", "rollout", "rollout_uid", "agent")
"""The labels of every series; ``agent`` is one process of a router: its pod, and when it started."""
ARM = ("revision", "attempt")
"""What the counters of requests have beside them."""

FAMILIES: tuple[tuple[str, str, str], ...] = (
    (REQUESTS, "counter", "Finished requests by what became of them."),
    (TTFT, "histogram", "Seconds to the first byte of a streamed answer's body; failures are unbounded."),
    (E2E, "histogram", "Seconds to the last byte of an answer; failures are unbounded."),
    (LEFT, "histogram", "Seconds after which clients left who had not got a first byte."),
    (EDGES, "gauge", "The edges that this vector was counted at, as indices of the grid; always 1."),
    (FIRST_BLOCK_ID, "gauge", "The block (Unix time / 10 s) before which this vector holds nothing."),
    (BLOCK_ID, "gauge", "The newest block that this vector holds."),
    (CHECKSUM, "gauge", "CRC-32 of this vector; samples that do not match it are of different scrapes."),
)


@dataclass(frozen=True, slots=True)
class Own:
    """One metric about the agent itself.

    Attributes:
        name: The metric's name.
        kind: ``counter`` or ``gauge``.
        help: What it means.
        values: Its value by the labels that it has beside the common ones.
    """

    name: str
    kind: str
    help: str
    values: Mapping[tuple[tuple[str, str], ...], int]


def exposition(
    common: Mapping[str, str], vectors: Iterable[tuple[ArmKey, BlockVector]], own: Iterable[Own]
) -> str:
    """Return the text of one scrape.

    Args:
        common: The labels that every series has.
        vectors: The latched counters of each arm.
        own: Metrics about the agent.
    """
    return "\n".join([*_of_vectors(common, vectors), *_of_agent(common, own), ""])


def _of_vectors(common: Mapping[str, str], vectors: Iterable[tuple[ArmKey, BlockVector]]) -> Iterator[str]:
    by_family: dict[str, list[str]] = {name: [] for name, _, _ in FAMILIES}
    for arm, vector in vectors:
        labels = {**common, **dict(zip(ARM, (arm.revision, str(arm.attempt)), strict=True))}
        for series in encode(vector):
            by_family[_family_of(series)].append(_line(series, labels))
    for name, kind, text in FAMILIES:
        yield f"# HELP {name} {text}"
        yield f"# TYPE {name} {kind}"
        yield from by_family[name]


def _family_of(series: Series) -> str:
    return series.metric.removesuffix("_bucket").removesuffix("_count")


def _line(series: Series, labels: Mapping[str, str]) -> str:
    own = {series.label: series.value} if series.label else {}
    return f"{series.metric}{{{_labels({**labels, **own})}}} {series.count}"


def _of_agent(common: Mapping[str, str], own: Iterable[Own]) -> Iterator[str]:
    for metric in own:
        yield f"# HELP {metric.name} {metric.help}"
        yield f"# TYPE {metric.name} {metric.kind}"
        for labels, value in metric.values.items():
            yield f"{metric.name}{{{_labels({**common, **dict(labels)})}}} {value}"


def _labels(labels: Mapping[str, str]) -> str:
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
