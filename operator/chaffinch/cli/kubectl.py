"""The cluster, by way of the ``kubectl`` that the user has: same context, same credentials, same plugins.

A client library of our own was rejected for the command line: it would read kubeconfigs, exec credentials and
proxies a little differently from the tool that people check with.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from typing import Any

from chaffinch.api.v1alpha1.common import GROUP
from chaffinch.cli.exits import CommandError, Exit

_TIMEOUT_SECONDS = 60
_NO_CRDS = re.compile(r"the server doesn't have a resource type \"?(?P<what>[^\"\s]+)")
_FORBIDDEN = re.compile(r"User \"(?P<who>[^\"]+)\" cannot (?P<verb>\w+) resource \"(?P<what>[^\"]+)\"")
_UNREACHABLE = ("was refused", "Unable to connect", "no such host", "i/o timeout", "no configuration")
_NAMES_SHOWN = 5


class Kubectl:
    """Reads and creates objects with one kubectl, in one namespace.

    Args:
        namespace: The namespace; the context's if None.
        context: The context; the current one if None.
        kubeconfig: The kubeconfig; kubectl's own choice if None.
    """

    def __init__(self, namespace: str | None, context: str | None, kubeconfig: str | None = None) -> None:
        self._command = [_program()]
        if kubeconfig:
            self._command += ["--kubeconfig", kubeconfig]
        if context:
            self._command += ["--context", context]
        if namespace:
            self._command += ["--namespace", namespace]

    def get(self, resource: str, name: str) -> dict[str, Any]:
        """Return one object.

        Args:
            resource: The resource with its group, such as ``loadprobes.chaffinch.dev``.
            name: The object's name.

        Raises:
            CommandError: If kubectl could not get it; the text is kubectl's, or ours where we know more.
        """
        try:
            found = json.loads(self._run(["get", resource, name, "--output", "json"]))
        except CommandError as error:
            raise self._with_near_names(error, resource, name) from None
        if not isinstance(found, dict):
            raise CommandError(f"kubectl gave no object for {resource} {name}")
        return found

    def find(
        self, resource: str, labels: Mapping[str, str] | None = None, *, all_namespaces: bool = False
    ) -> list[dict[str, Any]]:
        """Return all objects of a resource that carry some labels.

        Raises:
            CommandError: If kubectl could not list them.
        """
        selector = [f"--selector={','.join(f'{k}={v}' for k, v in labels.items())}"] if labels else []
        everywhere = ["--all-namespaces"] if all_namespaces else []
        found = json.loads(self._run(["get", resource, *selector, *everywhere, "--output", "json"]))
        items: list[dict[str, Any]] = found.get("items", [])
        return items

    def create(self, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """Create one object, and return it as the server has it.

        Raises:
            CommandError: If kubectl could not create it; the text is kubectl's.
        """
        made = self._run(["create", "--filename", "-", "--output", "json"], json.dumps(manifest))
        created: dict[str, Any] = json.loads(made)
        return created

    def whoami(self) -> str:
        """Return the name by which the API server knows the user.

        Raises:
            CommandError: If it does not say.
        """
        told = json.loads(self._run(["auth", "whoami", "--output", "json"]))
        return str(told["status"]["userInfo"]["username"])

    def _with_near_names(self, error: CommandError, resource: str, name: str) -> CommandError:
        if error.code is not Exit.NOT_FOUND:
            return error
        try:
            names = [str(each["metadata"]["name"]) for each in self.find(resource)]
        except CommandError:
            return error
        near = difflib.get_close_matches(name, names, n=_NAMES_SHOWN) or sorted(names)[:_NAMES_SHOWN]
        hint = f"there is {', '.join(near)}" if near else "there is none in this namespace; check --namespace"
        return CommandError(f"{resource.partition('.')[0]} {name!r} not found; {hint}", Exit.NOT_FOUND)

    def _run(self, arguments: list[str], text: str | None = None) -> str:
        try:
            done = subprocess.run(  # noqa: S603 - the user's own kubectl, no shell
                [*self._command, *arguments],
                input=text,
                capture_output=True,
                text=True,
                timeout=_TIMEOUT_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise CommandError(f"kubectl gave no answer in {_TIMEOUT_SECONDS} s", Exit.CLUSTER) from None
        except OSError as error:
            raise CommandError(f"{self._command[0]} cannot be run: {error.strerror}") from None
        if done.returncode != 0:
            raise _explained(arguments[0], done.stderr.strip())
        return done.stdout


def _explained(verb: str, said: str) -> CommandError:
    """Return kubectl's trouble in words that say what to do, with the exit code of its kind."""
    missing = _NO_CRDS.search(said)
    if missing is not None and GROUP in missing["what"]:
        return CommandError(
            f"the cluster does not know {missing['what']}: install Chaffinch's chart there,"
            " or check --context",
            Exit.CLUSTER,
        )
    denied = _FORBIDDEN.search(said)
    if denied is not None:
        return CommandError(
            f"{denied['who']} may not {denied['verb']} {denied['what']}; ask for a role that may"
            " (the chart has chaffinch-approver for commands)",
            Exit.CLUSTER,
        )
    if "(NotFound)" in said:
        return CommandError(f"kubectl {verb}: {said}", Exit.NOT_FOUND)
    code = Exit.CLUSTER if any(word in said for word in _UNREACHABLE) else Exit.FAILED
    return CommandError(f"kubectl {verb}: {said or 'failed with no message'}", code)


def _program() -> str:
    program = os.environ.get("KUBECTL") or shutil.which("kubectl")
    if program is None:
        raise CommandError("kubectl is not in PATH; install it, or set KUBECTL to its path")
    return program
