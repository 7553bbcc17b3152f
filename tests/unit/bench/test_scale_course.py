"""The course of the scale measurement with and without a peer, and what becomes of the report."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.scale import __main__ as scale
from bench.scale import argo_build
from bench.scale.figures import Row, table
from bench.scale.fleet import NotInTimeError
from bench.scale.measurement import Length, Subject, Targets
from localcluster.errors import ClusterError
from localcluster.settings import Settings


def _subject(title: str) -> Subject:
    nothing = object()
    return Subject(title, "it", nothing, nothing, nothing, Targets(), tells_passes=False)  # type: ignore[arg-type]


def test_rows_of_a_peer_begin_with_its_name_and_ours_do_not() -> None:
    assert _subject("").row("CPU", 1.0, 2.0) == Row("CPU", 1.0, 2.0)
    assert _subject("Argo Rollouts 1.10.2").row("CPU", 1.0) == Row("Argo Rollouts 1.10.2: CPU", 1.0)


def test_new_versions_stay_longer_than_they_are_measured_and_the_longer_the_more_of_them() -> None:
    assert Length(active=100, active_seconds=180, idle_seconds=600).canary_seconds == 300
    assert Length(active=5, active_seconds=30, idle_seconds=30).canary_seconds == 74


def test_the_table_is_as_wide_as_its_longest_row() -> None:
    assert [line.index("-") for line in table([Row("x" * 90, 1), Row("y", 1)]).splitlines()[1:]] == [109, 109]


def test_a_peer_that_cannot_be_built_is_told_of_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def ensure(*_: object) -> None:
        raise ClusterError("`go build` failed", "look at it")

    monkeypatch.setattr(argo_build, "ensure", ensure)
    assert scale.main(["--prepare", "--beside", "argo-rollouts"]) == 0
    assert capsys.readouterr().err == (
        "Argo Rollouts 1.10.2 cannot be built and will be left out: `go build` failed. Do: look at it\n"
    )


def test_without_a_peer_there_is_nothing_to_prepare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(argo_build, "ensure", lambda *_: pytest.fail("it was built"))
    assert scale.main(["--prepare"]) == 0


def test_a_peer_counts_as_built_only_with_its_crds(tmp_path: Path) -> None:
    settings = Settings("x", tmp_path / "state", tmp_path / "cache")
    assert argo_build.built(settings) is None
    folder = argo_build.folder(settings)
    folder.mkdir(parents=True)
    assert argo_build.built(settings) is None
    (folder / "crds").mkdir()
    assert argo_build.built(settings) == folder


def test_what_was_measured_of_us_is_kept_when_the_peer_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def measured(_: object) -> Iterator[list[Row]]:
        yield [Row("CPU", 0.5, 1.0)]
        raise NotInTimeError("0 of 9 are Healthy")

    monkeypatch.setattr(scale, "measured", measured)
    monkeypatch.setattr(scale, "end_when_asked_to", lambda: None)
    report = tmp_path / "build" / "scale.json"
    assert scale.main([f"--report={report}"]) == 2
    assert json.loads(report.read_text()) == [{"metric": "CPU", "value": 0.5, "target": 1.0, "ok": True}]
    printed = capsys.readouterr()
    assert printed.err == "error: 0 of 9 are Healthy\n"
    assert printed.out.splitlines()[1].split() == ["CPU", "0.500", "1"]
