"""Rules of load probes, load profiles and what was measured with them."""

from __future__ import annotations

from typing import Any

from chaffinch.api.v1alpha1.baseline import InferenceBaselineSpec
from chaffinch.api.v1alpha1.measurement import StageMeasurement
from chaffinch.api.v1alpha1.probe import LoadProbeSpec
from chaffinch.api.v1alpha1.profile import ProbeProfileSpec, Prompt, Stage
from chaffinch.api.v1alpha1.rules.rule import Rule


def _shares_add_up(prompt: Prompt) -> bool:
    return not prompt.mix or sum(int(part.share.removesuffix("%")) for part in prompt.mix) == 100


RULES: tuple[Rule[Any], ...] = (
    Rule(
        model=LoadProbeSpec,
        message="a load probe needs exactly one of profile and warmUp",
        cel="has(self.profile) != has(self.warmUp)",
        holds=lambda probe: (probe.profile is None) != (probe.warm_up is None),
    ),
    Rule(
        model=LoadProbeSpec,
        field=".freeze",
        message="a warm-up measures nothing that could be frozen: give a profile instead of warmUp",
        cel="!has(self.freeze) || has(self.profile)",
        holds=lambda probe: probe.freeze is None or probe.profile is not None,
    ),
    Rule(
        model=Stage,
        field=".requests",
        message="a stage needs at least as many requests as clients (concurrency)",
        cel="self.requests >= self.concurrency",
        holds=lambda stage: stage.requests >= stage.concurrency,
    ),
    Rule(
        model=Prompt,
        message="a prompt needs exactly one of tokens and mix",
        cel="has(self.tokens) != (has(self.mix) && size(self.mix) > 0)",
        holds=lambda prompt: (prompt.tokens is None) != (not prompt.mix),
    ),
    Rule(
        model=Prompt,
        field=".mix",
        message="the shares of the prompt mix must add up to 100%",
        cel="!has(self.mix) || size(self.mix) == 0 || !self.mix.all(m, m.share.matches(r'^[0-9]{1,3}%$')) || "
        "self.mix.map(m, int(m.share.replace('%', ''))).sum() == 100",
        holds=_shares_add_up,
    ),
    Rule(
        model=ProbeProfileSpec,
        field=".gateStage",
        message="gateStage must be the name of one of the stages",
        cel="self.stages.exists(s, s.name == self.gateStage)",
        holds=lambda profile: profile.gate_stage in {stage.name for stage in profile.stages},
    ),
    Rule(
        model=StageMeasurement,
        field=".errors",
        message="a stage cannot have more errors than requests",
        cel="self.errors <= self.requests",
        holds=lambda stage: stage.errors <= stage.requests,
    ),
    Rule(
        model=InferenceBaselineSpec,
        field=".gateStage",
        message="gateStage must be the profile's gateStage and one of the measured stages",
        cel="self.gateStage == self.profile.gateStage && self.stages.exists(s, s.name == self.gateStage)",
        holds=lambda baseline: (
            baseline.gate_stage == baseline.profile.gate_stage
            and baseline.gate_stage in {stage.name for stage in baseline.stages}
        ),
    ),
)
