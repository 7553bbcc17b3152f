"""Reads the bodies of OpenAI's two generation endpoints, with the checks and the error texts of vLLM.

Only the fields that change how a stand-in behaves are read; any other field of the OpenAI schema is
accepted and ignored, as vLLM ignores fields that it does not know.
"""

import json
from dataclasses import dataclass
from typing import Any

from simulator.tokens import tokenize


class ApiError(Exception):
    """A reply of status 4xx or 5xx in vLLM's form.

    Attributes:
        status: HTTP status.
        body: The error object as it is sent.
    """

    def __init__(self, status: int, kind: str, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.body = error_object(status, kind, message, param)


def error_object(
    status: int, kind: str, message: str, param: str | None = None
) -> dict[str, dict[str, str | int | None]]:
    """vLLM's error object."""
    return {"error": {"message": message, "type": kind, "param": param, "code": status}}


@dataclass(frozen=True, slots=True)
class Generation:
    """What a client asked for.

    Attributes:
        model: Name of the model it asked for.
        tokens: The prompt, as text pieces or as token ids.
        content: Bytes that tell prompts (and salts and seeds) apart, as key for luck and answer.
        max_tokens: Most tokens it wants; None for as many as fit.
        min_tokens: Fewest tokens it wants.
        ignore_eos: Whether the answer must not end by itself.
        stream: Whether it wants events.
        include_usage: Whether the stream ends with the token counts.
        repeatable: Whether equal prompts must get equal answers.
        cache_salt: Separates prefix caches of different tenants.
    """

    model: str
    tokens: tuple[object, ...]
    content: bytes
    max_tokens: int | None
    min_tokens: int
    ignore_eos: bool
    stream: bool
    include_usage: bool
    repeatable: bool
    cache_salt: str


def parse_chat(body: bytes) -> Generation:
    """Read the body of ``/v1/chat/completions``.

    Raises:
        ApiError: Status 400, naming the field.
    """
    fields = _object(body)
    messages = fields.get("messages")
    if not isinstance(messages, list) or not messages:
        raise _bad("messages", "must be a list with at least one message")
    tokens: list[object] = []
    for message in messages:
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise _bad("messages", "each message must be an object with a role")
        tokens.append(f"<|{message['role']}|>")
        tokens += tokenize(_text(message.get("content")))
    tokens.append("<|assistant|>")
    limit = "max_completion_tokens" if "max_completion_tokens" in fields else "max_tokens"
    return _generation(fields, tuple(tokens), limit, default_max_tokens=None)


def parse_completion(body: bytes) -> Generation:
    """Read the body of ``/v1/completions``.

    Raises:
        ApiError: Status 400, naming the field.
    """
    fields = _object(body)
    prompt = fields.get("prompt")
    if isinstance(prompt, list) and len(prompt) == 1 and isinstance(prompt[0], str | list):
        prompt = prompt[0]
    if isinstance(prompt, str):
        tokens: tuple[object, ...] = tuple(tokenize(prompt))
    elif isinstance(prompt, list) and all(isinstance(token, int) for token in prompt):
        tokens = tuple(prompt)
    else:
        raise _bad("prompt", "must be one text or one list of token ids")
    if not tokens:
        raise _bad("prompt", "must not be empty")
    # The completions endpoint of the OpenAI schema stops after 16 tokens unless told otherwise.
    return _generation(fields, tokens, "max_tokens", default_max_tokens=16)


def count_tokens(body: bytes) -> int:
    """Length of the prompt in a body of ``/tokenize``, which may be of either kind.

    Raises:
        ApiError: Status 400, naming the field.
    """
    parse = parse_chat if "messages" in _object(body) else parse_completion
    return len(parse(body).tokens)


def _object(body: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(body)
    except ValueError as error:
        raise ApiError(400, "Bad Request", f"JSON decode error: {error}") from None
    if not isinstance(fields, dict):
        raise ApiError(400, "Bad Request", "The request body must be a JSON object.")
    return fields


def _generation(
    fields: dict[str, Any],
    tokens: tuple[object, ...],
    limit: str,
    default_max_tokens: int | None,
) -> Generation:
    if _integer(fields, "n", 1, default=1) != 1:
        raise _bad("n", "only one choice per request is simulated")
    options = fields.get("stream_options") or {}
    if not isinstance(options, dict):
        raise _bad("stream_options", "must be an object")
    stream = bool(fields.get("stream"))
    if options and not stream:
        raise _bad("stream_options", "Stream options can only be defined when `stream=True`.")
    salt, seed = fields.get("cache_salt") or "", fields.get("seed")
    temperature = fields.get("temperature", 1.0)
    key = json.dumps([fields.get("model"), tokens, salt, seed], ensure_ascii=False)
    return Generation(
        model=fields.get("model") or "",
        tokens=tokens,
        content=key.encode(),
        max_tokens=_integer(fields, limit, 1, default=default_max_tokens),
        min_tokens=_integer(fields, "min_tokens", 0, default=0) or 0,
        ignore_eos=bool(fields.get("ignore_eos")),
        stream=stream,
        include_usage=bool(options.get("include_usage")),
        repeatable=temperature == 0 or seed is not None,
        cache_salt=str(salt),
    )


def _text(content: object) -> str:
    """The text of a message, which may come in parts."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        if len(parts) == len(content) and all(isinstance(part, str) for part in parts):
            return "".join(part for part in parts if part)
    raise _bad("messages", "only text content is simulated")


def _integer(fields: dict[str, Any], name: str, least: int, default: int | None) -> int | None:
    value = fields.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int):
        raise _bad(name, f"{value!r} is not an integer")
    if value < least:
        raise _bad(name, f"{name} must be at least {least}, got {value}.")
    return value


def _bad(param: str, message: str) -> ApiError:
    return ApiError(400, "BadRequestError", f"{param}: {message}", param)
