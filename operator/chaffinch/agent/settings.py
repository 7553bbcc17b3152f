"""What an agent is told by its environment; the router's manifest sets all of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from chaffinch.agent.bootstrap import EnvoyPaths


class SettingsError(ValueError):
    """A setting is missing or unusable; the text names it and says what belongs there."""


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """Everything that differs from one agent to the next.

    Attributes:
        namespace: The rollout's namespace.
        rollout: The rollout's name.
        rollout_uid: The rollout's uid.
        pod: The name of the router pod.
        run: The folder that Envoy and agent share.
        traffic_port: Where Envoy listens.
        port: Where the agent listens.
        drain_seconds: How long running requests are waited for when the pod ends.
    """

    namespace: str
    rollout: str
    rollout_uid: str
    pod: str
    run: Path
    traffic_port: int
    port: int
    drain_seconds: int

    @property
    def paths(self) -> EnvoyPaths:
        """Where Envoy and agent meet."""
        return EnvoyPaths(config=self.run / "config", log=self.run / "log")

    @property
    def truth(self) -> Path:
        """The file that keeps what was accepted; outside the folder that Envoy watches."""
        return self.run / "config" / "state" / "truth.json"


def read_settings(environment: Mapping[str, str]) -> AgentSettings:
    """Read the settings from environment variables.

    Raises:
        SettingsError: If one is missing or no number where a number belongs.
    """
    return AgentSettings(
        namespace=_text(environment, "CHAFFINCH_AGENT_NAMESPACE"),
        rollout=_text(environment, "CHAFFINCH_AGENT_ROLLOUT"),
        rollout_uid=_text(environment, "CHAFFINCH_AGENT_ROLLOUT_UID"),
        pod=_text(environment, "CHAFFINCH_AGENT_POD"),
        run=Path(_text(environment, "CHAFFINCH_AGENT_RUN")),
        traffic_port=_number(environment, "CHAFFINCH_AGENT_TRAFFIC_PORT"),
        port=_number(environment, "CHAFFINCH_AGENT_PORT"),
        drain_seconds=_number(environment, "CHAFFINCH_AGENT_DRAIN_SECONDS"),
    )


def _text(environment: Mapping[str, str], name: str) -> str:
    value = environment.get(name, "")
    if not value:
        raise SettingsError(f"{name} is not set; the router's Deployment sets it")
    return value


def _number(environment: Mapping[str, str], name: str) -> int:
    value = _text(environment, name)
    if not (value.isascii() and value.isdecimal() and len(value) <= 9):
        raise SettingsError(f"{name} must be a whole number")
    return int(value)
