"""Evidence in, verdict out: one pure function that decides whether a step may end, and how."""

from chaffinch.domain.verdict.judge import judge
from chaffinch.domain.verdict.memory import GateMemory, JudgeState
from chaffinch.domain.verdict.types import (
    Against,
    ErrorMetric,
    EvidenceReason,
    Gate,
    GateMetric,
    GateVerdict,
    Judgement,
    Kind,
    Level,
    Outcome,
    Plan,
)
from chaffinch.domain.verdict.wording import describe

__all__ = [
    "Against",
    "ErrorMetric",
    "EvidenceReason",
    "Gate",
    "GateMemory",
    "GateMetric",
    "GateVerdict",
    "JudgeState",
    "Judgement",
    "Kind",
    "Level",
    "Outcome",
    "Plan",
    "describe",
    "judge",
]
