"""Doors: what the API server tells the watch engine is passed to the hub, and nothing else happens here.

Only ``on.event`` is used. Every other kind of handler makes the engine write finalizers or annotations, and
an object with somebody's finalizer cannot be deleted while that somebody is down.
"""

from chaffinch.handlers.watching import Wakers, engine_settings, registry_of

__all__ = ["Wakers", "engine_settings", "registry_of"]
