from __future__ import annotations

import asyncio

import pytest

from chaffinch.adapters.probe_results import WorkerResults
from chaffinch.ports.probe_results import Finished, Progress
from fakes.pods import FakePods, Reply

ADDRESS = "10.0.0.1"


def _ask(reply: Reply) -> Progress | Finished | None:
    pods = FakePods({ADDRESS: reply}.get)
    found = asyncio.run(WorkerResults(pods).ask(ADDRESS))
    assert pods.asked == [("GET", ADDRESS, "/result")]
    return found


def test_a_worker_that_is_done_hands_its_text_over_unread() -> None:
    assert _ask((200, b"anything")) == Finished(b"anything")


def test_a_worker_that_works_says_how_far_it_is() -> None:
    assert _ask((503, b'{"stage": "c8", "requests": 17}')) == Progress("c8", 17)


@pytest.mark.parametrize(
    "reply",
    [
        (503, b"{}"),
        (503, b'{"stage": "c8", "requests": -1}'),
        (503, b'{"stage": "c8", "requests": "17"}'),
        (404, b""),
        (302, b""),
        (200, b"x" * (256 * 1024 + 1)),
        None,
    ],
)
def test_a_worker_that_does_not_answer_properly_has_nothing_to_say(reply: Reply) -> None:
    assert _ask(reply) is None


@pytest.mark.parametrize("reply", [(204, b""), (500, b""), None])
def test_telling_a_worker_to_go_never_fails(reply: Reply) -> None:
    pods = FakePods({ADDRESS: reply}.get)
    asyncio.run(WorkerResults(pods).collected(ADDRESS))
    assert pods.asked == [("POST", ADDRESS, "/collected")]
