"""The commands that read: get, list, explain, history, report."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

from rich.live import Live
from rich.table import Table

from chaffinch.cli.documents import write_text
from chaffinch.cli.exits import Exit
from chaffinch.cli.groups import Groups
from chaffinch.cli.kubectl import Kubectl
from chaffinch.cli.output import add_file, add_output, wants_json
from chaffinch.cli.place import add_place, kubectl_of
from chaffinch.cli.rollouts import shapes
from chaffinch.cli.rollouts.explain import explanation
from chaffinch.cli.rollouts.formats import FORMATS
from chaffinch.cli.rollouts.history import history
from chaffinch.cli.rollouts.listing import listing
from chaffinch.cli.rollouts.records import read_records, record_at
from chaffinch.cli.rollouts.report import report_of
from chaffinch.cli.rollouts.snapshot import ROLLOUTS, Snapshot, read, snapshot_of
from chaffinch.cli.rollouts.tree import tree
from chaffinch.cli.screen import as_json, console, show, show_json

_WATCH_SECONDS = 2.0


def add(groups: Groups) -> None:
    """Describe the commands."""
    get = _add(groups, "get", _get, "show one rollout: revisions, pods, step, objectives, what comes next")
    get.add_argument("--watch", action="store_true", help="go on until nothing moves by itself")
    add_output(get, shapes.ROLLOUT)
    everything = _add(groups, "list", _list, "show all rollouts, one line each", named=False)
    add_place(everything, all_namespaces=True)
    add_output(everything, shapes.ROLLOUTS)
    explain = _add(groups, "explain", _explain, "say why a rollout waits, and what would make it go on")
    add_output(explain, shapes.EXPLANATION)
    add_output(_add(groups, "history", _history, "show the attempts of a rollout"), shapes.HISTORY)
    report = _add(groups, "report", _report, "tell one attempt from beginning to end")
    report.add_argument("--attempt", type=int, metavar="N", help="which attempt (default: the newest)")
    add_output(report, shapes.REPORT, more=("markdown", "html"))
    add_file(report)


def _add(
    groups: Groups,
    name: str,
    run: Callable[[argparse.Namespace], Exit],
    purpose: str,
    *,
    named: bool = True,
) -> argparse.ArgumentParser:
    command = groups.add_parser(name, help=purpose, description=f"{purpose[0].upper()}{purpose[1:]}.")
    if named:
        command.add_argument("name", metavar="NAME", help="the rollout")
        add_place(command)
    command.set_defaults(run=run)
    return command


def _get(options: argparse.Namespace) -> Exit:
    kubectl = kubectl_of(options)
    if options.watch:
        return _watch(kubectl, options)
    _show(read(kubectl, options.name), options)
    return Exit.OK


def _show(snapshot: Snapshot, options: argparse.Namespace) -> None:
    if wants_json(options):
        show_json(shapes.rollout(snapshot))
    else:
        show(tree(snapshot))


def _watch(kubectl: Kubectl, options: argparse.Namespace) -> Exit:
    """Redraw on a terminal; elsewhere print each change. Ends when nothing moves by itself any more."""
    snapshot = read(kubectl, options.name)
    if wants_json(options) or not sys.stdout.isatty():
        _show(snapshot, options)
        while not snapshot.is_at_rest:
            time.sleep(_WATCH_SECONDS)
            before, snapshot = snapshot, read(kubectl, options.name)
            if before.shown != snapshot.shown:
                _show(snapshot, options)
        return Exit.OK
    with Live(tree(snapshot), console=console(), auto_refresh=False) as live:
        while not snapshot.is_at_rest:
            time.sleep(_WATCH_SECONDS)
            snapshot = read(kubectl, options.name)
            live.update(tree(snapshot), refresh=True)
    return Exit.OK


def _list(options: argparse.Namespace) -> Exit:
    bodies = kubectl_of(options).find(ROLLOUTS, all_namespaces=options.all_namespaces)
    snapshots = sorted((snapshot_of(body) for body in bodies), key=lambda each: (each.namespace, each.name))
    if wants_json(options):
        show_json([shapes.summary(each) for each in snapshots])
    elif snapshots:
        show(listing(snapshots, with_namespace=options.all_namespaces))
    else:
        where = "in any namespace" if options.all_namespaces else "in this namespace; -A looks into every one"
        print(f"there are no rollouts {where}", file=sys.stderr)
    return Exit.OK


def _explain(options: argparse.Namespace) -> Exit:
    pairs = explanation(read(kubectl_of(options), options.name))
    if wants_json(options):
        show_json(shapes.explanation(pairs))
        return Exit.OK
    table = Table.grid(padding=(0, 2))
    for about, text in pairs:
        table.add_row(about, text)
    show(table)
    return Exit.OK


def _history(options: argparse.Namespace) -> Exit:
    records = read_records(kubectl_of(options), options.name)
    if wants_json(options):
        show_json(shapes.history(records))
    else:
        show(history(records))
    return Exit.OK


def _report(options: argparse.Namespace) -> Exit:
    record = record_at(read_records(kubectl_of(options), options.name), options.attempt)
    if wants_json(options):
        text = as_json(shapes.report(record))
    else:
        text = FORMATS[options.output](report_of(record))
    write_text(options.file, text)
    return Exit.OK
