"""How each kind is read, and the words in which it is refused."""

from typing import Any

from chaffinch.api.v1alpha1.formats import REMEDIES
from chaffinch.api.v1alpha1.parse import (
    parse_baseline,
    parse_command,
    parse_load_probe,
    parse_profile,
    parse_record,
    parse_rollout,
)
from chaffinch.api.v1alpha1.rules import OBJECT_RULES, RULES
from chaffinch.api.v1alpha1.rules.rule import ObjectRule, Rule

PARSERS = {
    "InferenceRollout": parse_rollout,
    "InferenceBaseline": parse_baseline,
    "LoadProbe": parse_load_probe,
    "RolloutCommand": parse_command,
    "ProbeProfile": parse_profile,
    "RolloutRecord": parse_record,
}
ALL_RULES: tuple[Rule[Any] | ObjectRule[Any], ...] = (*RULES, *OBJECT_RULES)
OUR_WORDS = (*(rule.message for rule in ALL_RULES), *REMEDIES.values())
