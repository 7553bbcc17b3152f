"""A rollout is held to its frozen baseline before any user meets the new version."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.story import KIND, Story
from e2e.strategies import OBJECTIVES, STEPS
from stage.install import REPOSITORY
from stage.kubectl import KubectlError, Object, condition, has_condition, says
from stage.service import Service, load_probe

BASELINE = ("chat", "v1")
PROFILE = REPOSITORY / "baselines" / "profile-smoke-v1.yaml"
"""A load of a user's own: a copy of a built-in one, as they begin with."""
PROBED = (STEPS[0], {"name": "probe", "probe": {"profile": "smoke"}}, *STEPS[1:])


def test_a_slow_version_is_rolled_back_by_the_probe_against_the_baseline(story: Story) -> None:
    service = Service(story.namespace, steps=PROBED, objectives=OBJECTIVES, baseline=BASELINE)
    story.kubectl("apply", f"--filename={PROFILE}")
    v1 = story.given_stable(service)["status"]["stable"]["revision"]
    manifest = frozen_baseline(story, service)
    weights: set[int] = set()

    def note_weight(rollout: Object) -> None:
        weights.add(((rollout["status"].get("traffic") or {}).get("weight") or {}).get("desired", 0))

    story.when_applied(service.version("--sim-latency-factor=2"))
    rollout = story.until_attempt_ends(service, 2, meanwhile=note_weight)

    assert rollout["status"]["stable"]["revision"] == v1
    assert says(rollout, "Promoted") == ("False", "ObjectiveFailed")
    assert weights == {0}
    message = condition(rollout, "Promoted")["message"]
    assert "ttft" in message
    assert "chat-v1" in message or "chat@v1" in message

    with pytest.raises(KubectlError, match="a baseline is frozen"):
        story.kubectl(
            "patch", "inferencebaseline", "chat-v1", "--type=merge", '--patch={"spec": {"version": "v2"}}'
        )
    tampered_is_told(story, service, manifest)


def tampered_is_told(story: Story, service: Service, manifest: dict[str, Any]) -> None:
    """A baseline that was swapped for an edited copy is found out, and nothing is compared with it."""
    manifest["spec"]["stages"][0]["errors"] += 1
    story.kubectl("delete", "inferencebaseline", "chat-v1")
    story.kubectl.apply(manifest)
    found = story.kubectl.until(
        KIND, service.name,
        lambda rollout: has_condition(rollout, "BaselineValid", "False", "BaselineTampered"),
        seconds=90, what="BaselineTampered",
    )  # fmt: skip
    assert "digest" in condition(found, "BaselineValid")["message"]


def frozen_baseline(story: Story, service: Service) -> dict[str, Any]:
    """Probe the stable version and freeze the result, as the README says; return the manifest.

    The operator freezes it too, under another version, as the probe asks it to.
    """
    probe = load_probe(service, "chat-baseline", profile="smoke")
    probe["spec"]["freeze"] = {"name": "chat", "version": "v0"}
    story.kubectl.apply(probe)
    story.kubectl.until(
        "loadprobe", "chat-baseline", lambda found: has_condition(found, "Frozen", "True"),
        seconds=180, what="Frozen",
    )  # fmt: skip
    assert story.kubectl.get("inferencebaseline", "chat-v0") is not None
    path = story.folder / "baseline.yaml"
    chaffinch(
        "baseline", "freeze", "--probe=chat-baseline", f"--namespace={story.namespace}",
        "--name=chat", "--version=v1", f"--file={path}",
    )  # fmt: skip
    story.kubectl("apply", f"--filename={path}")
    story.kubectl.until(
        KIND, service.name, lambda found: has_condition(found, "BaselineValid", "True"),
        seconds=60, what="BaselineValid",
    )  # fmt: skip
    manifest: dict[str, Any] = yaml.safe_load(Path(path).read_text())
    return manifest


def chaffinch(*args: str) -> str:
    """Run the command-line tool."""
    done = subprocess.run(
        [Path(sys.executable).with_name("chaffinch"), *args],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
