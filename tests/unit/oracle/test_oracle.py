"""The oracle finds each kind of broken invariant, and nothing in a right history."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from oracle import Write, check, denied, wrote
from oracle.audit import parse

OPERATOR = "system:serviceaccount:chaffinch:chaffinch"
START = datetime(2026, 1, 1, tzinfo=UTC)
STABLE, CANARY = "aaaaaaaa", "bbbbbbbb"
SPEC = {
    "replicas": 2,
    "strategy": {
        "steps": [
            {"name": "warm-up", "warmUp": {}},
            {"name": "canary-20", "canary": {"weight": 20}},
            {"name": "canary-50", "canary": {"weight": 50}},
            {"name": "bake", "bake": {}},
        ]
    },
}


def write(resource: str, name: str, stored: Mapping[str, Any], *, user: str = OPERATOR) -> Write:
    return Write(
        at=START, user=user, verb="patch", resource=resource, namespace="llm", name=name, stored=stored
    )


def endpoints(revision: str, *pods: str) -> Write:
    return write(
        "endpointslices",
        f"chat-{revision}-x",
        {
            "metadata": {"labels": {"kubernetes.io/service-name": f"chat-{revision}"}},
            "endpoints": [{"targetRef": {"name": pod}, "conditions": {"ready": True}} for pod in pods],
        },
        user="system:serviceaccount:kube-system:endpointslice-controller",
    )


def route(weights: Mapping[str, int], *, stable: str | None = STABLE) -> Write:
    arms = [{"revision": revision, "weight": weight} for revision, weight in weights.items()]
    return write(
        "configmaps", "chat-router", {"data": {"route.json": json.dumps({"stable": stable, "arms": arms})}}
    )


def replicas(revision: str, count: int) -> Write:
    return write("deployments", f"chat-{revision}", {"spec": {"replicas": count}})


def status(index: int, *, passed: bool = False, decision: str | None = None) -> Write:
    names = ["warm-up", "canary-20", "canary-50", "bake"]
    step: dict[str, Any] = {"name": names[index], "index": index}
    if passed:
        step["passedAt"] = "2026-01-01T00:00:00Z"
    rollout: dict[str, Any] = {"id": f"{CANARY}-a2", "step": step}
    if decision:
        rollout["decision"] = {"kind": decision}
    return write("inferencerollouts/status", "chat", {"spec": SPEC, "status": {"rollout": rollout}})


FIRST = [
    endpoints(STABLE, "a-0", "a-1"),
    replicas(STABLE, 2),
    route({STABLE: 10_000}),
    status(0, passed=True),
]
CANARY_READY = [endpoints(CANARY, "b-0"), status(1)]
AT_20 = [*FIRST, *CANARY_READY, route({STABLE: 8_000, CANARY: 2_000})]


def broken(history: list[Write]) -> list[str]:
    return [f"{v.invariant} {v.message}" for v in check(history, rollout="chat", operator=OPERATOR)]


def test_a_promotion_step_by_step_breaks_nothing() -> None:
    history = [
        *AT_20,
        status(1, passed=True),
        status(2),
        route({STABLE: 5_000, CANARY: 5_000}),
        status(2, passed=True),
        status(3),
        route({STABLE: 0, CANARY: 10_000}),
        status(3, passed=True),
        status(3, passed=True, decision="Promote"),
        route({CANARY: 10_000}, stable=CANARY),
        replicas(STABLE, 0),
    ]
    assert broken(history) == []


def test_a_rollback_route_first_breaks_nothing() -> None:
    assert broken([*AT_20, route({STABLE: 10_000, CANARY: 0}), replicas(CANARY, 0)]) == []


@pytest.mark.parametrize(
    ("history", "want"),
    [
        pytest.param(
            [*FIRST, status(1), route({STABLE: 8_000, CANARY: 2_000})],
            ["I1 bbbbbbbb gets weight 2000 without a Ready endpoint"],
            id="weight for a canary without a Ready pod",
        ),
        pytest.param(
            [
                *AT_20,
                endpoints(CANARY),
                route({STABLE: 10_000, CANARY: 0}),
                route({STABLE: 8_000, CANARY: 2_000}),
            ],
            ["I1 bbbbbbbb gets weight 2000 without a Ready endpoint"],
            id="weight again for a canary that lost its pods",
        ),
        pytest.param(
            [*AT_20, replicas(STABLE, 1)],
            ["I2 stable aaaaaaaa goes to 1 of 2 replicas with weight"],
            id="stable scaled down under traffic",
        ),
        pytest.param(
            [*FIRST, endpoints(CANARY, "b-0"), route({STABLE: 8_000, CANARY: 2_000})],
            ["I3 canary bbbbbbbb rises to 2000, its step allows 0"],
            id="weight before the step is recorded",
        ),
        pytest.param(
            [*AT_20, route({STABLE: 5_000, CANARY: 5_000})],
            ["I3 canary bbbbbbbb rises to 5000, its step allows 2000"],
            id="more weight than the step's",
        ),
        pytest.param(
            [*AT_20, status(2)],
            ["I3 step canary-20 was left without a recorded Pass"],
            id="a step left without a Pass",
        ),
        pytest.param(
            [*AT_20, status(1, decision="Promote")],
            ["I3 step canary-20 was left without a recorded Pass"],
            id="a promotion without a Pass",
        ),
        pytest.param(
            [*AT_20, status(1, passed=True), status(3)],
            ["I3 step 1 is followed by step 3"],
            id="a step skipped",
        ),
    ],
)
def test_each_broken_invariant_is_named(history: list[Write], want: list[str]) -> None:
    assert broken(history) == want


@pytest.mark.parametrize(
    ("told", "want"),
    [
        ({}, []),
        ({"action": "Abort"}, ["I3 step canary-20 was left without a recorded Pass"]),
        ({"outcome": "Refused"}, ["I3 step canary-20 was left without a recorded Pass"]),
        ({"revision": STABLE}, ["I3 step canary-20 was left without a recorded Pass"]),
    ],
)
def test_only_a_command_to_promote_takes_the_place_of_a_pass(told: dict[str, str], want: list[str]) -> None:
    command = {"action": "Promote", "outcome": "Accepted", "revision": CANARY, **told}
    promoted = status(1, decision="Promote")
    said = {**promoted.stored["status"], "candidate": {"revision": CANARY}, "lastCommand": command}
    assert broken([*AT_20, replace(promoted, stored={"spec": SPEC, "status": said})]) == want


@pytest.mark.parametrize(
    ("weight", "want"), [(2_000, []), (3_000, ["I3 canary bbbbbbbb rises to 3000, its step allows 2000"])]
)
def test_a_step_that_waits_for_approval_allows_the_weight_before_it(weight: int, want: list[str]) -> None:
    steps = [{"name": "canary-20", "canary": {"weight": 20}}, {"name": "review", "approval": {}}]
    spec = {"replicas": 2, "strategy": {"steps": steps}}
    rollout = {"id": f"{CANARY}-a2", "step": {"name": "review", "index": 1}}
    stored = {"spec": spec, "status": {"rollout": rollout}}
    waiting = write("inferencerollouts/status", "chat", stored)
    history = [
        *FIRST[:3],
        endpoints(CANARY, "b-0"),
        waiting,
        route({STABLE: 10_000 - weight, CANARY: weight}),
    ]
    assert broken(history) == want


@pytest.mark.parametrize(
    ("size", "want"),
    [(1, []), (0, ["I2 stable aaaaaaaa goes to 0 of 1 replicas with weight"])],
)
def test_a_stable_whose_pods_nodes_turn_away_keeps_those_that_are_ready(size: int, want: list[str]) -> None:
    status = {"podStorms": [{"revision": STABLE}]}
    storm = write("inferencerollouts/status", "chat", {"spec": SPEC, "status": status})
    assert broken([*FIRST, endpoints(STABLE, "a-0"), storm, replicas(STABLE, size)]) == want


def test_writes_of_others_are_taken_into_account_but_not_judged() -> None:
    stranger = write("deployments", f"chat-{STABLE}", {"spec": {"replicas": 0}}, user="admin")
    assert broken([*FIRST, stranger]) == []


def audit_line(seconds: int, *, code: int = 200, namespace: str = "llm", verb: str = "patch") -> str:
    event = {
        "stage": "ResponseComplete",
        "stageTimestamp": (START + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z"),
        "verb": verb,
        "user": {"username": OPERATOR},
        "objectRef": {
            "resource": "deployments",
            "namespace": namespace,
            "name": "chat",
            "subresource": "status",
        },
        "responseStatus": {"code": code},
        "responseObject": {"kind": "Deployment"},
    }
    return json.dumps(event) + "\n"


STATUS = write("inferencerollouts/status", "chat", {"status": {"phase": "Healthy"}})


@pytest.mark.parametrize(
    ("writes", "want"),
    [
        ([], set()),
        ([endpoints(STABLE, "pod-1"), replicas(STABLE, 2)], set()),
        ([route({STABLE: 10_000})], {"route"}),
        ([STATUS], {"status"}),
        ([STATUS, route({STABLE: 10_000}), STATUS], {"route", "status"}),
        ([replace(STATUS, user="somebody"), replace(route({}), user="somebody")], set()),
        ([replace(STATUS, name="other"), replace(route({}), name="other-router")], set()),
        ([replace(STATUS, resource="inferencerollouts")], set()),
        ([replace(route({}), verb="delete", stored={})], set()),
    ],
)
def test_a_history_tells_what_the_operator_wrote_of_a_rollout(writes: list[Write], want: set[str]) -> None:
    assert wrote(writes, "chat", OPERATOR) == want


def test_only_missing_grants_count_as_denied(tmp_path: Path) -> None:
    def line(seconds: int, decision: str, user: str = OPERATOR) -> str:
        event = json.loads(audit_line(seconds, code=403))
        annotations = {"authorization.k8s.io/decision": decision}
        return json.dumps(event | {"annotations": annotations, "user": {"username": user}}) + "\n"

    log = tmp_path / "audit.log"
    log.write_text(line(1, "forbid") + line(20, "allow") + line(30, "forbid", "somebody"))
    assert denied(log, OPERATOR, START) == ["patch deployments"]
    assert denied(log, OPERATOR, START + timedelta(seconds=10)) == []
    assert denied(log, OPERATOR, START, START) == []


def test_only_accepted_writes_of_the_namespace_are_read() -> None:
    lines = [
        audit_line(1),
        audit_line(2, code=409),
        audit_line(3, namespace="other"),
        audit_line(4, verb="get"),
        audit_line(5)[:-20],
    ]
    assert list(parse(lines, "llm")) == [
        Write(
            at=START + timedelta(seconds=1),
            user=OPERATOR,
            verb="patch",
            resource="deployments/status",
            namespace="llm",
            name="chat",
            stored={"kind": "Deployment"},
        )
    ]
