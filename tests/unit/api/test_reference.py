"""The reference says what a rollout does that leaves things out."""

from __future__ import annotations

import pytest

from chaffinch.api import default_steps
from chaffinch.api.reference import reference
from chaffinch.api.v1alpha1.parse import parse_rollout
from chaffinch.api.v1alpha1.strategy import strategy_of
from unit.api.rollouts import rollout_body

ROWS = [
    ("`warm-up`", "always", "warmUp: 100 requests to each pod, 4 at once", "0 %", "", "", ""),
    ("`probe`", "if a baseline is named", "probe: `standard/v1`", "0 %", "", "", ""),
    ("`canary-5`", "always", "canary", "5 %", "5m", "`NoHarm`", "30m"),
    (
        "`canary-one-pod`", "with 2 to 18 replicas", "canary",
        "a pod's share: 33.33 % with 2 replicas, 5.26 % with 18", "10m", "`NoHarm`", "60m",
    ),
    ("`canary-50`", "always", "canary", "50 %", "10m", "`Proven`", "60m"),
    ("`bake`", "always", "bake", "100 %", "30m", "", ""),
]  # fmt: skip


def test_the_default_steps_are_in_the_reference_as_they_are_resolved() -> None:
    assert list(default_steps.rows()) == ROWS
    chapter = reference().partition("## Default steps of an InferenceRollout\n")[2].partition("\n## ")[0]
    table = [line for line in chapter.splitlines() if line.startswith("| ")]
    assert table[0] == f"| {' | '.join(default_steps.HEADER)} |"
    assert table[2:] == [f"| {' | '.join(row)} |" for row in ROWS]


@pytest.mark.parametrize("replicas", [1, 2, 18, 19])
@pytest.mark.parametrize("baseline", [None, {"name": "chat", "version": "v1"}])
def test_a_rollout_goes_through_the_steps_that_the_reference_has_for_it(
    replicas: int, baseline: dict[str, str] | None
) -> None:
    steps = strategy_of(parse_rollout(rollout_body(replicas=replicas, baseline=baseline))).steps
    left_out = set() if 2 <= replicas <= 18 else {"`canary-one-pod`"}
    left_out |= set() if baseline else {"`probe`"}
    assert [f"`{step.name}`" for step in steps] == [row[0] for row in ROWS if row[0] not in left_out]
