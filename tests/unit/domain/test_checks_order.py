"""The order of checks is part of the meaning, so it is written down twice."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from chaffinch.domain.machine import beginning, deploying, everywhere, idle, promoting, rolling_back, stepping
from chaffinch.domain.machine.situation import Check

ORDER: list[tuple[Sequence[Check], list[str]]] = [
    (everywhere.CHECKS, ["a_read_has_failed", "a_name_is_taken"]),
    (
        beginning.CHECKS,
        [
            "there_is_nothing_yet",
            "the_route_is_lost_too",
            "only_the_candidate_answers",
            "the_status_is_lost",
        ],
    ),
    (
        idle.CHECKS,
        [
            "stable_is_what_the_spec_asks_for",
            "the_revision_failed_before",
            "the_revision_was_rolled_back_just_now",
            "somebody_fights_for_the_router",
            "the_revision_is_new",
        ],
    ),
    (
        deploying.CHECKS,
        [
            "the_route_says_rolled_back",
            "the_spec_has_moved_on",
            "its_pods_cannot_work",
            "somebody_fights_for_the_router",
            "its_pods_are_late",
            "it_is_paused",
            "its_pods_are_warm",
            "the_warm_up_has_failed",
            "its_pods_are_awaited",
        ],
    ),
    (
        deploying.CHECKS_OF_FIRST,
        [
            "it_serves_already",
            "the_route_says_rolled_back",
            "the_spec_has_moved_on",
            "somebody_fights_for_the_router",
            "the_first_is_warm",
            "the_first_is_in_trouble",
            "the_warm_up_has_failed",
            "its_pods_are_awaited",
        ],
    ),
    (
        stepping.CHECKS,
        [
            "the_route_says_rolled_back",
            "nothing_could_take_over",
            "the_spec_has_moved_on",
            "its_pods_keep_crashing",
            "somebody_fights_for_the_router",
            "the_canary_wavers",
            "the_canary_is_lost",
            "the_canary_stays_away",
            "the_canary_is_below_strength",
            "the_verdict_is_fail",
            "no_router_answers",
            "the_step_has_passed",
            "stable_is_below_strength",
            "the_weight_is_not_set",
            "the_probe_has_no_result",
            "the_weight_is_not_in_force",
            "the_probe_is_not_done",
            "a_person_is_waited_for",
            "the_verdict_is_pass",
            "there_is_no_verdict",
        ],
    ),
    (
        promoting.CHECKS,
        [
            "the_route_says_rolled_back",
            "something_newer_is_asked_for",
            "the_canary_is_lost",
            "somebody_fights_for_the_router",
            "pods_are_missing",
            "traffic_is_not_all_its_own",
            "routers_have_not_acknowledged",
            "it_has_taken_over",
        ],
    ),
    (rolling_back.CHECKS, ["routers_still_send_requests", "it_is_out"]),
]


@pytest.mark.parametrize(("checks", "names"), ORDER)
def test_harm_and_danger_are_looked_for_before_progress(checks: Sequence[Check], names: list[str]) -> None:
    assert [getattr(check, "__name__", "") for check in checks] == names
