"""Runs a plan: the warm-up, then closed-loop stages, each measured and each checked on itself.

One dispatcher hands requests to free places, so that a stage's requests are sent in the plan's order whatever
the server does. Nothing of a response is interpreted before its last byte has come.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from chaffinch.api.v1alpha1.profile import Stage
from chaffinch.api.v1alpha1.quantities import duration_seconds
from chaffinch.probe.client import Client
from chaffinch.probe.exchange import End
from chaffinch.probe.plan import ProbePlan, prompt_mix
from chaffinch.probe.prompts import completion_body, prompt_lengths, prompt_text
from chaffinch.probe.reading import read_exchange
from chaffinch.probe.result import GeneratorFigures, ProbeRecord, StageRecord, WarmUpRecord
from chaffinch.probe.selfcheck import Figures, LagSampler, mean_concurrency, sampling_lag, self_check
from chaffinch.probe.slots import Slots
from chaffinch.probe.tally import Tally
from chaffinch.probe.watch import WARM_UP, Watch

MIN_FAILURES_IN_A_ROW = 20
"""A stage ends early after this many failures in a row, or twice its concurrency if that is more."""

STAGE_TIMEOUT = "the stage's timeout was over"

_STEADY_REQUESTS_PER_CLIENT = 3


@dataclass(slots=True)
class _Run:
    """One stage, or the warm-up, while it runs."""

    name: str
    concurrency: int
    prompts: Sequence[int]
    deadline: float
    tally: Tally = field(default_factory=Tally)
    spans: list[tuple[float, float]] = field(default_factory=list)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    answered: set[str] = field(default_factory=set)
    """The targets of which at least one answer was good."""
    stopped: str | None = None


class LoadGenerator:
    """Runs one plan, once."""

    def __init__(self, plan: ProbePlan, client: Client, watch: Watch) -> None:
        self._plan = plan
        self._client = client
        self._watch = watch
        self._slots = Slots()
        self._broken = False

    async def run(self) -> ProbeRecord:
        """Run the plan and return what it measured; it ends by itself, whatever the targets do.

        After too many failures in a row only the gate stage is still run: more load would add
        nothing but harm, and without the gate stage a broken server could not be told from an unknown one.
        """
        version = await self._client.engine_version(self._plan.targets[0])
        warm_up = self._warm_up_run()
        stages: list[StageRecord] = []
        async with sampling_lag() as lag:
            if warm_up is not None:
                await self._send(warm_up)
            for stage in self._plan.stages:
                if self._broken and stage.name != self._plan.gate_stage:
                    continue
                stages.append(await self._measure(stage, lag, warm_up))
        if warm_up is not None:
            await _all_ended(warm_up)
        return ProbeRecord(
            probe_uid=self._plan.probe_uid,
            attempt=self._plan.attempt,
            engine_version=version,
            warm_up=None if warm_up is None else self._warm_up_record(warm_up),
            stages=tuple(stages),
        )

    def _warm_up_run(self) -> _Run | None:
        warm_up = self._plan.warm_up
        if warm_up is None:
            return None
        # Requests go to the targets in turn, so each one gets the share of one pod.
        pods = len(self._plan.targets)
        prompts = prompt_lengths(prompt_mix(self._plan.prompt), pods * warm_up.requests, self._plan.seed)
        return _Run(WARM_UP, pods * warm_up.concurrency, prompts, deadline=float("inf"))

    def _warm_up_record(self, run: _Run) -> WarmUpRecord:
        return WarmUpRecord(
            requests=run.tally.requests,
            errors=run.tally.errors,
            errors_by_kind=run.tally.errors_by_kind,
            cold=tuple(target for target in self._plan.targets if target not in run.answered),
        )

    async def _measure(self, stage: Stage, lag: LagSampler, warm_up: _Run | None) -> StageRecord:
        prompts = prompt_lengths(prompt_mix(self._plan.prompt), stage.requests, self._plan.seed)
        start = time.monotonic()
        run = _Run(stage.name, stage.concurrency, prompts, deadline=start + duration_seconds(stage.timeout))
        lag.p99_since_last()
        cpu = time.process_time()
        await self._send(run)
        sent_all = time.monotonic()
        await _all_ended(run)
        duration = time.monotonic() - start
        # The warm-up is not drained: its last requests are part of the load that this stage begins under.
        spans = run.spans + (warm_up.spans if warm_up is not None else [])
        steady = run.tally.requests >= _STEADY_REQUESTS_PER_CLIENT * stage.concurrency
        figures = Figures(
            lag_seconds=lag.p99_since_last(),
            cpu_share=(time.process_time() - cpu) / duration,
            mean_concurrency=mean_concurrency(spans, start, sent_all) if steady else None,
        )
        return _stage_record(stage, run, figures, duration)

    async def _send(self, run: _Run) -> None:
        """Send the requests of a stage, each as soon as a place is free; does not wait for the last ones."""
        self._watch.enter(run.name)
        self._slots.resize(run.concurrency)
        nonce = f"{self._plan.probe_uid}/{self._plan.attempt}/{run.name}"
        too_many = max(MIN_FAILURES_IN_A_ROW, 2 * run.concurrency)
        for index, tokens in enumerate(run.prompts):
            left = run.deadline - time.monotonic()
            if not await self._slots.take(None if left == float("inf") else max(left, 0.0)):
                run.stopped = STAGE_TIMEOUT
                return
            if run.tally.failures_in_a_row >= too_many:
                self._slots.give_back()
                self._broken = True
                run.stopped = f"{too_many} requests in a row failed"
                return
            body = completion_body(
                self._plan.model, prompt_text(tokens, nonce, index), self._plan.output.tokens
            )
            task = asyncio.create_task(self._request(run, self._target(index), body))
            run.tasks.add(task)
            task.add_done_callback(_forget(run))
            self._watch.open_requests(self._slots.taken)

    def _target(self, index: int) -> str:
        return self._plan.targets[index % len(self._plan.targets)]

    async def _request(self, run: _Run, target: str, body: bytes) -> None:
        left = run.deadline - time.monotonic()
        timeout = self._plan.request_timeout_seconds
        try:
            exchange = await self._client.exchange(
                f"{target}/v1/chat/completions",
                body,
                tokens_asked=self._plan.output.tokens,
                timeout_seconds=max(0.0, min(timeout, left)),
            )
        finally:
            self._slots.give_back()
        run.spans.append((exchange.sent, exchange.ended))
        if exchange.end is End.TIMEOUT and left < timeout:
            # The stage's end, not the server's slowness, cut it: that says nothing of the server.
            run.stopped = STAGE_TIMEOUT
            return
        reading = read_exchange(exchange)
        run.tally.add(reading)
        if not reading.outcome.failed:
            run.answered.add(target)
        self._watch.count(run.name, reading.outcome)


def _forget(run: _Run) -> Callable[[asyncio.Task[None]], None]:
    """Return a callback that drops finished tasks, and keeps those that raised for :func:`_all_ended`."""

    def forget(task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is None:
            run.tasks.discard(task)

    return forget


async def _all_ended(run: _Run) -> None:
    """Wait for the open requests of a stage; a defect of the generator itself is raised here."""
    while run.tasks:
        await asyncio.gather(*run.tasks)


def _stage_record(stage: Stage, run: _Run, figures: Figures, duration: float) -> StageRecord:
    tally, mean = run.tally, figures.mean_concurrency
    return StageRecord(
        name=stage.name,
        concurrency=stage.concurrency,
        planned=stage.requests,
        requests=tally.requests,
        errors=tally.errors,
        errors_by_kind=tally.errors_by_kind,
        prompt_tokens=tally.prompt_tokens,
        cached_tokens=tally.cached_tokens,
        output_tokens=tally.output_tokens,
        unknown_tokens=tally.unknown_tokens,
        output_tokens_per_1000_seconds=round(1000 * tally.output_tokens / duration),
        duration_millis=round(1000 * duration),
        stopped=run.stopped,
        sketches=tally.sketches(),
        itl=tally.gaps(),
        self_check=self_check(
            figures, median_ttft_seconds=tally.median_ttft_seconds(), concurrency=stage.concurrency
        ),
        generator=GeneratorFigures(
            lag_p99_micros=round(1e6 * figures.lag_seconds),
            cpu_permille=round(1000 * figures.cpu_share),
            mean_concurrency_milli=None if mean is None else round(1000 * mean),
        ),
    )
