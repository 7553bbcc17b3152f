"""The one way to read a number that came from outside.

``float()`` takes ``infinity``, ``1_000`` and digits of other scripts; JSON parsers take ``NaN``. A
number that a decision rests on is read here or not at all.
"""

from __future__ import annotations

import math
import re

LARGEST_COUNT = 2**53
"""Counts beyond this lose units on their way through floating point."""

_LONGEST = 40
_SURELY_EXACT = 15  # digits
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def finite_number(text: object) -> float:
    """Return a number that is written in plain ASCII decimal notation.

    Args:
        text: What came from outside, of whatever type.

    Raises:
        ValueError: If it is no text, no such number, or not finite. The message never quotes it.
    """
    if not isinstance(text, str):
        raise ValueError("a number was expected as text")
    if len(text) > _LONGEST or not _NUMBER.fullmatch(text):
        raise ValueError("a text is not a plain decimal number")
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def count(text: object) -> int:
    """Return a number of things: whole, 0 or more, and exactly representable.

    Raises:
        ValueError: If it is anything else. The message never quotes it.
    """
    if isinstance(text, str) and len(text) <= _SURELY_EXACT and text.isascii() and text.isdigit():
        return int(text)  # nearly all of them are, and there are many
    number = finite_number(text)
    if not 0 <= number <= LARGEST_COUNT or number != int(number):
        raise ValueError("a count must be a whole number, 0 or more")
    return int(number)
