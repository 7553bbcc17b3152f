from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from chaffinch.adapters.recorder import EventRecorder
from chaffinch.ports.cluster import DeniedError
from chaffinch.ports.recorder import Note, Severity
from fakes.cluster import FakeCluster
from fakes.virtual_time import LoopClock, run

CHAT = {
    "apiVersion": "chaffinch.dev/v1alpha1",
    "kind": "InferenceRollout",
    "metadata": {"namespace": "shop", "name": "chat", "uid": "u1"},
}
NOTE = Note(Severity.NORMAL, "Promoted", "Promote", "0a1b2c3d serves all traffic.")


def test_an_event_says_what_happened_to_whom() -> None:
    async def story() -> None:
        cluster = FakeCluster()
        await EventRecorder(cluster, LoopClock(), "operator-1").record(CHAT, NOTE)
        ((key, event),) = cluster.objects.items()
        assert key[:2] == ("Event", "shop")
        assert event["regarding"] == {
            "apiVersion": "chaffinch.dev/v1alpha1",
            "kind": "InferenceRollout",
            "namespace": "shop",
            "name": "chat",
            "uid": "u1",
        }
        said = (event["type"], event["reason"], event["action"], event["note"])
        assert said == ("Normal", "Promoted", "Promote", "0a1b2c3d serves all traffic.")
        assert (event["reportingController"], event["reportingInstance"]) == (
            "chaffinch.dev/operator",
            "operator-1",
        )
        assert event["eventTime"] == "2026-03-01T14:00:00Z"

    run(story())


def test_the_same_thing_is_said_once_even_by_another_process() -> None:
    async def story() -> None:
        cluster = FakeCluster()
        await EventRecorder(cluster, LoopClock(), "operator-1").record(CHAT, NOTE)
        await EventRecorder(cluster, LoopClock(), "operator-2").record(CHAT, NOTE)
        await EventRecorder(cluster, LoopClock(), "operator-1").record(CHAT, replace(NOTE, reason="Other"))
        assert len(cluster.objects) == 2

    run(story())


def test_an_event_that_cannot_be_written_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        cluster = FakeCluster()
        cluster.fault = lambda verb, _: DeniedError("the role is missing") if verb == "create" else None
        await EventRecorder(cluster, LoopClock(), "operator-1").record(CHAT, NOTE)

    with caplog.at_level(logging.WARNING):
        run(story())
    assert caplog.messages == ["an event was not recorded: the role is missing"]
