"""Asks the cluster's Prometheus, as a dashboard does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx

from localcluster import current

_SECONDS = 10.0


def series(selector: str) -> list[tuple[Mapping[str, str], float]]:
    """Return labels and newest value of every series that a selector matches.

    Raises:
        httpx.HTTPError: If Prometheus does not answer, or refuses the selector.
    """
    answer = httpx.get(
        f"{current().prometheus_url}/api/v1/query",
        params={"query": selector},
        timeout=_SECONDS,
        trust_env=False,
    )
    found: list[dict[str, Any]] = answer.raise_for_status().json()["data"]["result"]
    return [(each["metric"], float(each["value"][1])) for each in found]
