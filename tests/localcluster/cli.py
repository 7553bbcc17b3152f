"""The command line: one small function per command."""

from __future__ import annotations

import argparse
import os
import sys
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

from localcluster import current, forward, images, packages, programs
from localcluster import settings as where
from localcluster.api import ApiClient
from localcluster.builder import ImageBuilder
from localcluster.cluster import Cluster
from localcluster.errors import PROGRAM, ClusterError
from localcluster.local import LocalCluster
from localcluster.progress import Progress
from localcluster.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from localcluster.components import Binaries


PROGRAMS = {
    "exec": "run a command inside the network namespace: exec -- CMD ARGS",
    "kubectl": "run kubectl against the cluster",
    "helm": "run helm against the cluster",
}
"""Commands that become another program; every word after them is that program's."""


def main(argv: Sequence[str]) -> int:
    """Run one command; return its exit code (1 after a `ClusterError`, 130 after Ctrl-C)."""
    try:
        if argv and argv[0] in PROGRAMS:
            return _become(argv[0], argv[1:])
        arguments = _parser().parse_args(argv)
        return int(arguments.run(arguments))
    except ClusterError as error:
        print(f"localcluster: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        return 1
    except OSError as error:
        print(f"localcluster: {error}. Do: check rights and free disk space", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="localcluster",
        description="A real one-node Kubernetes in a network namespace of this machine, for tests and demos.",
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(name: str, run: object, text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(run=run)
        return sub

    up = command("up", _up, "start the cluster (the first time, build its programs)")
    up.add_argument(
        "--gpus", type=int, default=where.DEFAULT_GPUS, help="GPUs to advertise (default: %(default)s)"
    )
    up.add_argument("--kwok", action="store_true", help="add nodes whose pods are pretended, by KWOK")
    command("down", _down, "stop the cluster and remove all that it left, except the cache")
    command("status", _status, "tell what runs and whether it works; exit code 1 if it does not")
    command("build", _build, "only build or install what the tests need, and print where it is built")
    for name, text in PROGRAMS.items():
        command(name, None, text)  # for --help only: `main` passes their words on unread
    load = command("load-image", _load_image, "make images available to pods, building them if need be")
    load.add_argument(
        "image", nargs="*", help="chaffinch, vllm-sim, envoy, or an archive; all three by default"
    )
    relay = command("forward", _forward, "relay 127.0.0.1:PORT on the host to an address or Service inside")
    relay.add_argument("port", type=int, help="port on the host; 0 for any free one")
    relay.add_argument("target", help="ADDRESS:PORT or NAMESPACE/SERVICE:PORT")
    logs = command("logs", _logs, "print the log of a component, or list the components")
    logs.add_argument("component", nargs="?")
    logs.add_argument(
        "--lines", type=int, default=200, help="how many lines of its end (default: %(default)s)"
    )
    return parser


def _local() -> tuple[LocalCluster, Settings, Progress]:
    settings, progress = Settings.from_environment(), Progress()
    return LocalCluster(settings, progress), settings, progress


def _up(arguments: argparse.Namespace) -> int:
    cluster, settings, progress = _local()
    builder = ImageBuilder(settings, progress)

    def pause_archive(binaries: Binaries) -> Path:
        return builder.build(images.pause(binaries.built)).path

    cluster.up(pause_archive, arguments.gpus)
    if arguments.kwok:
        cluster.add_kwok()
    return 0


def _down(_: argparse.Namespace) -> int:
    _local()[0].down()
    return 0


def _build(_: argparse.Namespace) -> int:
    cluster, settings, progress = _local()
    cluster.build()
    packages.ensure_installed(progress, packages.SHELLS)
    for bundle in programs.ALL:
        print(programs.ensure(settings, progress, bundle))
    return 0


def _status(_: argparse.Namespace) -> int:
    cluster, settings, _progress = _local()
    for name, pid in cluster.components().items():
        print(f"{name:24} running, pid {pid}")
    problems = cluster.problems()
    for problem in problems:
        print(f"problem: {problem}")
    if not problems:
        print(f"The cluster works. KUBECONFIG={settings.kubeconfig}")
        print(f"Enter its network: {PROGRAM} exec -- CMD")
    return 1 if problems else 0


def _become(program: str, words: Sequence[str]) -> int:
    """Become the wanted program, so that its signals and its exit code are this one's."""
    if program == "exec":
        words = words[1:] if words[:1] == ["--"] else words
        if words[:1] in ([], ["-h"], ["--help"]):
            raise ClusterError("exec needs a command", f"{PROGRAM} exec -- CMD ARGS")
    else:
        words = [program, *words]
    command = current().inside(words)
    try:
        os.execvpe(command.argv[0], command.argv, dict(command.environment))
    except FileNotFoundError:
        raise ClusterError(f"{command.argv[0]} is not installed", "install it, or correct its name") from None


def _load_image(arguments: argparse.Namespace) -> int:
    cluster = current()
    settings, progress = Settings.from_environment(), Progress()
    builder = ImageBuilder(settings, progress)
    known = images.known(settings.scripts)
    for name in arguments.image or known:
        if name in known:
            archive = builder.build(known[name]).path
        elif Path(name).exists():
            archive = Path(name)
        else:
            raise ClusterError(f"{name!r} is neither an image nor a file", f"choose of {', '.join(known)}")
        _load(cluster, name, archive, progress)
    return 0


def _load(cluster: Cluster, name: str, archive: Path, progress: Progress) -> None:
    with progress.step(f"Loading {name}"):
        cluster.load_image(archive)


def _forward(arguments: argparse.Namespace) -> int:
    cluster, settings, progress = _local()
    if problems := cluster.problems():
        raise ClusterError(f"The cluster does not work: {problems[0]}", f"{PROGRAM} up")
    namespace = settings.network_namespace
    with forward.listen(arguments.port) as listener:
        target = forward.resolve(arguments.target, ApiClient(settings.pki), namespace)
        host, port = listener.getsockname()[:2]
        progress.say(f"http://{host}:{port} reaches {target[0]}:{target[1]} inside; Ctrl-C ends it")
        forward.serve(listener, target, namespace)
    return 0


def _logs(arguments: argparse.Namespace) -> int:
    folder = Settings.from_environment().logs
    available = sorted(path.stem for path in folder.glob("*.log"))
    if arguments.component is None:
        print("\n".join(available) or "no logs: the cluster is not up")
        return 0
    if arguments.component not in available:
        raise ClusterError(
            f"{arguments.component!r} has no log", f"choose of {', '.join(available) or 'none'}"
        )
    with (folder / f"{arguments.component}.log").open(errors="replace") as log:
        sys.stdout.writelines(deque(log, maxlen=arguments.lines))
    return 0
