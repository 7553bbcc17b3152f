"""The load profiles that need no object: ``standard/v1``, ``heavy/v1`` and ``smoke/v1``.

A built-in profile never changes under its name: a baseline is only comparable with a probe of the
very same load. Another load is another version. ``baselines/`` holds the same profiles as
manifests, to start one's own from; they are generated from here.
"""

from __future__ import annotations

from chaffinch.api.v1alpha1.profile import (
    Output,
    ProbeProfileSpec,
    Prompt,
    PromptShare,
    Stage,
    WarmUp,
)

_WARM_UP = WarmUp(requests=100, concurrency=4)
_LONG_TAIL = Prompt(mix=(PromptShare(tokens=512, share="85%"), PromptShare(tokens=2048, share="15%")))
"""Mostly short prompts; 15 % of 2,048 tokens, whose prefill is what other requests feel."""


def _stage(concurrency: int, requests: int, timeout: str) -> Stage:
    return Stage(name=f"c{concurrency}", concurrency=concurrency, requests=requests, timeout=timeout)


BUILT_IN_PROFILES: dict[str, ProbeProfileSpec] = {
    # Rungs beside the gate end after 3 (heavy: 5) minutes; the gate runs to its count, so that every
    # verdict rests on the same number of requests however fast the engine is.
    "standard/v1": ProbeProfileSpec(
        warm_up=_WARM_UP,
        stages=(_stage(8, 600, "3m"), _stage(16, 1500, "60m"), _stage(32, 2400, "3m")),
        gate_stage="c16",
        prompt=_LONG_TAIL,
        output=Output(tokens=256),
        request_timeout="2m",
    ),
    "heavy/v1": ProbeProfileSpec(
        warm_up=_WARM_UP,
        stages=(_stage(32, 4000, "5m"), _stage(64, 3000, "90m"), _stage(128, 16_000, "5m")),
        gate_stage="c64",
        prompt=_LONG_TAIL,
        output=Output(tokens=256),
        request_timeout="5m",
    ),
    "smoke/v1": ProbeProfileSpec(
        warm_up=WarmUp(requests=16, concurrency=4),
        stages=(_stage(4, 40, "2m"), _stage(8, 200, "10m")),
        gate_stage="c8",
        prompt=Prompt(tokens=64),
        output=Output(tokens=16),
        request_timeout="30s",
    ),
}
