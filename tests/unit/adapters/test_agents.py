from __future__ import annotations

import asyncio

import pytest

from chaffinch.adapters.agents import AgentRouters
from chaffinch.domain.observation import Acknowledgement
from fakes.pods import FakePods, Reply

ADDRESSES = {"router-a": "10.0.0.1", "router-b": "10.0.0.2"}
GOOD = b'{"epoch": 3, "sequence": 7, "appliedAt": null, "weights": {"0a1b2c3d": 10000}, "endpoints": {}}'
WANT = Acknowledgement(epoch=3, sequence=7, weights={"0a1b2c3d": 10000})
TELLING = b'{"epoch": 3, "sequence": 7, "weights": {}, "open": {"0a1b2c3d": 2}}'
UNKNOWING = b'{"epoch": 3, "sequence": 7, "weights": {}, "open": null}'


def _ask(reply: Reply) -> dict[str, Acknowledgement]:
    """Ask two routers, of which the first answers well and the second as told."""
    pods = FakePods({"10.0.0.1": (200, GOOD), "10.0.0.2": reply}.get)
    found = dict(asyncio.run(AgentRouters(pods).acknowledgements(ADDRESSES)))
    assert pods.asked == [("GET", address, "/state") for address in ADDRESSES.values()]
    return found


def test_every_router_that_answers_acknowledges() -> None:
    assert _ask((200, GOOD)) == {"router-a": WANT, "router-b": WANT}


@pytest.mark.parametrize(("content", "want"), [(TELLING, {"0a1b2c3d": 2}), (UNKNOWING, None), (GOOD, None)])
def test_a_router_says_what_it_has_under_way_if_it_can(content: bytes, want: dict[str, int] | None) -> None:
    assert _ask((200, content))["router-b"].open == want


@pytest.mark.parametrize(
    "reply",
    [
        (500, GOOD),
        (302, b""),
        (200, b"{}"),
        (200, b"not json"),
        (200, b'{"epoch": 1.5, "sequence": 7, "weights": {}}'),
        (200, b'{"epoch": true, "sequence": 7, "weights": {}}'),
        (200, b'{"epoch": 1, "sequence": -1, "weights": {}}'),
        (200, b'{"epoch": 1, "sequence": 7, "weights": {}, "open": {"0a1b2c3d": -1}}'),
        (200, b" " * 70_000 + GOOD),
        None,
    ],
)
def test_a_router_that_does_not_answer_properly_acknowledges_nothing(reply: Reply) -> None:
    assert _ask(reply) == {"router-a": WANT}
