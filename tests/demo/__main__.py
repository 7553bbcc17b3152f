"""``python -m demo``: runs inside the cluster's network; `make demo` prepares the rest."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from demo import busy, hints
from demo.scenes import FIRST, NAMESPACE, Play, Result, SceneFailedError
from demo.screen import Screen
from localcluster.errors import ClusterError
from localcluster.settings import NODE_ADDRESS
from stage.ending import end_when_asked_to
from stage.install import NAMESPACE as OPERATOR_NAMESPACE
from stage.install import RELEASE, InstallError, install
from stage.kubectl import Kubectl, KubectlError, NotInTimeError
from stage.users import Users


@dataclass(slots=True)
class Report:
    """What was reached so far; it is written whether or not the demo came to its end.

    Attributes:
        scenes: The scenes that ended as they should.
        users: What the users saw. All zero before the first of them; failures at the canary of a scene
            that did not end count as ``failedOnStable``.
        error: Why the demo ended early; None if it did not fail.
        started: Monotonic time of the start, in seconds.
    """

    scenes: list[Result] = field(default_factory=list)
    users: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("requests", "failed", "failedOnStable"), 0)
    )
    error: str | None = None
    started: float = field(default_factory=time.monotonic)

    def seconds(self) -> float:
        """Return the time since the start, in seconds."""
        return round(time.monotonic() - self.started, 1)

    def write(self, out: Path) -> None:
        """Write the report as JSON."""
        out.parent.mkdir(parents=True, exist_ok=True)
        document = {
            "seconds": self.seconds(),
            "scenes": [scene.to_json() for scene in self.scenes],
            "users": self.users,
            "error": self.error,
        }
        out.write_text(json.dumps(document, indent=2) + "\n")


def main() -> int:
    """Play the scenes, write the report, and return 0 only if every one ended as it should."""
    parser = argparse.ArgumentParser(prog="demo", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("build/demo.json"), help="where the report goes")
    out: Path = parser.parse_args().out
    end_when_asked_to()
    out.unlink(missing_ok=True)
    screen = Screen()
    report = Report()
    try:
        _prepare(screen)
        _play(screen, out.parent, report)
    except (SceneFailedError, InstallError, ClusterError, KubectlError, NotInTimeError) as error:
        print(f"error: {error}\n{_advice()}", file=sys.stderr)
        report.error = str(error)
        return 1
    finally:
        report.write(out)
    return _close(screen, report, out)


def _advice() -> str:
    """Return where to look after an error, as indented lines."""
    lines = (
        busy.warning(),
        "Look at:",
        f"  {hints.chaffinch('explain', FIRST.name, '-n', NAMESPACE, inside=True)}",
        f"  {hints.kubectl(NAMESPACE, 'events', '--for', f'inferencerollout/{FIRST.name}')}",
        f"  {hints.kubectl(OPERATOR_NAMESPACE, 'logs', f'deployment/{RELEASE}', '--tail=50')}",
        f"  {hints.make('status')}",
        f"The cluster is still up. Stop it: {hints.make('stop')}",
    )
    return "\n".join(f"   {line}" for line in lines if line)


def _prepare(screen: Screen) -> None:
    screen.scene("install", "Chaffinch is installed with its Helm chart.")
    if warning := busy.warning():
        screen.say(warning)
    kubectl = Kubectl(NAMESPACE)
    install()
    # Without pods a namespace goes at once; with them it waits for half of their grace period.
    kubectl("delete", "inferencerollouts,pods", "--all", "--grace-period=1", "--ignore-not-found")
    kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found", "--timeout=180s")
    kubectl("create", "namespace", NAMESPACE)
    shown = ("get", "deployments", "--all-namespaces")
    screen.command(hints.kubectl("", *shown), kubectl(*shown))


def _play(screen: Screen, folder: Path, report: Report) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    play = Play(screen, folder)
    _ended(screen, report, play.first())
    rest: tuple[Callable[[], Result], ...] = (play.baseline, play.good, play.slow, play.failing)
    users = Users(FIRST, folder / "users.json")
    try:
        with users:
            for scene in rest:
                _ended(screen, report, scene())
    finally:
        canaries = tuple(result.canary for result in report.scenes if result.canary)
        report.users = users.counts(canaries)


def _ended(screen: Screen, report: Report, result: Result) -> None:
    report.scenes.append(result)
    screen.say(f"{result.name}: {result.outcome} after {result.seconds:.1f} s.")


def _close(screen: Screen, report: Report, out: Path) -> int:
    users = report.users
    screen.scene("end", f"{len(report.scenes)} scenes in {report.seconds()} s; the report is {out}.")
    screen.say(
        f"Users sent {users['requests']} requests. {users['failed'] - users['failedOnStable']} failed at a"
        f" canary that was rolled back, and {users['failedOnStable']} at any other version."
    )
    for line in (
        "The cluster is still up. Look around:",
        f"  {hints.kubectl(NAMESPACE, 'get', 'inferencerollouts,pods')}",
        f"  {hints.chaffinch('get', FIRST.name, '-n', NAMESPACE, inside=True)}",
        f"  {hints.kubectl(NAMESPACE, 'events', '--for', f'inferencerollout/{FIRST.name}')}",
        f"  {hints.make('forward', f'9090 {NODE_ADDRESS}:9090')}      (Prometheus, on http://127.0.0.1:9090)",
        f"Stop it: {hints.make('stop')}",
    ):
        screen.say(line)
    return 0 if users["failedOnStable"] == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
