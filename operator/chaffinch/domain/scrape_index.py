"""Finds the few scrapes that are needed, so that only those are asked for whole.

A minute and a half of all counters is megabytes if routers are scraped every few seconds, and all but the
newest scrape would be thrown away. The block index alone is one series per vector: it tells when each
agent was scraped and what it had counted by then, and so whether there is anything new to read at all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from chaffinch.domain.prometheus_reply import CountSeries, Window

Blocks = Mapping[str, Mapping[str, int]]
"""The newest block that was counted, by agent and revision."""

_MARGIN_SECONDS = 0.5  # a range selector leaves out its left end, or not, by version


def newest_scrapes(index: Iterable[CountSeries], agents: Collection[str]) -> Window | None:
    """Return the span of the newest scrape of each of some agents, or None of no agent.

    Args:
        index: The block index of all vectors.
        agents: Whose scrapes.
    """
    return _span([max(by_time) for agent, by_time in _blocks(index).items() if agent in agents])


def newest_blocks(index: Iterable[CountSeries]) -> Blocks:
    """Return what every agent had counted at its newest scrape.

    Args:
        index: The block index of all vectors.
    """
    return {agent: by_time[max(by_time)] for agent, by_time in _blocks(index).items()}


def is_counted(blocks: Blocks, revisions: Collection[str], block: int) -> bool:
    """Tell whether any agent has counted a block of all revisions, so that it is worth reading."""
    return any(all(counted.get(one, -1) >= block for one in revisions) for counted in blocks.values())


def first_scrapes(index: Iterable[CountSeries], revisions: Collection[str], block: int) -> Window | None:
    """Return the span of every agent's first scrape by which it had counted a block, or None of none.

    Args:
        index: The block index of all vectors.
        revisions: The revisions that must all have counted it.
        block: The block.
    """
    counted = (
        [at for at, blocks in by_time.items() if all(blocks.get(one, -1) >= block for one in revisions)]
        for by_time in _blocks(index).values()
    )
    return _span([min(times) for times in counted if times])


def _blocks(index: Iterable[CountSeries]) -> dict[str, dict[int, dict[str, int]]]:
    """Return the newest block of each revision by agent and time of scrape."""
    found: dict[str, dict[int, dict[str, int]]] = {}
    for series in index:
        by_time = found.setdefault(series.labels.get("agent", ""), {})
        for at, block in series.samples:
            by_time.setdefault(at, {})[series.labels.get("revision", "")] = block
    return found


def _span(times: Sequence[int]) -> Window | None:
    return Window(min(times) / 1000 - _MARGIN_SECONDS, max(times) / 1000) if times else None
