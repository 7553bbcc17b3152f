"""``chaffinch validate``: check manifests before they meet a cluster, with the operator's own rules."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any

from chaffinch.api.v1alpha1.baseline import InferenceBaselineSpec
from chaffinch.api.v1alpha1.common import SpecModel
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
from chaffinch.cli.output import Shape, add_output, wants_json
from chaffinch.cli.screen import show_json
from chaffinch.domain.baseline import verify

SHAPE = Shape(
    "A list, of each manifest in the order of the files.",
    {
        "file": "the file",
        "kind": "the kind of the manifest",
        "name": "its name",
        "verdict": "`ok`, `invalid`, or `skipped` of a kind that is none of ours",
        "problem": "the field that is wrong and the remedy, or null",
    },
)


def add(groups: Groups) -> None:
    """Describe the command."""
    command = groups.add_parser(
        "validate",
        help="check manifests of rollouts, probes, profiles and baselines",
        description="Check manifests with the operator's rules, without a cluster. Other kinds are skipped."
        " Exits with 1 if any is invalid.",
    )
    command.add_argument("files", nargs="+", metavar="FILE", help="YAML or JSON; - is standard input")
    add_output(command, SHAPE)
    command.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> Exit:
    answers = [(document, _problem(document)) for path in options.files for document in read_documents(path)]
    if all(document.kind not in _PARSERS for document, _ in answers):
        raise CommandError(f"there is no manifest of {', '.join(_PARSERS)} in the files")
    if wants_json(options):
        show_json([_shape(document, problem) for document, problem in answers])
    else:
        for document, problem in answers:
            print(
                f"{document.place}: {document.kind} {document.name}: {problem or _verdict(document, problem)}"
            )
    return Exit.FAILED if any(problem for _, problem in answers) else Exit.OK


def _shape(document: Document, problem: str | None) -> dict[str, Any]:
    return {
        "file": document.place,
        "kind": document.kind,
        "name": document.name,
        "verdict": _verdict(document, problem),
        "problem": problem,
    }


def _verdict(document: Document, problem: str | None) -> str:
    if document.kind not in _PARSERS:
        return "skipped"
    return "invalid" if problem else "ok"


def _problem(document: Document) -> str | None:
    parse = _PARSERS.get(document.kind)
    if parse is None:
        return None
    try:
        spec = parse(document.body)
    except InvalidSpec as error:
        return str(error)
    return verify(spec) if isinstance(spec, InferenceBaselineSpec) else None


_PARSERS: dict[str, Callable[[Mapping[str, Any]], SpecModel]] = {
    "InferenceRollout": parse_rollout,
    "LoadProbe": parse_load_probe,
    "ProbeProfile": parse_profile,
    "RolloutCommand": parse_command,
    "InferenceBaseline": parse_baseline,
}
