from __future__ import annotations

from pathlib import Path

import pytest

from chaffinch.settings import Settings, SettingsError, load, reference

REQUIRED = {
    "CHAFFINCH_PROMETHEUS_URL": "http://prometheus.monitoring:9090/",
    "CHAFFINCH_IMAGE": "chaffinch:1",
    "CHAFFINCH_ENVOY_IMAGE": "envoy:1",
}


def _load(monkeypatch: pytest.MonkeyPatch, **changes: str) -> Settings:
    for name, value in {**REQUIRED, **changes}.items():
        monkeypatch.setenv(name, value)
    return load()


def test_three_settings_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = _load(monkeypatch)
    assert settings.prometheus_url == "http://prometheus.monitoring:9090"
    assert (settings.watch_namespaces, settings.lease_duration) == ((), 15)


def test_namespaces_are_separated_by_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _load(monkeypatch, CHAFFINCH_WATCH_NAMESPACES="shop, lab,").watch_namespaces == ("shop", "lab")


def test_names_of_secrets_may_have_dots(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = _load(monkeypatch, CHAFFINCH_IMAGE_PULL_SECRETS="registry.example,mirror")
    assert loaded.image_pull_secrets == ("registry.example", "mirror")


def test_what_is_missing_is_named_with_its_meaning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAFFINCH_IMAGE", "chaffinch:1")
    with pytest.raises(SettingsError) as caught:
        load()
    assert "set CHAFFINCH_PROMETHEUS_URL: URL of the Prometheus" in str(caught.value)
    assert "set CHAFFINCH_ENVOY_IMAGE: Image of the Envoy" in str(caught.value)
    assert "CHAFFINCH_IMAGE" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "want"),
    [
        ("PROMETHEUS_URL", "file:///etc/passwd", "CHAFFINCH_PROMETHEUS_URL: must be an http or https"),
        (
            "PROMETHEUS_URL",
            "http://user:word@host/",
            "CHAFFINCH_PROMETHEUS_URL: must be an http or https",
        ),
        ("PROMETHEUS_URL", "", "CHAFFINCH_PROMETHEUS_URL: must be an http or https"),
        ("WATCH_NAMESPACES", "shop,Lab", "CHAFFINCH_WATCH_NAMESPACES: must be a Kubernetes name"),
        ("IMAGE_PULL_SECRETS", "a,b..c", "CHAFFINCH_IMAGE_PULL_SECRETS: must be a Secret's name"),
        ("IMAGE_PULL_SECRETS", "a" * 254, "CHAFFINCH_IMAGE_PULL_SECRETS: must be a Secret's name"),
        ("LEASE_DURATION", "1", "CHAFFINCH_LEASE_DURATION: Input should be greater than or equal to 3"),
        ("ACTIVE_INTERVAL", "nan", "CHAFFINCH_ACTIVE_INTERVAL: Input should be"),
        ("ACTIVE_INTERVAL", "inf", "CHAFFINCH_ACTIVE_INTERVAL: Input should be"),
        ("ACTIVE_INTERVAL", "601", "ACTIVE_INTERVAL must not be longer than IDLE_INTERVAL"),
        ("PASS_SPACING", "6", "PASS_SPACING must not be longer than ACTIVE_INTERVAL"),
        ("HEALTH_PORT", "0", "CHAFFINCH_HEALTH_PORT: Input should be greater than or equal to 1"),
        ("LOG_LEVEL", "LOUD", "CHAFFINCH_LOG_LEVEL: Input should be 'DEBUG', 'INFO', 'WARNING' or 'ERROR'"),
    ],
)
def test_a_wrong_setting_is_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str, want: str) -> None:
    with pytest.raises(SettingsError) as caught:
        _load(monkeypatch, **{f"CHAFFINCH_{name}": value})
    assert want in str(caught.value)


def test_traces_are_off_unless_there_is_a_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT", raising=False)
    assert _load(monkeypatch).tracing_endpoint is None
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
    assert _load(monkeypatch).tracing_endpoint is None
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318")
    assert _load(monkeypatch).tracing_endpoint == "http://collector:4318"
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318")
    with pytest.raises(SettingsError, match="OTEL_EXPORTER_OTLP_ENDPOINT: must be an http or https URL"):
        _load(monkeypatch)


def test_every_setting_is_described() -> None:
    assert all(field.description for field in Settings.model_fields.values())


def test_the_reference_page_is_up_to_date() -> None:
    page = Path(__file__).parents[2] / "docs" / "reference-settings.md"
    assert page.read_text() == reference(), "run: python -m chaffinch.settings > docs/reference-settings.md"
