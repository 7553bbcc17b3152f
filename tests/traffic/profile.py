"""What traffic to make: rate, time, sizes and bounds. Everything drawn at random comes from the seed."""

import json
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Arrivals = Literal["constant", "poisson"]

_SENTENCE = "tell us how a small brown bird finds its way home over hills and rivers in the dark of autumn"
_FILLER = _SENTENCE.split()


@dataclass(frozen=True, slots=True)
class PromptLength:
    """One class of the prompt mix.

    Attributes:
        words: Number of words, at least 1; the simulator counts one token for each.
        weight: Its share relative to the other classes.
    """

    words: int
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The traffic to make.

    Attributes:
        url: Root of the service; requests go to ``/v1/chat/completions`` below it.
        model: Served name to ask for.
        rate: Requests per second, open loop: a slow service gets no fewer.
        seconds: Time during which requests are started.
        max_requests: Most requests to start; None for as many as rate and time make.
        arrivals: Evenly spaced, or a Poisson process.
        prompt_lengths: The mix of prompt lengths.
        max_tokens: Tokens to generate for each request; the answer is forced to that length.
        concurrency: Most requests under way at once; those beyond it are skipped and counted.
        timeout: Seconds after which a request has failed.
        seed: Fixes arrivals, lengths and prompts.
    """

    url: str
    model: str
    rate: float
    seconds: float
    max_requests: int | None = None
    arrivals: Arrivals = "poisson"
    prompt_lengths: tuple[PromptLength, ...] = (PromptLength(24),)
    max_tokens: int = 16
    concurrency: int = 256
    timeout: float = 60.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("rate", "seconds", "timeout"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise ValueError(f"{name}: {value} is not a finite number above 0")
        for name in ("max_requests", "max_tokens", "concurrency"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name}: {value} is less than 1")
        if not self.prompt_lengths:
            raise ValueError("prompt_lengths: at least one class is needed")
        for length in self.prompt_lengths:
            if length.words < 1 or not length.weight > 0:
                raise ValueError(f"prompt_lengths: {length} needs 1 word or more and a weight above 0")

    @property
    def endpoint(self) -> str:
        """Where requests go."""
        return self.url.rstrip("/") + "/v1/chat/completions"


@dataclass(frozen=True, slots=True)
class PlannedRequest:
    """A request before it is sent.

    Attributes:
        at: When to send it, seconds after the start.
        body: The JSON to send.
    """

    at: float
    body: bytes


def plan(profile: Profile) -> Iterator[PlannedRequest]:
    """The requests of a profile in the order of their times; the same for the same profile."""
    source = random.Random(profile.seed)
    weights = [length.weight for length in profile.prompt_lengths]
    at, count = 0.0, 0
    while at < profile.seconds and (profile.max_requests is None or count < profile.max_requests):
        (length,) = source.choices(profile.prompt_lengths, weights)
        nonce = f"{source.getrandbits(32):08x}"
        yield PlannedRequest(at, _body(profile, prompt(nonce, length.words)))
        count += 1
        if profile.arrivals == "constant":
            at = count / profile.rate
        else:
            at += source.expovariate(profile.rate)


def prompt(nonce: str, words: int) -> str:
    """A prompt of ``words`` words that starts with the nonce, so that no prefix cache knows it."""
    filler = (_FILLER[position % len(_FILLER)] for position in range(words - 1))
    return " ".join((nonce, *filler))


def _body(profile: Profile, content: str) -> bytes:
    return json.dumps(
        {
            "model": profile.model,
            "messages": [{"role": "user", "content": content}],
            "max_tokens": profile.max_tokens,
            "ignore_eos": True,
            "stream": True,
        }
    ).encode()
