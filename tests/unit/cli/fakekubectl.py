"""Stands in for kubectl: a program of its own that keeps objects as files in the folder ``$FAKE_OBJECTS``.

What is in ``X.json.1``, ``X.json.2``, ... takes the place of ``X.json``, one after each look at it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(os.environ["FAKE_OBJECTS"])


def main(words: list[str]) -> int:
    (FOLDER / "calls").open("a").write(json.dumps(words) + "\n")
    if (FOLDER / "trouble").exists():
        print((FOLDER / "trouble").read_text(), file=sys.stderr)
        return 1
    parser = argparse.ArgumentParser()
    for flag in ("--context", "--namespace", "--kubeconfig", "--selector", "--output", "--filename"):
        parser.add_argument(flag)
    parser.add_argument("--all-namespaces", action="store_true")
    parser.add_argument("words", nargs="+")
    options = parser.parse_intermixed_args(words)
    verb, *rest = options.words
    if verb == "get":
        return _get(rest[0], rest[1]) if len(rest) > 1 else _list(rest[0], options.selector)
    if verb == "auth":
        print(json.dumps({"status": {"userInfo": {"username": "ada@example.org"}}}))
        return 0
    return _create(json.load(sys.stdin))


def _get(resource: str, name: str) -> int:
    place = FOLDER / f"{resource}-{name}.json"
    if not place.exists():
        print(f'Error from server (NotFound): {resource} "{name}" not found', file=sys.stderr)
        return 1
    print(_look(place))
    return 0


def _look(place: Path) -> str:
    text = place.read_text()
    later = sorted(FOLDER.glob(f"{place.name}.*"))
    if later:
        later[0].replace(place)
    return text


def _list(resource: str, selector: str | None) -> int:
    wanted = dict(part.split("=") for part in selector.split(",")) if selector else {}
    bodies = [json.loads(_look(place)) for place in sorted(FOLDER.glob(f"{resource}-*.json"))]
    items = [body for body in bodies if wanted.items() <= body["metadata"].get("labels", {}).items()]
    print(json.dumps({"kind": "List", "items": items}))
    return 0


def _create(body: dict[str, Any]) -> int:
    metadata = body["metadata"]
    metadata.setdefault("name", metadata.get("generateName", "") + "x7k2p")
    place = FOLDER / f"created-{metadata['name']}.json"
    if place.exists():
        print("Error from server (AlreadyExists)", file=sys.stderr)
        return 1
    place.write_text(json.dumps(body))
    if body["kind"] == "RolloutCommand":
        answer = FOLDER / "answer"
        answered = body | ({"status": json.loads(answer.read_text())} if answer.exists() else {})
        (FOLDER / f"rolloutcommands.chaffinch.dev-{metadata['name']}.json").write_text(json.dumps(answered))
    print(json.dumps(body))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
