"""Requests to the API server; the only module that imports the official client.

The client reads the kubeconfig or the pod's ServiceAccount, keeps connections, checks certificates and renews
tokens. Its generic layers above that serialise and parse by introspection, which took as much CPU as the rest
of a request together, and an operator of a thousand rollouts reads hundreds of times a second; so requests
are put together here. They block: call them from a thread.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

import kubernetes
import urllib3

_AGENT = "chaffinch"
_CREDENTIALS = ["BearerToken"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the API server answered.

    Attributes:
        status: The HTTP status.
        body: The whole body.
    """

    status: int
    body: bytes


class ConnectionSettingsError(Exception):
    """There is no usable way to the API server; the text says what to do."""


class ApiServer:
    """The way to one API server.

    Args:
        client: The official client, configured.
    """

    def __init__(self, client: kubernetes.client.ApiClient) -> None:
        self._client = client
        self._url = client.configuration.host.rstrip("/")

    def request(
        self,
        method: str,
        path: str,
        *,
        timeouts: tuple[float, float],
        query: Mapping[str, str] | None = None,
        body: object = None,
        content_type: str = "",
    ) -> Answer:
        """Send one request, once, and return the answer, whatever it says.

        Args:
            method: The HTTP method.
            path: The path, from the root.
            timeouts: Longest waits for a connection and for each part of the answer, in seconds.
            query: The parameters after the path.
            body: What to send, as JSON; None sends nothing.
            content_type: What the body is, if there is one.

        Raises:
            urllib3.exceptions.HTTPError: If there is no whole answer.
        """
        headers = {"Accept": "application/json", "User-Agent": _AGENT}
        if body is not None:
            headers["Content-Type"] = content_type
        self._client.update_params_for_auth(headers, [], _CREDENTIALS, path, method, body)
        connect, read = timeouts
        reply = self._client.rest_client.pool_manager.request(
            method,
            f"{self._url}{path}?{urlencode(query)}" if query else f"{self._url}{path}",
            headers=headers,
            body=None if body is None else json.dumps(body).encode(),
            timeout=urllib3.Timeout(connect=connect, read=read),
            retries=False,  # a failed request is the caller's to repeat, with a fresh decision
            redirect=False,
        )
        return Answer(reply.status, reply.data)


def connect(connections: int) -> ApiServer:
    """Open the way to the API server: the kubeconfig in ``KUBECONFIG``, else the pod's ServiceAccount.

    Args:
        connections: How many connections are kept.

    Raises:
        ConnectionSettingsError: If there is neither, or it cannot be read.
    """
    configuration = kubernetes.client.Configuration()
    try:
        if kubeconfig := os.environ.get("KUBECONFIG"):
            kubernetes.config.load_kube_config(kubeconfig, client_configuration=configuration)  # type: ignore[no-untyped-call]
        else:
            kubernetes.config.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
    except (kubernetes.config.ConfigException, OSError) as error:
        raise ConnectionSettingsError(
            "no way to a Kubernetes API server: run in a pod with a ServiceAccount, or set KUBECONFIG"
            f" ({type(error).__name__})"
        ) from None
    configuration.connection_pool_maxsize = connections
    return ApiServer(kubernetes.client.ApiClient(configuration))
