"""One pass of a RolloutCommand: answers what no rollout can answer, and removes what is no longer needed.

A command that its rollout can understand is answered by that rollout's pass (see
:mod:`chaffinch.runtime.rollout_pass`). Left for this one are commands that break a rule of their fields
and commands for rollouts that do not exist. No finalizer is involved: a command that is not removed here,
because the operator was down, is removed when it is up again.
"""

from __future__ import annotations

from datetime import datetime

from chaffinch.api.v1alpha1.command import RolloutCommandSpec
from chaffinch.api.v1alpha1.parse import InvalidSpec, parse_command
from chaffinch.api.v1alpha1.reasons import CommandReason
from chaffinch.ports.clock import Clock
from chaffinch.ports.cluster import Cluster, Kinds, Manifest, NotFoundError
from chaffinch.runtime.commands import is_answered, refuse
from chaffinch.runtime.hub import Subject
from chaffinch.runtime.loop import GONE, Outcome
from chaffinch.runtime.metrics import Metrics
from chaffinch.runtime.subjects import read_subject

KEPT_SECONDS = 7 * 24 * 3600.0
"""How long an answered command is kept for people to look at."""
_REST_SECONDS = 3600.0  # between two passes of a command that has its answer


class CommandPass:
    """Does the passes of RolloutCommands.

    Args:
        cluster: Where they are.
        clock: Tells the time.
        metrics: Counts answers.
        idle: Seconds until the next pass of a command that waits for its rollout.
    """

    def __init__(self, cluster: Cluster, clock: Clock, metrics: Metrics, idle: float) -> None:
        self._cluster = cluster
        self._clock = clock
        self._metrics = metrics
        self._idle = idle

    async def run(self, subject: Subject) -> Outcome:
        """Do one pass.

        Raises:
            ClusterError: If a read or a write failed; the next pass decides anew.
        """
        body = await read_subject(self._cluster, Kinds.COMMAND, subject, self._idle)
        if isinstance(body, Outcome):
            return body
        try:
            spec = parse_command(body)
        except InvalidSpec as error:
            return await self._look_at_broken(body, error)
        return await (self._keep(body, spec) if is_answered(body) else self._answer(body, spec))

    async def _look_at_broken(self, body: Manifest, error: InvalidSpec) -> Outcome:
        """Only an older CRD can have let such a command in."""
        if is_answered(body):
            return await self._keep(body, None)
        return await self._refuse(body, "unknown", CommandReason.INVALID, f"{error}.")

    async def _answer(self, body: Manifest, spec: RolloutCommandSpec) -> Outcome:
        """Answer for a rollout that does not exist; one that does is awake, and answers itself."""
        namespace = body["metadata"]["namespace"]
        if await self._exists(namespace, spec.rollout):
            return Outcome(self._idle)
        message = (
            f"There is no InferenceRollout {spec.rollout} in namespace {namespace}. Check its name and"
            " namespace, and create another command."
        )
        return await self._refuse(body, spec.action, CommandReason.NO_SUCH_ROLLOUT, message)

    async def _refuse(self, body: Manifest, action: str, reason: CommandReason, message: str) -> Outcome:
        answer = await refuse(self._cluster, body, reason, message, self._clock.now())
        self._metrics.answered(action, str(answer.outcome))
        return Outcome(_REST_SECONDS)

    async def _keep(self, body: Manifest, spec: RolloutCommandSpec | None) -> Outcome:
        """Remove an answered command when it is old, or when the rollout that answered it is gone."""
        metadata = body["metadata"]
        age = self._clock.now() - datetime.fromisoformat(metadata["creationTimestamp"])
        left = KEPT_SECONDS - age.total_seconds()
        if left <= 0 or (spec is not None and await self._has_lost_its_rollout(body, spec)):
            await self._cluster.delete(
                Kinds.COMMAND, metadata["namespace"], metadata["name"], metadata["uid"]
            )
            return GONE
        return Outcome(min(left, _REST_SECONDS))

    async def _has_lost_its_rollout(self, body: Manifest, spec: RolloutCommandSpec) -> bool:
        if body["status"].get("reason") == CommandReason.NO_SUCH_ROLLOUT:
            return False  # it never had one, and whoever asked is to read that
        return not await self._exists(body["metadata"]["namespace"], spec.rollout)

    async def _exists(self, namespace: str, rollout: str) -> bool:
        try:
            await self._cluster.get(Kinds.ROLLOUT, namespace, rollout)
        except NotFoundError:
            return False
        return True
