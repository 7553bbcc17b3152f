"""What the audit log says of rights, against what roles grant."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from oracle.rights import granted, refused, used

OPERATOR = "system:serviceaccount:chaffinch:chaffinch"


def line(verb: str, resource: str, group: str = "", **changes: object) -> str:
    event: dict[str, Any] = {
        "stage": "ResponseComplete",
        "verb": verb,
        "user": {"username": OPERATOR},
        "objectRef": {"resource": resource, "apiGroup": group} if group else {"resource": resource},
        "responseStatus": {"code": 200},
        "annotations": {"authorization.k8s.io/decision": "allow"},
    }
    return json.dumps(event | changes) + "\n"


def test_roles_are_read_as_single_rights() -> None:
    rules = [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch"]},
        {
            "apiGroups": ["chaffinch.dev"],
            "resources": ["loadprobes", "loadprobes/status"],
            "verbs": ["patch"],
        },
    ]
    assert granted(rules) == {
        "list pods",
        "watch pods",
        "patch loadprobes.chaffinch.dev",
        "patch loadprobes.chaffinch.dev/status",
    }


def test_only_what_the_user_was_allowed_counts_as_used(tmp_path: Path) -> None:
    status = {"resource": "loadprobes", "apiGroup": "chaffinch.dev", "subresource": "status"}
    log = tmp_path / "audit.log"
    log.write_text(
        line("list", "pods")
        + line("patch", "loadprobes", objectRef=status)
        + line("patch", "deployments", "apps", responseStatus={"code": 201})
        + line("delete", "services", annotations={"authorization.k8s.io/decision": "forbid"})
        + line("get", "secrets", user={"username": f"{OPERATOR}-other"})
        + line("get", "", objectRef=None)
        + line("get", "nodes").rstrip("\n")
    )
    assert used(log, OPERATOR) == {
        "list pods",
        "patch loadprobes.chaffinch.dev/status",
        "patch deployments.apps",
        "create deployments.apps",
    }


def moment(second: int) -> str:
    return f"2026-03-01T14:00:{second:02}.000000Z"


def refusal(second: int, user: str = OPERATOR) -> str:
    forbidden = {"authorization.k8s.io/decision": "forbid"}
    times = {"stageTimestamp": moment(second)}
    return line("list", "pods", annotations=forbidden, user={"username": user}, **times)


def binding(verb: str, second: int, name: str, namespace: str = "", code: int = 200) -> str:
    """Return the deletion, or the making, of a binding; one takes a second to be carried out."""
    kind = "rolebindings" if namespace else "clusterrolebindings"
    reference = {"resource": kind, "namespace": namespace, "name": name}
    times = {"requestReceivedTimestamp": moment(second), "stageTimestamp": moment(second + 1)}
    return line(
        verb, kind, objectRef=reference, responseStatus={"code": code}, user={"username": "helm"}, **times
    )


MADE = binding("create", 1, "ours")
IN_SHOP = binding("create", 1, "ours", "shop")
TOLD = "list pods at 2026-03-01T14:00:10+00:00"


@pytest.mark.parametrize(
    ("lines", "want"),
    [
        pytest.param([MADE, refusal(10)], [TOLD], id="with its roles"),
        pytest.param([refusal(10)], [TOLD], id="without any, ever"),
        pytest.param([MADE, refusal(10, "somebody")], [], id="somebody else"),
        pytest.param([MADE, refusal(10), binding("delete", 10, "ours")], [], id="while they are deleted"),
        pytest.param([MADE, binding("delete", 2, "ours"), refusal(10)], [], id="after that"),
        pytest.param([MADE, binding("delete", 11, "ours"), refusal(10)], [TOLD], id="before"),
        pytest.param([MADE, binding("delete", 2, "other"), refusal(10)], [TOLD], id="others were deleted"),
        pytest.param(
            [MADE, binding("delete", 2, "ours", code=404), refusal(10)], [TOLD], id="nothing was deleted"
        ),
        pytest.param(
            [MADE, binding("delete", 2, "ours"), binding("create", 5, "ours"), refusal(10)],
            [TOLD],
            id="they are back",
        ),
        pytest.param(
            [MADE, IN_SHOP, binding("deletecollection", 2, "", "shop"), refusal(10)],
            [],
            id="gone with their namespace",
        ),
        pytest.param(
            [MADE, IN_SHOP, binding("deletecollection", 2, "", "llm"), refusal(10)],
            [TOLD],
            id="another namespace went",
        ),
    ],
)  # fmt: skip
def test_a_refusal_counts_as_long_as_the_user_has_its_roles(
    tmp_path: Path, lines: list[str], want: list[str]
) -> None:
    log = tmp_path / "audit.log"
    log.write_text("".join(lines))
    assert refused(log, OPERATOR, {"ours"}) == want
