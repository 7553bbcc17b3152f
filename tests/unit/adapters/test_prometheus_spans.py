"""Which scrapes are asked for, of a server that answers range selectors as Prometheus does."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from chaffinch.adapters.prometheus import PrometheusEvidence
from chaffinch.domain.block_vector import CHECKSUM
from chaffinch.domain.evidence import Evidence, NoEvidence
from unit.adapters.fakeprometheus import NOW, QUESTION, B, alike, ask, holding, prometheus
from unit.domain.scrapes import Scrapes


async def test_of_all_scrapes_it_asks_only_for_the_first_two_and_the_last_two_whole() -> None:
    stored = Scrapes()
    for second in range(1, 400, 5):
        stored.add("a", B * 10 + second, alike(B - 9, B - 2 + second // 10, 100 + second))
        stored.add("b", B * 10 + second + 1, alike(B - 9, B - 2 + second // 10, 100 + second))
    asked: list[tuple[str, float, float]] = []
    answered = await ask(holding(stored, asked))
    assert isinstance(answered, Evidence)
    assert answered.candidate.requests == 2 * (396 - 11)
    assert asked == [
        ("index", 0, 150),
        ("all", 10.5, 17),
        ("index", 310, 400),
        ("all", 390.5, 397),
    ]


async def test_only_when_those_are_torn_it_asks_for_all() -> None:
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
    assert asked[-2:] == [("all", 395.5, 398), ("all", 310, 400)]


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
        True,
        False,
        False,
        False,
        True,
        False,
    ]


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
    # Three windows of 150 s, each read until it is past; the end is asked for in between.
    starts = [end for what, start, end in asked if what == "index" and end - start == 150]
    assert starts == [140, 290, 290, 400, 440]
