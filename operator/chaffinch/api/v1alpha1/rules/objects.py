"""Rules of whole objects: their names, from which other names are made."""

from __future__ import annotations

import re
from typing import Any

from chaffinch.api.v1alpha1.baseline import InferenceBaselineSpec
from chaffinch.api.v1alpha1.names import baseline_object_name
from chaffinch.api.v1alpha1.probe import LoadProbeSpec
from chaffinch.api.v1alpha1.profile import ProbeProfileSpec
from chaffinch.api.v1alpha1.rollout import InferenceRolloutSpec
from chaffinch.api.v1alpha1.rules.rule import ObjectRule, raw

_ROLLOUT = r"^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$"
_LOAD_PROBE = r"^[a-z]([-a-z0-9]{0,58}[a-z0-9])?$"
_PROFILE = r"^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$"


def _matches(pattern: str, name: str) -> bool:
    # fullmatch, because Python's $ also matches before a trailing newline.
    return re.fullmatch(pattern, name) is not None


RULES: tuple[ObjectRule[Any], ...] = (
    ObjectRule(
        model=InferenceRolloutSpec,
        message="the name of a rollout has at most 40 lower case letters, digits and dashes, begins "
        "with a letter and ends with a letter or digit: the names of its Services are made from it",
        cel=f"self.metadata.name.matches({raw(_ROLLOUT)})",
        holds=lambda name, _: _matches(_ROLLOUT, name),
    ),
    ObjectRule(
        model=LoadProbeSpec,
        message="the name of a load probe has at most 60 lower case letters, digits and dashes, begins "
        "with a letter and ends with a letter or digit: the name of its Job is made from it",
        cel=f"self.metadata.name.matches({raw(_LOAD_PROBE)})",
        holds=lambda name, _: _matches(_LOAD_PROBE, name),
    ),
    ObjectRule(
        model=ProbeProfileSpec,
        message="the name of a load profile has at most 63 lower case letters, digits and dashes, begins "
        "with a letter and ends with a letter or digit: probes refer to it",
        cel=f"self.metadata.name.matches({raw(_PROFILE)})",
        holds=lambda name, _: _matches(_PROFILE, name),
    ),
    ObjectRule(
        model=InferenceBaselineSpec,
        message="the name of a baseline object must be <spec.name>-<spec.version>",
        cel="self.metadata.name == self.spec.name + '-' + self.spec.version",
        holds=lambda name, spec: name == baseline_object_name(spec.name, spec.version),
    ),
)
