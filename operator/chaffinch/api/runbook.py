"""Writes the runbook: what each reason means and what a person does about it."""

from __future__ import annotations

from chaffinch.api.v1alpha1.reasons import Reason
from chaffinch.api.v1alpha1.remedies import QUIET, remedy_of

_INTRODUCTION = """\
# Runbook

Every condition, Event and alert gives a reason in one word. Look it up here. NAME is the rollout; add
`--namespace`. The message of the condition has the figures and the names; `kubectl chaffinch explain NAME`
puts all of it together.

These reasons ask nothing of anybody: {quiet}.
"""


def runbook() -> str:
    """Return the runbook as Markdown, with an anchor for each reason."""
    asking = sorted((reason for reason in Reason if reason not in QUIET), key=str)
    quiet = ", ".join(f"`{reason}`" for reason in sorted(QUIET, key=str))
    entries = (f"## {reason}\n\n{reason.meaning}\n\nWhat to do: {remedy_of(reason)}\n" for reason in asking)
    return "\n".join([_INTRODUCTION.format(quiet=quiet), *entries])
