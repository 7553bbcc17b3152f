"""Who is looked after by which task, and who is woken by what.

One task per object, by uid: an object that is deleted and made again is another object. The watch engine
calls :meth:`Hub.saw` for every event of a rollout or probe and :meth:`Hub.wake` for every event of something
below it; both only set flags, so no object can delay another one here.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from chaffinch.runtime.wake import Version, Wake


class SubjectKind(StrEnum):
    """The kinds of objects that have a task of their own."""

    ROLLOUT = "rollout"
    PROBE = "probe"
    COMMAND = "command"


@dataclass(frozen=True, slots=True)
class Subject:
    """One object that is looked after.

    Attributes:
        kind: What it is.
        namespace: Its namespace.
        name: Its name.
        uid: Its uid; the identity of the task.
    """

    kind: SubjectKind
    namespace: str
    name: str
    uid: str


_Place = tuple[SubjectKind, str]
"""A kind and a namespace."""


@dataclass(slots=True)
class _Care:
    subject: Subject
    wake: Wake
    task: asyncio.Task[None]


class Hub:
    """Owns the tasks.

    Args:
        look_after: Looks after one subject until it is gone; woken by the event. It must catch whatever
            happens in it, as nobody awaits the task.
    """

    def __init__(self, look_after: Callable[[Subject, Wake], Coroutine[Any, Any, None]]) -> None:
        self._look_after = look_after
        self._cares: dict[str, _Care] = {}
        self._places: dict[_Place, dict[str, _Care]] = {}
        self._stopped = False

    def saw(self, subject: Subject, *, deleted: bool = False, version: Version | None = None) -> None:
        """Take note of an event of the subject itself: start its task, wake it, or end it.

        Args:
            subject: Whose event.
            deleted: Whether it is gone.
            version: What it is now; its task is not woken if that comes from its own last write. None always
                wakes it.
        """
        if deleted:
            self._end(subject.uid)
            return
        namesake = self._places.get(_place_of(subject), {}).get(subject.name)
        if namesake and namesake.subject.uid != subject.uid:
            self._end(namesake.subject.uid)
        if subject.uid not in self._cares and not self._stopped:
            self._start(subject)
        elif care := self._cares.get(subject.uid):
            care.wake.set() if version is None else care.wake.saw(version)

    def wake(
        self, kind: SubjectKind, namespace: str, name: str | None = None, *, at_once: bool = False
    ) -> None:
        """Wake the subject of this name, or without a name all of the kind in the namespace.

        Args:
            kind: Of which kind.
            namespace: In which namespace.
            name: Of which name.
            at_once: Whether its next pass is urgent.
        """
        there = self._places.get((kind, namespace), {})
        named = there.values() if name is None else filter(None, [there.get(name)])
        for care in named:
            care.wake.set_at_once() if at_once else care.wake.set()

    async def stop(self, grace_seconds: float) -> None:
        """Cancel all tasks, start no more, and wait a moment for them to end."""
        self._stopped = True
        tasks = [care.task for care in self._cares.values()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=grace_seconds)

    def _start(self, subject: Subject) -> None:
        wake = Wake()
        wake.set()
        task = asyncio.create_task(self._look_after(subject, wake), name=f"{subject.kind} {subject.uid}")
        self._cares[subject.uid] = care = _Care(subject, wake, task)
        self._places.setdefault(_place_of(subject), {})[subject.name] = care
        task.add_done_callback(lambda done: self._ended(subject.uid, done))

    def _end(self, uid: str) -> None:
        if care := self._forgotten(uid):
            care.task.cancel()

    def _ended(self, uid: str, task: asyncio.Task[None]) -> None:
        care = self._cares.get(uid)
        if care is not None and care.task is task:
            self._forgotten(uid)
        with contextlib.suppress(asyncio.CancelledError):
            task.exception()

    def _forgotten(self, uid: str) -> _Care | None:
        care = self._cares.pop(uid, None)
        if care is not None:
            place = _place_of(care.subject)
            there = self._places[place]
            del there[care.subject.name]
            if not there:
                del self._places[place]
        return care


def _place_of(subject: Subject) -> _Place:
    return subject.kind, subject.namespace
