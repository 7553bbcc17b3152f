"""The spec of a ProbeProfile: a reusable fixed load."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from chaffinch.api.v1alpha1.common import LIST_ATOMIC, LIST_MAP_BY_NAME, Duration, Name, SpecModel

PROFILE_REFERENCE_PATTERN = r"^([a-z]([-a-z0-9]{0,61}[a-z0-9])?|standard/v1|heavy/v1|smoke/v1)$"

ProfileReference = Annotated[
    str,
    StringConstraints(max_length=63, pattern=PROFILE_REFERENCE_PATTERN),
]
"""A built-in profile (``standard/v1``, ``heavy/v1``, ``smoke/v1``) or a ProbeProfile of the namespace."""

PromptTokens = Annotated[int, Field(strict=True, ge=1, le=1_048_576)]
Requests = Annotated[int, Field(strict=True, ge=1, le=1_000_000)]
Concurrency = Annotated[int, Field(strict=True, ge=1, le=1024)]


class WarmUp(SpecModel):
    """Requests that count for nothing: they load kernels and caches."""

    requests: Annotated[int, Field(strict=True, ge=1, le=10_000)]
    """How many requests each pod gets."""
    concurrency: Annotated[int, Field(strict=True, ge=1, le=256)]
    """How many of them each pod gets at once."""


class Stage(SpecModel):
    """One rung of the load: a closed loop of so many clients, until so many requests are done."""

    name: Name
    """Name of the stage in results."""
    concurrency: Concurrency
    """Clients that each have one request open at all times."""
    requests: Requests
    """Requests to send."""
    timeout: Duration
    """When the stage is ended, done or not; a gate stage that is not done is no evidence."""


class PromptShare(SpecModel):
    """A share of the prompts with one length."""

    tokens: PromptTokens
    """Length of the prompt, in tokens."""
    share: Annotated[str, StringConstraints(max_length=4, pattern=r"^[0-9]{1,3}%$")]
    """Share of all prompts, in whole percent."""


class Prompt(SpecModel):
    """How long the prompts are: exactly one of `tokens` and `mix`."""

    tokens: PromptTokens | None = None
    """Length of every prompt, in tokens."""
    mix: Annotated[tuple[PromptShare, ...], Field(max_length=8, json_schema_extra=LIST_ATOMIC)] = ()
    """Lengths by share; the shares add up to 100%."""


class Output(SpecModel):
    """How long the answers are."""

    tokens: Annotated[int, Field(strict=True, ge=1, le=65_536)]
    """Length of every answer, in tokens."""


class ProbeProfileSpec(SpecModel):
    """A fixed load: warm-up, then stages, one of which is the gate."""

    warm_up: WarmUp
    """Requests before the first stage, excluded from all evidence."""
    stages: Annotated[
        tuple[Stage, ...], Field(min_length=1, max_length=8, json_schema_extra=LIST_MAP_BY_NAME)
    ]
    """The stages, in order."""
    gate_stage: Name
    """The stage that verdicts are reached from; the others only report."""
    prompt: Prompt
    """How long the prompts are."""
    output: Output
    """How long the answers are."""
    request_timeout: Duration
    """When a single request is given up; it counts as failed."""
