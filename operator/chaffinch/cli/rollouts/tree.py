"""``get``: one rollout as a tree, with its revisions, pods, step, objectives, and what comes next."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from chaffinch.api.v1alpha1.attempt_status import DecisionStatus
from chaffinch.api.v1alpha1.status import TrafficStatus
from chaffinch.api.v1alpha1.step_status import (
    HoldStatus,
    ObjectiveStatus,
    ObjectiveVerdict,
    PauseStatus,
    StepStatus,
)
from chaffinch.cli.rollouts.snapshot import Arm, PodFact, Snapshot
from chaffinch.cli.tables import counts, limit_of, to_the_second
from chaffinch.domain.wording import percent

PHASE_STYLES = {"Healthy": "green", "Progressing": "blue", "Paused": "yellow", "Degraded": "red"}
_VERDICT_STYLES = {
    ObjectiveVerdict.PASS: "green",
    ObjectiveVerdict.FAIL: "bold red",
    ObjectiveVerdict.INCONCLUSIVE: "yellow",
}
_OBJECTIVE_COLUMNS = ("objective", "verdict", "value", "control", "ratio", "interval", "limit", "n", "step")
_NEXT_LOOK = "next look"


def tree(snapshot: Snapshot) -> RenderableType:
    """Return a rollout as a tree."""
    root = Tree(_title(snapshot))
    for arm in snapshot.arms:
        branch = root.add(_arm(arm))
        for pod in arm.pods:
            branch.add(_pod(pod))
    for line in _progress(snapshot):
        root.add(line)
    if snapshot.status.objectives:
        root.add(Group(_whose_objectives(snapshot), objectives(snapshot.status.objectives)))
    headline = snapshot.headline
    if headline is not None and snapshot.is_observed:
        root.add(Text.assemble((f"{headline.reason}: ", "bold"), headline.message))
    return root


def objectives(figures: tuple[ObjectiveStatus, ...]) -> Table:
    """Return the newest figures of the objectives as a table, with the next look of those that await one."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    foreseen = any(each.eta for each in figures)
    for heading in (*_OBJECTIVE_COLUMNS, *((_NEXT_LOOK,) if foreseen else ())):
        table.add_column(heading, justify="right" if heading in {"value", "control", "n"} else "left")
    for each in figures:
        verdict = Text(f"{each.verdict} {each.reason}", style=_VERDICT_STYLES[each.verdict])
        shown = (each.value, each.control, each.ratio, each.interval, limit_of(each), counts(each), each.step)
        next_look = (to_the_second(each.eta),) if foreseen else ()
        table.add_row(each.name, verdict, *(value or "" for value in shown), *next_look)
    return table


def _title(snapshot: Snapshot) -> Text:
    title = Text.assemble(
        (snapshot.name, "bold"),
        f" ({snapshot.namespace})  ",
        (snapshot.phase, PHASE_STYLES.get(snapshot.phase, "")),
    )
    if not snapshot.is_observed:
        title.append("  nobody has looked at this generation yet", "yellow")
    return title


def _whose_objectives(snapshot: Snapshot) -> Text:
    last = snapshot.status.last_attempt
    if snapshot.status.rollout is not None or last is None:
        return Text("objectives")
    return Text(f"objectives of attempt {last.attempt} ({last.outcome})")


def _arm(arm: Arm) -> Text:
    count = f"{arm.ready}/{len(arm.pods)} ready"
    return Text.assemble(f"{arm.role} ", (arm.revision, "bold"), f"  {arm.percent:g}%  {count}")


def _pod(pod: PodFact) -> Text:
    state = ("Ready", "green") if pod.ready else (pod.trouble or "not ready", "yellow")
    text = Text.assemble(pod.name, "  ", state)
    if pod.warm is not None:
        text.append("  warm" if pod.warm else "  cold")
    if pod.restarts:
        text.append(f"  {pod.restarts} restarts", "red")
    return text


def _progress(snapshot: Snapshot) -> list[Text]:
    progress, traffic = snapshot.status.rollout, snapshot.status.traffic
    if progress is None:
        return []
    lines = [_step(progress.step)] if progress.step else [Text(f"stage {progress.stage}")]
    if traffic is not None and traffic.weight is not None:
        lines.append(_weight(traffic))
    if progress.hold is not None:
        lines.append(_hold(progress.hold))
    if progress.paused is not None:
        lines.append(_paused(progress.paused))
    if progress.decision is not None:
        lines.append(_decision(progress.decision))
    return lines


def _step(step: StepStatus) -> Text:
    text = Text.assemble(f"step {step.index + 1}/{step.of} ", (step.name, "bold"))
    if step.require is not None:
        text.append(f"  require {step.require}")
    if step.passed_at is not None:
        text.append(f"  passed {to_the_second(step.passed_at)}", "green")
    elif step.earliest_end is not None:
        text.append(f"  not before {to_the_second(step.earliest_end)}")
    return text


def _weight(traffic: TrafficStatus) -> Text:
    weight = traffic.weight
    if weight is None:
        return Text()
    observed = "unknown" if weight.observed is None else percent(weight.observed)
    text = Text(f"weight {weight.percent} asked of {traffic.routers or 0} routers, {observed} observed")
    if weight.observed != weight.desired:
        text.stylize("yellow")
    return text


def _hold(hold: HoldStatus) -> Text:
    end = f", until {to_the_second(hold.deadline)}" if hold.deadline else ""
    return Text(f"holding since {to_the_second(hold.since)}{end}: {hold.reason}", "yellow")


def _paused(paused: PauseStatus) -> Text:
    by = f" by {paused.by}" if paused.by else ""
    return Text(f"paused since {to_the_second(paused.since)}{by}: {paused.cause}", "yellow")


def _decision(decision: DecisionStatus) -> Text:
    by = f" by RolloutCommand {decision.command}" if decision.command else ""
    return Text(f"decided {decision.kind} at {to_the_second(decision.at)}{by}: {decision.cause}")
