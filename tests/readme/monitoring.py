"""Dashboard and alerts, asked of a Prometheus that has seen whole rollouts: each query, as Grafana asks it.

Every panel has to show something of what has happened, except for trouble that has not; and no alert may hold
of a rollout that ended well.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime

from localcluster.kubectl import eventually
from stage.monitoring import Query, alerts, choices, filled, queries
from stage.prometheus import history, label_values, series
from stage.service import Service

SHOWS_NOTHING = "it shows nothing"
NOTHING_TO_SHOW = {"Need a person A": "between abort and retry a person is needed, too shortly for a scrape"}
"""The queries that may give nothing, and why."""

OF_EARLIER_TESTS_TOO = {"ChaffinchForbidden": "it looks a quarter of an hour back"}
"""The alerts that may hold of what was there before the story, and why."""

RATE_INTERVAL = "1m"
"""What Grafana takes at its usual scrape interval of 15 s: four times as much."""

SETTLE_SECONDS = 30
"""For what the story did last; the shortest time that a page waits, to be sure, is a minute."""


def every_panel_shows_something(service: Service, since: datetime) -> None:
    """Choose a rollout in the dashboard and look at each panel; all of the story is in its time range."""
    variables = chosen(service, since)
    found = {str(query): wrong_with(query, variables, since) for query in queries()}
    assert found.keys() >= NOTHING_TO_SHOW.keys()
    excused = dict.fromkeys(NOTHING_TO_SHOW, SHOWS_NOTHING)
    wrong = {name: why for name, why in found.items() if why and why != excused.get(name)}
    assert not wrong, wrong


def chosen(service: Service, since: datetime) -> Mapping[str, str]:
    """Return the dashboard's variables with a rollout chosen; it has to be among what they offer."""
    variables = {"__rate_interval": RATE_INTERVAL}
    wanted = {"namespace": service.namespace, "rollout": service.name}
    for choice in choices():
        offered = label_values(filled(choice.series, variables), choice.label, since)
        assert wanted[choice.name] in offered, f"the variable {choice.name} offers {offered}"
        variables[choice.name] = wanted[choice.name]
    return variables


def wrong_with(query: Query, variables: Mapping[str, str], since: datetime) -> str | None:
    """Say what is wrong with what a query shows, or return None."""
    drawn: list[Mapping[str, str]] = []
    for labels, values in history(filled(query.expression, variables), since):
        if numbers := [value for value in values if math.isfinite(value)]:
            drawn.append(labels)
            print(f"{query}: {dict(labels)} {min(numbers):g} to {max(numbers):g}, {len(numbers)} values")
    if not drawn:
        return SHOWS_NOTHING
    try:
        names = [query.name_of(labels) for labels in drawn]
    except KeyError as label:
        return f"a series has no label {label}, by which the legend calls it"
    several = sorted({name for name in names if name and names.count(name) > 1})
    return f"several series are called {', '.join(several)}" if several else None


def no_alert_holds(service: Service) -> None:
    """Evaluate all alerts: soon, none holds of the rollout, or of the operator, longer than for a moment."""
    eventually(
        lambda: holding(service), SETTLE_SECONDS, "no alert holds",
        holds=lambda found: found.keys() <= OF_EARLIER_TESTS_TOO.keys(),
    )  # fmt: skip


def holding(service: Service) -> Mapping[str, object]:
    """Return the alerts whose expression holds of a rollout or of no single one, with the series."""
    found = {alert.name: [labels for labels, _ in series(alert.expression)] for alert in alerts()}
    return {
        name: of
        for name, of in found.items()
        if any(labels.get("rollout_namespace", service.namespace) == service.namespace for labels in of)
    }
