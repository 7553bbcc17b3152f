"""What people can make a rollout do, and what it is answered when they cannot."""

from __future__ import annotations

import pytest

from chaffinch.api.v1alpha1.attempt_status import Outcome, RolloutStage
from chaffinch.domain.evidence import Problem
from chaffinch.domain.revision import revision_of
from scenarios.ends import assert_quiet, at_step, healthy, in_stage, rolled_back, rolling_out, serving_v1
from scenarios.engines import Behaviour
from scenarios.operator_under_test import Operator
from scenarios.specs import SHORT, STEPS, V2, V3, rollout_spec, with_steps
from scenarios.world import World

SIGN_OFF = {"name": "sign-off", "approval": {}}
WITH_APPROVAL = with_steps(*STEPS[:2], SIGN_OFF, *STEPS[2:])
PROBE = {"name": "probe", "probe": {"profile": "standard/v1"}}


def weight_of(operator: Operator) -> int:
    assert operator.world.route is not None
    return operator.world.route.intent.weight_of(revision_of(operator.spec))


def is_paused(operator: Operator) -> bool:
    return operator.status is not None and operator.status.phase == "Paused"


def answered(operator: Operator, action: str, revision: str | None = None, step: str | None = None) -> str:
    """Give a command; return its answer, which comes within a few seconds."""
    command = operator.command(action, revision, step)
    operator.run(15, until=lambda op: command.uid in op.world.answers)
    return operator.answer_to(command)


@pytest.mark.parametrize("step", ["canary-5", "canary-50", "bake"])
def test_an_abort_takes_the_candidate_out_and_keeps_it_out(step: str) -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step(step))
    assert answered(operator, "Abort") == "Accepted/Done"
    operator.run(30, until=rolled_back)
    last = operator.state.last_attempt
    assert last is not None
    assert (last.outcome, last.cause, last.message) == (Outcome.ROLLED_BACK, "Aborted", "aborted by ann")
    assert operator.state.failed == ()
    assert operator.condition("Stalled") == ("True", "RolledBack")
    assert operator.message("Stalled").endswith("or kubectl chaffinch retry chat -n llm.")
    operator.run(600)
    assert operator.state.attempts == 2
    assert_quiet(operator)


def test_an_aborted_revision_is_tried_again_when_a_person_says_so() -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step("canary-5"))
    answered(operator, "Abort")
    operator.run(30, until=rolled_back)
    assert answered(operator, "Retry") == "Accepted/Done"
    operator.run(900, until=healthy)
    assert operator.state.attempts == 3


def test_a_failed_revision_is_tried_again_when_a_person_says_so() -> None:
    operator = rolling_out(Behaviour(errors=0.10)).run(900, until=rolled_back)
    v2 = revision_of(operator.spec)
    assert v2 in operator.state.failed
    operator.world.behaviours[v2] = Behaviour()
    assert answered(operator, "Retry") == "Accepted/Done"
    assert v2 not in operator.state.failed
    operator.run(900, until=healthy)
    assert_quiet(operator)


def test_a_retry_needs_no_patience_after_trouble_of_the_environment() -> None:
    operator = rolling_out(Behaviour(fits=False), rollout_spec(V2, strategy=SHORT)).run(
        600, until=rolled_back
    )
    operator.world.behaviours[revision_of(operator.spec)] = Behaviour()
    assert answered(operator, "Retry") == "Accepted/Done"
    operator.run(200, until=healthy)


@pytest.mark.parametrize("step", ["canary-5", "canary-25"])
def test_a_promotion_by_a_person_skips_the_steps_that_are_left(step: str) -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step(step))
    assert answered(operator, "Promote") == "Accepted/Done"
    operator.run(60, until=healthy)
    last = operator.state.last_attempt
    assert last is not None
    assert last.message == "promoted by ann, without the steps that were left"
    assert_quiet(operator)


def test_a_promotion_waits_until_all_pods_are_warm_before_it_moves_traffic() -> None:
    operator = rolling_out(Behaviour(starts_in=40)).run(900, until=at_step("canary-5"))
    assert answered(operator, "Promote") == "Accepted/Done"
    operator.run(20)
    assert weight_of(operator) == 500
    operator.run(120, until=healthy)


def test_a_revision_without_a_warm_pod_is_not_promoted() -> None:
    operator = rolling_out(Behaviour(starts_in=100)).run(20)
    assert answered(operator, "Promote") == "Refused/NotWarm"
    operator.run(900, until=healthy)


def test_a_fix_is_promoted_though_stable_is_dead() -> None:
    operator = serving_v1()
    assert operator.state.stable is not None
    v1 = operator.state.stable.revision
    operator.world.behaviours[v1] = Behaviour(starts_in=10_000)
    operator.world.lose_pods(v1, 4)
    operator.edit(rollout_spec(V2))
    operator.run(60, until=in_stage(RolloutStage.STEPPING))
    operator.run(10)
    assert operator.condition("Stalled") == ("True", "NoReadyEndpoint")
    promote = "kubectl chaffinch promote chat -n llm"
    assert operator.message("Stalled").endswith(f"if none ever can be, {promote}.")
    assert answered(operator, "Promote") == "Accepted/Done"
    operator.run(120, until=healthy)


def test_a_canary_is_not_aborted_while_nothing_could_take_over() -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step("canary-5"))
    assert operator.state.stable is not None
    v1 = operator.state.stable.revision
    operator.world.behaviours[v1] = Behaviour(starts_in=100)
    operator.world.lose_pods(v1, 4)
    operator.run(5)
    assert answered(operator, "Abort") == "Refused/NothingToGoBackTo"
    operator.run(900, until=healthy)
    assert operator.state.attempts == 2


def test_a_paused_rollout_keeps_its_weight_and_goes_on_when_it_is_resumed() -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step("canary-25"))
    assert answered(operator, "Pause") == "Accepted/Done"
    operator.run(1900)
    assert weight_of(operator) == 2_500
    assert operator.condition("Reconciling") == ("True", "Paused")
    assert operator.status is not None
    assert operator.status.phase == "Paused"
    assert answered(operator, "Resume") == "Accepted/Done"
    operator.run(900, until=healthy)


def test_a_rollout_that_is_paused_while_deploying_enters_no_step() -> None:
    operator = rolling_out(Behaviour(starts_in=20)).run(5)
    assert answered(operator, "Pause") == "Accepted/Done"
    operator.run(200)
    assert (operator.state.stage, weight_of(operator)) == (RolloutStage.DEPLOYING, 0)
    assert answered(operator, "Resume") == "Accepted/Done"
    operator.run(900, until=healthy)


@pytest.mark.parametrize("behaviour", [Behaviour(starts_in=10_000), Behaviour(dies_after=5)])
def test_a_pause_stops_no_deadline_of_pods(behaviour: Behaviour) -> None:
    operator = rolling_out(behaviour).run(5)
    assert answered(operator, "Pause") == "Accepted/Done"
    operator.run(400, until=rolled_back)


def test_a_paused_rollout_is_judged_on() -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step("canary-25"))
    answered(operator, "Pause")
    operator.world.behaviours[revision_of(operator.spec)] = Behaviour(errors=0.2)
    operator.run(600, until=rolled_back)
    assert operator.state.last_attempt is not None
    assert operator.state.last_attempt.cause == "ObjectiveFailed"


def test_a_canary_that_is_lost_in_a_pause_gets_its_weight_back_when_it_is_resumed() -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step("canary-25"))
    answered(operator, "Pause")
    operator.world.lose_pods(revision_of(operator.spec), 4)
    operator.run(200)
    assert weight_of(operator) == 0
    assert answered(operator, "Resume") == "Accepted/Done"
    operator.run(60, until=at_step("canary-25"))
    assert weight_of(operator) == 2_500
    operator.run(900, until=healthy)


def test_a_pause_right_after_a_step_was_entered_keeps_the_weight_of_the_one_before() -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step("canary-5"))
    operator.run(300, until=lambda op: "Step 3/5" in op.message("Reconciling"))
    answered(operator, "Pause")
    operator.run(100)
    assert weight_of(operator) == 500
    operator.world.behaviours[revision_of(operator.spec)] = Behaviour(errors=0.2)
    operator.run(600, until=rolled_back)


def test_a_paused_revision_is_superseded_by_an_edit() -> None:
    operator = rolling_out(Behaviour()).run(900, until=at_step("canary-25"))
    answered(operator, "Pause")
    operator.edit(rollout_spec(V3))
    operator.run(900, until=healthy)
    assert operator.state.attempts == 3


PAUSES = rollout_spec(V2, onFailure="Pause")


def test_a_canary_that_misses_an_objective_stays_and_a_person_is_asked() -> None:
    operator = rolling_out(Behaviour(errors=0.10), PAUSES)
    operator.run(900, until=is_paused)
    operator.run(600)
    assert weight_of(operator) == 500
    assert operator.condition("Reconciling") == ("True", "Paused")
    assert operator.condition("Evidence") == ("True", "Sufficient")
    assert ": errorRate 10.00% (" in operator.message("Reconciling")
    assert [event.warning for event in operator.events if event.action == "Pause"] == [True]
    assert answered(operator, "Abort") == "Accepted/Done"
    operator.run(30, until=rolled_back)


def test_a_promotion_in_spite_of_a_missed_objective_says_so() -> None:
    operator = rolling_out(Behaviour(errors=0.10), PAUSES)
    operator.run(900, until=is_paused)
    assert answered(operator, "Promote") == "Accepted/Done"
    operator.run(120, until=healthy)
    assert operator.state.last_attempt is not None
    assert ", in spite of errorRate 10.0" in operator.state.last_attempt.message


def test_a_step_that_missed_an_objective_is_judged_anew_when_it_is_resumed() -> None:
    operator = rolling_out(Behaviour(errors=0.10), PAUSES)
    operator.run(900, until=is_paused)
    assert answered(operator, "Resume") == "Accepted/Done"
    operator.run(900, until=is_paused)
    operator.world.behaviours[revision_of(operator.spec)] = Behaviour()
    assert answered(operator, "Resume") == "Accepted/Done"
    operator.run(900, until=healthy)


def test_a_failed_canary_that_stays_away_in_its_pause_is_not_tried_again_by_itself() -> None:
    operator = rolling_out(Behaviour(errors=0.10), PAUSES)
    operator.run(900, until=is_paused)
    v2 = revision_of(operator.spec)
    operator.world.behaviours[v2] = Behaviour(starts_in=10_000)
    operator.world.lose_pods(v2, 4)
    operator.run(400, until=rolled_back)
    assert operator.state.last_attempt is not None
    assert (operator.state.last_attempt.cause, operator.state.failed) == ("ObjectiveFailed", (v2,))


def awaiting_approval(behaviour: Behaviour) -> Operator:
    operator = rolling_out(behaviour, rollout_spec(V2, strategy=WITH_APPROVAL))
    return operator.run(900, until=at_step("sign-off"))


def test_an_approval_step_waits_for_ever_and_keeps_the_weight() -> None:
    operator = awaiting_approval(Behaviour())
    operator.run(1900)
    assert weight_of(operator) == 500
    assert operator.condition("Reconciling") == ("True", "AwaitingApproval")
    assert operator.condition("Stalled") == ("False", "AsExpected")
    assert operator.status is not None
    assert operator.status.phase == "Paused"
    assert answered(operator, "Approve", step="sign-off") == "Accepted/Done"
    operator.run(900, until=healthy)
    assert_quiet(operator)


def test_a_canary_that_waits_for_approval_is_judged_on() -> None:
    operator = awaiting_approval(Behaviour())
    operator.world.behaviours[revision_of(operator.spec)] = Behaviour(errors=0.2)
    operator.run(900, until=rolled_back)
    assert operator.state.last_attempt is not None
    assert operator.state.last_attempt.cause == "ObjectiveFailed"


def test_an_approval_before_and_after_its_time_is_refused() -> None:
    operator = rolling_out(Behaviour(), rollout_spec(V2, strategy=WITH_APPROVAL))
    operator.run(900, until=at_step("canary-5"))
    assert answered(operator, "Approve", step="sign-off") == "Refused/OtherStep"
    operator.run(900, until=at_step("sign-off"))
    operator.run(30)
    assert operator.condition("Reconciling") == ("True", "AwaitingApproval")
    assert answered(operator, "Approve", step="sign-off") == "Accepted/Done"
    operator.run(900, until=at_step("canary-25"))
    assert answered(operator, "Approve", step="sign-off") == "Refused/OtherStep"


def test_an_approval_is_not_forgotten_when_a_pod_is_lost() -> None:
    operator = awaiting_approval(Behaviour(starts_in=40))
    assert answered(operator, "Approve", step="sign-off") == "Accepted/Done"
    operator.world.lose_pods(revision_of(operator.spec), 1)
    operator.run(900, until=at_step("canary-25"))
    operator.run(900, until=healthy)


def test_missing_evidence_does_not_hold_an_approval_up() -> None:
    operator = awaiting_approval(Behaviour())
    operator.world.evidence_problem = Problem.UNAVAILABLE
    operator.run(1900)
    assert operator.condition("Reconciling") == ("True", "AwaitingApproval")
    assert operator.condition("Evidence") == ("Unknown", "EvidenceUnavailable")


def test_an_approval_before_any_traffic_is_asked_for_without_evidence() -> None:
    strategy = with_steps(STEPS[0], SIGN_OFF, *STEPS[1:])
    operator = rolling_out(Behaviour(), rollout_spec(V2, strategy=strategy))
    operator.run(900, until=at_step("sign-off"))
    operator.run(600)
    assert (weight_of(operator), operator.condition("Evidence")) == (0, ("Unknown", "AsExpected"))
    assert answered(operator, "Approve", step="sign-off") == "Accepted/Done"
    operator.run(900, until=healthy)


def test_an_approval_may_be_the_last_step() -> None:
    strategy = with_steps(*STEPS[:4], SIGN_OFF)
    operator = rolling_out(Behaviour(), rollout_spec(V2, strategy=strategy))
    operator.run(900, until=at_step("sign-off"))
    assert answered(operator, "Approve", step="sign-off") == "Accepted/Done"
    operator.run(120, until=healthy)


def test_a_load_that_came_to_nothing_is_run_again_when_a_person_says_so() -> None:
    operator = rolling_out(Behaviour(), rollout_spec(V2, strategy=with_steps(STEPS[0], PROBE, *STEPS[1:])))
    operator.run(120, until=at_step("probe"))
    operator.world.probes_fail = True
    operator.run(600, until=lambda op: op.condition("Stalled") == ("True", "ProbeFailed"))
    retry = "kubectl chaffinch retry chat -n llm"
    assert operator.message("Stalled").endswith(f"look into the LoadProbe, then {retry}.")
    operator.world.probes_fail = False
    assert answered(operator, "Retry") == "Accepted/Done"
    operator.run(900, until=healthy)
    assert operator.state.attempts == 2


def test_a_load_that_is_run_again_by_a_person_may_fail_as_often_as_at_first() -> None:
    operator = rolling_out(Behaviour(), rollout_spec(V2, strategy=with_steps(STEPS[0], PROBE, *STEPS[1:])))
    operator.run(120, until=at_step("probe"))
    operator.world.probes_fail = True
    operator.run(600, until=lambda op: op.condition("Stalled") == ("True", "ProbeFailed"))
    runs = len(operator.world.probes)
    answered(operator, "Retry")
    assert operator.condition("Stalled") == ("False", "AsExpected")
    operator.run(600, until=lambda op: op.condition("Stalled") == ("True", "ProbeFailed"))
    assert len(operator.world.probes) == runs + 3


def test_a_warm_up_that_came_to_nothing_is_run_again_when_a_person_says_so() -> None:
    operator = serving_v1()
    operator.world.probes_fail = True
    operator.edit(rollout_spec(V2))
    operator.run(280)
    assert operator.state.hold is not None
    assert "it is not run again by itself" in operator.state.hold.message
    operator.world.probes_fail = False
    assert answered(operator, "Retry") == "Accepted/Done"
    operator.run(900, until=healthy)
    assert operator.state.attempts == 2


def test_the_first_revision_is_warmed_again_when_a_person_says_so() -> None:
    operator = Operator(World(probes_fail=True), rollout_spec())
    operator.run(400, until=lambda op: op.status is not None and op.condition("Stalled")[0] == "True")
    operator.world.probes_fail = False
    assert answered(operator, "Retry") == "Accepted/Done"
    operator.run(60, until=healthy)
