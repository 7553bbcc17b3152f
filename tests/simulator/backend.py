"""Turns what a client asked for into work for an engine: luck, faults, lengths, the choice of engine."""

import math
import time
from dataclasses import dataclass

from simulator.chance import Occurrences, RequestChance, content_digest
from simulator.engine import Engine, Sequence
from simulator.exposition import Registry
from simulator.faults import ErrorKind, Faults
from simulator.kvcache import block_hashes
from simulator.metrics import EngineMetrics, register_info
from simulator.protocol import ApiError, Generation, error_object
from simulator.runner import EngineRunner, TokenStream
from simulator.settings import Settings
from simulator.tokens import Answer

# Spread of the logarithm of answer lengths, where answers end by themselves.
_LENGTH_SIGMA = 0.5

_ERRORS = {
    ErrorKind.HTTP_500: (500, "InternalServerError", "engine core died"),
    ErrorKind.NOT_FOUND: (404, "NotFoundError", "The model does not exist."),
    ErrorKind.TOO_MANY: (429, "RateLimitError", "Too many requests."),
}
IN_BAND_ERROR = error_object(500, "InternalServerError", "engine stopped")


class RefusedError(Exception):
    """The fault ``refused`` hit: the connection is to be closed without a reply."""


@dataclass(frozen=True, slots=True)
class Job:
    """A request that an engine works on.

    Attributes:
        runner: Where it runs.
        stream: Its tokens.
        answer: Its words.
        breaks: How it fails midway, if it does: ``CUT`` or ``IN_BAND``.
    """

    runner: EngineRunner
    stream: TokenStream
    answer: Answer
    breaks: ErrorKind | None

    @property
    def sequence(self) -> Sequence:
        """The request inside the engine."""
        return self.stream.sequence

    @property
    def breaks_after(self) -> int | None:
        """Number of tokens after which it fails; None if it does not."""
        return None if self.breaks is None else (self.sequence.output_tokens + 1) // 2

    def end(self, reason: str | None = None) -> None:
        """Free the engine of it, whether it is finished or not."""
        self.runner.abort(self.stream, reason)


class Backend:
    """All engines of one server; data parallelism makes them several.

    Attributes:
        faults: The faults in force; replace it to change them.
    """

    def __init__(self, settings: Settings, registry: Registry) -> None:
        self.settings = settings
        self.faults = Faults()
        self._occurrences = Occurrences()
        self._runners = [
            EngineRunner(Engine(settings, EngineMetrics(registry, settings, index), index))
            for index in range(settings.data_parallel_size)
        ]
        register_info(registry, settings)

    def open(self) -> None:
        """Begin to serve: the faults' delays count from here."""
        self.faults = self.settings.faults.started_at(time.monotonic())

    def start(self, generation: Generation, arrival: float) -> Job:
        """Put a request to work.

        Raises:
            ApiError: The request cannot be served, or a fault answers for the engine.
            RefusedError: A fault wants no answer at all.
        """
        self._check(generation)
        occurrence = self._occurrences.next(content_digest(generation.content))
        chance = RequestChance.of(self.settings.seed, generation.content, occurrence)
        error = self.faults.error(chance.failure)
        if error is ErrorKind.REFUSED:
            raise RefusedError
        if error in _ERRORS:
            raise ApiError(*_ERRORS[error])
        runner = min(self._runners, key=lambda runner: runner.engine.load)
        stream = runner.submit(self._sequence(generation, chance, arrival))
        return Job(runner, stream, self._answer(generation, occurrence), error)

    def _check(self, generation: Generation) -> None:
        if generation.model and generation.model not in self.settings.served_names:
            message = f"The model `{generation.model}` does not exist."
            raise ApiError(404, "NotFoundError", message, "model")
        limit, prompt = self.settings.capacity.max_model_len, len(generation.tokens)
        wanted = prompt + (generation.max_tokens or 1)
        if wanted > limit:
            raise ApiError(
                400,
                "BadRequestError",
                f"This model's maximum context length is {limit} tokens. However, you requested "
                f"{wanted} tokens ({prompt} in the prompt).",
                "input_tokens",
            )

    def _sequence(self, generation: Generation, chance: RequestChance, arrival: float) -> Sequence:
        prompt = len(generation.tokens)
        room = generation.max_tokens or self.settings.capacity.max_model_len - prompt
        length, reason = self._length(generation, chance, room)
        return Sequence(
            arrival=arrival,
            prompt_tokens=prompt,
            blocks=block_hashes(generation.tokens, self.settings.capacity.block_size, generation.cache_salt),
            output_tokens=length,
            finish_reason=reason,
            max_tokens=room,
            factor=self.faults.factor(prompt, arrival),
            noise=math.exp(self.settings.latency.sigma * chance.latency),
        )

    def _length(self, generation: Generation, chance: RequestChance, room: int) -> tuple[int, str]:
        """Number of tokens of the answer, and why it ends there."""
        if generation.ignore_eos:
            return room, "length"
        natural = round(self.settings.output_tokens * math.exp(_LENGTH_SIGMA * chance.length))
        natural = max(natural, generation.min_tokens, 1)
        return (natural, "stop") if natural < room else (room, "length")

    def _answer(self, generation: Generation, occurrence: int) -> Answer:
        if generation.repeatable:
            return Answer(content_digest(generation.content))
        own = f"{self.settings.seed} {occurrence}".encode()
        return Answer(content_digest(generation.content, own))
