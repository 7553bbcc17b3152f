"""Asks the cluster's Prometheus, as a dashboard does."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import httpx

from localcluster import current

_SECONDS = 10.0
_STEP_SECONDS = 5


def series(selector: str) -> list[tuple[Mapping[str, str], float]]:
    """Return labels and newest value of every series that a selector matches, or that an expression gives.

    Raises:
        httpx.HTTPError: If Prometheus does not answer, or refuses the selector.
    """
    found: list[dict[str, Any]] = _ask("query", query=selector)["result"]
    return [(each["metric"], float(each["value"][1])) for each in found]


def history(expression: str, since: datetime) -> list[tuple[Mapping[str, str], list[float]]]:
    """Return labels and values, every five seconds from some time until now, of the series of an expression.

    Raises:
        httpx.HTTPError: If Prometheus does not answer, or refuses the expression.
    """
    until = datetime.now(UTC).timestamp()
    times = {"start": since.timestamp(), "end": until, "step": _STEP_SECONDS}
    found: list[dict[str, Any]] = _ask("query_range", query=expression, **times)["result"]
    return [(each["metric"], [float(value) for _, value in each["values"]]) for each in found]


def label_values(selector: str, label: str, since: datetime) -> list[str]:
    """Return what a label has been since some time, of the series that a selector matches.

    Raises:
        httpx.HTTPError: If Prometheus does not answer, or refuses the selector.
    """
    query: dict[str, str | float] = {"match[]": selector, "start": since.timestamp()}
    found: list[str] = _ask(f"label/{label}/values", **query)
    return found


def _ask(path: str, **query: str | float) -> Any:  # noqa: ANN401 - the shape depends on the path
    answer = httpx.get(
        f"{current().prometheus_url}/api/v1/{path}", params=query, timeout=_SECONDS, trust_env=False
    )
    return answer.raise_for_status().json()["data"]
