"""Which events are watched, and whom they wake."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, repeat

import kopf

from chaffinch.domain.names import ROLLOUT_LABEL
from chaffinch.ports.cluster import Kind, Kinds, Manifest
from chaffinch.runtime.baseline_export import BaselineExport
from chaffinch.runtime.commands import rollout_of
from chaffinch.runtime.health import Health
from chaffinch.runtime.hub import Hub, Subject, SubjectKind
from chaffinch.runtime.probe_pass import JOB_NAME_LABEL
from chaffinch.runtime.wake import Version

_FIRST_BACKOFFS = (1.0, 2.0, 4.0, 8.0)
_LONGEST_BACKOFF = 15.0
_RECONNECT_SECONDS = 1.0  # between two watches: a server that ends each one at once is not to be stormed
LONGEST_SILENCE = 70.0
"""Seconds without a word after which a watch counts as dead: its connection may be gone and nobody told.

The API server sends a bookmark a minute where nothing happens, so a watch that lives is not given up. It also
keeps events for 75 seconds, so the next watch goes on where the last bookmark was. After that a busy cluster
might have forgotten them, and all objects would be listed, and looked at, anew. A shorter time comes to the
same: no watch would get as old as its first bookmark.
"""

_OVER = ("Failed", "Succeeded")
CHILDREN = (Kinds.DEPLOYMENT, Kinds.POD, Kinds.SERVICE, Kinds.CONFIG_MAP)


@dataclass(frozen=True, slots=True)
class Wakers:
    """Whom events are passed to.

    Attributes:
        hub: Owns the tasks of rollouts, probes and commands.
        health: Notes that the watches live.
        baselines: Exports frozen baselines to Prometheus.
        ended: Called when the engine has stopped watching, before the process ends.
    """

    hub: Hub
    health: Health
    baselines: BaselineExport
    ended: Callable[[], Awaitable[None]]


class _Backoffs(Iterable[float]):
    """Pauses between the tries of a watch that fails: ever longer, up to a limit, and without an end.

    Left to itself the engine gives up after a minute, and the process ends. But passes go on without watches.
    """

    def __iter__(self) -> Iterator[float]:
        """Yield seconds."""
        return chain(_FIRST_BACKOFFS, repeat(_LONGEST_BACKOFF))


def registry_of(wakers: Wakers) -> kopf.OperatorRegistry:
    """Return the engine's registry with one handler per watched kind."""
    registry = kopf.OperatorRegistry()
    hub, health = wakers.hub, wakers.health

    @kopf.on.event(*_selector(Kinds.ROLLOUT), registry=registry, id="rollout")
    async def rollout(event: kopf.RawEvent, body: Manifest, **_: object) -> None:
        health.watch_event()
        gone = event["type"] == "DELETED"
        # What is listed anew wakes everybody: events of others may have been missed before that.
        hub.saw(_subject(SubjectKind.ROLLOUT, body), deleted=gone, version=_version(event, body))
        if gone:
            hub.wake(SubjectKind.COMMAND, body["metadata"]["namespace"])

    @kopf.on.event(*_selector(Kinds.PROBE), registry=registry, id="probe")
    async def probe(event: kopf.RawEvent, body: Manifest, labels: Mapping[str, str], **_: object) -> None:
        health.watch_event()
        hub.saw(_subject(SubjectKind.PROBE, body), deleted=event["type"] == "DELETED")
        _wake_by_label(hub, body["metadata"]["namespace"], labels)

    @kopf.on.event(*_selector(Kinds.BASELINE), registry=registry, id="baseline")
    async def baseline(event: kopf.RawEvent, body: Manifest, **_: object) -> None:
        health.watch_event()
        wakers.baselines.saw(body, deleted=event["type"] == "DELETED")
        hub.wake(SubjectKind.ROLLOUT, body["metadata"]["namespace"])

    @kopf.on.event(*_selector(Kinds.COMMAND), registry=registry, id="command")
    async def command(event: kopf.RawEvent, body: Manifest, **_: object) -> None:
        health.watch_event()
        hub.saw(_subject(SubjectKind.COMMAND, body), deleted=event["type"] == "DELETED")
        if name := rollout_of(body):
            hub.wake(SubjectKind.ROLLOUT, body["metadata"]["namespace"], name)

    for kind in CHILDREN:

        @kopf.on.event(*_selector(kind), registry=registry, id=kind.plural)
        async def child(event: kopf.RawEvent, body: Manifest, labels: Mapping[str, str], **_: object) -> None:
            health.watch_event()
            _wake_by_label(hub, body["metadata"]["namespace"], labels, at_once=_was_turned_away(event, body))

    @kopf.on.cleanup(registry=registry)
    async def cleanup(**_: object) -> None:
        await wakers.ended()

    kopf.on.login(registry=registry)(_login)
    return registry


def engine_settings(*, request: float, connect: float, watch: int) -> kopf.OperatorSettings:
    """Return the engine's settings: it watches, with timeouts, and writes nothing at all.

    Args:
        request: Longest wait for an answer, in seconds.
        connect: Longest wait for a connection, in seconds.
        watch: How long one watch stays open, in whole seconds.
    """
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.scanning.disabled = True
    settings.networking.request_timeout = request
    settings.networking.connect_timeout = connect
    settings.watching.connect_timeout = connect
    settings.watching.server_timeout = watch
    settings.watching.inactivity_timeout = LONGEST_SILENCE
    settings.watching.reconnect_backoff = _RECONNECT_SECONDS
    settings.networking.error_backoffs = _Backoffs()
    # On the server: a filter in the process would receive every pod of the cluster.
    for kind in CHILDREN:
        settings.watching.label_selectors[_selector(kind)] = ROLLOUT_LABEL
    return settings


def _selector(kind: Kind) -> tuple[str, str, str]:
    group, _, version = kind.api_version.rpartition("/")
    return group, version, kind.plural


def _subject(kind: SubjectKind, body: Manifest) -> Subject:
    metadata = body["metadata"]
    return Subject(kind, metadata["namespace"], metadata["name"], metadata["uid"])


def _version(event: kopf.RawEvent, body: Manifest) -> Version | None:
    """Return what a watched object has become; None of one that was listed."""
    if event["type"] is None:
        return None
    return body["metadata"]["resourceVersion"], int(body["metadata"]["generation"])


def _was_turned_away(event: kopf.RawEvent, body: Manifest) -> bool:
    """Say whether a node has just turned a pod away: unless that is looked at, ten more are made a second."""
    is_news = event["type"] == "MODIFIED" and "deletionTimestamp" not in body["metadata"]
    return is_news and (body.get("status") or {}).get("phase") in _OVER


def _wake_by_label(hub: Hub, namespace: str, labels: Mapping[str, str], *, at_once: bool = False) -> None:
    if rollout := labels.get(ROLLOUT_LABEL):
        hub.wake(SubjectKind.ROLLOUT, namespace, rollout, at_once=at_once)
    if job := labels.get(JOB_NAME_LABEL):
        hub.wake(SubjectKind.PROBE, namespace, job)


def _login(*, settings: kopf.OperatorSettings, **_: object) -> kopf.ConnectionInfo | None:
    """Log in as the rest of the operator does: the kubeconfig in ``KUBECONFIG``, else the ServiceAccount."""
    if os.environ.get("KUBECONFIG"):
        return kopf.login_with_kubeconfig(settings=settings)
    return kopf.login_with_service_account(settings=settings)
