"""A reverse proxy between the operator and the API server that does what a script of rules tells it.

The operator speaks plain HTTP to a port of this machine; the proxy speaks HTTPS to the real API server, with
the credentials of whoever it stands for. So each proxy is one client: what it has in its journal is what that
client sent, in order. Rules pick calls by verb, kind, namespace, name and count, and cut them, answer them,
delay them, or make a watch mute, stale or over.
"""

from faultproxy.calls import Call
from faultproxy.journal import Entry, Journal
from faultproxy.proxy import FaultProxy, Upstream
from faultproxy.rules import (
    Answer,
    Calls,
    CutAfter,
    CutBefore,
    Delay,
    Expire,
    Mute,
    Replay,
    ReplyThen,
    Rule,
    Script,
)

__all__ = [
    "Answer",
    "Call",
    "Calls",
    "CutAfter",
    "CutBefore",
    "Delay",
    "Entry",
    "Expire",
    "FaultProxy",
    "Journal",
    "Mute",
    "Replay",
    "ReplyThen",
    "Rule",
    "Script",
    "Upstream",
]
