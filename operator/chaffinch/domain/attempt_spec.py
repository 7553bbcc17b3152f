"""What a rollout asks for while its written spec breaks a rule: that the attempt goes on as it began.

An attempt is frozen when it starts: what makes its revision in a ControllerRevision, what it is held to in
the status. Read back from there, and not remembered by a process, it goes on after a restart of the operator
too: harm is found, and people can abort, pause or approve.
"""

from __future__ import annotations

from pydantic import ValidationError

from chaffinch.api.v1alpha1.rollout import InferenceRolloutSpec
from chaffinch.domain.observation import Observation
from chaffinch.domain.revision import revision_of, written
from chaffinch.domain.state import RolloutState


def spec_of_attempt(
    state: RolloutState, seen: Observation, replicas: int | None
) -> InferenceRolloutSpec | None:
    """Return a spec that asks for the running attempt.

    Its strategy and its baseline are absent: those of an attempt are read from its plan.

    Args:
        state: What is remembered.
        seen: What was observed.
        replicas: How many pods were asked for last; None: as many as there are.

    Returns:
        The spec; None if nothing is tried, or if what the attempt began with cannot be told any more.
    """
    candidate = state.candidate
    if candidate is None:
        return None
    frozen = seen.revision(candidate.revision).frozen
    sized = seen.revision(state.stable.revision if state.stable else candidate.revision)
    replicas = replicas or sized.desired_replicas
    if frozen is None or not replicas:
        return None
    plan = candidate.plan
    try:
        spec = InferenceRolloutSpec.model_validate(
            {
                **written(frozen.spec),
                "replicas": replicas,
                "objectives": [each.model_dump(by_alias=True, exclude_none=True) for each in plan.objectives],
                "onFailure": plan.on_failure,
            }
        )
    except ValidationError:
        return None
    # A form of another version may read as something else; what the hash does not vouch for is not used.
    return spec if revision_of(spec) == candidate.revision else None
