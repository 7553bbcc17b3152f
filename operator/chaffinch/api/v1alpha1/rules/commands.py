"""Rules of commands."""

from __future__ import annotations

from typing import Any

from chaffinch.api.v1alpha1.command import CommandAction, RolloutCommandSpec
from chaffinch.api.v1alpha1.rules.rule import Rule

RULES: tuple[Rule[Any], ...] = (
    Rule(
        model=RolloutCommandSpec,
        field=".step",
        message="Approve needs the step that is approved, and no other action has one",
        cel="has(self.step) == (self.action == 'Approve')",
        holds=lambda command: (command.step is not None) == (command.action is CommandAction.APPROVE),
    ),
)
