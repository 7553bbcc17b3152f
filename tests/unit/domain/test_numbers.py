from __future__ import annotations

import pytest

from chaffinch.domain.numbers import count, finite_number

NEVER: list[object] = [
    "NaN", "nan", "+Inf", "-Inf", "Inf", "infinity", "", " ", " 1", "1 ", "1\n", "1_000", "1,5", "0x10", "٣",
    "１", "²", "--1", "1e", "e5", ".5", "5.", "1e400", "9" * 41, None, 1, 1.0, True, b"1", [], {},  # noqa: RUF001
]  # fmt: skip


@pytest.mark.parametrize("text", NEVER)
def test_what_is_no_plain_decimal_number_is_refused_and_not_quoted(text: object) -> None:
    for read in (finite_number, count):
        with pytest.raises(ValueError, match=r"^(a|an) [a-z]") as refusal:
            read(text)
        assert not isinstance(text, str) or len(text) < 3 or text not in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "number"), [("0", 0.0), ("-1.5", -1.5), ("+2", 2.0), ("1.7e+09", 1.7e9), ("1e-3", 0.001)]
)
def test_plain_numbers_are_read(text: str, number: float) -> None:
    assert finite_number(text) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("007", 7),
        ("150", 150),
        ("1e3", 1000),
        ("3.0", 3),
        ("4294967295", 4294967295),
        ("9007199254740992", 2**53),
    ],
)
def test_counts_are_read(text: str, number: int) -> None:
    assert count(text) == number
    assert isinstance(count(text), int)


@pytest.mark.parametrize("text", ["-1", "0.5", "1.5e0", "9007199254740994", "1e300", "-0.5"])
def test_a_number_that_is_no_count_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a count must be a whole number, 0 or more"):
        count(text)
