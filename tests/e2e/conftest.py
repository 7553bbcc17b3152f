"""End-to-end stories: Chaffinch installed by its chart, a namespace each, and the oracle at the end."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from e2e.story import Story
from localcluster.settings import Settings
from stage.install import install, uninstall
from stage.kubectl import Kubectl

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
    namespace = f"story-{uuid.uuid4().hex[:8]}"
    administer = Kubectl("default")
    administer("create", "namespace", namespace)
    told = Story(
        Kubectl(namespace), namespace, tmp_path, Settings.from_environment().audit_log, datetime.now(UTC)
    )
    try:
        yield told
        told.then_no_invariant_was_broken()
        told.then_nothing_was_forbidden()
    finally:
        administer("delete", "namespace", namespace, "--wait=false")
