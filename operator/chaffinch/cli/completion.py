"""Completion for shells: scripts that ask this program what may come next.

The program answers from the very description of its arguments, so that there is nothing to keep in step.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence

from chaffinch.cli.exits import CommandError, Exit
from chaffinch.cli.groups import Groups
from chaffinch.cli.kubectl import Kubectl
from chaffinch.cli.rollouts.snapshot import ROLLOUTS

ASK = "__complete"
_NO_FILES = 4
"""What kubectl's own completion takes as: offer nothing else, no files either."""

_SCRIPTS = {
    "bash": """\
_chaffinch() {
  local word="${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=($(compgen -W "$(chaffinch __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)" -- "$word"))
}
complete -o default -F _chaffinch chaffinch
""",
    "zsh": """\
#compdef chaffinch
_chaffinch() {
  compadd -- ${(f)"$(chaffinch __complete "${words[@]:1:$((CURRENT - 1))}" 2>/dev/null)"} || _files
}
compdef _chaffinch chaffinch
if [[ ${funcstack[1]} == _chaffinch ]]; then _chaffinch "$@"; fi
""",
    "fish": """\
function __chaffinch
  set -l found (chaffinch __complete (commandline -opc)[2..] (commandline -ct) 2>/dev/null)
  if set -q found[1]
    printf '%s\\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c chaffinch -f -a '(__chaffinch)'
""",
}
"""All offer files where the program has nothing to offer. That of zsh may be a file of its fpath, too, which
is read as the function of its name when it is first needed: its last line then answers that first time."""


def add(groups: Groups) -> None:
    """Describe the command."""
    command = groups.add_parser(
        "completion",
        help="print the completion script of a shell",
        description="Print the completion script of a shell; load it with: source <(chaffinch completion"
        " bash). kubectl chaffinch is completed when kubectl_complete-chaffinch is in PATH.",
    )
    command.add_argument("shell", choices=tuple(_SCRIPTS))
    command.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> Exit:
    sys.stdout.write(_SCRIPTS[options.shell])
    return Exit.OK


def candidates(
    parser: argparse.ArgumentParser, words: Sequence[str], names: Callable[[Sequence[str]], list[str]]
) -> list[str]:
    """Return what the last word may become.

    Args:
        parser: The description of all arguments.
        words: What has been typed, the last word perhaps in part.
        names: Tells the names of rollouts, given what has been typed.
    """
    if not words:
        return []
    at, positionals = parser, 0
    for i, word in enumerate(words[:-1]):
        group = groups_of(at)
        if group is not None and word in group.choices:
            at, positionals = group.choices[word], 0
        elif not word.startswith("-") and not (i and _takes_value(at, words[i - 1])):
            positionals += 1
    start = words[-1]
    if start.startswith("-"):
        return sorted(
            flag for action in arguments_of(at) for flag in action.option_strings if flag.startswith(start)
        )
    group = groups_of(at)
    if group is not None:
        return sorted(word for word in group.choices if word.startswith(start))
    return sorted(word for word in _values(at, positionals, words, names) if word.startswith(start))


def _values(
    at: argparse.ArgumentParser,
    positionals: int,
    words: Sequence[str],
    names: Callable[[Sequence[str]], list[str]],
) -> list[str]:
    taken = [action for action in arguments_of(at) if not action.option_strings]
    before = words[-2] if len(words) > 1 else ""
    if _takes_value(at, before):
        flag = next(each for each in arguments_of(at) if before in each.option_strings)
        return [str(choice) for choice in flag.choices or ()]
    if positionals >= len(taken):
        return []
    if taken[positionals].choices:
        return [str(choice) for choice in taken[positionals].choices or ()]
    return names(words) if taken[positionals].metavar == "NAME" else []


def _takes_value(at: argparse.ArgumentParser, word: str) -> bool:
    return any(word in each.option_strings and each.nargs != 0 for each in arguments_of(at))


def groups_of(parser: argparse.ArgumentParser) -> Groups | None:
    """Return the sub-commands of a command; None if it has none."""
    return next((each for each in arguments_of(parser) if isinstance(each, argparse._SubParsersAction)), None)  # noqa: SLF001 - as above


def commands_of(
    parser: argparse.ArgumentParser, path: str = ""
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield every command that can be run, with the words that name it."""
    group = groups_of(parser)
    if group is None:
        yield path, parser
        return
    for name, each in group.choices.items():
        yield from commands_of(each, f"{path} {name}".strip())


def arguments_of(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return all arguments that a command takes."""
    return parser._actions  # noqa: SLF001 - argparse has no public way to ask, and this has not changed in 20 years


def rollout_names(words: Sequence[str]) -> list[str]:
    """Return the names of the rollouts in the namespace that has been typed; none if they cannot be had."""
    namespace = _after(words, ("-n", "--namespace"))
    try:
        found = Kubectl(namespace, _after(words, ("--context",)), _after(words, ("--kubeconfig",)))
        return [str(each["metadata"]["name"]) for each in found.find(ROLLOUTS)]
    except CommandError:
        return []


def _after(words: Sequence[str], flags: tuple[str, ...]) -> str | None:
    return next((words[i + 1] for i, word in enumerate(words[:-1]) if word in flags), None)


def for_kubectl() -> int:
    """Answer kubectl's completion of its plugin: candidates, one a line, then what to do besides."""
    from chaffinch.cli import parser

    for word in candidates(parser(), sys.argv[1:], rollout_names):
        print(word)
    print(f":{_NO_FILES}")
    return Exit.OK
