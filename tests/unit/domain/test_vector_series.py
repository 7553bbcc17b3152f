"""What is exported of a vector, and what it takes to read the whole of it back."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from chaffinch.domain.vector_series import EDGES, decode, encode

VECTOR = BlockVector(
    first_block=100,
    block=101,
    requests=(5, 1, 0, 0, 2, 0, 0, 0, 1, 0),
    ttft=LatencyCounts((1, 9, 10), (1, 6, 6), 9),
    e2e=LatencyCounts((), (), 8),
    left=LatencyCounts((1, 9, 10), (0, 1, 1), 3),
)

Samples = dict[tuple[str, str], float]


def samples(vector: BlockVector) -> Samples:
    return {(series.metric, series.value): float(series.count) for series in encode(vector)}


def test_a_vector_reads_back_as_it_was_written() -> None:
    assert decode(samples(VECTOR)) == VECTOR


def test_an_edge_is_exported_if_something_was_counted_there_and_every_eighth_one_always() -> None:
    edges = tuple(range(1, 25))
    counts = tuple(0 if edge < 5 else 3 if edge < 11 else 4 for edge in edges)
    vector = replace(VECTOR, ttft=LatencyCounts(edges, counts, 7), left=LatencyCounts(edges, counts, 7))
    exported = {s.value: s.count for s in encode(vector) if s.metric == f"{TTFT}_bucket"}
    shown = {5: 3, 8: 3, 11: 4, 16: 4, 24: 4}
    assert exported == {le_text(edge): count for edge, count in shown.items()} | {"+Inf": 7}
    assert decode(samples(vector)) == vector


def test_a_vector_says_at_which_edges_it_was_counted() -> None:
    wide = replace(VECTOR, e2e=LatencyCounts((8, 16, 24, 30), (0, 0, 0, 0), 8))
    assert [s.value for s in encode(wide) if s.metric == EDGES] == ["1,9,10;8-24/8,30"]


def test_a_router_of_an_earlier_release_exports_every_edge_and_does_not_name_them() -> None:
    every = samples(VECTOR) | {(f"{TTFT}_bucket", le_text(10)): 6.0}
    every |= {(f"{LEFT}_bucket", le_text(edge)): count for edge, count in ((1, 0.0), (10, 1.0))}
    assert decode({key: value for key, value in every.items() if key[0] != EDGES}) == VECTOR


BROKEN: dict[str, Samples] = {
    "a count that is not a number": {(REQUESTS, "ok"): float("nan")},
    "an infinite count": {(REQUESTS, "ok"): float("inf")},
    "a negative count": {(REQUESTS, "ok"): -1},
    "a fraction": {(REQUESTS, "ok"): 4.5},
    "another count": {(REQUESTS, "ok"): 6},
    "another block": {(BLOCK_ID, ""): 102},
    "another first block": {(FIRST_BLOCK_ID, ""): 99},
    "another checksum": {(CHECKSUM, ""): 1},
    "an end before the first block": {(BLOCK_ID, ""): 98},
    "a total that is not the last bucket's": {(f"{TTFT}_count", ""): 10},
    "buckets that fall": {(f"{TTFT}_bucket", le_text(1)): 7},
    "more in a bucket than in total": {(f"{TTFT}_bucket", "+Inf"): 5, (f"{TTFT}_count", ""): 5},
    "an edge that is not on the grid": {(f"{E2E}_bucket", "0.25"): 0},
    "an edge that it does not name": {(f"{TTFT}_bucket", le_text(30)): 6},
    "an edge at which nothing was counted": {(f"{TTFT}_bucket", le_text(10)): 6},
    "edges that are not there once": {(EDGES, "1,9,10;"): 2},
    "edges of two kinds": {(EDGES, "1,9;"): 1},
    "an outcome that nobody knows": {(REQUESTS, "lucky"): 0},
    "a metric that does not belong": {("up", ""): 1},
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_vector_is_broken_by(name: str) -> None:
    with pytest.raises(BrokenVectorError):
        decode({**samples(VECTOR), **BROKEN[name]})


@pytest.mark.parametrize("edges", ["1,9;", "1,9,10,12;", "all;", "9,1;"])
def test_a_vector_is_broken_by_other_edges(edges: str) -> None:
    others = {key: value for key, value in samples(VECTOR).items() if key[0] != EDGES}
    with pytest.raises(BrokenVectorError):
        decode({**others, (EDGES, edges): 1.0})


@pytest.mark.parametrize("key", sorted(samples(VECTOR)))
def test_a_vector_is_broken_by_the_lack_of(key: tuple[str, str]) -> None:
    with pytest.raises(BrokenVectorError):
        decode({name: value for name, value in samples(VECTOR).items() if name != key})


@st.composite
def _vectors(draw: st.DrawFn) -> BlockVector:
    small = st.integers(0, 50)
    rising = st.lists(small, min_size=3, max_size=3).map(sorted)
    ttft, e2e, left = draw(rising), draw(rising), draw(rising)
    return BlockVector(
        first_block=100,
        block=draw(st.integers(100, 130)),
        requests=tuple(draw(st.lists(small, min_size=len(Outcome), max_size=len(Outcome)))),
        ttft=LatencyCounts((1, 5), (ttft[0], ttft[1]), ttft[2]),
        e2e=LatencyCounts((2, 6), (e2e[0], e2e[1]), e2e[2]),
        left=LatencyCounts((1, 5), (left[0], left[1]), left[2]),
    )


@given(_vectors(), _vectors(), st.data())
def test_samples_of_two_scrapes_are_never_taken_for_one(
    one: BlockVector, other: BlockVector, data: st.DataObject
) -> None:
    first, second = samples(one), samples(other)
    taken = data.draw(st.sets(st.sampled_from(sorted(first.keys() | second.keys())), min_size=1))
    mixed = {key: value for key, value in first.items() if key not in taken}
    mixed |= {key: value for key, value in second.items() if key in taken}
    with suppress(BrokenVectorError):
        assert decode(mixed) in (one, other)  # what was taken says nothing
