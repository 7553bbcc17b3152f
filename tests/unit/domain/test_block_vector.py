from __future__ import annotations

from dataclasses import replace

import pytest

from chaffinch.domain.block_vector import (
    COUNTED,
    ERRORS,
    BlockVector,
    BrokenVectorError,
    LatencyCounts,
    Outcome,
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


def test_who_left_is_counted_at_the_edges_of_the_time_to_first_token() -> None:
    with pytest.raises(BrokenVectorError, match="at the edges of the time to first token"):
        replace(VECTOR, left=LatencyCounts((0, 11), (0, 1), 3))


def test_every_edge_has_a_label_of_its_own_that_prometheus_leaves_alone() -> None:
    texts = [le_text(edge) for edge in range(EDGE_COUNT)]
    assert len(set(texts)) == EDGE_COUNT
    # Prometheus writes whole numbers as 1.0 and would rewrite exponents.
    assert all("." in text and "e" not in text for text in texts)
    assert all(float(text) == pytest.approx(EDGES_SECONDS[edge], rel=1e-8) for edge, text in enumerate(texts))
