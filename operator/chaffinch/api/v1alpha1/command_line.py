"""What people are told to type: written by one function, so that every line names its namespace too."""

from __future__ import annotations

import re

NAME, NAMESPACE = "NAME", "NS"
"""What stands for a rollout and its namespace in texts that speak of any rollout."""

_PLACEHOLDERS = re.compile(rf"\b(?:{NAME}|{NAMESPACE})\b")


def command_line(action: str, rollout: str = NAME, namespace: str = NAMESPACE, *, options: str = "") -> str:
    """Return what a person types to ask or tell a rollout something.

    Args:
        action: The subcommand, such as ``retry``.
        rollout: The rollout's name.
        namespace: Its namespace.
        options: Further arguments.
    """
    return f"kubectl chaffinch {action} {rollout} -n {namespace} {options}".rstrip()


def with_names(text: str, rollout: str, namespace: str) -> str:
    """Return a text that speaks of any rollout as one that speaks of this one."""
    names = {NAME: rollout, NAMESPACE: namespace}
    return _PLACEHOLDERS.sub(lambda found: names[found[0]], text)
