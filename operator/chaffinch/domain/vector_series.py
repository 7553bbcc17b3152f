"""What of a vector is exported, and how the reader gets the whole of it back.

A router counts at hundreds of edges, and most of them say nothing: no latency lies between them and the edge
before. Those are left out, and the reader fills them in, as a label names all edges that there are. Where
something was counted once, it stays counted, so a series that is there never goes away. Every eighth edge is
always exported, so that a picture that adds up the series of several routers is not far off.

The checksum is that of the whole vector: if a series is missing that says something, it does not hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from chaffinch.domain import edge_text
from chaffinch.domain.block_vector import (
    BLOCK_ID,
    CHECKSUM,
    E2E,
    FIRST_BLOCK_ID,
    LEFT,
    REQUESTS,
    TTFT,
    BlockVector,
    BrokenVectorError,
    LatencyCounts,
    Outcome,
    le_text,
)
from chaffinch.domain.grid import COARSE, EDGE_COUNT

EDGES = "chaffinch_router_edges"

_LABELS = {
    REQUESTS: "outcome",
    **{f"{metric}_bucket": "le" for metric in (TTFT, E2E, LEFT)},
    EDGES: "edges",
}
_LE = tuple(le_text(edge) for edge in range(EDGE_COUNT))
_EDGE_OF_LE = {text: edge for edge, text in enumerate(_LE)}
_LARGEST_EXACT = 2**53  # counts travel as floating-point numbers
_TOO_MANY = "the vector holds series that it should not"


@dataclass(frozen=True, slots=True)
class Series:
    """One series of a vector: metric name, its one own label (or none), and its count."""

    metric: str
    label: str
    value: str
    count: int


def own_label(metric: str) -> str:
    """Return the name of the label that tells apart the series of a metric in a vector; "" for none."""
    return _LABELS.get(metric, "")


def encode(vector: BlockVector) -> Iterator[Series]:
    """Yield all series to export."""
    for outcome, count in zip(Outcome, vector.requests, strict=True):
        yield Series(REQUESTS, "outcome", outcome.value, count)
    for metric, latency in ((TTFT, vector.ttft), (E2E, vector.e2e), (LEFT, vector.left)):
        yield from _of_latency(metric, latency)
    yield Series(EDGES, "edges", _edges_text(vector), 1)
    yield Series(FIRST_BLOCK_ID, "", "", vector.first_block)
    yield Series(BLOCK_ID, "", "", vector.block)
    yield Series(CHECKSUM, "", "", vector.checksum())


def decode(samples: Mapping[tuple[str, str], float]) -> BlockVector:
    """Read one vector back from the samples of one agent, revision, attempt and scrape.

    Args:
        samples: Values by (metric name, value of its own label, "" without one). All samples of the
            vector and nothing else, as :func:`encode` names them. Routers of an earlier release export every
            edge, and do not say which there are.

    Raises:
        BrokenVectorError: If a series is missing, unknown or no whole number, if the counts cannot
            be, or if the checksum does not hold.
    """
    counts: dict[str, dict[str, int]] = {}
    for (metric, label), value in samples.items():
        counts.setdefault(metric, {})[label] = _whole(value)
    try:
        ttft, e2e = _pop_edges(counts)
        vector = BlockVector(
            first_block=_pop_single(counts, FIRST_BLOCK_ID),
            block=_pop_single(counts, BLOCK_ID),
            requests=_pop_requests(counts),
            ttft=_pop_latency(counts, TTFT, ttft),
            e2e=_pop_latency(counts, E2E, e2e),
            left=_pop_latency(counts, LEFT, ttft),
        )
        checksum = _pop_single(counts, CHECKSUM)
    except KeyError as missing:
        raise BrokenVectorError(f"the vector lacks the series {missing.args[0]}") from None
    if counts:
        raise BrokenVectorError(_TOO_MANY)
    if checksum != vector.checksum():
        raise BrokenVectorError("the vector's checksum does not hold: samples of different scrapes are mixed")
    return vector


def _of_latency(metric: str, latency: LatencyCounts) -> Iterator[Series]:
    bucket = f"{metric}_bucket"
    for edge, count in _exported(latency):
        yield Series(bucket, "le", _LE[edge], count)
    yield Series(bucket, "le", "+Inf", latency.total)
    yield Series(f"{metric}_count", "", "", latency.total)


def _exported(latency: LatencyCounts) -> Iterator[tuple[int, int]]:
    """Yield the edges that are exported, with their counts."""
    below = 0
    for edge, count in zip(latency.edges, latency.counts, strict=True):
        if count != below or edge % COARSE == 0:
            yield edge, count
        below = count


def _edges_text(vector: BlockVector) -> str:
    return f"{edge_text.write(vector.ttft.edges)};{edge_text.write(vector.e2e.edges)}"


def _pop_edges(
    counts: dict[str, dict[str, int]],
) -> tuple[tuple[int, ...], tuple[int, ...]] | tuple[None, None]:
    """Return the edges of TTFT and E2E."""
    named = counts.pop(EDGES, None)
    if named is None:
        return None, None
    if list(named.values()) != [1]:
        raise BrokenVectorError(_TOO_MANY)
    ttft, _, e2e = next(iter(named)).partition(";")
    try:
        return edge_text.read(ttft), edge_text.read(e2e)
    except ValueError:
        raise BrokenVectorError("the edges of a vector cannot be read") from None


def _pop_single(counts: dict[str, dict[str, int]], metric: str) -> int:
    values = counts.pop(metric)
    if values.keys() != {""}:
        raise BrokenVectorError(_TOO_MANY)
    return values[""]


def _pop_requests(counts: dict[str, dict[str, int]]) -> tuple[int, ...]:
    values = counts.pop(REQUESTS)
    if len(values) > len(Outcome):
        raise BrokenVectorError(_TOO_MANY)
    return tuple(values[outcome.value] for outcome in Outcome)


def _pop_latency(
    vector: dict[str, dict[str, int]], metric: str, edges: tuple[int, ...] | None
) -> LatencyCounts:
    total, buckets = _pop_single(vector, f"{metric}_count"), vector.pop(f"{metric}_bucket")
    if buckets.pop("+Inf") != total:
        raise BrokenVectorError("a latency's last bucket must hold all of its counts")
    try:
        exported = {_EDGE_OF_LE[text]: count for text, count in buckets.items()}
    except KeyError:
        raise BrokenVectorError("a latency has an edge that is not on the grid") from None
    if edges is None:
        rising = tuple(sorted(exported))
        return LatencyCounts(rising, tuple([exported[edge] for edge in rising]), total)
    return _filled_in(exported, edges, total)


def _filled_in(exported: Mapping[int, int], edges: tuple[int, ...], total: int) -> LatencyCounts:
    """Return the count at each edge; at one that was left out it is that of the edge before."""
    counts, below = [], 0
    for edge in edges:
        below = exported.get(edge, below)
        counts.append(below)
    latency = LatencyCounts(edges, tuple(counts), total)
    if exported != dict(_exported(latency)):
        raise BrokenVectorError("a latency is not exported at the edges that it should be")
    return latency


def _whole(value: float) -> int:
    if type(value) is int and 0 <= value <= _LARGEST_EXACT:
        return value
    # NaN fails the comparison; infinities fail the bound.
    if not 0 <= value <= _LARGEST_EXACT or value != int(value):
        raise BrokenVectorError("a count must be a finite whole number of 0 or more")
    return int(value)
