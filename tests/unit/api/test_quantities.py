from fractions import Fraction

import pytest

from chaffinch.api.v1alpha1.quantities import duration_seconds, latency_seconds, resource_amount, share


@pytest.mark.parametrize(
    ("text", "want_seconds"),
    [("1s", 1), ("90s", 90), ("15m", 900), ("2h", 7200), ("999999s", 999_999)],
)
def test_a_duration_is_read_in_seconds(text: str, want_seconds: int) -> None:
    assert duration_seconds(text) == want_seconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "5",
        "s",
        "0s",
        "05m",
        "1.5m",
        "-5m",
        "+5m",
        " 5m",
        "5m ",
        "5m\n",
        "1h30m",
        "5M",
        "\u0665m",
        "1_0s",
        "1000000s",
    ],
)
def test_what_is_not_a_duration_is_refused_with_the_remedy(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration: write a whole number and s, m or h"):
        duration_seconds(text)


@pytest.mark.parametrize(
    ("text", "want_seconds"),
    [("85ms", 0.085), ("0.5ms", 0.0005), ("1.5s", 1.5), ("40.125ms", 0.040125), ("0s", 0.0)],
)
def test_a_latency_is_read_in_seconds(text: str, want_seconds: float) -> None:
    assert latency_seconds(text) == want_seconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "85",
        "ms",
        "85 ms",
        "-1ms",
        "1e3ms",
        "1.2345s",
        ".5s",
        "5.s",
        "5m",
        "5%",
        "nanms",
        "infs",
        "\u00b2ms",
        "85ms\n",
    ],
)
def test_what_is_not_a_latency_is_refused_with_the_remedy(text: str) -> None:
    with pytest.raises(ValueError, match="is not a latency: write a number and ms or s"):
        latency_seconds(text)


@pytest.mark.parametrize(
    ("text", "want_share"),
    [("5%", 0.05), ("0.1%", 0.001), ("0.5pp", 0.005), ("100%", 1.0), ("0pp", 0.0)],
)
def test_percent_and_percentage_points_are_read_as_a_fraction_of_one(text: str, want_share: float) -> None:
    assert share(text) == want_share


@pytest.mark.parametrize("text", ["", "5", "5 %", "-5%", "5p", "5ppp", "1e1%", "5%\n", "\u096b%"])
def test_what_is_not_a_share_is_refused_with_the_remedy(text: str) -> None:
    with pytest.raises(ValueError, match="is not a share: write a number and % or pp"):
        share(text)


@pytest.mark.parametrize(
    ("one", "other"),
    [("1000m", "1"), ("1024Mi", "1Gi"), ("4", 4), ("1.5", "1500m"), ("1k", 1000), ("0.5Gi", "512Mi")],
)
def test_equal_resource_amounts_are_equal_however_they_are_written(one: int | str, other: int | str) -> None:
    assert resource_amount(one) == resource_amount(other)


def test_decimal_and_binary_suffixes_differ() -> None:
    assert resource_amount("1G") == Fraction(10**9)
    assert resource_amount("1Gi") == Fraction(2**30)


@pytest.mark.parametrize("amount", ["", "4 Gi", "-1", -1, "1e3", "4GiB", "Gi", True, "1.2345"])
def test_what_is_not_a_resource_amount_is_refused_with_the_remedy(amount: int | str) -> None:
    with pytest.raises(ValueError, match="write a resource amount such as 4, 500m or 16Gi"):
        resource_amount(amount)
