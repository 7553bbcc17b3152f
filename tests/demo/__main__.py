"""``python -m demo``: runs inside the cluster's network; `make demo` prepares the rest."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import NoReturn

from demo.scenes import FIRST, NAMESPACE, Play, Result, SceneFailedError
from demo.screen import Screen
from localcluster.errors import ClusterError
from stage.install import InstallError, install
from stage.kubectl import Kubectl, KubectlError, NotInTimeError
from stage.users import Users

SCENES = ("first", "baseline", "good", "slow", "failing")


def main() -> int:
    """Play the scenes, write the report, and return 0 only if every one ended as it should."""
    parser = argparse.ArgumentParser(prog="demo", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("build/demo.json"), help="where the report goes")
    out: Path = parser.parse_args().out
    signal.signal(signal.SIGTERM, _end)
    screen = Screen()
    started = time.monotonic()
    try:
        _prepare(screen)
        results, users = _play(screen, out.parent)
    except (SceneFailedError, InstallError, ClusterError, KubectlError, NotInTimeError) as error:
        print(f"error: {error}\n  look at: make status; python -m localcluster logs", file=sys.stderr)
        return 1
    report = {
        "seconds": round(time.monotonic() - started, 1),
        "scenes": [result.to_json() for result in results],
        "users": users,
    }
    out.write_text(json.dumps(report, indent=2) + "\n")
    _close(screen, report["seconds"], users, out)
    return 0 if users["failedOnStable"] == 0 else 1


def _end(number: int, _: FrameType | None) -> NoReturn:
    """End as after an error, so that the users' process and all else that was started ends too."""
    raise SystemExit(128 + number)


def _prepare(screen: Screen) -> None:
    screen.scene("install", "Chaffinch is installed with its Helm chart.")
    kubectl = Kubectl(NAMESPACE)
    install()
    # Without pods a namespace goes at once; with them it waits for half of their grace period.
    kubectl("delete", "inferencerollouts,pods", "--all", "--grace-period=1", "--ignore-not-found")
    kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found", "--timeout=180s")
    kubectl("create", "namespace", NAMESPACE)
    screen.command("helm list", kubectl("get", "deployments", "--all-namespaces"))


def _play(screen: Screen, folder: Path) -> tuple[list[Result], dict[str, int]]:
    play = Play(screen, folder)
    folder.mkdir(parents=True, exist_ok=True)
    results = [play.first()]
    rest: tuple[Callable[[], Result], ...] = (play.baseline, play.good, play.slow, play.failing)
    with Users(FIRST, folder / "users.json") as users:
        results.extend(scene() for scene in rest)
    canaries = tuple(result.canary for result in results if result.canary)
    return results, users.counts(canaries)


def _close(screen: Screen, seconds: object, users: dict[str, int], out: Path) -> None:
    screen.scene("end", f"{len(SCENES)} scenes in {seconds} s; the report is {out}.")
    screen.say(
        f"Users sent {users['requests']} requests; {users['failed']} failed, "
        f"{users['failedOnStable']} of them not at a canary that was rolled back."
    )
    for line in (
        "The cluster is still up. Look around:",
        "  make kubectl ARGS='-n demo get inferencerollouts,pods'",
        "  make kubectl ARGS='-n demo describe inferencerollout chat'",
        "  make forward ARGS='9090 10.99.0.1:9090'      (Prometheus, on http://127.0.0.1:9090)",
        "Stop it: make stop",
    ):
        screen.say(line)


if __name__ == "__main__":
    sys.exit(main())
