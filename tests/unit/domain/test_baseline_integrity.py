"""A frozen baseline that was changed is found out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import ValidationError

from chaffinch.api.v1alpha1.baseline import InferenceBaselineSpec
from chaffinch.api.v1alpha1.measurement import Sketches
from chaffinch.domain import baseline as baselines
from unit.domain.measured import (
    as_json,
    frozen,
)


@dataclass(frozen=True)
class Edit:
    """One leaf of a baseline, and how to change it."""

    path: tuple[str | int, ...]
    value: object

    def apply(self, content: dict[str, Any]) -> None:
        *parents, last = self.path
        place: Any = content
        for part in parents:
            place = place[part]
        place[last] = self.value


def other(value: object) -> object:
    if isinstance(value, int):
        return value + 1
    text = str(value)
    if text.endswith("%"):
        return "11%" if text != "11%" else "12%"
    if text[-1:] in {"m", "s"} and text[:-1].isdigit():
        return f"{int(text[:-1]) + 1}{text[-1]}"
    if text.startswith("2026"):
        return "2026-03-01T12:00:01Z"
    if ":" in text and text[0].isdigit():
        bucket, _, count = text.partition(":")
        return f"{int(bucket) + 1}:{count}"
    return text[:-1] + ("1" if text[-1] != "1" else "2")


def every_leaf(value: object, path: tuple[str | int, ...] = ()) -> Iterator[Edit]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from every_leaf(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from every_leaf(item, (*path, index))
    else:
        yield Edit(path, other(value))


EDITS = list(every_leaf(as_json(frozen())))


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: ".".join(map(str, edit.path)))
def test_a_change_of_any_field_is_found(edit: Edit) -> None:
    content = as_json(frozen())
    edit.apply(content)
    assert content != as_json(frozen()), "the edit must be one"
    try:
        spec = InferenceBaselineSpec.model_validate(content)
    except ValidationError:
        return
    assert baselines.verify(spec) is not None


def test_the_edits_reach_every_part() -> None:
    assert {edit.path[0] for edit in EDITS} == {
        "name",
        "version",
        "model",
        "fingerprint",
        "profile",
        "stages",
        "gateStage",
        "provenance",
        "digest",
    }


def resealed(**changes: object) -> InferenceBaselineSpec:
    spec = frozen().model_copy(update=changes)
    return spec.model_copy(update={"digest": baselines.digest_of(spec)})


def gate_changed(**changes: object) -> InferenceBaselineSpec:
    one, gate = frozen().stages
    return resealed(stages=(one, gate.model_copy(update=changes)))


NONSENSE = {
    "another object name": (frozen(), "the object's name is not chat-h100-v1"),
    "no gate stage": (resealed(stages=frozen().stages[:1]), "the gate stage gate is missing"),
    "a gate stage of another profile": (resealed(gate_stage="one"), "gateStage differs from the profile's"),
    "more errors than requests": (
        gate_changed(errors=201),
        "stage gate: it has more errors than requests",
    ),
    "a sketch of other counts": (
        gate_changed(sketches=Sketches(ttft="180:199", e2e="240:200")),
        "stage gate: ttft: the sketch holds 199 of 200 requests",
    ),
    "failures that are not endless": (
        gate_changed(errors=3),
        "stage gate: e2e: a failed request must count as endless",
    ),
    "buckets that are not on the grid": (
        gate_changed(sketches=Sketches(ttft="548:200", e2e="240:200")),
        "stage gate: ttft: a sketch lists positive counts in rising buckets of the grid",
    ),
    "a stage that the profile does not have": (
        gate_changed(concurrency=5),
        "stage gate is not in the profile with that concurrency",
    ),
}


@pytest.mark.parametrize(("spec", "want"), NONSENSE.values(), ids=NONSENSE)
def test_a_matching_digest_does_not_excuse_nonsense(spec: InferenceBaselineSpec, want: str) -> None:
    name = "chat-h100-v2" if "name" in want else "chat-h100-v1"
    assert baselines.verify(spec, name) == want
