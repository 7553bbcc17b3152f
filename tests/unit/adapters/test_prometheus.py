"""Case C14 at the source: each kind of bad reply, from a real server, and what the judge makes of it."""

from __future__ import annotations

import asyncio
import gzip
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from aiohttp import web

from chaffinch.adapters.prometheus import PrometheusEvidence
from chaffinch.adapters.prometheus_queries import Limits, escaped, selector
from chaffinch.domain.evidence import Evidence, NoEvidence, Problem
from chaffinch.domain.prometheus_reply import Window
from chaffinch.domain.verdict import JudgeState, Level, Outcome, Plan, judge
from chaffinch.ports.evidence import EvidenceSource
from unit.adapters.fakeprometheus import (
    NOTHING_AT_START,
    NOW,
    QUESTION,
    Answer,
    B,
    ask,
    by_window,
    prometheus,
    respond,
    scrapes,
)
from unit.domain.scrapes import Scrapes, both, vector
from unit.verdict.builders import error_increase, error_max

SECRET = "do-not-repeat-me"
UNREACHABLE = NoEvidence(
    Problem.UNAVAILABLE,
    "Prometheus cannot be reached, or broke off its answer:"
    " check CHAFFINCH_PROMETHEUS_URL (chart value prometheus.url)",
)


def assert_advances_nothing(answered: Evidence | NoEvidence) -> None:
    for level in Level:
        plan = Plan((error_max(), error_increase()), level, QUESTION.since, QUESTION.now + timedelta(hours=1))
        assert judge(plan, answered, None, JudgeState(), QUESTION.now).outcome is Outcome.INCONCLUSIVE


async def test_good_replies_are_evidence_that_can_pass() -> None:
    answered = await ask(by_window(NOTHING_AT_START, respond(scrapes().reply(infos=["fine"]))))
    assert isinstance(answered, Evidence)
    assert answered.candidate.requests == 5000
    assert answered.until == datetime.fromtimestamp((B + 36) * 10, UTC)
    plan = Plan((error_max(), error_increase()), Level.PROVEN, QUESTION.since, QUESTION.now)
    assert judge(plan, answered, None, JudgeState(), QUESTION.now).outcome is Outcome.PASS


async def test_it_is_an_evidence_source() -> None:
    source: EvidenceSource = PrometheusEvidence("http://127.0.0.1:9")
    assert isinstance(source, PrometheusEvidence)
    await source.aclose()


def test_it_asks_for_raw_samples_of_both_arms() -> None:
    arms = 'rollout_uid="7d0f",attempt="3",revision=~"0a1b2c3d|9f8e7d6c"'
    text = selector(QUESTION, ("a", "b"), Window(NOW - 90, NOW))
    assert text == f'{{__name__=~"a|b",{arms}}}[90000ms]'


def reply_of(value: object) -> object:
    good = scrapes().reply()
    for series in good["data"]["result"]:
        if series["metric"]["__name__"] == "chaffinch_router_requests_total":
            series["values"][0][1] = value
    return good


def sampled(*, at: float) -> object:
    return scrapes(at=at).reply()


def changed(**parts: object) -> object:
    return {**scrapes().reply(), **parts}


NOT_A_COUNT = "a sample of the reply is not a count"
GOOD_RESULT = scrapes().reply()["data"]["result"]
BAD_REPLIES: dict[str, tuple[Answer, Problem, str]] = {
    **{
        f"value {value!r}": (
            respond(reply_of(value)),
            Problem.UNAVAILABLE,
            "of the reply is not a count",
        )
        for value in ("NaN", "+Inf", "-Inf", "", None, "-1", "0.5", "1e400", "abc", 5, True, ["5"])
    },
    "empty result": (
        respond(changed(data={"resultType": "matrix", "result": []})),
        Problem.NO_DATA,
        "the routers export nothing about this attempt",
    ),
    "result null": (
        respond(changed(data={"resultType": "matrix", "result": None})),
        Problem.UNAVAILABLE,
        "no list of series",
    ),
    "two samples of one time": (
        respond(
            changed(
                data={
                    "resultType": "matrix",
                    "result": [{**series, "values": series["values"] * 2} for series in GOOD_RESULT],
                }
            )
        ),
        Problem.UNAVAILABLE,
        "two samples of one time",
    ),
    "vector": (
        respond(changed(data={"resultType": "vector", "result": []})),
        Problem.UNAVAILABLE,
        "not a matrix",
    ),
    "scalar": (
        respond(changed(data={"resultType": "scalar", "result": [NOW, "0"]})),
        Problem.UNAVAILABLE,
        "not a matrix",
    ),
    "a sample of six minutes ago": (
        respond(sampled(at=NOW - 360)),
        Problem.STALE_DATA,
        "older than what was asked for",
    ),
    "a sample of the future": (
        respond(sampled(at=NOW + 60)),
        Problem.UNAVAILABLE,
        "newer than what was asked for",
    ),
    "status error with data": (
        respond(changed(status="error", errorType="bad_data", error=SECRET)),
        Problem.UNAVAILABLE,
        "status is not success",
    ),
    "warnings": (respond(changed(warnings=[SECRET])), Problem.UNAVAILABLE, "warnings"),
    "HTML": (
        respond(b"<html>do-not-repeat-me</html>", content_type="text/html"),
        Problem.UNAVAILABLE,
        "the reply of Prometheus is not JSON",
    ),
    "HTML that says it is JSON": (
        respond(b"<html>do-not-repeat-me</html>"),
        Problem.UNAVAILABLE,
        "the reply is not JSON",
    ),
    "no body": (respond(b""), Problem.UNAVAILABLE, "the reply is not JSON"),
    "half a body": (
        respond(json.dumps(scrapes().reply()).encode()[:500]),
        Problem.UNAVAILABLE,
        "the reply is not JSON",
    ),
    "null": (respond(None), Problem.UNAVAILABLE, "not a JSON object"),
    "a list": (respond([]), Problem.UNAVAILABLE, "not a JSON object"),
    "HTTP 400": (respond({"error": SECRET}, 400), Problem.UNAVAILABLE, "a refusal (HTTP 400)"),
    "HTTP 401": (respond({"error": SECRET}, 401), Problem.UNAVAILABLE, "a refusal (HTTP 401)"),
    "HTTP 422": (respond({"error": SECRET}, 422), Problem.UNAVAILABLE, "a refusal (HTTP 422)"),
    "HTTP 500": (respond({"error": SECRET}, 500), Problem.UNAVAILABLE, "a server error (HTTP 500)"),
    "HTTP 503": (respond({"error": SECRET}, 503), Problem.UNAVAILABLE, "a server error (HTTP 503)"),
    "HTTP 204": (respond(b"", 204), Problem.UNAVAILABLE, "HTTP 204"),
}


@pytest.mark.parametrize("kind", BAD_REPLIES)
async def test_a_bad_reply_is_no_evidence_and_says_which_kind_it_is(kind: str) -> None:
    answer, problem, text = BAD_REPLIES[kind]
    # Here both questions are answered so, and there the second only.
    for answered in (await ask(answer), await ask(by_window(NOTHING_AT_START, answer))):
        assert isinstance(answered, NoEvidence)
        assert SECRET not in answered.detail
        assert_advances_nothing(answered)
    assert isinstance(answered, NoEvidence)
    assert answered.problem is problem
    assert text in answered.detail


async def test_five_good_points_do_not_make_up_for_a_broken_one() -> None:
    taken = Scrapes()
    for second in range(5):
        arms = both(vector(first=B, block=B + 35, ok=5000), vector(first=B, block=B + 35, ok=5000))
        taken.add("a", NOW - 10 + second, arms)
    reply = taken.reply()
    reply["data"]["result"][0]["values"].append([NOW - 1, "NaN"])
    answered = await ask(by_window(NOTHING_AT_START, respond(reply)))
    assert isinstance(answered, NoEvidence)
    assert "is not a count" in answered.detail
    assert_advances_nothing(answered)


async def test_a_router_that_counts_no_new_blocks_is_stale() -> None:
    answered = await ask(by_window(NOTHING_AT_START, respond(scrapes(block=B + 20).reply())))
    assert answered == NoEvidence(Problem.STALE_DATA, "the routers' newest block is too old")


async def test_a_slow_reply_is_given_up() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "application/json"})
        await response.prepare(request)
        while True:  # one byte now and then keeps every per-read timeout happy
            await response.write(b" ")
            await asyncio.sleep(0.05)

    answered = await ask(answer, limits=Limits(seconds=0.5))
    assert answered == NoEvidence(Problem.UNAVAILABLE, "Prometheus did not answer in time")


async def test_a_huge_reply_is_given_up_at_its_limit() -> None:
    sent = 0

    async def answer(request: web.Request) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse(headers={"content-type": "application/json"})
        await response.prepare(request)
        for _ in range(400):
            await response.write(b" " * 65536)
            sent += 65536
        return response

    answered = await ask(answer, limits=Limits(bytes=1 << 20))
    assert answered == NoEvidence(Problem.UNAVAILABLE, "the reply of Prometheus is too large")
    assert sent < 400 * 65536


async def test_a_compressed_reply_is_not_unfolded() -> None:
    bomb = gzip.compress(b" " * (64 << 20))

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(body=bomb, content_type="application/json", headers={"content-encoding": "gzip"})

    answered = await ask(answer)
    assert answered == NoEvidence(
        Problem.UNAVAILABLE, "the reply of Prometheus is compressed, which was not asked for"
    )


async def test_a_redirect_is_not_followed() -> None:
    visited: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        visited.append(request.path)
        raise web.HTTPTemporaryRedirect(location="http://127.0.0.1:1/elsewhere")

    answered = await ask(answer)
    assert answered == NoEvidence(
        Problem.UNAVAILABLE, "Prometheus answered with a redirect, which is not followed"
    )
    assert visited == ["/prefix/api/v1/query"]


async def test_a_connection_that_breaks_off_is_no_evidence() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "application/json", "content-length": "1000"})
        await response.prepare(request)
        await response.write(b"{")
        if request.transport is not None:
            request.transport.close()
        return response

    answered = await ask(answer)
    assert answered == UNREACHABLE


async def test_nobody_at_the_address_is_no_evidence() -> None:
    async with prometheus(respond({})) as url:
        pass
    source = PrometheusEvidence(url)
    answered = await source.live(QUESTION)
    await source.aclose()
    assert answered == UNREACHABLE
    assert_advances_nothing(answered)


def test_label_values_cannot_leave_their_quotes() -> None:
    assert escaped('a"b\\c\nd') == 'a\\"b\\\\c\\nd'
    question = replace(QUESTION, rollout_uid='x"} or vector(1) #', candidate=".*", stable=None)
    text = selector(question, ("up",), Window(NOW - 90, NOW))
    assert 'rollout_uid="x\\"} or vector(1) #"' in text
    assert 'revision=~"\\\\.\\\\*"' in text
