"""Runs engines on the event loop's clock and hands tokens to the coroutines that send them.

One timer per engine, for its next iteration, instead of one per stream: that is how a GPU paces its
streams, and it is what lets one core carry hundreds of them.
"""

import asyncio
import time

from simulator.engine import Engine, Sequence

# The event loop's timers count whole milliseconds, so they may fire this much early or late; events that
# close to the present are played at once, which keeps the error centred on zero.
_TIMER_GRAIN_SECONDS = 0.0005


class TokenStream:
    """The tokens of one sequence, as they come."""

    __slots__ = ("_ready", "_taken", "sequence")

    def __init__(self, sequence: Sequence) -> None:
        self.sequence = sequence
        self._taken = 0
        self._ready: asyncio.Future[None] | None = None

    def wake(self) -> None:
        """Tell the reader that the sequence has grown."""
        if self._ready is not None and not self._ready.done():
            self._ready.set_result(None)

    @property
    def pending(self) -> bool:
        """Whether there are tokens that were not taken yet."""
        return self._taken < self.sequence.generated

    async def take(self) -> range:
        """Wait for tokens; the positions of those that were not taken before."""
        while not self.pending:
            self._ready = asyncio.get_running_loop().create_future()
            await self._ready
        positions = range(self._taken, self.sequence.generated)
        self._taken = self.sequence.generated
        return positions


class EngineRunner:
    """Drives one engine; all calls come from the event loop's thread."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._streams: dict[Sequence, TokenStream] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._armed_for: float | None = None

    def submit(self, sequence: Sequence) -> TokenStream:
        """Start a sequence."""
        stream = TokenStream(sequence)
        self._streams[sequence] = stream
        self.engine.submit(sequence)
        self._arm()
        return stream

    def abort(self, stream: TokenStream, reason: str | None = None) -> None:
        """End a stream early; harmless when it is over."""
        self._streams.pop(stream.sequence, None)
        self.engine.abort(stream.sequence, reason)

    def _arm(self) -> None:
        event = self.engine.next_event()
        if event == self._armed_for:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._armed_for = event
        if event is None:
            self._timer = None
            return
        delay = max(0.0, event - time.monotonic())
        self._timer = asyncio.get_running_loop().call_later(delay, self._tick)

    def _tick(self) -> None:
        self._armed_for = None
        now = time.monotonic()
        for sequence in self.engine.advance(now + _TIMER_GRAIN_SECONDS, now):
            stream = self._streams.get(sequence)
            if stream is not None:
                stream.wake()
                if sequence.finished:
                    del self._streams[sequence]
        self._arm()
