"""How the processes of Chaffinch end: one exit code per meaning, with what a person does about it.

A process returns nothing but these, so that the runbook, which is written from them, knows every one.
"""

from __future__ import annotations

from enum import IntEnum

from chaffinch.api.v1alpha1.command_line import command_line


class Ending(IntEnum):
    """An exit code with its meaning and its remedy, a sentence or two each."""

    meaning: str
    remedy: str

    def __new__(cls, code: int, meaning: str, remedy: str) -> Ending:
        """Make a code with its meaning and its remedy."""
        member = int.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        member.remedy = remedy
        return member


class OperatorExit(Ending):
    """How the operator ends."""

    ENDED = 0, "It was asked to end.", "Nothing."
    FAILED = (
        1,
        "It cannot start, or cannot go on.",
        "Read the last line of its log, or `Last State` in `kubectl describe pod`; its first word is here.",
    )
    USAGE = 2, "A setting is wrong.", "Mend the value of the chart that the line names."
    REPLACED = (
        3,
        "It has lost the Lease: another operator leads, or this one will when it is back.",
        "Nothing, if it was once. Otherwise look whether the API server is slow, or CPU is short.",
    )
    SLEPT = (
        142,
        "SIGALRM: it slept, or was too busy to notice, when its Lease ended.",
        "Nothing, if it was once. Otherwise give it more CPU, or a node that is not suspended.",
    )


class AgentExit(Ending):
    """How the router's agent ends."""

    ENDED = 0, "It was asked to end.", "Nothing."
    USAGE = (
        2,
        "Its pod does not say whose router it is.",
        "Look who changes the pods of the router (a webhook, a policy); delete the pod, and it is made anew.",
    )


class ProbeExit(Ending):
    """How the worker of a LoadProbe ends."""

    DONE = 0, "It has run; its result was collected, or nobody came for it in ten minutes.", "Nothing."
    FAILED = (
        1,
        "The run failed, and there is no result.",
        f"Read the last lines of its log, then `{command_line('retry')}`, or create the LoadProbe anew.",
    )
    USAGE = (
        2,
        "Its plan makes no sense.",
        "Look whether operator and probe have the same image: `kubectl get job -n NS -o wide`.",
    )
    TERMINATED = (
        143,
        "SIGTERM: its pod was deleted while it ran, and there is no result.",
        f"`{command_line('retry')}`, or create the LoadProbe anew; the Job never tries again.",
    )
