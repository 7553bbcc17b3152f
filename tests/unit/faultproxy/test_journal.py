"""What went through a proxy can be asked for by its namespace."""

from __future__ import annotations

from faultproxy import Call
from faultproxy.journal import Journal


def test_the_calls_of_a_namespace_are_found_in_their_order() -> None:
    journal = Journal()
    for namespace, name in [("shop", "a"), ("", "b"), ("barn", "c"), ("shop", "d")]:
        journal.note(Call("get", "configmaps", namespace, name), "")
    assert [entry.number for entry in journal.entries] == [1, 2, 3, 4]
    assert [entry.call.name for entry in journal.of_namespace("shop")] == ["a", "d"]
    assert journal.of_namespace("attic") == ()
