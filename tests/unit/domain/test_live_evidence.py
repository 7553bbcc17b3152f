from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from chaffinch.domain.block_vector import CHECKSUM, HORIZON_SECONDS, BlockVector
from chaffinch.domain.evidence import ArmEvidence, Evidence, LatencyMetric, Problem
from chaffinch.domain.grid import BUCKET_COUNT, EDGES_SECONDS, OVERFLOW, Histogram
from chaffinch.domain.live_evidence import Arms, evidence_of, first_block_of, scrapes_of, starts_of
from chaffinch.domain.prometheus_reply import CountSeries, UnusableReplyError, Window, read_matrix
from chaffinch.domain.verdict.counts import Latencies
from chaffinch.domain.verdict.latency import LimitTest
from unit.domain.scrapes import CANDIDATE, EDGES, STABLE, Scrapes, both, counted, vector

ARMS = Arms(CANDIDATE, STABLE)
B = 177_000_000  # the step's first block
SINCE = datetime.fromtimestamp(B * 10 - 4, UTC)  # the step begins within the block before
NOW = B * 10 + 600.0
Taken = tuple[str, float, Mapping[str, BlockVector]]


def series_of(scrapes: Scrapes) -> tuple[CountSeries, ...]:
    return read_matrix(json.dumps(scrapes.reply()).encode(), Window(0, NOW))


def read(start: list[Taken], end: list[Taken], arms: Arms = ARMS) -> Evidence:
    starts = starts_of(SINCE, scrapes_of(series_of(counted(start)), arms.revisions))
    return evidence_of(arms, SINCE, starts, scrapes_of(series_of(counted(end)), arms.revisions))


def read_end(end: Scrapes) -> Evidence:
    return evidence_of(ARMS, SINCE, {}, scrapes_of(series_of(end), ARMS.revisions))


def same(first: int, block: int, ok: int) -> Mapping[str, BlockVector]:
    return both(vector(first=first, block=block, ok=ok), vector(first=first, block=block, ok=ok))


def histogram(counts: dict[int, int]) -> Histogram:
    return Histogram(tuple(counts.get(bucket, 0) for bucket in range(BUCKET_COUNT)))


def arm(requests: int, errors: int, counts: dict[int, int], left: int = 0) -> ArmEvidence:
    latency, edges = histogram(counts), EDGES
    return ArmEvidence(
        requests,
        errors,
        {LatencyMetric.TTFT: latency, LatencyMetric.E2E: latency},
        {LatencyMetric.TTFT: edges, LatencyMetric.E2E: edges},
        {LatencyMetric.TTFT: histogram({206: left})},
    )


def test_the_first_block_of_a_step_is_the_first_that_begins_within_it() -> None:
    assert first_block_of(SINCE) == B
    assert first_block_of(datetime.fromtimestamp(B * 10, UTC)) == B


def test_an_agents_newest_vector_minus_its_vector_at_the_start_is_what_the_step_saw() -> None:
    before = both(
        vector(first=B - 50, block=B - 1, ok=100, cut=3, left=2), vector(first=B - 50, block=B - 1, ok=900)
    )
    after = both(
        vector(first=B - 50, block=B + 30, ok=140, cut=5, client_4xx=7, fast=10, left=8),
        vector(first=B - 50, block=B + 30, ok=1700, cut=1),
    )
    seen = read([("a", NOW - 590, before)], [("a", NOW - 1, after)])
    assert seen == Evidence(
        candidate=arm(42, 2, {200: 10, 202: 30, OVERFLOW: 2}, left=6),
        control=arm(801, 1, {202: 800, OVERFLOW: 1}),
        until=datetime.fromtimestamp((B + 31) * 10, UTC),
    )


def test_an_agent_that_began_within_the_step_counts_from_zero() -> None:
    seen = read([], [("a", NOW, same(B, B + 30, 55))])
    assert seen.candidate.requests == 55


def test_agents_are_added_up_and_the_slower_one_tells_how_fresh_it_all_is() -> None:
    start = [("a", NOW - 590, same(B - 9, B - 1, 10)), ("b", NOW - 590, same(B - 9, B + 2, 20))]
    end = [
        ("a", NOW, same(B - 9, B + 40, 110)),
        ("b", NOW, same(B - 9, B + 30, 50)),
        ("c", NOW, same(B + 9, B + 44, 7)),
    ]
    seen = read(start, end)
    assert seen.candidate.requests == 100 + 30 + 7
    assert seen.until == datetime.fromtimestamp((B + 31) * 10, UTC)


def test_the_start_is_the_earliest_scrape_that_had_counted_every_block_before_the_step() -> None:
    start = [
        ("a", NOW - 600 + at, same(B - 9, block, ok))
        for at, block, ok in [(1, B - 2, 1), (6, B - 1, 4), (11, B, 9)]
    ]
    assert read(start, [("a", NOW, same(B - 9, B + 30, 50))]).candidate.requests == 46


def test_an_agent_whose_start_is_unknown_is_left_out_with_both_arms() -> None:
    end = [("known", NOW, same(B - 9, B + 30, 50)), ("unknown", NOW, same(B - 9, B + 30, 5000))]
    seen = read([("known", NOW - 590, same(B - 9, B - 1, 10))], end)
    assert seen.candidate.requests == 40
    assert seen.control is not None
    assert seen.control.requests == 40
    with pytest.raises(UnusableReplyError, match="no router has counted the step's first block yet"):
        read([], [("unknown", NOW, same(B - 9, B + 30, 5000))])


def test_without_a_mature_block_of_the_step_there_is_no_data() -> None:
    before = [("a", NOW, same(B - 9, B - 1, 10))]
    with pytest.raises(UnusableReplyError) as refusal:
        read(before, before)
    assert refusal.value.problem is Problem.NO_DATA


def test_nothing_exported_is_no_data() -> None:
    with pytest.raises(UnusableReplyError, match="the routers export nothing about this attempt") as refusal:
        read_end(Scrapes())
    assert refusal.value.problem is Problem.NO_DATA


def test_a_quiet_service_has_zeros_and_not_nothing() -> None:
    seen = read([], [("a", NOW, same(B, B + 30, 0))])
    assert (seen.candidate.requests, seen.candidate.latencies[LatencyMetric.TTFT].total) == (0, 0)


def test_without_a_stable_revision_there_is_no_control() -> None:
    alone = {CANDIDATE: vector(first=B, block=B + 30, ok=50)}
    assert read([], [("a", NOW, alone)], Arms(CANDIDATE, None)).control is None


def test_a_scrape_in_which_one_arm_is_missing_does_not_count() -> None:
    only_stable = {STABLE: vector(first=B, block=B + 31, ok=60)}
    seen = read([], [("a", NOW - 5, same(B, B + 30, 50)), ("a", NOW, only_stable)])
    assert seen.control is not None
    assert seen.control.requests == 50
    with pytest.raises(UnusableReplyError, match="no whole vector") as refusal:
        read([], [("a", NOW, only_stable)])
    assert refusal.value.problem is Problem.NO_DATA


def test_a_scrape_whose_checksum_does_not_hold_does_not_count() -> None:
    end = counted([("a", NOW - 5, same(B, B + 30, 50)), ("a", NOW, same(B, B + 31, 60))])
    for labels, values in end.series.items():
        if dict(labels)["__name__"] == CHECKSUM:
            values[-1][1] = "12345"
    assert read_end(end).candidate.requests == 50
    for labels, values in end.series.items():
        if dict(labels)["__name__"] == CHECKSUM:
            values[0][1] = "12345"
    with pytest.raises(UnusableReplyError, match="no whole vector"):
        read_end(end)


@pytest.mark.parametrize("missing", range(0, 30, 3))
def test_a_scrape_that_lacks_any_series_does_not_count(missing: int) -> None:
    end = counted([("a", NOW, same(B, B + 30, 50))])
    del end.series[sorted(end.series, key=sorted)[missing]]
    with pytest.raises(UnusableReplyError, match="no whole vector"):
        read_end(end)


def test_a_pod_that_is_scraped_twice_is_counted_once() -> None:
    end = (
        Scrapes().add("a", NOW - 2, same(B, B + 30, 50), job="x").add("a", NOW, same(B, B + 30, 50), job="y")
    )
    assert read_end(end).candidate.requests == 50


def test_one_counter_of_one_time_twice_is_refused() -> None:
    end = Scrapes().add("a", NOW, same(B, B + 30, 50), job="x").add("a", NOW, same(B, B + 30, 51), job="y")
    with pytest.raises(UnusableReplyError, match="one counter of one time twice"):
        read_end(end)


@pytest.mark.parametrize(
    "later",
    [
        same(B - 9, B + 31, 39),  # fewer requests
        same(B - 9, B + 29, 50),  # an older block
        same(B - 8, B + 31, 50),  # begun anew under the same name
        both(vector(first=B - 9, block=B + 31, ok=50, fast=50), vector(first=B - 9, block=B + 31, ok=50)),
    ],
)
def test_a_counter_that_goes_down_within_one_agent_is_refused(later: Mapping[str, BlockVector]) -> None:
    start = [("a", NOW - 590, same(B - 9, B - 1, 10))]
    with pytest.raises(UnusableReplyError, match="went down") as refusal:
        read(start, [("a", NOW - 5, same(B - 9, B + 30, 40)), ("a", NOW, later)])
    assert refusal.value.problem is Problem.UNAVAILABLE


def test_a_counter_that_is_lower_than_at_the_steps_start_is_refused() -> None:
    with pytest.raises(UnusableReplyError, match="went down"):
        read([("a", NOW - 590, same(B - 9, B - 1, 60))], [("a", NOW, same(B - 9, B + 30, 50))])


@pytest.mark.parametrize("labels", [{"revision": "ffffffff"}, {"agent": ""}])
def test_a_series_that_was_not_asked_for_is_refused(labels: dict[str, str]) -> None:
    end = counted([("a", NOW, same(B, B + 30, 50))])
    end.series[frozenset({"__name__": CHECKSUM, "agent": "a", "revision": STABLE, **labels}.items())] = [
        [NOW, "1"]
    ]
    with pytest.raises(UnusableReplyError, match="not asked for"):
        read_end(end)


def test_an_unknown_outcome_or_edge_spoils_its_scrape() -> None:
    for extra in ({"outcome": "fine", "__name__": "chaffinch_router_requests_total"}, {"__name__": "other"}):
        end = counted([("a", NOW, same(B, B + 30, 50))])
        end.series[frozenset({"agent": "a", "revision": STABLE, **extra}.items())] = [[NOW, "1"]]
        with pytest.raises(UnusableReplyError, match="no whole vector"):
            read_end(end)


def test_answers_of_75_seconds_do_not_break_a_limit_of_100_seconds() -> None:
    # They were open at the horizon, so they count as unbounded.
    lasting = vector(first=B, block=B + 30, cut=1000, edges=(200, 440, 470, 490))
    latencies = Latencies.of(read([], [("a", NOW, both(lasting, lasting))]).candidate, LatencyMetric.E2E)
    assert [EDGES_SECONDS[edge] < HORIZON_SECONDS for edge in latencies.edges or ()] == [True, True]
    surely = math.log(0.001)
    assert LimitTest(latencies, 0.95, 40.0).over(surely)
    assert not LimitTest(latencies, 0.95, 100.0).over(surely)
    assert not LimitTest(latencies, 0.95, 100.0).under(surely)


def test_edges_that_a_new_route_changed_are_read_where_both_vectors_have_them() -> None:
    before = both(vector(first=B - 9, block=B - 1, ok=10), vector(first=B - 9, block=B - 1, ok=10))
    other = (202, 204, 300)
    after = both(
        vector(first=B - 9, block=B + 30, ok=50, edges=other),
        vector(first=B - 9, block=B + 30, ok=50, edges=other),
    )
    seen = read([("a", NOW - 590, before)], [("a", NOW, after)])
    assert seen.candidate.edges[LatencyMetric.TTFT] == (202, 204)
    assert seen.candidate.latencies[LatencyMetric.TTFT] == histogram({202: 40})
