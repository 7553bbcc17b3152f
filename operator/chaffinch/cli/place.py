"""Which cluster and namespace a command is about; the same arguments for every command."""

from __future__ import annotations

import argparse

from chaffinch.cli.kubectl import Kubectl


def add_place(command: argparse.ArgumentParser, *, all_namespaces: bool = False) -> None:
    """Describe the arguments that say where to look."""
    command.add_argument("-n", "--namespace", metavar="NS", help="namespace (default: the context's)")
    command.add_argument("--context", metavar="NAME", help="context of the kubeconfig")
    command.add_argument("--kubeconfig", metavar="FILE", help="the kubeconfig (default: as kubectl's)")
    if all_namespaces:
        command.add_argument("-A", "--all-namespaces", action="store_true", help="look into every namespace")


def kubectl_of(options: argparse.Namespace) -> Kubectl:
    """Return kubectl, bound to the place that the arguments name."""
    return Kubectl(options.namespace, options.context, options.kubeconfig)
