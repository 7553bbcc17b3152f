"""``chaffinch probe``: run the load generator from here, with no cluster."""

from __future__ import annotations

import argparse
import asyncio
import sys
import uuid

import uvloop

from chaffinch.api.v1alpha1.parse import InvalidSpec, parse_profile
from chaffinch.api.v1alpha1.profile import ProbeProfileSpec
from chaffinch.api.v1alpha1.profiles_builtin import BUILT_IN_PROFILES
from chaffinch.cli.documents import read_documents, write_text
from chaffinch.cli.exits import CommandError, Exit
from chaffinch.cli.groups import Groups
from chaffinch.cli.output import Shape, add_file, add_output, wants_json
from chaffinch.cli.tables import stage_table
from chaffinch.domain.baseline import MAX_ERROR_SHARE_DIVISOR, MIN_REQUESTS, probe_arm
from chaffinch.domain.evidence import NoEvidence
from chaffinch.probe.client import Client
from chaffinch.probe.load import LoadGenerator
from chaffinch.probe.plan import PlanError, ProbePlan, plan_of
from chaffinch.probe.result import ProbeRecord, status_result
from chaffinch.probe.watch import Watch

_PROGRESS_SECONDS = 10

RESULT = Shape(
    "An object on one line; the table is on standard error then.",
    {
        "probeUid": "an id of this run",
        "attempt": "always 1",
        "engineVersion": "version that the first server reported; absent if it reported none",
        "warmUp": "requests of the warm-up, and how many of them failed",
        "stages": "what each stage measured: counts, tokens, and latencies as sketches",
    },
)


def add(groups: Groups) -> None:
    """Describe the commands."""
    group = groups.add_parser("probe", help="measure servers under a fixed load")
    commands = group.add_subparsers(required=True, metavar="COMMAND")
    run = commands.add_parser(
        "run",
        help="run a load profile against servers, from this machine",
        description="Run a load profile against OpenAI-compatible servers from this machine. Exits with 1 if"
        " more than 1 request in 20 failed in the gate stage, with 3 if that stage is no evidence.",
    )
    run.add_argument(
        "--url", required=True, action="append", metavar="URL", help="http://host:port; may be repeated"
    )
    run.add_argument("--model", required=True, metavar="NAME", help="the model's name in requests")
    run.add_argument(
        "--profile",
        default="smoke/v1",
        metavar="NAME|FILE",
        help=f"{', '.join(BUILT_IN_PROFILES)}, or a file with a ProbeProfile (default: %(default)s)",
    )
    run.add_argument("--seed", type=int, default=1, help="order of prompt lengths (default: %(default)s)")
    add_output(run, RESULT)
    add_file(run)
    run.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> Exit:
    profile = _profile(options.profile)
    try:
        plan = plan_of(
            profile,
            probe_uid=str(uuid.uuid4()),
            attempt=1,
            targets=tuple(url.rstrip("/") for url in options.url),
            model=options.model,
            seed=options.seed,
        )
    except PlanError as error:
        raise CommandError(str(error), Exit.USAGE) from None
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        record = runner.run(_measure(plan))
    table = _report(record, profile)
    if wants_json(options):
        write_text(options.file, record.to_json() + "\n")
        print(table, file=sys.stderr)
    else:
        write_text(options.file, table + "\n")
    return _exit(record, profile)


def _profile(name: str) -> ProbeProfileSpec:
    if name in BUILT_IN_PROFILES:
        return BUILT_IN_PROFILES[name]
    found = [document for document in read_documents(name) if document.kind == "ProbeProfile"]
    if len(found) != 1:
        raise CommandError(f"{name}: there must be one ProbeProfile in it, not {len(found)}", Exit.USAGE)
    try:
        return parse_profile(found[0].body)
    except InvalidSpec as error:
        raise CommandError(f"{name}: {error}", Exit.USAGE) from None


async def _measure(plan: ProbePlan) -> ProbeRecord:
    watch = Watch()
    progress = asyncio.create_task(_tell(watch))
    try:
        async with Client() as client:
            return await LoadGenerator(plan, client, watch).run()
    finally:
        progress.cancel()


async def _tell(watch: Watch) -> None:
    while True:
        await asyncio.sleep(_PROGRESS_SECONDS)
        now = watch.progress()
        print(f"{now['stage']}: {now['requests']} requests", file=sys.stderr)


def _report(record: ProbeRecord, profile: ProbeProfileSpec) -> str:
    result = status_result(record)
    lines = [stage_table(result.stages, profile.gate_stage)]
    for stage in record.stages:
        if stage.errors:
            kinds = ", ".join(f"{kind} {count}" for kind, count in stage.errors_by_kind.items())
            lines.append(f"{stage.name}: failed: {kinds}")
        if stage.stopped:
            lines.append(f"{stage.name}: ended early: {stage.stopped}")
    arm = probe_arm(result, profile.gate_stage)
    if isinstance(arm, NoEvidence):
        lines.append(f"no evidence: {arm.detail}")
    elif arm.requests < MIN_REQUESTS:
        lines.append(f"not enough evidence: {arm.requests} requests, and a P95 needs {MIN_REQUESTS}")
    return "\n".join(lines)


def _exit(record: ProbeRecord, profile: ProbeProfileSpec) -> Exit:
    arm = probe_arm(status_result(record), profile.gate_stage)
    if isinstance(arm, NoEvidence):
        return Exit.NOT_ENOUGH
    if arm.errors * MAX_ERROR_SHARE_DIVISOR > arm.requests:
        return Exit.FAILED
    return Exit.OK if arm.requests >= MIN_REQUESTS else Exit.NOT_ENOUGH
