# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The eleven faults of the existing flower-addon (addon-contrib), each once: none of them can happen here."""

from __future__ import annotations

import json
import re
from pathlib import Path

import yaml

from ansible_collections.federated.flower.plugins.module_utils.node_config import expand
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import addon_objects, api, checks, delivery
from ansible_collections.federated.flower.plugins.plugin_utils.spec.hub_spec import INSTALLS
from ansible_collections.federated.flower.plugins.plugin_utils.state import partition_numbers
from ansible_collections.federated.flower.tests.unit import specs

ROOT = Path(__file__).resolve().parents[5]


def test_01_a_clusters_own_config_blanks_nothing(parsed_ocm_site, status):
    """There, a cluster's config with two variables left --superlink=: and no image. A cluster's config replaces the default."""
    spec = parsed_ocm_site()
    common, own = delivery.split(specs.supernode_objects(spec))
    made, config = addon_objects.configs(spec, common)
    for item in made["spec"]["agentSpec"]["workload"]["manifests"]:
        assert delivery.rendered(delivery.stored(item), {}) == delivery.stored(item)
    assert "customizedVariables" not in config["spec"]
    work = json.dumps(status.nodes(spec))
    assert "docker.io/flwr/supernode:1.42.0" in work and "--superlink" in work
    # And its namespace does not move.
    spaces = {item["metadata"]["namespace"] for item in common if item["kind"] != "Namespace"}
    assert spaces == {config["spec"]["agentInstallNamespace"]} == {"flower"}


def test_02_partitions_are_numbers_of_the_ledger_and_never_collide():
    """There, an app took hash(cluster_name), which differs in every process."""
    names = [f"site-{number}" for number in range(40)]
    book = partition_numbers.allocate(partition_numbers.empty_book(), {name: {"default": 2} for name in names}, order=names).book
    first = [book["sites"][name]["pools"]["default"]["offset"] for name in names]
    assert sorted(first) == list(range(0, 80, 2))
    # The same whoever asks, in whatever order; and a site that comes back has its own again.
    again = partition_numbers.allocate(book, {name: {"default": 2} for name in reversed(names)}).book
    assert again["sites"] == book["sites"]


def test_03_every_setting_of_a_site_reaches_its_pods(parsed_ocm_site, status):
    """There, PARTITION_ID and NODE_TYPE were set and no manifest used them."""
    pool = {
        "name": "a100",
        "replicas": 2,
        "node_config": {"partition-id": "{partition}", "num-partitions": "{partitions}", "node-type": "gpu"},
    }
    spec = parsed_ocm_site(pools=[pool], allocation={"a100": {"offset": 6, "partitions": 9}})
    text = json.dumps(status.nodes(spec))
    expanded = expand(pool["node_config"], mode="StatefulSet", pool="a100", replicas=2, first_partition=6, partitions=9)
    assert json.dumps(f"--node-config={expanded.argument}")[1:-1] in text
    assert '"ordinals": {"start": 6}' in text
    # And the config that a cluster names is where it is written.
    configs = addon_objects.configs(spec, delivery.split(specs.supernode_objects(spec))[0])
    named = addon_objects.managed_addon(spec, map(addon_objects.config_reference, configs))["spec"]["configs"]
    assert [(one["name"], one.get("namespace")) for one in named] == [
        (item["metadata"]["name"], item["metadata"].get("namespace")) for item in configs
    ]


def test_04_certificates_need_no_other_tool_and_pods_follow_them(parsed_ocm_site, status):
    """There, a script and Helm quarrelled over a namespace, and nothing restarted pods on a new certificate."""
    before, after = status.nodes(parsed_ocm_site()), status.nodes(parsed_ocm_site(ca_bundle=(before_ca() + before_ca())))
    changed = [
        one["metadata"]["name"]
        for one, other in zip(before["spec"]["workload"]["manifests"], after["spec"]["workload"]["manifests"])
        if one != other
    ]
    assert changed == ["supernode-trust"]  # a file that the sidecar watches; no pod is replaced
    assert not re.search(r"\b(kubectl|helm|openssl)\b", " ".join(tasks()))


def before_ca():
    return specs.CA


def tasks():
    """All tasks of the roles that deliver."""
    return [
        path.read_text(encoding="utf-8")
        for role in ("ocm_addon", "supernode")
        for path in (ROOT / "roles" / role / "tasks").glob("*.yml")
    ]


def test_05_the_ca_is_kept_outlives_its_leaves_and_is_not_with_the_workload():
    """There, every run made a new CA, its key lay beside the workload, and it ended with its leaves."""
    hub, rotation = (
        yaml.safe_load((ROOT / "roles" / role / "defaults/main.yml").read_text(encoding="utf-8"))
        for role in ("superlink", "cert_rotation")
    )
    assert int(rotation["cert_rotation_ca_days"]) > 2 * int(hub["superlink_certificate_days"])
    assert "~ '-ca'" in hub["superlink_ca_namespace"] and "-ca" not in hub["superlink_namespace"]
    # Sites trust the old one and the new one for some time.
    assert int(rotation["cert_rotation_grace"]) > 0


def test_06_every_default_that_is_named_is_made(parsed_addon):
    """There, with a Placement, the default named a config that was rendered without one only."""
    for install in INSTALLS:
        objects = addon_objects.addon_objects(parsed_addon(install=install))
        made = {
            json.dumps(addon_objects.config_reference(item), sort_keys=True)
            for item in objects
            if item["kind"] in ("AddOnTemplate", "AddOnDeploymentConfig")
        }
        spec = objects[-1]["spec"]
        named = [
            {"group": one["group"], "resource": one["resource"], **one["defaultConfig"]}
            for one in spec["supportedConfigs"]
        ]
        for placement in spec["installStrategy"].get("placements", []):
            named += placement["configs"]
        assert {json.dumps(one, sort_keys=True) for one in named} == made


def test_07_the_app_of_the_demo_is_where_it_is_said_to_be():
    """There, the build's COPY and `flwr run .` looked in the wrong folder."""
    app = ROOT / "examples" / "quickstart"
    assert (app / "pyproject.toml").is_file() and (app / "quickstart" / "client_app.py").is_file()


def test_08_only_what_sites_need_is_open_and_pods_are_confined(ocm_site_spec, superlink_spec):
    """There, node ports published Control and the ServerApp's door, and there were no policies."""
    common, own = delivery.split(specs.supernode_objects(ocm_site_spec()))
    assert {"NetworkPolicy"} <= {item["kind"] for item in common}
    services = [item for item in specs.superlink_objects(superlink_spec()) if item["kind"] == "Service"]
    outside = [item for item in services if item["spec"].get("type") in ("NodePort", "LoadBalancer")]
    assert all(port["port"] == 9092 for item in outside for port in item["spec"]["ports"])
    for item in own:
        if item["kind"] == "StatefulSet":
            pod = item["spec"]["template"]["spec"]
            assert pod["securityContext"]["runAsNonRoot"] and not pod["automountServiceAccountToken"]
            assert all(one["securityContext"]["capabilities"] == {"drop": ["ALL"]} for one in pod["containers"])


def test_09_a_cluster_that_is_silent_for_a_while_keeps_its_supernodes(parsed_addon):
    """There, the Placement tolerated nothing, and ClientApps went with the health label of the SuperNodes."""
    placement = next(item for item in addon_objects.addon_objects(parsed_addon()) if item["kind"] == "Placement")
    tolerated = {one["key"] for one in placement["spec"]["tolerations"]}
    assert tolerated == {api.UNREACHABLE, api.UNAVAILABLE}
    assert "tolerationSeconds" not in json.dumps(placement) and api.ADDON_LABEL not in json.dumps(placement)


def test_10_a_feature_gate_is_enabled_beside_the_others():
    """There, a merge patch replaced the list of gates."""
    others = [
        {"feature": "ExecutorValidatingCaches", "mode": "Enable"},
        {"feature": "NilExecutorValidating", "mode": "Enable"},
    ]
    before = {"spec": {"workConfiguration": {"featureGates": others}}}
    after = checks.with_gate(before, "workConfiguration", "ManifestWorkReplicaSet")
    assert after[:2] == others and after[2] == {"feature": "ManifestWorkReplicaSet", "mode": "Enable"}


def test_11_flags_belong_to_a_generation_of_flower_and_others_are_refused(ocm_site_spec, parsed_ocm_site, status):
    """There, flags of one release were given to whatever image was named."""
    text = json.dumps(status.nodes(parsed_ocm_site()))
    assert "--clientappio-api-address" not in text and "--host" in text and "--port" in text
    for version in ("1.34.0", "1.36.0"):
        assert any("supernode_version" in fault for fault in specs.supernode_faults(ocm_site_spec(version=version)))
