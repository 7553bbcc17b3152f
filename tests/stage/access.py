"""Who may do what: the chart's roles alone, and what the API server says about them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import yaml

from localcluster.fixtures import Kubectl, KubectlError
from stage.install import REPOSITORY, helm
from stage.kubectl import Object

ROLES = frozenset({"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"})
POLICIES = frozenset({"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"})


@contextmanager
def applied(kubectl: Kubectl, kinds: frozenset[str], *args: str) -> Iterator[str]:
    """Apply some kinds of the chart's objects to the test's namespace, under a release name of its own.

    Args:
        kubectl: kubectl in that namespace.
        kinds: Which kinds.
        args: Further arguments for helm.

    Yields:
        The release's name; what it has outside of the namespace goes at the end.
    """
    release = f"chart-{kubectl.namespace}"
    rendered = helm(
        "template", release, str(REPOSITORY / "charts" / "chaffinch"),
        f"--namespace={kubectl.namespace}", "--set=crds.install=false",
        "--set=prometheus.url=http://prometheus:9090", "--set=image.repository=registry.example/chaffinch",
        *args,
    )  # fmt: skip
    documents: list[Object] = [document for document in yaml.safe_load_all(rendered) if document]
    chosen = [dict(document) for document in documents if document["kind"] in kinds]
    kubectl.apply(*chosen)
    try:
        yield release
    finally:
        for document in chosen:
            if "namespace" not in document["metadata"]:
                kubectl("delete", document["kind"], document["metadata"]["name"])


def may(kubectl: Kubectl, user: str, asked: str) -> bool:
    """Ask the API server whether a user may do something, written as ``verb resource[/subresource]``."""
    verb, resource = asked.split()
    resource, _, subresource = resource.partition("/")
    words = ["auth", "can-i", f"--as={user}", verb, resource]
    try:
        answer = kubectl(*words, *([f"--subresource={subresource}"] if subresource else []))
    except KubectlError as error:
        # "no" ends with exit code 1 and says nothing else; anything that is said is a real error.
        if any(not line.startswith("Warning:") for line in str(error).splitlines()):
            raise
        return False
    return answer.strip() == "yes"
