from __future__ import annotations

from chaffinch.domain.prometheus_reply import CountSeries, Window
from chaffinch.domain.scrape_index import first_scrapes, newest_scrapes


def index(agent: str, revision: str, *samples: tuple[float, int]) -> CountSeries:
    """The block index of one vector, by seconds."""
    return CountSeries(
        {"agent": agent, "revision": revision}, tuple((round(at * 1000), block) for at, block in samples)
    )


BOTH = ("old", "new")


def test_the_newest_scrapes_of_the_agents_are_within_the_span() -> None:
    quick = [index("a", one, (10, 1), (20, 2), (30, 3)) for one in BOTH]
    assert newest_scrapes(quick, {"a"}) == Window(29.5, 30)
    gone = [index("b", one, (1, 1), (6, 1), (11, 1)) for one in BOTH]
    assert newest_scrapes([*quick, *gone], {"a", "b"}) == Window(10.5, 30)
    assert newest_scrapes([*quick, *gone], {"b"}) == Window(10.5, 11)
    assert newest_scrapes([index("a", "old", (30, 3))], {"a"}) == Window(29.5, 30)


def test_the_first_scrapes_are_those_by_which_every_revision_had_counted_the_block() -> None:
    early = index("a", "old", (10, 6), (20, 7), (30, 8), (40, 9))
    late = index("a", "new", (20, 6), (30, 7), (40, 8), (50, 9))
    assert first_scrapes([early, late], BOTH, 7) == Window(29.5, 30)
    assert first_scrapes([early, late], ("old",), 7) == Window(19.5, 20)
    assert first_scrapes([early, late], BOTH, 10) is None
    assert first_scrapes([early], BOTH, 7) is None


def test_without_an_agent_there_is_no_span() -> None:
    assert newest_scrapes([], {"a"}) is None
    assert newest_scrapes([index("a", "old", (30, 3))], ()) is None
    assert first_scrapes([], BOTH, 7) is None
