from __future__ import annotations

import math

import pytest
from scipy.stats import binom, hypergeom

from chaffinch.domain.grid import EDGE_COUNT, EDGES_SECONDS, OVERFLOW, Histogram, bucket_of
from chaffinch.domain.verdict.counts import Latencies
from chaffinch.domain.verdict.latency import Comparison, LimitTest
from unit.verdict.builders import latencies

LOG_5_PERCENT = math.log(0.05)
P95 = 0.95


def histogram(counts: dict[int, int]) -> Histogram:
    return Histogram(tuple(counts.get(bucket, 0) for bucket in range(OVERFLOW + 1)))


def compare(
    canary: dict[int, int], control: dict[int, int], edges: tuple[int, ...] | None = None
) -> Comparison:
    return Comparison(Latencies(histogram(canary), edges), Latencies(histogram(control), edges), P95)


def test_the_test_is_hypergeometric_on_the_pooled_tail_nearest_to_the_quantile() -> None:
    # Moved down by 2 buckets the canary has 12 above bucket 202 and the control 4: 16 of 200 are 8 %.
    # Above bucket 203 they have 8 and 2: 10 of 200 are exactly 5 %.
    comparison = compare({100: 88, 205: 4, 215: 8}, {100: 96, 203: 2, 213: 2})
    p = hypergeom.sf(8 - 1, 200, 100, 10)
    assert comparison.slower(2, math.log(p) + 1e-9)
    assert not comparison.slower(2, math.log(p) - 1e-9)


def test_a_canary_slower_by_exactly_the_margin_is_as_likely_slower_as_faster() -> None:
    control = latencies(3000)
    canary = [seconds * 1.05 for seconds in control]
    comparison = Comparison(Latencies(Histogram.of(canary)), Latencies(Histogram.of(control)), P95)
    assert comparison.gap() == 2
    assert not comparison.slower(2, math.log(0.4))
    assert not comparison.faster(2, math.log(0.4))


def test_moving_the_canary_by_whole_buckets_has_no_ties_at_edges() -> None:
    # Every latency lies exactly on an edge: the canary times 1.05 falls into the control's buckets.
    edges = [EDGES_SECONDS[i] for i in range(200, 300)]
    canary = Histogram.of([EDGES_SECONDS[i + 2] for i in range(200, 300)])
    assert [canary.counts[i + 2] for i in range(200, 300)] == [
        Histogram.of(edges).counts[i] for i in range(200, 300)
    ]


def test_requests_that_never_finished_stay_infinite_under_every_margin() -> None:
    comparison = compare({100: 900, OVERFLOW: 100}, {100: 1000})
    assert comparison.slower(400, LOG_5_PERCENT)
    assert not comparison.faster(400, math.log(0.5))


def test_two_arms_that_never_finish_alike_say_nothing() -> None:
    comparison = compare({100: 900, OVERFLOW: 100}, {100: 900, OVERFLOW: 100})
    assert not comparison.slower(2, math.log(0.4))
    assert comparison.gap() == 0


def test_latencies_that_are_all_alike_are_found_equal() -> None:
    # A tail that holds nobody, or everybody, says nothing, so the next one is looked at.
    comparison = compare({300: 500}, {300: 500})
    assert comparison.faster(3, LOG_5_PERCENT)
    assert not comparison.slower(2, math.log(0.9))


def test_a_worse_tail_beyond_the_quantile_is_not_held_against_the_quantile() -> None:
    comparison = compare({300: 960, 400: 40}, {300: 1000})
    assert comparison.gap() == 0
    assert not comparison.slower(2, LOG_5_PERCENT)


def test_without_a_request_on_one_side_nothing_is_said() -> None:
    for comparison in (compare({}, {100: 500}), compare({100: 500}, {}), compare({}, {})):
        assert comparison.gap() is None
        assert not comparison.slower(2, 0.0)
        assert not comparison.faster(2, 0.0)
        assert comparison.interval(-1, -1) == (None, None)


def test_a_threshold_is_used_only_where_both_arms_were_counted() -> None:
    # Counted at every fifth edge only, the canary's edge t + 2 and the control's edge t never meet.
    coarse = tuple(range(0, EDGE_COUNT, 5))
    blind = compare({205: 500}, {150: 500}, coarse)
    assert not blind.slower(2, math.log(0.9))
    # At a margin of 5 buckets they do.
    assert blind.slower(5, LOG_5_PERCENT)


def test_fine_edges_around_the_quantile_lose_nothing() -> None:
    slow, fast = Histogram.of(latencies(2000, 1.3)), Histogram.of(latencies(2000, seed=2))
    fine = tuple(range(bucket_of(0.1), bucket_of(2.0)))

    def coarse(counts: Histogram) -> Histogram:
        above = {fine[-1] + 1: 0}
        for bucket, count in enumerate(counts.counts):
            place = next((edge for edge in fine if edge >= bucket), OVERFLOW)
            above[place] = above.get(place, 0) + count
        return histogram(above)

    full = Comparison(Latencies(slow), Latencies(fast), P95)
    part = Comparison(Latencies(coarse(slow), fine), Latencies(coarse(fast), fine), P95)
    assert part.interval(math.log(0.01), math.log(0.01)) == full.interval(math.log(0.01), math.log(0.01))


def test_the_interval_ends_where_the_tests_turn() -> None:
    comparison = Comparison(
        Latencies(Histogram.of(latencies(2000, 1.3))), Latencies(Histogram.of(latencies(2000, seed=2))), P95
    )
    low, high = comparison.interval(math.log(0.01), math.log(0.01))
    assert low is not None
    assert high is not None
    assert 1.05 < low < 1.3 < high < 1.6
    buckets = round(math.log(low) / math.log(1.05**0.5))
    assert comparison.slower(buckets, math.log(0.01))
    assert not comparison.slower(buckets + 1, math.log(0.01))


@pytest.mark.parametrize(
    ("limit", "over_edge"), [(EDGES_SECONDS[200], 200), (EDGES_SECONDS[200] * 1.001, 201)]
)
def test_a_limit_between_two_edges_fails_on_the_upper_one(limit: float, over_edge: int) -> None:
    latency = Latencies(histogram({over_edge: 80, over_edge + 1: 20}))
    p = binom.sf(20 - 1, 100, 0.05)
    assert LimitTest(latency, P95, limit).over(math.log(p) + 1e-9)
    assert not LimitTest(latency, P95, limit).over(math.log(p) - 1e-9)


def test_a_canary_between_the_limit_and_its_next_edge_is_not_failed() -> None:
    just_above = Latencies(histogram({201: 1000}))
    assert not LimitTest(just_above, P95, EDGES_SECONDS[200] * 1.001).over(math.log(0.9))


def test_a_limit_is_passed_with_a_measured_quantile_within_it_and_108_percent_ruled_out() -> None:
    limit = EDGES_SECONDS[200]
    # Edge 203 is at 1.0759 times the limit, the last one within 1.08.
    passing = LimitTest(Latencies(histogram({200: 980, 203: 20})), P95, limit)
    assert passing.keeps()
    assert passing.under(math.log(1e-5))
    over_by_estimate = LimitTest(Latencies(histogram({200: 940, 203: 60})), P95, limit)
    assert not over_by_estimate.under(0.0)
    not_ruled_out = LimitTest(Latencies(histogram({200: 955, 204: 45})), P95, limit)
    assert not_ruled_out.keeps()
    assert not not_ruled_out.under(LOG_5_PERCENT)


def test_a_limit_below_the_grid_is_never_passed_and_above_it_never_failed() -> None:
    latency = Latencies(histogram({0: 1000}))
    assert not LimitTest(latency, P95, 0.0005).under(0.0)
    unfinished = Latencies(histogram({OVERFLOW: 1000}))
    assert not LimitTest(unfinished, P95, 10_000.0).over(0.0)
    assert not LimitTest(unfinished, P95, 10_000.0).under(0.0)


def test_bounds_of_a_quantile_enclose_it_and_an_unbounded_one_has_no_upper_end() -> None:
    low, high = LimitTest(Latencies(Histogram.of(latencies(2000))), P95, 1.0).interval(-4, -4)
    truth = 0.2 * math.exp(0.5 * 1.6449)
    assert low is not None
    assert high is not None
    assert low < truth < high
    cut = LimitTest(Latencies(histogram({100: 900, OVERFLOW: 100})), P95, 1.0)
    assert cut.interval(-4, -4)[1] is None
    assert LimitTest(Latencies(Histogram.empty()), P95, 1.0).interval(-4, -4) == (None, None)
