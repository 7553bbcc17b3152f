"""The completion scripts of fish and zsh, in those shells, where the machine has them.

fish is asked what it would offer. zsh only completes what is typed at a terminal, so it gets one, and a key
that tells what has become of the line.
"""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from chaffinch.cli import main
from chaffinch.cli.exits import Exit
from unit.cli.conftest import Objects
from unit.cli.rollouts import healthy, rollout

ROOT = Path(__file__).parents[3]
HAS_FISH = pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed on this machine")
HAS_ZSH = pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed on this machine")

_BEGIN = "autoload -Uz compinit && compinit -D -u"
BY_FPATH = f"fpath=($ZDOTDIR/functions $fpath)\n{_BEGIN}\n"
BY_SOURCE = f"{_BEGIN}\nsource $ZDOTDIR/functions/_chaffinch\n"
"""The two ways to load the script, as lines of a .zshrc."""

_SECONDS = 60.0
_TAB, _TELL = b"\t", b"\x18"
_READY = b"ready> "
_AT_A_TERMINAL = """\
PS1='ready> '
tell() {{ print -rn -- "$BUFFER" > {told}.part && mv {told}.part {told} }}
zle -N tell
bindkey '^X' tell
"""


@pytest.fixture
def environment(objects: Objects, tmp_path: Path) -> Mapping[str, str]:
    """The environment of a user who has the program and two rollouts, `chat` and `other`."""
    objects.put("inferencerollouts.chaffinch.dev", rollout())
    objects.put("inferencerollouts.chaffinch.dev", healthy("other"))
    program = tmp_path / "bin" / "chaffinch"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -c "from chaffinch.cli import main; main()" "$@"\n')
    program.chmod(0o755)
    return {
        "PATH": f"{program.parent}:/usr/local/bin:/usr/bin:/bin",
        "PYTHONPATH": str(ROOT / "operator"),
        "KUBECTL": os.environ["KUBECTL"],
        "FAKE_OBJECTS": os.environ["FAKE_OBJECTS"],
        "HOME": str(tmp_path),
        "ZDOTDIR": str(tmp_path),
        "TERM": "dumb",
    }


@pytest.fixture
def script(capsys: pytest.CaptureFixture[str]) -> Callable[[str], str]:
    """What the program prints for a shell."""

    def printed(shell: str) -> str:
        assert main(["completion", shell]) == Exit.OK
        return capsys.readouterr().out

    return printed


@HAS_FISH
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("chaffinch baseline v", ["verify"]),
        ("chaffinch get --wa", ["--watch"]),
        ("chaffinch get -n llm ", ["chat", "other"]),
        ("chaffinch validate Makef", ["Makefile"]),
    ],
)
def test_fish_offers_what_the_program_says_and_else_files(
    line: str, offered: list[str], environment: Mapping[str, str], script: Callable[[str], str]
) -> None:
    shown = subprocess.run(
        ["fish", "--no-config", "-c", f"{script('fish')}\ncomplete -C '{line}'"],
        env=dict(environment), cwd=ROOT, capture_output=True, text=True, check=True, timeout=_SECONDS,
    )  # fmt: skip
    assert [each.strip() for each in shown.stdout.splitlines()] == offered


@HAS_ZSH
@pytest.mark.parametrize(
    ("loaded", "line", "becomes"),
    [
        (BY_FPATH, "chaffinch baseline v", "chaffinch baseline verify "),
        (BY_SOURCE, "chaffinch baseline v", "chaffinch baseline verify "),
        (BY_SOURCE, "chaffinch get --wa", "chaffinch get --watch "),
        (BY_SOURCE, "chaffinch get -n llm ch", "chaffinch get -n llm chat "),
        (BY_SOURCE, "chaffinch validate Makef", "chaffinch validate Makefile "),
    ],
)
def test_zsh_completes_by_what_the_program_says_and_else_by_files(
    loaded: str, line: str, becomes: str, environment: Mapping[str, str], script: Callable[[str], str]
) -> None:
    home = Path(environment["ZDOTDIR"])
    (home / "functions").mkdir()
    (home / "functions" / "_chaffinch").write_text(script("zsh"))
    told = home / "told"
    (home / ".zshrc").write_text(loaded + _AT_A_TERMINAL.format(told=told))
    assert completed_at_a_terminal(line, environment, told) == becomes


def completed_at_a_terminal(line: str, environment: Mapping[str, str], told: Path) -> str:
    """Type a line and a tab into zsh at a terminal of its own; return what the line has become."""
    ours, its = pty.openpty()
    zsh = subprocess.Popen(
        ["zsh", "-d", "-i"], stdin=its, stdout=its, stderr=its, env=dict(environment), cwd=ROOT,
        start_new_session=True,
    )  # fmt: skip
    os.close(its)
    try:
        _read_until(ours, lambda shown: _READY in shown)
        os.write(ours, line.encode() + _TAB + _TELL)
        _read_until(ours, lambda _: told.exists())
        return told.read_text()
    finally:
        zsh.kill()
        zsh.wait()
        os.close(ours)


def _read_until(terminal: int, is_enough: Callable[[bytes], bool]) -> None:
    shown, end = b"", time.monotonic() + _SECONDS
    while not is_enough(shown):
        assert time.monotonic() < end, f"zsh has shown only {shown.decode(errors='replace')}"
        if select.select([terminal], [], [], 0.05)[0]:
            with suppress(OSError):  # it has ended: the deadline tells what it has shown
                shown += os.read(terminal, 4096)
