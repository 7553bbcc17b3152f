"""What the agent says of itself: one table, from which scrapes are answered and the reference is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from chaffinch.agent.counting import LogCounter
from chaffinch.agent.exposition import Own
from chaffinch.agent.keeper import RouteKeeper, Served

_Values = Mapping[str, int]
"""Values by that of the metric's own label; of a metric without one, by the empty text."""


@dataclass(frozen=True, slots=True)
class OwnMetric:
    """One metric about the agent itself.

    Attributes:
        name: The metric's name.
        kind: ``counter`` or ``gauge``.
        help: What it means.
        label: Its own label beside the common ones; empty if it has none.
        read: Says its values now.
    """

    name: str
    kind: str
    help: str
    label: str
    read: Callable[[LogCounter, RouteKeeper], _Values]

    def now(self, counter: LogCounter, keeper: RouteKeeper) -> Own:
        """Return it with the values that it has now."""
        values: dict[tuple[tuple[str, str], ...], int] = {
            ((self.label, value),) if self.label else (): count
            for value, count in self.read(counter, keeper).items()
        }
        return Own(self.name, self.kind, self.help, values)


def own_metrics(counter: LogCounter, keeper: RouteKeeper) -> Iterator[Own]:
    """Return all of them with the values that they have now."""
    return (metric.now(counter, keeper) for metric in METRICS)


def _of_log(name: str, text: str, read: Callable[[LogCounter], int], kind: str = "counter") -> OwnMetric:
    return OwnMetric(f"chaffinch_agent_{name}", kind, text, "", lambda counter, _: {"": read(counter)})


def _of_route(name: str, text: str, read: Callable[[Served], _Values], label: str = "") -> OwnMetric:
    def values(_: LogCounter, keeper: RouteKeeper) -> _Values:
        return {} if keeper.served is None else read(keeper.served)

    return OwnMetric(f"chaffinch_agent_{name}", "gauge", text, label, values)


METRICS = (
    _of_log("log_lines_total", "Lines of the access log that were read.", lambda log: log.lines),
    _of_log("log_lines_dropped_total", "Lines that could not be understood.", lambda log: log.dropped),
    _of_log("log_rotations_total", "Rotations of the access log.", lambda log: log.rotations),
    _of_log("envoy_restarts_total", "Restarts of Envoy that were noticed.", lambda log: log.restarts),
    _of_log("late_requests_total", "Requests logged too late for their block.", lambda log: log.blocks.late),
    _of_log(
        "overdue_requests_total",
        "Requests still open at the horizon.",
        lambda log: log.blocks.overdue_total,
    ),
    _of_log("forgotten_requests_total", "Requests that broke with Envoy.", lambda log: log.blocks.forgotten),
    _of_log(
        "open_requests",
        "Requests that have begun and not ended.",
        lambda log: log.blocks.open_requests,
        kind="gauge",
    ),
    OwnMetric(
        "chaffinch_agent_apply_failures_total",
        "counter",
        "Configurations that Envoy did not take.",
        "",
        lambda _, keeper: {"": keeper.failures},
    ),
    OwnMetric(
        "chaffinch_agent_routes_refused_total",
        "counter",
        "Routes that were refused.",
        "reason",
        lambda _, keeper: keeper.refused,
    ),
    _of_route(
        "route_epoch",
        "Epoch of the route that is served.",
        lambda served: {"": served.applied.truth.route.epoch},
    ),
    _of_route(
        "route_sequence",
        "Number of the route that is served.",
        lambda served: {"": served.applied.truth.route.sequence},
    ),
    _of_route(
        "weight",
        "Effective weight in 1/10,000, after arms without a ready endpoint were dropped.",
        lambda served: served.applied.translation.weights,
        label="revision",
    ),
    _of_route(
        "ready_endpoints",
        "Ready, admitted endpoints.",
        lambda served: served.applied.translation.ready,
        label="revision",
    ),
)
