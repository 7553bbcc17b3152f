"""The Kubernetes API as Chaffinch uses it: a handful of verbs, and one small tree of errors.

::

    ClusterError
    ├── UnavailableError      no answer, a timeout, 429 or 5xx: nothing is known, try again later
    ├── NotFoundError         404
    ├── ConflictError         409, or a failed ``test`` of a JSON patch: somebody wrote in between
    ├── RejectedError         400 and 422: the server refused the content
    ├── DeniedError           401 and 403: our own rights are missing
    ├── AdmissionDeniedError  an admission policy or webhook refused the object
    ├── QuotaExceededError    a ResourceQuota refused the object
    ├── NamespaceEndingError  the namespace is being deleted; creating in it is never retried
    ├── NameTakenError        an object of that name exists and is not ours; it was not touched
    └── NotLeadingError       this process does not hold the Lease (any more); nothing was sent

The texts of these errors are fixed and ours: a remote body is never part of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

Manifest: TypeAlias = Mapping[str, Any]
PatchOperation: TypeAlias = Mapping[str, Any]


class ClusterError(Exception):
    """Something that the API server, or the way to it, did not do. The text is safe to show."""


class UnavailableError(ClusterError):
    """No answer, or an answer that says nothing about the object: 429, 5xx, a timeout."""


class NotFoundError(ClusterError):
    """The object does not exist."""


class ConflictError(ClusterError):
    """Somebody else wrote in between: read again, decide again."""


class RejectedError(ClusterError):
    """The server refused the content of a write; repeating it cannot help."""


class DeniedError(ClusterError):
    """Our own rights are missing (401, 403)."""


class AdmissionDeniedError(ClusterError):
    """An admission policy or webhook of the cluster refused the object."""


class QuotaExceededError(ClusterError):
    """A ResourceQuota of the namespace refused the object."""


class NamespaceEndingError(ClusterError):
    """The namespace is being deleted: nothing can be created in it, and nothing should be."""


class NameTakenError(ClusterError):
    """An object with the name of one of ours exists and belongs to somebody else."""


class NotLeadingError(ClusterError):
    """This process does not hold the Lease, so the write was not sent."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of object, and where the API server keeps it.

    Attributes:
        api_version: Group and version, as in a manifest: ``apps/v1``, or ``v1`` for the core group.
        kind: The name in manifests: ``Deployment``.
        plural: The name in paths: ``deployments``.
    """

    api_version: str
    kind: str
    plural: str


class Kinds:
    """Every kind that the operator reads or writes; RBAC names the same ones."""

    ROLLOUT = Kind("chaffinch.dev/v1alpha1", "InferenceRollout", "inferencerollouts")
    PROBE = Kind("chaffinch.dev/v1alpha1", "LoadProbe", "loadprobes")
    BASELINE = Kind("chaffinch.dev/v1alpha1", "InferenceBaseline", "inferencebaselines")
    PROFILE = Kind("chaffinch.dev/v1alpha1", "ProbeProfile", "probeprofiles")
    COMMAND = Kind("chaffinch.dev/v1alpha1", "RolloutCommand", "rolloutcommands")
    RECORD = Kind("chaffinch.dev/v1alpha1", "RolloutRecord", "rolloutrecords")
    CONTROLLER_REVISION = Kind("apps/v1", "ControllerRevision", "controllerrevisions")
    DEPLOYMENT = Kind("apps/v1", "Deployment", "deployments")
    CONFIG_MAP = Kind("v1", "ConfigMap", "configmaps")
    POD = Kind("v1", "Pod", "pods")
    SERVICE = Kind("v1", "Service", "services")
    SERVICE_ACCOUNT = Kind("v1", "ServiceAccount", "serviceaccounts")
    ROLE = Kind("rbac.authorization.k8s.io/v1", "Role", "roles")
    ROLE_BINDING = Kind("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings")
    DISRUPTION_BUDGET = Kind("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets")
    ENDPOINT_SLICE = Kind("discovery.k8s.io/v1", "EndpointSlice", "endpointslices")
    JOB = Kind("batch/v1", "Job", "jobs")
    EVENT = Kind("events.k8s.io/v1", "Event", "events")
    LEASE = Kind("coordination.k8s.io/v1", "Lease", "leases")


def kind_of(manifest: Manifest) -> Kind:
    """Return the kind of a manifest.

    Raises:
        KeyError: If it is none of :class:`Kinds`.
    """
    return _BY_NAME[manifest["apiVersion"], manifest["kind"]]


_BY_NAME = {(kind.api_version, kind.kind): kind for kind in vars(Kinds).values() if isinstance(kind, Kind)}


class Cluster(Protocol):
    """Reads and writes of objects. On failure every method raises a :class:`ClusterError`, nothing else."""

    async def get(self, kind: Kind, namespace: str, name: str) -> Manifest:
        """Read one object, as the server has it now."""
        ...

    async def list(self, kind: Kind, namespace: str, labels: Mapping[str, str]) -> Sequence[Manifest]:
        """Read the objects of a namespace, or of all if it is empty, that carry all of ``labels``."""
        ...

    async def apply(self, manifest: Manifest, *, live: Manifest | None = None) -> Manifest:
        """Make an object have the fields of ``manifest`` (server-side apply as field manager ``chaffinch``).

        Nothing is sent when the live object already has them. An existing object whose controller
        is not the one that the manifest names is never touched.

        Args:
            manifest: The complete set of fields that we own, with namespace and owner.
            live: The object as it was just read, when the caller has it; else it is read here.

        Raises:
            NameTakenError: If an object of that name exists and is not ours.
        """
        ...

    async def create(self, manifest: Manifest) -> Manifest:
        """Create an object; :class:`ConflictError` if the name is in use."""
        ...

    async def replace(self, manifest: Manifest) -> Manifest:
        """Replace an object whose ``metadata.resourceVersion`` must still be the one in ``manifest``."""
        ...

    async def patch_status(
        self, kind: Kind, namespace: str, name: str, patch: Sequence[PatchOperation]
    ) -> Manifest:
        """Apply a JSON patch to the status of an object; :class:`RejectedError` if a ``test`` in it fails."""
        ...

    async def delete(self, kind: Kind, namespace: str, name: str, uid: str) -> None:
        """Delete an object if it still has this uid; its children follow. Absent is fine."""
        ...
