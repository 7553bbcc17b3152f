"""What is wanted of an object is known again by a digest, of which a pass takes one."""

from __future__ import annotations

import hashlib
from types import SimpleNamespace
from typing import Any

import pytest

from chaffinch.runtime import wanted
from chaffinch.runtime.wanted import Wanted
from fakes.virtual_time import run
from unit.runtime.shops import at_canary

SERVICE: dict[str, Any] = {"kind": "Service", "metadata": {"name": "chat"}, "spec": {"port": 80}}


@pytest.mark.parametrize(
    ("other", "is_same"),
    [
        ({"spec": {"port": 80}, "metadata": {"name": "chat"}, "kind": "Service"}, True),
        ({**SERVICE, "spec": {"port": 81}}, False),
        ({**SERVICE, "spec": {"port": "80"}}, False),
        ({**SERVICE, "spec": {}}, False),
    ],
)
def test_digests_are_the_same_where_manifests_are(other: dict[str, Any], is_same: bool) -> None:
    assert (Wanted(SERVICE).digest == Wanted(other).digest) is is_same


def test_an_object_is_named_by_its_kind_and_name() -> None:
    assert (Wanted(SERVICE).kind, Wanted(SERVICE).address) == ("Service", ("Service", "chat"))


def test_a_pass_takes_one_digest_of_each_object_that_it_reads_and_none_of_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken: list[bytes] = []

    def counted(text: bytes) -> object:
        taken.append(text)
        return hashlib.sha256(text)

    async def story() -> None:
        shop = await at_canary()
        await shop.run_pass()
        monkeypatch.setattr(wanted, "hashlib", SimpleNamespace(sha256=counted))
        await shop.run_pass()
        of_deployments = [text for text in taken if b'"kind":"Deployment"' in text]
        of_services = [text for text in taken if b'"kind":"Service"' in text]
        assert (len(of_deployments), len(of_services), len(taken)) == (3, 3, 6)
        assert len(set(taken)) == len(taken)

    run(story())
