"""How a command ends: one exit code per meaning, so that a pipeline can act on it."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """The exit codes of all commands."""

    OK = 0
    FAILED = 1
    USAGE = 2
    NOT_ENOUGH = 3
    MISMATCH = 4
    INTERRUPTED = 130


class CommandError(Exception):
    """A command cannot do what it was asked; the text is for people and says what to do.

    Attributes:
        code: The exit code.
    """

    def __init__(self, message: str, code: Exit = Exit.FAILED) -> None:
        super().__init__(message)
        self.code = code
