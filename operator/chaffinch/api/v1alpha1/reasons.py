"""The closed lists of condition types and reasons; every reason has one sentence that explains it.

Conditions, Events, metrics and the reference documentation all take their words from here.
"""

from __future__ import annotations

from enum import StrEnum


class _Explained(StrEnum):
    """A word with its meaning."""

    meaning: str

    def __new__(cls, word: str, meaning: str) -> _Explained:
        member = str.__new__(cls, word)
        member._value_ = word
        member.meaning = meaning
        return member


class ConditionType(_Explained):
    """The aspects of a rollout's state."""

    AVAILABLE = "Available", "Users are served; alert on this one."
    READY = "Ready", "The newest generation of the spec is the one that serves."
    RECONCILING = "Reconciling", "Work is in progress; never True together with Stalled."
    STALLED = "Stalled", "A person is needed; never True together with Ready."
    PROMOTED = "Promoted", "The outcome of the last attempt: True, False, or Unknown while it runs."
    EVIDENCE = "Evidence", "There is enough evidence to decide the current step."
    BASELINE_VALID = "BaselineValid", "The named baseline exists, is unaltered and fits what is measured."
    SPEC_APPLIED = "SpecApplied", "Everything in the spec is in force; False while a change waits."


class Reason(_Explained):
    """Why a condition has the status that it has."""

    AS_EXPECTED = "AsExpected", "Everything is as the spec asks."

    STABLE_SERVING = "StableServing", "The stable revision serves with all its replicas."
    STABLE_UNDERSIZED = "StableUndersized", "The stable revision serves with fewer replicas than asked for."
    NO_READY_ENDPOINT = "NoReadyEndpoint", "No engine pod is ready to take requests."
    ROUTER_UNAVAILABLE = "RouterUnavailable", "No router pod is ready to take requests."
    NOT_DEPLOYED = "NotDeployed", "The first revision has not become ready yet."

    PROMOTED = "Promoted", "The revision of this generation was promoted and serves."
    ROLLOUT_IN_PROGRESS = "RolloutInProgress", "A new revision is being rolled out."
    ROLLED_BACK = "RolledBack", "The revision of this generation was rolled back; the one before it serves."
    INVALID_SPEC = "InvalidSpec", "The spec breaks a rule; the message names the field and the remedy."
    NOT_OBSERVED = "NotObserved", "Nobody has looked at this generation yet."

    DEPLOYING = "Deploying", "Pods of the new revision are being started."
    WARMING_UP = (
        "WarmingUp",
        "Pods of the new revision are being warmed with requests that count for nothing.",
    )
    STEPPING = "Stepping", "The steps of the strategy are being gone through."
    HOLDING = "Holding", "The rollout waits at its step for a trouble to go away."
    PAUSED = "Paused", "The rollout stays at its step until a person resumes, promotes or aborts it."
    COMMANDED = "Commanded", "A person has asked for the pause."
    AWAITING_APPROVAL = "AwaitingApproval", "The rollout waits for a person's approval of its step."
    PROMOTING = "Promoting", "The new revision is taking over as the stable one."
    ROLLING_BACK = "RollingBack", "The new revision is being taken out."
    SCALING = "Scaling", "The number of replicas is being changed."

    STATUS_LOST = (
        "StatusLost",
        "The status is gone, and the router's ConfigMap that would restore it is missing or broken.",
    )
    NAME_TAKEN = "NameTaken", "An object with the name of a child exists and belongs to someone else."
    ROUTE_FIGHT = (
        "RouteFight",
        "Somebody else changes the router's objects again and again; they are left as they are.",
    )
    REVISION_PREVIOUSLY_FAILED = (
        "RevisionPreviouslyFailed",
        "This revision failed before and is not tried again by itself.",
    )
    ADMISSION_DENIED = "AdmissionDenied", "The API server refused a child object."
    FORBIDDEN = "Forbidden", "The operator's ServiceAccount lacks a right that it needs; check its roles."
    QUOTA_EXCEEDED = "QuotaExceeded", "A resource quota leaves no room for the new revision's pods."
    PROFILE_DOES_NOT_FIT = (
        "ProfileDoesNotFit",
        "The load profile is missing, or asks for more than the model takes.",
    )

    IN_PROGRESS = "InProgress", "The attempt is running."
    OBJECTIVE_FAILED = "ObjectiveFailed", "The new revision was shown to miss an objective."
    CRASH_LOOP = "CrashLoop", "The engine of the new revision keeps crashing."
    OUT_OF_MEMORY = "OutOfMemory", "The engine of the new revision was killed for its use of memory."
    IMAGE_PULL = "ImagePull", "The image of the new revision cannot be pulled."
    UNSCHEDULABLE = "Unschedulable", "No node has room for a pod of the new revision."
    PROGRESS_DEADLINE_EXCEEDED = (
        "ProgressDeadlineExceeded",
        "The pods of the new revision did not become ready and warm in time.",
    )
    CANARY_UNAVAILABLE = "CanaryUnavailable", "The canary lost all its ready pods and did not come back."
    PROBE_FAILED = "ProbeFailed", "The load probe ended without a usable result."
    NO_EVIDENCE = "NoEvidence", "There was no evidence to decide from in time."
    ABORTED = "Aborted", "A person ended the attempt."
    SUPERSEDED = "Superseded", "The spec changed before the attempt had ended."

    SUFFICIENT = "Sufficient", "There is enough evidence, and it was decided."
    JUDGING = "Judging", "Evidence is coming in; it is not enough yet."
    UNDERPOWERED = "Underpowered", "All requests were counted, and they were too few to decide."
    TOO_QUIET = "TooQuiet", "Too few requests came in the time that the step may take."
    BELOW_FLOOR = "BelowFloor", "There are fewer requests than the objective can be judged from at all."
    NO_DATA = "NoData", "There are no measurements of the revision."
    STALE_DATA = "StaleData", "The newest measurements are too old."
    EVIDENCE_UNAVAILABLE = "EvidenceUnavailable", "The source of the measurements cannot be read."
    NOT_COMPARABLE = (
        "NotComparable",
        "The arms, or the baseline, were not measured under comparable conditions.",
    )
    WEIGHT_NOT_OBSERVED = "WeightNotObserved", "The traffic does not split as it was asked to."
    ROUTERS_SILENT = "RoutersSilent", "No router can be asked what it does with the traffic."
    STABLE_OVER_LIMIT = "StableOverLimit", "The stable revision misses the limit too; the canary is no worse."

    MATCHED = "Matched", "The baseline is unaltered and fits what is measured."
    BASELINE_NOT_FOUND = "BaselineNotFound", "There is no baseline object of that name and version."
    BASELINE_TAMPERED = "BaselineTampered", "The baseline's content does not match its digest."
    BASELINE_MISMATCH = (
        "BaselineMismatch",
        "The baseline was measured with another model, GPU, number of GPUs or load.",
    )
    NEXT_ATTEMPT = "NextAttempt", "The change takes effect with the next attempt."


class StartReason(_Explained):
    """Why an operator does not start. No object says it: an operator that does not start writes nothing."""

    CRD_MISSING = "CRDMissing", "The CRDs of Chaffinch are not installed in the cluster."
    CRD_OUTDATED = (
        "CRDOutdated",
        "An installed CRD lacks a field or a word that this version of the operator needs.",
    )


class CommandReason(_Explained):
    """Why a command was accepted or refused."""

    DONE = "Done", "It was done."
    NOTHING_TO_DO = "NothingToDo", "There is nothing that it could apply to, or it is so already."
    NO_SUCH_ROLLOUT = "NoSuchRollout", "There is no rollout of that name in the namespace."
    OTHER_REVISION = "OtherRevision", "It names another revision than the one that it would apply to."
    OTHER_STEP = "OtherStep", "It approves another step than the one that waits."
    NOT_WARM = "NotWarm", "The candidate has no warm pod that could take traffic."
    NOTHING_TO_GO_BACK_TO = "NothingToGoBackTo", "There is no stable revision that serves."
    TOO_LATE = "TooLate", "The attempt's end is decided already."
    PAUSED = "Paused", "The rollout is paused; it has to be resumed first."
    INVALID = "Invalid", "The command breaks a rule of its fields."
    INVALID_SPEC = "InvalidSpec", "The rollout's spec breaks a rule, so nothing can be done with it yet."
    STALLED = "Stalled", "The rollout stands still before a person has helped; its conditions say why."
