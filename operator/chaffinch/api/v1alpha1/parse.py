"""Reads custom resources into models, and says what is wrong with them in words that help.

The API server has refused most of what is refused here. It is checked again because an object may
have been admitted by an older CRD, and because the command line reads files that no server saw.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from chaffinch.api.v1alpha1.baseline import InferenceBaselineSpec
from chaffinch.api.v1alpha1.check import problems_of
from chaffinch.api.v1alpha1.command import RolloutCommandSpec
from chaffinch.api.v1alpha1.common import SpecModel
from chaffinch.api.v1alpha1.explain import explanation_of, field_path
from chaffinch.api.v1alpha1.probe import LoadProbeSpec
from chaffinch.api.v1alpha1.profile import ProbeProfileSpec
from chaffinch.api.v1alpha1.record import RolloutRecordSpec
from chaffinch.api.v1alpha1.rollout import InferenceRolloutSpec
from chaffinch.api.v1alpha1.rules import OBJECT_RULES

SpecT = TypeVar("SpecT", bound=SpecModel)


class InvalidSpec(Exception):  # noqa: N818 - named after the bad state and the condition reason
    """A spec breaks a rule.

    Attributes:
        field_path: The field, such as ``spec.objectives[0].max``.
        message: The rule and the remedy, without the field.
    """

    def __init__(self, field_path: str, message: str) -> None:
        super().__init__(f"{field_path}: {message}")
        self.field_path = field_path
        self.message = message


def parse_rollout(body: Mapping[str, Any]) -> InferenceRolloutSpec:
    """Return the spec of an InferenceRollout.

    Args:
        body: The whole object, as the API server or a file holds it.

    Raises:
        InvalidSpec: If it breaks a rule.
    """
    return _parse(body, InferenceRolloutSpec)


def parse_load_probe(body: Mapping[str, Any]) -> LoadProbeSpec:
    """Return the spec of a LoadProbe; raises :class:`InvalidSpec`."""
    return _parse(body, LoadProbeSpec)


def parse_profile(body: Mapping[str, Any]) -> ProbeProfileSpec:
    """Return the spec of a ProbeProfile; raises :class:`InvalidSpec`."""
    return _parse(body, ProbeProfileSpec)


def parse_baseline(body: Mapping[str, Any]) -> InferenceBaselineSpec:
    """Return the spec of an InferenceBaseline; raises :class:`InvalidSpec`."""
    return _parse(body, InferenceBaselineSpec)


def parse_command(body: Mapping[str, Any]) -> RolloutCommandSpec:
    """Return the spec of a RolloutCommand; raises :class:`InvalidSpec`."""
    return _parse(body, RolloutCommandSpec)


def parse_record(body: Mapping[str, Any]) -> RolloutRecordSpec:
    """Return the spec of a RolloutRecord; raises :class:`InvalidSpec`."""
    return _parse(body, RolloutRecordSpec)


def _parse(body: Mapping[str, Any], model: type[SpecT]) -> SpecT:
    written = body.get("spec")
    if not isinstance(written, Mapping):
        raise InvalidSpec("spec", "is required and must be a map of fields")
    try:
        spec = model.model_validate(written)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise InvalidSpec(field_path("spec", first["loc"]), explanation_of(first)) from None
    problem = next(problems_of(spec, "spec"), None)
    if problem is not None:
        raise InvalidSpec(*problem)
    _check_object(body, spec)
    return spec


def _check_object(body: Mapping[str, Any], spec: SpecModel) -> None:
    metadata = body.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    if name is None:  # The API server is still to make one, from generateName.
        return
    for rule in OBJECT_RULES:
        if rule.model is type(spec) and not (isinstance(name, str) and rule.holds(name, spec)):
            raise InvalidSpec(rule.field, rule.message)
