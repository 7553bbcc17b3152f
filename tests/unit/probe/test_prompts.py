from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch.probe.prompts import completion_body, prompt_lengths, prompt_text

MIXES = st.lists(st.tuples(st.integers(1, 10_000), st.integers(1, 100)), min_size=1, max_size=8)


@given(mix=MIXES, requests=st.integers(0, 500), seed=st.integers(0, 100))
def test_lengths_are_dealt_within_one_of_their_exact_share(
    mix: list[tuple[int, int]], requests: int, seed: int
) -> None:
    lengths = prompt_lengths(mix, requests, seed)
    assert len(lengths) == requests
    total = sum(weight for _, weight in mix)
    exact: Counter[int] = Counter()
    for tokens, weight in mix:
        exact[tokens] += weight
    for tokens, count in Counter(lengths).items():
        assert abs(count - requests * exact[tokens] / total) < len(mix)


def test_a_long_tail_has_exactly_its_share() -> None:
    lengths = prompt_lengths(((256, 95), (4096, 5)), 1000, seed=1)
    assert Counter(lengths) == {256: 950, 4096: 50}


def test_the_seed_alone_decides_the_order() -> None:
    mix = ((1, 50), (2, 50))
    assert prompt_lengths(mix, 100, 1) == prompt_lengths(mix, 100, 1)
    assert prompt_lengths(mix, 100, 1) != prompt_lengths(mix, 100, 2)


@pytest.mark.parametrize("tokens", [1, 7, 8, 9, 170, 171, 5000])
def test_a_prompt_has_as_many_words_as_tokens_were_asked_for(tokens: int) -> None:
    assert len(prompt_text(tokens, "n", 0).split()) == tokens


def test_no_two_prompts_begin_alike() -> None:
    texts = [prompt_text(64, nonce, index) for nonce in ("a", "b") for index in range(2000)]
    assert len({tuple(text.split()[:8]) for text in texts}) == 4000


def test_the_same_request_is_made_again_the_same() -> None:
    assert prompt_text(100, "nonce", 3) == prompt_text(100, "nonce", 3)


def test_a_request_forces_the_amount_of_work() -> None:
    assert json.loads(completion_body("chat", "hi", 7)) == {
        "model": "chat",
        "messages": [{"role": "user", "content": "hi"}],
        "max_tokens": 7,
        "ignore_eos": True,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
