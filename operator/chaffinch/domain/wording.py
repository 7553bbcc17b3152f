"""The words of conditions and events: where traffic is, why, what comes next, what to do.

Every text is ours. Nothing that a pod, a server or a user wrote gets into it but names that the API has
checked, so that no message can carry a prompt, a secret or markup.
"""

from __future__ import annotations

from datetime import datetime

from chaffinch.api.v1alpha1.strategy import FULL_WEIGHT, ApprovalStep
from chaffinch.domain.observation import Observation
from chaffinch.domain.state import Candidate, PodStorm, RolloutState, RouterEdits

LONGEST = 512
_LEAST = 80
"""How much of a message that is too long is left for where traffic is, which it begins with."""
DO_NOTHING = "Do: nothing."


def sentences(*parts: str) -> str:
    """Join the parts of a message, each a sentence or empty, and cut it to the length of a condition's.

    The last part, which says what to do, is kept whole where that leaves the others room.
    """
    told = [part if part.endswith(".") else f"{part}." for part in parts if part]
    text = " ".join(told)
    if len(text) <= LONGEST:
        return text
    room = LONGEST - len(told[-1]) - 1
    return clip(text, LONGEST) if room < _LEAST else f"{clip(' '.join(told[:-1]), room)} {told[-1]}"


def clip(text: str, longest: int = 300) -> str:
    """Cut a text that is too long, visibly."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def percent(weight: int) -> str:
    """Write ten-thousandths as a percentage: 500 is ``5%``."""
    return f"{weight / 100:g}%"


def pods(count: int) -> str:
    """Write a number of pods."""
    return "1 pod" if count == 1 else f"{count} pods"


def moment(at: datetime) -> str:
    """Write a time of day to the second, in UTC."""
    return f"{at:%H:%M:%SZ}"


def where_traffic_is(state: RolloutState, seen: Observation) -> str:
    """Say which revision gets how much, and how many Ready pods it has."""
    shares = []
    weight = state.candidate.weight if state.candidate else 0
    if state.candidate is not None and weight:
        shares.append((weight, state.candidate.revision))
    if state.stable is not None and weight < FULL_WEIGHT:
        shares.append((FULL_WEIGHT - weight, state.stable.revision))
    if not shares:
        return "No revision serves yet"
    return ", ".join(
        f"{percent(share)} on {revision} ({pods(ready_pods(seen, revision))})" for share, revision in shares
    )


def ready_pods(seen: Observation, revision: str) -> int:
    """Count a revision's Ready pods."""
    return sum(pod.serves for pod in seen.revision(revision).pods)


def step_title(candidate: Candidate) -> str:
    """Name the step that a candidate is in: ``Step 3/5 canary-5``."""
    step, steps = candidate.step, candidate.plan.steps
    if step is None:
        return f"Attempt {candidate.attempt}"
    return f"Step {step.index + 1}/{len(steps)} {steps[step.index].name}"


def next_step(candidate: Candidate) -> str:
    """Say what follows when the step has passed."""
    step, steps = candidate.step, candidate.plan.steps
    index = 0 if step is None else step.index + 1
    if step is None and candidate.plan.strategy.warm_up is not None:
        index = 1
    approved = step is not None and isinstance(steps[step.index], ApprovalStep)
    what = steps[index].name if index < len(steps) else "promotion"
    return f"Next: {what} on {'approval' if approved else 'pass'}"


def fight_for_router(fight: RouterEdits) -> str:
    """Say who fights for which object of the router."""
    by = f"by {fight.by}" if fight.by else "by somebody else"
    return f"{fight.object} is changed {by} again and again; it was put back {fight.count} times"


def storm_of_pods(storm: PodStorm) -> str:
    """Say that nodes turn pods away, and when one more is asked for."""
    what = f"nodes have turned away {storm.turned_away} pods of {storm.revision}, one after another"
    return f"{what}; no more are asked for than nodes take, and one more at {moment(storm.again_at)}"


def until(at: datetime | None) -> str:
    """Say when waiting ends, if it does."""
    return f"Waits until {moment(at)}" if at is not None else ""
