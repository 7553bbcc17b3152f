from __future__ import annotations

import asyncio
from dataclasses import replace

from chaffinch.runtime.hub import Hub, Subject, SubjectKind
from chaffinch.runtime.wake import Wake
from fakes.virtual_time import run

CHAT = Subject(SubjectKind.ROLLOUT, "shop", "chat", "uid-1")
CODE = Subject(SubjectKind.ROLLOUT, "shop", "code", "uid-2")
ELSEWHERE = Subject(SubjectKind.ROLLOUT, "lab", "chat", "uid-3")
PROBE = Subject(SubjectKind.PROBE, "shop", "chat", "uid-4")


class Diary:
    """Looks after subjects by writing down what happens to them."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.hub = Hub(self._look_after)

    async def _look_after(self, subject: Subject, wake: asyncio.Event) -> None:
        self.lines.append(f"start {subject.uid}")
        try:
            while True:
                await wake.wait()
                wake.clear()
                self.lines.append(f"woken {subject.uid}")
        finally:
            self.lines.append(f"end {subject.uid}")

    async def tell(self) -> list[str]:
        await asyncio.sleep(0.01)
        lines, self.lines = self.lines, []
        return lines


def test_the_first_event_starts_one_task_and_later_ones_wake_it() -> None:
    async def story() -> None:
        diary = Diary()
        diary.hub.saw(CHAT)
        assert await diary.tell() == ["start uid-1", "woken uid-1"]
        diary.hub.saw(CHAT)
        diary.hub.saw(CHAT)
        assert await diary.tell() == ["woken uid-1"]

    run(story())


def test_deletion_ends_the_task_and_another_uid_of_the_name_replaces_it() -> None:
    async def story() -> None:
        diary = Diary()
        diary.hub.saw(CHAT)
        await diary.tell()
        diary.hub.saw(CHAT, deleted=True)
        assert await diary.tell() == ["end uid-1"]
        diary.hub.saw(CHAT)
        await diary.tell()
        diary.hub.saw(replace(CHAT, uid="uid-9"))  # the event of the deletion was missed
        assert sorted(await diary.tell()) == ["end uid-1", "start uid-9", "woken uid-9"]
        diary.hub.wake(SubjectKind.ROLLOUT, "shop", "chat")
        assert await diary.tell() == ["woken uid-9"]

    run(story())


def test_a_wake_reaches_the_named_subject_or_all_of_a_kind_in_the_namespace() -> None:
    async def story() -> None:
        diary = Diary()
        for subject in (CHAT, CODE, ELSEWHERE, PROBE):
            diary.hub.saw(subject)
        await diary.tell()
        diary.hub.wake(SubjectKind.ROLLOUT, "shop", "chat")
        assert await diary.tell() == ["woken uid-1"]
        diary.hub.wake(SubjectKind.ROLLOUT, "shop")
        assert await diary.tell() == ["woken uid-1", "woken uid-2"]
        diary.hub.wake(SubjectKind.PROBE, "shop", "unknown")
        assert await diary.tell() == []

    run(story())


def test_a_task_is_not_woken_by_the_event_of_its_own_write() -> None:
    async def story() -> int:
        passes = 0

        async def look_after(_: Subject, wake: Wake) -> None:
            nonlocal passes
            while True:
                await wake.wait()
                wake.clear()
                passes += 1
                wake.wrote(("17", 3))

        hub = Hub(look_after)
        for version in (("16", 3), ("17", 3), ("18", 3)):
            hub.saw(CHAT, version=version)
            await asyncio.sleep(0.01)
        await hub.stop(grace_seconds=2)
        return passes

    assert run(story()) == 2


def test_a_wake_may_be_urgent_until_the_next_pass_begins() -> None:
    async def story() -> list[bool]:
        urgent = []

        async def look_after(_: Subject, wake: Wake) -> None:
            while True:
                await wake.wait()
                urgent.append(wake.urgent.is_set())
                wake.clear()

        hub = Hub(look_after)
        hub.saw(CHAT)
        for at_once in (True, False):
            await asyncio.sleep(0.01)
            hub.wake(SubjectKind.ROLLOUT, "shop", "chat", at_once=at_once)
        await asyncio.sleep(0.01)
        await hub.stop(grace_seconds=2)
        return urgent

    assert run(story()) == [False, True, False]


def test_a_task_that_ends_by_itself_is_forgotten_and_can_start_again() -> None:
    async def story() -> None:
        ended = []

        async def once(subject: Subject, wake: asyncio.Event) -> None:
            del wake
            ended.append(subject.uid)

        hub = Hub(once)
        hub.saw(CHAT)
        await asyncio.sleep(0.01)
        hub.saw(CHAT)
        await asyncio.sleep(0.01)
        assert ended == ["uid-1", "uid-1"]

    run(story())


def test_stopping_ends_all_tasks_and_starts_no_more() -> None:
    async def story() -> None:
        diary = Diary()
        diary.hub.saw(CHAT)
        diary.hub.saw(CODE)
        await diary.tell()
        await diary.hub.stop(grace_seconds=2)
        assert sorted(await diary.tell()) == ["end uid-1", "end uid-2"]
        diary.hub.saw(ELSEWHERE)
        assert await diary.tell() == []

    run(story())
