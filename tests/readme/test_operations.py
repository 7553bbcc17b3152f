"""The README from its installation to the chart's removal, and what nobody may read afterwards."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from e2e.story import KIND, Story, restarts
from fakes.collector import Collector, collector
from localcluster import Cluster
from localcluster.settings import NODE_ADDRESS, Settings
from readme import seeds
from readme.checkout import checked_out
from readme.monitoring import every_panel_shows_something, no_alert_holds
from readme.reader import Reader
from readme.seeds import SECRET, TOKEN, TOKEN_KEY, Seeds
from stage.install import NAMESPACE, OPERATOR_PODS, VALUES, uninstall, until_no_operator_is_left
from stage.kubectl import Kubectl, Object, says
from stage.service import ENGINE_FLAGS, Service

pytestmark = [pytest.mark.cluster, pytest.mark.e2e]

SERVICE = Service("llm")
_GIVEN_BY_THE_PAGE = ("image.repository", "prometheus.url")


def test_the_readme_can_be_followed_from_start_to_end_and_nothing_leaks(
    cluster: Cluster,  # noqa: ARG001 - it has to be up
    tmp_path: Path,
) -> None:
    reader, sown = Reader(checked_out(tmp_path)), Seeds()
    started_at = datetime.now(UTC)
    with collector(NODE_ADDRESS) as traces, installed(reader, traces), namespace_of(reader) as kubectl:
        story = Story(kubectl, "llm", tmp_path, Settings.from_environment().audit_log, started_at)
        made(reader)
        rolled_out(reader, story)
        baseline_frozen(reader)
        with story.users(SERVICE) as users:
            next_version_promoted(reader, story, sown)
            seen = users.summary
            promoted_aborted_and_tried_again(reader, story)
        assert seen["failed"] == 0
        assert seen["requests"] > 1_000
        chart_upgraded(reader)
        nothing_has_leaked(story, sown, traces)
        gone_back(reader, story)
        every_panel_shows_something(SERVICE, started_at)
        no_alert_holds(SERVICE)
        story.then_no_invariant_was_broken()
        story.then_nothing_was_forbidden()
        reader.types("helm uninstall chaffinch ")
        until_no_operator_is_left()
        assert reader.has_typed_everything()
        sown.sow(SERVICE.url, SERVICE.name)  # what was rolled out serves on


@contextmanager
def installed(reader: Reader, traces: Collector) -> Iterator[None]:
    """Install Chaffinch, with the settings of all tests besides."""
    values = {name: value for name, value in VALUES.items() if name not in _GIVEN_BY_THE_PAGE}
    values["tracing.endpoint"] = traces.url
    reader.types("helm install chaffinch ", *(f"--set={name}={value}" for name, value in values.items()))
    try:
        reader.types("kubectl rollout status -n chaffinch-system ")
        yield
    finally:
        if Kubectl(NAMESPACE).get("deployment", "chaffinch") is not None:
            uninstall()


@contextmanager
def namespace_of(reader: Reader) -> Iterator[Kubectl]:
    """Make the namespace of the examples, with the Secret that the engines have a token from."""
    reader.types("kubectl create namespace llm")
    kubectl = Kubectl("llm")
    try:
        kubectl("create", "secret", "generic", SECRET, f"--from-literal={TOKEN_KEY}={TOKEN}")
        yield kubectl
    finally:
        kubectl("delete", "namespace", "llm", "--wait=false")


def made(reader: Reader) -> None:
    """What `make` says of itself, and of the cluster."""
    assert {"demo", "test", "stop"} <= {line.split()[0] for line in reader.types("make help").splitlines()}
    # The environment that this test runs in is the one that `make setup` would make.
    nodes = reader.types("make kubectl ", f"PY={sys.executable}", "--assume-old=.venv/ready")
    assert {"STATUS", "Ready"} <= {line.split()[1] for line in nodes.splitlines()}


def rolled_out(reader: Reader, story: Story) -> None:
    """The first version serves."""
    reader.types("kubectl apply -n llm -f docs/examples/rollout.yaml")
    reader.types("kubectl wait -n llm --for=condition=Ready inferencerollout/chat ")
    assert says(story.rollout(SERVICE), "BaselineValid") == ("False", "BaselineNotFound")


def baseline_frozen(reader: Reader) -> None:
    """The baseline that the rollout names is measured and frozen."""
    reader.types("kubectl apply -n llm -f docs/examples/probe.yaml")
    reader.types("kubectl wait -n llm --for=condition=Complete loadprobe/chat-baseline ")
    reader.types("chaffinch baseline freeze -n llm ")
    reader.types("kubectl apply -n llm -f chat-v1.yaml")


def next_version_promoted(reader: Reader, story: Story, sown: Seeds) -> None:
    """The next version goes through all steps; a person looks at it, pauses, resumes and approves it."""
    first = story.rollout(SERVICE)["status"]["stable"]["revision"]
    weights: set[int] = set()

    def note_weight(rollout: Object) -> None:
        weights.add(((rollout["status"].get("traffic") or {}).get("weight") or {}).get("desired", 0))

    sown.sow(SERVICE.url, SERVICE.name)
    reader.types("kubectl patch inferencerollout chat -n llm ")
    with reader.watches("kubectl get inferencerollout chat -n llm --watch") as shown:
        waiting = story.until_step(SERVICE, "review")
        note_weight(waiting)
        sown.sow(SERVICE.url, SERVICE.name)
        revision = waiting["status"]["candidate"]["revision"]
        read_by(reader, revision)
        reader.types("kubectl chaffinch pause ")
        assert story.rollout(SERVICE)["status"]["phase"] == "Paused"
        reader.types("kubectl chaffinch resume ")
        reader.types("kubectl chaffinch approve ")
        rollout = story.until_attempt_ends(SERVICE, 2, meanwhile=note_weight)
        assert "Progressing" in shown.read_text()
    assert says(rollout, "Promoted") == ("True", "AsExpected"), rollout["status"]["lastAttempt"]["message"]
    assert says(rollout, "Ready") == ("True", "Promoted")
    assert says(rollout, "Stalled") == ("False", "AsExpected")
    assert says(rollout, "BaselineValid") == ("True", "Matched")
    assert rollout["status"]["stable"]["revision"] == revision != first
    assert {2_000, 5_000} <= weights
    assert restarts(story.engine_pods(revision)) == 0


def read_by(reader: Reader, revision: str) -> None:
    """Each way to read what goes on tells of the candidate that waits for a person."""
    headings = "NAME PHASE STEP WEIGHT STABLE READY REASON AGE"
    assert reader.types("kubectl get inferencerollouts -n llm").split("\n")[0].split() == headings.split()
    assert "review" in reader.types("kubectl chaffinch list ")
    for beginning in ("kubectl chaffinch get ", "kubectl chaffinch explain ", "kubectl chaffinch history "):
        assert revision in reader.types(beginning)
    assert "canary-20" in reader.types("kubectl chaffinch report ")
    assert revision in reader.types("kubectl get inferencerollout chat -n llm -o yaml")
    assert revision in reader.types("kubectl events -n llm ")


def promoted_aborted_and_tried_again(reader: Reader, story: Story) -> None:
    """A person lets a version skip its steps, aborts the next one and tries it again."""
    when_patched(story, 3)
    story.kubectl.until(
        KIND, SERVICE.name, lambda found: bool((found["status"].get("candidate") or {}).get("warm")),
        seconds=90, what="warm",
    )  # fmt: skip
    reader.types("kubectl chaffinch promote ")
    promoted = story.until_attempt_ends(SERVICE, 3)
    assert promoted["status"]["lastAttempt"]["message"].startswith("promoted by")
    when_patched(story, 4)
    story.kubectl.until(
        KIND, SERVICE.name, lambda found: (found["status"].get("candidate") or {}).get("attempt") == 4,
        seconds=30, what="at its fourth attempt",
    )  # fmt: skip
    reader.types("kubectl chaffinch abort ")
    assert says(story.until_attempt_ends(SERVICE, 4), "Promoted") == ("False", "Aborted")
    reader.types("kubectl chaffinch retry ")
    assert story.rollout(SERVICE)["status"]["attempts"] == 5


def when_patched(story: Story, seed: int) -> None:
    """Ask for another version."""
    flags = ",".join(f'"{flag}"' for flag in (*ENGINE_FLAGS, f"--sim-seed={seed}"))
    patch = f'{{"spec": {{"engine": {{"extraArgs": [{flags}]}}}}}}'
    story.kubectl("patch", KIND, SERVICE.name, "--type=merge", f"--patch={patch}")


def chart_upgraded(reader: Reader) -> None:
    """The chart is upgraded, and would bring its CRDs and monitoring."""
    upgrade = (
        "helm upgrade chaffinch charts/chaffinch --namespace chaffinch-system --reset-then-reuse-values --set"
    )
    reader.types("kubectl apply --server-side --force-conflicts -f crds/", "--dry-run=server")
    reader.types(f"{upgrade} image.tag=")
    needed = [f"--set={name}={VALUES[name]}" for name in _GIVEN_BY_THE_PAGE]
    shown = reader.types(f"{upgrade} monitoring.", *needed)
    assert {"kind: PodMonitor", "kind: PrometheusRule"} <= set(shown.splitlines())


def nothing_has_leaked(story: Story, sown: Seeds, traces: Collector) -> None:
    """No seed is in any object but Secrets, in any log, label or trace of ours."""
    kept = seeds.stored()
    secrets = {key.decode(): value for key, value in kept.items() if seeds.is_secret(key)}
    assert sown.found_in(secrets), "what looks for seeds must find one where there is one"
    others = {key.decode(): value for key, value in kept.items() if not seeds.is_secret(key)}
    assert any(key.startswith("/registry/chaffinch.dev/rolloutrecords/llm/") for key in others)
    assert sown.found_in(others) == {}

    ours = "app.kubernetes.io/managed-by=chaffinch,app.kubernetes.io/component in (router, probe)"
    logged = dict(seeds.logs(Kubectl(NAMESPACE), "app.kubernetes.io/component=operator"))
    logged |= dict(seeds.logs(story.kubectl, ours))
    assert any(logged.values())
    assert traces.spans()
    shown = {"traces": b"".join(traces.bodies), "series": seeds.series(), **logged}
    assert sown.found_in(shown) == {}


def gone_back(reader: Reader, story: Story) -> None:
    """The chart goes back to what was first installed; its operator obeys in the attempt that runs."""
    reader.types("kubectl scale -n chaffinch-system ")
    reader.types("kubectl wait -n chaffinch-system --for=delete pod ")
    reader.types("helm rollback chaffinch ")
    reader.types("kubectl rollout status -n chaffinch-system ")
    assert len(Kubectl(NAMESPACE).list("pods", OPERATOR_PODS)) == 1
    reader.types("kubectl chaffinch pause ")
    status = story.rollout(SERVICE)["status"]
    assert (status["phase"], status["attempts"]) == ("Paused", 5)
