"""What the judge remembers between two calls of one step: small, bounded, and never trusted blindly.

The memory is stored in the rollout's status. It is empty at the start of each step; the owner of the
step throws it away when the step, the attempt or the revision changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from chaffinch.domain.verdict.types import Outcome

MOST_GATES = 64
MOST_LOOKS = 60
MOST_REQUESTS = 10**12
LONGEST_KEY = 256
_FIELDS = ("failLooks", "failAt", "passLooks", "passAt", "absorbed")


@dataclass(frozen=True, slots=True)
class GateMemory:
    """What is remembered of one gate.

    Attributes:
        fail_looks: Looks already taken that could have failed it.
        fail_at: The canary's requests at the last of them; 0 before the first.
        pass_looks: Looks already taken that could have passed it.
        pass_at: The canary's requests at the last of them; 0 before the first.
        absorbed: PASS or FAIL once said, else INCONCLUSIVE.
        proven: Whether it passed by a proof that its step does not ask for, as there was nothing yet to
            compare with.
    """

    fail_looks: int = 0
    fail_at: int = 0
    pass_looks: int = 0
    pass_at: int = 0
    absorbed: Outcome = Outcome.INCONCLUSIVE
    proven: bool = False


@dataclass(frozen=True, slots=True)
class JudgeState:
    """The judge's memory of one step: one entry per gate that has been looked at.

    Attributes:
        gates: Memory by :attr:`~chaffinch.domain.verdict.types.Gate.key`.
    """

    gates: Mapping[str, GateMemory] = field(default_factory=dict)

    def of(self, key: str) -> GateMemory:
        """Return what is remembered of a gate; of an unknown one, nothing yet."""
        return self.gates.get(key, GateMemory())

    def to_json(self) -> dict[str, dict[str, int | str]]:
        """Return the memory as plain values, for a status field."""
        return {key: _entry(memory) for key, memory in sorted(self.gates.items())}

    @classmethod
    def from_json(cls, data: object) -> JudgeState:
        """Read what :meth:`to_json` gave; None is the empty memory.

        Raises:
            ValueError: If the data is anything else. Starting from an empty memory instead would
                grant more looks than the plan allows, so the caller must decide what to do.
        """
        if data is None:
            return cls()
        if not isinstance(data, Mapping) or len(data) > MOST_GATES:
            raise ValueError(f"the judge's memory must be a mapping of at most {MOST_GATES} gates")
        return cls({_key(key): _gate_memory(entry) for key, entry in data.items()})


def _key(key: object) -> str:
    if not isinstance(key, str) or not 0 < len(key) <= LONGEST_KEY:
        raise ValueError("a gate's key in the judge's memory must be a short text")
    return key


def _entry(memory: GateMemory) -> dict[str, int | str]:
    entry: dict[str, int | str] = {
        "failLooks": memory.fail_looks,
        "failAt": memory.fail_at,
        "passLooks": memory.pass_looks,
        "passAt": memory.pass_at,
        "absorbed": memory.absorbed.value,
    }
    # Told only if true, which is rare: an older operator does not know it, and takes the status as lost.
    return entry | {"proven": True} if memory.proven else entry


def _gate_memory(entry: object) -> GateMemory:
    if not isinstance(entry, Mapping) or set(entry) - {"proven"} != set(_FIELDS):
        raise ValueError(f"a gate in the judge's memory must have exactly the fields {', '.join(_FIELDS)}")
    absorbed = entry["absorbed"]
    if not isinstance(absorbed, str) or absorbed not in set(Outcome):
        raise ValueError("absorbed in the judge's memory must be Pass, Fail or Inconclusive")
    proven = entry.get("proven", False)
    if not isinstance(proven, bool):
        raise ValueError("proven in the judge's memory must be true or false")
    return GateMemory(
        fail_looks=_count(entry, "failLooks", MOST_LOOKS),
        fail_at=_count(entry, "failAt", MOST_REQUESTS),
        pass_looks=_count(entry, "passLooks", MOST_LOOKS),
        pass_at=_count(entry, "passAt", MOST_REQUESTS),
        absorbed=Outcome(absorbed),
        proven=proven,
    )


def _count(entry: Mapping[str, object], name: str, most: int) -> int:
    value = entry[name]
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError(f"{name} in the judge's memory must be a whole number from 0 to {most}")
    return value
