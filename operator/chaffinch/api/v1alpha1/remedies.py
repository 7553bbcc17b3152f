"""What a person does about each reason; the runbook and ``kubectl chaffinch explain`` say it."""

from __future__ import annotations

from collections.abc import Mapping

from chaffinch.api.v1alpha1.command_line import command_line
from chaffinch.api.v1alpha1.reasons import CommandReason, Reason, StartReason

QUIET = frozenset(
    {
        Reason.AS_EXPECTED,
        Reason.STABLE_SERVING,
        Reason.PROMOTED,
        Reason.ROLLOUT_IN_PROGRESS,
        Reason.STEPPING,
        Reason.PROMOTING,
        Reason.ROLLING_BACK,
        Reason.IN_PROGRESS,
        Reason.SUFFICIENT,
        Reason.MATCHED,
    }
)
"""Reasons that ask nothing of anybody."""

REMEDIES: Mapping[Reason, str] = {
    Reason.STABLE_UNDERSIZED: (
        "Look why pods of the stable revision are missing: `kubectl get pods -n NS -l "
        "chaffinch.dev/rollout=NAME`, then their events. Users are served by the rest; a canary step "
        "waits until all are back."
    ),
    Reason.NO_READY_ENDPOINT: (
        "Users get errors. Look at the pods of the stable revision and their logs, and get one Ready. "
        "If none ever can be, change the spec to a version that works; when its pods are warm, "
        f"`{command_line('promote')}` puts it in their place."
    ),
    Reason.ROUTER_UNAVAILABLE: (
        "Users get errors. Look at the pods of the Deployment `NAME-router`: their events, the logs "
        "of the containers `envoy` and `agent`."
    ),
    Reason.NOT_DEPLOYED: "Wait for the first pods; the condition Promoted says what keeps them.",
    Reason.ROLLED_BACK: (
        f"Users are on the revision before. Read the message and `{command_line('report')}`; then "
        f"change the spec, or set it back, or `{command_line('retry')}` if the cause is gone."
    ),
    Reason.INVALID_SPEC: (
        "Mend the field that the message names and apply the spec again. An attempt that runs goes on "
        "as it began."
    ),
    Reason.NOT_OBSERVED: (
        "Wait some seconds; if it stays, look whether the operator runs and holds its Lease."
    ),
    Reason.DEPLOYING: "Nothing before the deadline in the message.",
    Reason.WARMING_UP: "Nothing before the deadline in the message.",
    Reason.HOLDING: (
        "Read what is missing in the message. The hold ends by itself when that comes; at its "
        "deadline a person is asked."
    ),
    Reason.PAUSED: (
        f"`{command_line('resume')}` to go on, `{command_line('promote')}` to let the canary take over, "
        f"`{command_line('abort')}` to roll it back."
    ),
    Reason.COMMANDED: f"`{command_line('resume')}` to go on, when whoever paused it agrees.",
    Reason.AWAITING_APPROVAL: (
        f"Look at the figures (`{command_line('get')}`), then `{command_line('approve')}`, "
        f"or `{command_line('abort')}`."
    ),
    Reason.SCALING: "Nothing, unless it lasts: then look at the events of the pods.",
    Reason.STATUS_LOST: (
        "Restore the ConfigMap `NAME-router` from a backup (it names the stable revision), or delete "
        "the rollout and create it anew."
    ),
    Reason.NAME_TAKEN: (
        "Delete or rename the object that the message names, or rename the rollout. It was not touched."
    ),
    Reason.ROUTE_FIGHT: (
        "Stop whoever writes the object that the message names: a GitOps tool that has it in its "
        "repository, an autoscaler, a script (`kubectl get OBJECT -n NS -o yaml --show-managed-fields` "
        f"tells when). Then `{command_line('retry')}`; without that it is put back once after 15 minutes, "
        "and the rollout goes on when it has been left alone for another 15. Until then check where users "
        f"are: `{command_line('get')}`."
    ),
    Reason.REVISION_PREVIOUSLY_FAILED: (
        f"Change the spec, or `{command_line('retry')}` if the cause was not in the revision."
    ),
    Reason.ADMISSION_DENIED: (
        "Read which policy or webhook refused the object, and change the spec or the policy. It is "
        "tried again by itself."
    ),
    Reason.FORBIDDEN: (
        "Upgrade the chart, or give the ServiceAccount of the operator the right that the message names."
    ),
    Reason.QUOTA_EXCEEDED: (
        "Raise the ResourceQuota of the namespace, or free what uses it: the canary needs its pods "
        "beside the stable ones."
    ),
    Reason.PROFILE_DOES_NOT_FIT: (
        "Name a profile that exists, or one whose prompts and answers fit into `maxModelLen`."
    ),
    Reason.OBJECTIVE_FAILED: (
        "Read the objective, its value and its limit in the message and the report, and mend the "
        "version. The revision is not tried again by itself. In a bake stable has no traffic to compare "
        f"with: look whether the machines were overloaded, then `{command_line('retry')}`."
    ),
    Reason.CRASH_LOOP: (
        "`kubectl logs POD -n NS -c engine --previous` with the pod in the message; mend the image or its "
        "arguments."
    ),
    Reason.OUT_OF_MEMORY: (
        "Raise the memory limit of the pod, or lower `maxNumSeqs`, `maxModelLen` or `gpuMemoryUtilization`."
    ),
    Reason.IMAGE_PULL: "Check the name of the image, its registry and the pull secrets of the namespace.",
    Reason.UNSCHEDULABLE: (
        "Free GPUs or add nodes; check nodeSelector and tolerations. It is tried again by itself "
        "at `lastAttempt.againAt`."
    ),
    Reason.PROGRESS_DEADLINE_EXCEEDED: (
        "Look at the logs of the pods: is the model still loading? Raise `strategy.progressDeadline`, "
        "or find what hangs."
    ),
    Reason.CANARY_UNAVAILABLE: (
        "Look why the pods of the canary went (node, eviction, crash): `kubectl describe pod -n NS`. It "
        "is tried again by itself at `lastAttempt.againAt`."
    ),
    Reason.PROBE_FAILED: (
        "Look at the LoadProbe that the message names and at the logs of its Job; then "
        f"`{command_line('retry')}`."
    ),
    Reason.NO_EVIDENCE: (
        "Look why there is none (condition Evidence); it goes on by itself when some comes. Otherwise "
        f"`{command_line('promote')}` or `{command_line('abort')}`; after a probe step, "
        f"`{command_line('retry')}`."
    ),
    Reason.ABORTED: (f"Nothing is tried before the spec changes or somebody says `{command_line('retry')}`."),
    Reason.SUPERSEDED: "Nothing: the newer spec is what counts.",
    Reason.JUDGING: "Wait for the next look; the message says how many requests it takes.",
    Reason.UNDERPOWERED: (
        "Give the step more time or a larger weight, widen the limit, or promote or abort by hand; after a "
        f"probe step, `{command_line('retry')}` runs its load again."
    ),
    Reason.TOO_QUIET: (
        "Wait for more users, give the step a larger weight or more time, or rely on a probe step; after "
        f"one, `{command_line('retry')}` runs its load again."
    ),
    Reason.BELOW_FLOOR: "Wait; the message says how many requests are needed.",
    Reason.NO_DATA: (
        "Check that users call the Service of the rollout, and that Prometheus scrapes the port "
        "`metrics` of the router pods."
    ),
    Reason.STALE_DATA: "Check that Prometheus scrapes the router pods, and that its clock is right.",
    Reason.EVIDENCE_UNAVAILABLE: (
        "Check `prometheus.url` of the chart, and that the operator reaches it (NetworkPolicy, TLS)."
    ),
    Reason.NOT_COMPARABLE: (
        "Read what differs in the message. Freeze another baseline for what runs now, or wait until "
        "the arms are alike."
    ),
    Reason.WEIGHT_NOT_OBSERVED: (
        "Look at the router pods: one of them does not follow the route (`kubectl logs -n NS "
        "deploy/NAME-router -c agent`)."
    ),
    Reason.ROUTERS_SILENT: (
        "Look at the router pods and at what stands between them and the operator (port 9090). A canary "
        "with up to half of the traffic gets none after some minutes without evidence, and goes "
        "on when they answer."
    ),
    Reason.STABLE_OVER_LIMIT: (
        "Stable misses the limit too: look at load and capacity before blaming the canary, and change "
        "the limit if it is wrong."
    ),
    Reason.BASELINE_NOT_FOUND: (
        "Freeze a baseline under that name and version (`chaffinch baseline freeze`) and apply it, or "
        "name another one."
    ),
    Reason.BASELINE_TAMPERED: (
        "Restore the object from Git, or name another version. Find out who changed it."
    ),
    Reason.BASELINE_MISMATCH: (
        "Freeze a baseline of what runs now and name it, or undo the difference that the message names."
    ),
    Reason.NEXT_ATTEMPT: "Nothing: the change waits until the attempt that runs is over.",
}
"""What to look at and what to do, for every other reason; NAME is the rollout, NS its namespace."""


START_REMEDIES: Mapping[StartReason, str] = {
    StartReason.CRD_MISSING: (
        "Install the chart with `crds.install=true`, or apply the CRDs of the same version: `kubectl apply"
        " --server-side -f crds/`. The operator starts by itself then, at most five minutes later."
    ),
    StartReason.CRD_OUTDATED: (
        "Upgrade the CRDs to the operator's version: with the chart, or with `kubectl apply --server-side"
        " --force-conflicts -f crds/`. The operator before it leads on meanwhile, if it still runs; the new"
        " one starts by itself, at most five minutes later. Nothing was written."
    ),
}
"""What to do about an operator that does not start."""

COMMAND_REMEDIES: Mapping[CommandReason, str] = {
    CommandReason.DONE: "Nothing.",
    CommandReason.NOTHING_TO_DO: "Nothing, or read in the message what is so already.",
    CommandReason.NO_SUCH_ROLLOUT: "Check name and namespace: `kubectl chaffinch list -A`.",
    CommandReason.OTHER_REVISION: (
        f"Look what is being rolled out now (`{command_line('get')}`), and command that if you mean it."
    ),
    CommandReason.OTHER_STEP: f"Look which step waits (`{command_line('get')}`), and approve that one.",
    CommandReason.NOT_WARM: "Wait until a pod of the canary is warm, and promote again.",
    CommandReason.NOTHING_TO_GO_BACK_TO: (
        "Get a pod of the stable revision ready and abort again, or promote; a first revision is replaced by"
        " changing the spec."
    ),
    CommandReason.TOO_LATE: (
        f"Wait for the end of the attempt; then change the spec, or `{command_line('retry')}`."
    ),
    CommandReason.PAUSED: f"`{command_line('resume')}`, then approve again.",
    CommandReason.INVALID: "Mend the field that the message names, and create the command anew.",
    CommandReason.INVALID_SPEC: f"Mend the spec (`{command_line('explain')}`), then command again.",
    CommandReason.STALLED: f"Do what `{command_line('explain')}` says, then command again.",
}
"""What to do about the answer to a command."""


def remedy_of(reason: Reason) -> str:
    """Return what a person does about a reason."""
    return "Nothing." if reason in QUIET else REMEDIES[reason]
