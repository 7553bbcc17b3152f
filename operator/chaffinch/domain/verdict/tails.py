"""Exact tail probabilities and bounds of counts, in log space.

A probability of 1e-650 is an ordinary answer here (500 failures of 500 requests against a limit of
5 %), and a double cannot hold it. So tails are summed as logarithms, and a caller compares
``log p <= log alpha``. Should the arithmetic ever give something that is no probability, the answer
is ``log 1``: broken arithmetic is no evidence, never huge evidence.

Formulas: the hypergeometric and binomial mass functions, summed over the tail; bounds of a share
after C. J. Clopper and E. S. Pearson, Biometrika 26 (1934), by way of the beta distribution.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import betainccinv, betaincinv, gammaln, xlog1py, xlogy

Counts = npt.NDArray[np.float64]

# Terms farther than this many standard deviations from both the mean and the first term add less
# than exp(-700) of the sum.
_FAR = 40


def log_hypergeometric_upper(x: int, marked: int, drawn: int, total: int) -> float:
    """Return log P(X >= x), X being how many of ``drawn`` out of ``total`` are among ``marked``.

    Args:
        x: The count that was seen.
        marked: How many of the total belong to the arm of interest (the canary's requests).
        drawn: How many are in the tail that was looked at, whoever they belong to.
        total: All requests of both arms.
    """
    lowest, highest = max(0, drawn - (total - marked)), min(drawn, marked)
    if x <= lowest:
        return 0.0
    if x > highest:
        raise ValueError(f"{x} of {drawn} cannot be among {marked} of {total}")
    mean = drawn * marked / total
    last = min(highest, _far_above(max(x, mean), math.sqrt(drawn)))
    k = np.arange(x, last + 1, dtype=np.float64)
    terms = _log_choose(marked, k) + _log_choose(total - marked, drawn - k) - _log_choose(total, drawn)
    return _log_sum(terms)


def log_hypergeometric_lower(x: int, marked: int, drawn: int, total: int) -> float:
    """Return log P(X <= x) of the same count: the upper tail as the other arm sees it."""
    return log_hypergeometric_upper(drawn - x, total - marked, drawn, total)


def log_binomial_upper(x: int, trials: int, share: float) -> float:
    """Return log P(X >= x) of ``trials`` independent requests, each counted with probability ``share``."""
    if not (0 <= x <= trials and 0 <= share <= 1):
        raise ValueError(f"{x} of {trials} at a share of {share!r} cannot be")
    if x == 0:
        return 0.0
    last = min(trials, _far_above(max(x, trials * share), math.sqrt(trials)))
    k = np.arange(x, last + 1, dtype=np.float64)
    terms = _log_choose(trials, k) + xlogy(k, share) + xlog1py(trials - k, -share)
    # A share of 0 makes every count above 0 impossible: log 0 is right here, not an underflow.
    return -math.inf if share == 0 else _log_sum(terms)


def log_binomial_lower(x: int, trials: int, share: float) -> float:
    """Return log P(X <= x) of the same count."""
    return log_binomial_upper(trials - x, trials, 1 - share)


def share_at_least(x: int, trials: int, alpha: float) -> float:
    """Return the lower Clopper-Pearson bound of a share; 0 of no trials."""
    if x == 0:
        return 0.0
    return _share(float(betaincinv(x, trials - x + 1, alpha)), otherwise=0.0)


def share_at_most(x: int, trials: int, alpha: float) -> float:
    """Return the upper Clopper-Pearson bound of a share; 1 of no trials."""
    if x >= trials:
        return 1.0
    return _share(float(betainccinv(x + 1, trials - x, alpha)), otherwise=1.0)


def _far_above(centre: float, deviation: float) -> int:
    return math.ceil(centre + _FAR * deviation) + _FAR


def _log_choose(n: int, k: Counts | int) -> Counts:
    result: Counts = gammaln(n + 1) - gammaln(np.asarray(k) + 1.0) - gammaln(n - np.asarray(k) + 1.0)
    return result


def _log_sum(terms: Counts) -> float:
    largest = float(terms.max())
    total = largest + math.log(float(np.exp(terms - largest).sum()))
    return min(total, 0.0) if math.isfinite(total) else 0.0


def _share(value: float, otherwise: float) -> float:
    return value if 0 <= value <= 1 else otherwise
