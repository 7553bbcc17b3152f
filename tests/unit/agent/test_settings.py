from __future__ import annotations

import re
from pathlib import Path

import pytest

from chaffinch.agent.settings import SettingsError, read_settings
from chaffinch.domain.names import RolloutIdentity
from chaffinch.routing.envoy import router_manifests
from chaffinch.routing.settings import RouterSettings

SETTINGS = RouterSettings(agent_image="chaffinch:1", envoy_image="envoy:1", drain_seconds=120)


def environment() -> dict[str, str]:
    """Return what the router's manifest gives to an agent."""
    manifests = router_manifests(RolloutIdentity("llm", "chat", "u-1"), SETTINGS)
    pod = next(each for each in manifests if each["kind"] == "Deployment")["spec"]["template"]["spec"]
    return {entry["name"]: entry.get("value", "chat-router-0") for entry in pod["initContainers"][0]["env"]}


def test_the_manifest_tells_the_agent_all_that_it_needs() -> None:
    settings = read_settings(environment())
    assert (settings.namespace, settings.rollout, settings.rollout_uid) == ("llm", "chat", "u-1")
    assert (settings.pod, settings.traffic_port, settings.port) == ("chat-router-0", 8080, 9090)
    assert settings.drain_seconds == 120
    assert settings.paths.bootstrap == Path("/run/chaffinch/config/bootstrap.json")


@pytest.mark.parametrize("name", sorted(environment()))
def test_a_missing_setting_is_named(name: str) -> None:
    incomplete = {key: value for key, value in environment().items() if key != name}
    with pytest.raises(SettingsError, match=f"{re.escape(name)} is not set"):
        read_settings(incomplete)


@pytest.mark.parametrize("value", ["", "x", "-1", "1.5", "\u0661", "9" * 12])
def test_a_port_that_is_no_number_is_named(value: str) -> None:
    with pytest.raises(SettingsError, match="CHAFFINCH_AGENT_PORT"):
        read_settings(environment() | {"CHAFFINCH_AGENT_PORT": value})
