"""What a user saw of one request, and the rules by which an answer counts as a failure."""

import json
from dataclasses import dataclass
from enum import StrEnum

from traffic.events import Event


class Failure(StrEnum):
    """The ways in which a request can fail for its user."""

    REFUSED = "refused"
    """No connection, or it closed before any reply."""
    HTTP_5XX = "http5xx"
    """A reply of status 5xx."""
    HTTP_4XX = "http4xx"
    """A reply of status 4xx."""
    CUT = "cut"
    """The answer broke off, or ended without saying why."""
    IN_BAND = "inband"
    """A reply of status 200 that carries an error, or an answer that the engine aborted."""
    EMPTY = "empty"
    """A complete answer without a single token."""
    TIMEOUT = "timeout"
    """Not complete in time."""
    OTHER = "other"
    """A reply that is no answer: another status, or a body that is not understood."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One request, as its user saw it.

    Attributes:
        at: When it was due, seconds after the start; latencies count from there.
        revision: Revision that answered, if the reply named it.
        failure: How it failed; None if it did not.
        ttft: Seconds to the first event with generated text; None if there was none.
        e2e: Seconds to the end of the answer; None if it failed.
        tokens: Events with generated text.
    """

    at: float
    revision: str | None = None
    failure: Failure | None = None
    ttft: float | None = None
    e2e: float | None = None
    tokens: int = 0


class Answer:
    """Judges an answer from its events."""

    def __init__(self) -> None:
        self.tokens = 0
        self._finish_reason: str | None = None
        self._failure: Failure | None = None
        self._closed = False

    @property
    def complete(self) -> bool:
        """Whether its last token, or its failure, has come."""
        return self._finish_reason is not None or self._failure is not None

    @property
    def closed(self) -> bool:
        """Whether it said that nothing follows; a connection that breaks after that does no harm."""
        return self._closed

    def take(self, event: Event) -> None:
        """Look at the next event."""
        if event.data.strip() == "[DONE]":
            self._closed = True
            return
        try:
            chunk = json.loads(event.data)
        except ValueError:
            self._failure = Failure.OTHER
            return
        if event.name == "error" or is_error(chunk):
            self._failure = Failure.IN_BAND
        elif isinstance(chunk, dict):
            for choice in chunk.get("choices") or ():
                self._take_choice(choice)

    def failure(self) -> Failure | None:
        """The verdict once the stream has ended in good order."""
        if self._failure is not None:
            return self._failure
        if self._finish_reason is None:
            return Failure.CUT
        if self._finish_reason in ("abort", "error"):
            return Failure.IN_BAND
        return None if self.tokens else Failure.EMPTY

    def _take_choice(self, choice: object) -> None:
        if not isinstance(choice, dict):
            return
        delta = choice.get("delta")
        # A role or an empty text is no token; text that the model reasons with is one.
        fields = ("content", "reasoning", "reasoning_content", "tool_calls")
        if isinstance(delta, dict) and any(delta.get(field) for field in fields):
            self.tokens += 1
        if isinstance(choice.get("finish_reason"), str):
            self._finish_reason = choice["finish_reason"]


def is_error(body: object) -> bool:
    """Whether a JSON body of a reply of status 200 is an error object."""
    return isinstance(body, dict) and bool(body.get("error"))


def failure_of_status(status: int) -> Failure | None:
    """The failure that a status means; None for 200."""
    if status == 200:
        return None
    if status >= 500:
        return Failure.HTTP_5XX
    return Failure.HTTP_4XX if status >= 400 else Failure.OTHER
