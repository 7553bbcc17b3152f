"""Builds Argo Rollouts from a Go module that pins it; this needs the network, which a cluster's inside lacks.

Our `go.mod` replaces what Argo Rollouts' own replaces: replacements in a module that is not the main one do
not count, so that `go install` refuses it. A build lies in the local cluster's cache, with the CRDs that
belong to it.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from localcluster import Settings, programs
from localcluster.errors import ClusterError
from localcluster.programs import Build, Bundle
from localcluster.progress import Progress
from localcluster.shell import run

VERSION = "1.10.2"
TITLE = f"Argo Rollouts {VERSION}"
PROGRAM = "rollouts-controller"

_MODULE = "github.com/argoproj/argo-rollouts"
_SOURCES = Path(__file__).parent / "peer"
_BUNDLE = Bundle(
    _SOURCES,
    (
        Build(
            _SOURCES,
            (f"{_MODULE}/cmd/{PROGRAM}",),
            what=f"{TITLE} from source, once",
            usually="6 min on 2 cores",
        ),
    ),
)


def ensure(settings: Settings, progress: Progress) -> None:
    """Build it unless it has been built.

    Raises:
        ClusterError: If it cannot be built.
    """
    target = programs.ensure(settings, progress, _BUNDLE)
    crds = target / "crds"
    if crds.exists():
        return
    scratch = target / "crds.copying"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    for path in _source(settings, progress).glob("manifests/crds/*-crd.yaml"):
        shutil.copyfile(path, scratch / path.name)
    scratch.rename(crds)


def built(settings: Settings) -> Path | None:
    """Return the folder with the program and `crds`, or None if it has not been built."""
    place = folder(settings)
    return place if (place / "crds").exists() else None


def folder(settings: Settings) -> Path:
    """Return where the build belongs, there or not."""
    return programs.folder_for(settings, _BUNDLE)


def _source(settings: Settings, progress: Progress) -> Path:
    """Return where Go keeps the module's source."""
    words = [programs.find_go(settings, progress, _BUNDLE), "list", "-m", "-f", "{{.Dir}}", _MODULE]
    remedy = f"run `go mod download` in {_SOURCES}"
    place = run(words, cwd=_SOURCES, environment=programs.build_environment(), remedy=remedy).strip()
    if not place:
        raise ClusterError(f"the source of {TITLE} is not in Go's cache any more", remedy)
    return Path(place)
