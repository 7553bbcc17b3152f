"""Builds of the operator that differ from the working tree's in a few places of its code."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from localcluster.settings import REPOSITORY

_PACKAGE = REPOSITORY / "operator" / "chaffinch"


@dataclass(frozen=True, slots=True)
class Change:
    """One place of the code that is another in a build.

    Attributes:
        module: Its file, from the package on.
        before: What the working tree has there; it occurs once.
        after: What the build has instead.
    """

    module: str
    before: str
    after: str


def build(folder: Path, changes: Sequence[Change]) -> Path:
    """Copy the package and change it; return what ``PYTHONPATH`` must be to run it.

    Raises:
        ValueError: If the code to be changed is not there, or not once.
    """
    made = folder / "chaffinch"
    shutil.copytree(_PACKAGE, made, ignore=shutil.ignore_patterns("__pycache__"))
    for change in changes:
        module = made / change.module
        code = module.read_text(encoding="utf-8")
        if code.count(change.before) != 1:
            raise ValueError(
                f"{change.module} holds {change.before!r} {code.count(change.before)} times, not once"
            )
        module.write_text(code.replace(change.before, change.after), encoding="utf-8")
    return folder
