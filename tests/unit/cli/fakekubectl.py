"""Stands in for kubectl: a program of its own that keeps objects as files in the folder ``$FAKE_OBJECTS``."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path


def main(arguments: list[str]) -> int:
    folder = Path(os.environ["FAKE_OBJECTS"])
    (folder / "calls").open("a").write(json.dumps(arguments) + "\n")
    while arguments[0].startswith("--"):
        arguments = arguments[2:]
    if arguments[0] == "get":
        place = folder / f"{arguments[1]}-{arguments[2]}.json"
        if not place.exists():
            print(f'Error from server (NotFound): {arguments[1]} "{arguments[2]}" not found', file=sys.stderr)
            return 1
        print(place.read_text())
        return 0
    body = json.load(sys.stdin)
    place = folder / f"created-{body['metadata']['name']}.json"
    if place.exists():
        print("Error from server (AlreadyExists)", file=sys.stderr)
        return 1
    place.write_text(json.dumps(body))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
