from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest

from chaffinch.domain.names import RolloutIdentity
from chaffinch.routing.envoy import router_manifests
from chaffinch.routing.pinning import TEMPLATE_ANNOTATION, pinned
from chaffinch.routing.settings import RouterSettings

ROLLOUT = RolloutIdentity("llm", "chat", "uid")
OLD = RouterSettings(agent_image="chaffinch:1", envoy_image="envoy:1")
NEW = replace(OLD, agent_image="chaffinch:2", replicas=3)


def built(settings: RouterSettings) -> dict[str, Any]:
    return next(each for each in router_manifests(ROLLOUT, settings) if each["kind"] == "Deployment")


def live(settings: RouterSettings) -> dict[str, Any]:
    """Return the Deployment as the API server has it, with fields that it has added."""
    stored = copy.deepcopy(built(settings))
    stored["spec"]["template"]["spec"]["restartPolicy"] = "Always"
    return stored


def test_a_new_deployment_is_made_as_it_is_built() -> None:
    assert pinned(built(NEW), None) == built(NEW)


def test_one_of_the_same_make_is_held_to_what_is_built() -> None:
    edited = live(OLD)
    edited["spec"]["template"]["spec"]["containers"][0]["image"] = "somebody/elses:1"
    assert pinned(built(OLD), edited) == built(OLD)


@pytest.mark.parametrize(
    "annotated", [True, False], ids=["of another version", "of a version before this one"]
)
def test_one_of_another_make_keeps_its_template_and_follows_in_everything_else(annotated: bool) -> None:
    before = live(OLD)
    if not annotated:
        del before["metadata"]["annotations"]
    kept = pinned(built(NEW), before)
    assert kept["spec"]["template"] == before["spec"]["template"]
    assert kept["spec"]["replicas"] == 3
    assert kept["metadata"]["annotations"] == before["metadata"].get("annotations", {})


def test_every_change_of_the_template_is_another_make_and_no_other_change_is() -> None:
    def make(settings: RouterSettings) -> str:
        return str(built(settings)["metadata"]["annotations"][TEMPLATE_ANNOTATION])

    assert make(OLD) != make(replace(OLD, agent_image="chaffinch:2"))
    assert make(OLD) != make(replace(OLD, envoy_threads=4))
    assert make(OLD) == make(replace(OLD, replicas=3))
