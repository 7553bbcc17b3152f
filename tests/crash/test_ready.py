"""Ready is never said of a spec that nobody has looked at, nor of one that does not serve (case C38)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from argocd import health_of
from crash.one_rollout import OneRollout
from crash.playground import NAME, Playground
from crash.rollouts import FIRST, GOOD, SLOW, STEPS, service
from crash.versions import broken_laws, ready_generations, versions_of
from localcluster import Settings
from localcluster.kubectl import KubectlError
from stage.kubectl import condition
from stage.service import without

PROGRESSING = ("Progressing", "Nobody has looked at this generation yet.")


@pytest.fixture
def pki() -> Path:
    """Where the administrator's certificate is."""
    return Settings.from_environment().pki


def version(namespace: str, number: int) -> dict[str, Any]:
    """Return a version of the service, to be rolled out without a probe, which would only take time."""
    return replace(service(namespace, number), steps=without(STEPS, "probe")).manifest()


def kubectl_wait(playground: Playground, rollout: OneRollout, seconds: int) -> str:
    """Return what ``kubectl wait`` says of the condition Ready."""
    try:
        return playground.kubectl(
            "wait", f"--namespace={rollout.namespace}", f"inferencerollout/{rollout.name}",
            "--for=condition=Ready", f"--timeout={seconds}s",
        )  # fmt: skip
    except KubectlError as error:
        return str(error)


def then_nobody_takes_it_for_ready(playground: Playground, rollout: OneRollout) -> None:
    assert "timed out waiting for the condition" in kubectl_wait(playground, rollout, 1)
    assert health_of(rollout.read()) == PROGRESSING


def test_no_version_of_a_rollout_says_ready_of_what_does_not_serve(playground: Playground, pki: Path) -> None:
    with (
        playground.attended(CHAFFINCH_LEASE_NAME="ready") as (namespace, proxy, operator),
        versions_of(playground.background, pki, namespace, NAME) as versions,
    ):
        rollout = OneRollout(playground.api, namespace)
        rollout.apply(version(namespace, FIRST))
        then_nobody_takes_it_for_ready(playground, rollout)
        operator.start()
        assert "condition met" in kubectl_wait(playground, rollout, 60)

        operator.terminate()
        rollout.apply(version(namespace, GOOD))
        then_nobody_takes_it_for_ready(playground, rollout)
        operator.start()
        rollout.until_ready()

        rollout.apply(version(namespace, SLOW))
        rollout.until(lambda one: condition(one, "Stalled").get("status") == "True", "stalled")
        rollout.apply(version(namespace, GOOD))
        last = rollout.until_ready()
        playground.until_quiet(proxy, namespace)

    assert last["metadata"]["resourceVersion"] in versions.seen
    assert broken_laws(versions.all) == []
    assert ready_generations(versions.all) == {1, 2, 4}
