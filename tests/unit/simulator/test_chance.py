"""Draws that can be repeated."""

import math
import statistics

from simulator.chance import Occurrences, RequestChance, content_digest, iteration_noise


def test_the_same_request_meets_the_same_luck() -> None:
    assert RequestChance.of(3, b"hello", 0) == RequestChance.of(3, b"hello", 0)


def test_seed_content_and_occurrence_all_matter() -> None:
    base = RequestChance.of(3, b"hello", 0)
    others = [
        RequestChance.of(4, b"hello", 0),
        RequestChance.of(3, b"hallo", 0),
        RequestChance.of(3, b"hello", 1),
    ]
    assert all(other != base for other in others)


def test_latency_draws_are_standard_normal_and_failure_draws_uniform() -> None:
    draws = [RequestChance.of(1, str(number).encode(), 0) for number in range(4000)]
    normal = [draw.latency for draw in draws]
    assert abs(statistics.fmean(normal)) < 0.06
    assert abs(statistics.stdev(normal) - 1) < 0.04
    uniform = [draw.failure for draw in draws]
    assert abs(statistics.fmean(uniform) - 0.5) < 0.02
    assert 0 <= min(uniform) < 0.01
    assert 0.99 < max(uniform) < 1
    assert abs(statistics.correlation(normal, uniform)) < 0.06


def test_iteration_noise_has_median_1_and_the_given_spread() -> None:
    noise = [iteration_noise(1, 0, number, 0.3) for number in range(3000)]
    assert abs(statistics.median(noise) - 1) < 0.03
    assert abs(statistics.stdev(map(math.log, noise)) - 0.3) < 0.02
    assert iteration_noise(1, 0, 5, 0) == 1.0


def test_occurrences_count_each_content_and_forget_the_oldest() -> None:
    seen = Occurrences()
    assert [seen.next(b"a"), seen.next(b"a"), seen.next(b"b"), seen.next(b"a")] == [0, 1, 0, 2]
    for number in range(5000):
        seen.next(str(number).encode())
    assert seen.next(b"a") == 0


def test_digests_do_not_confuse_where_parts_end() -> None:
    assert content_digest(b"ab", b"c") != content_digest(b"a", b"bc")
