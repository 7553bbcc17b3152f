"""The type of what argparse gives for adding sub-commands, which has no public name."""

from __future__ import annotations

import argparse
from typing import TypeAlias

Groups: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001 - it has no other
