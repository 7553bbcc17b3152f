"""Commands of people at the API server: which ones wait for a rollout, and how their answers are given.

A rollout's answer is in the rollout's own status before it is written into the command. A write of the
command that fails therefore loses nothing: the command still waits, and the next pass repeats the answer.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Iterable, Mapping
from datetime import datetime

from chaffinch.api.v1alpha1.command import CommandOutcome, RolloutCommandStatus
from chaffinch.api.v1alpha1.parse import InvalidSpec, parse_command
from chaffinch.api.v1alpha1.reasons import CommandReason
from chaffinch.domain.commands import AnsweredCommand, Command
from chaffinch.ports.cluster import Cluster, ClusterError, Kinds, Manifest
from chaffinch.runtime.metrics import Metrics
from chaffinch.runtime.status import versioned_patch

log = logging.getLogger(__name__)

_LONGEST_MESSAGE = 512
_LONGEST_PAUSE = 30.0


def rollout_of(body: Manifest) -> str | None:
    """Return the name of the rollout that a command is for; None if it names none."""
    spec = body.get("spec")
    name = spec.get("rollout") if isinstance(spec, Mapping) else None
    return name if isinstance(name, str) and name else None


def is_answered(body: Manifest) -> bool:
    """Say whether a command has its answer."""
    return bool((body.get("status") or {}).get("outcome"))


def command_of(body: Manifest) -> Command:
    """Read a command.

    Raises:
        InvalidSpec: If it breaks a rule of its fields.
    """
    spec, metadata = parse_command(body), body["metadata"]
    return Command(
        name=metadata["name"],
        uid=metadata["uid"],
        action=spec.action,
        revision=spec.revision,
        created=datetime.fromisoformat(metadata["creationTimestamp"]),
        step=spec.step,
        by=spec.requested_by,
        note=spec.reason,
    )


def waiting(found: Iterable[Manifest], rollout: str, answered: str | None) -> dict[str, Manifest]:
    """Return the commands for a rollout that have no answer yet, by uid, in the order to deal with them.

    Those that break a rule are not the rollout's to answer and are left out.

    Args:
        found: All commands of its namespace.
        rollout: Its name.
        answered: Uid of the command whose answer it remembers. That one comes first: were it overtaken,
            the answer would be forgotten and the command carried out again. All others go by age.
    """
    commands: dict[str, tuple[Command, Manifest]] = {}
    for body in found:
        if rollout_of(body) == rollout and not is_answered(body):
            try:
                commands[body["metadata"]["uid"]] = (command_of(body), body)
            except InvalidSpec:
                continue
    in_order = sorted(
        commands.values(), key=lambda each: (each[0].uid != answered, each[0].created, each[0].name)
    )
    return {command.uid: body for command, body in in_order}


async def reply(cluster: Cluster, body: Manifest, answer: RolloutCommandStatus) -> None:
    """Write an answer into a command, unless somebody else has changed it since it was read.

    Raises:
        ClusterError: If it could not be written.
    """
    metadata = body["metadata"]
    patch = versioned_patch(body, answer.to_dict())
    await cluster.patch_status(Kinds.COMMAND, metadata["namespace"], metadata["name"], patch)


async def refuse(
    cluster: Cluster, body: Manifest, reason: CommandReason, message: str, now: datetime
) -> RolloutCommandStatus:
    """Refuse a command that no rollout has decided on, and log that; return the answer.

    Raises:
        ClusterError: If it could not be written.
    """
    answer = RolloutCommandStatus(
        outcome=CommandOutcome.REFUSED, reason=reason, message=message[:_LONGEST_MESSAGE], at=now
    )
    await reply(cluster, body, answer)
    name = body["metadata"]["name"]
    log.info("%s %s: %s", answer.outcome, reason, answer.message, extra=_fields(body) | {"command": name})
    return answer


class Replies:
    """Gives the answers of one rollout to the commands that wait for it.

    Nothing else may wait for a person's answer to be written, so a failure is only noted.
    """

    def __init__(self, cluster: Cluster, metrics: Metrics) -> None:
        self._cluster = cluster
        self._metrics = metrics
        self._owing = False
        self._failures = 0

    @property
    def owing(self) -> bool:
        """Whether an answer could not be written."""
        return self._owing

    def again_in(self, seconds: float, soon: float) -> float:
        """Return when the next pass is: one that could not give an answer has not failed, but a person waits.

        Args:
            seconds: When the rollout itself has to be looked at again.
            soon: When to try an answer again; each further time only after twice as long.
        """
        if not self._owing:
            return seconds
        return min(seconds, _LONGEST_PAUSE, soon * 2.0 ** min(self._failures - 1, 32))

    async def give(self, commands: Mapping[str, Manifest], last: AnsweredCommand | None) -> None:
        """Write the answer that the rollout's status remembers into its command, if that still waits."""
        self._owing = False
        if last is None or last.uid not in commands:
            return
        answer = RolloutCommandStatus(
            outcome=last.outcome, reason=last.reason, message=last.message, at=last.at
        )
        await self._send(commands[last.uid], reply(self._cluster, commands[last.uid], answer), last.outcome)

    async def refuse(
        self, commands: Iterable[Manifest], reason: CommandReason, message: str, now: datetime
    ) -> None:
        """Refuse commands for a reason that their rollout does not have to remember."""
        for body in commands:
            if self._owing:
                return  # one more request than is needed to know that it does not work
            work = refuse(self._cluster, body, reason, message, now)
            await self._send(body, work, CommandOutcome.REFUSED)

    async def _send(self, body: Manifest, work: Awaitable[object], outcome: CommandOutcome) -> None:
        try:
            await work
        except ClusterError as error:
            self._owing = True
            self._failures += 1
            name = body["metadata"]["name"]
            log.warning("command %s could not be answered: %s", name, error, extra=_fields(body))
        else:
            self._failures = 0
            self._metrics.answered(body["spec"]["action"], str(outcome))


def _fields(body: Manifest) -> dict[str, str]:
    fields = {"namespace": str(body["metadata"]["namespace"])}
    rollout = rollout_of(body)
    return fields | {"rollout": rollout} if rollout else fields
