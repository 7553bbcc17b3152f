"""Rising indices of the grid as a short text: ``0-376,384-448/8`` are 0 to 376, and every eighth to 448.

The hundreds of edges at which a router counts are nearly always a few even runs, and travel as one label.
"""

from __future__ import annotations

import re
from functools import lru_cache

from chaffinch.domain.grid import EDGE_COUNT

_MOST = 256
_NUMBER = "[0-9]{1,3}"
_RUN = re.compile(f"({_NUMBER})(?:-({_NUMBER})(?:/({_NUMBER}))?)?")
_LEAST_RUN = 3
_LONGEST = 4 * EDGE_COUNT  # each edge by itself


@lru_cache(maxsize=_MOST)
def write(edges: tuple[int, ...]) -> str:
    """Return rising indices as text."""
    runs, rest = [], edges
    while rest:
        run = _first_run(rest)
        runs.append(_text(run))
        rest = rest[len(run) :]
    return ",".join(runs)


@lru_cache(maxsize=_MOST)
def read(text: str) -> tuple[int, ...]:
    """Read what :func:`write` wrote.

    Raises:
        ValueError: If the text is anything else.
    """
    edges: list[int] = []
    for part in text[: _LONGEST + 1].split(",") if text else ():
        run = _read_run(part)
        if run[-1] >= EDGE_COUNT or (edges and run[0] <= edges[-1]):
            raise ValueError("edges are rising indices of the grid")
        edges += run
    if write(tuple(edges)) != text:
        raise ValueError("edges are written in one way only")
    return tuple(edges)


def _read_run(text: str) -> range:
    found = _RUN.fullmatch(text)
    if found is None:
        raise ValueError("edges are numbers and runs of numbers")
    first, last, step = found.groups(default="1")
    run = range(int(first), (int(last) if found[2] else int(first)) + 1, int(step) or 1)
    if not run:
        raise ValueError("edges are rising indices of the grid")
    return run


def _first_run(edges: tuple[int, ...]) -> range:
    """Return the longest even run at the beginning; two numbers alone are none."""
    step = edges[1] - edges[0] if len(edges) > 1 else 1
    length = 1
    while length < len(edges) and edges[length] == edges[0] + length * step:
        length += 1
    if length < _LEAST_RUN:
        return range(edges[0], edges[0] + 1)
    return range(edges[0], edges[0] + length * step, step)


def _text(run: range) -> str:
    if len(run) == 1:
        return str(run[0])
    return f"{run[0]}-{run[-1]}" + ("" if run.step == 1 else f"/{run.step}")
