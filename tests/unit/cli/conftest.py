"""Objects of a probe that succeeded, behind a stand-in for kubectl."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

FAKE = Path(__file__).with_name("fakekubectl.py")


@dataclass(frozen=True)
class Objects:
    """The objects that the stand-in knows, and what was done with it."""

    folder: Path

    def put(self, resource: str, body: dict[str, Any]) -> None:
        (self.folder / f"{resource}-{body['metadata']['name']}.json").write_text(json.dumps(body))

    def change(self, resource: str, *bodies: dict[str, Any]) -> None:
        """Put an object that becomes another one after each look at it."""
        self.put(resource, bodies[0])
        for number, body in enumerate(bodies[1:], start=1):
            place = self.folder / f"{resource}-{body['metadata']['name']}.json.{number}"
            place.write_text(json.dumps(body))

    def created(self, name: str) -> dict[str, Any]:
        body: dict[str, Any] = json.loads((self.folder / f"created-{name}.json").read_text())
        return body

    def calls(self) -> list[list[str]]:
        return [json.loads(line) for line in (self.folder / "calls").read_text().splitlines()]


@pytest.fixture
def objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Objects:
    program = tmp_path / "kubectl"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {FAKE} "$@"\n')
    program.chmod(0o755)
    folder = tmp_path / "objects"
    folder.mkdir()
    monkeypatch.setenv("KUBECTL", str(program))
    monkeypatch.setenv("FAKE_OBJECTS", str(folder))
    return Objects(folder)


def stage(name: str, concurrency: int, requests: int) -> dict[str, Any]:
    return {
        "name": name,
        "concurrency": concurrency,
        "requests": requests,
        "errors": 0,
        "errorsByKind": {},
        "promptTokens": 64 * requests,
        "outputTokens": 16 * requests,
        "durationMillis": 60_000,
        "complete": True,
        "sketches": {"ttft": f"190:{requests}", "e2e": f"250:{requests}", "tpot": f"90:{requests}"},
        "selfCheck": {"passed": True},
    }


def probe(**status: object) -> dict[str, Any]:
    """A LoadProbe that succeeded with the smoke profile."""
    return {
        "apiVersion": "chaffinch.dev/v1alpha1",
        "kind": "LoadProbe",
        "metadata": {"name": "freeze-me", "namespace": "llm"},
        "spec": {"target": {"rollout": "chat", "revision": "Stable"}, "profile": "smoke/v1"},
        "status": {
            "phase": "Succeeded",
            "revision": "58be2a01",
            "finishedAt": "2026-03-01T12:00:00Z",
            "result": {"engineVersion": "0.33.0", "stages": [stage("c4", 4, 40), stage("c8", 8, 200)]},
        }
        | status,
    }


def revision() -> dict[str, Any]:
    """The ControllerRevision of the measured revision."""
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {"name": "chat-58be2a01"},
        "revision": 1,
        "data": {
            "hashVersion": 1,
            "startupSeconds": 600,
            "spec": {
                "model": {"name": "chat", "source": "example/chat-1b"},
                "engine": {"image": "registry.example/engine:1"},
            },
            "template": {
                "spec": {
                    "containers": [
                        {
                            "name": "engine",
                            "image": "registry.example/engine:1",
                            "args": ["example/chat-1b", "--port", "8000"],
                            "resources": {"limits": {"nvidia.com/gpu": "2"}},
                        }
                    ]
                }
            },
        },
    }


@pytest.fixture
def succeeded(objects: Objects) -> Objects:
    """The stand-in with a probe that succeeded."""
    objects.put("loadprobes.chaffinch.dev", probe())
    objects.put("controllerrevisions.apps", revision())
    return objects
