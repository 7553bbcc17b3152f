"""Installs Chaffinch in the test cluster, as the README says: with helm."""

from __future__ import annotations

import subprocess
from pathlib import Path

from localcluster.kubectl import eventually
from localcluster.settings import PROMETHEUS_URL
from stage.kubectl import POLL_SECONDS, Kubectl, KubectlError

REPOSITORY = Path(__file__).parents[2]
NAMESPACE = "chaffinch-system"
RELEASE = "chaffinch"
OPERATOR_USER = f"system:serviceaccount:{NAMESPACE}:{RELEASE}"
OPERATOR_PODS = "--selector=app.kubernetes.io/component=operator"

_LEAVING_SECONDS = 40

# Short intervals, so that a test does not wait for what users do not mind waiting for.
VALUES = {
    "image.repository": "localhost/chaffinch",
    "image.tag": "dev",
    "envoyImage": "localhost/envoy:dev",
    "prometheus.url": PROMETHEUS_URL,
    "resources.requests.cpu": "50m",
    "settings.CHAFFINCH_ACTIVE_INTERVAL": "2",
    "log.level": "DEBUG",
}

_OWN_NAMESPACE = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": NAMESPACE, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
}


class InstallError(Exception):
    """helm could not install Chaffinch; the text is what it said."""


def install(**values: str) -> None:
    """Install or upgrade Chaffinch and wait until its operator is ready.

    Its namespace admits only pods that pass PodSecurity ``restricted``. The operator is always restarted:
    images keep their tag while they change.

    Raises:
        InstallError: If helm refuses, or the operator does not become ready.
    """
    kubectl = Kubectl(NAMESPACE)
    kubectl.apply(_OWN_NAMESPACE)
    settings = [f"--set={name}={value}" for name, value in (VALUES | values).items()]
    helm(
        "upgrade", "--install", RELEASE, str(REPOSITORY / "charts" / "chaffinch"),
        f"--namespace={NAMESPACE}", *settings,
    )  # fmt: skip
    kubectl("rollout", "restart", f"deployment/{RELEASE}")
    try:
        kubectl("rollout", "status", f"deployment/{RELEASE}", "--timeout=90s")
    except KubectlError as error:
        last = kubectl("logs", OPERATOR_PODS, "--tail=1")
        raise InstallError(f"the operator does not become ready ({error}); it says: {last.strip()}") from None


def uninstall() -> None:
    """Remove what :func:`install` installed; the CRDs, and all that is made of them, stay.

    No operator is left when this returns, so that none asks for what it may no longer do.
    """
    helm("uninstall", RELEASE, f"--namespace={NAMESPACE}", "--wait", "--timeout=60s")
    until_no_operator_is_left()


def until_no_operator_is_left() -> None:
    """Wait for the last operator to go after the chart has."""
    kubectl = Kubectl(NAMESPACE)
    eventually(
        lambda: len(kubectl.list("pods", OPERATOR_PODS)), _LEAVING_SECONDS, "no operator is left",
        POLL_SECONDS, holds=lambda left: left == 0,
    )  # fmt: skip


def helm(*args: str) -> str:
    """Run helm and return what it printed.

    Raises:
        InstallError: With what helm said.
    """
    done = subprocess.run(["helm", *args], capture_output=True, text=True, check=False, timeout=120)
    if done.returncode:
        raise InstallError(done.stderr.strip())
    return done.stdout
