"""What is sent, and when."""

import itertools
import json
import re
import statistics
from collections import Counter
from typing import Any

import pytest

from traffic.profile import Profile, PromptLength, plan, prompt


def profile(**changes: Any) -> Profile:  # noqa: ANN401 - one helper for all fields
    return Profile(**{"url": "http://x", "model": "chat", "rate": 20.0, "seconds": 100.0, **changes})


def test_constant_arrivals_are_evenly_spaced_to_the_end() -> None:
    times = [request.at for request in plan(profile(arrivals="constant", rate=4.0, seconds=1.5))]
    assert times == [0.0, 0.25, 0.5, 0.75, 1.0, 1.25]


def test_poisson_arrivals_have_the_rate_and_the_spread_of_a_poisson_process() -> None:
    times = [request.at for request in plan(profile(seconds=500.0))]
    gaps = [after - before for before, after in itertools.pairwise(times)]
    assert abs(len(times) - 10_000) < 400
    assert abs(statistics.fmean(gaps) - 0.05) < 0.002
    assert abs(statistics.stdev(gaps) - 0.05) < 0.003


def test_the_number_of_requests_is_bounded() -> None:
    assert len(list(plan(profile(max_requests=7)))) == 7


def test_a_seed_fixes_everything() -> None:
    assert list(plan(profile(seed=1))) == list(plan(profile(seed=1)))
    assert list(plan(profile(seed=1))) != list(plan(profile(seed=2)))


def test_every_prompt_starts_with_a_nonce_of_its_own_and_has_its_length() -> None:
    mix = (PromptLength(5, 3), PromptLength(40, 1))
    prompts = [
        json.loads(request.body)["messages"][0]["content"].split()
        for request in plan(profile(prompt_lengths=mix))
    ]
    assert len({words[0] for words in prompts}) == len(prompts)
    lengths = Counter(map(len, prompts))
    assert set(lengths) == {5, 40}
    assert abs(lengths[5] / len(prompts) - 0.75) < 0.04


def test_a_prompt_of_one_word_is_its_nonce() -> None:
    assert prompt("abc", 1) == "abc"


def test_a_request_asks_for_a_stream_of_fixed_length() -> None:
    request = next(iter(plan(profile(max_tokens=9))))
    body = json.loads(request.body)
    del body["messages"]
    assert body == {"model": "chat", "max_tokens": 9, "ignore_eos": True, "stream": True}


@pytest.mark.parametrize(
    ("changes", "want_message"),
    [
        ({"rate": 0}, "rate: 0 is not a finite number above 0"),
        ({"seconds": float("inf")}, "seconds: inf is not a finite number above 0"),
        ({"timeout": -1}, "timeout: -1 is not"),
        ({"max_requests": 0}, "max_requests: 0 is less than 1"),
        ({"concurrency": 0}, "concurrency: 0 is less than 1"),
        ({"prompt_lengths": ()}, "prompt_lengths: at least one class is needed"),
        ({"prompt_lengths": (PromptLength(0),)}, "prompt_lengths: PromptLength"),
    ],
)
def test_a_profile_without_bounds_or_sense_is_refused(changes: dict[str, object], want_message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(want_message)}"):
        profile(**changes)
