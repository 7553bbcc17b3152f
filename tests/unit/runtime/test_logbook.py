"""A rollout can be followed in the operator's log, and a fault that lasts does not fill it."""

from __future__ import annotations

import logging

import pytest

from chaffinch.domain.names import RolloutIdentity
from chaffinch.domain.observation import Observation
from chaffinch.ports.cluster import Kinds, UnavailableError
from chaffinch.runtime.logbook import Logbook
from fakes.cluster import Key
from fakes.virtual_time import run
from fakes.world import NAME, NAMESPACE, Shop, rollout

CHAT = RolloutIdentity("shop", "chat", "uid-1")


def lines(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [(record.levelname, record.getMessage()) for record in caplog.records]


def test_a_fault_is_told_when_it_comes_when_it_changes_and_when_it_is_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "chaffinch")
    logbook = Logbook()
    for problems in ((), ("no Pods", "no Jobs"), ("no Pods",), ("no Services",), (), (), ("no Pods",)):
        logbook.read(Observation(CHAT, problems=problems))
    assert lines(caplog) == [
        ("WARNING", "nothing is decided, a read failed: no Pods"),
        ("WARNING", "nothing is decided, a read failed: no Services"),
        ("INFO", "everything can be read again"),
        ("WARNING", "nothing is decided, a read failed: no Pods"),
    ]
    assert {(record.__dict__["namespace"], record.__dict__["rollout"]) for record in caplog.records} == {
        ("shop", "chat")
    }


def test_a_pass_logs_its_transition_once_and_a_failed_read_once(caplog: pytest.LogCaptureFixture) -> None:
    def no_pods(_: str, key: Key) -> BaseException | None:
        return UnavailableError("list Pod: no answer") if key[0] == Kinds.POD.kind else None

    async def story() -> str:
        shop = Shop()
        shop.apply(rollout())
        await shop.run_pass()
        (revision,) = shop.revisions
        shop.cluster.fault = no_pods
        await shop.run_pass()
        await shop.run_pass()
        return revision

    caplog.set_level(logging.INFO, "chaffinch.runtime.logbook")
    revision = run(story())
    assert lines(caplog) == [
        ("INFO", f"Deploy Deploying: attempt 1: {revision} is being deployed"),
        ("WARNING", "nothing is decided, a read failed: list Pod: no answer"),
    ]
    started = caplog.records[0].__dict__
    assert {name: started[name] for name in ("namespace", "rollout", "revision", "attempt")} == {
        "namespace": NAMESPACE,
        "rollout": NAME,
        "revision": revision,
        "attempt": "1",
    }
