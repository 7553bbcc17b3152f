"""Text to tokens and back, without a tokenizer of any model.

Prompts are split so that a word of up to eight characters is one token, which lets a test write a prompt
of n tokens as n words. Answers are drawn from a small vocabulary by the content of the prompt, so that
equal prompts at temperature 0 get equal answers from every version, as with a real model.
"""

import re
from math import gcd

_PIECE = re.compile(r"\s*\S{1,8}")

_WORDS = """
the of and to in is that for it as with on by at from or an this which each
lake river stone field cloud ember harbor meadow signal garden winter copper
finch robin heron swift linnet thrush wren plover naïve café Grüße €uro
steady quick narrow early quiet bright level common
keeps turns finds holds moves brings takes gives rises falls follows answers
again never often always
"""
# A leading blank makes each word one token of its own; a few are not ASCII because clients must cope.
VOCABULARY = tuple(f" {word}" for word in _WORDS.split())


def tokenize(text: str) -> list[str]:
    """Split text into tokens; white space belongs to the token after it."""
    return _PIECE.findall(text)


class Answer:
    """The words that follow a prompt: an endless sequence, fixed by a digest of the prompt."""

    __slots__ = ("_start", "_stride")

    def __init__(self, digest: bytes) -> None:
        self._start = int.from_bytes(digest[:8])
        # Any stride that shares no factor with the vocabulary's length visits every word.
        self._stride = _STRIDES[int.from_bytes(digest[8:12]) % len(_STRIDES)]

    def index(self, position: int) -> int:
        """Index in ``VOCABULARY`` of the word at a position of the answer."""
        return (self._start + position * self._stride) % len(VOCABULARY)

    def text(self, count: int) -> str:
        """The first ``count`` words, joined."""
        return "".join(VOCABULARY[self.index(position)] for position in range(count))


def _coprime_strides(length: int) -> tuple[int, ...]:
    return tuple(stride for stride in range(3, length) if gcd(stride, length) == 1)


_STRIDES = _coprime_strides(len(VOCABULARY))
