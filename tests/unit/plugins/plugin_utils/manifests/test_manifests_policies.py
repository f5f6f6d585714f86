# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NetworkPolicies: what each rule says. Who may talk to whom in the end is asked of an analyser, on the fleet."""

from __future__ import annotations

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.manifests import network_policies, skupper
from ansible_collections.federated.flower.tests.unit import specs
from ansible_collections.federated.flower.tests.unit.rows import each_row

_DNS_PORTS = [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]
DNS = [
    {"to": [{"ipBlock": {"cidr": "169.254.0.0/16"}}], "ports": _DNS_PORTS},
    *[
        {
            "to": [
                {
                    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}},
                    "podSelector": {"matchLabels": {"k8s-app": app}},
                }
            ],
            "ports": _DNS_PORTS,
        }
        for app in ("kube-dns", "node-local-dns")
    ],
]
STORE = {"cidr": "192.0.2.0/24", "except": ["192.0.2.1"], "ports": ["443", "9000-9010/UDP"]}
STORE_RULE = {
    "to": [{"ipBlock": {"cidr": "192.0.2.0/24", "except": ["192.0.2.1/32"]}}],
    "ports": [{"port": 443, "protocol": "TCP"}, {"port": 9000, "endPort": 9010, "protocol": "UDP"}],
}


def found(objects):
    """Name -> spec of the NetworkPolicies."""
    return {o["metadata"]["name"]: o["spec"] for o in objects if o["kind"] == "NetworkPolicy"}


def own(name):
    labels = {"component": name, "instance": "flower", "name": name, "managed-by": "federated.flower"}
    return {"matchLabels": {f"app.kubernetes.io/{key}": value for key, value in labels.items()}}


def tcp(port):
    return [{"port": port, "protocol": "TCP"}]


def test_a_serverapp_in_the_superlinks_pod_takes_its_ways_along(superlink_spec):
    hub = found(specs.superlink_objects(superlink_spec(isolation="subprocess", serverapp_egress=[STORE])))
    assert list(hub) == ["superlink-default-deny", "superlink"]
    assert hub["superlink"]["ingress"] == [{"ports": tcp(9092)}]
    assert hub["superlink"]["egress"] == [*DNS, STORE_RULE]


@each_row(
    ("changes", "rule"),
    [
        (
            {"superlink_address": "[2001:db8::1]:443"},
            {"to": [{"ipBlock": {"cidr": "2001:db8::1/128"}}], "ports": tcp(443)},
        ),
        (
            {"superlink_cidrs": ["192.0.2.0/28", "198.51.100.7"]},
            {
                "to": [{"ipBlock": {"cidr": "192.0.2.0/28"}}, {"ipBlock": {"cidr": "198.51.100.7/32"}}],
                "ports": tcp(9092),
            },
        ),
        (
            {"http_proxy": {"address": "192.0.2.30:3128"}},
            {"to": [{"ipBlock": {"cidr": "192.0.2.30/32"}}], "ports": tcp(3128)},
        ),
        ({"http_proxy": {"address": "proxy.example.com:8080"}}, {"ports": tcp(8080)}),
    ],
)
def test_the_way_to_the_superlink(changes, rule, supernode_spec):
    site = found(specs.supernode_objects(supernode_spec(hub_namespace="", **changes)))
    assert list(site) == ["supernode-default-deny", "supernode"]
    assert site["supernode"] == {
        "podSelector": own("supernode"),
        "policyTypes": ["Ingress", "Egress"],
        "egress": [*DNS, rule],
    }


def test_the_way_to_the_superlink_in_the_same_cluster(supernode_spec):
    """Plugins that see the pod behind the address of a Service, a node port or a load balancer: K3s, Calico, Cilium."""
    here = {
        "to": [
            {
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "fl"}},
                "podSelector": own("superlink"),
            }
        ],
        "ports": tcp(9092),
    }

    def egress(**changes):
        return found(specs.supernode_objects(supernode_spec(hub_namespace="fl", **changes)))["supernode"]["egress"]

    assert egress(superlink_address="192.0.2.10:443")[-1] == here
    assert here not in egress(http_proxy={"address": "192.0.2.30:3128"})
    assert here not in egress(connectivity="skupper", superlink_address="flower-superlink:9092")


def test_dns_elsewhere(supernode_spec):
    places = [
        {"namespace": "openshift-dns", "ports": ["5353/UDP", "5353/TCP"]},
        {"cidr": "169.254.20.10", "ports": ["53/UDP"]},
    ]
    egress = found(specs.supernode_objects(supernode_spec(dns=places, hub_namespace="")))["supernode"]["egress"]
    assert [[port["port"] for port in rule["ports"]] for rule in egress] == [[53], [5353, 5353], [9092]]
    assert egress[0]["to"] == [{"ipBlock": {"cidr": "169.254.20.10/32"}}]


def test_strangers_in_somebody_elses_namespace_are_left_alone(superlink_spec, parsed_hub, supernode_spec):
    hub = found(specs.superlink_objects(superlink_spec(create_namespace=False)))
    site = found(specs.supernode_objects(supernode_spec(create_namespace=False)))
    assert set(hub) == {"superlink", "serverapp"} and set(site) == {"supernode"}
    assert all(spec["podSelector"]["matchLabels"] for spec in [*hub.values(), *site.values()])
    assert network_policies.default_deny(parsed_hub(create_namespace=False), "superlink") == []


def selections(objects):
    """Kind and name of what selects pods, and the labels by which it does; not of workloads, which cannot change theirs."""
    for obj in objects:
        spec = obj.get("spec", {})
        labels = {
            "Service": lambda own: own["selector"],
            "NetworkPolicy": lambda own: own["podSelector"]["matchLabels"],
            "PodDisruptionBudget": lambda own: own["selector"]["matchLabels"],
            "Connector": lambda own: dict(pair.split("=") for pair in own["selector"].split(",")),
        }.get(obj["kind"])
        if labels:
            yield f"{obj['kind']} {obj['metadata']['name']}", labels(spec)
        rules = [*spec.get("ingress", []), *spec.get("egress", [])] if obj["kind"] == "NetworkPolicy" else []
        for peer in (peer for rule in rules for peer in rule.get("from", []) + rule.get("to", [])):
            if "app.kubernetes.io/name" in peer.get("podSelector", {}).get("matchLabels", {}):
                yield f"a rule of NetworkPolicy {obj['metadata']['name']}", peer["podSelector"]["matchLabels"]


def test_pods_of_others_with_the_same_names_are_not_selected(superlink_spec, parsed_hub, supernode_spec, parsed_listener):
    own = {"create_namespace": False}
    hub = specs.superlink_objects(superlink_spec(**own, metrics={"enabled": True}, protect_runs=True))
    network = [*skupper.connector_objects(parsed_listener()), *skupper.skupper_connector_objects(parsed_hub(**own))]
    apart = supernode_spec(**own, clientapp="workload", disruption_budget=1, pools=[{"name": "cpu", "replicas": 2}])
    seen = set()
    for what, labels in selections([*hub, *network, *specs.supernode_objects(apart)]):
        name = labels["app.kubernetes.io/name"]
        foreign = {**labels, "app.kubernetes.io/managed-by": "flower-operator"}
        foreign.pop("federated.flower/pool", None)
        assert not labels.items() <= foreign.items(), f"{what} selects pods that flower-operator manages"
        seen.add((what.partition(" ")[0], name))
    assert {("Service", "superlink"), ("NetworkPolicy", "superlink"), ("Connector", "superlink"), ("Service", "supernode")} <= seen
    assert {("PodDisruptionBudget", "serverapp"), ("PodDisruptionBudget", "supernode"), ("NetworkPolicy", "clientapp")} <= seen


def test_switched_off(superlink_spec, parsed_hub, supernode_spec):
    for off in (False, "False"):
        assert found(specs.superlink_objects(superlink_spec(network_policies=off))) == {}
        assert found(specs.supernode_objects(supernode_spec(network_policies=off))) == {}
        assert network_policies.default_deny(parsed_hub(network_policies=off), "superlink") == []


def test_hub_and_site_may_share_a_namespace(superlink_spec, supernode_spec):
    assert not set(found(specs.superlink_objects(superlink_spec()))) & set(
        found(specs.supernode_objects(supernode_spec()))
    )


def test_every_pod_has_a_policy_of_its_own_before_it_is_made(goldens):
    for name, objects in goldens.items():
        closed = []
        for obj in objects:
            if obj["kind"] == "NetworkPolicy" and obj["spec"]["podSelector"]:
                assert obj["spec"]["policyTypes"] == ["Ingress", "Egress"]
                closed.append(obj["spec"]["podSelector"]["matchLabels"])
            if "template" in obj.get("spec", {}):
                labels = obj["spec"]["template"]["metadata"]["labels"]
                assert [chosen for chosen in closed if chosen.items() <= labels.items()], f"{name}: {obj['kind']}"


@each_row(
    ("text", "port"),
    [
        ("443", {"port": 443, "protocol": "TCP"}),
        (443, {"port": 443, "protocol": "TCP"}),
        ("53/UDP", {"port": 53, "protocol": "UDP"}),
        ("1-65535/SCTP", {"port": 1, "endPort": 65535, "protocol": "SCTP"}),
        ("80-80", {"port": 80, "protocol": "TCP"}),
    ],
)
def test_ports(text, port):
    assert network_policies.parse_port(text) == port


@each_row("text", ["", "0", "65536", "2-1", "53/udp", "53/ICMP", "https", "1-", "-1", " 1", None])
def test_no_ports(text):
    with pytest.raises(ValueError):
        network_policies.parse_port(text)
