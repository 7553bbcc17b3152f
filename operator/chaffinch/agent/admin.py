"""Envoy's admin interface, over its unix socket: the few questions that the agent has."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp

_ADMIN = "http://envoy"
_TIMEOUT = aiohttp.ClientTimeout(total=3)
_CDS = "cluster_manager.cds.version_text"
_RDS = "http.ingress.rds.ingress.version_text"
_LDS = "listener_manager.lds.version_text"
_WARMING = "cluster_manager.warming_clusters"
_ACTIVE = "http.ingress.downstream_rq_active"
_UNDER_WAY = "upstream_rq_active|upstream_rq_pending_active"


class AdminError(Exception):
    """Envoy did not answer, or not as it should."""


class EnvoyDownError(AdminError):
    """Nothing listens on the socket: Envoy is not running."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """The configuration that Envoy has in effect.

    Attributes:
        clusters: Version of the clusters; None before any.
        routes: Version of the routes; None before any.
        listeners: Version of the listeners; None before any.
        warming: Clusters that still wait for their endpoints.
    """

    clusters: str | None
    routes: str | None
    listeners: str | None
    warming: int


class EnvoyAdmin:
    """A client of one Envoy's admin interface. Used as an asynchronous context manager."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        """Make the session; no connection is made before the first question."""
        # force_close: a connection of a previous Envoy must not be taken for the present one's.
        connector = aiohttp.UnixConnector(str(self._socket), force_close=True)
        self._session = aiohttp.ClientSession(connector=connector, timeout=_TIMEOUT)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the session."""
        if self._session is not None:
            await self._session.close()

    async def accepted(self) -> Accepted:
        """Ask for the versions in effect."""
        stats = await self._stats(f"version_text|{_WARMING}")
        return Accepted(
            clusters=stats.get(_CDS) or None,
            routes=stats.get(_RDS) or None,
            listeners=stats.get(_LDS) or None,
            warming=int(stats.get(_WARMING, 0)),
        )

    async def active_requests(self) -> int:
        """Ask how many requests are being served."""
        return int((await self._stats(_ACTIVE)).get(_ACTIVE, 0))

    async def requests_by_cluster(self) -> dict[str, int]:
        """Ask how many requests each cluster has under way, those that still wait for a connection too.

        A cluster is named after its revision.
        """
        counts: Counter[str] = Counter()
        for name, value in (await self._stats(_UNDER_WAY)).items():
            prefix, _, rest = name.partition(".")
            if prefix == "cluster":
                counts[rest.partition(".")[0]] += int(value)
        return dict(counts)

    async def uptime_seconds(self) -> int:
        """Ask how long Envoy has been running (its statistic of that is up to 5 s old)."""
        info = await self._request("GET", "/server_info")
        try:
            return int(info["uptime_current_epoch"].removesuffix("s"))
        except (KeyError, TypeError, AttributeError, ValueError):
            raise AdminError("Envoy's account of itself is not of the expected form") from None

    async def reopen_logs(self) -> None:
        """Have Envoy close its access log and open its path anew."""
        await self._request("POST", "/reopen_logs")

    async def fail_health_check(self) -> None:
        """Have Envoy close each client's connection with its next answer."""
        await self._request("POST", "/healthcheck/fail")

    async def _stats(self, pattern: str) -> dict[str, Any]:
        body = await self._request("GET", f"/stats?format=json&filter={pattern}")
        try:
            found = [stat for stat in body["stats"] if "name" in stat]
        except (KeyError, TypeError):
            raise AdminError("Envoy's statistics are not of the expected form") from None
        return {stat["name"]: stat["value"] for stat in found}

    async def _request(self, method: str, path: str) -> Any:  # noqa: ANN401 - foreign JSON
        if self._session is None:
            raise AdminError("the client is not open")
        try:
            async with self._session.request(method, _ADMIN + path) as answer:
                if answer.status != 200:
                    raise AdminError(f"Envoy answered {answer.status}")
                return await answer.json(content_type=None) if method == "GET" else await answer.text()
        except aiohttp.ClientConnectorError as error:
            raise EnvoyDownError("nothing listens on Envoy's admin socket") from error
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise AdminError("Envoy did not answer") from error
