"""A checkout of the repository as a reader has it who has put their own model and image into the examples."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from pages import ROOT
from readme.seeds import SECRET, TOKEN_KEY
from stage.service import ENGINE_FLAGS, PROBE, SIMULATOR_IMAGE, WARM_UP

# Short steps and wide limits, so that few requests suffice; the approval is what the page's `approve` is for.
STEPS = (
    WARM_UP,
    PROBE,
    {"name": "canary-20", "canary": {"weight": 20, "for": "5s"}},
    {"name": "review", "approval": {}},
    {"name": "canary-50", "canary": {"weight": 50, "for": "5s"}},
    {"name": "bake", "bake": {"for": "5s"}},
)
OBJECTIVES = (
    {"name": "ttft-p95", "metric": "ttft", "quantile": "p95", "max": "800ms", "maxRegression": "20%"},
    {"name": "errors", "metric": "errorRate", "max": "3%", "maxIncrease": "3pp"},
)


def checked_out(folder: Path) -> Path:
    """Return a folder in which the commands of the pages find what they name."""
    (folder / "docs" / "examples").mkdir(parents=True)
    for name in ("Makefile", "charts", "crds", "operator", "tests"):
        (folder / name).symlink_to(ROOT / name)
    for name, change in (("rollout.yaml", _as_of_the_reader), ("probe.yaml", _short)):
        _copy(Path("docs", "examples", name), folder, change)
    return folder


def _copy(path: Path, folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    document = yaml.safe_load((ROOT / path).read_text())
    change(document["spec"])
    (folder / path).write_text(yaml.safe_dump(document))


def _as_of_the_reader(spec: dict[str, Any]) -> None:
    spec["engine"]["image"] = SIMULATOR_IMAGE
    spec["engine"]["extraArgs"] = list(ENGINE_FLAGS)
    spec["engine"]["env"] = [
        {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": SECRET, "key": TOKEN_KEY}}}
    ]
    spec["replicas"] = 2
    spec["objectives"] = list(OBJECTIVES)
    spec["strategy"]["steps"] = list(STEPS)


def _short(spec: dict[str, Any]) -> None:
    spec["profile"] = PROBE["probe"]["profile"]  # type: ignore[index]
