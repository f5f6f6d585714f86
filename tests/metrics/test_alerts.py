# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Alert rules and dashboard, judged by Prometheus' own promtool (tools/prometheus.py)."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.federated.flower.plugins.plugin_utils.manifests.metrics_exporter import GATEWAY, alerts
from ansible_collections.federated.flower.plugins.plugin_utils.programs.metrics_http import text_format
from ansible_collections.federated.flower.plugins.plugin_utils.programs.metrics_program import METRICS, Sample

ROOT = Path(__file__).resolve().parents[2]
FILES = ROOT / "roles" / "superlink" / "files" / "metrics"
GUIDE = ROOT / "docs" / "docsite" / "rst" / "guide_metrics.rst"
RULES = yaml.safe_load((FILES / "alerts.yml").read_text(encoding="utf-8"))["groups"][0]["rules"]
CASES = yaml.safe_load((Path(__file__).parent / "alerts.yml").read_text(encoding="utf-8"))
DASHBOARDS = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FILES.glob("dashboard*.json"))}
PAGE = "https://github.com/federated-flower/federated.flower/blob/main/docs/docsite/rst/guide_metrics.rst#"


@pytest.fixture(scope="session")
def promtool() -> str:
    """The program."""
    found = subprocess.run([sys.executable, ROOT / "tools" / "prometheus.py"], capture_output=True, text=True, check=True)
    return f"{found.stdout.strip()}/promtool"


def run(*command: Any) -> str:
    """What a program that must succeed printed."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def queries() -> Iterator[str]:
    """The queries of the dashboards."""
    for dashboard in DASHBOARDS.values():
        for panel in dashboard["panels"]:
            for target in panel.get("targets", []):
                yield target["expr"]


def without(rule: dict[str, Any], *annotations: str) -> dict[str, Any]:
    """A rule without some annotations: what promtool compares has to be complete."""
    kept = {key: value for key, value in rule["annotations"].items() if key not in annotations}
    return {**rule, "annotations": kept}


def as_promtool(name: str, kind: str, severity: str) -> dict[str, Any]:
    """A case in promtool's format."""
    case = CASES[name][kind]
    expected = [
        {"exp_labels": {"severity": severity, **one.get("labels", {})}, "exp_annotations": {"summary": one["summary"]}}
        for one in case.get("expect", [])
    ]
    return {
        "name": f"{name} {kind}",
        "interval": "1m",
        "input_series": [{"series": series, "values": str(values)} for series, values in case["series"].items()],
        "alert_rule_test": [{"eval_time": case["at"], "alertname": name, "exp_alerts": expected}],
    }


def test_every_alert_has_a_case_that_fires_and_one_that_does_not() -> None:
    assert sorted(CASES) == sorted(rule["alert"] for rule in RULES)
    for name, kinds in CASES.items():
        assert kinds["fires"].get("expect") and "expect" not in kinds["silent"], name
        assert kinds["silent"]["series"], f"{name}: nothing is silent without metrics"


def test_alerts_fire_when_they_should(promtool: str, tmp_path: Path) -> None:
    bare = [without(rule, "description", "runbook_url") for rule in RULES]
    (tmp_path / "rules.yml").write_text(yaml.safe_dump({"groups": [{"name": "all", "rules": bare}]}), encoding="utf-8")
    severities = {rule["alert"]: rule["labels"]["severity"] for rule in RULES}
    tests = [as_promtool(name, kind, severities[name]) for name in CASES for kind in ("fires", "silent")]
    # Every rule is evaluated at every step up to the time that is looked at: days are walked in hours.
    days = [test for test in tests if re.fullmatch(r"\d{2,}h", test["alert_rule_test"][0]["eval_time"])]
    for step, some in (("1m", [test for test in tests if test not in days]), ("1h", days)):
        file = tmp_path / f"test-{step}.yml"
        file.write_text(yaml.safe_dump({"rule_files": ["rules.yml"], "evaluation_interval": step, "tests": some}), encoding="utf-8")
        run(promtool, "test", "rules", file)


def test_missing_metrics_are_noticed_while_another_federation_is_read(promtool: str, tmp_path: Path) -> None:
    """By the rules as the Prometheus operator gets them, of a federation in the namespace a."""
    bare = [without(rule, "description", "runbook_url") for rule in alerts("a")["groups"][0]["rules"]]
    (tmp_path / "rules.yml").write_text(yaml.safe_dump({"groups": [{"name": "all", "rules": bare}]}), encoding="utf-8")
    name, (one,) = "FlowerMetricsMissing", CASES["FlowerMetricsMissing"]["fires"]["expect"]
    expected = {"exp_labels": {"severity": "warning", "namespace": "a"}, "exp_annotations": {"summary": one["summary"]}}
    tests = [
        {
            "name": f"the exporter in {namespace} is read",
            "interval": "1m",
            "input_series": [{"series": f'flower_exporter_source_up{{source="superlink",namespace="{namespace}"}}', "values": "1x20"}],
            "alert_rule_test": [{"eval_time": "11m", "alertname": name, "exp_alerts": wanted}],
        }
        for namespace, wanted in (("b", [expected]), ("a", []))
    ]
    (tmp_path / "test.yml").write_text(yaml.safe_dump({"rule_files": ["rules.yml"], "evaluation_interval": "1m", "tests": tests}), encoding="utf-8")
    run(promtool, "test", "rules", tmp_path / "test.yml")


def test_rules_are_valid(promtool: str) -> None:
    assert f"SUCCESS: {len(RULES)} rules found" in run(promtool, "check", "rules", FILES / "alerts.yml")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_an_alert_says_what_to_do(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in ("critical", "warning")
    assert {"summary", "description", "runbook_url"} == set(rule["annotations"])
    assert all(rule["annotations"].values())
    assert rule["annotations"]["runbook_url"] == PAGE + rule["alert"].lower()
    assert re.search(rf"^{rule['alert']}\n[\^~-]{{{len(rule['alert'])},}}\n", GUIDE.read_text(encoding="utf-8"), re.M)


def test_the_exporter_writes_what_prometheus_reads(promtool: str) -> None:
    samples = [Sample(name, dict.fromkeys(labels, 'a"b\\c\nd é'), 1e20) for name, (_kind, labels, _words) in METRICS.items()]
    found = subprocess.run([promtool, "check", "metrics"], input=text_format(METRICS, samples), capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr


def test_queries_of_the_dashboards_are_valid(promtool: str, tmp_path: Path) -> None:
    rules = [{"record": f"q:{number}", "expr": query} for number, query in enumerate(queries())]
    file = tmp_path / "queries.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}), encoding="utf-8")
    assert f"SUCCESS: {len(rules)} rules found" in run(promtool, "check", "rules", file)


def test_rules_and_dashboard_use_metrics_that_there_are() -> None:
    words = "\n".join([*queries(), *(rule["expr"] for rule in RULES)])
    used = set(re.findall(r"\b(?:flower|haproxy)_\w+", words))
    assert used <= {*METRICS, *GATEWAY} and set(GATEWAY) <= used
    left = {"flower_exporter_errors_total", "flower_last_backup_bytes", "flower_last_change_timestamp_seconds", "flower_last_run_timestamp_seconds"}
    assert set(METRICS) - used <= left


def test_there_is_a_dashboard_for_the_fleet_a_site_and_a_run() -> None:
    assert set(DASHBOARDS) == {"dashboard", "dashboard-run", "dashboard-site"}
    assert len({one["uid"] for one in DASHBOARDS.values()}) == len({one["title"] for one in DASHBOARDS.values()}) == 3
    for name, dashboard in DASHBOARDS.items():
        assert "flower" in dashboard["tags"] and dashboard["links"][0]["tags"] == ["flower"], name
        variables = {one["name"]: one for one in dashboard["templating"]["list"]}
        assert set(variables) == {"datasource", "namespace", *name.split("-")[1:]}
        text = json.dumps(dashboard["panels"])
        assert set(re.findall(r"\$\{?(\w+)", text)) == set(variables), "each is used, and none besides"
        sources = [panel["datasource"] for panel in dashboard["panels"]] + [one["datasource"] for panel in dashboard["panels"] for one in panel["targets"]]
        assert all(source == {"type": "prometheus", "uid": "${datasource}"} for source in sources)
        found = variables.pop("namespace")
        assert found["query"]["query"] == "label_values(flower_hub_info, namespace)"
        assert found["includeAll"] and found["allValue"] == ".*", "metrics that Prometheus gives no such label are shown"
        for wanted in (one for one in variables.values() if one["type"] == "query"):
            pattern = r'label_values\((\w+)\{namespace=~"\$namespace"\}, (\w+)\)'
            metric, label = re.fullmatch(pattern, wanted["query"]["query"]).groups()
            assert label == wanted["name"] and label in METRICS[metric][1]


def test_a_dashboard_shows_one_federation_of_those_that_prometheus_reads() -> None:
    selectors = [one for query in queries() for one in re.findall(r"\b((?:flower|haproxy)_\w+)(\{[^}]*\})?", query)]
    assert len(selectors) > 40
    assert [metric for metric, chosen in selectors if 'namespace=~"$namespace"' not in chosen] == []


@pytest.mark.parametrize("name", DASHBOARDS)
def test_labels_of_queries_are_those_of_the_metrics(name: str) -> None:
    """In selectors and legends."""
    for panel in DASHBOARDS[name]["panels"]:
        for target in panel["targets"]:
            for metric, chosen in re.findall(r"(flower_\w+)\{([^}]*)\}", target["expr"]):
                assert set(re.findall(r"(\w+)[=!]", chosen)) - {"namespace"} <= set(METRICS[metric][1]), target["expr"]
            labels = {label for metric in re.findall(r"flower_\w+", target["expr"]) for label in METRICS[metric][1]}
            if labels:
                assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) <= labels, target


@pytest.mark.parametrize("name", DASHBOARDS)
def test_panels_have_a_place_of_their_own_and_a_unit(name: str) -> None:
    taken: set[tuple[int, int]] = set()
    dashboard = DASHBOARDS[name]
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert place["x"] + place["w"] <= 24 and not cells & taken, panel["title"]
        taken |= cells
        assert panel["title"] and panel["description"] and panel["fieldConfig"]["defaults"]["unit"]
    numbers = [panel["id"] for panel in dashboard["panels"]]
    assert len(numbers) == len(set(numbers))
