"""``chaffinch validate``: check manifests before they meet a cluster, with the operator's own rules."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any

from chaffinch.api.v1alpha1.parse import (
    InvalidSpec,
    parse_baseline,
    parse_command,
    parse_load_probe,
    parse_profile,
    parse_rollout,
)
from chaffinch.cli.documents import Document, read_documents
from chaffinch.cli.exits import CommandError, Exit
from chaffinch.cli.groups import Groups
from chaffinch.domain.baseline import verify


def add(groups: Groups) -> None:
    """Describe the command."""
    command = groups.add_parser(
        "validate",
        help="check manifests of rollouts, probes, profiles and baselines",
        description="Check manifests with the operator's rules, without a cluster. Other kinds are skipped."
        " Exits with 1 if any is invalid.",
    )
    command.add_argument("files", nargs="+", metavar="FILE", help="YAML or JSON; - is standard input")
    command.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> Exit:
    answers = [(document, _problem(document)) for path in options.files for document in read_documents(path)]
    if all(document.kind not in _CHECKS for document, _ in answers):
        raise CommandError(f"there is no manifest of {', '.join(_CHECKS)} in the files")
    for document, problem in answers:
        skipped = "skipped" if document.kind not in _CHECKS else "ok"
        print(f"{document.place}: {document.kind} {document.name}: {problem or skipped}")
    return Exit.FAILED if any(problem for _, problem in answers) else Exit.OK


def _problem(document: Document) -> str | None:
    check = _CHECKS.get(document.kind)
    if check is None:
        return None
    try:
        return check(document.body)
    except InvalidSpec as error:
        return str(error)


def _check_rollout(body: Mapping[str, Any]) -> None:
    parse_rollout(body)


def _check_load_probe(body: Mapping[str, Any]) -> None:
    parse_load_probe(body)


def _check_profile(body: Mapping[str, Any]) -> None:
    parse_profile(body)


def _check_command(body: Mapping[str, Any]) -> None:
    parse_command(body)


def _check_baseline(body: Mapping[str, Any]) -> str | None:
    return verify(parse_baseline(body))


_CHECKS: dict[str, Callable[[Mapping[str, Any]], str | None]] = {
    "InferenceRollout": _check_rollout,
    "LoadProbe": _check_load_probe,
    "ProbeProfile": _check_profile,
    "RolloutCommand": _check_command,
    "InferenceBaseline": _check_baseline,
}
