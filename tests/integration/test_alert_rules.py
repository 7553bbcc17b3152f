"""The alerts fire when they should and stay silent otherwise: Prometheus's own tests of rules."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from localcluster import Settings
from localcluster.programs import PROMTOOL, ensure
from localcluster.progress import Progress

STORIES = sorted((Path(__file__).parents[1] / "alerts").glob("*.yaml"))
RULES = Path(__file__).parents[2] / "charts" / "chaffinch" / "files" / "rules" / "chaffinch.yaml"


@pytest.fixture(scope="session")
def promtool() -> str:
    """Prometheus's tool, built if it never was."""
    return str(ensure(Settings.from_environment(), Progress(), PROMTOOL) / "promtool")


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_rules_are_sound(promtool: str) -> None:
    assert re.search(r"SUCCESS: \d+ rules found", _run(promtool, "check", "rules", "--lint=all", str(RULES)))


@pytest.mark.parametrize("stories", [pytest.param(path, id=path.stem) for path in STORIES])
def test_the_alerts_fire_as_told(promtool: str, stories: Path) -> None:
    _run(promtool, "test", "rules", str(stories))


def test_every_alert_has_a_story_in_which_it_fires() -> None:
    told = {
        case["alertname"]
        for path in STORIES
        for test in yaml.safe_load(path.read_text())["tests"]
        for case in test["alert_rule_test"]
        if case["exp_alerts"]
    }
    assert told == {
        rule["alert"] for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]
    }
