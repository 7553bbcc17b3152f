"""The exact bytes of vLLM's replies."""

import json

from simulator import wire
from simulator.tokens import VOCABULARY
from simulator.wire import Reply

CHAT = Reply("chat.completion", "chatcmpl-1", 1700000000, "chat", "vllm-0.33.0-abcdef01")
COMPLETION = Reply("text_completion", "cmpl-1", 1700000000, "chat", "vllm-0.33.0-abcdef01")
CAFE = VOCABULARY.index(" café")

CHAT_START = (
    'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"chat",'
    '"choices":['
)


def test_the_role_comes_in_an_event_of_its_own() -> None:
    assert CHAT.head().decode() == (
        CHAT_START
        + '{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}\n\n'
    )
    assert COMPLETION.head() == b""


def test_a_token_is_one_event_with_its_text_in_utf_8() -> None:
    assert CHAT.token(CAFE).decode() == (
        CHAT_START + '{"index":0,"delta":{"content":" café"},"logprobs":null,"finish_reason":null}]}\n\n'
    )
    assert COMPLETION.token(CAFE).decode() == (
        'data: {"id":"cmpl-1","object":"text_completion","created":1700000000,"model":"chat","choices":['
        '{"index":0,"text":" café","logprobs":null,"finish_reason":null,"stop_reason":null}]}\n\n'
    )


def test_the_last_token_carries_the_finish_reason() -> None:
    assert CHAT.last(CAFE, "length", final_message=False).decode() == (
        CHAT_START + '{"index":0,"delta":{"content":" café"},"logprobs":null,"finish_reason":"length",'
        '"stop_reason":null}]}\n\n'
    )


def test_the_fingerprint_is_on_the_final_message_only() -> None:
    final = json.loads(CHAT.last(CAFE, "stop", final_message=True).removeprefix(b"data: "))
    assert final["system_fingerprint"] == "vllm-0.33.0-abcdef01"
    assert b"system_fingerprint" not in CHAT.token(CAFE) + CHAT.last(CAFE, "stop", final_message=False)


def test_the_counts_come_in_an_event_without_choices() -> None:
    assert CHAT.counts(wire.usage(5, 3, None)).decode() == (
        CHAT_START + '],"usage":{"prompt_tokens":5,"total_tokens":8,"completion_tokens":3},'
        '"system_fingerprint":"vllm-0.33.0-abcdef01"}\n\n'
    )
    assert wire.usage(5, 3, 4)["prompt_tokens_details"] == {"cached_tokens": 4}


def test_a_whole_reply_is_one_object() -> None:
    assert json.loads(CHAT.body(" a b", "stop", wire.usage(5, 2, None))) == {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1700000000,
        "model": "chat",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": " a b", "refusal": None},
                "logprobs": None,
                "finish_reason": "stop",
                "stop_reason": None,
            }
        ],
        "system_fingerprint": "vllm-0.33.0-abcdef01",
        "usage": {"prompt_tokens": 5, "total_tokens": 7, "completion_tokens": 2},
    }
    assert json.loads(COMPLETION.body(" a", "stop", {}))["choices"][0]["text"] == " a"
