"""Counts how often others change the objects of a rollout's router, and says when putting them back ends.

One edit or deletion is an accident: it is put back, and forgotten after a while. Who changes the same things
again and again will not stop because they are put back once more, and each time users are routed by turns in
two ways. So after some rounds in a row it is a fight, which is left to a person: the objects stay as they
are, and are put back once in a while only to see whether it is over.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from chaffinch.api.v1alpha1.names import router_name
from chaffinch.domain.names import RolloutIdentity
from chaffinch.domain.observation import ForeignEdit, Observation
from chaffinch.domain.state import RouterEdits
from chaffinch.domain.timing import Timing


def counted(
    known: RouterEdits | None, edits: Sequence[ForeignEdit], now: datetime, timing: Timing
) -> RouterEdits | None:
    """Return what is remembered of edits after a pass. All that one pass finds is put back in one round.

    Args:
        known: What was remembered.
        edits: What others have changed and this pass would put back.
        now: The time.
        timing: How many rounds, and how long it has to be quiet between two of them.

    Returns:
        None if nothing has been changed lately.
    """
    if not edits:
        return known if known is not None and now < _quiet_at(known, timing) else None
    if not may_mend(known, now, timing):
        return known
    first = edits[0]
    goes_on = known is not None and (known.fight_since is not None or now < _quiet_at(known, timing))
    count = min(known.count + 1, timing.router_edits) if known is not None and goes_on else 1
    since = known.fight_since if known is not None and goes_on else None
    if count >= timing.router_edits:
        since = since or now
    return RouterEdits(count, now, first.object, first.by, since)


def may_mend(known: RouterEdits | None, now: datetime, timing: Timing) -> bool:
    """Say whether what others have changed is put back: always, but in a fight only once in a while."""
    return known is None or known.fight_since is None or now >= _quiet_at(known, timing)


def left_alone(seen: Observation, *, mends: bool) -> frozenset[str]:
    """Return the objects, as ``Kind/name``, that must not be written in a pass.

    Args:
        seen: What the pass has observed.
        mends: Whether it puts back what others have changed.
    """
    return frozenset() if mends else frozenset(edit.object for edit in seen.edited)


def route_object(rollout: RolloutIdentity) -> str:
    """Return the route's ConfigMap as ``Kind/name``."""
    return f"ConfigMap/{router_name(rollout.name)}"


def _quiet_at(known: RouterEdits, timing: Timing) -> datetime:
    return known.at + timedelta(seconds=timing.router_quiet)
