"""Evidence in, verdict out: one pure function that decides whether a step may end, and how."""

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
]
