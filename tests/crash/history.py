"""What a rollout came to, in a form in which two runs of the same story are equal.

Left out is what differs between any two runs: times, uids, versions, numbers of writes and of leaders, the
namespace, and names and addresses of pods. Everything else has to be the same, however often the operator
died.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from faultproxy import Entry

_DIFFERS = frozenset(
    {
        "acknowledged", "creationTimestamp", "deletionTimestamp", "epoch", "finishedAt", "generation",
        "lastTransitionTime", "lastUpdateTime", "managedFields", "observedGeneration", "podUid",
        "resourceVersion", "sequence", "startedAt", "uid", "writer",
    }
)  # fmt: skip
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)")
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_MOMENT = re.compile(r"\d\d:\d\d:\d\dZ( \(.*? after the decision\))?")
_POD = re.compile(r"(?<=-)[0-9a-z]{8,10}-[0-9a-z]{5}\b")
_ADDRESS = re.compile(r"\b\d+\.\d+\.\d+\.\d+\b")

_WITH_STATUS = frozenset({"inferencerollouts", "loadprobes"})
_RECORDS = "rolloutrecords"
_OF_A_RECORD = ("outcome", "cause", "baseline", "steps", "commands")
"""Why an attempt waited, and its words, are told with figures of the moment; a kill may make it wait."""
_OF_AN_OBJECTIVE = ("name", "verdict", "step")

EVENTS = "events"
"""Events are for people and may be lost in a crash; they do not belong to what has to be equal."""


@dataclass(frozen=True)
class History:
    """What became of a rollout.

    Attributes:
        end: The objects of its namespace that we made, normalised, by resource and name.
        made: How often each object was created: ``create RESOURCE NAME`` and ``delete RESOURCE NAME``.
    """

    end: Mapping[str, Any]
    made: Mapping[str, int]


def made(entries: Iterable[Entry]) -> Counter[str]:
    """Count the creates and deletes that the API server carried out, by object."""
    counted: Counter[str] = Counter()
    for entry in entries:
        call = entry.call
        if call.resource == EVENTS or not entry.applied:
            continue
        if entry.created:
            counted[f"create {call.resource} {call.name}"] += 1
        elif call.verb == "delete":
            counted[f"delete {call.resource} {call.name}"] += 1
    return counted


def kept(resource: str, item: Mapping[str, Any]) -> object:
    """Return what has to be equal of one object: labels and content, and the status where that is ours."""
    parts = {name: item[name] for name in ("spec", "data", "rules", "subjects") if name in item}
    if resource in _WITH_STATUS:
        parts["status"] = item.get("status")
    if resource == _RECORDS:
        parts["status"] = _recorded(item.get("status") or {})
    if "route.json" in parts.get("data", {}):
        parts["data"] = {**parts["data"], "route.json": json.loads(parts["data"]["route.json"])}
    labels, namespace = item["metadata"].get("labels"), item["metadata"].get("namespace")
    text = json.dumps({"labels": labels, **parts})
    # As a value, and in the commands that people are told to type.
    for named in ('"{}"', " -n {}"):
        text = text.replace(named.format(namespace), named.format("…"))
    return normalised(json.loads(text))


def _recorded(status: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a record says of its attempt: how it ended, what it went through, what people asked for.

    The last figures of a step depend on when it was looked at last; what was concluded from them does not.
    """
    told = {name: status[name] for name in _OF_A_RECORD if name in status}
    steps = [{**step, "objectives": _verdicts(step)} for step in told.get("steps", ())]
    return {**told, "steps": steps}


def _verdicts(step: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{name: each.get(name) for name in _OF_AN_OBJECTIVE} for each in step.get("objectives", ())]


def normalised(value: object) -> object:
    """Return a value without what differs between two runs of the same story."""
    if isinstance(value, Mapping):
        return {name: normalised(inner) for name, inner in value.items() if name not in _DIFFERS}
    if isinstance(value, list):
        return [normalised(item) for item in value]
    if isinstance(value, str):
        for pattern in (_TIME, _MOMENT, _UID, _POD, _ADDRESS):
            value = pattern.sub("…", value)
        return value
    return value


def differences(expected: object, found: object, place: str = "") -> list[str]:
    """Say where two normalised values differ, one line per place."""
    if isinstance(expected, Mapping) and isinstance(found, Mapping):
        names = sorted({*expected, *found})
        return [
            line
            for name in names
            for line in differences(expected.get(name), found.get(name), f"{place}.{name}" if place else name)
        ]
    return [] if expected == found else [f"{place}: expected {expected!r}, found {found!r}"]
