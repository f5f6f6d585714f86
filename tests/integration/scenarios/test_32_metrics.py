# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Metrics and alerts: a real Prometheus reads the exporter and the gateway on a real hub, and an alert fires when a site is gone.

The real Prometheus operator (fleet addon prometheus-operator) makes a configuration of PodMonitor and PrometheusRule. Prometheus chooses the ports of pods
by it; it is told of them by a file, since Debian's is built without the discovery of Kubernetes.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
import socket
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyrage
import pytest
import yaml

from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import NotServed
from ansible_collections.federated.flower.plugins.plugin_utils.manifests.metrics_exporter import ALERTS
from ansible_collections.federated.flower.plugins.plugin_utils.programs.metrics_program import METRICS
from ansible_collections.federated.flower.tests.integration.scenarios.lane import NAMESPACE

ROOT = Path(__file__).parents[3]
NAME = "superlink-metrics"
OWN = {"superlink_metrics": {"enabled": True, "runs": True, "resources": {"requests": {"cpu": "10m", "memory": "96Mi"}}}}
KINDS = (
    ("apps/v1", "Deployment"), ("v1", "Service"), ("v1", "ServiceAccount"), ("v1", "ConfigMap"), ("v1", "Secret"),
    ("rbac.authorization.k8s.io/v1", "Role"), ("rbac.authorization.k8s.io/v1", "RoleBinding"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
)  # fmt: skip
MONITORING = "monitoring.coreos.com/v1"
SPACE = f"{NAMESPACE}-monitoring"
OFTEN = {"scrape_interval": "2s", "scrape_timeout": "2s", "evaluation_interval": "1s"}
# From a pod of the federation that is not the exporter's: what the port answers, without the secret and with a guessed one.
_KNOCK = """\
import ssl, sys, urllib.error, urllib.request
trust = ssl._create_unverified_context()
for path in ("/v1/control/list-nodes", "/v1/control/start-run", "/v1/fleet/pull-messages", "/health"):
    for headers in ({}, {"x-flower-metrics": "guess"}):
        request = urllib.request.Request(sys.argv[1] + path, data=b"", headers=headers)
        try:
            print(urllib.request.urlopen(request, timeout=10, context=trust).status)
        except urllib.error.HTTPError as error:
            print(error.code)
"""
# From the exporter's pod, with the secret: only what it needs is let through.
_USE = """\
import ssl, sys, urllib.error, urllib.request
trust = ssl.create_default_context(cafile="/hub/ca.crt")
headers = {"x-flower-metrics": open("/hub/token").read(), "content-type": "application/protobuf", "accept": "application/protobuf"}
for path in sys.argv[2:]:
    request = urllib.request.Request(sys.argv[1] + path, data=b"", headers=headers)
    try:
        print(urllib.request.urlopen(request, timeout=10, context=trust).status)
    except urllib.error.HTTPError as error:
        print(error.code)
"""
# Which requests the API server grants the exporter's account.
_RIGHTS = """\
import ssl, sys, urllib.error, urllib.request, os
trust = ssl.create_default_context(cafile="/api/ca.crt")
base = f"https://{os.environ['KUBERNETES_SERVICE_HOST']}:{os.environ['KUBERNETES_SERVICE_PORT']}/api/v1/namespaces/"
for path in sys.argv[1:]:
    request = urllib.request.Request(base + path, headers={"Authorization": "Bearer " + open("/api/token").read()})
    try:
        print(urllib.request.urlopen(request, timeout=10, context=trust).status)
    except urllib.error.HTTPError as error:
        print(error.code)
"""


class Prometheus:
    """A server on this machine.

    Args:
        folder: for its files.
        config: of scrapes.
        rules: of alerts.
    """

    def __init__(self, folder: Path, config: dict[str, Any], rules: dict[str, Any]) -> None:
        programs = subprocess.run([sys.executable, ROOT / "tools/prometheus.py"], capture_output=True, text=True, check=True)
        (folder / "rules.yml").write_text(yaml.safe_dump(rules), encoding="utf-8")
        (folder / "prometheus.yml").write_text(yaml.safe_dump({**config, "rule_files": ["rules.yml"]}), encoding="utf-8")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        with (folder / "prometheus.log").open("wb") as log:
            self.process = subprocess.Popen(
                [
                    f"{programs.stdout.strip()}/prometheus",
                    f"--config.file={folder}/prometheus.yml",
                    f"--storage.tsdb.path={folder}/data",
                    f"--web.listen-address={self.address}",
                ],
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def ask(self, path: str, **query: str) -> Any:
        """An answer of its API."""
        url = f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=10) as answer:
            return json.load(answer)["data"]

    def value(self, query: str) -> dict[tuple[str, ...], float]:
        """Values of the labels, but for those of the target -> value."""
        try:
            found = self.ask("query", query=query)["result"]
        except OSError:  # it is starting
            return {}
        without = ("__name__", "instance", "job")
        return {tuple(v for k, v in sorted(one["metric"].items()) if k not in without): float(one["value"][1]) for one in found}

    def stop(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait(20)

    def firing(self) -> set[tuple[str, str]]:
        """Alert and site."""
        listed = self.ask("alerts")["alerts"]
        return {(one["labels"]["alertname"], one["labels"].get("site", "")) for one in listed if one["state"] == "firing"}


@pytest.fixture(scope="module")
def hosts(federation: Any) -> Iterator[Any]:
    """The inventory with metrics, deployed; the federation is as before at the end."""
    federation.settle()
    hosts = federation.base()
    hosts["hub"] |= OWN
    federation.site(hosts)
    yield hosts
    federation.settle()


@pytest.fixture(scope="module")
def targets(federation: Any, hosts: Any) -> Iterator[dict[str, str]]:
    """Where both pods are reached, through a node port."""
    targets = {}
    for job, name, port in (("exporter", NAME, "metrics"), ("gateway", "superlink", "ops")):
        body = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": f"test-{job}", "namespace": NAMESPACE},
            "spec": {
                "type": "NodePort",
                "selector": {"app.kubernetes.io/name": name},
                "ports": [{"port": 80, "targetPort": port}],
            },
        }
        made = federation.hub.apply(body)
        targets[job] = f"{federation.door()['host']}:{made['spec']['ports'][0]['nodePort']}"
    yield targets
    for job in targets:
        federation.hub.delete("v1", "Service", f"test-{job}", NAMESPACE)


@pytest.fixture(scope="module")
def prometheus(targets: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """Prometheus, which has a fixed list."""
    rules = yaml.safe_load(ALERTS.read_text(encoding="utf-8"))
    for rule in rules["groups"][0]["rules"]:
        rule["for"] = "2s"
    jobs = [{"job_name": name, "static_configs": [{"targets": [address]}]} for name, address in targets.items()]
    made = Prometheus(tmp_path_factory.mktemp("prometheus"), {"global": OFTEN, "scrape_configs": jobs}, rules)
    yield made
    made.stop()


def test_prometheus_reads_the_state_of_the_federation(federation: Any, hosts: Any, prometheus: Prometheus) -> None:
    def online() -> bool:
        found = prometheus.value('flower_supernodes{state="online"}')
        return found == {("site-a", "online"): 2.0, ("site-b", "online"): 1.0}

    federation.wait("three SuperNodes online", online, 90, pause=1)
    assert prometheus.value("flower_exporter_source_up") == dict.fromkeys([("gateway",), ("kubernetes",), ("logs",), ("superlink",)], 1.0)
    assert prometheus.value("flower_site_admitted") == {("site-a",): 1.0, ("site-b",): 1.0}
    version = federation.hub.get("v1", "ConfigMap", "flower-federation", NAMESPACE)["data"]["version"]
    assert prometheus.value("flower_hub_info") == {("scenario", version): 1.0}
    names = {one["__name__"] for one in prometheus.ask("series", **{"match[]": '{job="exporter",__name__=~"flower_.*"}'})}
    later = ("flower_last_", "flower_run_", "flower_site_accept", "flower_site_verified", "flower_standby")  # what has not been done yet
    assert {name for name in METRICS if not name.startswith(later)} <= names, "not one of them is without a value"
    assert prometheus.value("flower_site_info") == {("eu", "site-a", version): 1.0, ("us", "site-b", version): 1.0}
    ages = prometheus.value("time() - flower_site_deployed_timestamp_seconds")
    assert set(ages) == {("site-a",), ("site-b",)} and all(0 <= age < 300 for age in ages.values()), ages
    assert set(prometheus.value("flower_ledger_faults").items()) == {((one,), 0.0) for one in ("foreign", "lost", "overlap", "unreadable")}
    for what in ("connections", "requests", "received_bytes"):
        assert all(count > 0 for count in prometheus.value(f"flower_gateway_site_{what}_total").values()), what
    ends = prometheus.value("flower_certificate_expiry_timestamp_seconds - time()")
    assert {(labels[0], *labels[2:]) for labels in ends} == {
        ("ca",), ("client-ca",), ("gateway",), ("internal",), ("internal-ca",), ("client", "site-a"), ("client", "site-b"),
    }  # fmt: skip
    served = {labels[1] for labels in ends if labels[0] == "gateway"}
    certificate = federation.probe("site-a")[1]["serial"]
    assert served == {certificate}
    own = 'count(haproxy_frontend_http_requests_total{proxy="fleet"})'
    federation.wait("HAProxy's own metrics", lambda: prometheus.value(own) == {(): 1.0}, 30, pause=1)  # a scrape may take too long
    assert prometheus.value('flower_audit_entries')[()] == len(federation.trail())


def test_a_run_is_counted(federation: Any, hosts: Any, prometheus: Prometheus) -> None:
    completed = 'flower_runs{state="completed"}'
    before = prometheus.value(completed).get(("completed",), 0.0)  # of other scenarios
    run, finish = federation.begin(**{"num-server-rounds": 2})
    federation.wait("the run", lambda: prometheus.value('flower_oldest_run_age_seconds{state="running"}').get(("running",), 0) > 0, 60)
    federation.wait("its round", lambda: prometheus.value("flower_run_round").get((run,), 0) >= 1, 90)
    assert finish().rc == 0
    federation.wait("its end", lambda: prometheus.value(completed) == {("completed",): before + 1}, 60)
    federation.wait("its last round", lambda: prometheus.value("flower_run_round").get((run,)) == 2, 60)
    measured = prometheus.value("flower_run_metric")
    assert any(name.endswith(" accuracy") and number == run and 0 < value <= 1 for (name, number), value in measured.items()), measured
    ended = prometheus.value("time() - flower_last_run_timestamp_seconds")[("completed",)]
    assert 0 <= ended < 60
    assert prometheus.value('flower_oldest_run_age_seconds{state="running"}') == {("running",): 0.0}


def test_what_playbooks_record_is_a_metric(federation: Any, hosts: Any, prometheus: Prometheus, tmp_path: Path) -> None:
    public = str(pyrage.x25519.Identity.generate().to_public())
    federation.play("backup", "-e", json.dumps({"flower_backup_directory": str(tmp_path), "flower_backup_recipients": [public]}), hosts=hosts)
    federation.play("verify", "--limit", "site-a", hosts=hosts)
    (archive,) = tmp_path.glob("*.tar")
    federation.wait("the acceptance", lambda: prometheus.value("flower_site_accepted").get(("site-a",)) == 1.0, 60, pause=1)
    assert prometheus.value("flower_site_acceptance_score")[("site-a",)] == 100
    federation.wait("the backup", lambda: prometheus.value("flower_last_backup_bytes") == {(): archive.stat().st_size}, 60, pause=1)
    (age,) = prometheus.value("time() - flower_last_backup_timestamp_seconds").values()
    assert 0 < age < 180


def test_a_site_that_is_gone_raises_an_alert(federation: Any, hosts: Any, prometheus: Prometheus) -> None:
    assert ("FlowerSiteOffline", "site-b") not in prometheus.firing()
    site = federation.cluster("site-b")
    federation.settled = False
    site.patch("apps/v1", "StatefulSet", "supernode-gpu", NAMESPACE, {"spec": {"replicas": 0}})
    federation.wait("the alert", lambda: ("FlowerSiteOffline", "site-b") in prometheus.firing(), 120, pause=1)
    assert ("FlowerSiteOffline", "site-a") not in prometheus.firing()
    site.patch("apps/v1", "StatefulSet", "supernode-gpu", NAMESPACE, {"spec": {"replicas": 1}})
    federation.wait("its end", lambda: ("FlowerSiteOffline", "site-b") not in prometheus.firing(), 120, pause=1)


def test_the_door_is_for_the_exporter_and_two_calls(federation: Any, hosts: Any, prometheus: Prometheus) -> None:
    door = "https://superlink-metrics-control:9093"
    refused = federation.python("hub", "serverapp-0", "superexec", _KNOCK, door).split()
    assert set(refused) == {"503"} and len(refused) == 8
    (pod,) = federation.pods("hub", name=NAME)
    paths = ("list-nodes", "list-runs", "start-run", "stop-run", "stream-run-events", "%6cist-nodes", "list-nodes/", "../control/list-nodes")
    answers = federation.python("hub", pod, "exporter", _USE, door, *(f"/v1/control/{path}" for path in paths)).split()
    assert answers == ["200", "200", *["503"] * 6]
    other = federation.python(
        "hub", pod, "exporter", _RIGHTS, f"{NAMESPACE}/configmaps", f"{NAMESPACE}/secrets", f"{NAMESPACE}/pods", "default/configmaps"
    ).split()
    assert other == ["200", "403", "403", "403"]


def test_what_cannot_be_read_is_a_metric(federation: Any, hosts: Any, prometheus: Prometheus) -> None:
    role = federation.hub.get("rbac.authorization.k8s.io/v1", "Role", NAME, NAMESPACE)
    federation.settled = False
    federation.hub.patch("rbac.authorization.k8s.io/v1", "Role", NAME, NAMESPACE, {"rules": []})
    federation.wait("the source is down", lambda: prometheus.value("flower_exporter_source_up").get(("kubernetes",)) == 0.0, 60, pause=1)
    assert prometheus.value("flower_exporter_errors_total")[("kubernetes",)] > 0
    assert prometheus.value("flower_site_admitted") == {}, "old values would pass for present ones"
    assert prometheus.value('flower_supernodes{state="online"}') == {("unknown", "online"): 3.0}
    federation.hub.patch("rbac.authorization.k8s.io/v1", "Role", NAME, NAMESPACE, {"rules": role["rules"]})


def test_a_second_run_changes_nothing(federation: Any, hosts: Any) -> None:
    federation.unchanged(hosts)


def test_without_the_operator_its_objects_are_refused_before_anything_is_changed(federation: Any, hosts: Any) -> None:
    monitored = federation.base()
    monitored["hub"] |= {"superlink_metrics": {**OWN["superlink_metrics"], "monitor": True}}
    run = federation.play("site", hosts=monitored, rc=2)
    assert "install the Prometheus operator, or set it to false" in run.messages("hub", failed=True)
    assert set(run.changed.values()) == {0}


@pytest.fixture(scope="module")
def operator(federation: Any, fleet_addon: Callable[..., None]) -> Iterator[None]:
    """The Prometheus operator, and a Prometheus without pods, which reads the namespace of the federation."""
    fleet_addon("prometheus-operator", "up")
    federation.hub.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})
    ours = {"matchLabels": {"kubernetes.io/metadata.name": NAMESPACE}}
    spec = {
        **{"replicas": 0, "version": "v2.42.0", "scrapeInterval": "2s", "scrapeTimeout": "2s", "evaluationInterval": "1s"},
        **{"podMonitorSelector": {}, "podMonitorNamespaceSelector": ours, "ruleSelector": {}, "ruleNamespaceSelector": ours},
    }
    federation.hub.apply({"apiVersion": MONITORING, "kind": "Prometheus", "metadata": {"name": "fleet", "namespace": SPACE}, "spec": spec})
    yield
    federation.hub.delete("v1", "Namespace", SPACE, propagation="Background")
    fleet_addon("prometheus-operator", "down")


def discovered(federation: Any, targets: dict[str, str]) -> list[dict[str, Any]]:
    """Every port of a container on the hub, with labels as by Prometheus' discovery of pods; those of a target have its address."""
    reached = {"8405": targets["exporter"], "8404": targets["gateway"]}
    found = []
    for pod in federation.hub.list("v1", "Pod", NAMESPACE):
        named = {"phase": pod["status"]["phase"], "name": pod["metadata"]["name"]}
        for name, value in pod["metadata"]["labels"].items():
            plain = re.sub("[^a-zA-Z0-9_]", "_", name)
            named |= {f"label_{plain}": value, f"labelpresent_{plain}": "true"}
        for container in pod["spec"]["containers"]:
            for port in container.get("ports", []):
                labels = {**named, "container_name": container["name"], "container_port_name": port.get("name", "")}
                number = str(port["containerPort"])
                found.append(
                    {
                        "targets": [reached.get(number, f"192.0.2.1:{number}")],
                        "labels": {"__meta_kubernetes_namespace": NAMESPACE, **{f"__meta_kubernetes_pod_{name}": value for name, value in labels.items()}},
                    }
                )
    return found


def test_the_prometheus_operator_reads_the_monitor_and_the_rules(
    federation: Any, hosts: Any, targets: dict[str, str], operator: None, tmp_path: Path
) -> None:
    lives = federation.lives("hub", name="superlink")
    monitored = {**hosts, "hub": {**hosts["hub"], "superlink_metrics": {**OWN["superlink_metrics"], "monitor": True}}}
    federation.site(monitored)
    assert federation.lives("hub", name="superlink") == lives
    federation.unchanged(monitored)
    exporter, gateway = jobs = [f"podMonitor/{NAMESPACE}/{NAME}/{number}" for number in (0, 1)]

    def written() -> dict[str, Any]:
        secret = federation.hub.get("v1", "Secret", "prometheus-fleet", SPACE) or {}
        text = gzip.decompress(base64.b64decode((secret.get("data") or {}).get("prometheus.yaml.gz", ""))).decode()
        # As the operator's reloader in the pod would.
        found = yaml.safe_load(text.replace("$(SHARD)", "0").replace("$(POD_NAME)", "prometheus-fleet-0")) or {}
        return found if [one["job_name"] for one in found.get("scrape_configs", [])] == jobs else {}

    config = federation.wait("the operator's configuration", written)
    rules = federation.wait("its rules", lambda: federation.hub.get("v1", "ConfigMap", "prometheus-fleet-rulefiles-0", SPACE))["data"]
    for one in config["scrape_configs"]:
        assert one.pop("kubernetes_sd_configs") == [{"role": "pod", "namespaces": {"names": [NAMESPACE]}}]
        one["file_sd_configs"] = [{"files": ["pods.json"]}]
    (tmp_path / "pods.json").write_text(json.dumps(discovered(federation, targets)), encoding="utf-8")
    (text,) = rules.values()
    prometheus = Prometheus(tmp_path, config, yaml.safe_load(text))
    try:
        federation.wait("both pods", lambda: list(prometheus.value("up").values()) == [1.0, 1.0], 90)
        read = prometheus.ask("targets", state="active")["activeTargets"]
        where = {one["scrapePool"]: urllib.parse.urlsplit(one["scrapeUrl"]).netloc for one in read}
        assert where == {exporter: targets["exporter"], gateway: targets["gateway"]}
        assert {one["labels"]["namespace"] for one in read} == {NAMESPACE}, "by which dashboards and alerts choose a federation"
        online = 'sum by (site) (flower_supernodes{state="online"})'
        federation.wait("SuperNodes online", lambda: prometheus.value(online) == {("site-a",): 2.0, ("site-b",): 1.0}, 60)
        (shipped,) = yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"]
        (group,) = prometheus.ask("rules")["groups"]
        assert [rule["name"] for rule in group["rules"]] == [rule["alert"] for rule in shipped["rules"]]
        federation.wait("the rules", lambda: all(rule["health"] == "ok" for rule in prometheus.ask("rules")["groups"][0]["rules"]), 60)
    finally:
        prometheus.stop()


def test_switching_off_removes_all_of_it(federation: Any, hosts: Any) -> None:
    federation.site()
    assert [kind for version, kind in KINDS if kind != "Secret" and federation.hub.get(version, kind, NAME, NAMESPACE)] == []
    for kind in ("PodMonitor", "PrometheusRule"):
        with suppress(NotServed):  # only on the local fleet
            assert federation.hub.get(MONITORING, kind, NAME, NAMESPACE) is None
    assert federation.hub.get("v1", "Service", "superlink-metrics-control", NAMESPACE) is None
    federation.wait("the Secret is gone", lambda: federation.hub.get("v1", "Secret", NAME, NAMESPACE) is None, 60)
    federation.unchanged()
