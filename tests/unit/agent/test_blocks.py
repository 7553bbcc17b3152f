from __future__ import annotations

import math
import random
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from chaffinch.agent.accesslog import LogLine
from chaffinch.agent.blocks import KEEP_SECONDS, SETTLE_SECONDS, ArmKey, Blocks
from chaffinch.domain.block_vector import HORIZON_SECONDS, BlockVector, Outcome
from chaffinch.domain.grid import EDGE_COUNT, OVERFLOW, Histogram, bucket_of
from chaffinch.routing.route import Edges
from unit.agent.lines import ATTEMPT, OTHER, REVISION, begin, end, line, progress

T0 = 1_700_000_000.0  # the begin of a block
FIRST = 170_000_000  # its index
EDGES = Edges(ttft=tuple(range(EDGE_COUNT)), e2e=tuple(range(EDGE_COUNT)))


def blocks() -> Blocks:
    """Return counters whose first block begins at T0, with two arms."""
    counted = Blocks(T0 - 5)
    counted.name_arms(ATTEMPT, [REVISION, OTHER], EDGES, T0 - 5)
    return counted


def vector(counted: Blocks, revision: str = REVISION, attempt: int = ATTEMPT) -> BlockVector:
    return dict(counted.vectors())[ArmKey(attempt, revision)]


def oks(counted: Blocks, revision: str = REVISION) -> int:
    return vector(counted, revision).count(frozenset({Outcome.OK}))


def test_arms_are_exported_with_zeros_as_soon_as_a_route_names_them() -> None:
    counted = blocks()
    assert [arm.revision for arm, _ in counted.vectors()] == [REVISION, OTHER]
    fresh = vector(counted)
    assert (fresh.first_block, fresh.block) == (FIRST, FIRST - 1)
    assert (sum(fresh.requests), fresh.ttft.total, fresh.e2e.total) == (0, 0, 0)


def test_a_block_is_exported_when_its_lines_have_had_time_to_come_and_nothing_in_it_is_open() -> None:
    counted = blocks()
    counted.observe(begin("a", T0 + 1))
    counted.observe(end("a", T0 + 1, 0.2, 0.9))
    counted.advance(T0 + 10 + SETTLE_SECONDS - 0.1)
    assert (vector(counted).block, oks(counted)) == (FIRST - 1, 0)
    counted.advance(T0 + 10 + SETTLE_SECONDS)
    matured = vector(counted)
    assert (matured.block, oks(counted)) == (FIRST, 1)
    assert matured.ttft.histogram().counts[bucket_of(0.2)] == 1
    assert matured.e2e.histogram().counts[bucket_of(0.9)] == 1


def test_a_request_is_booked_where_it_began_and_all_arms_wait_for_it() -> None:
    counted = blocks()
    counted.observe(begin("slow", T0 + 9))
    counted.observe(end("other", T0 + 1, 0.1, 0.2, revision=OTHER))
    counted.observe(end("later", T0 + 11, 0.1, 0.2))
    counted.advance(T0 + 40)
    assert (vector(counted, OTHER).block, oks(counted, OTHER), oks(counted)) == (FIRST - 1, 0, 0)
    counted.observe(end("slow", T0 + 9, 0.1, 32))
    counted.advance(T0 + 41)
    assert (vector(counted).block, oks(counted, OTHER), oks(counted)) == (FIRST + 2, 1, 2)


def test_what_is_open_at_the_horizon_is_unbounded_but_for_a_first_token_that_came() -> None:
    counted = blocks()
    counted.observe(begin("talking", T0 + 1))
    counted.observe(progress("talking", T0 + 1, None))
    counted.observe(progress("talking", T0 + 1, 0.3))
    counted.observe(begin("mute", T0 + 2))
    counted.advance(T0 + 10 + HORIZON_SECONDS)
    at_horizon = vector(counted)
    assert (at_horizon.block, sum(at_horizon.requests), counted.overdue_total) == (FIRST + 5, 0, 2)
    ttft, e2e = at_horizon.ttft.histogram(), at_horizon.e2e.histogram()
    assert (ttft.counts[bucket_of(0.3)], ttft.counts[OVERFLOW]) == (1, 1)
    assert (e2e.total, e2e.counts[OVERFLOW]) == (2, 2)

    # Their outcomes follow when they end; their latencies have been counted.
    counted.observe(end("talking", T0 + 1, 0.3, 75))
    counted.observe(line(id="mute", start=f"{T0 + 2:.6f}", code=504, details="stream_idle_timeout", e2e=None))
    counted.advance(T0 + 200)
    final = vector(counted)
    assert dict(zip(Outcome, final.requests, strict=True))[Outcome.OK] == 1
    assert dict(zip(Outcome, final.requests, strict=True))[Outcome.ERROR_5XX] == 1
    assert (final.ttft.total, final.e2e.total) == (2, 2)
    assert counted.open_requests == 0


def test_who_leaves_before_the_first_byte_has_waited_in_vain_and_got_no_answer() -> None:
    counted = blocks()
    counted.observe(begin("left", T0 + 1))
    gone = {"code": 0, "flags": "DC", "age": 1_000, "media": None, "bytes": 0, "ttft": None, "e2e": None}
    counted.observe(line(id="left", start=f"{T0 + 1:.6f}", **gone))
    counted.advance(T0 + 20)
    seen = vector(counted)
    assert dict(zip(Outcome, seen.requests, strict=True))[Outcome.CLIENT_GONE_EARLY] == 1
    assert (seen.ttft.total, seen.e2e.total) == (0, 0)
    assert seen.left.histogram() == Histogram.of([1.0])


def test_a_request_that_is_logged_too_late_is_counted_in_the_next_block_and_reported() -> None:
    counted = blocks()
    counted.advance(T0 + 13)
    counted.observe(end("late", T0 + 1, 0.2, 0.4))
    counted.advance(T0 + 23)
    assert (oks(counted), counted.late) == (1, 1)


def test_requests_before_the_first_whole_block_are_left_to_the_process_before() -> None:
    counted = blocks()
    counted.observe(begin("before", T0 - 1))
    counted.observe(end("before", T0 - 1, 0.2, 0.4))
    counted.advance(T0 + 100)
    assert (oks(counted), counted.late, counted.open_requests) == (0, 0, 0)


def test_what_was_open_when_envoy_died_is_no_evidence_against_a_revision() -> None:
    counted = blocks()
    counted.observe(begin("broken", T0 + 1))
    counted.observe(end("done", T0 + 1, 0.2, 0.4))
    counted.envoy_restarted(T0 + 5)
    counted.observe(begin("new", T0 + 12))
    counted.observe(end("new", T0 + 12, 0.2, 0.4))
    counted.advance(T0 + 30)
    assert (oks(counted), vector(counted).e2e.total, counted.forgotten) == (2, 2, 1)


def test_a_request_counts_for_the_attempt_whose_route_took_it() -> None:
    counted = blocks()
    counted.observe(begin("old", T0 + 5))
    counted.name_arms(ATTEMPT + 1, [REVISION], EDGES, T0 + 15)
    counted.observe(end("old", T0 + 5, 0.2, 14))
    counted.observe(end("new", T0 + 16, 0.2, 0.4, attempt=str(ATTEMPT + 1)))
    counted.advance(T0 + 30)
    assert oks(counted) == 1
    started = vector(counted, REVISION, ATTEMPT + 1)
    assert (started.first_block, started.count(frozenset({Outcome.OK}))) == (FIRST + 1, 1)


def test_an_arm_that_no_route_names_is_exported_for_a_while_and_then_no_more() -> None:
    counted = blocks()
    counted.name_arms(ATTEMPT, [REVISION], EDGES, T0 + 5)
    counted.advance(T0 + 5 + KEEP_SECONDS)
    assert ArmKey(ATTEMPT, OTHER) in dict(counted.vectors())
    counted.advance(T0 + 6 + KEEP_SECONDS)
    assert [arm.revision for arm, _ in counted.vectors()] == [REVISION]


def test_only_the_edges_of_the_newest_route_are_exported() -> None:
    counted = blocks()
    counted.observe(end("a", T0 + 1, 0.2, 0.9))
    counted.advance(T0 + 20)
    near = bucket_of(0.25)
    counted.name_arms(ATTEMPT, [REVISION, OTHER], Edges(ttft=(near,)), T0 + 20)
    narrow = vector(counted)
    assert (narrow.ttft.edges, narrow.ttft.counts, narrow.ttft.total) == ((near,), (1,), 1)
    assert (narrow.e2e.edges, narrow.e2e.total) == ((), 1)


@dataclass(frozen=True)
class Request:
    """A request of a generated history; seconds from T0."""

    number: int
    start: float
    duration: float
    revision: str
    fails: bool

    def lines(self) -> list[tuple[float, LogLine]]:
        """Return its lines with the times at which they are written."""
        name, start = f"r{self.number}", T0 + self.start
        ttft = self.duration / 2
        last = end(name, start, ttft, self.duration, revision=self.revision)
        if self.fails:
            last = line(
                id=name,
                start=f"{start:.6f}",
                revision=self.revision,
                code=500,
                media="text/plain",
                ttft=round(ttft * 1e6),
                e2e=round(self.duration * 1e6),
            )
        return [
            (start, begin(name, start, self.revision)),
            (start + ttft, progress(name, start, ttft, self.revision)),
            (start + self.duration, last),
        ]


@st.composite
def histories(draw: st.DrawFn) -> list[Request]:
    parts = st.tuples(
        st.floats(0, 40).map(lambda seconds: round(seconds, 3)),
        st.floats(0.001, HORIZON_SECONDS - 1).map(lambda seconds: round(seconds, 3)),
        st.sampled_from([REVISION, OTHER]),
        st.booleans(),
    )
    return [Request(number, *values) for number, values in enumerate(draw(st.lists(parts, max_size=12)))]


def expected(history: list[Request], revision: str) -> tuple[int, int, tuple[int, ...]]:
    mine = [request for request in history if request.revision == revision]
    e2e = [0] * (OVERFLOW + 1)
    for request in mine:
        e2e[bucket_of(math.inf if request.fails else round(request.duration * 1e6) / 1e6)] += 1
    failed = sum(request.fails for request in mine)
    return len(mine) - failed, failed, tuple(e2e)


def counted_of(counted: Blocks, revision: str) -> tuple[int, int, tuple[int, ...]]:
    final = vector(counted, revision)
    errors = final.count(frozenset({Outcome.ERROR_5XX}))
    return final.count(frozenset({Outcome.OK})), errors, final.e2e.histogram().counts


@given(histories(), st.randoms(use_true_random=False))
def test_the_order_of_lines_does_not_matter(history: list[Request], chance: random.Random) -> None:
    lines = [each for request in history for _, each in request.lines()]
    chance.shuffle(lines)
    counted = blocks()
    for each in lines:
        counted.observe(each)
    counted.advance(T0 + 1_000)
    for revision in (REVISION, OTHER):
        assert counted_of(counted, revision) == expected(history, revision)
    assert counted.late == 0


@given(histories(), st.lists(st.floats(0, 200), max_size=20))
def test_it_does_not_matter_when_blocks_are_let_mature(history: list[Request], looks: list[float]) -> None:
    written = [entry for request in history for entry in request.lines()]
    timeline = sorted(written, key=lambda entry: entry[0])
    counted = blocks()
    seen = 0
    for look in sorted(looks):
        now = T0 + look
        while seen < len(timeline) and timeline[seen][0] <= now:
            counted.observe(timeline[seen][1])
            seen += 1
        before = {arm: each.requests for arm, each in counted.vectors()}
        counted.advance(now)
        for arm, each in counted.vectors():
            assert all(a <= b for a, b in zip(before[arm], each.requests, strict=True))
    for _, rest in timeline[seen:]:
        counted.observe(rest)
    counted.advance(T0 + 1_000)
    for revision in (REVISION, OTHER):
        assert counted_of(counted, revision) == expected(history, revision)
