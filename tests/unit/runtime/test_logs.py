from __future__ import annotations

import json
import logging
import sys
from typing import Any

from chaffinch.runtime.logs import JsonFormatter


def _line(name: str, message: str, *, error: bool = False, **fields: object) -> dict[str, Any]:
    exc_info: Any = None
    if error:
        try:
            raise ValueError("s3cr3t of a remote body")
        except ValueError:
            exc_info = sys.exc_info()
    record = logging.LogRecord(name, logging.WARNING, "file.py", 1, message, (), exc_info)
    vars(record).update(fields)
    line: dict[str, Any] = json.loads(JsonFormatter().format(record))
    return line


def test_a_line_has_the_known_fields_and_no_others() -> None:
    line = _line("chaffinch.x", "done", namespace="shop", rollout="chat", attempt=3, manifest={"secret": 1})
    assert set(line) == {"time", "level", "logger", "message", "namespace", "rollout", "attempt"}
    assert (line["message"], line["level"], line["attempt"]) == ("done", "WARNING", "3")


def test_an_exception_is_shown_by_kind_and_place_only() -> None:
    line = _line("chaffinch.x", "it failed", error=True)
    assert line["error"] == "ValueError"
    assert line["at"].startswith("test_logs.py:")
    assert "s3cr3t" not in json.dumps(line)


def test_the_text_of_an_error_is_cut_out_of_messages_of_libraries() -> None:
    line = _line("kopf.x", "Watcher has failed: ('s3cr3t', 403)", error=True)
    assert line["message"] == "Watcher has failed"
    assert _line("kopf.x", "will retry: GET /x -> 's3cr3t'")["message"] == "will retry"
    assert _line("chaffinch.x", "the pass failed: ours")["message"] == "the pass failed: ours"
