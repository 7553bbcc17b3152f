"""The Helm chart renders what was agreed, and refuses values that make no sense.

The golden files are rewritten by ``UPDATE_GOLDEN=1``.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import yaml

from stage.install import REPOSITORY, InstallError, helm

pytestmark = pytest.mark.cluster

CHART = str(REPOSITORY / "charts" / "chaffinch")
GOLDEN = Path(__file__).parents[1] / "golden" / "chart"
URL = "--set=prometheus.url=http://prometheus.monitoring:9090"
IMAGE = "--set=image.repository=registry.example/chaffinch"


def render(*args: str) -> str:
    where = ("--namespace=chaffinch-system", "--set=crds.install=false")
    return helm("template", "chaffinch", CHART, *where, URL, IMAGE, *args)


@pytest.mark.parametrize(
    ("golden", "args"),
    [
        ("default", ()),
        (
            "everything",
            (
                "--set=watchNamespaces={llm,research}",
                "--set=replicas=2",
                f"--set=image.digest=sha256:{'0' * 64}",
                "--set=imagePullSecrets[0].name=registry",
                "--set=imagePullSecrets[1].name=mirror.example",
                "--set=settings.CHAFFINCH_LEASE_NAME=second",
                "--set=settings.OTEL_TRACES_SAMPLER=parentbased_always_off",
                "--set=podAnnotations.example=yes",
                "--set=nodeSelector.disktype=ssd",
                "--set=tolerations[0].operator=Exists",
                "--set=priorityClassName=system-cluster-critical",
                "--set=tracing.endpoint=http://collector.monitoring:4318",
                "--set=monitoring.podMonitor.enabled=true",
                "--set=monitoring.podMonitor.labels.release=prometheus",
            ),
        ),
    ],
)
def test_the_chart_renders_as_the_golden_file(golden: str, args: tuple[str, ...]) -> None:
    path = GOLDEN / f"{golden}.yaml"
    rendered = render(*args)
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(rendered)
    assert rendered == path.read_text()


DOCS = "https://git.example/chaffinch/blob/main/"


@pytest.mark.parametrize(
    ("args", "replaced", "by"),
    [
        ((), "runbook: docs/", "runbook: docs/"),
        ((f"--set=monitoring.rules.docsUrl={DOCS}",), "runbook: docs/", f"runbook_url: {DOCS}docs/"),
    ],
    ids=["pages where nobody said where they are", "links"],
)
def test_the_rules_are_those_of_the_plain_file_with_links_only_if_they_lead_somewhere(
    args: tuple[str, ...], replaced: str, by: str
) -> None:
    rendered = render(
        "--set=monitoring.rules.enabled=true", *args, "--show-only=templates/prometheusrule.yaml"
    )
    plain = (Path(CHART) / "files" / "rules" / "chaffinch.yaml").read_text()
    rule = yaml.safe_load(rendered)
    assert rule["kind"] == "PrometheusRule"
    assert rule["spec"] == yaml.safe_load(plain.replace(replaced, by))
    links = [each["annotations"].get("runbook_url") for g in rule["spec"]["groups"] for each in g["rules"]]
    assert len(links) > 10
    assert {bool(link) and link.startswith(f"{DOCS}docs/") for link in links} == {bool(args)}


def test_the_dashboard_is_the_plain_file_under_the_label_that_grafana_looks_for() -> None:
    rendered = render("--set=monitoring.dashboard.enabled=true", "--show-only=templates/dashboard.yaml")
    config_map, plain = yaml.safe_load(rendered), Path(CHART) / "files" / "dashboards" / "chaffinch.json"
    assert config_map["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert json.loads(config_map["data"]["chaffinch.json"]) == json.loads(plain.read_text())


def test_the_chart_passes_helm_lint() -> None:
    assert "0 chart(s) failed" in helm("lint", "--strict", CHART, URL, IMAGE)


def test_the_crds_are_rendered_with_the_chart_and_kept_when_it_is_removed() -> None:
    documents = list(yaml.safe_load_all(helm("template", "chaffinch", CHART, URL, IMAGE)))
    crds = {d["metadata"]["name"]: d for d in documents if d and d["kind"] == "CustomResourceDefinition"}
    assert sorted(crds) == [
        "inferencebaselines.chaffinch.dev",
        "inferencerollouts.chaffinch.dev",
        "loadprobes.chaffinch.dev",
        "probeprofiles.chaffinch.dev",
        "rolloutcommands.chaffinch.dev",
        "rolloutrecords.chaffinch.dev",
    ]
    assert {crd["metadata"]["annotations"]["helm.sh/resource-policy"] for crd in crds.values()} == {"keep"}


def test_the_policy_on_commands_can_be_switched_off() -> None:
    def kinds(*args: str) -> set[str]:
        return {document["kind"] for document in yaml.safe_load_all(render(*args)) if document}

    policy = {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
    assert kinds() - kinds("--set=commands.requireRequester=false") == policy


def test_the_charts_crds_are_copies_of_the_generated_ones() -> None:
    copies = {path.name: path.read_text() for path in (Path(CHART) / "files" / "crds").glob("*.yaml")}
    assert copies == {path.name: path.read_text() for path in (REPOSITORY / "crds").glob("*.yaml")}
    assert copies


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((URL, "--set=image.repository="), "image/repository"),
        (("--set=prometheus.url=",), "prometheus/url"),
        (("--set=prometheus.url=prometheus:9090",), "prometheus/url"),
        ((URL, "--set=replicas=0"), "replicas"),
        ((URL, "--set=image.digest=latest"), "image/digest"),
        ((URL, "--set=settings.PATH=/bin"), "PATH"),
        ((URL, "--set=settings.CHAFFINCH_LOG_LEVEL=DEBUG"), "CHAFFINCH_LOG_LEVEL"),
        ((URL, "--set=watchNamespace=llm"), "watchNamespace"),
        ((URL, "--set=tracing.endpoint=collector:4318"), "tracing/endpoint"),
        ((URL, "--set=settings.OTEL_EXPORTER_OTLP_ENDPOINT=http://x"), "OTEL_EXPORTER_OTLP_ENDPOINT"),
        ((URL, "--set=monitoring.podMonitor.interval=1m"), "podMonitor/interval"),
        ((URL, "--set=monitoring.rules.docsUrl=git.example"), "rules/docsUrl"),
        ((URL, "--set=monitoring.rules.docsUrl=https://git.example/chaffinch"), "rules/docsUrl"),
        ((URL, "--set=commands.requireRequester=maybe"), "requireRequester"),
    ],
)
def test_values_that_make_no_sense_are_refused_by_name(args: tuple[str, ...], said: str) -> None:
    with pytest.raises(InstallError, match=said):
        helm("template", "chaffinch", CHART, IMAGE, *args)
