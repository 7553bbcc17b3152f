"""What an answer of the API server means, in the port's words.

The body of an answer is looked at to find out what it is, and then forgotten: its text, which others can
influence, goes nowhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

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

_FIELD = re.compile(r"[A-Za-z]+(\.[A-Za-z]+|\[[0-9]+\])*")
_ADMISSION_MARKS = ("admission webhook", "ValidatingAdmissionPolicy", "violates PodSecurity")


def error_of(status: int | None, body: object, what: str) -> ClusterError:
    """Return the error that an answer stands for.

    Args:
        status: The HTTP status; None or 0 if there was no answer at all.
        body: The body, if there was one: text or bytes.
        what: What was tried, in our words: ``apply Deployment shop/chat-0a1b2c3d``.
    """
    answer = _status_object(body)
    if status in {400, 403, 405, 415, 422} and any(
        mark in str(answer.get("message")) for mark in _ADMISSION_MARKS
    ):
        return AdmissionDeniedError(f"{what}: an admission policy of the cluster refused it")
    if status in {401, 403}:
        return _forbidden(answer, what)
    if status == 404:
        return _absent(answer, what)
    if status == 409:
        return ConflictError(f"{what}: somebody else wrote it in between")
    if status in {400, 405, 415, 422}:
        return RejectedError(f"{what}: the API server refused the content{_fields(answer)}")
    said = f"answered with status {status}" if status else "cannot be reached"
    return UnavailableError(f"{what}: the API server {said}")


def _absent(answer: Mapping[str, Any], what: str) -> ClusterError:
    # A kind that is not served is a 404 too, but says nothing about the object.
    if answer.get("reason") == "NotFound" and answer.get("details"):
        return NotFoundError(f"{what}: it does not exist")
    return UnavailableError(f"{what}: the API server does not know this kind; are the CRDs installed?")


def _forbidden(answer: Mapping[str, Any], what: str) -> ClusterError:
    if any(cause.get("reason") == "NamespaceTerminating" for cause in _causes(answer)):
        return NamespaceEndingError(f"{what}: its namespace is being deleted")
    if "exceeded quota" in str(answer.get("message")):
        return QuotaExceededError(f"{what}: a ResourceQuota of the namespace refused it")
    return DeniedError(f"{what}: the operator's ServiceAccount may not do this; check its roles")


def _status_object(body: object) -> Mapping[str, Any]:
    try:
        answer = json.loads(body) if isinstance(body, str | bytes) else None
    except ValueError:
        answer = None
    return answer if isinstance(answer, dict) and answer.get("kind") == "Status" else {}


def _causes(answer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    details = answer.get("details")
    causes = details.get("causes") if isinstance(details, dict) else None
    return [cause for cause in causes if isinstance(cause, dict)] if isinstance(causes, list) else []


def _fields(answer: Mapping[str, Any]) -> str:
    # Paths come from the schema, not from anybody's text; what is no plain path, such as a key of a map, is.
    found = {str(cause.get("field", "")) for cause in _causes(answer)}
    fields = sorted(field for field in found if _FIELD.fullmatch(field))
    return f" ({', '.join(fields)[:200]})" if fields else ""
