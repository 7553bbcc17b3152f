"""End-to-end stories: Chaffinch installed by its chart, a namespace each, and the oracle at the end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.story import Story, begun
from stage.install import install, uninstall

_LAST = "test_rights.py"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder; the one that looks back at all the others comes last."""
    ours = [index for index, item in enumerate(items) if item.path.is_relative_to(Path(__file__).parent)]
    in_order = sorted((items[index] for index in ours), key=lambda item: item.path.name == _LAST)
    for index, item in zip(ours, in_order, strict=True):
        items[index] = item
        item.add_marker(pytest.mark.e2e)
        item.add_marker(pytest.mark.cluster)


@pytest.fixture(scope="package")
def chaffinch() -> Iterator[None]:
    """Install Chaffinch once for all stories; other tests have the custom resources to themselves."""
    install()
    yield
    uninstall()


@pytest.fixture
def story(chaffinch: None, tmp_path: Path) -> Iterator[Story]:  # noqa: ARG001 - installed for its effect
    """A fresh namespace; at its end the oracle reads what we wrote there."""
    with begun(tmp_path) as told:
        yield told
