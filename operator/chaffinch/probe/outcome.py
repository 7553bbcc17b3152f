"""How a request can turn out, with one name each.

The names that a router can see too are the router's (``chaffinch_router_requests_total{outcome}``), so that a
probe's figures and real traffic's read alike.
"""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """The outcome of one request of a probe; all but ``OK`` are failures.

    A client error is a failure here, though not on a router: the probe's requests are alike and valid, so
    that a server which refuses some of them fails its users (or the profile does not fit the server).
    """

    OK = "ok"
    REFUSED = "error_refused"
    RESET = "error_reset"
    CUT = "error_cut"
    TIMEOUT = "error_timeout"
    SERVER_ERROR = "error_5xx"
    CLIENT_ERROR = "client_4xx"
    THROTTLED = "throttled"
    IN_BAND = "error_in_band"
    ABORTED = "error_aborted"
    EMPTY = "error_empty"
    SHORT = "error_short"

    @property
    def failed(self) -> bool:
        """Whether the request counts as an error, and as +infinity in the latency sketches."""
        return self is not Outcome.OK
