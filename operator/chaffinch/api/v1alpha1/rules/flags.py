"""The flags among an engine's extra arguments, read as vLLM does: underscores are dashes, ``=`` ends one."""

from __future__ import annotations

FLAGS = "self.extraArgs.filter(a, a.startsWith('-')).map(a, a.find('^[^=]*').replace('_', '-'))"
"""All of them in CEL; ``self`` is an engine that has extra arguments."""


def flag_of(argument: str) -> str:
    """Return the flag that an argument gives, without its value; empty if it gives none."""
    return argument.partition("=")[0].replace("_", "-") if argument.startswith("-") else ""
