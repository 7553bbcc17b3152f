from __future__ import annotations

import json

import pytest

from chaffinch.adapters.answers import error_of
from chaffinch.ports.cluster import (
    AdmissionDeniedError,
    ClusterError,
    ConflictError,
    DeniedError,
    NamespaceEndingError,
    NotFoundError,
    QuotaExceededError,
    RejectedError,
    UnavailableError,
)

WHAT = "apply Deployment shop/chat"


def _status(reason: str = "", message: str = "", causes: list[dict[str, str]] | None = None) -> str:
    details = {"name": "chat", "kind": "deployments", "causes": causes or []}
    return json.dumps({"kind": "Status", "reason": reason, "message": message, "details": details})


@pytest.mark.parametrize(
    ("status", "body", "want"),
    [
        (None, None, UnavailableError),
        (0, None, UnavailableError),
        (404, _status("NotFound"), NotFoundError),
        (404, "404 page not found\n", UnavailableError),
        (404, b"<html>", UnavailableError),
        (409, _status("Conflict"), ConflictError),
        (409, _status("AlreadyExists"), ConflictError),
        (410, _status("Gone"), UnavailableError),
        (422, _status("Invalid"), RejectedError),
        (400, _status("BadRequest"), RejectedError),
        (401, _status("Unauthorized"), DeniedError),
        (403, _status("Forbidden", 'User "x" cannot patch resource "deployments"'), DeniedError),
        (403, _status("Forbidden", "forbidden: exceeded quota: gpus"), QuotaExceededError),
        (403, _status("Forbidden", "violates PodSecurity"), AdmissionDeniedError),
        (400, _status("", 'admission webhook "x" denied the request: no'), AdmissionDeniedError),
        (422, _status("Invalid", "ValidatingAdmissionPolicy 'p' denied request: no"), AdmissionDeniedError),
        (403, _status("Forbidden", "", [{"reason": "NamespaceTerminating"}]), NamespaceEndingError),
        (429, _status("TooManyRequests"), UnavailableError),
        (500, "panic: everything", UnavailableError),
        (503, '["not a Status"]', UnavailableError),
    ],
)
def test_an_answer_becomes_one_error_of_the_port(
    status: int | None, body: object, want: type[ClusterError]
) -> None:
    error = error_of(status, body, WHAT)
    assert type(error) is want
    assert str(error).startswith(f"{WHAT}: ")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422, 429, 500])
def test_the_text_of_an_answer_is_never_shown(status: int) -> None:
    body = _status(
        "Invalid", "token=s3cr3t admission webhook", [{"message": "s3cr3t", "field": "spec.replicas"}]
    )
    assert "s3cr3t" not in str(error_of(status, body, WHAT))


def test_a_refused_content_names_the_fields() -> None:
    causes = [{"field": "spec.b", "message": "x"}, {"field": "spec.a"}, {"field": ""}]
    error = error_of(422, _status("Invalid", "long text", causes), WHAT)
    assert str(error) == f"{WHAT}: the API server refused the content (spec.a, spec.b)"
