"""``chaffinch baseline``: freeze a probe's result; show, verify and compare baselines."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from chaffinch.api.v1alpha1.baseline import InferenceBaselineSpec
from chaffinch.api.v1alpha1.common import API_VERSION
from chaffinch.api.v1alpha1.names import baseline_object_name
from chaffinch.api.v1alpha1.parse import InvalidSpec, parse_baseline
from chaffinch.cli import baseline_views as views
from chaffinch.cli.documents import STANDARD, Document, read_documents, to_yaml, write_text
from chaffinch.cli.exits import CommandError, Exit
from chaffinch.cli.freeze import BASELINES, baseline_of_probe
from chaffinch.cli.groups import Groups
from chaffinch.cli.output import add_output, wants_json
from chaffinch.cli.place import add_place, kubectl_of
from chaffinch.cli.screen import show_json
from chaffinch.domain.baseline import comparison_obstacles, fingerprint_mismatches

KIND = "InferenceBaseline"


def add(groups: Groups) -> None:
    """Describe the commands."""
    group = groups.add_parser("baseline", help="freeze, show, verify and compare baselines")
    commands = group.add_subparsers(required=True, metavar="COMMAND")
    _add_freeze(commands)
    show = commands.add_parser("show", help="print what a baseline holds")
    show.add_argument("source", metavar="FILE|NAME", help="a file, or an InferenceBaseline of the cluster")
    add_place(show)
    add_output(show, views.SHOWN)
    show.set_defaults(run=_show)
    listed = commands.add_parser(
        "list",
        help="list the baselines of the cluster, and check each",
        description="List the baselines of the cluster, and check each. Exits with 1 if one was changed or"
        " makes no sense.",
    )
    add_place(listed)
    add_output(listed, views.LISTED)
    listed.set_defaults(run=_list)
    _add_verify(commands)
    _add_diff(commands)


def _add_verify(commands: Groups) -> None:
    check = commands.add_parser(
        "verify",
        help="check that baselines are what was frozen",
        description="Check digest, name and numbers of every InferenceBaseline in the files."
        " Exits with 1 if one was changed or makes no sense.",
    )
    check.add_argument("files", nargs="+", metavar="FILE", help="YAML or JSON; - is standard input")
    add_output(check, views.VERIFIED)
    check.set_defaults(run=_verify)


def _add_diff(commands: Groups) -> None:
    diff = commands.add_parser(
        "diff",
        help="say what differs between the circumstances of two baselines",
        description="Name each differing field. Exits with 4 if a comparison of the two would mean nothing.",
    )
    diff.add_argument("old", metavar="OLD", help="a file with the one")
    diff.add_argument("new", metavar="NEW", help="a file with the other")
    add_output(diff, views.DIFFERENCE)
    diff.set_defaults(run=_diff)


def _add_freeze(commands: Groups) -> None:
    freeze = commands.add_parser(
        "freeze",
        help="make a baseline of a LoadProbe's result",
        description="Make an InferenceBaseline of a LoadProbe that succeeded: created in the cluster, or"
        " written to a file for Git. Exits with 3 if the probe measured too little.",
    )
    freeze.add_argument("--probe", required=True, metavar="NAME", help="the LoadProbe")
    freeze.add_argument("--name", required=True, help="name of the baseline, such as chat-h100")
    freeze.add_argument("--version", required=True, help="version of the baseline, such as v1 or 2026.03")
    freeze.add_argument(
        "--file",
        metavar="FILE",
        help="write the manifest there, as YAML, instead of creating it; - is standard output",
    )
    add_place(freeze)
    add_output(freeze, views.FROZEN)
    freeze.set_defaults(run=_freeze)


def _freeze(options: argparse.Namespace) -> Exit:
    if options.file == STANDARD and wants_json(options):
        raise CommandError(
            "--file - and --output json both want standard output: name a file, or leave one out", Exit.USAGE
        )
    kubectl = kubectl_of(options)
    spec = baseline_of_probe(kubectl, options.probe, options.name, options.version)
    body = manifest(spec)
    if options.file is None:
        kubectl.create(body)
    else:
        write_text(options.file, to_yaml(body))
    if wants_json(options):
        show_json(views.frozen_shape(spec, options.file))
    elif options.file is None:
        print(f"{KIND} {body['metadata']['name']} created, {spec.digest}")
    elif options.file != STANDARD:
        print(_written(options, spec), file=sys.stderr)
    return Exit.OK


def _written(options: argparse.Namespace, spec: InferenceBaselineSpec) -> str:
    place = [("--namespace", options.namespace), ("--context", options.context)]
    flags = [f"{flag}={value}" for flag, value in place if value]
    name = baseline_object_name(spec.name, spec.version)
    return (
        f"{KIND} {name} written to {options.file}, {spec.digest}\n"
        f"{views.gate_summary(spec)}\n"
        f"next: {shlex.join(['kubectl', 'apply', '-f', options.file, *flags])}"
    )


def manifest(spec: InferenceBaselineSpec) -> dict[str, Any]:
    """Return the object that holds a baseline."""
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": baseline_object_name(spec.name, spec.version)},
        "spec": spec.model_dump(mode="json", by_alias=True, exclude_none=True),
    }


def _show(options: argparse.Namespace) -> Exit:
    if Path(options.source).exists():
        documents = _baselines(options.source)
    else:
        body = kubectl_of(options).get(BASELINES, options.source)
        documents = [Document(options.source, body)]
    found = [(_parsed(document), document.name) for document in documents]
    if wants_json(options):
        show_json([views.shown_shape(spec, name) for spec, name in found])
    else:
        for spec, name in found:
            print(views.description(spec, name))
    return Exit.OK


def _list(options: argparse.Namespace) -> Exit:
    bodies = kubectl_of(options).find(BASELINES)
    documents = [Document(f"{KIND} {body['metadata']['name']}", body) for body in bodies]
    found = [views.checked(document) for document in sorted(documents, key=lambda each: each.name)]
    if wants_json(options):
        show_json([views.listed_shape(each) for each in found])
    elif found:
        print(views.table_of(found))
    else:
        print("there are no baselines here", file=sys.stderr)
    return _exit(found)


def _verify(options: argparse.Namespace) -> Exit:
    found = [views.checked(document) for path in options.files for document in _baselines(path)]
    if wants_json(options):
        show_json([views.verified_shape(each) for each in found])
    else:
        for each in found:
            print(f"{each.document.place}: {each.document.name}: {each.problem or 'ok'}")
    return _exit(found)


def _exit(found: Sequence[views.Checked]) -> Exit:
    return Exit.FAILED if any(each.problem for each in found) else Exit.OK


def _diff(options: argparse.Namespace) -> Exit:
    old, new = (_parsed(_baselines(path)[0]) for path in (options.old, options.new))
    obstacles = comparison_obstacles(old, fingerprint=new.fingerprint, model=new.model, profile=new.profile)
    harmless = [field for field in fingerprint_mismatches(old, new.fingerprint) if field not in obstacles]
    if wants_json(options):
        marked = [(field, False) for field in harmless] + [(field, True) for field in obstacles]
        differences = [{"field": field, "obstacle": obstacle} for field, obstacle in marked]
        show_json({"comparable": not obstacles, "differences": differences})
    else:
        for field in harmless:
            print(f"{field} differs, as it may between versions")
        for field in obstacles:
            print(f"{field} differs: a comparison would mean nothing")
        if not obstacles:
            print("comparable")
    return Exit.MISMATCH if obstacles else Exit.OK


def _baselines(path: str) -> list[Document]:
    found = [document for document in read_documents(path) if document.kind == KIND]
    if not found:
        raise CommandError(f"{path}: there is no {KIND} in it")
    return found


def _parsed(document: Document) -> InferenceBaselineSpec:
    try:
        return parse_baseline(document.body)
    except InvalidSpec as error:
        raise CommandError(f"{document.place}: {document.name}: {error}") from None
