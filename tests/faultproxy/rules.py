"""The script of a proxy: which calls meet which fault.

A rule matches calls, counts them, and applies to a run of them: from its ``first`` match on, ``count`` times
(None: until it is removed). The first rule that applies to a call decides; a call that no rule applies to
passes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from faultproxy.calls import Call

Then: TypeAlias = Callable[[], None]


def nothing() -> None:
    """Do nothing more."""


@dataclass(frozen=True, slots=True)
class Calls:
    """A set of calls; an empty field matches everything.

    Attributes:
        verbs: The verbs; ``write`` stands for all that change something.
        resources: Plural names, with subresource.
        namespace: One namespace.
        name: One object.
        without: Plural names that are not meant.
    """

    verbs: frozenset[str] = frozenset()
    resources: frozenset[str] = frozenset()
    namespace: str = ""
    name: str = ""
    without: frozenset[str] = frozenset()

    def __contains__(self, call: Call) -> bool:
        """Say whether a call is meant."""
        verb = not self.verbs or call.verb in self.verbs or (call.is_write and "write" in self.verbs)
        resource = not self.resources or call.resource in self.resources
        return (
            verb
            and resource
            and call.resource not in self.without
            and self.namespace in {"", call.namespace}
            and self.name in {"", call.name}
        )


@dataclass(frozen=True, slots=True)
class CutBefore:
    """The connection breaks before the request reaches the API server."""

    then: Then = nothing


@dataclass(frozen=True, slots=True)
class CutAfter:
    """The API server does what was asked, and the connection breaks before the client hears of it."""

    then: Then = nothing


@dataclass(frozen=True, slots=True)
class ReplyThen:
    """The client gets its answer; then something happens to it."""

    then: Then = nothing


@dataclass(frozen=True, slots=True)
class Answer:
    """The proxy answers in the API server's place, with a ``Status`` object.

    Attributes:
        status: The HTTP status.
        reason: The ``Status`` object's reason.
        retry_after: Seconds for the header ``Retry-After``.
    """

    status: int
    reason: str = ""
    retry_after: int | None = None


@dataclass(frozen=True, slots=True)
class Delay:
    """The request waits before it is passed on."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Mute:
    """A watch stays open and says nothing, however much happens."""


@dataclass(frozen=True, slots=True)
class Expire:
    """A watch ends with the event ERROR and code 410: its resource version is too old."""


@dataclass(frozen=True, slots=True)
class Replay:
    """After each event of a watch, the ones before it are told again, stale as they are.

    Attributes:
        back: How many of them.
    """

    back: int = 3


Fault: TypeAlias = CutBefore | CutAfter | ReplyThen | Answer | Delay | Mute | Expire | Replay


@dataclass(slots=True, eq=False)
class Rule:
    """One line of a script.

    Attributes:
        calls: Which calls count.
        fault: What the chosen ones meet.
        first: The number of the first that meets it, from 1.
        count: How many do; None: all that follow.
        seen: How many have counted so far.
        met: How many have met it.
    """

    calls: Calls
    fault: Fault
    first: int = 1
    count: int | None = 1
    seen: int = field(default=0, init=False)
    met: int = field(default=0, init=False)

    def claims(self, call: Call) -> bool:
        """Count a call, and say whether it meets the fault."""
        if call not in self.calls:
            return False
        self.seen += 1
        if self.seen < self.first or (self.count is not None and self.seen >= self.first + self.count):
            return False
        self.met += 1
        return True


class Script:
    """The rules that are in force. Safe to change from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rules: list[Rule] = []

    def add(self, rule: Rule) -> Rule:
        """Put a rule in force."""
        with self._lock:
            self._rules.append(rule)
        return rule

    def clear(self) -> None:
        """Put all rules out of force."""
        with self._lock:
            self._rules.clear()

    def fault_for(self, call: Call) -> Fault | None:
        """Let every rule count a call; return the fault of the first that claims it."""
        with self._lock:
            claims = [rule for rule in self._rules if rule.claims(call)]
        return claims[0].fault if claims else None
