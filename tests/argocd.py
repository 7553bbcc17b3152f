"""The health that Argo CD would show of a rollout: our script, run by the version of Lua that Argo CD has."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lupa import lua51

SCRIPT = Path(__file__).parents[1] / "docs/examples/argocd/health.lua"


def health_of(rollout: Mapping[str, Any]) -> tuple[str, str]:
    """Return status and message of an object's health, as Argo CD would show them."""
    lua = lua51.LuaRuntime(unpack_returned_tuples=True)
    assign: Any = lua.eval("function(object) obj = object end")
    assign(lua.table_from(rollout, recursive=True))
    health: Any = lua.execute(SCRIPT.read_text(encoding="utf-8"))
    return health["status"], health["message"]
