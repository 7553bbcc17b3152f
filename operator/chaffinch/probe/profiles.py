"""The load profiles that need no object. A version never changes: a baseline is bound to what it was.

The gate stage of each stays well below saturation, where latency tells versions apart; past the knee it tells
how long the queue was.
"""

from __future__ import annotations

from chaffinch.api.v1alpha1.profile import Output, ProbeProfileSpec, Prompt, PromptShare, Stage, WarmUp

SMOKE_V1 = ProbeProfileSpec(
    warm_up=WarmUp(requests=20, concurrency=4),
    stages=(Stage(name="parallel-4", concurrency=4, requests=200, timeout="10m"),),
    gate_stage="parallel-4",
    prompt=Prompt(tokens=128),
    output=Output(tokens=32),
    request_timeout="60s",
)
"""Seconds to minutes: is the server alive, and roughly as fast as it should be?"""

STANDARD_V1 = ProbeProfileSpec(
    warm_up=WarmUp(requests=100, concurrency=4),
    stages=(
        Stage(name="single", concurrency=1, requests=50, timeout="15m"),
        Stage(name="parallel-8", concurrency=8, requests=1500, timeout="60m"),
        Stage(name="parallel-32", concurrency=32, requests=600, timeout="30m"),
    ),
    gate_stage="parallel-8",
    prompt=Prompt(
        mix=(
            PromptShare(tokens=256, share="75%"),
            PromptShare(tokens=1024, share="20%"),
            PromptShare(tokens=3072, share="5%"),
        )
    ),
    output=Output(tokens=128),
    request_timeout="120s",
)
"""The everyday gate: chat-sized prompts with a long tail; everything fits a 4 k context."""

HEAVY_V1 = ProbeProfileSpec(
    warm_up=WarmUp(requests=200, concurrency=8),
    stages=(
        Stage(name="parallel-8", concurrency=8, requests=300, timeout="30m"),
        Stage(name="parallel-64", concurrency=64, requests=3000, timeout="90m"),
        Stage(name="parallel-128", concurrency=128, requests=1500, timeout="60m"),
    ),
    gate_stage="parallel-64",
    prompt=Prompt(
        mix=(
            PromptShare(tokens=512, share="60%"),
            PromptShare(tokens=2048, share="30%"),
            PromptShare(tokens=12288, share="10%"),
        )
    ),
    output=Output(tokens=256),
    request_timeout="300s",
)
"""Big servers: long prompts, many at once; needs a 16 k context."""

BUILT_IN: dict[str, ProbeProfileSpec] = {
    "smoke/v1": SMOKE_V1,
    "standard/v1": STANDARD_V1,
    "heavy/v1": HEAVY_V1,
}
"""The built-in profiles by the name that specs use."""
