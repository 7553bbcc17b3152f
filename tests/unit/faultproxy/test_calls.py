"""What a request asks for."""

from __future__ import annotations

import pytest

from faultproxy.calls import APPLY_TYPE, Call, call_of

ROLLOUT = "/apis/chaffinch.dev/v1alpha1/namespaces/shop/inferencerollouts/chat"
THINGS = "/api/v1/namespaces/shop/configmaps"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("GET /openapi/v3", Call("get", "")),
        ("GET /api/v1/pods", Call("list", "pods")),
        ("GET /api/v1/namespaces/shop", Call("get", "namespaces", "", "shop")),
        (f"GET {ROLLOUT}", Call("get", "inferencerollouts", "shop", "chat")),
        (f"PATCH {ROLLOUT}/status", Call("patch", "inferencerollouts/status", "shop", "chat")),
        (f"PUT {THINGS}/a", Call("update", "configmaps", "shop", "a")),
        (f"DELETE {THINGS}/a", Call("delete", "configmaps", "shop", "a")),
    ],
)
def test_method_and_path_are_read_as_kubernetes_reads_them(line: str, expected: Call) -> None:
    method, path = line.split()
    assert call_of(method, path, {}, "application/json", b"") == expected


def test_a_query_makes_a_list_a_watch() -> None:
    assert call_of("GET", THINGS, {"watch": "true"}, "", b"") == Call("watch", "configmaps", "shop")


def test_the_type_of_its_content_makes_a_patch_an_apply() -> None:
    assert call_of("PATCH", f"{THINGS}/a", {}, APPLY_TYPE, b"{}") == Call("apply", "configmaps", "shop", "a")


@pytest.mark.parametrize(
    ("body", "name"), [(b'{"metadata": {"name": "a"}}', "a"), (b"junk", ""), (b"[]", "")]
)
def test_the_name_of_what_is_created_stands_in_its_body(body: bytes, name: str) -> None:
    assert call_of("POST", THINGS, {}, "application/json", body) == Call("create", "configmaps", "shop", name)


@pytest.mark.parametrize(
    ("verb", "is_write"),
    [("get", False), ("list", False), ("watch", False), ("create", True), ("update", True), ("patch", True),
     ("apply", True), ("delete", True)],
)  # fmt: skip
def test_only_what_may_change_something_is_a_write(verb: str, is_write: bool) -> None:
    assert Call(verb, "pods").is_write is is_write
