"""The demo does what the README tells people to do."""

from __future__ import annotations

from demo.scenes import FIRST, SPARE
from stage.service import load_probe


def test_the_baseline_is_measured_on_one_pod_of_what_serves_where_nobody_calls_it() -> None:
    serves, spare = FIRST.manifest(), SPARE.manifest()
    assert spare["metadata"]["name"] != serves["metadata"]["name"]
    assert SPARE.url != FIRST.url
    assert spare["spec"] == serves["spec"] | {"replicas": 1}


def test_a_service_answers_to_its_own_name_if_no_model_is_named() -> None:
    assert FIRST.manifest()["spec"]["model"]["name"] == FIRST.name == SPARE.model


def test_a_probe_aims_at_the_service_that_it_is_given() -> None:
    target = load_probe(SPARE, "chat-baseline", profile="smoke/v1")["spec"]["target"]
    assert target == {"rollout": SPARE.name, "revision": "Stable"}
