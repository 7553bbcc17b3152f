"""Server-sent events in every framing that the standard allows."""

import json

import pytest

from traffic.events import Event, EventReader
from traffic.outcome import Answer, Failure

TEXTS = ("Grüße", " ", "€\u2028")


def chunk(text: str) -> str:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
    return json.dumps({"choices": [choice]}, ensure_ascii=False)


CHUNKS = [chunk(text) for text in TEXTS]
LAST = json.dumps({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
BODIES = [*CHUNKS, LAST]


def plain(separator: str = "\n\n", start: str = "data: ", done: str = "[DONE]") -> str:
    return "".join(start + body + separator for body in (*BODIES, done))


def over_many_lines(body: str) -> str:
    lines = json.dumps(json.loads(body), indent=1, ensure_ascii=False).split("\n")
    return "".join(f"data: {line}\n" for line in lines) + "\n"


FRAMINGS = {
    "line feeds": plain(),
    "no blank after the colon": plain(start="data:"),
    "carriage return and line feed": plain("\r\n\r\n"),
    "carriage returns": plain("\r\r"),
    "comments between": ": ping\n\n:\n" + plain("\n\n: ping\n\n"),
    "one JSON over many lines": "".join(map(over_many_lines, BODIES)),
    "a blank after DONE": plain(done="[DONE] "),
    "byte order mark": "\ufeff" + plain(),
    "other fields": "id: 7\nretry: 10\nwhat\nfoo: bar\n" + plain(),
    "no DONE": "".join(f"data: {body}\n\n" for body in BODIES),
}


@pytest.mark.parametrize("size", [1, 2, 3, 7, 10_000])
@pytest.mark.parametrize("framing", FRAMINGS)
def test_every_legal_framing_gives_the_same_answer_in_pieces_of_any_size(framing: str, size: int) -> None:
    data = FRAMINGS[framing].encode()
    reader, answer, texts = EventReader(), Answer(), []
    for start in range(0, len(data), size):
        for event in reader.feed(data[start : start + size]):
            answer.take(event)
            if event.data.startswith("{"):
                texts += [choice["delta"].get("content") for choice in json.loads(event.data)["choices"]]
    assert (texts, answer.tokens, answer.failure()) == ([*TEXTS, None], 3, None)


def test_a_carriage_return_and_its_line_feed_may_come_apart() -> None:
    reader = EventReader()
    events = [
        event for piece in (b"data: a\r", b"\n\r", b"\ndata: b\r\n\r\n") for event in reader.feed(piece)
    ]
    assert events == [Event("", "a"), Event("", "b")]


def test_an_event_without_its_closing_blank_line_is_not_used() -> None:
    assert EventReader().feed(b"data: a\n\ndata: b\n") == [Event("", "a")]


def test_the_type_of_an_event_is_kept_for_it_alone() -> None:
    events = EventReader().feed(b"event: error\ndata: a\n\ndata: b\n\n")
    assert events == [Event("error", "a"), Event("", "b")]


ROLE = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}]}
TOKEN = {"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": None}]}


def finish(reason: str) -> dict[str, object]:
    return {"choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": reason}]}


@pytest.mark.parametrize(
    ("chunks", "want_failure", "want_tokens"),
    [
        ([ROLE, TOKEN, TOKEN, finish("stop")], None, 2),
        ([ROLE, TOKEN, finish("length"), {"choices": [], "usage": {}}], None, 1),
        ([ROLE, {"choices": [{"delta": {"reasoning": "hm"}}]}, finish("stop")], None, 1),
        ([ROLE, finish("stop")], Failure.EMPTY, 0),
        ([ROLE, TOKEN], Failure.CUT, 1),
        ([], Failure.CUT, 0),
        ([ROLE, TOKEN, {"error": {"message": "engine stopped", "code": 500}}], Failure.IN_BAND, 1),
        ([ROLE, {"error": "boom"}, finish("stop")], Failure.IN_BAND, 0),
        ([ROLE, TOKEN, finish("abort")], Failure.IN_BAND, 1),
        ([ROLE, TOKEN, finish("error")], Failure.IN_BAND, 1),
    ],
)
def test_an_answer_is_judged_by_what_it_says(
    chunks: list[object], want_failure: Failure | None, want_tokens: int
) -> None:
    answer = Answer()
    for body in chunks:
        answer.take(Event("", json.dumps(body)))
    answer.take(Event("", "[DONE]"))
    assert (answer.failure(), answer.tokens, answer.closed) == (want_failure, want_tokens, True)


@pytest.mark.parametrize(
    ("event", "want"),
    [(Event("error", '{"message": "boom"}'), Failure.IN_BAND), (Event("", "<html>"), Failure.OTHER)],
)
def test_an_error_event_and_nonsense_are_failures(event: Event, want: Failure) -> None:
    answer = Answer()
    answer.take(event)
    assert answer.failure() is want
