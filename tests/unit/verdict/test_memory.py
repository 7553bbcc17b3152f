from __future__ import annotations

import json

import pytest

from chaffinch.domain.verdict import GateMemory, JudgeState, Outcome

STATE = JudgeState(
    {
        "errors/max/Limit": GateMemory(3, 338, 1, 150, Outcome.PASS),
        "ttft/max/Limit": GateMemory(3, 338, 1, 150, Outcome.PASS, proven=True),
        "a/max/Limit": GateMemory(),
    }
)
WHOLE = {"failLooks": 1, "failAt": 150, "passLooks": 0, "passAt": 0, "absorbed": "Fail"}


def test_the_memory_survives_json() -> None:
    assert JudgeState.from_json(json.loads(json.dumps(STATE.to_json(), allow_nan=False))) == STATE


def test_no_memory_is_the_empty_one_and_an_unknown_gate_has_not_been_looked_at() -> None:
    assert JudgeState.from_json(None) == JudgeState()
    assert JudgeState().of("errors/max/Limit") == GateMemory()


@pytest.mark.parametrize(
    "damaged",
    [
        [],
        "{}",
        5,
        {"": WHOLE},
        {1: WHOLE},
        {"x" * 257: WHOLE},
        {"k": None},
        {"k": {}},
        {"k": WHOLE | {"more": 1}},
        {"k": WHOLE | {"proven": 1}},
        {"k": {name: value for name, value in WHOLE.items() if name != "absorbed"}},
        {"k": WHOLE | {"failLooks": -1}},
        {"k": WHOLE | {"failLooks": 61}},
        {"k": WHOLE | {"failLooks": True}},
        {"k": WHOLE | {"failAt": 1.0}},
        {"k": WHOLE | {"failAt": "150"}},
        {"k": WHOLE | {"passAt": None}},
        {"k": WHOLE | {"passAt": 10**13}},
        {"k": WHOLE | {"absorbed": "pass"}},
        {"k": WHOLE | {"absorbed": None}},
        {f"k{i}": WHOLE for i in range(65)},
    ],
)
def test_damaged_memory_is_refused_and_never_read_as_empty(damaged: object) -> None:
    with pytest.raises(ValueError, match="judge's memory"):
        JudgeState.from_json(damaged)
