from __future__ import annotations

from pathlib import Path

import pytest

from chaffinch.agent.logreader import LogReader


class Writer:
    """Writes as Envoy does: into the file that it has open, until it is told to open its path anew."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.reopen()

    def reopen(self) -> None:
        self._file = self._path.open("ab", buffering=0)

    def write(self, data: bytes) -> None:
        self._file.write(data)

    def close(self) -> None:
        self._file.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "access.log"


def everything(reader: LogReader) -> list[bytes]:
    lines: list[bytes] = []
    while True:
        reading = reader.read()
        lines += reading.lines
        if reading.complete:
            return lines


def test_lines_are_read_once_and_only_when_complete(path: Path) -> None:
    reader = LogReader(path, limit=1_000)
    assert everything(reader) == []
    writer = Writer(path)
    writer.write(b"one\ntw")
    assert everything(reader) == [b"one"]
    writer.write(b"o\nthree\n")
    assert everything(reader) == [b"two", b"three"]
    assert everything(reader) == []
    reader.close()
    writer.close()


def test_what_is_written_around_a_rotation_is_read_in_order(path: Path) -> None:
    reader, writer = LogReader(path, limit=10), Writer(path)
    writer.write(b"before one\nbefore two\n")
    assert not reader.is_long
    assert everything(reader) == [b"before one", b"before two"]
    assert reader.is_long
    reader.rename()
    assert (reader.is_long, reader.awaits_new_file) == (False, True)
    writer.write(b"still the old file\n")
    assert everything(reader) == [b"still the old file"]
    writer.write(b"the last of the old\n")
    writer.close()
    writer.reopen()
    writer.write(b"the first of the new\n")
    assert not reader.awaits_new_file
    assert everything(reader) == [b"the last of the old", b"the first of the new"]
    assert [file.name for file in path.parent.iterdir()] == ["access.log"]
    reader.close()
    writer.close()


def test_a_rotation_that_the_process_before_left_half_done_is_finished(path: Path) -> None:
    path.with_name("access.log.1").write_bytes(b"old\n")
    path.write_bytes(b"new\n")
    reader = LogReader(path, limit=1_000)
    assert everything(reader) == [b"old", b"new"]
    assert not path.with_name("access.log.1").exists()
    reader.close()


def test_a_line_that_envoy_died_in_is_handed_on_to_be_counted(path: Path) -> None:
    path.with_name("access.log.1").write_bytes(b"old\nhalf a li")
    path.write_bytes(b"new\n")
    reader = LogReader(path, limit=1_000)
    assert everything(reader) == [b"old", b"half a li", b"new"]
    reader.close()


def test_a_large_log_is_read_in_parts(path: Path) -> None:
    path.write_bytes(b"0123456789abcde\n" * 200_000)
    reader = LogReader(path, limit=1_000)
    first = reader.read()
    assert not first.complete
    assert len(first.lines) + len(everything(reader)) == 200_000
    reader.close()
