from __future__ import annotations

import asyncio
from typing import Any

import pytest

from chaffinch.domain.observation import BaselineSeen, FrozenRevision
from chaffinch.ports.cluster import UnavailableError
from chaffinch.runtime.baseline_reading import BaselineReader, Comparison
from fakes.baselines import baseline_object
from fakes.cluster import FakeCluster

NAME = "chat-base-v1"


def _revision(*, gpus: str = "0", model: str = "chat", image: str = "engine:2") -> FrozenRevision:
    container = {"image": image, "args": ["other"], "resources": {"limits": {"nvidia.com/gpu": gpus}}}
    spec = {"model": {"name": model, "source": "example/chat-1b", "revision": "main"}}
    return FrozenRevision(1, 1, {"spec": {"containers": [container]}}, spec, 60)


def _read(
    body: dict[str, Any] | None, measured: FrozenRevision | None = None, profile: str | None = "smoke/v1"
) -> BaselineSeen:
    cluster = FakeCluster()
    if body is not None:
        cluster.put(body)
    comparison = Comparison(NAME, "0a1b2c3d", profile)
    return asyncio.run(BaselineReader(cluster).read("shop", comparison, measured or _revision()))


def test_an_unaltered_baseline_of_the_same_circumstances_can_be_compared_with() -> None:
    body = baseline_object("chat-base", "v1")
    seen = _read(body)
    assert (seen.found, seen.problem, seen.uid) == (True, None, "uid-baseline")
    assert seen.digest == body["spec"]["digest"]
    assert seen.gate is not None
    assert seen.gate.requests == 200


def test_without_a_probe_step_its_own_load_is_what_it_is_compared_under() -> None:
    assert _read(baseline_object("chat-base", "v1"), profile=None).problem is None


def test_an_absent_baseline_is_named_with_the_remedy() -> None:
    seen = _read(None)
    assert (seen.found, seen.problem, seen.gate) == (False, "BaselineNotFound", None)
    assert seen.detail == (
        "there is no InferenceBaseline chat-base-v1; freeze it, or name another one in spec.baseline"
    )


@pytest.mark.parametrize("spoil", ["digest", "content", "field"])
def test_a_baseline_that_was_altered_gives_no_numbers(spoil: str) -> None:
    body = baseline_object("chat-base", "v1")
    if spoil == "digest":
        body["spec"]["digest"] = "sha256:" + "0" * 64
    elif spoil == "content":
        body["spec"]["stages"][0]["errors"] += 1
    else:
        body["spec"]["extra"] = 1
    seen = _read(body)
    assert (seen.found, seen.problem, seen.gate) == (True, "BaselineTampered", None)


@pytest.mark.parametrize(
    ("measured", "profile", "want"),
    [
        (_revision(gpus="1"), "smoke/v1", "gpuCount"),
        (_revision(model="code"), "smoke/v1", "model.name"),
        (_revision(), "standard/v1", "profile"),
    ],
)
def test_other_circumstances_are_named_and_give_no_numbers(
    measured: FrozenRevision, profile: str, want: str
) -> None:
    seen = _read(baseline_object("chat-base", "v1"), measured, profile)
    assert (seen.problem, seen.gate) == ("BaselineMismatch", None)
    assert seen.detail == f"it was measured with another {want}"


def test_a_failed_read_is_not_an_absent_baseline() -> None:
    cluster = FakeCluster()
    cluster.fault = lambda *_: UnavailableError("down")
    with pytest.raises(UnavailableError):
        asyncio.run(BaselineReader(cluster).read("shop", Comparison(NAME, "0a1b2c3d", None), None))
