"""Which scrapes are asked for, of a server that answers range selectors as Prometheus does."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from chaffinch.adapters.prometheus import PrometheusEvidence
from chaffinch.domain.block_vector import CHECKSUM
from chaffinch.domain.evidence import Evidence, NoEvidence, Problem
from chaffinch.ports.evidence import EvidenceQuestion
from unit.adapters.fakeprometheus import NOW, QUESTION, B, alike, ask, holding, prometheus
from unit.domain.scrapes import Scrapes


async def test_of_all_scrapes_it_asks_only_for_the_first_and_the_last_whole() -> None:
    stored = Scrapes()
    for second in range(1, 400, 5):
        stored.add("a", B * 10 + second, alike(B - 9, B - 2 + second // 10, 100 + second))
        stored.add("b", B * 10 + second + 1, alike(B - 9, B - 2 + second // 10, 100 + second))
    asked: list[tuple[str, float, float]] = []
    answered = await ask(holding(stored, asked))
    assert isinstance(answered, Evidence)
    assert answered.candidate.requests == 2 * (396 - 11)
    assert asked == [
        ("index", 310, 400),
        ("index", 0, 150),
        ("all", 10.5, 12),
        ("all", 395.5, 397),
    ]


async def test_only_when_that_one_is_torn_it_asks_for_all() -> None:
    stored = Scrapes()
    for second in range(300, 399, 2):
        stored.add("a", B * 10 + second, alike(B, B + 33, second))
    for labels, values in stored.series.items():
        if dict(labels)["__name__"] == CHECKSUM:
            values[-1][1] = values[-2][1] = "1"
    asked: list[tuple[str, float, float]] = []
    answered = await ask(holding(stored, asked))
    assert isinstance(answered, Evidence)
    assert answered.candidate.requests == 394
    assert asked[-2:] == [("all", 397.5, 398), ("all", 310, 400)]


async def test_a_start_that_is_past_is_read_once() -> None:
    stored = Scrapes().add("a", B * 10 + 30, alike(B - 9, B - 1, 100))
    stored.add("a", NOW - 2, alike(B - 9, B + 35, 600))
    asked: list[tuple[str, float, float]] = []
    async with prometheus(holding(stored, asked)) as url:
        source = PrometheusEvidence(url)
        for _ in range(3):
            answered = await source.live(QUESTION)
            assert isinstance(answered, Evidence)
            assert answered.candidate.requests == 500
        other = await source.live(replace(QUESTION, attempt=4))
        assert isinstance(other, Evidence)
        await source.aclose()
    assert [start == 0 for what, start, _ in asked if what == "index"] == [
        False,
        True,
        False,
        False,
        False,
        True,
    ]


async def test_a_scrape_that_is_the_first_of_a_step_and_its_newest_is_read_once() -> None:
    stored = Scrapes()
    for second, block in ((2, B - 2), (17, B)):  # it has counted two blocks since the one before
        stored.add("a", B * 10 + second, alike(B - 9, block, 100 * (block - B + 9)))
    asked: list[tuple[str, float, float]] = []
    async with prometheus(holding(stored, asked)) as url:
        source = PrometheusEvidence(url)
        answered = await source.live(_at(20))
        await source.aclose()
    assert isinstance(answered, Evidence)
    assert answered.candidate.requests == 0
    assert [what for what, _, _ in asked] == ["index", "index", "all"]


def _at(second: float) -> EvidenceQuestion:
    """The question, so many seconds after the step's start."""
    return replace(QUESTION, now=datetime.fromtimestamp(B * 10 + second, UTC))


async def test_while_no_router_has_counted_a_further_block_only_the_index_is_asked_for() -> None:
    stored = Scrapes()
    for second, block in ((10, B - 1), (15, B - 1), (80, B + 6), (85, B + 6), (90, B + 7)):
        stored.add("a", B * 10 + second, alike(B - 9, block, 100 * (block - B + 2)))
    asked: list[tuple[str, float, float]] = []
    counted, questions = [], []
    async with prometheus(holding(stored, asked)) as url:
        source = PrometheusEvidence(url)
        for second in (81, 86, 91):
            asked.clear()
            answered = await source.live(_at(second))
            assert isinstance(answered, Evidence)
            counted.append((answered.candidate.requests, answered.until.timestamp() - B * 10))
            questions.append([what for what, _, _ in asked])
        await source.aclose()
    assert counted == [(700, 70), (700, 70), (800, 80)]
    assert questions[1] == ["index"]
    assert questions[2] == ["index", "all"]


async def test_a_start_that_was_scraped_long_ago_is_read_again_only_for_an_agent_without_one() -> None:
    stored = Scrapes()
    for agent, seconds in {"a": (10, 15, 80, 90, 100), "late": (95, 100)}.items():
        for second in seconds:
            stored.add(agent, B * 10 + second, alike(B - 9, B - 2 + second // 10, 100 * second))
    asked: list[tuple[str, float, float]] = []
    starts, counted = [], []
    async with prometheus(holding(stored, asked)) as url:
        source = PrometheusEvidence(url)
        for second in (81, 91, 101):
            asked.clear()
            answered = await source.live(_at(second))
            assert isinstance(answered, Evidence)
            counted.append(answered.candidate.requests)
            starts.append(sum(what == "index" and end - start == 150 for what, start, end in asked))
        await source.aclose()
    assert starts == [1, 0, 1]
    assert counted == [7000, 8000, 9000 + 500]


async def test_a_start_that_was_never_scraped_is_replaced_by_the_first_scrape_after_it() -> None:
    stored = Scrapes().add("a", B * 10 + 301, alike(B - 9, B + 20, 200))
    for now in (398, 478, 483):
        stored.add("a", B * 10 + now, alike(B - 9, B + 30 + now // 100, 600))
    question = replace(QUESTION, since=datetime.fromtimestamp(B * 10 - 10.0, UTC))
    asked: list[tuple[str, float, float]] = []
    async with prometheus(holding(stored, asked)) as url:
        source = PrometheusEvidence(url)
        early = await source.live(replace(question, now=datetime.fromtimestamp(B * 10 + 300.0, UTC)))
        assert isinstance(early, NoEvidence)
        for now in (400, 480, 485):
            answered = await source.live(replace(question, now=datetime.fromtimestamp(B * 10 + now, UTC)))
            assert isinstance(answered, Evidence)
            assert answered.candidate.requests == 400
        await source.aclose()
    # Three windows of 150 s: two until they are past, the third until something old enough is found in it.
    starts = [end for what, start, end in asked if what == "index" and end - start == 150]
    assert starts == [140, 290, 290, 400]


async def test_before_any_router_has_counted_the_first_block_only_the_index_is_asked_for() -> None:
    stored = Scrapes().add("a", B * 10 + 15, alike(B - 9, B - 1, 100))
    asked: list[tuple[str, float, float]] = []
    async with prometheus(holding(stored, asked)) as url:
        source = PrometheusEvidence(url)
        answered = await source.live(_at(20))
        await source.aclose()
    assert answered == NoEvidence(Problem.NO_DATA, "no router has counted the step's first block yet")
    assert [what for what, _, _ in asked] == ["index"]


async def test_only_the_router_that_has_counted_a_further_block_is_read_again() -> None:
    stored = Scrapes()
    for agent, seconds in {"a": (12, 80), "b": (14, 82, 97)}.items():
        for second in seconds:
            stored.add(agent, B * 10 + second, alike(B - 9, B - 2 + second // 10, second))
    asked: list[tuple[str, float, float]] = []
    counted = []
    async with prometheus(holding(stored, asked)) as url:
        source = PrometheusEvidence(url)
        for second in (85, 98):
            asked.clear()
            answered = await source.live(_at(second))
            assert isinstance(answered, Evidence)
            counted.append(answered.candidate.requests)
        await source.aclose()
    assert counted == [80 - 12 + 82 - 14, 80 - 12 + 97 - 14]
    assert [span for what, *span in asked if what == "all"] == [[96.5, 97]]


async def test_a_start_that_was_read_is_not_read_whole_again_while_another_could_turn_up() -> None:
    stored = Scrapes()
    for second in (2, 62, 72):
        stored.add("a", B * 10 + second, alike(B - 9, B - 7 + second // 10, second))
    question = replace(QUESTION, since=datetime.fromtimestamp(B * 10 - 10.0, UTC))
    asked: list[tuple[str, float, float]] = []
    async with prometheus(holding(stored, asked)) as url:
        source = PrometheusEvidence(url)
        for second in (63, 73):
            asked.clear()
            await source.live(replace(question, now=datetime.fromtimestamp(B * 10 + second, UTC)))
        await source.aclose()
    assert asked == [("index", -17, 73), ("index", -77, 73), ("all", 71.5, 72)]


async def test_a_counter_that_went_down_since_the_last_reading_is_no_evidence_until_it_is_forgotten() -> None:
    stored = Scrapes()
    for second, first, ok in ((5, B - 9, 10), (80, B, 600), (95, B + 7, 5), (110, B + 7, 9)):
        stored.add("a", B * 10 + second, alike(first, B - 2 + second // 10, ok))
    async with prometheus(holding(stored, [])) as url:
        source = PrometheusEvidence(url)
        answers = [await source.live(_at(second)) for second in (81, 96, 101, 111)]
        await source.aclose()
    went_down = NoEvidence(Problem.UNAVAILABLE, "a counter of one router process went down")
    assert answers[1:3] == [went_down, went_down]
    assert [one.candidate.requests for one in answers if isinstance(one, Evidence)] == [600, 9]
