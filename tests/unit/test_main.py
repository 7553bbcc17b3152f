from __future__ import annotations

import logging

import pytest

from chaffinch.__main__ import main, tracer_of
from chaffinch.api.exits import OperatorExit
from chaffinch.runtime.tracing import NoTracer
from chaffinch.runtime.tracing_otlp import OtlpTracer
from chaffinch.settings import load

REQUIRED = {
    "CHAFFINCH_PROMETHEUS_URL": "http://prometheus.monitoring:9090",
    "CHAFFINCH_IMAGE": "chaffinch:1",
    "CHAFFINCH_ENVOY_IMAGE": "envoy:1",
}


@pytest.fixture(autouse=True)
def outside_of_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    # main() configures the root logger, which would otherwise take the records away from pytest.
    monkeypatch.setattr("chaffinch.__main__.configure", lambda *_: None)


def test_without_settings_one_line_names_them_and_the_exit_code_is_2(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main() == OperatorExit.USAGE
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: the settings cannot be used: set CHAFFINCH_PROMETHEUS_URL: ")


def test_without_an_api_server_one_line_names_the_remedy_and_the_exit_code_is_1(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name, value in REQUIRED.items():
        monkeypatch.setenv(name, value)
    with caplog.at_level(logging.ERROR, "chaffinch"):
        assert main() == OperatorExit.FAILED
    (line,) = caplog.messages
    assert line.startswith(
        "no way to a Kubernetes API server: run in a pod with a ServiceAccount, or set KUBE"
    )


def test_traces_are_kept_only_where_a_collector_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in REQUIRED.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT", raising=False)
    assert isinstance(tracer_of(load()), NoTracer)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    tracer = tracer_of(load())
    assert isinstance(tracer, OtlpTracer)
    tracer.close()
