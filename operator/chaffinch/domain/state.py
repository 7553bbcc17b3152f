"""What the operator remembers of a rollout between two passes: the state of its state machine.

The state is stored in the rollout's status and nowhere else; :mod:`chaffinch.domain.status_codec`
converts between the two without loss. Every pass may be the first one after a crash, so a state says
where the rollout is and never what was done in this process.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from chaffinch.api.v1alpha1.attempt_status import Outcome, RolloutStage
from chaffinch.api.v1alpha1.reasons import Reason
from chaffinch.domain.commands import AnsweredCommand
from chaffinch.domain.plan import AttemptPlan
from chaffinch.domain.route import Decision
from chaffinch.domain.verdict.memory import JudgeState


@dataclass(frozen=True, slots=True)
class StableRevision:
    """The revision that serves users, and since when."""

    revision: str
    since: datetime


@dataclass(frozen=True, slots=True, order=True)
class WarmPod:
    """A pod that has been warmed up; a container that restarted is cold again, hence the count."""

    name: str
    restarts: int


@dataclass(frozen=True, slots=True)
class WarmUp:
    """The warm-up that runs now.

    Attributes:
        serial: Which warm-up of the attempt this is, from 1; part of the LoadProbe's name.
        pods: The pods that it warms.
        failures: How many warm-ups of the same pods failed before it.
    """

    serial: int
    pods: tuple[WarmPod, ...]
    failures: int = 0


@dataclass(frozen=True, slots=True)
class StepState:
    """The step that an attempt is in.

    Attributes:
        index: Into the plan's steps, from 0.
        entered_at: When it began first; what it may take in all counts from here.
        acknowledged_at: When all routers had its weight in force (a probe step: when it began); its
            clock and its evidence start here. None until then, and again after the canary was lost.
        passed_at: When the pass was recorded. The weight stays until the next step's pods are warm.
        run: Which run of a probe step this is, from 1.
        runs_before: How many of the runs came before a person had the load run again; they count no more.
        judge: What the judge remembers of this step.
        restarted_at: When it was last begun anew because pods were lost; None if it never was.
    """

    index: int
    entered_at: datetime
    acknowledged_at: datetime | None = None
    passed_at: datetime | None = None
    run: int = 1
    runs_before: int = 0
    judge: JudgeState = field(default_factory=JudgeState)
    restarted_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Hold:
    """Why nothing moves on.

    Attributes:
        reason: A reason of the API, such as ``NoData`` or ``CanaryUnavailable``.
        since: When the reason was first seen.
        deadline: When waiting ends: an attempt then needs a person, or is rolled back, by the
            reason; None if only the end of the cause ends it.
        message: What is missing, in our own words.
    """

    reason: str
    since: datetime
    deadline: datetime | None
    message: str


COMMANDED = Reason.COMMANDED
"""The cause of a pause that a person asked for."""


@dataclass(frozen=True, slots=True)
class Pause:
    """A candidate stays at its step, judged but not moved on, until a person says otherwise.

    Attributes:
        since: Since when.
        cause: ``Commanded``, or the reason of the API for which a person is asked.
        by: Who paused it, if a person did and said so.
        message: Why, in words.
    """

    since: datetime
    cause: str
    by: str | None
    message: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """The revision that is tried, and its attempt.

    Attributes:
        revision: 8 hexadecimal digits.
        attempt: The attempt's number; rises over the rollout's life.
        started_at: When the attempt started.
        deadline: When the pods that are being waited for must be warm; None if none are.
        plan: What was frozen at the start.
        warmed: Its pods that have been warmed.
        warm_up: The warm-up that runs now.
        warm_ups: How many warm-ups this attempt has started.
        step: The step it is in; None while Deploying.
        weight: Its share of the traffic that is wanted now, in ten-thousandths.
        decision: How the attempt ends, once that is decided.
        paused: Why it stays where it is until a person says otherwise, if it does.
    """

    revision: str
    attempt: int
    started_at: datetime
    deadline: datetime | None
    plan: AttemptPlan
    warmed: tuple[WarmPod, ...] = ()
    warm_up: WarmUp | None = None
    warm_ups: int = 0
    step: StepState | None = None
    weight: int = 0
    decision: Decision | None = None
    paused: Pause | None = None


@dataclass(frozen=True, slots=True)
class RouterEdits:
    """What others have lately changed of the router's objects.

    Attributes:
        count: How many times in a row it was put back.
        at: When it was put back last.
        object: ``Kind/name`` of what was changed last.
        by: The field manager that did it, if that is known.
        fight_since: Since when it is a fight: nothing is put back any more but to see whether it is over.
    """

    count: int
    at: datetime
    object: str
    by: str | None = None
    fight_since: datetime | None = None


@dataclass(frozen=True, slots=True)
class PodStorm:
    """Nodes turn away one pod of a revision after another.

    Attributes:
        revision: The revision.
        since: Since when.
        turned_away: How many pods were.
        tries: How often one pod more was asked for in vain.
        again_at: When one pod more is asked for.
    """

    revision: str
    since: datetime
    turned_away: int
    tries: int
    again_at: datetime


@dataclass(frozen=True, slots=True)
class LastAttempt:
    """How the last attempt ended. It keeps its revision from starting again by itself.

    Attributes:
        revision: What was tried.
        attempt: Its number.
        outcome: How it ended, in one word.
        cause: Why: a reason of the ``Promoted`` condition.
        ended_at: When it ended.
        message: Why, with numbers.
        decided_at: When its end was decided; the routers followed between this and the end.
        again_at: When the revision is tried again by itself; None if it is not.
    """

    revision: str
    attempt: int
    outcome: Outcome
    cause: str
    ended_at: datetime
    message: str = ""
    decided_at: datetime | None = None
    again_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class RolloutState:
    """Where a rollout is. The default is the state of a rollout that nobody has looked at.

    Attributes:
        stage: The stage; a hold is no stage but a flag on one.
        stable: What serves; None before the first revision does.
        candidate: What is tried; None in Idle.
        attempts: The number of the newest attempt; 0 before the first.
        hold: Why nothing moves on, if so.
        last_attempt: How the last attempt ended.
        last_command: The command that was answered last; it is not carried out twice.
        failed: Revisions that are not tried again by themselves, oldest first, at most 10.
        sequence: The highest route sequence that was seen.
        router_edits: What others have lately changed of the router's objects, if they have.
        storms: Revisions whose pods nodes turn away one after another.
    """

    stage: RolloutStage = RolloutStage.IDLE
    stable: StableRevision | None = None
    candidate: Candidate | None = None
    attempts: int = 0
    hold: Hold | None = None
    last_attempt: LastAttempt | None = None
    last_command: AnsweredCommand | None = None
    failed: tuple[str, ...] = ()
    sequence: int = 0
    router_edits: RouterEdits | None = None
    storms: tuple[PodStorm, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether this is the state of a rollout that nobody has looked at (or whose status was lost)."""
        return self.stable is None and self.candidate is None and self.attempts == 0

    @property
    def router_fight(self) -> RouterEdits | None:
        """The fight for the router's objects, if there is one."""
        edits = self.router_edits
        return edits if edits is not None and edits.fight_since is not None else None

    def storm_of(self, revision: str) -> PodStorm | None:
        """Return the storm that a revision is in, if it is in one."""
        return next((storm for storm in self.storms if storm.revision == revision), None)
