"""What the audit log says of rights, against what roles grant."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from oracle.rights import granted, used

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
