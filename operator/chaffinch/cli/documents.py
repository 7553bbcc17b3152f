"""Manifests in files: read with the place of what is wrong, written so that a review can read them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from chaffinch.cli.exits import CommandError

STANDARD = "-"
"""Stands for standard input or output."""


@dataclass(frozen=True, slots=True)
class Document:
    """One manifest of a file.

    Attributes:
        place: File and number of the document, for messages.
        body: The manifest.
    """

    place: str
    body: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """The kind, or a stand-in if it has none."""
        return str(self.body.get("kind") or "(no kind)")

    @property
    def name(self) -> str:
        """The name, or a stand-in if it has none."""
        metadata = self.body.get("metadata")
        name = metadata.get("name") if isinstance(metadata, Mapping) else None
        return str(name or "(no name)")


def read_documents(path: str) -> list[Document]:
    """Read all manifests of a YAML or JSON file; ``-`` is standard input, and lists are unfolded.

    Raises:
        CommandError: If the file cannot be read, or holds something else.
    """
    try:
        text = sys.stdin.read() if path == STANDARD else Path(path).read_text(encoding="utf-8")
        bodies = [body for body in yaml.safe_load_all(text) if body is not None]
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise CommandError(f"{path}{line}: not YAML: {error.problem or 'unknown'}") from None
    except yaml.YAMLError:
        raise CommandError(f"{path}: not YAML") from None
    documents = []
    for number, body in enumerate(bodies, start=1):
        if not isinstance(body, Mapping):
            raise CommandError(f"{path}: document {number} is not a manifest but a {type(body).__name__}")
        items = body.get("items") if body.get("kind") == "List" else None
        documents += [Document(path, item) for item in (items or [body]) if isinstance(item, Mapping)]
    return documents


def write_text(path: str, text: str) -> None:
    """Write a file; ``-`` is standard output.

    Raises:
        CommandError: If it cannot be written.
    """
    if path == STANDARD:
        sys.stdout.write(text)
        return
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{path}: cannot be written: {error.strerror}") from None


def to_yaml(body: Mapping[str, Any]) -> str:
    """Return a manifest as YAML, fields in the order of the API."""
    text: str = yaml.safe_dump(dict(body), sort_keys=False, width=110, allow_unicode=True)
    return text
