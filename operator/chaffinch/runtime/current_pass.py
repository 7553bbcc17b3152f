"""Which pass is under way in this task: for its span, and for the log lines that are written meanwhile.

Kept in a context variable, so that adapters and the domain need not hand anything on for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar, Token
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Notes:
    """What is known of a pass.

    Attributes:
        fields: What its log lines say.
        attributes: What its span will say.
    """

    fields: dict[str, str]
    attributes: dict[str, str | int | float | bool] = field(default_factory=dict)


_current: ContextVar[Notes | None] = ContextVar("the pass that is under way", default=None)


def enter(notes: Notes) -> Token[Notes | None]:
    """Begin a pass in this task; the token ends it."""
    return _current.set(notes)


def leave(token: Token[Notes | None]) -> None:
    """End the pass."""
    _current.reset(token)


def current_notes() -> Notes | None:
    """Return the notes of the pass that is under way; None outside of one."""
    return _current.get()


def current_fields() -> Mapping[str, str]:
    """Return what log lines say of the pass that is under way; nothing outside of one."""
    notes = _current.get()
    return {} if notes is None else notes.fields
