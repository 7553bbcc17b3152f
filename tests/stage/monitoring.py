"""What the chart brings for Prometheus and Grafana, as single questions: a dashboard's panels, and alerts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from stage.install import REPOSITORY

FILES = REPOSITORY / "charts" / "chaffinch" / "files"
RULES = FILES / "rules" / "chaffinch.yaml"
DASHBOARD = FILES / "dashboards" / "chaffinch.json"

_VARIABLE = re.compile(r"\$(\w+)")
_LABEL_VALUES = re.compile(r"label_values\((?P<series>.+), (?P<label>\w+)\)")
_NAMED_IN_LEGEND = re.compile(r"\{\{(\w+)\}\}")


@dataclass(frozen=True, slots=True)
class Query:
    """One query of a panel.

    Attributes:
        panel: The panel's title.
        reference: Which of the panel's queries it is: a letter.
        expression: What is asked, with variables such as ``$namespace``.
        legend: How a series is called, with labels such as ``{{revision}}``.
    """

    panel: str
    reference: str
    expression: str
    legend: str

    def __str__(self) -> str:
        """Say which it is, for test ids."""
        return f"{self.panel} {self.reference}"

    def name_of(self, labels: Mapping[str, str]) -> str:
        """Return what the legend calls a series.

        Raises:
            KeyError: If it names a label that the series does not have.
        """
        return _NAMED_IN_LEGEND.sub(lambda found: labels[found[1]], self.legend)


@dataclass(frozen=True, slots=True)
class Choice:
    """A variable of the dashboard whose values are those of a label.

    Attributes:
        name: The variable.
        series: The selector of the series that have the label; it may name variables before this one.
        label: The label.
    """

    name: str
    series: str
    label: str


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert.

    Attributes:
        name: Its name.
        expression: When it holds.
    """

    name: str
    expression: str


def queries() -> tuple[Query, ...]:
    """Return the queries of the dashboard, in its order."""
    return tuple(
        Query(panel["title"], target["refId"], target["expr"], target["legendFormat"])
        for panel in _dashboard()["panels"]
        for target in panel.get("targets", ())
    )


def choices() -> tuple[Choice, ...]:
    """Return the variables that are asked of Prometheus, in the order in which they are filled in."""
    found = []
    for variable in _dashboard()["templating"]["list"]:
        if variable["type"] == "query":
            asked = _LABEL_VALUES.fullmatch(variable["query"]["query"])
            assert asked is not None, (
                f"the variable {variable['name']} asks for no label_values(SERIES, LABEL)"
            )
            found.append(Choice(variable["name"], **asked.groupdict()))
    return tuple(found)


def alerts() -> tuple[Alert, ...]:
    """Return the alerts, in their order."""
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return tuple(Alert(rule["alert"], rule["expr"]) for group in groups for rule in group["rules"])


def filled(text: str, variables: Mapping[str, str]) -> str:
    """Return a text with its variables filled in, as Grafana does.

    Raises:
        KeyError: If it names another variable.
    """
    return _VARIABLE.sub(lambda found: variables[found[1]], text)


def _dashboard() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(DASHBOARD.read_text())
    return document
