"""One pass of a LoadProbe: start its Job, follow the worker, pull the result, keep it.

The result is kept in the status before the worker is told that it may go, so that a crash in between costs
nothing. What the worker says counts only if the pod belongs to the Job, and the Job to the probe, by uid.
A Job that ends without having been asked for its result has failed, whatever its exit code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from chaffinch.api.v1alpha1.parse import InvalidSpec, parse_load_probe
from chaffinch.api.v1alpha1.probe import LoadProbeSpec, LoadProbeStatus, ProbePhase, ProbeProgress
from chaffinch.api.v1alpha1.profile import ProbeProfileSpec, WarmUp
from chaffinch.api.v1alpha1.reasons import Reason
from chaffinch.ports.clock import Clock
from chaffinch.ports.cluster import Cluster, Kinds, Manifest, NotFoundError
from chaffinch.ports.probe_results import Finished, ProbeResults
from chaffinch.probe.job import ProbeIdentity, job_seconds, probe_job
from chaffinch.probe.plan import PlanError, ProbePlan, plan_of
from chaffinch.probe.result import ProbeRecord, ResultError, parse_record, status_result, warm_up_problem
from chaffinch.runtime import probe_status
from chaffinch.runtime.freezing import MEASURED_PODS, Freezer
from chaffinch.runtime.hub import Subject
from chaffinch.runtime.loop import Outcome
from chaffinch.runtime.probe_status import TERMINAL, Moment
from chaffinch.runtime.probe_target import (
    NotYetError,
    Target,
    TargetGoneError,
    UnusableProfileError,
    check_fit,
    find_profile,
    find_target,
)
from chaffinch.runtime.reading import controller_uid, revision_of
from chaffinch.runtime.status import versioned_patch
from chaffinch.runtime.subjects import read_subject

JOB_NAME_LABEL = "batch.kubernetes.io/job-name"
_PROGRESS_SECONDS = 30.0  # at least, between two status writes that only tell progress
_REST_SECONDS = 3600.0  # a probe that has ended is only looked at when somebody touches it


@dataclass(frozen=True, slots=True)
class ProbeSettings:
    """What a probe pass is told.

    Attributes:
        image: The image of Chaffinch, for workers.
        active: Seconds until the next pass while something is in progress.
        idle: Seconds until the next pass otherwise.
        pull_secrets: Names of Secrets in the probe's namespace with which the image is pulled.
    """

    image: str
    active: float
    idle: float
    pull_secrets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Seen:
    """One probe as this pass has read it."""

    body: Manifest
    spec: LoadProbeSpec
    status: LoadProbeStatus
    at: Moment

    @property
    def namespace(self) -> str:
        return str(self.body["metadata"]["namespace"])

    @property
    def name(self) -> str:
        return str(self.body["metadata"]["name"])

    @property
    def uid(self) -> str:
        return str(self.body["metadata"]["uid"])

    @property
    def attempt(self) -> int:
        return self.spec.attempt or 1


class ProbePass:
    """Does the passes of LoadProbes."""

    def __init__(
        self,
        cluster: Cluster,
        results: ProbeResults,
        freezer: Freezer,
        clock: Clock,
        settings: ProbeSettings,
    ) -> None:
        self._cluster = cluster
        self._results = results
        self._freezer = freezer
        self._clock = clock
        self._settings = settings
        self._told_at: dict[str, float] = {}

    async def run(self, subject: Subject) -> Outcome:
        """Do one pass.

        Raises:
            ClusterError: If a read or a write failed; the next pass decides anew.
        """
        body = await read_subject(self._cluster, Kinds.PROBE, subject, self._settings.idle)
        if isinstance(body, Outcome):
            return body
        status = LoadProbeStatus.model_validate(body.get("status") or {})
        at = Moment(self._clock.now(), int(body["metadata"].get("generation") or 0))
        try:
            seen = _Seen(body, parse_load_probe(body), status, at)
        except InvalidSpec as error:
            await self._record(body, probe_status.failed(status, at, Reason.INVALID_SPEC, str(error)))
            return Outcome(self._settings.idle)
        return await self._go_on(seen)

    async def _go_on(self, seen: _Seen) -> Outcome:
        if seen.status.phase in TERMINAL:
            return await self._finish(seen)
        job = await self._job(seen)
        if job is None:
            status = await self._started(seen)
            await self._record(seen.body, status)
        elif controller_uid(job) != seen.uid:
            await self._fail(seen, Reason.NAME_TAKEN, f"Job {seen.name} exists and belongs to somebody else.")
        else:
            await self._follow(_adopted(seen, job), job)
        return Outcome(self._settings.active)

    async def _finish(self, seen: _Seen) -> Outcome:
        """After the end there is one thing left to do: to keep the result as a baseline."""
        self._told_at.pop(seen.uid, None)
        wanted = seen.spec.freeze is not None and seen.status.phase is ProbePhase.SUCCEEDED
        if wanted and probe_status.condition_of(seen.status, probe_status.FROZEN) is None:
            answer = await self._freezer.freeze(seen.body, seen.spec, seen.status, seen.at.now)
            status = probe_status.frozen(
                seen.status, seen.at, done=answer.done, reason=answer.reason, message=answer.message
            )
            await self._record(seen.body, status)
        return Outcome(_REST_SECONDS)

    async def _started(self, seen: _Seen) -> LoadProbeStatus:
        if seen.status.phase is ProbePhase.RUNNING:
            message = "The Job is gone before its result was collected."
            return probe_status.failed(seen.status, seen.at, Reason.PROBE_FAILED, message)
        try:
            most = None if seen.spec.warm_up is not None else MEASURED_PODS
            target = await find_target(self._cluster, seen.namespace, seen.spec.target, most=most)
            plan = await self._plan(seen, target)
        except NotYetError as error:
            return probe_status.waiting(seen.status, seen.at, str(error))
        except TargetGoneError as error:
            return probe_status.failed(seen.status, seen.at, Reason.PROBE_FAILED, str(error))
        except (UnusableProfileError, PlanError) as error:
            return probe_status.failed(seen.status, seen.at, Reason.PROFILE_DOES_NOT_FIT, str(error))
        identity = ProbeIdentity(
            seen.namespace, seen.name, seen.uid, seen.spec.target.rollout, target.revision
        )
        job = probe_job(plan, identity, self._settings.image, self._settings.pull_secrets)
        await self._cluster.create(job)
        return probe_status.started(seen.status, seen.at, target.revision, job_seconds(plan))

    async def _plan(self, seen: _Seen, target: Target) -> ProbePlan:
        load: ProbeProfileSpec | WarmUp | None = seen.spec.warm_up
        if load is None:
            load = await find_profile(self._cluster, seen.namespace, seen.spec.profile or "")
            check_fit(load, target.max_model_len)
        return plan_of(
            load,
            probe_uid=seen.uid,
            attempt=seen.attempt,
            targets=target.urls,
            model=target.model,
        )

    async def _follow(self, seen: _Seen, job: Manifest) -> None:
        pod = await self._worker(seen, job)
        if pod is not None and (pod.get("status") or {}).get("phase") == "Running":
            await self._ask(seen, pod)
        elif _has_ended(job) or (pod is not None and _has_failed(pod)):
            await self._fail(seen, Reason.PROBE_FAILED, "The worker ended without a result; see its log.")

    async def _worker(self, seen: _Seen, job: Manifest) -> Manifest | None:
        found = await self._cluster.list(Kinds.POD, seen.namespace, {JOB_NAME_LABEL: seen.name})
        pods = [pod for pod in found if controller_uid(pod) == job["metadata"]["uid"]]
        known = [pod for pod in pods if pod["metadata"]["uid"] == seen.status.pod_uid]
        return next(iter(known if seen.status.pod_uid else pods), None)

    async def _ask(self, seen: _Seen, pod: Manifest) -> None:
        address, pod_uid = str(pod["status"].get("podIP") or ""), str(pod["metadata"]["uid"])
        answer = await self._results.ask(address)
        if isinstance(answer, Finished):
            await self._record(seen.body, self._ended(seen, pod_uid, answer))
            await self._results.collected(address)
        elif answer is not None and self._is_news(seen):
            progress = ProbeProgress(stage=answer.stage, requests=answer.requests)
            await self._record(seen.body, probe_status.running(seen.status, seen.at, pod_uid, progress))

    def _is_news(self, seen: _Seen) -> bool:
        """Say whether progress is worth a write: the first one, and then one now and then."""
        now, told_at = self._clock.monotonic(), self._told_at.get(seen.uid)
        if told_at is not None and now - told_at < _PROGRESS_SECONDS:
            return False
        self._told_at[seen.uid] = now
        return True

    def _ended(self, seen: _Seen, pod_uid: str, answer: Finished) -> LoadProbeStatus:
        try:
            record = parse_record(answer.text, probe_uid=seen.uid, attempt=seen.attempt)
        except ResultError as error:
            return probe_status.failed(seen.status, seen.at, Reason.PROBE_FAILED, str(error))
        problem = warm_up_problem(record) if seen.spec.warm_up is not None else None
        if problem is not None:
            return probe_status.failed(seen.status, seen.at, Reason.PROBE_FAILED, problem)
        return probe_status.succeeded(
            seen.status, seen.at, pod_uid, status_result(record), _summary(record, seen.status)
        )

    async def _job(self, seen: _Seen) -> Manifest | None:
        try:
            return await self._cluster.get(Kinds.JOB, seen.namespace, seen.name)
        except NotFoundError:
            return None

    async def _fail(self, seen: _Seen, reason: Reason, message: str) -> None:
        await self._record(seen.body, probe_status.failed(seen.status, seen.at, reason, message))

    async def _record(self, body: Manifest, status: LoadProbeStatus) -> None:
        content = status.to_dict()
        if content == (body.get("status") or {}):
            return
        metadata = body["metadata"]
        patch = versioned_patch(body, content)
        await self._cluster.patch_status(Kinds.PROBE, metadata["namespace"], metadata["name"], patch)


def _adopted(seen: _Seen, job: Manifest) -> _Seen:
    """Return the probe with what a process that died after making its Job did not get to record."""
    if seen.status.revision is not None:
        return seen
    seconds = int(job["spec"]["activeDeadlineSeconds"])
    return replace(seen, status=probe_status.started(seen.status, seen.at, revision_of(job), seconds))


def _summary(record: ProbeRecord, status: LoadProbeStatus) -> str:
    done = sum(stage.requests for stage in record.stages)
    errors = sum(stage.errors for stage in record.stages)
    if not record.stages:
        return f"The pods of {status.revision} are warm."
    return f"{done} requests in {len(record.stages)} stages on {status.revision}, {errors} failed."


def _has_ended(job: Manifest) -> bool:
    conditions = (job.get("status") or {}).get("conditions") or ()
    return any(_is_end(condition) for condition in conditions)


def _is_end(condition: Mapping[str, Any]) -> bool:
    return condition.get("type") in {"Complete", "Failed"} and condition.get("status") == "True"


def _has_failed(pod: Manifest) -> bool:
    return (pod.get("status") or {}).get("phase") in {"Failed", "Succeeded"}
