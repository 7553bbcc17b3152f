"""What must hold of the repository as a whole, whoever changes it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DECISIONS = ROOT / "docs" / "decisions"

# Each of these is written so that it does not find itself.
URL = r"https?://([a-z0-9-]+\.)*(?!json-schema\.)[a-z0-9-]+\.(com|org|net|io|dev|ai|cn|edu)\b"
DOWNLOAD_HOST = (
    r"\b(pypi\.org|pythonhosted\.org|proxy\.golang\.org|dl\.k8s\.io|registry\.k8s\.io|debian\.org"
    r"|docker\.io|quay\.io|huggingface\.co|githubusercontent\.com|/releases/download/)"
)
MACHINE_PATH = r"(?<![\w.~-])/(work|root|home|Users)/"
UNFINISHED = r"\b(TO[D]O|FIX[M]E)\b"


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [(URL, ()), (DOWNLOAD_HOST, ()), (MACHINE_PATH, ()), (UNFINISHED, ("*.py",))],
    ids=["a URL on the internet", "a download host", "a path of somebody's machine", "an unfinished thought"],
)
def test_no_tracked_file_has(pattern: str, paths: tuple[str, ...]) -> None:
    done = subprocess.run(
        ["git", "grep", "--line-number", "-I", "--perl-regexp", pattern, "--", *paths],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


def test_the_source_root_is_no_package() -> None:
    assert not (ROOT / "operator" / "__init__.py").exists(), "it would shadow the standard library's operator"


def test_decisions_have_numbers_of_their_own_and_are_in_the_index() -> None:
    index = (DECISIONS / "README.md").read_text()
    listed = re.findall(r"^\| (\d+) \| \[(.+)\]\((\S+)\) \| .+ \|$", index, re.MULTILINE)
    written = []
    for path in sorted(set(DECISIONS.glob("*.md")) - {DECISIONS / "README.md"}):
        number, _, title = path.read_text().partition("\n")[0].removeprefix("# ").partition(" · ")
        assert path.name.startswith(f"{number}-")
        written.append((number, title, path.name))
    assert listed == written
    assert len({number for number, _, _ in written}) == len(written)
