"""Counts that leave nothing out."""

import pytest

from traffic.ledger import Latencies, Ledger, failed_on_stable
from traffic.outcome import Failure, Outcome


def test_quantiles_are_right_to_one_percent() -> None:
    latencies = Latencies()
    for number in range(1, 1001):
        latencies.add(number / 1000)
    for share in (0.5, 0.95, 0.99, 1.0):
        assert latencies.quantile(share) == pytest.approx(share, rel=0.0101)


def test_fast_failures_do_not_make_a_service_look_quick() -> None:
    latencies = Latencies()
    for _ in range(66):
        latencies.add(0.748)
    for _ in range(34):
        latencies.add(None)
    assert latencies.quantile(0.5) == pytest.approx(0.748, rel=0.0101)
    assert latencies.to_json()["p95"] is None


def test_no_request_has_no_quantile() -> None:
    assert Latencies().to_json() == {"p50": None, "p95": None, "p99": None}


def ledger() -> Ledger:
    book = Ledger()
    book.add(Outcome(0.1, "aaaa1111", ttft=0.1, e2e=0.5, tokens=16))
    book.add(Outcome(0.9, "bbbb2222", Failure.CUT, ttft=0.1, tokens=5))
    book.add(Outcome(1.2, "aaaa1111", Failure.HTTP_5XX))
    book.add(Outcome(1.3, None, Failure.REFUSED))
    book.skip(1.4)
    book.abandon(2)
    return book


def test_every_request_is_counted_in_all_by_revision_and_by_second() -> None:
    summary = ledger().to_json()
    assert {name: summary[name] for name in ("requests", "failed", "tokens", "skipped", "abandoned")} == {
        "requests": 4,
        "failed": 3,
        "tokens": 21,
        "skipped": 1,
        "abandoned": 2,
    }
    assert summary["failures"] == {"cut": 1, "http5xx": 1, "refused": 1}
    counts = {name: (tally["requests"], tally["failed"]) for name, tally in summary["revisions"].items()}
    assert counts == {"aaaa1111": (2, 1), "bbbb2222": (1, 1), "unknown": (1, 1)}
    first, second = summary["perSecond"]
    assert first.pop("ttftP95") == pytest.approx(0.1, rel=0.02)
    assert first == {"second": 0, "requests": 2, "skipped": 0, "failures": {"cut": 1}}
    failures = {"http5xx": 1, "refused": 1}
    assert second == {"second": 1, "requests": 2, "skipped": 1, "failures": failures, "ttftP95": None}
    assert summary["failedRequests"] == [
        {"at": 0.9, "failure": "cut", "revision": "bbbb2222"},
        {"at": 1.2, "failure": "http5xx", "revision": "aaaa1111"},
        {"at": 1.3, "failure": "refused", "revision": None},
    ]


@pytest.mark.parametrize(
    ("canaries", "want"), [((), 3), (("bbbb2222",), 2), (("aaaa1111", "bbbb2222"), 1), (("cccc3333",), 3)]
)
def test_failures_that_cannot_be_laid_at_a_canarys_door_are_stables(
    canaries: tuple[str, ...], want: int
) -> None:
    summary = ledger().to_json(canaries)
    assert summary["failedOnStable"] == want
    assert failed_on_stable(summary, canaries) == want
