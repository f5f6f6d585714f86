# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The exporter of metrics: rules behind its objects. Golden files are those of the hub."""

from __future__ import annotations

import pytest
import yaml

from ansible_collections.federated.flower.plugins.plugin_utils.manifests import gateway, metrics_exporter
from ansible_collections.federated.flower.plugins.plugin_utils.programs import metrics_program
from ansible_collections.federated.flower.tests.unit import specs
from ansible_collections.federated.flower.tests.unit.read import yaml_file
from ansible_collections.federated.flower.tests.unit.specs import superlink_faults

OWN = {"enabled": True}


def objects(spec, **own):
    return specs.superlink_objects(spec(metrics={**OWN, **own}))


def find(listed, kind, name="superlink-metrics"):
    (found,) = [one for one in listed if (one["kind"], one["metadata"]["name"]) == (kind, name)]
    return found


def test_the_list_for_advanced_cluster_management_has_all_metrics(superlink_spec):
    name = "observability-metrics-custom-allowlist"
    assert all(one["metadata"]["name"] != name for one in objects(superlink_spec, monitor=True))
    found = find(objects(superlink_spec, monitor=True, acm=True), "ConfigMap", name)
    assert set(yaml.safe_load(found["data"]["uwl_metrics_list.yaml"])["names"]) == {*metrics_program.METRICS, *metrics_exporter.GATEWAY}


def test_logs_are_read_where_that_is_wanted(superlink_spec):
    for wanted in (True, False):
        listed = objects(superlink_spec, runs=wanted)
        assert ("/v1/control/stream-logs" in find(listed, "ConfigMap", "superlink-gateway")["data"]["haproxy.cfg"]) is wanted
        files = find(listed, "ConfigMap")["data"]
        assert set(files) == {"exporter.py", "metrics_http.py", *(["run_metrics.py"] if wanted else [])}
        (container,) = find(listed, "Deployment")["spec"]["template"]["spec"]["containers"]
        assert ({"name": "FLOWER_RUN_METRICS", "value": "1"} in container["env"]) is wanted
        assert all("from ." not in text for text in files.values()), "they have no package around them"


def test_what_is_counted_by_site_is_behind_the_secret_and_only_where_sites_have_certificates(superlink_spec):
    for mtls, there in (("required", 1), ("none", 0)):
        listed = specs.superlink_objects(superlink_spec(metrics=OWN, client_certificates=mtls))
        text = find(listed, "ConfigMap", "superlink-gateway")["data"]["haproxy.cfg"]
        lines = text.split("frontend metrics\n")[1].split("\nbackend ")[0].splitlines()
        answers = [line for line in lines if "/sites/" in line]
        assert len(answers) == there and all("METH_GET" in line and r'(sites)]\n"' in line for line in answers)
        assert not answers or lines.index(answers[0]) > next(number for number, line in enumerate(lines) if "/token }" in line)
        assert ("bytes_in_cnt" in text) == bool(there)
    assert "bytes_in_cnt" not in str(specs.superlink_objects(superlink_spec()))


def test_the_image_is_that_of_the_superlink_and_nothing_else_depends_on_it(superlink_spec):
    def image(listed):
        return find(listed, "Deployment")["spec"]["template"]["spec"]["containers"][0]["image"]

    own, other = objects(superlink_spec), objects(superlink_spec, image="registry.example.com/flower-metrics:1")
    (container,) = [one for one in find(own, "StatefulSet", "superlink")["spec"]["template"]["spec"]["containers"] if one["name"] == "superlink"]
    assert image(own) == container["image"]
    assert image(other) == "registry.example.com/flower-metrics:1"
    assert [before["kind"] for before, after in zip(own, other, strict=True) if before != after] == ["Deployment"], "the SuperLink is not restarted"
    chosen = specs.superlink_objects(superlink_spec(metrics=OWN, image="registry.example.com/superlink:1"))
    assert image(chosen) == "registry.example.com/superlink:1"


def test_a_changed_program_replaces_the_pod(superlink_spec, monkeypatch):
    before = find(objects(superlink_spec), "Deployment")
    monkeypatch.setattr(metrics_exporter, "program_text", lambda name: "# another one\n")
    after = find(objects(superlink_spec), "Deployment")
    assert before["spec"]["template"]["metadata"]["annotations"] != after["spec"]["template"]["metadata"]["annotations"]


def test_the_monitor_selects_ports_that_there_are(superlink_spec):
    listed = objects(superlink_spec, monitor=True)
    wanted = {one["port"] for one in find(listed, "PodMonitor")["spec"]["podMetricsEndpoints"]}
    (values,) = [one["values"] for one in find(listed, "PodMonitor")["spec"]["selector"]["matchExpressions"]]
    offered = set()
    for item in listed:
        template = item.get("spec", {}).get("template", {})
        if template.get("metadata", {}).get("labels", {}).get("app.kubernetes.io/name") in values:
            offered |= {port["name"] for one in template["spec"]["containers"] for port in one.get("ports", [])}
    assert wanted <= offered
    assert find(listed, "PrometheusRule")["spec"] == metrics_exporter.alerts("flower")
    names = [port["name"] for one in listed if one["kind"] == "Service" for port in one["spec"]["ports"]]
    assert all(len(name) <= 15 for name in [*names, *offered]), "Kubernetes takes no longer ones"


def test_metrics_of_another_federation_do_not_hide_that_those_of_this_one_are_missing(superlink_spec):
    (shipped,) = yaml_file("roles", "superlink", "files", "metrics", "alerts.yml")["groups"]
    for namespace in ("flower", "trial"):
        listed = specs.superlink_objects(superlink_spec(namespace=namespace, metrics={**OWN, "monitor": True}))
        (group,) = find(listed, "PrometheusRule")["spec"]["groups"]
        changed = [rule["alert"] for rule, other in zip(group["rules"], shipped["rules"], strict=True) if rule != other]
        assert changed == [rule["alert"] for rule in shipped["rules"] if "absent" in rule["expr"]] == ["FlowerMetricsMissing"]
        assert group["rules"][0]["expr"] == f'absent(flower_exporter_source_up{{namespace="{namespace}"}})'


def test_the_limit_that_is_shown_and_warned_of_is_that_of_the_option(superlink_spec):
    """HAProxy reports its own limit, which is higher: it accepts more connections to refuse them."""
    limit = 500
    configured = specs.superlink_objects(superlink_spec(gateway_max_connections=limit))
    text = find(configured, "ConfigMap", "superlink-gateway")["data"]["haproxy.cfg"]
    assert f"maxconn {limit + gateway.HEADROOM}\n" in text
    rules = (metrics_exporter.ALERTS.read_text(), (metrics_exporter.ALERTS.parent / "dashboard.json").read_text())
    for found in rules:
        (line,) = [line for line in found.splitlines() if "haproxy_frontend_limit_sessions" in line]
        assert f") - {gateway.HEADROOM}" in line or f"}} - {gateway.HEADROOM})" in line, line


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"monitor": True}, "superlink_metrics.monitor"),
        ({"runs": True}, "superlink_metrics.runs"),
        ({**OWN, "acm": True}, "superlink_metrics.acm"),
        ({**OWN, "port": 1}, "superlink_metrics.port"),
        ({**OWN, "api_server": [{"host": "x"}]}, "superlink_metrics.api_server[0]"),
        ({**OWN, "resources": {"requests": {"cpu": "much"}}}, "superlink_metrics.resources"),
        ("yes", "superlink_metrics"),
    ],
)
def test_faults_name_the_variable(superlink_spec, given, words):
    assert any(words in fault for fault in superlink_faults(superlink_spec(metrics=given)))
