"""The cluster's certificate authority, one certificate per component, and their kubeconfigs.

A fresh authority per run keeps an old kubeconfig from ever opening a new cluster.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from localcluster import settings as where
from localcluster.shell import run

if TYPE_CHECKING:
    from pathlib import Path

_DAYS = "30"
_NEW_CERTIFICATE = (
    "openssl",
    "req",
    "-x509",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:prime256v1",
    "-nodes",
)
_REMEDY = "install a working openssl (3.0 or newer)"


@dataclass(frozen=True)
class Identity:
    """Who a component is to the API server: user `common_name` in group `organization`."""

    file: str
    common_name: str
    organization: str = ""
    names: tuple[str, ...] = ()
    """Subject alternative names, for those that also serve: `DNS:…` or `IP:…`."""

    @property
    def subject(self) -> str:
        group = f"/O={self.organization}" if self.organization else ""
        return f"{group}/CN={self.common_name}"


API_SERVER = Identity(
    "apiserver",
    "kube-apiserver",
    names=(
        "DNS:kubernetes",
        "DNS:kubernetes.default",
        "DNS:kubernetes.default.svc",
        "DNS:kubernetes.default.svc.cluster.local",
        "DNS:localhost",
        "IP:127.0.0.1",
        f"IP:{where.NODE_ADDRESS}",
        f"IP:{where.API_SERVICE_ADDRESS}",
    ),
)
CLIENTS = (
    Identity("admin", "admin", "system:masters"),
    Identity("controller-manager", "system:kube-controller-manager"),
    Identity("scheduler", "system:kube-scheduler"),
    Identity("proxy", "system:kube-proxy"),
    Identity("coredns", "system:coredns"),
    Identity("prometheus", "system:prometheus"),
    Identity("kwok", "system:kwok"),
    Identity(
        "node",
        f"system:node:{where.NODE_NAME}",
        "system:nodes",
        names=(f"DNS:{where.NODE_NAME}", f"IP:{where.NODE_ADDRESS}"),
    ),
)


def issue_all(folder: Path) -> None:
    """Make the authority (`ca`), all certificates and the key that signs service account tokens (`sa`)."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    authority = ("-keyout", folder / "ca.key", "-out", folder / "ca.crt", "-subj", "/CN=localcluster")
    run([*_NEW_CERTIFICATE, *authority, "-days", _DAYS], remedy=_REMEDY)
    for identity in (API_SERVER, *CLIENTS):
        _issue(folder, identity)
    run(
        [
            "openssl",
            "genpkey",
            "-algorithm",
            "RSA",
            "-pkeyopt",
            "rsa_keygen_bits:2048",
            "-out",
            folder / "sa.key",
        ],
        remedy=_REMEDY,
    )
    run(["openssl", "pkey", "-in", folder / "sa.key", "-pubout", "-out", folder / "sa.pub"], remedy=_REMEDY)


def _issue(folder: Path, identity: Identity) -> None:
    names = ["-addext", f"subjectAltName={','.join(identity.names)}"] if identity.names else []
    run(
        [
            *_NEW_CERTIFICATE,
            *("-CA", folder / "ca.crt", "-CAkey", folder / "ca.key", "-days", _DAYS),
            *("-keyout", folder / f"{identity.file}.key", "-out", folder / f"{identity.file}.crt"),
            *("-subj", identity.subject, "-addext", "basicConstraints=critical,CA:FALSE", *names),
        ],
        remedy=_REMEDY,
    )


def kubeconfig(pki: Path, file: str, server: str = where.API_URL) -> str:
    """Return the text of a kubeconfig for the identity `file`, with paths to its key (JSON is YAML)."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "local", "cluster": {"server": server, "certificate-authority": str(pki / "ca.crt")}}
        ],
        "users": [
            {
                "name": file,
                "user": {
                    "client-certificate": str(pki / f"{file}.crt"),
                    "client-key": str(pki / f"{file}.key"),
                },
            }
        ],
        "contexts": [{"name": "local", "context": {"cluster": "local", "user": file}}],
        "current-context": "local",
    }
    return json.dumps(document, indent=1)
