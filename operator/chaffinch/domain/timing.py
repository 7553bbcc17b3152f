"""The deadlines and intervals of a rollout that are not in its spec, in seconds.

They are arguments of the state machine and not constants in it, so that tests (and settings) can
shorten them.
"""

from __future__ import annotations

from dataclasses import dataclass

_MOST_STALLED = 60.0
_MOST_UNSEEN = 300.0


@dataclass(frozen=True, slots=True)
class Timing:
    """Deadlines and intervals, all in seconds unless said otherwise.

    Attributes:
        crash_loop_restarts: Restarts of one pod that make a crash loop (a count).
        pods_turned_away: Pods that nodes have turned away or evicted in one attempt until that is a failure
            (a count).
        turned_away_within: How old a pod may be at most that was turned away, to count as one of a storm.
        turned_away_retry: How long a storm is waited with before one pod more is asked for; twice as long for
            each further one.
        image_pull: How old a pod is that still cannot pull its image when that counts as a failure.
        acknowledgement: How long routers may take to acknowledge a route before it is held against them.
        agents_lost: How long no router may answer, and nothing be measured, before a canary that has up to
            half of the traffic gets none.
        drain: How long the pods of a revision that is out are kept for the answers that they still give.
        retry: How long a revision that met trouble of its environment (no node, no endpoint) waits
            for its next attempt; twice as long for each further one.
        retry_longest: How long it waits at most.
        load_retry: How long a load probe that came to nothing is waited with before it is run again;
            twice as long for each further one.
        router_edits: How often in a row what others change of the router's objects is put back (a count).
        router_quiet: How long they have to leave them alone until that is forgotten.
        settled: How old a pod is that its node has taken, whether the node has said so or not.
        moment: How long pods may be not Ready, in the same container, before a step's clock starts anew; how
            long a warm-up waits for pods that are a little later than others.
        active: Longest pause between two passes while something is in progress; see also ``measuring``.
        idle: Longest pause between two passes at rest; what is watched wakes a rollout before.
        objectives: Shortest time between two status writes that only bring new figures.
    """

    crash_loop_restarts: int = 3
    pods_turned_away: int = 5
    turned_away_within: float = 60
    turned_away_retry: float = 60
    image_pull: float = 30
    acknowledgement: float = 60
    agents_lost: float = 180
    drain: float = 300
    retry: float = 300
    retry_longest: float = 3600
    load_retry: float = 30
    router_edits: int = 5
    router_quiet: float = 900
    settled: float = 10
    moment: float = 10
    active: float = 5
    idle: float = 600
    objectives: float = 30

    @property
    def measuring(self) -> float:
        """Longest pause while a step's minimum time runs: routers count in blocks of ten seconds."""
        return min(2 * self.active, self.idle)

    @property
    def stalled(self) -> float:
        """Longest pause between passes while a person is waited for: what they mend may not be watched."""
        return min(self.idle, _MOST_STALLED)

    @property
    def unseen(self) -> float:
        """How long an object that is not watched, and was as wanted, is taken to be still so."""
        return min(3 * self.idle, _MOST_UNSEEN)
