"""An event loop in a thread of its own, so that servers go on answering while a test waits for something."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self, TypeVar

T = TypeVar("T")

_LONGEST_SECONDS = 30.0


class Background:
    """Runs coroutines for callers that are not asynchronous."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="background", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.run(self._cancel_all())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, coroutine: Coroutine[Any, Any, T], seconds: float = _LONGEST_SECONDS) -> T:
        """Return what a coroutine returns; it runs in the thread.

        Raises:
            TimeoutError: If it takes longer than so many seconds.
        """
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(seconds)

    async def _cancel_all(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
