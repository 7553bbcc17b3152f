"""Randomness that can be repeated: every draw is a hash of the seed and of what the draw is for.

A shared generator would tie a request's luck to the order in which requests happen to arrive. Here the
same request meets the same luck in every run, however it is scheduled; a prompt that is sent again
counts as its next occurrence and draws anew.
"""

import math
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import blake2b
from statistics import NormalDist

_NORMAL = NormalDist()
_SCALE = 2.0**-64
_REMEMBERED = 4096


@dataclass(frozen=True, slots=True)
class RequestChance:
    """The luck of one request.

    Attributes:
        latency: Standard normal draw behind the request's latency noise.
        length: Standard normal draw behind the length of an answer that ends by itself.
        failure: Uniform draw in 0..1 that decides whether and how the request fails.
    """

    latency: float
    length: float
    failure: float

    @classmethod
    def of(cls, seed: int, content: bytes, occurrence: int) -> "RequestChance":
        """The luck of the ``occurrence``-th request with this content."""
        digest = _digest(seed, content, occurrence)
        words = [int.from_bytes(digest[start : start + 8]) for start in (0, 8, 16)]
        return cls(_normal(words[0]), _normal(words[1]), words[2] * _SCALE)


class Occurrences:
    """Counts how often each content was seen, for the most recent few thousand contents."""

    def __init__(self) -> None:
        self._seen: OrderedDict[bytes, int] = OrderedDict()

    def next(self, content: bytes) -> int:
        """The number of earlier requests with this content."""
        count = self._seen.pop(content, 0)
        self._seen[content] = count + 1
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)
        return count


def content_digest(*parts: bytes) -> bytes:
    """A short digest of a request's content, as key for its luck and for its answer."""
    digest = blake2b(digest_size=16)
    for part in parts:
        digest.update(len(part).to_bytes(8))
        digest.update(part)
    return digest.digest()


def iteration_noise(seed: int, engine: int, iteration: int, sigma: float) -> float:
    """The lognormal factor, of median 1, on the duration of one engine iteration."""
    if sigma == 0:
        return 1.0
    digest = _digest(seed, b"iteration" + engine.to_bytes(4), iteration)
    return math.exp(sigma * _normal(int.from_bytes(digest[:8])))


def _digest(seed: int, content: bytes, ordinal: int) -> bytes:
    key = seed.to_bytes(16, signed=True) + ordinal.to_bytes(8)
    return blake2b(content, digest_size=24, key=key).digest()


def _normal(word: int) -> float:
    # 52 bits: the half keeps 0 and 1, where the normal law has no quantile, out of reach exactly.
    return _NORMAL.inv_cdf(((word >> 12) + 0.5) * 2.0**-52)
