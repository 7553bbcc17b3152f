"""Each row of the state machine writes in one order, whatever else it comes to.

A process may die between any two writes; what the next one finds is right only because of their order. So
these lists are whole: every write of the passes that make the move, pass by pass, and nothing else. Where
the order is none of the first design a decision says why: 0022, 0027, 0042 and 0045.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from fakes.virtual_time import run
from scenarios.passes import (
    V2,
    V3,
    Act,
    Beginning,
    Holds,
    Pass,
    Story,
    ask_for,
    at_canary,
    at_canary_that_pauses,
    command_to,
    deploying,
    failed_before_the_last,
    gets_no_pods,
    held,
    in_force,
    is_good,
    is_paused,
    is_slow,
    knows_stable,
    lose_the_canary,
    lose_the_status,
    nothing,
    rolled_back,
    serves,
    serving,
    stage,
    stalled,
    third_attempt,
    wait,
)


@dataclass(frozen=True)
class Row:
    """One row of the state machine.

    Attributes:
        title: Its stages.
        beginning: What there is before.
        act: What makes the difference.
        holds: Where it ends.
        written: What its passes wrote last, pass by pass.
    """

    title: str
    beginning: Beginning
    act: Act
    holds: Holds
    written: list[Pass]


RECORD = "RolloutRecord chat-v2-a2"
ROLLED_BACK = ["route v1 100 % v2 0 % (Rollback)", "status RollingBack canary-20", RECORD]
GONE = ["status Idle", RECORD, "route v1 100 % v2 0 %", "Deployment chat-v2: 0"]
ROUTER = [
    "ServiceAccount chat-router", "Role chat-router", "RoleBinding chat-router", "Service chat",
    "PodDisruptionBudget chat-router", "Deployment chat-router: 2",
]  # fmt: skip


def begun(version: int, attempt: int, *router: str, route: str) -> Pass:
    """Return what begins an attempt."""
    name = f"chat-v{version}"
    return [
        "status Deploying", f"RolloutRecord {name}-a{attempt}", f"ControllerRevision {name}",
        f"Service {name}", f"PodDisruptionBudget {name}", *router, f"Deployment {name}: 1", f"route {route}",
    ]  # fmt: skip


ROWS = (
    Row(
        "empty, no own child -> Deploying",
        nothing, ask_for(), stage("Deploying"),
        [begun(1, 1, *ROUTER, route="v1 0 %")],
    ),
    Row("empty, own children -> rebuilt", serving, lose_the_status, knows_stable, [["status Idle"]]),
    Row(
        "Deploying, no stable -> Idle",
        nothing, ask_for(), serves,
        [
            ["status Deploying", "Deployment chat-v1: 2", "route v1 0 %"],
            ["route v1 100 %", "status Idle", "RolloutRecord chat-v1-a1"],
        ],
    ),
    Row(
        "Deploying, no stable -> stalled",
        nothing, gets_no_pods, stalled("ProgressDeadlineExceeded"),
        [["status Deploying", "RolloutRecord chat-v1-a1"]],
    ),
    Row(
        "Idle -> Deploying",
        serving, ask_for(**V2), stage("Deploying"),
        [begun(2, 2, route="v1 100 % v2 0 %")],
    ),
    Row(
        "Idle, failed in the last attempt -> Idle",
        rolled_back, ask_for(**V2), stalled("RolledBack"),
        [["status Idle"]],
    ),
    Row(
        "Idle, failed before that -> Idle",
        failed_before_the_last, ask_for(**V2), stalled("RevisionPreviouslyFailed"),
        [["status Idle"]],
    ),
    Row(
        "Deploying -> Stepping[0]",
        serving, ask_for(**V2), in_force("canary-20"),
        [
            ["status Stepping canary-20", RECORD, "route v1 100 % v2 0 %"],
            ["status Stepping canary-20", "route v1 80 % v2 20 %"],
            ["status Stepping canary-20", RECORD],
        ],
    ),
    Row(
        "Deploying -> RollingBack -> Idle",
        deploying, wait, stage("Idle"),
        [
            ["route v1 100 % v2 0 % (Rollback)", "status RollingBack", RECORD],
            ["status Idle", RECORD, "route v1 100 %", "Deployment chat-v2: 0"],
        ],
    ),
    Row(
        "Stepping[0] -> Stepping[1]",
        at_canary, is_good, in_force("canary-50"),
        [
            ["status Stepping canary-20", RECORD, "Deployment chat-v2: 2"],
            ["status Stepping canary-50", RECORD, "route v1 80 % v2 20 %"],
            ["status Stepping canary-50", "route v1 50 % v2 50 %"],
            ["status Stepping canary-50", RECORD],
        ],
    ),
    Row(
        "Stepping, no evidence -> hold",
        at_canary, wait, held("NoData"),
        [["status Stepping canary-20", RECORD]],
    ),
    Row(
        "Stepping, no Ready endpoint -> hold",
        at_canary, lose_the_canary, held("CanaryUnavailable"),
        [["route v1 100 % v2 0 %", "status Stepping canary-20", RECORD]],
    ),
    Row("Stepping, Fail -> RollingBack -> Idle", at_canary, is_slow, stage("Idle"), [ROLLED_BACK, GONE]),
    Row(
        "Stepping, Fail, onFailure Pause -> paused",
        at_canary_that_pauses, is_slow, is_paused,
        [["status Stepping canary-20", RECORD]],
    ),
    Row(
        "Stepping, Abort -> RollingBack -> Idle",
        at_canary, command_to("Abort"), stage("Idle"),
        [[*ROLLED_BACK[:2], "RolloutCommand abort", RECORD], GONE],
    ),
    Row(
        "Stepping, another revision -> RollingBack -> Deploying",
        at_canary, ask_for(**V3), third_attempt,
        [ROLLED_BACK, GONE, begun(3, 3, route="v1 100 % v3 0 %")],
    ),
    Row(
        "Stepping, back to stable -> RollingBack -> Idle",
        at_canary, ask_for(), stage("Idle"),
        [ROLLED_BACK, GONE],
    ),
    Row(
        "Deploying, another revision -> RollingBack -> Deploying",
        deploying, ask_for(**V3), third_attempt,
        [
            ["route v1 100 % v2 0 % (Rollback)", "status RollingBack", RECORD],
            ["status Idle", RECORD, "route v1 100 %", "Deployment chat-v2: 0"],
            begun(3, 3, route="v1 100 % v3 0 %"),
        ],
    ),
    Row(
        "last step -> Promoting -> Idle",
        at_canary, is_good, stage("Idle"),
        [
            ["status Promoting bake", RECORD, "route v1 0 % v2 100 % (Promote)"],
            ["status Idle", RECORD, "route v2 100 % v1 0 %", "Deployment chat-v1: 0"],
        ],
    ),
    Row(
        "Stepping, Promote -> Promoting -> Idle",
        at_canary, command_to("Promote"), stage("Idle"),
        [
            ["status Promoting canary-20", "RolloutCommand promote", RECORD, "Deployment chat-v2: 2",
             "route v1 80 % v2 20 % (Promote)"],
            ["status Promoting canary-20", "route v1 0 % v2 100 % (Promote)"],
            ["status Idle", RECORD, "route v2 100 % v1 0 %", "Deployment chat-v1: 0"],
        ],
    ),
)  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.title)
def test_a_row_of_the_state_machine_writes_in_its_order(row: Row) -> None:
    async def story() -> list[Pass]:
        told = Story()
        await row.beginning(told)
        row.act(told)
        return await told.until(row.holds)

    assert run(story())[-len(row.written) :] == row.written
