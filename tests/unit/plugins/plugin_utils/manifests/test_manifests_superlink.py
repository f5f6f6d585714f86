# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hub's objects: golden files, and the rules behind them."""

from __future__ import annotations

import json
import re

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base import platforms
from ansible_collections.federated.flower.plugins.plugin_utils.base.problems import require
from ansible_collections.federated.flower.plugins.plugin_utils.checks import hub_services
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import (
    exposure,
    gateway,
    haproxy,
    metrics_exporter,
)
from ansible_collections.federated.flower.plugins.plugin_utils.manifests.exposure import exposure_of
from ansible_collections.federated.flower.tests.unit import specs
from ansible_collections.federated.flower.tests.unit.rows import each_row

CASES = {
    "default": {},
    "early": {"superlink_address": "", "ca_bundle": ""},
    "insecure": {
        "insecure": True,
        "client_certificates": "none",
        "exposure": "node_port",
        "node_port": 30992,
        "ca_bundle": "",
    },
    "openshift": {
        "platform": "openshift",
        "exposure": "auto",
        "run_as_user": "auto",
        "run_as_group": "auto",
        "fs_group": "auto",
        "dns": platforms.KUBE_DNS,
        "monitoring_namespaces": [],
    },
    "subprocess": {"isolation": "subprocess", "runtime_dependency_installation": True},
    "no-outputs": {"outputs_enabled": False},
    "outputs-claim": {
        "isolation": "subprocess",
        "outputs_claim": "models",
        "outputs_min_free": "0",
        "outputs_resources": {},
    },
    "outputs-s3": {
        "outputs_s3": {
            "endpoint": "https://192.0.2.8:9000", "bucket": "models", "prefix": "hospital/trial", "region": "eu-central-1", "secret": "models-key",
            "id_key": "id", "ca": specs.CA,
        },
    },  # fmt: skip
    "tracking": {
        "tracking": {
            "uri": "https://mlflow.example.com/team",
            "secret": "mlflow",
            "username_key": "user",
            "password_key": "pass",
            "ca": specs.CA,
        },
    },
    "tracking-subprocess": {
        "isolation": "subprocess",
        "tracking": {"uri": "http://mlflow.mlops.svc:5000"},
        "tracking_credentials": ["token"],
    },
    "metrics": {
        "metrics": {
            "enabled": True,
            "image": "registry.example.com/flower-metrics:1",
            "resources": {"requests": {"cpu": "10m", "memory": "96Mi"}},
            "api_server": [{"cidr": "10.0.0.1/32", "ports": ["6443"]}],
        },
        "monitoring_namespaces": ["monitoring"],
    },
    "metrics-monitor": {
        "insecure": True,
        "client_certificates": "none",
        "ca_bundle": "",
        "metrics": {"enabled": True, "monitor": True},
    },
    "route": {
        "exposure": "route",
        "host": "flower.apps.example.com",
        "superlink_address": "flower.apps.example.com:443",
        "run_as_user": None,
        "run_as_group": None,
        "fs_group": None,
        "create_namespace": False,
    },
    "cert-manager": {
        "certificates_source": "cert_manager",
        "issuer": {"name": "corporate", "kind": "ClusterIssuer"},
        "gateway_secret": "superlink-gateway-issued",
        "renew_before": "30d",
    },
    "ingress": {"exposure": "ingress", "host": "flower.example.com", "ingress_class": "nginx"},
    "haproxy-ingress": {"exposure": "haproxy_ingress", "host": "flower.example.com", "ingress_class": "haproxy"},
    "traefik": {"exposure": "traefik", "host": "flower.example.com", "ingress_class": "traefik"},
    "contour": {"exposure": "contour", "host": "flower.example.com", "ingress_annotations": {"external-dns/owner": "ml"}},
    "gateway-api": {
        "exposure": "gateway_api",
        "superlink_address": "192.0.2.9:443",
        "gateway": {"name": "public", "namespace": "infra", "section": "tls"},
    },
    "own-pods": {
        f"{part}{key}": value
        for part in ("", "serverapp_")
        for key, value in {
            "init_containers": [{"name": "fetch", "image": "busybox:1", "command": ["true"]}],
            "extra_containers": [{"name": "logs", "image": "busybox:1"}],
            "lifecycle": {"preStop": {"sleep": {"seconds": 1}}},
            "pod_template": {"spec": {"schedulerName": "other"}},
        }.items()
    },
    "rich": {
        "labels": {"team": "ml"},
        "annotations": {"owner": "ml@example.com"},
        "image_registry": "mirror.example.com/hub/",
        "image_pull_secrets": ["mirror"],
        "serverapp_image": "registry.example.com/app:3",
        "log_level": "DEBUG",
        "service_annotations": {"cloud/internal": True},
        "load_balancer_class": "example.com/nlb",
        "load_balancer_source_ranges": ["192.0.2.0/24"],
        "external_traffic_policy": "Local",
        "gateway_source_rate": 1000,
        "gateway_denied_sources": ["198.51.100.7/32"],
        "gateway_access_log": True,
        "storage_class": "fast",
        "resources": {"requests": {"cpu": 1, "memory": "1Gi"}, "limits": {"memory": "4Gi"}},
        "env": [{"name": "NUMBER", "value": 3}, {"name": "FLWR_TELEMETRY_ENABLED", "value": "1"}],
        "extra_args": ["--log-file", "/data/superlink.log"],
        "volumes": [{"name": "extra", "emptyDir": {}}],
        "volume_mounts": [{"name": "extra", "mountPath": "/extra"}],
        "node_selector": {"disk": "ssd"},
        "tolerations": [{"key": "flower", "operator": "Exists"}],
        "priority_class": "high",
        "pod_labels": {"mesh": "off"},
        "pod_annotations": {"note": "x"},
        "serverapp_gpu": {"count": 1, "runtime_class": "nvidia"},
        "serverapp_shm_size": "1Gi",
        "protect_runs": False,
        "monitoring_namespaces": ["monitoring"],
        "allowed_sources": [{"cidr": "192.0.2.0/24"}],
        "serverapp_egress": [{"namespace": "models", "pod_selector": {"app": "registry"}, "ports": ["5000"]}],
        "patches": [
            {
                "target": {"kind": "StatefulSet", "name": "superlink"},
                "patch": {"spec": {"template": {"spec": {"containers": [{"name": "gateway", "tty": True}]}}}},
            },
            {
                "target": {"kind": "Service", "name": "superlink"},
                "patch": [{"op": "add", "path": "/spec/sessionAffinity", "value": "ClientIP"}],
            },
        ],
    },
}


def find(objects, kind, name):
    return next(o for o in objects if (o["kind"], o["metadata"]["name"]) == (kind, name))


@pytest.mark.parametrize("name", CASES)
def test_golden(name, superlink_spec, golden, monkeypatch):
    monkeypatch.setattr(metrics_exporter, "program_text", lambda name: "# its program\n")
    golden(f"superlink-{name}", specs.superlink_objects(superlink_spec(**CASES[name])))


# Two entries of each list whose order has no meaning.
LISTS = {
    "exposure": "load_balancer",
    "dns": [{"namespace": "kube-system", "ports": ["53/UDP"]}, {"cidr": "10.0.0.10/32", "ports": ["53"]}, {"cidr": "10.0.0.9/32"}],
    "monitoring_namespaces": ["watch", "monitoring", "a"],
    "allowed_sources": [{"cidr": "192.0.2.0/24"}, {"cidr": "10.0.0.0/8"}, {"namespace": "ingress"}],
    "serverapp_egress": [{"cidr": "198.51.100.0/24", "ports": ["443"]}, {"namespace": "models"}],
    "load_balancer_source_ranges": ["192.0.2.0/24", "10.0.0.0/8"],
    "certificate_names": ["b.example.com", "a.example.com"],
}


@each_row("given", [*CASES.values(), LISTS])
def test_any_order_gives_the_same_bytes(given, superlink_spec):
    spec = superlink_spec(**given)
    before = json.dumps(spec)
    objects = specs.superlink_objects(spec)
    assert json.dumps(objects) == json.dumps(specs.superlink_objects(dict(sorted(spec.items(), reverse=True))))
    for seed in range(3):
        assert specs.written(specs.superlink_objects(specs.shuffled(spec, seed))) == specs.written(objects), seed
    assert json.dumps(spec) == before


@each_row("name", CASES)
def test_front_objects_are_part_of_all_objects(name, superlink_spec):
    spec = superlink_spec(**CASES[name])
    everything = specs.superlink_objects(spec)
    front = specs.superlink_front_objects(spec)
    assert all(obj in everything for obj in front)
    # A Secret of the next step belongs to the ConfigMap.
    own = {"ConfigMap"} if "metrics" in CASES[name] else set()
    assert {obj["kind"] for obj in front} <= {"Namespace", "Service", "Ingress", "IngressRouteTCP", "HTTPProxy", "TLSRoute", "Route"} | own


@each_row("name", CASES)
def test_every_refusal_is_a_503(name, parsed_hub):
    text = gateway.configuration(parsed_hub(**CASES[name]))
    denials = [line for line in text.splitlines() if "http-request deny" in line]
    assert denials and all("deny_status 503" in line for line in denials)
    assert max(map(len, text.splitlines())) < 2048  # HAProxy's limit for a line


def test_doors_know_their_calls_only(parsed_hub):
    text = gateway.configuration(parsed_hub())
    fleet, rest = text.split("frontend fleet")[1].split("frontend runtime")
    runtime = rest.split("backend superlink")[0]
    # The probe is answered by the door itself: the SuperLink never sees it.
    assert set(re.findall(r"path (\S+)", fleet)) == {f"/v1/fleet/{c}" for c in gateway.FLEET_CALLS} | {"/probe"}
    assert "return status 200" in next(line for line in fleet.splitlines() if "lf-string" in line)
    assert set(re.findall(r"path (\S+)", runtime)) == {f"/v1/runtime/{c}" for c in haproxy.RUNTIME_CALLS}
    assert "path_beg" not in text and "path_sub" not in text and "control" not in text


def test_pod_template_holds_neither_address_nor_certificate(superlink_spec):
    before = find(specs.superlink_objects(superlink_spec()), "StatefulSet", "superlink")
    changed = superlink_spec(superlink_address="other.example.com:1", ca_bundle="", gateway_max_connections=10)
    assert find(specs.superlink_objects(changed), "StatefulSet", "superlink") == before


def test_selectors_and_claims_survive_an_upgrade(superlink_spec):
    one = specs.superlink_objects(superlink_spec())
    two = specs.superlink_objects(superlink_spec(version="1.42.0", labels={"new": "label"}))
    for obj, other in zip(one, two):
        if obj["kind"] in ("StatefulSet", "Deployment"):
            assert obj["spec"]["selector"] == other["spec"]["selector"]
            assert obj["spec"].get("volumeClaimTemplates") == other["spec"].get("volumeClaimTemplates")
            assert (
                obj["spec"]["selector"]["matchLabels"].items() <= obj["spec"]["template"]["metadata"]["labels"].items()
            )


@each_row(
    ("asked", "verify"),
    [("required", " verify required crl-file "), ("optional", " verify optional crl-file "), ("none", None)],
)
def test_whether_certificates_are_asked_for(asked, verify, parsed_hub):
    text = gateway.configuration(parsed_hub(client_certificates=asked))
    fleet, rest = text.split("frontend fleet")[1].split("frontend runtime")
    assert "verify" not in rest.split("backend")[0], "the ServerApp has no client certificate"
    for word in ("verify", "/clients/denied.lst", "track-sc1", '"cn":"'):
        assert (word in fleet) == bool(verify)
    if verify:
        assert verify in fleet
        # Who is denied gets no answer from the probe either.
        assert (
            fleet.index("/clients/denied.lst") < fleet.index("lf-string") < fleet.index("unless METH_POST fleet_call")
        )


def test_changing_what_is_asked_for_takes_no_new_pod(superlink_spec):
    pods = [
        find(specs.superlink_objects(superlink_spec(client_certificates=asked)), "StatefulSet", "superlink")
        for asked in ("required", "optional", "none")
    ]
    assert pods[0] == pods[1] == pods[2]


LIVE = [
    {
        "kind": "Node",
        "metadata": {"name": "b"},
        "status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.2"}]},
    },
    {
        "kind": "Node",
        "metadata": {"name": "a"},
        "status": {"addresses": [{"type": "Hostname", "address": "a"}, {"type": "InternalIP", "address": "10.0.0.1"}]},
    },
    {
        "kind": "Service",
        "metadata": {"name": "superlink"},
        "spec": {"ports": [{"name": "fleet", "port": 9092, "nodePort": 31000}]},
        "status": {"loadBalancer": {"ingress": [{"ip": "2001:db8::1"}]}},
    },
    {
        "kind": "Route",
        "metadata": {"name": "superlink"},
        "spec": {"host": "superlink-flower.apps.example.com"},
        "status": {
            "ingress": [
                {"host": "old.example.com", "conditions": [{"type": "Admitted", "status": "False"}]},
                {"host": "superlink-flower.apps.example.com", "conditions": [{"type": "Admitted", "status": "True"}]},
            ]
        },
    },
]
UNADMITTED = [{"kind": "Route", "metadata": {"name": "superlink"}, "spec": {"host": "superlink-flower.apps.example.com"}}]


@each_row(
    ("changes", "live", "address"),
    [
        ({"superlink_address": "x:1"}, LIVE, "x:1"),
        ({"exposure": "load_balancer"}, LIVE, "[2001:db8::1]:9092"),
        ({"exposure": "load_balancer", "host": "hub.example"}, LIVE, "hub.example:9092"),
        ({"exposure": "load_balancer", "host": "hub.example"}, [], ""),
        ({"exposure": "node_port"}, LIVE, "10.0.0.1:31000"),
        ({"exposure": "node_port"}, [], ""),
        ({"exposure": "route"}, LIVE, "superlink-flower.apps.example.com:443"),
        ({"exposure": "route"}, [], ""),
        ({"exposure": "route"}, UNADMITTED, ""),
        ({"exposure": "route", "host": "hub.example"}, UNADMITTED, "hub.example:443"),
        ({"exposure": "ingress", "host": "hub.example"}, [], "hub.example:443"),
        ({"exposure": "cluster_ip"}, [], "superlink.flower.svc:9092"),
    ],
)
def test_address(changes, live, address, parsed_hub):
    assert exposure.address(parsed_hub(**{"superlink_address": "", **changes}), live) == address


def published(address):
    return {"kind": "ConfigMap", "metadata": {"name": "flower-federation"}, "data": {"address": address}}


@each_row(
    ("told", "address"),
    [
        ("10.0.0.2:31000", "10.0.0.2:31000"),
        ("10.0.0.2:30000", "10.0.0.2:31000"),  # another port of the same node
        ("10.0.0.9:31000", "10.0.0.1:31000"),  # its node is gone
        ("hub.example:9092", "10.0.0.1:31000"),  # it was another exposure
        ("", "10.0.0.1:31000"),
    ],
)
def test_a_new_node_changes_no_address(told, address, parsed_hub):
    """Firewalls of sites may know the address of one node only."""
    spec = parsed_hub(superlink_address="", exposure="node_port")
    assert exposure.address(spec, [*LIVE, published(told)]) == address


def test_a_load_balancer_that_lists_nodes_keeps_the_address_that_sites_know(parsed_hub):
    def address(*given, told="10.0.0.2:9092", **changes):
        service = {"kind": "Service", "metadata": {"name": "superlink"}, "status": {"loadBalancer": {"ingress": list(given)}}}
        return exposure.address(parsed_hub(superlink_address="", exposure="load_balancer", **changes), [service, published(told)])

    first, second = {"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}
    assert address(first, second) == "10.0.0.2:9092"
    assert address(first) == address(first, second, told="hub.example:9092") == "10.0.0.1:9092"
    assert address(first, second, host="hub.example") == "hub.example:9092"
    assert address() == ""


def test_a_node_port_that_answers_at_one_node_only_is_doubted(parsed_hub):
    local = {"superlink_address": "", "exposure": "node_port", "external_traffic_policy": "Local"}
    (word,) = require(hub_services.exposure(parsed_hub(**local)))
    assert "superlink_host" in word
    for more in ({"host": "10.0.0.1"}, {"superlink_address": "hub.example:443"}, {"external_traffic_policy": ""}, {"exposure": "load_balancer"}):
        spec = parsed_hub(**{**local, **more})
        assert require(hub_services.exposure(spec)) == []


def test_the_host_of_a_route_is_known_before_it_is_admitted(parsed_hub):
    spec = parsed_hub(superlink_address="", exposure="route")
    assert exposure.likely_address(spec, UNADMITTED) == "superlink-flower.apps.example.com:9092"
    assert exposure_of(spec).sets_route_host, "the Route to the next CA's certificate has a host in any case"


def test_names_of_a_certificate(parsed_hub):
    spec = parsed_hub(host="hub.example.com", certificate_names=["192.0.2.1", "other.example.com"])
    assert spec.names_of_certificate(["[2001:db8::1]:9092", "third:443"]) == [
        "superlink.flower.flower.internal",
        "superlink",
        "superlink.flower.svc",
        "hub.example.com",
        "third",
        "other.example.com",
        "2001:db8::1",
        "192.0.2.1",
    ]
