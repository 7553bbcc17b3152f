"""The commands that act: each makes a RolloutCommand and waits for the operator's answer."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from typing import Any

from chaffinch.api.v1alpha1.command import CommandAction, CommandOutcome
from chaffinch.api.v1alpha1.common import API_VERSION, GROUP
from chaffinch.api.v1alpha1.parse import InvalidSpec, parse_rollout
from chaffinch.cli.exits import CommandError, Exit
from chaffinch.cli.groups import Groups
from chaffinch.cli.kubectl import Kubectl
from chaffinch.cli.output import add_output, wants_json
from chaffinch.cli.place import add_place, kubectl_of
from chaffinch.cli.rollouts import shapes
from chaffinch.cli.rollouts.snapshot import ROLLOUTS, Snapshot, snapshot_of
from chaffinch.cli.screen import show_json
from chaffinch.domain.names import RolloutIdentity, owner_reference
from chaffinch.domain.revision import revision_of

COMMANDS = f"rolloutcommands.{GROUP}"
_ASK_FIRST = frozenset({CommandAction.ABORT, CommandAction.PROMOTE})
_POLL_SECONDS = 0.5

PURPOSES: Mapping[CommandAction, str] = {
    CommandAction.ABORT: "take the candidate out; stable gets all traffic at once",
    CommandAction.PROMOTE: "let the candidate take over without the steps that are left",
    CommandAction.APPROVE: "pass the approval step that the rollout waits at",
    CommandAction.PAUSE: "stay at the step; the candidate is judged on",
    CommandAction.RESUME: "go on after a pause",
    CommandAction.RETRY: "try a revision again that failed or was aborted, or run a failed probe again",
}


def add(groups: Groups) -> None:
    """Describe the commands."""
    for action, purpose in PURPOSES.items():
        command = groups.add_parser(
            action.lower(),
            help=purpose,
            description=f"{purpose[0].upper()}{purpose[1:]}. Makes a RolloutCommand and waits for its answer."
            " Exits with 1 if it is refused, with 5 if there is no answer in time.",
        )
        command.add_argument("name", metavar="NAME", help="the rollout")
        command.add_argument(
            "--revision",
            metavar="HASH",
            help="the revision that is meant (default: the one that it applies to)",
        )
        command.add_argument("--reason", metavar="TEXT", help="why, for those who read the record later")
        if action is CommandAction.APPROVE:
            command.add_argument("--step", metavar="STEP", help="the step (default: the one that waits)")
        if action in _ASK_FIRST:
            command.add_argument("-y", "--yes", action="store_true", help="don't ask whether you are sure")
        command.add_argument("--no-wait", action="store_true", help="don't wait for the answer")
        command.add_argument(
            "--timeout", type=float, default=60, metavar="S", help="how long to wait (default: %(default)g s)"
        )
        add_place(command)
        add_output(command, shapes.COMMAND)
        command.set_defaults(run=_run, action=action)


def _run(options: argparse.Namespace) -> Exit:
    kubectl, action = kubectl_of(options), options.action
    snapshot = snapshot_of(kubectl.get(ROLLOUTS, options.name))
    revision = options.revision or applies_to(action, snapshot)
    if action in _ASK_FIRST and not options.yes and not _sure(snapshot, action, revision):
        print("nothing was asked for", file=sys.stderr)
        return Exit.FAILED
    made = kubectl.create(manifest(snapshot, action, revision, by=kubectl.whoami(), options=options))
    name = str(made["metadata"]["name"])
    # JSON comes whole and last; who interrupts it has to know what was made.
    told = sys.stderr if wants_json(options) else sys.stdout
    print(f"{action.lower()} of {revision} asked for, RolloutCommand {name}", file=told, flush=True)
    answer = {} if options.no_wait else _awaited(kubectl, name, snapshot.namespace, options.timeout)
    if wants_json(options):
        show_json(shapes.command(made, answer))
    elif answer:
        print(f"{answer['outcome']}: {answer.get('message') or answer.get('reason') or ''}")
    if not answer:
        return Exit.OK if options.no_wait else Exit.TIMEOUT
    return Exit.OK if answer["outcome"] == CommandOutcome.ACCEPTED else Exit.FAILED


def applies_to(action: CommandAction, snapshot: Snapshot) -> str:
    """Return the revision that a command is about when its user names none.

    Raises:
        CommandError: If there is none.
    """
    candidate = snapshot.status.candidate
    if candidate is not None:
        return candidate.revision
    if action is not CommandAction.RETRY:
        raise CommandError(
            f"nothing is being rolled out in {snapshot.name}: there is nothing to {action.lower()}"
        )
    try:
        return revision_of(parse_rollout(snapshot.body))
    except InvalidSpec as error:
        raise CommandError(f"the spec of {snapshot.name} is invalid, mend it first: {error}") from None


def manifest(
    snapshot: Snapshot, action: CommandAction, revision: str, *, by: str, options: argparse.Namespace
) -> dict[str, Any]:
    """Return the RolloutCommand that asks for something. It goes with its rollout, operator or not.

    Raises:
        CommandError: If an approval names no step and none waits.
    """
    spec = {
        "rollout": snapshot.name,
        "revision": revision,
        "action": str(action),
        "requestedBy": by,
        "reason": options.reason,
        "step": _step(snapshot, options.step) if action is CommandAction.APPROVE else None,
    }
    return {
        "apiVersion": API_VERSION,
        "kind": "RolloutCommand",
        "metadata": {
            "generateName": f"{snapshot.name}-{action.lower()}-",
            "namespace": snapshot.namespace,
            "ownerReferences": [_owner(snapshot)],
        },
        "spec": {key: value for key, value in spec.items() if value is not None},
    }


def _owner(snapshot: Snapshot) -> dict[str, object]:
    rollout = RolloutIdentity(snapshot.namespace, snapshot.name, snapshot.body["metadata"]["uid"])
    # A person has made it, so nobody controls it.
    return owner_reference(rollout) | {"controller": False}


def _step(snapshot: Snapshot, named: str | None) -> str:
    if named is not None:
        return named
    progress = snapshot.status.rollout
    if progress is None or progress.step is None:
        raise CommandError(f"{snapshot.name} is at no step that could be approved")
    return progress.step.name


def _sure(snapshot: Snapshot, action: CommandAction, revision: str) -> bool:
    """Ask a person; a script has been sure already. Standard output is for answers only."""
    if not sys.stdin.isatty():
        return True
    question = f"{action} {revision} of {snapshot.name} in {snapshot.namespace}? [y/N] "
    print(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _awaited(kubectl: Kubectl, name: str, namespace: str, timeout: float) -> Mapping[str, Any]:
    """Return the answer to a command; nothing, having said so, if there is none in time."""
    end = time.monotonic() + timeout
    while True:
        status: Mapping[str, Any] = kubectl.get(COMMANDS, name).get("status") or {}
        if "outcome" in status:
            return status
        if time.monotonic() >= end:
            print(
                f"no answer in {timeout:g} s; is the operator up? It is carried out when it is seen.\n"
                f"look again: kubectl get rolloutcommand {name} -n {namespace}\n"
                f"take it back: kubectl delete rolloutcommand {name} -n {namespace}",
                file=sys.stderr,
            )
            return {}
        time.sleep(_POLL_SECONDS)
