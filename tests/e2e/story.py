"""given / when / then, for whole rollouts.

A story knows one rollout in one namespace. Its steps wait with a deadline and return what they saw.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import oracle
from localcluster.settings import Settings
from stage.install import OPERATOR_USER
from stage.kubectl import Kubectl, NotInTimeError, Object, has_condition
from stage.service import Service
from stage.users import Users

KIND = "inferencerollout"
FIRST_SECONDS = 120
ATTEMPT_SECONDS = 300
_POLL_SECONDS = 0.5


@dataclass(slots=True)
class Story:
    """One rollout's story.

    Attributes:
        kubectl: kubectl in the story's namespace.
        namespace: Its name.
        folder: A folder for files.
        audit_log: The API server's audit log.
        started_at: When the story began.
    """

    kubectl: Kubectl
    namespace: str
    folder: Path
    audit_log: Path
    started_at: datetime

    def given_stable(self, service: Service) -> Object:
        """Apply the first version and wait until it serves."""
        self.kubectl.apply(service.manifest())
        return self.kubectl.until(
            KIND, service.name, lambda found: has_condition(found, "Ready", "True"),
            seconds=FIRST_SECONDS, what="Ready",
        )  # fmt: skip

    @contextmanager
    def users(self, service: Service, *, rate: float = 50) -> Iterator[Users]:
        """Let users call the service for the length of the block."""
        with Users(service, self.folder / "users.json", rate=rate) as users:
            yield users

    def when_applied(self, service: Service) -> None:
        """Apply a version."""
        self.kubectl.apply(service.manifest())

    def rollout(self, service: Service) -> Object:
        """Return the rollout as it is now."""
        found = self.kubectl.get(KIND, service.name)
        assert found is not None
        return found

    def until_attempt_ends(
        self, service: Service, attempt: int, *, meanwhile: Callable[[Object], None] | None = None
    ) -> Object:
        """Wait for the end of an attempt; ``meanwhile`` sees every state of the rollout on the way."""
        deadline = time.monotonic() + ATTEMPT_SECONDS
        while time.monotonic() < deadline:
            found = self.rollout(service)
            if meanwhile is not None:
                meanwhile(found)
            if found.get("status", {}).get("lastAttempt", {}).get("attempt", 0) >= attempt:
                return found
            time.sleep(_POLL_SECONDS)
        raise NotInTimeError(
            f"attempt {attempt} has not ended after {ATTEMPT_SECONDS} s: {found.get('status')}"
        )

    def until_step(self, service: Service, name: str) -> Object:
        """Wait until the routers have acknowledged a step's weight."""
        return self.kubectl.until(
            KIND, service.name,
            lambda found: _step(found).get("name") == name and "enteredAt" in _step(found),
            seconds=ATTEMPT_SECONDS, what=f"at step {name}",
        )  # fmt: skip

    def then_no_invariant_was_broken(self) -> None:
        """Let the oracle read every write of ours in this namespace; there must be some to judge."""
        writes = oracle.read_writes(self.audit_log, self.namespace)
        rollouts = _rollouts(writes)
        assert rollouts, f"the audit log tells of no rollout in {self.namespace}"
        for name in rollouts:
            wrote = oracle.wrote(writes, name, OPERATOR_USER)
            assert wrote == {"route", "status"}, f"of {name} the operator wrote only {sorted(wrote)}"
            violations = oracle.check(writes, rollout=name, operator=OPERATOR_USER)
            assert not violations, "\n".join(map(str, violations))

    def then_nothing_was_forbidden(self) -> None:
        """The operator and the agents of its routers ask for nothing that their roles do not grant.

        The roles of agents go with their rollout, while the routers still drain: what those ask for then is
        not counted.
        """
        writes = oracle.read_writes(self.audit_log, self.namespace)
        deleted = {write.name: write.at for write in writes if _is_of_a_rollout(write) and not write.stored}
        until = {
            f"system:serviceaccount:{self.namespace}:{name}-router": deleted.get(name)
            for name in _rollouts(writes)
        }
        for user, end in {OPERATOR_USER: None, **until}.items():
            denied = oracle.denied(self.audit_log, user, self.started_at, end)
            assert not denied, f"{user} was forbidden to {', '.join(denied)}"

    def engine_pods(self, revision: str) -> list[Object]:
        """Return the engine pods of a revision."""
        return list(
            self.kubectl.list(
                "pods", f"--selector=app.kubernetes.io/component=engine,chaffinch.dev/revision={revision}"
            )
        )


@contextmanager
def begun(folder: Path) -> Iterator[Story]:
    """Begin a story in a fresh namespace; at its end the oracle reads what we wrote there.

    Args:
        folder: A folder for files.
    """
    namespace = f"story-{uuid.uuid4().hex[:8]}"
    administer = Kubectl("default")
    administer("create", "namespace", namespace)
    told = Story(
        Kubectl(namespace), namespace, folder, Settings.from_environment().audit_log, datetime.now(UTC)
    )
    try:
        yield told
        told.then_no_invariant_was_broken()
        told.then_nothing_was_forbidden()
    finally:
        administer("delete", "namespace", namespace, "--wait=false")


def restarts(pods: list[Object]) -> int:
    """Return how often the containers of pods were restarted."""
    return sum(entry["restartCount"] for pod in pods for entry in pod["status"].get("containerStatuses", ()))


def _rollouts(writes: Sequence[oracle.Write]) -> list[str]:
    return sorted({write.name for write in writes if _is_of_a_rollout(write)})


def _is_of_a_rollout(write: oracle.Write) -> bool:
    return write.resource == "inferencerollouts"


def _step(rollout: Object) -> Mapping[str, Any]:
    return (rollout.get("status", {}).get("rollout") or {}).get("step") or {}
