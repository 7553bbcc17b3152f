"""The alerts and the dashboard, asked of a real Prometheus that scrapes what the programs really export."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from chaffinch.meters import Description
from chaffinch.reference_metrics import operator_metrics, probe_metrics, router_metrics
from fakes.expositions import operator_exposition, router_exposition
from prometheusstage import Prometheus, prometheus
from stage.monitoring import RULES, alerts, filled, queries

VARIABLES = {"namespace": "shop", "rollout": "chat", "__rate_interval": "10s"}
DEADLINE_SECONDS = 60
PANELS = {str(query): filled(query.expression, VARIABLES) for query in queries()}
ALERTS = {alert.name: alert.expression for alert in alerts()}


@contextmanager
def _exporter(text: str) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the base class has it
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    with _exporter(operator_exposition()) as operator, _exporter(router_exposition()) as router:
        config: dict[str, object] = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(RULES)],
            "scrape_configs": [
                {"job_name": "chaffinch", "static_configs": [{"targets": [operator, router]}]}
            ],
        }
        with prometheus(config, tmp_path_factory.mktemp("prometheus")) as one:
            yield one


def _metrics(node: object) -> Iterator[str]:
    """The metrics that a parsed expression asks for."""
    if isinstance(node, dict):
        if node.get("type") in {"vectorSelector", "matrixSelector"}:
            yield node["name"]
        for value in node.values():
            yield from _metrics(value)
    elif isinstance(node, list):
        for value in node:
            yield from _metrics(value)


def _documented() -> set[str]:
    listed: tuple[Description, ...] = (*operator_metrics(), *router_metrics(), *probe_metrics())
    series = {
        f"{each.name}{end}" for each in listed if each.kind == "histogram" for end in ("_bucket", "_count")
    }
    return series | {each.name for each in listed if each.kind != "histogram"}


@pytest.mark.parametrize("expression", [*ALERTS.values(), *PANELS.values()], ids=[*ALERTS, *PANELS])
def test_only_documented_metrics_are_asked_for(running: Prometheus, expression: str) -> None:
    asked = set(_metrics(running.ask("/api/v1/parse_query", query=expression)))
    assert asked
    assert asked <= _documented()


def test_prometheus_evaluates_every_rule(running: Prometheus) -> None:
    def rules() -> list[dict[str, Any]]:
        groups = running.ask("/api/v1/rules")["groups"]
        return [rule for group in groups for rule in group["rules"]]

    deadline = time.monotonic() + DEADLINE_SECONDS
    while any(rule["health"] == "unknown" for rule in rules()) and time.monotonic() < deadline:
        time.sleep(0.5)
    found = {rule["name"]: (rule["health"], rule.get("lastError", "")) for rule in rules()}
    assert found == dict.fromkeys(ALERTS, ("ok", ""))


@pytest.mark.parametrize("expression", PANELS.values(), ids=PANELS)
def test_every_panel_shows_something(running: Prometheus, expression: str) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not (found := running.query(expression)) and time.monotonic() < deadline:
        time.sleep(0.5)
    assert found
