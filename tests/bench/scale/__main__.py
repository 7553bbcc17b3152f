"""Measures one operator with many rollouts on pretended nodes, and writes ``build/bench-scale.json``.

Run it by ``make bench-scale``. All rollouts are deployed at once; when all are Healthy, some get a new
version. While these have users on both versions the operator is measured: CPU, memory, passes, requests. When
they have been promoted and nothing is written any more, the idle minutes begin, in which only the Lease may
be written.

With ``--beside argo-rollouts`` as many Rollouts of Argo Rollouts follow on the same cluster when the operator
has ended; its rollouts stay there, idle. The exit code is 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.scale import argo_build, argo_rollouts, our_operator
from bench.scale.controller import ControllerEndedError
from bench.scale.figures import Row, table
from bench.scale.fleet import NotInTimeError
from bench.scale.measurement import Length, Measurement, Subject
from localcluster import Settings
from localcluster.errors import ClusterError
from localcluster.progress import Progress
from localcluster.settings import REPOSITORY
from stage.ending import end_when_asked_to
from stage.install import InstallError
from stage.kubectl import KubectlError

REPORT = REPOSITORY / "build" / "bench-scale.json"
ARGO_ROLLOUTS = "argo-rollouts"


def measured(arguments: argparse.Namespace) -> Iterator[list[Row]]:
    """Measure our operator and, if so asked, its peer; yields the rows of each when they are complete."""
    settings, progress = Settings.from_environment(), Progress()
    length = Length(arguments.active, arguments.active_seconds, arguments.idle_seconds)

    def rows(subject: Subject) -> Iterator[Row]:
        for row in Measurement(subject, length, progress).run():
            progress.say(f"  {row.metric}: {row.value:.3f}")
            yield row

    pace = our_operator.Pace(canary=length.canary_seconds)
    with our_operator.subject(settings, arguments.rollouts, pace, progress) as subject:
        yield list(rows(subject))
    if arguments.beside != ARGO_ROLLOUTS:
        return
    built = argo_build.built(settings)
    if built is None:
        progress.say(f"Measured without {argo_build.TITLE}, which has not been built")
        return
    pause = length.canary_seconds
    with argo_rollouts.subject(settings, built, arguments.rollouts, pause, progress) as subject:
        yield list(rows(subject))


def prepare(arguments: argparse.Namespace) -> None:
    """Build the peer if it is asked for; one that cannot be built is told of and left out."""
    if arguments.beside == ARGO_ROLLOUTS:
        try:
            argo_build.ensure(Settings.from_environment(), Progress())
        except ClusterError as error:
            print(f"{argo_build.TITLE} cannot be built and will be left out: {error}", file=sys.stderr)


def parsed(argv: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="bench.scale", description=__doc__)
    parser.add_argument("--rollouts", type=int, default=1000, help="how many (default: %(default)s)")
    parser.add_argument(
        "--active", type=int, default=100, help="how many get a new version (default: %(default)s)"
    )
    parser.add_argument(
        "--active-seconds", type=int, default=180, help="how long to measure these (default: %(default)s)"
    )
    parser.add_argument(
        "--idle-seconds", type=int, default=600, help="how long to idle (default: %(default)s)"
    )
    parser.add_argument("--beside", choices=[ARGO_ROLLOUTS], help="measure this controller too, afterwards")
    parser.add_argument(
        "--report", type=Path, default=REPORT, help="where the figures are written (default: %(default)s)"
    )
    parser.add_argument(
        "--prepare", action="store_true", help="only build what that needs, outside the cluster, and end"
    )
    arguments = parser.parse_args(argv)
    if not 1 <= arguments.active <= arguments.rollouts:
        parser.error("--active must be 1 to --rollouts")
    return arguments


def main(argv: list[str]) -> int:
    """Measure, report; return 1 if a target was missed, and 2 if nothing came of it."""
    arguments = parsed(argv)
    if arguments.prepare:
        prepare(arguments)
        return 0
    end_when_asked_to()
    rows: list[Row] = []
    try:
        for more in measured(arguments):
            rows += more
            write(arguments.report, rows)
    except (NotInTimeError, ControllerEndedError, InstallError, KubectlError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    finally:
        if rows:
            print(table(rows))
    return 0 if all(row.ok for row in rows) else 1


def write(path: Path, rows: list[Row]) -> None:
    """Write the report."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([row.to_dict() for row in rows], indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
