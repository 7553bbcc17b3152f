"""The operator's log of one rollout: each transition, and what keeps its passes from deciding.

Whoever is called at night follows a rollout in this log: attempts, steps, verdicts, how it ended. Each is
told once, when it happens, and a fault that lasts is told once too, however many passes meet it.
"""

from __future__ import annotations

import logging

from chaffinch.domain.events import events_of
from chaffinch.domain.names import RolloutIdentity
from chaffinch.domain.observation import Observation
from chaffinch.domain.state import RolloutState

log = logging.getLogger(__name__)


class Logbook:
    """Logs for one rollout; remembers only which fault was told last."""

    def __init__(self) -> None:
        self._told = ""

    def read(self, seen: Observation) -> None:
        """Log what could not be read, if it isn't what was logged last; and that it can be read again."""
        problem = next(iter(seen.problems), "")
        if problem == self._told:
            return
        if problem:
            log.warning("nothing is decided, a read failed: %s", problem, extra=_fields(seen.rollout))
        else:
            log.info("everything can be read again", extra=_fields(seen.rollout))
        self._told = problem

    def moved(self, rollout: RolloutIdentity, before: RolloutState, after: RolloutState) -> None:
        """Log everything that happened between two states, with the revision and attempt that it is about.

        Where one attempt ends and the next one starts in the same pass, the fields name the next one; the
        sentences name the revision of each.
        """
        fields, candidate = _fields(rollout), after.candidate or before.candidate
        if candidate is not None:
            fields |= {"revision": candidate.revision, "attempt": str(candidate.attempt)}
        for event in events_of(before, after):
            log.info("%s %s: %s", event.action, event.reason, event.message, extra=fields)


def _fields(rollout: RolloutIdentity) -> dict[str, str]:
    return {"namespace": rollout.namespace, "rollout": rollout.name}
