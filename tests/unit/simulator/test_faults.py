"""Descriptions of faults, and which requests they hit."""

import json

import pytest

from simulator.faults import ErrorKind, FaultError, Faults, changed, parse_error_share


@pytest.mark.parametrize(
    ("prompt", "now", "want"), [(99, 20.0, 1.0), (100, 9.9, 1.0), (100, 10.0, 1.2), (500, 99.0, 1.2)]
)
def test_the_factor_hits_long_prompts_from_its_moment_on(prompt: int, now: float, want: float) -> None:
    faults = Faults(latency_factor=1.2, latency_min_prompt_tokens=100, latency_after=10.0)
    assert faults.factor(prompt, now) == want


def test_a_delay_counts_from_the_moment_serving_began() -> None:
    assert Faults(latency_factor=2, latency_after=5).started_at(100.0).latency_after == 105.0


def test_shares_split_the_draw() -> None:
    faults = Faults(error_shares={ErrorKind.CUT: 0.02, ErrorKind.HTTP_500: 0.1})
    draws = {0.0: ErrorKind.CUT, 0.019: ErrorKind.CUT, 0.021: ErrorKind.HTTP_500, 0.119: ErrorKind.HTTP_500}
    assert {draw: faults.error(draw) for draw in draws} == draws
    assert faults.error(0.121) is None


def test_a_change_keeps_the_fields_that_it_does_not_name() -> None:
    before = Faults(latency_factor=1.5, error_shares={ErrorKind.CUT: 0.1})
    after = changed(before, json.dumps({"error_shares": {"429": 0.5}, "latency_after": 3}).encode(), 100.0)
    assert after == Faults(latency_factor=1.5, latency_after=103.0, error_shares={ErrorKind.TOO_MANY: 0.5})


@pytest.mark.parametrize(
    ("body", "want_message"),
    [
        ("{", "body: not JSON"),
        ("[]", "body: must be a JSON object"),
        ('{"latency": 2}', "latency: unknown field; known are latency_factor, "),
        ('{"latency_factor": "fast"}', "latency_factor: 'fast' is not a number"),
        ('{"latency_factor": 0}', "latency_factor: 0.0 is outside 0.01 to 1000"),
        ('{"latency_after": -1}', "latency_after: -1 is not a finite number of 0 or more"),
        ('{"latency_factor": true}', "latency_factor: True is not a number"),
        ('{"error_shares": 0.1}', "error_shares: must be an object"),
        ('{"error_shares": {"boom": 0.1}}', "error_shares: unknown kind 'boom'; known are http500, "),
        ('{"error_shares": {"cut": 1.1}}', "error_shares: cut=1.1 is outside 0 to 1"),
        ('{"error_shares": {"cut": 0.6, "429": 0.6}}', "error_shares: the shares add up to more than 1"),
    ],
)
def test_a_wrong_change_is_refused_with_the_field_and_the_rule(body: str, want_message: str) -> None:
    with pytest.raises(FaultError) as error:
        changed(Faults(), body.encode(), 0.0)
    assert str(error.value).startswith(want_message)


def test_an_error_share_is_kind_and_share() -> None:
    assert parse_error_share("cut=0.02") == (ErrorKind.CUT, 0.02)
    with pytest.raises(FaultError, match="'cut' is not of the form kind=share"):
        parse_error_share("cut")
