#!/usr/bin/env python3
"""Tests of metrics, alerts, the dashboard and logs, by Debian's Prometheus on a small service.

usage: metrics_test.py BIN

BIN is the folder of the executables. Exits with 77, for "skipped", if prometheus or promtool are missing.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

from service import Service, eventually, free_address, get

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
PAGE = ROOT / "docs/metrics.md"
BIN = None
TRACE = "0af7651916cd43dd8448eb211c80319c"
EXPERIMENT = """
experiment: {name: scraped, seed: 1}
environment: {name: CartPole-v1}
algorithm: {name: apex_dqn}
network: {torso: [{type: mlp, units: [16]}], heads: {q: {type: q}}}
replay: {max_items: 1000, sampler: {kind: uniform}, rate_limiter: {samples_per_insert: 4}}
actor: {processes: 1, lanes: 2}
learner: {batch_size: 16, checkpoint: {period_seconds: 1}}
evaluation: {episodes: 1, period_seconds: 1}
stop: {max_seconds: 3600}
"""


def promtool(*words, **more):
    return subprocess.run(["promtool", *map(str, words)], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)


def dashboard_queries():
    dashboard = json.loads((DEPLOY / "grafana/waggle.json").read_text())
    return [(panel["title"], target["expr"]) for panel in dashboard["panels"] for target in panel.get("targets", [])]


def documented():
    """The metrics in the page's tables: by name, the kind, the labels, and whether it is exported at times only."""
    rows = re.findall(r"^\| `(\w+)` \| (counter|gauge|histogram)(, at times)? \|([^|]*)\|", PAGE.read_text(), re.MULTILINE)
    return {name: (kind, frozenset(re.findall(r"`(\w+)`", labels)), bool(at_times)) for name, kind, at_times, labels in rows}


def exported(text):
    """The same for the text of /metrics."""
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    found = {}
    for name, kind in kinds.items():
        suffix = "_bucket" if kind == "histogram" else ""
        labels = re.findall(rf"^{name}{suffix}(?:\{{(.*)\}})? ", text, re.MULTILINE)
        found[name] = (kind, frozenset(label for one in labels for label in re.findall(r'(\w+)="', one)) - {"le"})
    return found


class FilesTest(unittest.TestCase):
    def test_prometheus_takes_the_configuration(self):
        text = (DEPLOY / "prometheus/prometheus.yml").read_text()
        plain = re.sub(r"    scheme: https\n(.*\n)*?.*server_name:.*\n", "", text)  # As the image makes it.
        self.assertNotIn("certificates/", plain)
        with tempfile.TemporaryDirectory() as folder:  # promtool looks for the certificates.
            shutil.copy(DEPLOY / "prometheus/alerts.yml", folder)
            for name in ("ca.crt", "tls.crt", "tls.key"):
                (pathlib.Path(folder) / name).touch()
            for version in (text.replace("/certificates/", f"{folder}/"), plain):
                (pathlib.Path(folder) / "prometheus.yml").write_text(version)
                checked = promtool("check", "config", pathlib.Path(folder) / "prometheus.yml")
                self.assertEqual(checked.returncode, 0, checked.stdout)

    def test_every_service_of_compose_that_serves_metrics_is_scraped(self):
        services = re.split(r"^  (\S+):$", (DEPLOY / "compose.yaml").read_text(), flags=re.MULTILINE)
        serving = {name for name, text in zip(services[1::2], services[2::2]) if '--metrics-listen, "0.0.0.0:9600"' in text}
        [scraped] = re.findall(r"names: \[(.*)\]", (DEPLOY / "prometheus/prometheus.yml").read_text())
        self.assertEqual(set(scraped.split(", ")), serving)

    def test_each_alert_fires_for_what_it_is_about(self):
        with tempfile.TemporaryDirectory() as folder:
            for file in (DEPLOY / "prometheus/alerts.yml", pathlib.Path(__file__).with_name("alerts_test.yml")):
                shutil.copy(file, folder)
            tested = promtool("test", "rules", "alerts_test.yml", cwd=folder)
            self.assertEqual(tested.returncode, 0, tested.stdout)

    def test_the_page_names_every_alert(self):
        alerts = re.findall(r"alert: (\w+)", (DEPLOY / "prometheus/alerts.yml").read_text())
        self.assertGreater(len(alerts), 5)
        self.assertEqual(sorted(re.findall(r"^\| `(Waggle\w+)` \|", PAGE.read_text(), re.MULTILINE)), sorted(alerts))

    def test_queries_and_alerts_use_documented_metrics(self):
        texts = [query for _, query in dashboard_queries()] + [(DEPLOY / "prometheus/alerts.yml").read_text()]
        used = {name for text in texts for name in re.findall(r"\b(?:waggle|process|grpc_server)_\w+", text)}
        self.assertGreater(len(used), 20)
        self.assertEqual({re.sub(r"_(bucket|count|sum)$", "", name) for name in used} - set(documented()), set())


class ServiceTest(unittest.TestCase):
    """The tests run in the order of their names: the last one kills the learner."""

    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.temporary.name)
        cls.service = Service(BIN, folder)
        (folder / "scraped.yaml").write_text(EXPERIMENT)
        eventually("the hub serves", lambda: cls.service.waggle("list").returncode == 0)
        submitted = cls.service.waggle("submit", str(folder / "scraped.yaml"), "--json")
        assert submitted.returncode == 0, submitted.stdout
        targets = json.dumps(sorted(cls.service.metrics.values()))
        (folder / "prometheus.yml").write_text(f"""
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [alerts.yml]
scrape_configs: [{{job_name: waggle, static_configs: [{{targets: {targets}}}]}}]
""")
        alerts = (DEPLOY / "prometheus/alerts.yml").read_text()
        (folder / "alerts.yml").write_text(re.sub(r"for: \d+m", "for: 1s", alerts))
        cls.address = free_address()
        with open(folder / "prometheus.log", "w") as log:
            cls.prometheus = subprocess.Popen(
                ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/series",
                 f"--web.listen-address={cls.address}"], stdout=log, stderr=log)

    @classmethod
    def tearDownClass(cls):
        cls.prometheus.kill()
        cls.prometheus.wait()
        cls.service.end()
        cls.temporary.cleanup()

    def ask(self, path, **parameters):
        status, text = get(self.address, f"/api/v1/{path}?{urllib.parse.urlencode(parameters)}")
        return json.loads(text)["data"] if status == 200 else None

    def query(self, expression):
        data = self.ask("query", query=expression)
        return data and data["result"]

    def test_1_processes_are_healthy_and_ready(self):
        for part, address in self.service.metrics.items():
            with self.subTest(part=part):
                eventually(f"{part} is ready", lambda: get(address, "/readyz") == (200, "ok\n"))
                self.assertEqual(get(address, "/healthz"), (200, "ok\n"))
                self.assertEqual(get(address, "/nothing")[0], 404)

    def test_2_every_query_of_the_dashboard_returns_data(self):
        # A refused call gives the metric of refusals a sample.
        self.service.waggle("inspect", "no_such_table")
        for title, query in dashboard_queries():
            with self.subTest(title=title, query=query):
                eventually(f"{title}: {query} returns data", lambda: self.query(query))

    def test_3_the_page_has_exactly_the_exported_metrics(self):
        texts = {part: get(address, "/metrics")[1] for part, address in self.service.metrics.items()}
        found = {}
        for text in texts.values():
            for name, (kind, labels) in exported(text).items():
                found[name] = (kind, found.get(name, (kind, frozenset()))[1] | labels)
        wanted = documented()
        self.assertGreater(len(wanted), 50)
        self.assertEqual({name: one for name, one in found.items() if name not in wanted}, {}, "not in the page")
        self.assertEqual({name for name, one in wanted.items() if not one[2]} - set(found), set(), "not exported")
        for name, (kind, labels) in found.items():
            with self.subTest(name=name):
                self.assertEqual((kind, labels), wanted[name][:2])

    def test_4_figures_keep_the_conventions_of_prometheus(self):
        for part, address in self.service.metrics.items():
            with self.subTest(part=part):
                checked = promtool("check", "metrics", input=get(address, "/metrics")[1])
                self.assertEqual((checked.returncode, checked.stdout), (0, ""))

    def test_5_alerts_can_be_evaluated(self):
        def healthy():
            groups = (self.ask("rules") or {}).get("groups", [])
            rules = [rule for group in groups for rule in group["rules"]]
            return rules and all(rule["health"] != "unknown" for rule in rules) and rules

        for rule in eventually("every alert has been evaluated", healthy):
            with self.subTest(alert=rule["name"]):
                self.assertEqual((rule["health"], rule.get("lastError", "")), ("ok", ""))

    def test_6_logs_are_json_and_name_the_trace_of_a_command(self):
        env = {"TRACEPARENT": f"00-{TRACE}-b7ad6b7169203331-01"}
        self.assertNotEqual(self.service.waggle("stop", "no-such-experiment", env=env).returncode, 0)
        for part in self.service.metrics:
            lines = [json.loads(line) for line in self.service.log(part).read_text().splitlines()]
            with self.subTest(part=part):
                self.assertTrue(lines)
                for line in lines:
                    self.assertGreaterEqual(set(line), {"time", "level", "role", "host", "pid", "message"})
                    self.assertRegex(line["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")
            if part == "hub":
                self.assertTrue([line for line in lines if line.get("trace_id") == TRACE and "refused" in line["message"]])
            if part in ("learner", "actor"):
                self.assertTrue([line for line in lines if line.get("experiment", "").startswith("scraped-")])

    def test_7_an_alert_fires_when_the_learner_has_gone(self):
        def firing():
            alerts = (self.ask("alerts") or {}).get("alerts", [])
            return {(alert["labels"]["alertname"], alert["labels"].get("instance")) for alert in alerts
                    if alert["state"] == "firing"}

        learner = self.service.metrics["learner"]
        self.assertNotIn(("WaggleProcessDown", learner), firing())
        self.service.kill("learner")
        eventually("WaggleProcessDown fires", lambda: ("WaggleProcessDown", learner) in firing())
        eventually("WaggleNoLearner fires", lambda: ("WaggleNoLearner", None) in firing())


if __name__ == "__main__":
    BIN = sys.argv.pop(1)
    if shutil.which("prometheus") is None or shutil.which("promtool") is None:
        print("metrics_test: SKIPPED, nothing was tested: prometheus and promtool are not installed", file=sys.stderr)
        sys.exit(77)
    unittest.main()
