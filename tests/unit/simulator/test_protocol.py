"""Bodies of requests: what is read, and what is refused with which words."""

import json
from typing import Any

import pytest

from simulator.protocol import ApiError, parse_chat, parse_completion
from simulator.tokens import VOCABULARY, Answer, tokenize


def chat(**fields: object) -> bytes:
    return json.dumps({"messages": [{"role": "user", "content": "one two three"}], **fields}).encode()


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("", []),
        ("one two", ["one", " two"]),
        ("abcdefghij", ["abcdefgh", "ij"]),
        (" a\n b ", [" a", "\n b"]),
    ],
)
def test_a_word_of_up_to_eight_characters_is_one_token(text: str, want: list[str]) -> None:
    assert tokenize(text) == want


def test_every_word_of_an_answer_is_one_token_and_answers_differ_by_prompt() -> None:
    assert all(tokenize(word) == [word] for word in VOCABULARY)
    texts = {Answer(bytes([number]) * 16).text(20) for number in range(30)}
    assert len(texts) == 30


def test_a_chat_is_its_words_and_a_mark_for_each_role() -> None:
    generation = parse_chat(chat(model="m", stream=True, max_tokens=5, ignore_eos=True))
    assert generation.tokens == ("<|user|>", "one", " two", " three", "<|assistant|>")
    assert (generation.stream, generation.max_tokens, generation.ignore_eos) == (True, 5, True)
    assert (generation.include_usage, generation.repeatable) == (False, False)


def test_content_may_come_in_parts_and_the_newer_limit_wins() -> None:
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "one "}, {"type": "text", "text": "two"}]}
    ]
    generation = parse_chat(
        json.dumps({"messages": messages, "max_tokens": 5, "max_completion_tokens": 7}).encode()
    )
    assert generation.tokens == ("<|user|>", "one", " two", "<|assistant|>")
    assert generation.max_tokens == 7


@pytest.mark.parametrize(
    ("prompt", "want"), [("one two", ("one", " two")), (["one two"], ("one", " two")), ([5, 6], (5, 6))]
)
def test_a_completion_takes_a_text_or_token_ids(prompt: object, want: tuple[object, ...]) -> None:
    generation = parse_completion(json.dumps({"prompt": prompt}).encode())
    assert (generation.tokens, generation.max_tokens) == (want, 16)


def test_temperature_0_or_a_seed_make_an_answer_repeatable() -> None:
    fields: list[dict[str, Any]] = [{"temperature": 0}, {"seed": 3}, {"temperature": 0.5}, {}]
    assert [parse_chat(chat(**some)).repeatable for some in fields] == [True, True, False, False]


def test_content_tells_prompts_seeds_and_salts_apart_but_not_lengths() -> None:
    base = parse_chat(chat(max_tokens=5)).content
    assert parse_chat(chat(max_tokens=9)).content == base
    assert len({base, parse_chat(chat(seed=1)).content, parse_chat(chat(cache_salt="x")).content}) == 3


@pytest.mark.parametrize(
    ("body", "want_message"),
    [
        (b"{", "JSON decode error"),
        (b"[]", "The request body must be a JSON object."),
        (b"{}", "messages: must be a list with at least one message"),
        (b'{"messages": [{"content": "x"}]}', "messages: each message must be an object with a role"),
        (
            b'{"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}',
            "messages: only text content",
        ),
        (chat(max_tokens=0), "max_tokens: max_tokens must be at least 1, got 0."),
        (chat(max_tokens="9"), "max_tokens: '9' is not an integer"),
        (chat(n=2), "n: only one choice"),
        (chat(stream_options={"include_usage": True}), "stream_options: Stream options can only be defined"),
        (chat(stream=True, stream_options=3), "stream_options: must be an object"),
    ],
)
def test_a_wrong_chat_is_refused_with_status_400_and_the_field(body: bytes, want_message: str) -> None:
    with pytest.raises(ApiError) as error:
        parse_chat(body)
    assert error.value.status == 400
    assert error.value.body["error"]["code"] == 400
    assert str(error.value).startswith(want_message)


@pytest.mark.parametrize("prompt", [None, "", [], [1, "x"], ["a", "b"], 7])
def test_a_wrong_prompt_is_refused(prompt: object) -> None:
    with pytest.raises(ApiError, match=r"^prompt: must"):
        parse_completion(json.dumps({"prompt": prompt}).encode())
