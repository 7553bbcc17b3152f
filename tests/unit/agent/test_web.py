from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from chaffinch.agent.admin import EnvoyAdmin
from chaffinch.agent.web import may_be_serving, open_requests

ACTIVE = "http.ingress.downstream_rq_active"


@asynccontextmanager
async def answering(socket: Path, status: int, body: str) -> AsyncIterator[None]:
    """Answer every question on a unix socket in the same way, as Envoy's admin interface would."""

    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=status, text=body)

    app = web.Application()
    app.router.add_get("/stats", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.UnixSite(runner, str(socket)).start()
    try:
        yield
    finally:
        await runner.cleanup()


@pytest.mark.parametrize(
    ("status", "body", "want"),
    [
        pytest.param(200, f'{{"stats": [{{"name": "{ACTIVE}", "value": 2}}]}}', True, id="two requests"),
        pytest.param(200, f'{{"stats": [{{"name": "{ACTIVE}", "value": 0}}]}}', False, id="no request"),
        pytest.param(503, "", True, id="it does not say"),
        pytest.param(200, "no JSON", True, id="its answer cannot be read"),
    ],
)
async def test_a_drain_goes_on_until_envoy_says_that_it_is_idle(
    tmp_path: Path, status: int, body: str, want: bool
) -> None:
    async with answering(tmp_path / "admin", status, body), EnvoyAdmin(tmp_path / "admin") as admin:
        assert await may_be_serving(admin) is want


async def test_a_drain_is_over_when_envoy_does_not_run(tmp_path: Path) -> None:
    async with EnvoyAdmin(tmp_path / "admin") as admin:
        assert await may_be_serving(admin) is False


UNDER_WAY = """{"stats": [
    {"name": "cluster.aaaaaaaa.upstream_rq_active", "value": 3},
    {"name": "cluster.aaaaaaaa.upstream_rq_pending_active", "value": 1},
    {"name": "cluster.bbbbbbbb.upstream_rq_active", "value": 0},
    {"name": "cluster.cccccccc.upstream_rq_active", "value": 5},
    {"histograms": {}}
]}"""


@pytest.mark.parametrize(
    ("status", "body", "want"),
    [
        pytest.param(200, UNDER_WAY, {"aaaaaaaa": 4, "bbbbbbbb": 0, "dddddddd": 0}, id="it says"),
        pytest.param(503, "", None, id="it does not say"),
        pytest.param(200, "no JSON", None, id="its answer cannot be read"),
    ],
)
async def test_the_state_says_how_many_requests_of_each_arm_are_under_way_or_that_nobody_knows(
    tmp_path: Path, status: int, body: str, want: dict[str, int] | None
) -> None:
    async with answering(tmp_path / "admin", status, body), EnvoyAdmin(tmp_path / "admin") as admin:
        assert await open_requests(admin, ["aaaaaaaa", "bbbbbbbb", "dddddddd"]) == want


async def test_nothing_is_under_way_when_envoy_does_not_run(tmp_path: Path) -> None:
    async with EnvoyAdmin(tmp_path / "admin") as admin:
        assert await open_requests(admin, ["aaaaaaaa"]) == {"aaaaaaaa": 0}
