"""``chaffinch baseline``: freeze a probe's result; show, verify and compare baselines."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import Any

from chaffinch.api.v1alpha1.baseline import InferenceBaselineSpec
from chaffinch.api.v1alpha1.common import API_VERSION, format_time
from chaffinch.api.v1alpha1.names import baseline_object_name
from chaffinch.api.v1alpha1.parse import InvalidSpec, parse_baseline
from chaffinch.cli.documents import STANDARD, Document, read_documents, to_yaml, write_text
from chaffinch.cli.exits import CommandError, Exit
from chaffinch.cli.freeze import BASELINES, baseline_of_probe
from chaffinch.cli.groups import Groups
from chaffinch.cli.place import add_place, kubectl_of
from chaffinch.cli.tables import columns, quantile, stage_table
from chaffinch.domain.baseline import comparison_obstacles, fingerprint_mismatches, verify

KIND = "InferenceBaseline"


def add(groups: Groups) -> None:
    """Describe the commands."""
    group = groups.add_parser("baseline", help="freeze, show, verify and compare baselines")
    commands = group.add_subparsers(required=True, metavar="COMMAND")
    _add_freeze(commands)
    show = commands.add_parser("show", help="print what a baseline holds")
    show.add_argument("source", metavar="FILE|NAME", help="a file, or an InferenceBaseline of the cluster")
    add_place(show)
    show.set_defaults(run=_show)
    listed = commands.add_parser("list", help="list the baselines of the cluster, and check each")
    add_place(listed)
    listed.set_defaults(run=_list)
    check = commands.add_parser(
        "verify",
        help="check that baselines are what was frozen",
        description="Check digest, name and numbers of every InferenceBaseline in the files."
        " Exits with 1 if one was changed or makes no sense.",
    )
    check.add_argument("files", nargs="+", metavar="FILE")
    check.set_defaults(run=_verify)
    diff = commands.add_parser(
        "diff",
        help="say what differs between the circumstances of two baselines",
        description="Name each differing field. Exits with 4 if a comparison of the two would mean nothing.",
    )
    diff.add_argument("old", metavar="FILE")
    diff.add_argument("new", metavar="FILE")
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
    freeze.add_argument("--output", metavar="FILE", help="write the manifest there instead of creating it")
    add_place(freeze)
    freeze.set_defaults(run=_freeze)


def _freeze(options: argparse.Namespace) -> Exit:
    kubectl = kubectl_of(options)
    spec = baseline_of_probe(kubectl, options.probe, options.name, options.version)
    body = manifest(spec)
    if options.output is None:
        kubectl.create(body)
        print(f"{KIND} {body['metadata']['name']} created, {spec.digest}")
        return Exit.OK
    write_text(options.output, to_yaml(body))
    if options.output != STANDARD:
        print(_written(options, spec), file=sys.stderr)
    return Exit.OK


def _written(options: argparse.Namespace, spec: InferenceBaselineSpec) -> str:
    gate = next(stage for stage in spec.stages if stage.name == spec.gate_stage)
    p95 = quantile(gate.sketches.ttft, 0.95)
    place = [("--namespace", options.namespace), ("--context", options.context)]
    flags = [f"{flag}={value}" for flag, value in place if value]
    name = baseline_object_name(spec.name, spec.version)
    return (
        f"{KIND} {name} written to {options.output}, {spec.digest}\n"
        f"it holds {gate.requests} requests of stage {gate.name}, P95 TTFT {p95}\n"
        f"next: {shlex.join(['kubectl', 'apply', '-f', options.output, *flags])}"
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
    for document in documents:
        print(_description(_parsed(document), document.name))
    return Exit.OK


def _list(options: argparse.Namespace) -> Exit:
    bodies = kubectl_of(options).find(BASELINES)
    if not bodies:
        print("there are no baselines here", file=sys.stderr)
        return Exit.OK
    documents = [Document(f"{KIND} {body['metadata']['name']}", body) for body in bodies]
    checked = [(document, _verification(document)) for document in documents]
    rows = [_line(_parsed(document), document, problem) for document, problem in checked]
    print(columns([("name", "version", "model", "engine", "gpus", "frozen", "check"), *sorted(rows)]))
    return Exit.FAILED if any(problem for _, problem in checked) else Exit.OK


def _line(spec: InferenceBaselineSpec, document: Document, problem: str | None) -> tuple[str, ...]:
    circumstances = spec.fingerprint
    gpus = f"{circumstances.gpu_count} x {circumstances.gpu_product or 'GPU'}"
    frozen = format_time(spec.provenance.created_at)
    engine = circumstances.engine_version or ""
    return (document.name, spec.version, spec.model.name, engine, gpus, frozen, problem or "ok")


def _description(spec: InferenceBaselineSpec, object_name: str) -> str:
    circumstances, source = spec.fingerprint, spec.provenance
    problem = verify(spec, object_name)
    model = spec.model.source + (f"@{spec.model.revision}" if spec.model.revision else "")
    facts = columns(
        [
            ("baseline", f"{spec.name} {spec.version}"),
            ("digest", f"{spec.digest} ({problem or 'verified'})"),
            ("model", f"{spec.model.name} from {model}"),
            ("engine", f"{circumstances.engine_image}, version {circumstances.engine_version}"),
            ("arguments", " ".join(circumstances.engine_args) or "(none)"),
            ("hardware", f"{circumstances.gpu_count} x {circumstances.gpu_product or 'GPU'} per pod"),
            ("pods measured", str(circumstances.replicas)),
            ("measured by", f"probe {source.probe} on {source.rollout}, revision {source.revision}"),
            ("frozen", format_time(source.created_at)),
        ]
    )
    table = stage_table(spec.stages, spec.gate_stage)
    return f"{facts}\n\n{table}\n\n* the stage that verdicts are reached from"


def _verify(options: argparse.Namespace) -> Exit:
    failed = False
    for path in options.files:
        for document in _baselines(path):
            problem = _verification(document)
            failed = failed or problem is not None
            print(f"{path}: {document.name}: {problem or 'ok'}")
    return Exit.FAILED if failed else Exit.OK


def _verification(document: Document) -> str | None:
    try:
        return verify(parse_baseline(document.body), document.name)
    except InvalidSpec as error:
        return str(error)


def _diff(options: argparse.Namespace) -> Exit:
    old, new = (_parsed(_baselines(path)[0]) for path in (options.old, options.new))
    obstacles = comparison_obstacles(old, fingerprint=new.fingerprint, model=new.model, profile=new.profile)
    for field in fingerprint_mismatches(old, new.fingerprint):
        if field not in obstacles:
            print(f"{field} differs, as it may between versions")
    for field in obstacles:
        print(f"{field} differs: a comparison would mean nothing")
    if obstacles:
        return Exit.MISMATCH
    print("comparable")
    return Exit.OK


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
