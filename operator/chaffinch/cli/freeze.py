"""Gathers what a baseline consists of from the objects of a probe that succeeded."""

from __future__ import annotations

from datetime import UTC, datetime

from pydantic import ValidationError

from chaffinch.api.v1alpha1.baseline import BaselineReference, InferenceBaselineSpec, Provenance
from chaffinch.api.v1alpha1.engine import ModelSpec
from chaffinch.api.v1alpha1.names import revision_name
from chaffinch.api.v1alpha1.parse import InvalidSpec, parse_load_probe, parse_profile
from chaffinch.api.v1alpha1.probe import LoadProbeSpec, LoadProbeStatus, ProbePhase, ProbeResult
from chaffinch.api.v1alpha1.profile import ProbeProfileSpec
from chaffinch.api.v1alpha1.profiles_builtin import BUILT_IN_PROFILES
from chaffinch.cli.exits import CommandError, Exit
from chaffinch.cli.kubectl import Kubectl
from chaffinch.domain.baseline import BaselineError, NotEnoughRequestsError, freeze
from chaffinch.runtime.freezing import fingerprint_of
from chaffinch.runtime.reading import UnreadableRevisionError, frozen_revision_of

BASELINES = "inferencebaselines.chaffinch.dev"
PROBES = "loadprobes.chaffinch.dev"
PROFILES = "probeprofiles.chaffinch.dev"
REVISIONS = "controllerrevisions.apps"


def baseline_of_probe(kubectl: Kubectl, probe: str, name: str, version: str) -> InferenceBaselineSpec:
    """Return the baseline that a probe's result makes, under a name and version.

    Raises:
        CommandError: If there is no such probe, or its result cannot be frozen.
    """
    reference = _reference(name, version)
    body = kubectl.get(PROBES, probe)
    try:
        spec = parse_load_probe(body)
        status = LoadProbeStatus.model_validate(body.get("status") or {})
        result = _result(probe, status)
        revision = status.revision or ""
        provenance = Provenance(
            rollout=spec.target.rollout,
            revision=revision,
            probe=probe,
            created_at=status.finished_at or datetime.now(UTC),
        )
        kept = kubectl.get(REVISIONS, revision_name(spec.target.rollout, revision))
        frozen = frozen_revision_of(kept)
        return freeze(
            reference,
            model=ModelSpec.model_validate(frozen.spec["model"]),
            fingerprint=fingerprint_of(frozen, result.engine_version or "unknown"),
            profile=_profile(kubectl, spec),
            result=result,
            provenance=provenance,
        )
    except NotEnoughRequestsError as error:
        raise CommandError(f"LoadProbe {probe}: {error}", Exit.NOT_ENOUGH) from None
    except (BaselineError, InvalidSpec, UnreadableRevisionError) as error:
        raise CommandError(f"LoadProbe {probe}: {error}") from None
    except (ValidationError, KeyError):
        raise CommandError(f"LoadProbe {probe}: its status or its revision is not the operator's") from None


def _reference(name: str, version: str) -> BaselineReference:
    try:
        return BaselineReference(name=name, version=version)
    except ValidationError as error:
        field = error.errors()[0]["loc"][0]
        rule = {
            "name": "use lower case letters, digits and dashes, such as chat-h100",
            "version": "use lower case letters, digits and dots, such as v1 or 2026.03",
        }
        raise CommandError(f"--{field}: {rule[str(field)]}", Exit.USAGE) from None


def _result(probe: str, status: LoadProbeStatus) -> ProbeResult:
    if status.phase is ProbePhase.FAILED:
        raise CommandError(f"LoadProbe {probe} has failed: see kubectl describe loadprobe {probe}")
    if status.phase is not ProbePhase.SUCCEEDED or status.result is None:
        phase = status.phase or ProbePhase.PENDING
        raise CommandError(f"LoadProbe {probe} is {phase}: wait until it is Succeeded", Exit.NOT_ENOUGH)
    if not status.result.stages:
        raise CommandError(f"LoadProbe {probe} only warmed pods up: freeze one with a profile")
    return status.result


def _profile(kubectl: Kubectl, spec: LoadProbeSpec) -> ProbeProfileSpec:
    name = spec.profile or ""
    return BUILT_IN_PROFILES.get(name) or parse_profile(kubectl.get(PROFILES, name))
