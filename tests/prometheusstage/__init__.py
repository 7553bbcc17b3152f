"""Runs a real Prometheus on a free port of the loopback device, and asks it."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from localcluster import Settings
from localcluster.programs import folder_for
from loopback import free_port

_DEADLINE_SECONDS = 60


def program() -> str:
    """Return the Prometheus that the local cluster was built with, or else an installed one.

    Raises:
        FileNotFoundError: If there is none.
    """
    built = folder_for(Settings.from_environment()) / "prometheus"
    found = str(built) if built.exists() else shutil.which("prometheus")
    if found is None:
        raise FileNotFoundError(
            "there is no Prometheus here; the local cluster builds it: python -m localcluster up"
        )
    return found


class Prometheus:
    """One that runs."""

    def __init__(self, url: str) -> None:
        self._url = url

    def ask(self, path: str, **query: str) -> Any:  # noqa: ANN401 - the shape depends on the path
        """Return the data of an answer of the API.

        Raises:
            AssertionError: If it says that something is wrong.
        """
        try:
            with urllib.request.urlopen(f"{self._url}{path}?{urllib.parse.urlencode(query)}") as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"Prometheus refuses {path} {query}: {error.read().decode()}") from None

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Return the series of an instant query."""
        data = self.ask("/api/v1/query", query=expression)
        found: list[dict[str, Any]] = data["result"]
        return found

    def is_ready(self) -> bool:
        """Say whether it can be asked."""
        try:
            with urllib.request.urlopen(f"{self._url}/-/ready") as answer:
                return bool(answer.status == 200)
        except OSError:
            return False


@contextlib.contextmanager
def prometheus(config: dict[str, object], folder: Path) -> Iterator[Prometheus]:
    """Run one with a configuration; it keeps its data in the folder."""
    path = folder / "prometheus.yml"
    path.write_text(json.dumps(config))
    address = f"127.0.0.1:{free_port()}"
    arguments = (f"--config.file={path}", f"--storage.tsdb.path={folder / 'data'}", "--log.level=error")
    with subprocess.Popen(
        [program(), *arguments, f"--web.listen-address={address}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            running = Prometheus(f"http://{address}")
            deadline = time.monotonic() + _DEADLINE_SECONDS
            while not running.is_ready():
                assert process.poll() is None, f"Prometheus ended: {process.stderr and process.stderr.read()}"
                assert time.monotonic() < deadline, "Prometheus does not become ready"
                time.sleep(0.2)
            yield running
        finally:
            process.terminate()
