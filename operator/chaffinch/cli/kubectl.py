"""The cluster, by way of the ``kubectl`` that the user has: same context, same credentials, same plugins.

A client library of our own was rejected for the command line: it would read kubeconfigs, exec credentials and
proxies a little differently from the tool that people check with.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from typing import Any

from chaffinch.cli.exits import CommandError

_TIMEOUT_SECONDS = 60


class Kubectl:
    """Reads and creates objects with one kubectl, in one namespace."""

    def __init__(self, namespace: str | None, context: str | None) -> None:
        self._command = [_program()]
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
            CommandError: If kubectl could not get it; the text is kubectl's.
        """
        found = json.loads(self._run(["get", resource, name, "--output", "json"]))
        if not isinstance(found, dict):
            raise CommandError(f"kubectl gave no object for {resource} {name}")
        return found

    def create(self, manifest: Mapping[str, Any]) -> None:
        """Create one object.

        Raises:
            CommandError: If kubectl could not create it; the text is kubectl's.
        """
        self._run(["create", "--filename", "-"], json.dumps(manifest))

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
            raise CommandError(f"kubectl gave no answer in {_TIMEOUT_SECONDS} s") from None
        except OSError as error:
            raise CommandError(f"{self._command[0]} cannot be run: {error.strerror}") from None
        if done.returncode != 0:
            raise CommandError(f"kubectl {arguments[0]}: {done.stderr.strip() or 'failed with no message'}")
        return done.stdout


def _program() -> str:
    program = os.environ.get("KUBECTL") or shutil.which("kubectl")
    if program is None:
        raise CommandError("kubectl is not in PATH; install it, or set KUBECTL to its path")
    return program
