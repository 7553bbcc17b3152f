"""Logs that a machine can read: one JSON object per line, with the same few fields everywhere.

A line has the fields of the pass that it was written in, whoever wrote it: object, revision, attempt, trace.
Beside them only those of :data:`FIELDS` are taken from a record, so that no stray attribute (a manifest, an
answer) can end up in a log by accident. The text of a foreign exception is left out for the same reason.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import traceback
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

from chaffinch.runtime.current_pass import current_fields

MUTED = ("kopf", "urllib3", "aiohttp.access")
"""Libraries that are heard from WARNING on only: below, they show headers and bodies of answers."""

FIELDS = ("kind", "namespace", "rollout", "probe", "command", "revision", "attempt", "epoch")


class JsonFormatter(logging.Formatter):
    """Formats a record as one line of JSON: time, level, logger, message, and the known fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": _message(record),
        }
        line |= current_fields()
        line |= {name: str(getattr(record, name)) for name in FIELDS if hasattr(record, name)}
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__
            line["at"] = _place(record.exc_info[2])
        return json.dumps(line, ensure_ascii=False)


def _message(record: logging.LogRecord) -> str:
    # Libraries put the text of errors, and with it parts of remote answers, behind the first colon.
    message = record.getMessage()
    is_ours = record.name.partition(".")[0] == "chaffinch"
    if is_ours or (record.levelno < logging.WARNING and not record.exc_info):
        return message
    return re.split(r"[:\n]", message, maxsplit=1)[0]


def place_of(error: BaseException) -> str:
    """Say where an error came from: file, line and function, outermost call first, without its text."""
    return _place(error.__traceback__)


def _place(trace: TracebackType | None) -> str:
    frames = traceback.extract_tb(trace)
    return " > ".join(f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames)


def configure(level: str, style: str) -> None:
    """Send everything that is logged to standard error.

    Args:
        level: Least severe level, by name.
        style: ``json`` or ``text``.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        JsonFormatter()
        if style == "json"
        else logging.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s")
    )
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for library in MUTED:
        logging.getLogger(library).setLevel(logging.WARNING)
