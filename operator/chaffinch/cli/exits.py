"""How a command ends: one exit code per meaning, so that a pipeline can act on it."""

from __future__ import annotations

from chaffinch.api.exits import Ending


class Exit(Ending):
    """The exit codes of all commands."""

    OK = 0, "It was done, or all is well.", "Nothing."
    FAILED = (
        1,
        "The answer is no: a check failed, or a command was refused.",
        "Read what it printed; nothing is tried again by itself.",
    )
    USAGE = 2, "The arguments make no sense.", "Add `--help` to the command."
    NOT_ENOUGH = (
        3,
        "There is not enough evidence to say.",
        "Wait until the probe is done, or use a profile with more requests.",
    )
    MISMATCH = (
        4,
        "The two things cannot be compared.",
        "Freeze a baseline under the circumstances that you want to compare with.",
    )
    TIMEOUT = (
        5,
        "There was no answer in time; it may still come.",
        "Look whether the operator runs. Delete the RolloutCommand if it shall not be carried out any more.",
    )
    CLUSTER = (
        6,
        "The cluster cannot be asked: no connection, no right, no CRDs.",
        "Check `--context`, your rights, and that the chart is installed; the line says which it is.",
    )
    NOT_FOUND = (
        7,
        "There is no object of that name.",
        "Check the name and `--namespace`; the line names what there is.",
    )
    INTERRUPTED = 130, "It was interrupted.", "Nothing; a command that was made already is carried out."


class CommandError(Exception):
    """A command cannot do what it was asked; the text is for people and says what to do.

    Attributes:
        code: The exit code.
    """

    def __init__(self, message: str, code: Exit = Exit.FAILED) -> None:
        super().__init__(message)
        self.code = code
