"""Every alert says whom it wakes, what is wrong, and leads to what can be done about it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
RULES = ROOT / "charts" / "chaffinch" / "files" / "rules" / "chaffinch.yaml"
BY_REASON = "{{ $labels.reason | toLower }}"
PAGES = {
    "ChaffinchRollbackFailed",
    "ChaffinchNoReadyEndpoint",
    "ChaffinchRouterUnavailable",
    "ChaffinchStableUndersized",
    "ChaffinchEvidenceUnavailable",
}
ALERTS: list[dict[str, Any]] = [
    rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]
]


def _anchors(document: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", (ROOT / document).read_text(), re.MULTILINE)
    return {heading.lower() for heading in headings}


@pytest.mark.parametrize("alert", [pytest.param(alert, id=alert["alert"]) for alert in ALERTS])
def test_an_alert_is_complete(alert: dict[str, Any]) -> None:
    assert re.fullmatch(r"Chaffinch[A-Z][A-Za-z]+", alert["alert"])
    assert alert["labels"] == {"severity": "page" if alert["alert"] in PAGES else "ticket"}
    assert alert["annotations"].keys() == {"summary", "description", "runbook"}
    assert all(text.endswith(".") for key, text in alert["annotations"].items() if key != "runbook")


@pytest.mark.parametrize("alert", [pytest.param(alert, id=alert["alert"]) for alert in ALERTS])
def test_the_page_that_an_alert_names_is_there(alert: dict[str, Any]) -> None:
    document, _, anchor = alert["annotations"]["runbook"].partition("#")
    if anchor == BY_REASON:
        assert "by (rollout_namespace, rollout, reason)" in alert["expr"]
        assert document == "docs/runbook.md"
    else:
        assert anchor in _anchors(document)


def test_every_alert_is_in_the_documentation_with_its_severity() -> None:
    page = (ROOT / "docs" / "observability.md").read_text()
    listed = dict(re.findall(r"^\| `(Chaffinch\w+)` \| (\w+) \|", page, re.MULTILINE))
    assert listed == {alert["alert"]: alert["labels"]["severity"] for alert in ALERTS}
