"""The settings of the operator: environment variables ``CHAFFINCH_*``, read once at start.

The settings are the administrator's: addresses, images, intervals. Nothing here changes what a rollout
decides; that is in its spec. The table in ``docs/reference-settings.md`` is generated from this file
(``python -m chaffinch.settings``) and compared by a test.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

PREFIX = "CHAFFINCH_"
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DOTTED_NAME = re.compile(rf"(?=.{{1,253}}$){_LABEL}(\.{_LABEL})*")
_URL = re.compile(r"https?://[^\s/?#@]+(/[^\s?#]*)?")


class SettingsError(Exception):
    """The environment cannot be used. The text is one line per setting, with the remedy."""


def _split(value: object) -> object:
    return (
        tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value
    )


def _object_name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise ValueError("must be a Kubernetes name: lower-case letters, digits and dashes, at most 63")
    return value


def _dotted_name(value: str) -> str:
    if not _DOTTED_NAME.fullmatch(value):
        raise ValueError("must be a Secret's name: lower-case letters, digits, dashes and dots, at most 253")
    return value


def _url(value: str) -> str:
    if not _URL.fullmatch(value):
        raise ValueError("must be an http or https URL without user, query or fragment")
    return value.rstrip("/")


ObjectName = Annotated[str, AfterValidator(_object_name)]
SecretName = Annotated[str, AfterValidator(_dotted_name)]
Url = Annotated[str, AfterValidator(_url)]
OptionalUrl = Annotated[Url | None, BeforeValidator(lambda value: value or None)]
Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
Port = Annotated[int, Field(ge=1, le=65_535)]


class Settings(BaseSettings):
    """One attribute per environment variable; see the descriptions."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="ignore")

    prometheus_url: Url = Field(
        description="URL of the Prometheus that scrapes the routers, such as `http://prometheus.monitoring:9090`."
    )
    prometheus_timeout: Seconds = Field(
        10, description="Longest wait for one answer of Prometheus, in seconds."
    )
    image: str = Field(
        min_length=1,
        description="Image of Chaffinch itself; router agents and load probes are started from it.",
    )
    envoy_image: str = Field(min_length=1, description="Image of the Envoy in router pods; 1.36 or newer.")
    image_pull_secrets: Annotated[tuple[SecretName, ...], NoDecode, BeforeValidator(_split)] = Field(
        (),
        description="Secrets with which routers and load probes pull their images, separated by commas. "
        "They must exist in the namespace of each rollout.",
    )
    router_replicas: int = Field(2, ge=1, le=16, description="Router pods per rollout.")
    operator_namespace: ObjectName = Field(
        "chaffinch-system", description="Namespace that the operator is installed in; its Lease lives there."
    )
    watch_namespaces: Annotated[tuple[ObjectName, ...], NoDecode, BeforeValidator(_split)] = Field(
        (), description="Namespaces to serve, separated by commas. Empty: all of them."
    )
    identity: str = Field(
        "operator",
        pattern=r"^[A-Za-z0-9]([-._A-Za-z0-9]{0,200}[A-Za-z0-9])?$",
        description="Name of this process in the Lease, usually the pod's; a random part is added.",
    )
    lease_name: ObjectName = Field(
        "chaffinch", description="Name of the Lease; one operator leads at a time."
    )
    lease_duration: Annotated[int, Field(ge=3, le=300)] = Field(
        15,
        description="How long the Lease is valid after a renewal, in seconds. Renewed every third of it.",
    )
    active_interval: Seconds = Field(
        5,
        description="Longest time between two passes over a rollout that is in progress, in seconds; twice "
        "as long while the minimum time of a step runs.",
    )
    idle_interval: Seconds = Field(
        600,
        description="Longest time between two passes over a rollout with nothing to do, in seconds; what is "
        "watched wakes it before, and while a person is waited for it is 60 s at most. Objects that are not "
        "watched (ServiceAccounts, Roles, disruption budgets) are read again after 5 minutes.",
    )
    pass_spacing: Seconds = Field(
        1,
        description="Shortest time between two passes over the same rollout, in seconds; "
        "none where a node has just turned a pod away.",
    )
    passes: int = Field(32, ge=1, le=1024, description="Passes at the same time, of all rollouts together.")
    pass_timeout: Seconds = Field(120, description="Longest time that one pass may take, in seconds.")
    backoff_limit: Seconds = Field(30, description="Longest pause after repeated failures, in seconds.")
    kube_request_timeout: Seconds = Field(
        10, description="Longest wait for one answer of the API server, in seconds."
    )
    kube_connect_timeout: Seconds = Field(
        5, description="Longest wait for a connection to the API server, in seconds."
    )
    kube_connections: int = Field(
        16, ge=1, le=256, description="Requests to the API server at the same time."
    )
    watch_timeout: Annotated[int, Field(ge=5, le=3600)] = Field(
        300, description="How long the API server keeps one watch open before it is renewed, in seconds."
    )
    pod_timeout: Seconds = Field(
        3, description="Longest wait for an answer of a router or probe pod, in seconds."
    )
    pod_connections: int = Field(
        32, ge=1, le=1024, description="Requests to router and probe pods at the same time."
    )
    health_port: Port = Field(8081, description="Port of `/healthz` and `/readyz`.")
    metrics_port: Port = Field(9090, description="Port of the operator's own `/metrics`.")
    tracing_endpoint: OptionalUrl = Field(
        None,
        validation_alias="OTEL_EXPORTER_OTLP_ENDPOINT",
        description="URL of an OpenTelemetry collector that takes OTLP over HTTP, such as"
        " `http://collector.monitoring:4318`; traces are sent there. Empty: none are made. The other standard"
        " variables `OTEL_*` refine it.",
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        "INFO", description="Least severe messages to log."
    )
    log_format: Literal["json", "text"] = Field(
        "json", description="`json`: one object per line; `text`: for a person at a terminal."
    )

    @model_validator(mode="after")
    def _intervals_fit(self) -> Settings:
        if self.pass_spacing > self.active_interval:
            raise ValueError("PASS_SPACING must not be longer than ACTIVE_INTERVAL")
        if self.active_interval > self.idle_interval:
            raise ValueError("ACTIVE_INTERVAL must not be longer than IDLE_INTERVAL")
        return self


def load() -> Settings:
    """Read the settings from the environment.

    Raises:
        SettingsError: If one is missing or wrong; the text names each variable and what is allowed.
    """
    try:
        return Settings()
    except ValidationError as error:
        problems = "; ".join(_problem(item["loc"], item["type"], item["msg"]) for item in error.errors())
        raise SettingsError(f"the settings cannot be used: {problems}") from None


def _problem(location: tuple[int | str, ...], kind: str, message: str) -> str:
    if not location:
        return message.removeprefix("Value error, ")
    if str(location[0]) not in Settings.model_fields:
        return f"{location[0]}: {message.removeprefix('Value error, ')}"
    name = PREFIX + str(location[0]).upper()
    if kind == "missing":
        described = Settings.model_fields[str(location[0])].description or ""
        return f"set {name}: {described}"
    return f"{name}: {message.removeprefix('Value error, ')}"


def reference() -> str:
    """Render the reference of all settings as a Markdown page."""
    rows = "\n".join(_row(name, field) for name, field in Settings.model_fields.items())
    return (
        "# Settings of the operator\n\n"
        "<!-- Generated by `python -m chaffinch.settings`; edit chaffinch/settings.py instead. -->\n\n"
        "Environment variables, read once at start. The chart sets the usual ones from its values and takes\n"
        "any other under `settings`. A wrong or missing one ends the process with a line that names it.\n\n"
        "| variable | default | meaning |\n|---|---|---|\n"
        f"{rows}\n"
    )


def _row(name: str, field: FieldInfo) -> str:
    if field.is_required():
        default = "*required*"
    else:
        text = ",".join(field.default) if isinstance(field.default, tuple) else str(field.default or "")
        default = f"`{text}`" if text else "empty"
    variable = field.validation_alias or PREFIX + name.upper()
    return f"| `{variable}` | {default} | {field.description} |"


if __name__ == "__main__":
    print(reference(), end="")
