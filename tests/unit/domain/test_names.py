"""Case C35: derived names fit, and differ for rollouts that differ."""

from __future__ import annotations

import re

import pytest

from chaffinch.domain.names import (
    child_labels,
    is_revision,
    is_warm_up_name,
    last_warm_up,
    step_probe_name,
    warm_up_name,
)

LONGEST = "a" * 40


@pytest.mark.parametrize(
    "name",
    [
        step_probe_name(LONGEST, "0badcafe", 9_999, 11, 3),
        warm_up_name(LONGEST, "0badcafe", 9_999, 99),
    ],
)
def test_the_longest_names_are_valid_for_their_kind(name: str) -> None:
    assert re.fullmatch(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", name)


@pytest.mark.parametrize(
    ("name", "want"),
    [("chat-0badcafe-a2-w1", True), ("chat-0badcafe-a2-s1", False), ("chat-a2-w1", False), ("mine", False)],
)
def test_warm_ups_are_known_by_their_names(name: str, want: bool) -> None:
    assert is_warm_up_name(name) is want


def test_only_a_repeated_run_is_numbered() -> None:
    assert step_probe_name("chat", "0badcafe", 2, 1) == "chat-0badcafe-a2-s1"
    assert step_probe_name("chat", "0badcafe", 2, 1, 2) == "chat-0badcafe-a2-s1-2"


@pytest.mark.parametrize("text", ["0badcafe", "12345678"])
def test_eight_hexadecimal_digits_are_a_revision(text: str) -> None:
    assert is_revision(text)


@pytest.mark.parametrize("text", ["", "router", "0BADCAFE", "0badcafe0", "0badcaf\n"])
def test_anything_else_is_not(text: str) -> None:
    assert not is_revision(text)


def test_labels_are_ours_and_nobody_elses() -> None:
    assert child_labels("chat", "engine", "0badcafe") == {
        "app.kubernetes.io/managed-by": "chaffinch",
        "app.kubernetes.io/component": "engine",
        "chaffinch.dev/rollout": "chat",
        "chaffinch.dev/revision": "0badcafe",
    }


def test_the_last_warm_up_is_that_of_the_attempt_and_the_revision() -> None:
    names = [
        warm_up_name("chat", "0badcafe", attempt, serial) for attempt, serial in ((2, 9), (2, 10), (22, 30))
    ]
    others = ("chat-0badcafe-a2-s1", "chat-0badcafe-a2-w", "chat-0badcafe-a2-w99-x", "chat-58be2000-a2-w40")
    assert last_warm_up((*names, *others), "chat", "0badcafe", 2) == 10
    assert last_warm_up(names, "chat", "0badcafe", 3) == 0
