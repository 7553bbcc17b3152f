"""What the administrator decides about routers, and the few facts that router and agent share."""

from __future__ import annotations

from dataclasses import dataclass

TRAFFIC_PORT = 8080
TRAFFIC_PORT_NAME = "http"
AGENT_PORT = 9090
AGENT_PORT_NAME = "metrics"


@dataclass(frozen=True, slots=True)
class Resources:
    """What a container asks for. There is no CPU limit: a throttled router slows down every request.

    Attributes:
        cpu: Requested CPU.
        memory: Requested memory.
        memory_limit: Largest memory, its share of the memory volumes included.
    """

    cpu: str
    memory: str
    memory_limit: str


@dataclass(frozen=True, slots=True)
class RouterSettings:
    """Everything that a router's manifests take from outside the rollout.

    Attributes:
        agent_image: The image of Chaffinch.
        envoy_image: The image of Envoy; ``envoy`` must be on its path.
        replicas: Router pods.
        image_pull_secrets: Names of Secrets in the rollout's namespace.
        drain_seconds: How long the end of a pod may wait for answers that are being streamed. The
            namespace controller looks again at a namespace with pods only after half of their
            longest grace period: with 80 + 30 seconds a namespace is gone within a minute.
        envoy_threads: Worker threads of each Envoy.
        agent: Resources of the agent.
        envoy: Resources of Envoy.
    """

    agent_image: str
    envoy_image: str
    replicas: int = 2
    image_pull_secrets: tuple[str, ...] = ()
    drain_seconds: int = 80
    envoy_threads: int = 2
    agent: Resources = Resources(cpu="25m", memory="64Mi", memory_limit="256Mi")
    envoy: Resources = Resources(cpu="100m", memory="128Mi", memory_limit="512Mi")
