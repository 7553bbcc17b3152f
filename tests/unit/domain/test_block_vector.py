from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from chaffinch.domain.block_vector import (
    BLOCK_ID,
    CHECKSUM,
    COUNTED,
    E2E,
    ERRORS,
    FIRST_BLOCK_ID,
    REQUESTS,
    TTFT,
    BlockVector,
    BrokenVectorError,
    LatencyCounts,
    Outcome,
    decode,
    le_text,
)
from chaffinch.domain.grid import BUCKET_COUNT, EDGE_COUNT, EDGES_SECONDS, OVERFLOW, Histogram

VECTOR = BlockVector(
    first_block=100,
    block=101,
    requests=(5, 1, 0, 0, 2, 0, 0, 0, 1, 0),
    ttft=LatencyCounts((0, 10), (1, 6), 9),
    e2e=LatencyCounts((), (), 8),
    left=LatencyCounts((0, 10), (0, 1), 3),
)

Samples = dict[tuple[str, str], float]


def samples(vector: BlockVector) -> Samples:
    return {(series.metric, series.value): float(series.count) for series in vector.encode()}


def test_the_canonical_text_is_what_it_has_always_been() -> None:
    # Writer and reader may be of different releases: this text must not change.
    series = [
        'chaffinch_router_requests_total{outcome="ok"}=5',
        'chaffinch_router_requests_total{outcome="error_5xx"}=1',
        'chaffinch_router_requests_total{outcome="error_refused"}=0',
        'chaffinch_router_requests_total{outcome="error_reset"}=0',
        'chaffinch_router_requests_total{outcome="error_cut"}=2',
        'chaffinch_router_requests_total{outcome="error_empty"}=0',
        'chaffinch_router_requests_total{outcome="client_4xx"}=0',
        'chaffinch_router_requests_total{outcome="throttled"}=0',
        'chaffinch_router_requests_total{outcome="client_gone_early"}=1',
        'chaffinch_router_requests_total{outcome="client_gone_late"}=0',
        'chaffinch_router_ttft_seconds_bucket{le="0.001"}=1',
        'chaffinch_router_ttft_seconds_bucket{le="0.00127628156"}=6',
        'chaffinch_router_ttft_seconds_bucket{le="+Inf"}=9',
        "chaffinch_router_ttft_seconds_count=9",
        'chaffinch_router_e2e_seconds_bucket{le="+Inf"}=8',
        "chaffinch_router_e2e_seconds_count=8",
        'chaffinch_router_left_seconds_bucket{le="0.001"}=0',
        'chaffinch_router_left_seconds_bucket{le="0.00127628156"}=1',
        'chaffinch_router_left_seconds_bucket{le="+Inf"}=3',
        "chaffinch_router_left_seconds_count=3",
    ]
    assert VECTOR.canonical_text() == "100|101|" + ";".join(series)
    assert VECTOR.checksum() == 3030232815


def test_a_vector_reads_back_as_it_was_written() -> None:
    assert decode(samples(VECTOR)) == VECTOR


def test_what_the_client_or_a_lack_of_room_ended_is_neither_an_answer_nor_a_failure() -> None:
    assert set(Outcome) - COUNTED == {
        Outcome.CLIENT_4XX,
        Outcome.THROTTLED,
        Outcome.CLIENT_GONE_EARLY,
        Outcome.CLIENT_GONE_LATE,
    }
    assert {Outcome.OK} == COUNTED - ERRORS
    assert (VECTOR.count(COUNTED), VECTOR.count(ERRORS)) == (8, 3)


def test_latencies_sit_in_the_bucket_of_the_next_exported_edge() -> None:
    buckets = [0] * BUCKET_COUNT
    buckets[3], buckets[10], buckets[11], buckets[OVERFLOW] = 2, 1, 4, 5
    exported = LatencyCounts.of(buckets, (10, 20))
    assert exported == LatencyCounts((10, 20), (3, 7), 12)
    expected = [0] * BUCKET_COUNT
    expected[10], expected[20], expected[OVERFLOW] = 3, 4, 5
    assert exported.histogram() == Histogram(tuple(expected))


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
    "buckets that fall": {(f"{TTFT}_bucket", "0.001"): 7},
    "more in a bucket than in total": {(f"{TTFT}_bucket", "+Inf"): 5, (f"{TTFT}_count", ""): 5},
    "an edge that is not on the grid": {(f"{E2E}_bucket", "0.25"): 0},
    "an outcome that nobody knows": {(REQUESTS, "lucky"): 0},
    "a metric that does not belong": {("up", ""): 1},
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_vector_is_broken_by(name: str) -> None:
    with pytest.raises(BrokenVectorError):
        decode({**samples(VECTOR), **BROKEN[name]})


def test_who_left_is_counted_at_the_edges_of_the_time_to_first_token() -> None:
    with pytest.raises(BrokenVectorError, match="at the edges of the time to first token"):
        replace(VECTOR, left=LatencyCounts((0, 11), (0, 1), 3))


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
    taken = data.draw(st.sets(st.sampled_from(sorted(first)), min_size=1))
    mixed = {key: second[key] if key in taken else value for key, value in first.items()}
    assume(mixed not in (first, second))
    with pytest.raises(BrokenVectorError):
        decode(mixed)


def test_every_edge_has_a_label_of_its_own_that_prometheus_leaves_alone() -> None:
    texts = [le_text(edge) for edge in range(EDGE_COUNT)]
    assert len(set(texts)) == EDGE_COUNT
    # Prometheus writes whole numbers as 1.0 and would rewrite exponents.
    assert all("." in text and "e" not in text for text in texts)
    assert all(float(text) == pytest.approx(EDGES_SECONDS[edge], rel=1e-8) for edge, text in enumerate(texts))
