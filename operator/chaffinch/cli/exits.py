"""How a command ends: one exit code per meaning, so that a pipeline can act on it."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """The exit codes of all commands; each has the sentence that explains it."""

    meaning: str

    def __new__(cls, code: int, meaning: str) -> Exit:
        """Make a code with its meaning."""
        member = int.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member

    OK = 0, "It was done, or all is well."
    FAILED = 1, "The answer is no: a check failed, or a command was refused."
    USAGE = 2, "The arguments make no sense."
    NOT_ENOUGH = 3, "There is not enough evidence to say."
    MISMATCH = 4, "The two things cannot be compared."
    TIMEOUT = 5, "There was no answer in time; it may still come."
    CLUSTER = 6, "The cluster cannot be asked: no connection, no right, no CRDs."
    NOT_FOUND = 7, "There is no object of that name."
    INTERRUPTED = 130, "It was interrupted."


class CommandError(Exception):
    """A command cannot do what it was asked; the text is for people and says what to do.

    Attributes:
        code: The exit code.
    """

    def __init__(self, message: str, code: Exit = Exit.FAILED) -> None:
        super().__init__(message)
        self.code = code
