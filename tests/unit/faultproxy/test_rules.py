"""Which call meets which fault."""

from __future__ import annotations

import pytest

from faultproxy.calls import Call
from faultproxy.rules import Answer, Calls, CutBefore, Mute, Rule, Script

GET = Call("get", "configmaps", "shop", "a")
CREATE = Call("create", "configmaps", "shop", "a")
RENEW = Call("update", "leases", "system", "chaffinch")
WRITES = Calls(verbs=frozenset({"write"}), without=frozenset({"leases"}))


@pytest.mark.parametrize(
    ("calls", "meant"),
    [
        (Calls(), {GET, CREATE, RENEW}),
        (WRITES, {CREATE}),
        (Calls(verbs=frozenset({"get", "update"})), {GET, RENEW}),
        (Calls(resources=frozenset({"configmaps"})), {GET, CREATE}),
        (Calls(namespace="system"), {RENEW}),
        (Calls(name="a"), {GET, CREATE}),
        (Calls(namespace="elsewhere"), set()),
    ],
)
def test_an_empty_field_matches_everything(calls: Calls, meant: set[Call]) -> None:
    assert {call for call in (GET, CREATE, RENEW) if call in calls} == meant


def test_a_rule_meets_the_run_of_calls_that_it_names_and_no_other() -> None:
    script = Script()
    rule = script.add(Rule(WRITES, CutBefore(), first=2, count=2))
    story = [CREATE, GET, CREATE, RENEW, CREATE, CREATE]
    assert [script.fault_for(call) is not None for call in story] == [False, False, True, False, True, False]
    assert (rule.seen, rule.met) == (4, 2)


def test_a_rule_without_an_end_goes_on_until_it_is_removed() -> None:
    script = Script()
    script.add(Rule(Calls(), Answer(503), count=None))
    assert [script.fault_for(GET) for _ in range(3)] == [Answer(503)] * 3
    script.clear()
    assert script.fault_for(GET) is None


def test_the_first_rule_decides_and_the_others_still_count() -> None:
    script = Script()
    script.add(Rule(Calls(), Mute()))
    later = script.add(Rule(Calls(), CutBefore(), first=2))
    assert [script.fault_for(GET), script.fault_for(GET)] == [Mute(), CutBefore()]
    assert (later.seen, later.met) == (2, 1)
