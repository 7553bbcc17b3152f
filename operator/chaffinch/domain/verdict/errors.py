"""Error counts beside a limit, and beside a control's: exact bounds of shares.

Against a limit the number of failed requests is binomial, so one exact tail decides. Against a
control two Clopper-Pearson bounds are combined, each at half the level: the canary fails when its
lower bound is above the control's upper bound plus the margin. The two can be wrong together with a
probability of at most ``alpha``, whatever the shares are, so the rule is exact though conservative.
A control without a failure is a number like any other (0 of 5,000 bounds its share at 0.1 %); a control
without a request is none, and every bound of it is 0 to 1, which decides nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from chaffinch.domain.evidence import ArmEvidence
from chaffinch.domain.verdict import tails

TOLERANCE_FLOOR = 0.001
"""The least room between a limit and what has to be ruled out, as a share of requests."""


@dataclass(frozen=True, slots=True)
class Errors:
    """How many requests there were, and how many of them failed."""

    failed: int
    requests: int

    @classmethod
    def of(cls, arm: ArmEvidence | None) -> Errors:
        """Return an arm's error counts; of a missing arm, none."""
        return cls(0, 0) if arm is None else cls(arm.errors, arm.requests)

    @property
    def share(self) -> float | None:
        """The share that failed, or None without a request."""
        return self.failed / self.requests if self.requests else None

    def at_least(self, log_alpha: float) -> float:
        """Return the lower bound of the share."""
        return tails.share_at_least(self.failed, self.requests, math.exp(log_alpha))

    def at_most(self, log_alpha: float) -> float:
        """Return the upper bound of the share."""
        return tails.share_at_most(self.failed, self.requests, math.exp(log_alpha))


@dataclass(frozen=True, slots=True)
class ShareTest:
    """Errors beside a limit.

    Passing asks that the share, as measured, keeps the limit, and that a share beyond the limit by
    as much again (by ``TOLERANCE_FLOOR`` at least) is ruled out. Proving a share below the limit itself
    would take a canary far better than its limit, or far more requests than a step sees; with this
    room a flawless canary passes 0.5 % with about 370 requests at the first look.

    Attributes:
        errors: The counts.
        limit: The highest share that is allowed.
    """

    errors: Errors
    limit: float

    @property
    def ruled_out(self) -> float:
        """The share that passing rules out."""
        return min(1.0, self.limit + max(self.limit, TOLERANCE_FLOOR))

    def over(self, log_alpha: float) -> bool:
        """Return whether the share is proven above the limit."""
        errors = self.errors
        return tails.log_binomial_upper(errors.failed, errors.requests, self.limit) <= log_alpha

    def keeps(self) -> bool:
        """Return whether the share, as measured, is at most the limit."""
        share = self.errors.share
        return share is not None and share <= self.limit

    def under(self, log_alpha: float) -> bool:
        """Return whether the share keeps the limit, and twice the limit is ruled out."""
        errors = self.errors
        tail = tails.log_binomial_lower(errors.failed, errors.requests, self.ruled_out)
        return self.keeps() and tail <= log_alpha


@dataclass(frozen=True, slots=True)
class Increase:
    """The canary's errors beside a control's.

    Attributes:
        canary: The canary's counts.
        control: What they are compared with.
    """

    canary: Errors
    control: Errors

    def above(self, margin: float, log_alpha: float) -> bool:
        """Return whether the canary's share is proven above the control's plus a margin."""
        low, _ = self.interval(log_alpha, log_alpha)
        return self._has_both() and low > margin

    def below(self, margin: float, log_alpha: float) -> bool:
        """Return whether the canary's share is proven below the control's plus a margin."""
        _, high = self.interval(log_alpha, log_alpha)
        return self._has_both() and high < margin

    def interval(self, log_low: float, log_high: float) -> tuple[float, float]:
        """Return bounds of the difference of the shares, canary minus control.

        Args:
            log_low: Logarithm of the level of the lower bound, that of the test to fail.
            log_high: Logarithm of the level of the upper bound, that of the test to pass.
        """
        half_low, half_high = log_low - math.log(2), log_high - math.log(2)
        return (
            self.canary.at_least(half_low) - self.control.at_most(half_low),
            self.canary.at_most(half_high) - self.control.at_least(half_high),
        )

    def _has_both(self) -> bool:
        return self.canary.requests > 0 and self.control.requests > 0
