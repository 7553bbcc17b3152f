from __future__ import annotations

from pathlib import Path

import pytest

from chaffinch.agent.endpoints import Endpoint
from chaffinch.agent.truth import Truth, load, refusal, save
from chaffinch.routing.route import Arm, Route

REVISION = "aaaaaaaa"


def route(epoch: int = 2, sequence: int = 5, uid: str = "u-1") -> Route:
    arms = (Arm(revision=REVISION, weight=10_000),)
    return Route(
        rollout_namespace="llm",
        rollout="chat",
        rollout_uid=uid,
        epoch=epoch,
        sequence=sequence,
        attempt=1,
        arms=arms,
    )


@pytest.mark.parametrize(
    ("offered", "accepted", "want"),
    [
        pytest.param(route(), None, None, id="the first"),
        pytest.param(route(sequence=6), route(), None, id="a higher sequence"),
        pytest.param(route(epoch=3, sequence=1), route(), None, id="a higher epoch with a lower sequence"),
        pytest.param(route(), route(), None, id="the same again"),
        pytest.param(
            route(sequence=4), route(), "it is older than the one that is served", id="a lower sequence"
        ),
        pytest.param(
            route(epoch=1, sequence=9), route(), "it is older than the one that is served", id="a lower epoch"
        ),
        pytest.param(route(uid="u-2"), None, "it belongs to another rollout", id="a foreign rollout"),
    ],
)
def test_a_route_is_refused_or_not(offered: Route, accepted: Route | None, want: str | None) -> None:
    assert refusal(offered, "u-1", accepted) == want


def test_what_was_accepted_is_read_back(tmp_path: Path) -> None:
    truth = Truth(route(), {REVISION: (Endpoint("pod-0", "10.0.0.1", 8000),)})
    save(truth, tmp_path / "truth.json")
    assert load(tmp_path / "truth.json") == truth


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"route": "{}", "endpoints": {}}', '{"route": 1, "endpoints": []}']
)
def test_what_cannot_be_used_is_as_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "truth.json").write_text(text)
    assert load(tmp_path / "truth.json") is None


def test_a_missing_file_is_as_nothing(tmp_path: Path) -> None:
    assert load(tmp_path / "truth.json") is None
