"""When two runs of one story count as equal."""

from __future__ import annotations

import pytest

from crash.history import differences, kept, made
from faultproxy import Call, Entry


def entry(verb: str, resource: str, status: int | None, name: str = "a") -> Entry:
    return Entry(1, Call(verb, resource, "shop", name), status=status)


def test_only_what_was_carried_out_and_made_or_removed_something_is_counted() -> None:
    entries = [
        entry("create", "jobs", 201),
        entry("create", "jobs", 409),
        entry("apply", "deployments", 201),
        entry("apply", "deployments", 200),
        entry("delete", "loadprobes", 200),
        entry("delete", "loadprobes", None),
        entry("patch", "inferencerollouts/status", 200),
        entry("create", "events", 201),
    ]
    assert made(entries) == {"create jobs a": 1, "create deployments a": 1, "delete loadprobes a": 1}


def test_something_that_is_made_twice_is_a_difference() -> None:
    once, twice = made([entry("create", "jobs", 201)]), made([entry("create", "jobs", 201)] * 2)
    assert differences(once, twice) == ["create jobs a: expected 1, found 2"]


def rollout(**status: object) -> dict[str, object]:
    return {
        "metadata": {"name": "chat", "uid": "1", "resourceVersion": "7", "labels": {"a": "b"}},
        "spec": {"replicas": 2},
        "status": status,
    }


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"writer": {"epoch": 1, "sequence": 9}}, {"writer": {"epoch": 2, "sequence": 12}}),
        ({"stable": {"since": "2026-03-01T14:00:00Z"}}, {"stable": {"since": "2026-03-01T14:00:07.5Z"}}),
        ({"message": "was rolled back at 14:00:01Z (1.5 s after the decision): slow"},
         {"message": "was rolled back at 14:00:09Z (344 ms after the decision): slow"}),
        ({"podUid": "a"}, {"podUid": "b"}),
        ({"message": "no answer from 10.0.0.7"}, {"message": "no answer from 10.0.0.8"}),
    ],
)  # fmt: skip
def test_times_numbers_of_writes_and_addresses_make_no_difference(
    one: dict[str, object], other: dict[str, object]
) -> None:
    assert kept("inferencerollouts", rollout(**one)) == kept("inferencerollouts", rollout(**other))


def test_the_namespace_makes_no_difference_as_a_value_and_in_commands() -> None:
    def of(namespace: str) -> dict[str, object]:
        said = rollout(message=f"Do: kubectl chaffinch retry chat -n {namespace}.", namespace=namespace)
        return {**said, "metadata": {"name": "chat", "namespace": namespace}}

    assert kept("inferencerollouts", of("shop")) == kept("inferencerollouts", of("barn"))


@pytest.mark.parametrize(
    ("other", "where"),
    [
        ({"phase": "Ready", "attempts": 3}, "status.attempts: expected 2, found 3"),
        ({"phase": "Degraded", "attempts": 2}, "status.phase: expected 'Ready', found 'Degraded'"),
        ({"phase": "Ready", "attempts": 2, "paused": {}}, "status.paused: expected None, found {}"),
    ],
)
def test_everything_else_does(other: dict[str, object], where: str) -> None:
    expected = kept("inferencerollouts", rollout(phase="Ready", attempts=2))
    assert differences(expected, kept("inferencerollouts", rollout(**other))) == [where]


def test_the_status_counts_only_where_it_is_ours() -> None:
    deployment = {"metadata": {"name": "a"}, "spec": {"replicas": 2}, "status": {"readyReplicas": 1}}
    assert kept("deployments", deployment) == {"labels": None, "spec": {"replicas": 2}}


def record(**changes: object) -> object:
    step = {
        "name": "canary-50",
        "kind": "canary",
        "index": 0,
        "weight": 5000,
        "enteredAt": "2026-03-01T14:00:00Z",
        "passedAt": "2026-03-01T14:00:09Z",
        "objectives": [{"name": "ttft", "verdict": "Pass", "step": "canary-50", "value": "200ms"}],
    }
    command = {"name": "go", "action": "Promote", "at": "2026-03-01T14:00:02Z", "outcome": "Accepted"}
    status = {"outcome": "Promoted", "cause": "AsExpected", "steps": [step], "commands": [command]}
    return kept("rolloutrecords", {"metadata": {"name": "a"}, "status": {**status, **changes}})


STEP = {"name": "canary-50", "kind": "canary", "index": 0, "weight": 5000}
SKIPPED = [{**STEP, "enteredAt": "2026-03-01T14:00:00Z"}]
JUDGED = [{"name": "ttft", "verdict": "Pass", "step": "canary-50", "value": "207ms"}]
LATER = [
    {**STEP, "enteredAt": "2026-03-01T14:00:01Z", "passedAt": "2026-03-01T14:00:11Z", "objectives": JUDGED}
]


@pytest.mark.parametrize(
    "changes",
    [
        {"endedAt": "2026-03-01T14:00:10Z", "message": "promoted in 10 s"},
        {"steps": LATER},
        {"holds": [{"reason": "EvidenceUnavailable", "since": "2026-03-01T14:00:01Z", "message": "-"}]},
        {"commands": [
            {"name": "go", "action": "Promote", "at": "2026-03-01T14:00:03Z", "outcome": "Accepted"}
        ]},
    ],
)  # fmt: skip
def test_a_record_may_tell_other_times_figures_and_waits(changes: dict[str, object]) -> None:
    assert record(**changes) == record()


@pytest.mark.parametrize(
    "changes",
    [
        {"outcome": None},
        {"cause": "StatusLost"},
        {"steps": []},
        {"steps": SKIPPED},
        {"steps": [{**LATER[0], "restarts": 1}]},
        {"steps": [{**LATER[0], "objectives": [{**JUDGED[0], "verdict": "Fail"}]}]},
        {"commands": []},
    ],
)
def test_a_record_has_to_tell_the_same_end_steps_verdicts_and_commands(changes: dict[str, object]) -> None:
    assert differences(record(), record(**changes))


def test_a_route_is_compared_by_what_it_says() -> None:
    def route(text: str) -> object:
        return kept("configmaps", {"metadata": {"name": "a"}, "data": {"route.json": text}})

    assert route('{"epoch": 1, "arms": []}') == route('{"arms": [], "epoch": 2}')
    assert route('{"arms": []}') != route('{"arms": [{"weight": 1}]}')
