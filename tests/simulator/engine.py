"""The pretended GPU: vLLM's scheduler with continuous batching, as a state machine over a given clock.

Nothing here waits or reads a clock: ``advance`` plays all iterations that are due, so the same code runs
under a real timer (``runner``) and under a virtual clock in tests. An iteration decodes one token for
each running sequence and prefills new ones within the token budget; it lasts as long as both together:

    duration = itl * mean(factor) * (1 + batch_slope * (decoding - 1)) * noise
             + sum over prefilled sequences of tokens * prefill_per_token * factor * own noise

A request spends ``ttft * factor * own noise`` outside the batch first, so on an idle server its first
token comes after (ttft + prefill) * factor * noise, and under load it also waits for the iteration in
progress, for its share of the next one, and for a free place.
"""

import heapq
import itertools
from collections import deque
from dataclasses import dataclass, field

from simulator.chance import iteration_noise
from simulator.kvcache import KvCache
from simulator.metrics import EngineMetrics
from simulator.settings import Settings

# An engine that lags behind its clock (a busy machine, a stopped process) makes up at most this much.
_CATCH_UP_SECONDS = 0.1


@dataclass(slots=True, eq=False)
class Sequence:
    """A request on its way through the engine.

    Attributes:
        arrival: When the server received the request.
        prompt_tokens: Length of the prompt.
        blocks: Hashes of the full blocks of the prompt.
        output_tokens: Number of tokens it will generate.
        finish_reason: Why it ends after that many: ``stop`` or ``length``.
        max_tokens: What the request allowed, for the metrics.
        factor: Latency factor of the fault that hits it, 1 without one.
        noise: Its own lognormal factor on ttft and prefill.
        generated: Tokens generated so far.
        cached_tokens: Prompt tokens found in the prefix cache when it was admitted.
    """

    arrival: float
    prompt_tokens: int
    blocks: tuple[int, ...]
    output_tokens: int
    finish_reason: str
    max_tokens: int
    factor: float = 1.0
    noise: float = 1.0
    generated: int = 0
    cached_tokens: int = 0
    to_prefill: int = 0
    private_blocks: int = 0
    queued_at: float = 0.0
    admitted_at: float | None = None
    first_token_at: float = 0.0
    last_token_at: float = 0.0
    gone: bool = field(default=False)

    @property
    def finished(self) -> bool:
        """Whether the last token has been generated."""
        return self.generated >= self.output_tokens


class Engine:
    """One engine: a queue, a batch, a KV cache and the iteration in progress."""

    def __init__(self, settings: Settings, metrics: EngineMetrics, index: int = 0) -> None:
        self._latency = settings.latency
        self._capacity = settings.capacity
        self._seed = settings.seed
        self._index = index
        self._metrics = metrics
        self._kv = KvCache(
            settings.capacity.num_gpu_blocks,
            prefix_caching=settings.capacity.enable_prefix_caching,
        )
        self._arriving: list[tuple[float, int, Sequence]] = []
        self._order = itertools.count()
        self._waiting: deque[Sequence] = deque()
        self._running: dict[Sequence, None] = {}
        self._ends_at: float | None = None
        self._iteration = 0
        metrics.watch(lambda: len(self._running), lambda: len(self._waiting), lambda: self._kv.usage)

    @property
    def load(self) -> int:
        """Requests that the engine has accepted and not finished."""
        return len(self._arriving) + len(self._waiting) + len(self._running)

    def submit(self, sequence: Sequence) -> None:
        """Accept a request; it joins the queue when its share of ttft is over."""
        ready_at = sequence.arrival + self._latency.ttft * sequence.factor * sequence.noise
        heapq.heappush(self._arriving, (ready_at, next(self._order), sequence))

    def abort(self, sequence: Sequence, reason: str | None = None) -> None:
        """Drop a request that is not finished: its client left, or (with a reason) the engine failed it.

        vLLM counts the latter in ``request_success`` and the former nowhere.
        """
        if sequence.gone:
            return
        if reason is not None:
            self._metrics.finished[reason](1)
        if sequence in self._running:
            del self._running[sequence]
            self._release(sequence)
        elif sequence in self._waiting:
            self._waiting.remove(sequence)
        sequence.gone = True

    def next_event(self) -> float | None:
        """The moment at which ``advance`` has something to do; None while the engine is idle."""
        if self._ends_at is not None:
            return self._ends_at
        while self._arriving and self._arriving[0][2].gone:
            heapq.heappop(self._arriving)
        return self._arriving[0][0] if self._arriving else None

    def advance(self, due: float, now: float) -> list[Sequence]:
        """Play every iteration that is over by ``due``.

        Args:
            due: Events up to this moment happen; a little after ``now`` where timers are coarse.
            now: What the clock says, for the metrics.

        Returns:
            A sequence for each token that was generated, in order.
        """
        emitted: list[Sequence] = []
        while (event := self.next_event()) is not None and event <= due:
            if self._ends_at is not None:
                self._finish_iteration(now, emitted)
            self._start_iteration(event if now - event <= _CATCH_UP_SECONDS else now)
        return emitted

    def _start_iteration(self, start: float) -> None:
        self._collect(start)
        decoding, preempted = self._make_room()
        budget = self._capacity.max_num_batched_tokens - len(decoding)
        seconds, prefilled = self._prefill(start, budget, admit=not preempted)
        if not decoding and not prefilled:
            self._ends_at = None
            return
        if decoding:
            factor = sum(sequence.factor for sequence in decoding) / len(decoding)
            growth = 1 + self._latency.batch_slope * (len(decoding) - 1)
            noise = iteration_noise(self._seed, self._index, self._iteration, self._latency.itl_sigma)
            seconds += self._latency.itl * factor * growth * noise
        self._iteration += 1
        self._metrics.iteration_tokens(prefilled + len(decoding))
        self._ends_at = start + seconds

    def _collect(self, start: float) -> None:
        """Move the requests that are ready into the queue."""
        while self._arriving and self._arriving[0][0] <= start:
            ready_at, _, sequence = heapq.heappop(self._arriving)
            if not sequence.gone:
                sequence.queued_at = ready_at
                self._waiting.append(sequence)

    def _make_room(self) -> tuple[list[Sequence], bool]:
        """Find room for the next token of each sequence, preempting the latest ones if need be.

        Returns:
            The sequences to decode, and whether others had to go.
        """
        decoding: list[Sequence] = []
        preempted = False
        for sequence in list(self._running):
            if sequence.to_prefill or sequence not in self._running:
                continue
            needed = self._private_blocks(sequence) - sequence.private_blocks
            while needed and not self._kv.grow(needed):
                victim = next(reversed(self._running))
                self._preempt(victim)
                preempted = True
                if victim in decoding:
                    decoding.remove(victim)
                if victim is sequence:
                    break
            if sequence in self._running:
                sequence.private_blocks += needed
                decoding.append(sequence)
        return decoding, preempted

    def _prefill(self, start: float, budget: int, *, admit: bool) -> tuple[float, int]:
        """Spend the token budget on prompts: begun ones first, then (if ``admit``) waiting ones.

        Returns:
            Duration in seconds and number of prompt tokens.
        """
        seconds, total = 0.0, 0
        for sequence in self._running:
            if sequence.to_prefill and budget > total:
                tokens = min(sequence.to_prefill, budget - total)
                seconds += self._prefill_part(sequence, tokens)
                total += tokens
        places = self._capacity.max_num_seqs - len(self._running) if admit else 0
        while self._waiting and places > 0 and budget > total:
            sequence = self._waiting[0]
            if not self._admit(sequence, start):
                break
            self._waiting.popleft()
            places -= 1
            tokens = min(sequence.to_prefill, budget - total)
            seconds += self._prefill_part(sequence, tokens)
            total += tokens
        return seconds, total

    def _prefill_part(self, sequence: Sequence, tokens: int) -> float:
        sequence.to_prefill -= tokens
        return tokens * self._latency.prefill_per_token * sequence.factor * sequence.noise

    def _admit(self, sequence: Sequence, start: float) -> bool:
        private = self._private_blocks(sequence)
        cached_blocks = self._kv.cached_prefix(sequence.blocks)
        if not self._kv.admit(sequence.blocks, private):
            return False
        sequence.private_blocks = private
        self._running[sequence] = None
        length = sequence.prompt_tokens + sequence.generated
        # The last token is always computed: its logits give the next one.
        cached = min(cached_blocks * self._capacity.block_size, length - 1)
        sequence.to_prefill = length - cached
        if sequence.admitted_at is None:
            sequence.admitted_at = start
            sequence.cached_tokens = cached
            if self._capacity.enable_prefix_caching:
                self._metrics.prefix_queries(sequence.prompt_tokens)
                self._metrics.prefix_hits(cached)
        return True

    def _preempt(self, sequence: Sequence) -> None:
        """Put a running sequence back to the head of the queue, to be computed again."""
        del self._running[sequence]
        self._release(sequence)
        sequence.to_prefill = 0
        self._waiting.appendleft(sequence)
        self._metrics.preemptions(1)

    def _finish_iteration(self, now: float, emitted: list[Sequence]) -> None:
        self._ends_at = None
        for sequence in list(self._running):
            if sequence.to_prefill:
                continue
            self._emit(sequence, now)
            emitted.append(sequence)
            if sequence.finished:
                del self._running[sequence]
                self._release(sequence)
                sequence.gone = True
                self._record_finished(sequence, now)

    def _emit(self, sequence: Sequence, now: float) -> None:
        if sequence.generated:
            self._metrics.itl(now - sequence.last_token_at)
        else:
            sequence.first_token_at = now
            self._metrics.ttft(now - sequence.arrival)
            self._metrics.prompt_tokens(sequence.prompt_tokens)
            self._metrics.prompt_tokens_cached(sequence.cached_tokens)
        sequence.last_token_at = now
        sequence.generated += 1
        self._metrics.generation_tokens(1)

    def _record_finished(self, sequence: Sequence, now: float) -> None:
        metrics = self._metrics
        admitted_at = sequence.admitted_at or sequence.queued_at
        metrics.finished[sequence.finish_reason](1)
        metrics.request_prompt_tokens(sequence.prompt_tokens)
        metrics.request_generation_tokens(sequence.generated)
        metrics.request_max_tokens(sequence.max_tokens)
        metrics.e2e(now - sequence.arrival)
        metrics.queue_time(admitted_at - sequence.queued_at)
        metrics.inference_time(now - admitted_at)
        metrics.prefill_time(sequence.first_token_at - admitted_at)
        decode = now - sequence.first_token_at
        metrics.decode_time(decode)
        metrics.tpot(decode / max(1, sequence.generated - 1))

    def _release(self, sequence: Sequence) -> None:
        self._kv.release(sequence.blocks, sequence.private_blocks)
        sequence.private_blocks = 0

    def _private_blocks(self, sequence: Sequence) -> int:
        """Blocks beyond the prompt's full ones that hold the sequence and its next token."""
        length = sequence.prompt_tokens + sequence.generated + 1
        return -(-length // self._capacity.block_size) - len(sequence.blocks)
