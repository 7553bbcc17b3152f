"""The bytes of vLLM's replies: event-stream frames and JSON bodies for both generation endpoints.

A frame differs from the next in one word, so everything around that word is encoded once per request.
The layout follows vLLM: the role comes in an event of its own together with the first token, each token
is one event, the last token's event carries the finish reason, the token counts follow if they were
asked for, and ``[DONE]`` ends the stream.
"""

import json
from typing import Any

from simulator.tokens import VOCABULARY

DONE = b"data: [DONE]\n\n"


def encode(value: object) -> bytes:
    """Compact JSON in UTF-8, as pydantic writes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def event(value: object) -> bytes:
    """One event with a JSON object as its data."""
    return b"data: " + encode(value) + b"\n\n"


def usage(prompt_tokens: int, completion_tokens: int, cached_tokens: int | None) -> dict[str, Any]:
    """The token counts; ``cached_tokens`` is None where the server does not tell them."""
    counts: dict[str, Any] = {
        "prompt_tokens": prompt_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
        "completion_tokens": completion_tokens,
    }
    if cached_tokens is not None:
        counts["prompt_tokens_details"] = {"cached_tokens": cached_tokens}
    return counts


_WORDS = tuple(encode(word) for word in VOCABULARY)
_SPLIT = "\x00"


class Reply:
    """The reply to one request.

    Args:
        kind: ``chat.completion`` or ``text_completion``.
        identity: The id of the reply.
        created: Unix time in seconds.
        model: Served name of the model.
        fingerprint: vLLM's ``system_fingerprint``, on the last message only.
    """

    def __init__(self, kind: str, identity: str, created: int, model: str, fingerprint: str) -> None:
        self._chat = kind == "chat.completion"
        self._fingerprint = fingerprint
        self._object = kind
        self._envelope = {
            "id": identity,
            "object": "chat.completion.chunk" if self._chat else kind,
            "created": created,
            "model": model,
        }
        before, after = event(self._chunk(_SPLIT, None)).split(encode(_SPLIT))
        self._before, self._after = before, after

    def head(self) -> bytes:
        """What comes right before the first token: the role, in chat."""
        if not self._chat:
            return b""
        delta = {"role": "assistant", "content": ""}
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}
        return event({**self._envelope, "choices": [choice]})

    def token(self, word: int) -> bytes:
        """The event of one token that is not the last; ``word`` indexes the vocabulary."""
        return self._before + _WORDS[word] + self._after

    def last(self, word: int, finish_reason: str, *, final_message: bool) -> bytes:
        """The event of the last token; ``final_message`` if no token counts follow."""
        chunk = self._chunk(VOCABULARY[word], finish_reason)
        if final_message:
            chunk["system_fingerprint"] = self._fingerprint
        return event(chunk)

    def counts(self, counts: dict[str, Any]) -> bytes:
        """The event with the token counts."""
        return event(
            {
                **self._envelope,
                "choices": [],
                "usage": counts,
                "system_fingerprint": self._fingerprint,
            }
        )

    def body(self, text: str, finish_reason: str, counts: dict[str, Any]) -> bytes:
        """The whole reply to a request that did not ask for a stream."""
        choice: dict[str, Any] = {"index": 0}
        if self._chat:
            choice["message"] = {"role": "assistant", "content": text, "refusal": None}
        else:
            choice["text"] = text
        choice |= {"logprobs": None, "finish_reason": finish_reason, "stop_reason": None}
        envelope = {**self._envelope, "object": self._object}
        return encode(
            {
                **envelope,
                "choices": [choice],
                "system_fingerprint": self._fingerprint,
                "usage": counts,
            }
        )

    def _chunk(self, text: str, finish_reason: str | None) -> dict[str, Any]:
        choice: dict[str, Any] = {"index": 0}
        choice |= {"delta": {"content": text}} if self._chat else {"text": text}
        choice |= {"logprobs": None, "finish_reason": finish_reason}
        # Unset until the end in vLLM too, which leaves unset fields out.
        if finish_reason is not None or not self._chat:
            choice["stop_reason"] = None
        return {**self._envelope, "choices": [choice]}
