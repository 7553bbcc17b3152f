"""Turns the access log into counters, and looks after log and Envoy while doing so."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from chaffinch.agent.accesslog import MalformedLineError, parse_line
from chaffinch.agent.admin import AdminError, EnvoyAdmin
from chaffinch.agent.blocks import Blocks
from chaffinch.agent.logreader import LogReader

READ_SECONDS = 0.5
_RESTART_SLACK_SECONDS = 2.5

log = logging.getLogger(__name__)


@dataclass(slots=True)
class LogCounter:
    """Reads lines into blocks.

    Attributes:
        reader: The access log.
        blocks: The counters.
        admin: Envoy's admin interface.
        clock: The wall clock, in Unix seconds.
        lines: Lines that were read.
        dropped: Lines that were not of our format.
        rotations: Completed requests to Envoy to open its log anew.
        restarts: Restarts of Envoy that were noticed.
    """

    reader: LogReader
    blocks: Blocks
    admin: EnvoyAdmin
    clock: Callable[[], float]
    lines: int = 0
    dropped: int = 0
    rotations: int = 0
    restarts: int = 0
    _envoy_start: float | None = None
    _answers: bool = False

    async def run(self) -> None:
        """Count until cancelled."""
        while True:
            await self.count()
            await self.look_after()
            await asyncio.sleep(READ_SECONDS)

    async def count(self) -> None:
        """Read the log to its end, then let the blocks mature whose time has come."""
        while True:
            now = self.clock()
            reading = self.reader.read()
            for line in reading.lines:
                self._take(line)
            if reading.complete:
                self.blocks.advance(now)
                return
            await asyncio.sleep(0)

    async def look_after(self) -> None:
        """Rotate a long log, and notice when Envoy has been restarted."""
        try:
            if self.reader.is_long:
                self.reader.rename()
            if self.reader.awaits_new_file:
                await self.admin.reopen_logs()
                self.rotations += 1
            self._notice_restart(await self.admin.uptime_seconds())
        except AdminError:
            # Envoy is down or busy. If it is down, it opens its path anew when it starts; if it is
            # busy, the next round asks again. Nothing is lost meanwhile.
            self._tell(answers=False)
        else:
            self._tell(answers=True)

    def _tell(self, *, answers: bool) -> None:
        if answers is not self._answers:
            self._answers = answers
            log.info("Envoy's admin interface %s", "answers" if answers else "does not answer")

    def _take(self, line: bytes) -> None:
        self.lines += 1
        try:
            parsed = parse_line(line)
        except MalformedLineError:
            self.dropped += 1
            return
        self.blocks.observe(parsed)

    def _notice_restart(self, uptime: int) -> None:
        start = self.clock() - uptime
        if self._envoy_start is not None and start > self._envoy_start + _RESTART_SLACK_SECONDS:
            self.restarts += 1
            self.blocks.envoy_restarted(start)
            log.warning("Envoy has been restarted; its open requests are not counted")
            self._envoy_start = start
        elif self._envoy_start is None:
            self._envoy_start = start
