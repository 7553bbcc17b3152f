"""What explorations do without, for the sake of time: hashes are not taken anew in each pass."""

from __future__ import annotations

from importlib import import_module

import pytest

from scenarios.interleavings.model import known_revision_of


@pytest.fixture(autouse=True)
def quick_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("chaffinch.domain.machine.step", "chaffinch.domain.desired"):
        monkeypatch.setattr(import_module(module), "revision_of", known_revision_of)
