from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch.api.v1alpha1.rollout import Objective
from chaffinch.domain import edge_text
from chaffinch.domain.edges import edges_of
from chaffinch.domain.evidence import LatencyMetric
from chaffinch.domain.grid import EDGE_COUNT

TEXTS = {
    (): "",
    (7,): "7",
    (7, 9): "7,9",
    (0, 1, 2, 3): "0-3",
    (0, 8, 16, 24, 25, 26): "0-24/8,25,26",
    (0, 1, 2, 8, 16, 24): "0-2,8-24/8",
    (546,): "546",
}


@pytest.mark.parametrize("edges", TEXTS)
def test_even_runs_are_shortened(edges: tuple[int, ...]) -> None:
    assert edge_text.write(edges) == TEXTS[edges]


@given(st.sets(st.integers(0, EDGE_COUNT - 1)).map(sorted).map(tuple))
def test_edges_read_back_as_they_were_written(edges: tuple[int, ...]) -> None:
    assert edge_text.read(edge_text.write(edges)) == edges


def test_the_edges_of_common_objectives_are_a_short_text() -> None:
    gated = Objective.model_validate(
        {"name": "t", "metric": "ttft", "quantile": "p95", "max": "500ms", "maxRegression": "5%"}
    )
    texts = [edge_text.write(edges_of([gated], metric)) for metric in (LatencyMetric.TTFT, LatencyMetric.E2E)]
    assert texts == ["0-312,320-448/8", "0-448/8"]


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "1,",
        "-1",
        "1-",
        "3-1",
        "5,4",
        "1,1",
        "0-9/0",
        "0-9/2",
        "547",
        "1,2,3",
        "0-2/1",
        " 1",
        "\u0661",
        "0-999",
        ",".join(["0-546"] * 1_000_000),
    ],
)
def test_what_is_no_text_of_edges_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="edges are"):
        edge_text.read(text)
