"""The conditions about users: are they served (Available), and by the newest spec (Ready)?"""

from __future__ import annotations

from chaffinch.api.v1alpha1.reasons import Reason
from chaffinch.domain.conditions.view import Finding, View, false, true
from chaffinch.domain.wording import DO_NOTHING, pods, sentences


def available(view: View) -> Finding:
    """Say whether users are served. Alerts watch this one."""
    routers = len(view.seen.router.ready_pods)
    if view.state.stable is None:
        return false(Reason.NOT_DEPLOYED, sentences(view.traffic, "The first revision is being started"))
    if not view.serving_pods:
        why = f"No pod of {view.serving_revision} is ready"
        return false(Reason.NO_READY_ENDPOINT, sentences(view.traffic, why, "Do: look at its pods"))
    if not routers:
        return false(
            Reason.ROUTER_UNAVAILABLE,
            sentences(
                "No router pod is ready, so no request reaches an engine", "Do: look at the router's pods"
            ),
        )
    if view.serving_pods < view.spec.replicas:
        why = f"{view.serving_pods} of {pods(view.spec.replicas)} of {view.serving_revision} are ready"
        return true(Reason.STABLE_UNDERSIZED, sentences(view.traffic, why))
    return true(Reason.STABLE_SERVING, sentences(view.traffic, DO_NOTHING))


def ready(view: View) -> Finding:
    """Say whether this generation is the one that serves."""
    if view.spec_serves:
        return _of_stable(view)
    if view.is_refused:
        last = view.state.last_attempt
        why = (
            f"{view.revision} was rolled back: {last.cause}"
            if last is not None and last.revision == view.revision
            else f"{view.revision} failed in an earlier attempt"
        )
        return false(Reason.ROLLED_BACK, sentences(view.traffic, why))
    if view.state.stable is None:
        return false(Reason.ROLLOUT_IN_PROGRESS, sentences(view.traffic, f"{view.revision} is being started"))
    return false(Reason.ROLLOUT_IN_PROGRESS, sentences(view.traffic, f"{view.revision} is being rolled out"))


def _of_stable(view: View) -> Finding:
    stalled = view.stalled_by
    if stalled is not None:
        return false(stalled, sentences(view.traffic, "See the condition Stalled"))
    served = available(view)
    if not view.serving_pods or not view.seen.router.ready_pods:
        return false(served.reason, served.message)
    return true(Reason.PROMOTED, sentences(view.traffic, DO_NOTHING))
