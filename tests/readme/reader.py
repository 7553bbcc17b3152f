"""A reader of the pages: types their commands, word by word, but for what a reader has to put in.

Every command of a page is either typed by the story (:data:`TYPED`) or has a reason why it is not
(:data:`NOT_TYPED`); ``tests/unit/docs/test_commands_run.py`` finds those that are in neither.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from localcluster.settings import PROMETHEUS_URL
from pages import Command, all_commands
from stage.service import ENGINE_FLAGS

_SECONDS = 180.0
_SHOWN_LINES = 40
_OF_MAKE = frozenset({"MAKEFLAGS", "MFLAGS", "MAKELEVEL"})
_UPGRADE = (
    "helm upgrade chaffinch charts/chaffinch --namespace chaffinch-system --reset-then-reuse-values --set"
)

TYPED = (
    "helm install chaffinch ",
    "kubectl create namespace llm",
    "kubectl apply -n llm -f docs/examples/rollout.yaml",
    "kubectl wait -n llm --for=condition=Ready inferencerollout/chat ",
    "kubectl apply -n llm -f docs/examples/probe.yaml",
    "kubectl wait -n llm --for=condition=Complete loadprobe/chat-baseline ",
    "chaffinch baseline freeze -n llm ",
    "kubectl apply -n llm -f chat-v1.yaml",
    "kubectl patch inferencerollout chat -n llm ",
    "kubectl get inferencerollout chat -n llm --watch",
    "kubectl get inferencerollouts -n llm",
    "kubectl chaffinch list ",
    "kubectl chaffinch get ",
    "kubectl chaffinch explain ",
    "kubectl chaffinch history ",
    "kubectl chaffinch report ",
    "kubectl get inferencerollout chat -n llm -o yaml",
    "kubectl events -n llm ",
    "kubectl chaffinch pause ",
    "kubectl chaffinch resume ",
    "kubectl chaffinch approve ",
    "kubectl chaffinch promote ",
    "kubectl chaffinch abort ",
    "kubectl chaffinch retry ",
    f"{_UPGRADE} image.tag=",
    f"{_UPGRADE} monitoring.",
    "kubectl rollout status -n chaffinch-system ",
    "kubectl apply --server-side --force-conflicts -f crds/",
    "kubectl scale -n chaffinch-system ",
    "kubectl wait -n chaffinch-system --for=delete pod ",
    "helm rollback chaffinch ",
    "helm uninstall chaffinch ",
    "make help",
    "make kubectl ",
)
"""The beginnings of the commands that the story types."""

NOT_TYPED = {
    "docker build -t REGISTRY/chaffinch:0.1.0 .": "needs Docker; the story's image is of the same Dockerfile",
    "docker push REGISTRY/chaffinch:0.1.0": "needs a registry that takes images",
    "make demo": "takes a cluster of its own and minutes; it is run before a release",
    "make test": "it is what runs this",
    "make test-unit": "takes minutes, and runs nothing that `make test` does not run too",
}
"""The commands that it does not type, whole, each with the reason."""

_PUT_IN = (
    ("REGISTRY", "localhost"),
    ("http://prometheus.monitoring:9090", PROMETHEUS_URL),
    ("image.tag=VERSION", "image.tag=dev"),
    # The cluster has one image of the simulator: its versions differ in their arguments.
    (
        '"image": "vllm/vllm-openai:v0.34.0"',
        f'"extraArgs": {json.dumps([*ENGINE_FLAGS, "--sim-seed=2"])}',
    ),
    # The cluster does not have the kinds of the Prometheus operator, so what is made of them is only shown.
    (f"{_UPGRADE} monitoring.", "helm template chaffinch charts/chaffinch --set monitoring."),
)
"""What a reader writes instead of what stands in a page."""


@dataclass(slots=True)
class Reader:
    """Types commands in a folder that looks like a checkout of the repository.

    Attributes:
        folder: The folder.
        typed: The beginnings of the commands that have been typed.
    """

    folder: Path
    typed: set[str] = field(default_factory=set)

    def types(self, beginning: str, *more: str) -> str:
        """Type the command that begins so, with further arguments; return what it prints.

        Raises:
            AssertionError: With what it said, if it fails.
        """
        line = self._line(beginning, *more)
        done = subprocess.run(
            ["bash", "-c", line], cwd=self.folder, env=_environment(), capture_output=True, text=True,
            check=False, timeout=_SECONDS,
        )  # fmt: skip
        assert done.returncode == 0, f"$ {line}\n{done.stdout}{done.stderr}"
        print(f"$ {line}", *done.stdout.splitlines()[:_SHOWN_LINES], sep="\n", flush=True)
        return done.stdout

    @contextmanager
    def watches(self, beginning: str) -> Iterator[Path]:
        """Let a command run for the length of the block; yield the file that it prints to."""
        shown = self.folder / "watched"
        line = self._line(beginning)
        with shown.open("w") as out:
            process = subprocess.Popen(
                ["bash", "-c", f"exec {line}"], cwd=self.folder, env=_environment(), stdout=out
            )
            try:
                yield shown
                assert process.poll() is None, f"$ {line}\nended by itself with {process.returncode}"
            finally:
                process.terminate()
                process.wait()

    def has_typed_everything(self) -> bool:
        """Say whether nothing is left of what the story is to type."""
        return self.typed == set(TYPED)

    def _line(self, beginning: str, *more: str) -> str:
        assert beginning in TYPED, f"{beginning!r} is not said to be typed"
        self.typed.add(beginning)
        text = command_that_begins(beginning).text
        for there, here in _PUT_IN:
            text = text.replace(there, here)
        return " ".join([text, *more])


def command_that_begins(beginning: str) -> Command:
    """Return the command of the pages that begins so; several pages may tell people to type the same."""
    found = {command.text: command for command in all_commands() if command.text.startswith(beginning)}
    assert len(found) == 1, f"{len(found)} commands of the pages begin with {beginning!r}"
    return next(iter(found.values()))


def _environment() -> Mapping[str, str]:
    """Return the environment of a reader who has installed the command line and its plugin for kubectl.

    What make tells a make below it is left out: a reader's shell is below none.
    """
    kept = {name: value for name, value in os.environ.items() if name not in _OF_MAKE}
    return {**kept, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
