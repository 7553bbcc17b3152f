"""Reads the numbers that people write with units: durations, latencies, shares, resource amounts.

Specs hold no floats: a threshold is text such as ``85ms``, ``5%`` or ``0.5pp``. The same text is
checked by the API server with a pattern, so parsing here is just as strict: ASCII digits, at most
three decimals, no sign, no spaces, no exponent.
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

DURATION_PATTERN = r"^[1-9][0-9]{0,5}(s|m|h)$"
LIMIT_PATTERN = r"^[0-9]{1,6}(\.[0-9]{1,3})?(ms|s|%)$"
PERCENT_PATTERN = r"^[0-9]{1,3}(\.[0-9]{1,3})?%$"
PERCENTAGE_POINTS_PATTERN = r"^[0-9]{1,3}(\.[0-9]{1,3})?pp$"
RESOURCE_AMOUNT_PATTERN = r"^[0-9]{1,15}(\.[0-9]{1,3})?(m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?$"

_SECONDS_OF_UNIT = {"s": 1, "m": 60, "h": 3600}
_NUMBER = r"([0-9]{1,6}(?:\.[0-9]{1,3})?)"
_DURATION = re.compile(r"([1-9][0-9]{0,5})([smh])")
_LATENCY = re.compile(_NUMBER + r"(ms|s)")
_SHARE = re.compile(_NUMBER + r"(%|pp)")
_RESOURCE_AMOUNT = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,3})?)(m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?")
_FACTOR_OF_SUFFIX = {
    "": Fraction(1),
    "m": Fraction(1, 1000),
    **{suffix: Fraction(1000**power) for power, suffix in enumerate("kMGTP", start=1)},
    **{f"{suffix}i": Fraction(1024**power) for power, suffix in enumerate("KMGTP", start=1)},
}


def duration_seconds(text: str) -> int:
    """Return a duration such as ``90s``, ``15m`` or ``2h`` in seconds.

    Raises:
        ValueError: If the text is not a number of 1 or more and one of ``s``, ``m``, ``h``.
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(
            f"{text!r} is not a duration: write a whole number and s, m or h, such as 90s or 15m"
        )
    return int(match[1]) * _SECONDS_OF_UNIT[match[2]]


def latency_seconds(text: str) -> float:
    """Return a latency such as ``85ms`` or ``1.5s`` in seconds.

    Raises:
        ValueError: If the text is not a number followed by ``ms`` or ``s``.
    """
    match = _LATENCY.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a latency: write a number and ms or s, such as 85ms or 1.5s")
    number = Decimal(match[1])
    return float(number / 1000 if match[2] == "ms" else number)


def share(text: str) -> float:
    """Return a share as a fraction of 1: ``5%`` is 0.05 and ``0.5pp`` (percentage points) is 0.005.

    Raises:
        ValueError: If the text is not a number followed by ``%`` or ``pp``.
    """
    match = _SHARE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a share: write a number and % or pp, such as 5% or 0.5pp")
    return float(Decimal(match[1]) / 100)


def resource_amount(amount: int | str) -> Fraction:
    """Return a Kubernetes resource amount as an exact number: ``1000m`` and ``"1"`` and 1 are equal.

    Args:
        amount: A whole number, or text with one of the suffixes m, k, M, G, T, P, Ki, Mi, Gi, Ti, Pi.

    Raises:
        ValueError: If the amount is negative or not written like that.
    """
    match = _RESOURCE_AMOUNT.fullmatch(str(amount))
    if match is None or isinstance(amount, bool):
        raise ValueError(f"{amount!r} is not allowed: write a resource amount such as 4, 500m or 16Gi")
    return Fraction(match[1]) * _FACTOR_OF_SUFFIX[match[2] or ""]
