from __future__ import annotations

import json
from typing import Any

import pytest

from chaffinch.domain.evidence import NoEvidence, Problem
from chaffinch.domain.prometheus_reply import CountSeries, UnusableReplyError, Window, read_matrix

WINDOW = Window(1000.0, 1090.0)
LABELS = {"__name__": "chaffinch_router_block_id", "agent": "a"}
SECRET = "do-not-repeat-me"


def reply(*series: object, **more: object) -> bytes:
    return json.dumps(
        {"status": "success", "data": {"resultType": "matrix", "result": list(series)}, **more}
    ).encode()


def one(*values: object, labels: object = LABELS) -> dict[str, Any]:
    return {"metric": labels, "values": list(values)}


def test_a_matrix_of_counts_is_read_with_its_times_in_milliseconds() -> None:
    body = reply(one([1000.5, "1"], [1005.501, "4294967295"]), infos=["PromQL info: fine"])
    assert read_matrix(body, WINDOW) == (CountSeries(LABELS, ((1000500, 1), (1005501, 4294967295))),)


def test_no_series_is_an_answer() -> None:
    assert read_matrix(reply(), WINDOW) == ()


BROKEN: dict[str, tuple[bytes, str]] = {
    "HTML": (b"<html><body>do-not-repeat-me</body></html>", "not JSON"),
    "nothing": (b"", "not JSON"),
    "half": (reply(one([1001, "1"]))[:-3], "not JSON"),
    "UTF-16": ("{}".encode("utf-16"), "not JSON"),
    "bytes that are no text": (b'{"status": "\xff\xfe"}', "not JSON"),
    "deep": (b"[" * 100_000, "not JSON"),
    "NaN as a bare word": (b'{"status":"success","data":NaN}', "not JSON"),
    "a number of 5,000 digits": (b"1" * 5000, "not JSON"),
    "null": (b"null", "not a JSON object"),
    "a list": (b"[]", "not a JSON object"),
    "a text": (b'"success"', "not a JSON object"),
    "status error with data": (
        reply(one([1001, "1"]), status="error", error=SECRET),
        "status is not success",
    ),
    "no status": (b'{"data":{"resultType":"matrix","result":[]}}', "status is not success"),
    "status null": (reply(status=None), "status is not success"),
    "warnings": (reply(one([1001, "1"]), warnings=[SECRET]), "warnings"),
    "no data": (b'{"status":"success"}', "not a matrix"),
    "data null": (reply(data=None), "not a matrix"),
    "data a list": (reply(data=[]), "not a matrix"),
    "a scalar": (reply(data={"resultType": "scalar", "result": [1001, "1"]}), "not a matrix"),
    "a string": (reply(data={"resultType": "string", "result": [1001, "1"]}), "not a matrix"),
    "a vector": (
        reply(data={"resultType": "vector", "result": [{"metric": LABELS, "value": [1001, "1"]}]}),
        "not a matrix",
    ),
    "no result": (reply(data={"resultType": "matrix"}), "no list of series"),
    "result null": (reply(data={"resultType": "matrix", "result": None}), "no list of series"),
    "too many series": (
        reply(data={"resultType": "matrix", "result": [0] * 50_001}),
        "too many series",
    ),
    "a series null": (reply(None), "not labels and values"),
    "a series without labels": (reply({"values": [[1001, "1"]]}), "not labels and values"),
    "native histograms": (reply(one([1001, "1"]) | {"histograms": []}), "not labels and values"),
    "labels a list": (reply(one([1001, "1"], labels=[])), "labels that are no texts"),
    "a label that is a number": (reply(one([1001, "1"], labels={"agent": 1})), "labels that are no texts"),
    "values null": (reply({"metric": LABELS, "values": None}), "no samples"),
    "no values": (reply(one()), "no samples"),
    "a sample null": (reply(one(None)), "not a time and a value"),
    "a sample of three": (reply(one([1001, "1", "2"])), "not a time and a value"),
    "a time as text": (reply(one(["1001", "1"])), "has no time"),
    "a time true": (reply(one([True, "1"])), "has no time"),
    "a time of 1e999": (reply(one([1001, "1"])).replace(b"1001", b"1e999"), "has no time"),
    "two samples of one time": (reply(one([1001, "1"], [1001, "1"])), "two samples of one time"),
    "samples out of order": (reply(one([1002, "1"], [1001, "1"])), "two samples of one time"),
    "one series twice": (reply(one([1001, "1"]), one([1002, "2"])), "one series twice"),
    "one series twice, its labels in another order": (
        reply(one([1001, "1"]), one([1002, "2"], labels=dict(reversed(LABELS.items())))),
        "one series twice",
    ),
    "a sample of the future": (reply(one([1092, "1"])), "newer than what was asked for"),
}
VALUES = ["NaN", "+Inf", "-Inf", "Inf", "", " 1", "-1", "0.5", "1e400", "1_000", "٣", "0x1", SECRET]
NO_TEXTS: list[object] = [None, 5, 1.0, True, [], {}]
for _value in [*VALUES, *NO_TEXTS]:
    BROKEN[f"value {_value!r}"] = (reply(one([1001, _value])), "not a count")
    BROKEN[f"five points and a {_value!r}"] = (
        reply(one(*([1001 + i, "12121"[i]] for i in range(5)), [1010, _value])),
        "not a count",
    )


@pytest.mark.parametrize("kind", BROKEN)
def test_every_other_reply_is_refused_with_a_text_of_our_own(kind: str) -> None:
    body, text = BROKEN[kind]
    with pytest.raises(UnusableReplyError) as refusal:
        read_matrix(body, WINDOW)
    assert refusal.value.problem is Problem.UNAVAILABLE
    assert text in str(refusal.value)
    assert SECRET not in str(refusal.value)
    assert refusal.value.no_evidence == NoEvidence(Problem.UNAVAILABLE, str(refusal.value))


def test_series_with_the_same_values_under_other_names_are_different() -> None:
    labels = [{"agent": "a", "revision": "b"}, {"revision": "a", "agent": "b"}, {"agent": "a", "pod": "b"}]
    series = read_matrix(reply(*(one([1001, "1"], labels=each) for each in labels)), WINDOW)
    assert [one.labels for one in series] == labels


def test_a_sample_of_six_minutes_ago_is_stale() -> None:
    with pytest.raises(UnusableReplyError, match="older than what was asked for") as refusal:
        read_matrix(reply(one([1090.0 - 360, "1"])), WINDOW)
    assert refusal.value.problem is Problem.STALE_DATA
