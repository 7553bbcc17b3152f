"""The parts of a rollout's status that tell what its surroundings do to it: other writers, and nodes."""

from __future__ import annotations

from chaffinch.api.v1alpha1.common import Count, RevisionHash, ShortText, StatusModel, Timestamp


class RouterEditsStatus(StatusModel):
    """What others have lately changed of the router's objects."""

    count: Count
    """How many times in a row it was put back."""
    at: Timestamp
    """When it was put back last."""
    object: ShortText
    """What was changed last, as `Kind/name`."""
    by: ShortText | None = None
    """The field manager that changed it, if that is known."""
    fight_since: Timestamp | None = None
    """Since when it is left as it is, because it was changed too often."""


class PodStormStatus(StatusModel):
    """Pods of a revision that nodes turn away one after another; no more are asked for than nodes take."""

    revision: RevisionHash
    """The revision."""
    since: Timestamp
    """Since when."""
    turned_away: Count
    """How many pods were turned away."""
    tries: Count
    """How often one pod more was asked for in vain."""
    again_at: Timestamp
    """When one pod more is asked for."""
