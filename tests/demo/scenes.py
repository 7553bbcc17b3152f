"""The five scenes: first version, baseline, a good version, a slow one, a failing one."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from demo import hints
from demo.routers import RouterWatch
from demo.screen import Screen
from stage.kubectl import Kubectl, Object, condition, has_condition
from stage.service import (
    BAKE,
    CANARY_20,
    CANARY_50,
    ENGINE_FLAGS,
    OBJECTIVES,
    PROBE,
    WARM_UP,
    Service,
    load_probe,
)

NAMESPACE = "demo"
CHAFFINCH = Path(sys.executable).with_name("chaffinch")
PROFILE = "smoke/v1"
BASELINE = ("chat", "v1")

# The demo's probes send 200 requests. With engines that vary half as much as those of the tests do, they show
# of an equal version that it is at most 5 to 13 % slower: a limit well above leaves nothing to luck.
_TTFT, _ERRORS = OBJECTIVES
FIRST = Service(
    NAMESPACE,
    flags=(*ENGINE_FLAGS, "--sim-sigma=0.05"),
    steps=(WARM_UP, PROBE, CANARY_20, CANARY_50, BAKE),
    objectives=({**_TTFT, "maxRegression": "20%"}, _ERRORS),
    baseline=BASELINE,
)
# A probe of a pod that users are on measures them too: this one is v1 again, and nobody calls it.
SPARE = replace(FIRST, name="chat-spare", model=FIRST.name, replicas=1)
GOOD = FIRST.version("--sim-seed=2")
SLOW = GOOD.version("--sim-latency-factor=1.4", "--sim-latency-min-prompt-tokens=300")
FAILING = GOOD.version("--sim-error-share=cut=0.02")

_READY_SECONDS = 180
_ATTEMPT_SECONDS = 420
_PROBE_SECONDS = 180
_POLL_SECONDS = 0.5


class SceneFailedError(Exception):
    """A scene did not end as it should; the text says what was seen instead."""


@dataclass(frozen=True, slots=True)
class Result:
    """How a scene ended.

    Attributes:
        name: The scene.
        outcome: Healthy, Frozen, Promoted or RolledBack.
        seconds: How long it took.
        condition: The message that an SRE reads.
        samples: Requests that the outcome rests on.
        rollback_millis: From the decision until the last router had taken the canary's traffic away.
        canary: The revision that was rolled back, if one was.
    """

    name: str
    outcome: str
    seconds: float
    condition: str
    samples: int
    rollback_millis: int | None = None
    canary: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the scene as ``demo.json`` has it."""
        return {
            "name": self.name,
            "outcome": self.outcome,
            "seconds": round(self.seconds, 1),
            "rollbackMillis": self.rollback_millis,
            "condition": self.condition,
            "samples": self.samples,
        }


class Play:
    """Plays the scenes on one cluster."""

    def __init__(self, screen: Screen, folder: Path) -> None:
        self._screen = screen
        self._folder = folder
        self._kubectl = Kubectl(NAMESPACE)

    def first(self) -> Result:
        """Deploy the first version; it becomes stable when it is warm, and so does a spare of it."""
        self._screen.scene("first", "v1 is deployed, warmed up, and serves.")
        started = time.monotonic()
        for service in (FIRST, SPARE):
            self._kubectl.apply(service.manifest())
        rollout = self._until_ready(FIRST)
        self._show(rollout)
        return Result(
            "first", "Healthy", time.monotonic() - started, condition(rollout, "Ready")["message"], 0
        )

    def baseline(self) -> Result:
        """Measure v1 under a fixed load, where no user is, and freeze the result."""
        self._screen.scene(
            "baseline", "A load probe measures a v1 that no user calls; its result is frozen as a baseline."
        )
        started = time.monotonic()
        self._until_ready(SPARE)
        self._kubectl.apply(load_probe(SPARE, "chat-baseline", profile=PROFILE))
        probe = self._kubectl.until(
            "loadprobe", "chat-baseline", lambda found: has_condition(found, "Complete", "True"),
            seconds=_PROBE_SECONDS, what="Complete",
        )  # fmt: skip
        manifest = self._folder / "baseline-chat-v1.yaml"
        name, version = BASELINE
        self._chaffinch(
            "baseline", "freeze", "--probe=chat-baseline", f"--namespace={NAMESPACE}",
            f"--name={name}", f"--version={version}", f"--file={manifest}",
        )  # fmt: skip
        self._chaffinch("baseline", "verify", str(manifest), inside=False)
        self._kubectl("apply", f"--filename={manifest}")
        self._kubectl("delete", "inferencerollout", SPARE.name, "--wait=false")
        rollout = self._kubectl.until(
            "inferencerollout", FIRST.name, lambda found: has_condition(found, "BaselineValid", "True"),
            seconds=60, what="BaselineValid",
        )  # fmt: skip
        message = condition(rollout, "BaselineValid")["message"]
        self._screen.say(f"BaselineValid: {message}")
        samples = sum(stage["requests"] for stage in probe["status"]["result"]["stages"])
        return Result("baseline", "Frozen", time.monotonic() - started, message, samples)

    def good(self) -> Result:
        """Roll out a version that is as good; it is promoted without a restart of its pods."""
        self._screen.scene("good", "v2 is as good as v1: it is promoted.")
        started = time.monotonic()
        rollout = self._attempt(GOOD)
        if not has_condition(rollout, "Promoted", "True"):
            raise SceneFailedError(f"v2 was not promoted: {_story(rollout)}")
        restarted = self._restarts(rollout["status"]["stable"]["revision"])
        if restarted:
            raise SceneFailedError(f"the promotion restarted {restarted}")
        return Result("good", "Promoted", time.monotonic() - started, _story(rollout), _samples(rollout))

    def slow(self) -> Result:
        """Roll out a version that is 40 % slower for real prompts."""
        return self._bad(
            "slow", "v3 is 40 % slower on users' longer prompts, which the probe does not send.", SLOW
        )

    def failing(self) -> Result:
        """Roll out a version that cuts 2 % of its streams."""
        return self._bad("failing", "v4 cuts 2 % of its streams halfway.", FAILING)

    def _bad(self, name: str, story: str, service: Service) -> Result:
        self._screen.scene(name, story)
        started = time.monotonic()
        with RouterWatch(self._kubectl, service.name) as routers:
            rollout = self._attempt(service)
            if not has_condition(rollout, "Promoted", "False", "ObjectiveFailed"):
                raise SceneFailedError(f"{name} was not rolled back by its evidence: {_story(rollout)}")
            last = rollout["status"]["lastAttempt"]
            zeroed = routers.zeroed_at(last["revision"])
        millis = None
        if zeroed is not None:
            millis = round((zeroed - datetime.fromisoformat(last["decidedAt"])).total_seconds() * 1000)
            self._screen.say(f"No router sent it another request {millis} ms after the decision.")
        return Result(
            name,
            "RolledBack",
            time.monotonic() - started,
            _story(rollout),
            _samples(rollout),
            millis,
            last["revision"],
        )

    def _until_ready(self, service: Service) -> Object:
        return self._kubectl.until(
            "inferencerollout", service.name, lambda found: has_condition(found, "Ready", "True"),
            seconds=_READY_SECONDS, what="Ready",
        )  # fmt: skip

    def _attempt(self, service: Service) -> Object:
        """Apply a version and follow it, step by step, until its attempt has ended."""
        before = self._kubectl.get("inferencerollout", service.name) or {}
        attempts = before.get("status", {}).get("attempts", 0)
        self._kubectl.apply(service.manifest())
        deadline = time.monotonic() + _ATTEMPT_SECONDS
        told = ""
        while time.monotonic() < deadline:
            rollout = self._kubectl.get("inferencerollout", service.name) or {}
            status = rollout.get("status", {})
            line = whereabouts(status.get("rollout") or {})
            if line and line != told:
                told = line
                self._screen.say(line)
            if not rollout:
                raise SceneFailedError(f"somebody deleted the rollout {service.name}")
            if status.get("lastAttempt", {}).get("attempt", 0) > attempts:
                self._show(rollout)
                return rollout
            time.sleep(_POLL_SECONDS)
        raise SceneFailedError(f"the attempt did not end within {_ATTEMPT_SECONDS} s: {_story(rollout)}")

    def _restarts(self, revision: str) -> list[str]:
        pods = self._kubectl.list(
            "pods", f"--selector=app.kubernetes.io/component=engine,chaffinch.dev/revision={revision}"
        )
        return [
            pod["metadata"]["name"]
            for pod in pods
            if any(entry["restartCount"] for entry in pod["status"].get("containerStatuses", ()))
        ]

    def _show(self, rollout: Object) -> None:
        shown = ("get", "inferencerollouts")
        self._screen.command(hints.kubectl(NAMESPACE, *shown), self._kubectl(*shown))
        self._screen.conditions(rollout)
        self._screen.objectives(rollout["status"].get("objectives", ()))

    def _chaffinch(self, *args: str, inside: bool = True) -> None:
        done = subprocess.run(
            [CHAFFINCH, *args],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        self._screen.command(hints.chaffinch(*args, inside=inside), done.stdout + done.stderr)
        if done.returncode:
            raise SceneFailedError(f"`chaffinch {args[0]} {args[1]}` ended with {done.returncode}")


def whereabouts(attempt: Mapping[str, Any]) -> str:
    """Return where an attempt is, or "" between two places that a person would care about."""
    if step := attempt.get("step"):
        return f"step {step['index'] + 1}/{step['of']} {step['name']}"
    return "the canary's pods start and are warmed up" if attempt.get("stage") == "Deploying" else ""


def _story(rollout: Object) -> str:
    """Return what became of the last attempt; while one goes on, why it does."""
    first = ("Stalled", "Reconciling") if "rollout" in rollout["status"] else ()
    told = (condition(rollout, kind).get("message") for kind in (*first, "Promoted", "Ready"))
    return next((str(message) for message in told if message), "")


def _samples(rollout: Object) -> int:
    """Return the requests of the candidate that its verdict rests on."""
    objectives: list[Mapping[str, Any]] = rollout["status"].get("objectives", [])
    return max((entry.get("samples", {}).get("candidate", 0) for entry in objectives), default=0)
