"""Asks a Prometheus for raw samples, and lets nothing but a whole JSON reply of a bearable size through.

The reply is read by us and not by a client library, which would drop the warnings that say that a reply is
incomplete. Whatever else comes is refused with a fixed text.

Every pass of a canary asks, so this is done with aiohttp, which takes a third of the CPU that httpx takes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta

import aiohttp

from chaffinch.adapters.plain_http import BodyTooLargeError, body_of, plain_session
from chaffinch.domain.evidence import Problem
from chaffinch.domain.live_evidence import Arms
from chaffinch.domain.prometheus_reply import UnusableReplyError, Window
from chaffinch.ports.evidence import EvidenceQuestion

_CONNECTIONS = 8
"""A Prometheus is near, and has others to answer: few are enough."""
_KEPT_SECONDS = 4
"""Shorter than any server keeps an idle connection: a question that meets its end is not asked again."""
_OK = 200
_REDIRECTS, _SERVER_ERRORS = range(300, 400), range(500, 600)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a reply may cost before it is refused.

    Attributes:
        seconds: The longest wait for one whole reply.
        bytes: The largest body.
        staleness: How long ago the newest block may have ended.
    """

    seconds: float = 10
    bytes: int = 32 * 1024 * 1024
    staleness: timedelta = timedelta(minutes=3)


class PrometheusQueries:
    """The query API of one Prometheus.

    Args:
        url: Scheme, host, port and an optional path.
        limits: What a reply may cost.
    """

    def __init__(self, url: str, limits: Limits) -> None:
        self._url = f"{url.rstrip('/')}/api/v1/query"
        self._limits = limits
        self._session = plain_session(
            aiohttp.TCPConnector(limit=_CONNECTIONS, keepalive_timeout=_KEPT_SECONDS),
            aiohttp.ClientTimeout(total=limits.seconds),
            "application/json",
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._session.close()

    async def ask(self, question: EvidenceQuestion, metrics: tuple[str, ...], window: Window) -> bytes:
        """Return the reply to :func:`selector`.

        Raises:
            UnusableReplyError: If there is none in time, or it is no JSON of a bearable size.
        """
        form = {"query": selector(question, metrics, window), "time": f"{window.end:.3f}"}
        try:
            return await self._body(form)
        except TimeoutError:
            raise _unavailable("Prometheus did not answer in time") from None
        except BodyTooLargeError:
            raise _unavailable("the reply of Prometheus is too large") from None
        except (aiohttp.ClientError, ValueError, OSError):
            raise _unavailable(
                "Prometheus cannot be reached, or broke off its answer:"
                " check CHAFFINCH_PROMETHEUS_URL (chart value prometheus.url)"
            ) from None

    async def _body(self, form: dict[str, str]) -> bytes:
        async with self._session.post(self._url, data=form, allow_redirects=False) as response:
            _refuse_all_but_json(response)
            return await body_of(response, self._limits.bytes)


def selector(question: EvidenceQuestion, metrics: tuple[str, ...], window: Window) -> str:
    """Return the range selector of a question: these metrics of both arms, and of nothing else."""
    revisions = sorted(Arms(question.candidate, question.stable).revisions)
    matchers = ",".join(
        (
            f'__name__=~"{"|".join(metrics)}"',
            f'rollout_uid="{escaped(question.rollout_uid)}"',
            f'attempt="{question.attempt}"',
            f'revision=~"{"|".join(escaped(re.escape(revision)) for revision in revisions)}"',
        )
    )
    return f"{{{matchers}}}[{round((window.end - window.start) * 1000)}ms]"


def escaped(text: str) -> str:
    """Return a text as it stands between the double quotes of a PromQL string."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _refuse_all_but_json(response: aiohttp.ClientResponse) -> None:
    if response.status in _REDIRECTS:
        raise _unavailable("Prometheus answered with a redirect, which is not followed")
    if response.status != _OK:
        kind = "a server error" if response.status in _SERVER_ERRORS else "a refusal"
        raise _unavailable(f"Prometheus answered with {kind} (HTTP {response.status})")
    if response.headers.get("content-encoding", "identity") != "identity":
        raise _unavailable("the reply of Prometheus is compressed, which was not asked for")
    if response.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise _unavailable("the reply of Prometheus is not JSON")


def _unavailable(text: str) -> UnusableReplyError:
    return UnusableReplyError(Problem.UNAVAILABLE, text)
