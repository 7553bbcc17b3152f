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
    for part in text.split(",") if text else ():
        run = _RUN.fullmatch(part)
        if run is None:
            raise ValueError("edges are numbers and runs of numbers")
        first, last, step = run.groups(default="1")
        end = int(last) if run[2] else int(first)
        edges += range(int(first), end + 1, int(step) or 1)
    if edges != sorted(set(edges)) or (edges and edges[-1] >= EDGE_COUNT) or write(tuple(edges)) != text:
        raise ValueError("edges are rising indices of the grid, written in one way only")
    return tuple(edges)


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
