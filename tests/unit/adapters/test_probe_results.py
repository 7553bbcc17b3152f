from __future__ import annotations

import asyncio

import httpx
import pytest

from chaffinch.adapters.probe_results import WorkerResults
from chaffinch.ports.probe_results import Finished, Progress


def _answer(status: int, content: bytes = b"") -> httpx.Response:
    return httpx.Response(status, stream=httpx.ByteStream(content))


def _ask(answer: httpx.Response | Exception, address: str = "10.0.0.1") -> Progress | Finished | None:
    def respond(request: httpx.Request) -> httpx.Response:
        assert (request.method, str(request.url)) == ("GET", "http://10.0.0.1:9090/result")
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def story() -> Progress | Finished | None:
        async with httpx.AsyncClient(transport=httpx.MockTransport(respond)) as client:
            return await WorkerResults(client).ask(address)

    return asyncio.run(story())


def test_a_worker_that_is_done_hands_its_text_over_unread() -> None:
    assert _ask(_answer(200, b"anything")) == Finished(b"anything")


def test_a_worker_that_works_says_how_far_it_is() -> None:
    assert _ask(_answer(503, b'{"stage": "c8", "requests": 17}')) == Progress("c8", 17)


@pytest.mark.parametrize(
    "answer",
    [
        _answer(503, b"{}"),
        _answer(503, b'{"stage": "c8", "requests": -1}'),
        _answer(503, b'{"stage": "c8", "requests": "17"}'),
        _answer(404),
        _answer(302),
        _answer(200, b"x" * (256 * 1024 + 1)),
        httpx.ConnectError("refused"),
        httpx.ReadTimeout("slow"),
    ],
)
def test_a_worker_that_does_not_answer_properly_has_nothing_to_say(
    answer: httpx.Response | Exception,
) -> None:
    assert _ask(answer) is None


def test_a_pod_without_an_address_is_not_asked() -> None:
    assert _ask(_answer(200), address="") is None


@pytest.mark.parametrize("answer", [_answer(204), _answer(500), httpx.ConnectError("gone")])
def test_telling_a_worker_to_go_never_fails(answer: httpx.Response | Exception) -> None:
    asked = []

    def respond(request: httpx.Request) -> httpx.Response:
        asked.append((request.method, request.url.path))
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def story() -> None:
        async with httpx.AsyncClient(transport=httpx.MockTransport(respond)) as client:
            await WorkerResults(client).collected("10.0.0.1")

    asyncio.run(story())
    assert asked == [("POST", "/collected")]
