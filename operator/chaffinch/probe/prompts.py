"""Prompts of a wanted length, made from a seed and a nonce; no tokenizer, no corpus.

The *lengths* depend on the seed alone, so that two runs of a profile carry the same work. The *words* depend
on a nonce, which is fresh for each stage of each run: otherwise a server that has seen the last run, or the
last stage, would answer from its prefix cache and look faster than it is.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence

# Short everyday words: nearly all tokenizers have them, with their leading space, as one token each.
_TEXT = """
the of and to in is that it for was on are with as they at be this from have or by one had not but
what all were when we there can an your which their said if do will each about how up out them then
she many some so these would other into has more her two like him see time could no make than first
been its who now people my made over did down only way find use may water long little very after
words called just where most know get through back much before go good new write our used me man too
any day same right look think also around another came come work three word must because does part
even place well such here take why things help put years different away again off went old number
great tell men say small every found still between name should home big give air line set own under
read last never us left end
"""
_WORDS = tuple(_TEXT.split())

_LEADING_WORDS = 8  # enough that no two prompts share a prefix-cache block by chance


def prompt_lengths(mix: Sequence[tuple[int, int]], requests: int, seed: int) -> tuple[int, ...]:
    """Deal prompt lengths to requests, in exact proportion and in a repeatable shuffled order.

    Dealing instead of drawing keeps the share of the long tail the same in every run, which takes its
    sampling noise out of a comparison of two runs.

    Args:
        mix: Pairs of prompt length in tokens and weight; the weights are relative.
        requests: How many lengths to deal.
        seed: Decides the order.

    Returns:
        One length per request; the counts are the largest-remainder apportionment of the weights.
    """
    total = sum(weight for _, weight in mix)
    floors = [requests * weight // total for _, weight in mix]
    by_remainder = sorted(range(len(mix)), key=lambda i: (-(requests * mix[i][1] % total), i))
    for i in by_remainder[: requests - sum(floors)]:
        floors[i] += 1
    lengths = [tokens for (tokens, _), count in zip(mix, floors, strict=True) for _ in range(count)]
    random.Random(seed).shuffle(lengths)  # noqa: S311 - a workload, not a secret
    return tuple(lengths)


def prompt_text(tokens: int, nonce: str, index: int) -> str:
    """Return a prompt of about ``tokens`` tokens that shares no prefix with any other.

    Args:
        tokens: Wanted length; one word is taken for one token.
        nonce: Text that is fresh for each stage of each run.
        index: Number of the request within the stage.
    """
    source = random.Random(f"{nonce}/{index}")  # noqa: S311 - a workload, not a secret
    leading = source.choices(_WORDS, k=min(tokens, _LEADING_WORDS))
    # The rest repeats the list from a random word on: drawing every word would stop the loop for long.
    start = source.randrange(len(_WORDS))
    around = _WORDS[start:] + _WORDS[:start]
    rounds, remainder = divmod(tokens - len(leading), len(around))
    return " ".join([*leading, *[" ".join(around)] * rounds, *around[:remainder]])


def completion_body(model: str, prompt: str, output_tokens: int) -> bytes:
    """Return the body of a streamed chat completion that generates exactly ``output_tokens`` tokens.

    ``ignore_eos`` keeps the amount of work independent of what the model would say; ``temperature`` 0 takes
    the sampler's luck out.
    """
    body = {
        "model": model,
        "messages": [{"role": "user", "content": prompt}],
        "max_tokens": output_tokens,
        "ignore_eos": True,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    return json.dumps(body, separators=(",", ":")).encode()
