"""Measures one operator with many rollouts on pretended nodes, and writes ``build/bench-scale.json``.

Run it by ``make bench-scale``. All rollouts are deployed at once; when all are Healthy, some get a new
version. While these have users on both versions the operator is measured: CPU, memory, passes, requests.
When they have been promoted and nothing is written any more, the idle minutes begin, in which only the Lease
may be written.

The operator is the real one, under its own ServiceAccount and with the chart's settings, as a process beside
the cluster. Pods are KWOK's; routers and Prometheus are answered for by ``kwokstage``. The exit code is 1 if
a target is missed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from aiohttp import web

from bench.scale.audit import AuditTail, but_leases
from bench.scale.evidence import Prometheus, Routers
from bench.scale.figures import Row, Scrape, Span, table
from bench.scale.fleet import Fleet, NotInTimeError, Pace, is_healthy, is_in_canary
from bench.scale.operator_process import OperatorEndedError, OperatorProcess, Usage, kubeconfig
from chaffinch.domain.block_vector import BLOCK_SECONDS
from chaffinch.domain.edges import edges_of
from chaffinch.domain.evidence import LatencyMetric
from kwokstage import Background, Script, Stage
from kwokstage.api import Api, administrator
from localcluster import Settings
from localcluster.api import ApiClient
from localcluster.progress import Progress
from localcluster.settings import API_URL, REPOSITORY
from stage.ending import end_when_asked_to
from stage.install import NAMESPACE, OPERATOR_USER, RELEASE, VALUES, InstallError, helm
from stage.kubectl import Kubectl, KubectlError

MOST_CORES, MOST_MIB, SLOWEST_PASS, MOST_WRITES = 1.0, 300.0, 1.0, 0.0
REPORT = REPOSITORY / "build" / "bench-scale.json"

_LONGEST_SECONDS = 1200.0
_QUIET_SECONDS = 30.0
_SPREAD_SECONDS = 120
"""The first to have users on both versions must still have them when the last one has been measured."""
_SAMPLE_SECONDS = 1.0


class Watched:
    """The operator, looked at every second for the most memory that it uses."""

    def __init__(self, operator: OperatorProcess) -> None:
        self._operator = operator

    def look(self) -> tuple[Usage, Scrape]:
        """Return what it has used and counted so far."""
        return self._operator.usage(), Scrape.of(self._operator.metrics())

    def span(self, seconds: float) -> tuple[Span, float]:
        """Return what happens in so many seconds, and the most resident memory (MiB) in them."""
        start, most = self.look(), 0.0
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            most = max(most, self._operator.usage().rss_mib)
            time.sleep(_SAMPLE_SECONDS)
        return Span.between(start, self.look()), most


class Bench:
    """One measurement from start to end."""

    def __init__(
        self,
        arguments: argparse.Namespace,
        fleet: Fleet,
        watched: Watched,
        audit: AuditTail,
        progress: Progress,
    ) -> None:
        self._arguments = arguments
        self._fleet = fleet
        self._watched = watched
        self._audit = audit
        self._progress = progress

    def run(self) -> Iterator[Row]:
        """Deploy, measure with some active, measure at rest; yields each figure when it is there."""
        yield from self._deploying()
        yield from self._active()
        yield from self._idle()

    def _deploying(self) -> list[Row]:
        size = self._arguments.rollouts
        start = self._watched.look()
        with self._progress.step(f"Deploying {size} rollouts"):
            self._fleet.create()
            self._fleet.until("are Healthy", is_healthy, count=size, seconds=_LONGEST_SECONDS)
        deploying = Span.between(start, self._watched.look())
        return [
            Row(f"seconds to deploy {size} rollouts", deploying.seconds),
            Row("CPU of the operator meanwhile (cores)", deploying.cores),
        ]

    def _active(self) -> Iterator[Row]:
        size, active = self._arguments.rollouts, self._arguments.active
        with self._progress.step(f"Giving {active} of them a new version"):
            self._fleet.give_new_version(active)
            self._fleet.until(
                "have users on both versions", is_in_canary, count=active, seconds=_LONGEST_SECONDS
            )
        with self._progress.step("Measuring"):
            span, most = self._watched.span(self._arguments.active_seconds)
        what = f"{size} rollouts, {active} active"
        yield Row(f"CPU of the operator, {what} (cores)", span.cores, MOST_CORES)
        yield Row(f"resident memory of the operator, {what} (MiB)", most, MOST_MIB)
        yield Row(f"p99 of a pass, {what} (s)", span.counted.quantile(0.99), SLOWEST_PASS)
        yield Row(f"passes per minute, {what}", span.per_minute(span.counted.total_passes()))
        yield Row(f"API calls per minute, {what}", span.per_minute(span.counted.total_calls()))
        with self._progress.step("Promoting them"):
            self._fleet.until("are Healthy", is_healthy, count=size, seconds=_LONGEST_SECONDS)

    def _idle(self) -> list[Row]:
        size, seconds = self._arguments.rollouts, self._arguments.idle_seconds
        self._until_quiet()
        with self._progress.step(f"Idling for {seconds} s"):
            span, most = self._watched.span(seconds)
        written = but_leases(self._audit.writes())
        if written:
            self._progress.say(f"written at rest: {written}")
        return [
            Row(f"writes but of the Lease in {seconds} s, {size} idle", sum(written.values()), MOST_WRITES),
            Row(f"CPU of the operator, {size} idle (cores)", span.cores),
            Row(f"resident memory of the operator, {size} idle (MiB)", most),
            Row(f"API calls per minute, {size} idle", span.per_minute(span.counted.total_calls())),
        ]

    def _until_quiet(self) -> None:
        """Wait for a first half minute without a write; until then the last pods of old versions go."""
        deadline = time.monotonic() + _LONGEST_SECONDS
        self._audit.writes()
        while time.monotonic() < deadline:
            time.sleep(_QUIET_SECONDS)
            written = but_leases(self._audit.writes())
            if not written:
                return
            self._progress.say(f"  still written: {written}")
        raise NotInTimeError(f"the operator still writes after {_LONGEST_SECONDS:.0f} s: {written}")


@contextmanager
def staged(settings: Settings, fleet: Fleet) -> Iterator[str]:
    """Answer for routers and Prometheus; yields the URL of the latter."""
    ttft, e2e = (edges_of(fleet.objectives(), metric) for metric in (LatencyMetric.TTFT, LatencyMetric.E2E))
    routers = Routers(int(time.time() // BLOCK_SECONDS), ttft, e2e)
    prometheus = web.AppRunner(Prometheus(routers).app(), access_log=None)

    async def start() -> tuple[Api, Stage]:
        await prometheus.setup()
        await web.TCPSite(prometheus, "127.0.0.1", 0).start()
        api = Api(API_URL, administrator(settings.pki))
        stage = Stage(api, Script())
        await stage.start()
        return api, stage

    with Background() as background:
        api, stage = background.run(start())
        try:
            yield f"http://127.0.0.1:{prometheus.addresses[0][1]}"
        finally:
            background.run(stage.stop())
            background.run(prometheus.cleanup())
            background.run(api.close())


def installed() -> str:
    """Install the chart for its CRDs and roles, without an operator; return a token of its ServiceAccount."""
    kubectl = Kubectl(NAMESPACE)
    kubectl.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    values = {"image.repository": VALUES["image.repository"], "prometheus.url": VALUES["prometheus.url"]}
    nowhere = {"nodeSelector.chaffinch\\.dev/nowhere": "yes"}
    chart = str(REPOSITORY / "charts" / "chaffinch")
    settings = [f"--set={name}={value}" for name, value in (values | nowhere).items()]
    helm("upgrade", "--install", RELEASE, chart, f"--namespace={NAMESPACE}", *settings)
    return kubectl("create", "token", RELEASE, "--duration=12h").strip()


@contextmanager
def operator(settings: Settings, prometheus_url: str, token: str) -> Iterator[OperatorProcess]:
    """Start the operator as the chart would; it is ended afterwards."""
    path = settings.state / "bench-operator.kubeconfig"
    path.write_text(kubeconfig(API_URL, settings.pki / "ca.crt", token))
    variables: Mapping[str, str] = {
        "CHAFFINCH_PROMETHEUS_URL": prometheus_url,
        "CHAFFINCH_IMAGE": "localhost/chaffinch:dev",
        "CHAFFINCH_ENVOY_IMAGE": "localhost/envoy:dev",
        "CHAFFINCH_OPERATOR_NAMESPACE": NAMESPACE,
    }
    process = OperatorProcess(path, settings.state / "bench-operator.log", variables)
    try:
        process.until_ready()
        yield process
    finally:
        process.stop()


def measured(arguments: argparse.Namespace) -> list[Row]:
    """Prepare everything and run the measurement."""
    settings, progress = Settings.from_environment(), Progress()
    pace = Pace(canary=arguments.active_seconds + _SPREAD_SECONDS)
    fleet = Fleet(ApiClient(settings.pki), arguments.rollouts, pace, progress)
    token = installed()
    with staged(settings, fleet) as prometheus_url, operator(settings, prometheus_url, token) as process:
        audit = AuditTail(settings.audit_log, OPERATOR_USER)
        rows = []
        for row in Bench(arguments, fleet, Watched(process), audit, progress).run():
            progress.say(f"  {row.metric}: {row.value:.3f}")
            rows.append(row)
        return rows


def parsed(argv: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="bench.scale", description=__doc__)
    parser.add_argument("--rollouts", type=int, default=1000, help="how many (default: %(default)s)")
    parser.add_argument(
        "--active", type=int, default=100, help="how many get a new version (default: %(default)s)"
    )
    parser.add_argument(
        "--active-seconds", type=int, default=180, help="how long to measure these (default: %(default)s)"
    )
    parser.add_argument(
        "--idle-seconds", type=int, default=600, help="how long to idle (default: %(default)s)"
    )
    arguments = parser.parse_args(argv)
    if not 1 <= arguments.active <= arguments.rollouts:
        parser.error("--active must be 1 to --rollouts")
    return arguments


def main(argv: list[str]) -> int:
    """Measure, report; return 1 if a target was missed, and 2 if nothing came of it."""
    end_when_asked_to()
    try:
        rows = measured(parsed(argv))
    except (NotInTimeError, OperatorEndedError, InstallError, KubectlError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    write(REPORT, rows)
    print(table(rows))
    return 0 if all(row.ok for row in rows) else 1


def write(path: Path, rows: list[Row]) -> None:
    """Write the report."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps([row.to_dict() for row in rows], indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
