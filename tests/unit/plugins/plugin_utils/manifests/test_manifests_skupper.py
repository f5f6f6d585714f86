# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects of the Skupper network, and the ways that its policies open."""

from __future__ import annotations

from ansible_collections.federated.flower.plugins.plugin_utils.manifests import network_policies, skupper, supernode

HUB = [
    {"name": "edge", "host": "192.0.2.7", "port": "45671", "group": "skupper-router"},
    {"name": "inter-router", "host": "192.0.2.7", "port": "55671", "group": "skupper-router"},
]
GRANT = {"url": "https://192.0.2.7:9090/uid", "code": "the-code", "ca": "PEM"}
DATA = {"tls.crt": "certificate", "tls.key": "key", "ca.crt": "authority"}


def test_golden_of_the_hub(parsed_network_site, parsed_listener, golden):
    spec = parsed_network_site(
        cluster="hub", link_access="default", ha=True, controller="skupper/one", monitoring_namespaces=["m"]
    )
    listener = parsed_listener(cluster="hub")
    rendered = [*skupper.site_objects(spec), *skupper.skupper_site_objects(spec)]
    rendered += [*skupper.connector_objects(listener), *skupper.skupper_connector_objects(listener)]
    golden("skupper-hub", rendered)


def test_golden_of_a_site(parsed_network_site, parsed_link, parsed_listener, golden):
    spec, link, listener = parsed_network_site(), parsed_link(), parsed_listener(labels={"team": "a"})
    rendered = [*skupper.site_objects(spec), *skupper.skupper_site_objects(spec)]
    rendered += [skupper.link_secret(link, DATA), *skupper.links(link, HUB, {})]
    rendered += [*skupper.skupper_link_objects(link, HUB)]
    rendered += [*skupper.listener_objects(listener), *skupper.skupper_listener_objects(listener)]
    golden("skupper-site", rendered)


def test_golden_of_a_token(parsed_link, golden):
    spec = parsed_link(mode="token", cost=5, window="90s")
    made = [skupper.certificate(spec, "skupper-site-ca"), skupper.access_grant(spec), skupper.access_token(spec, GRANT)]
    golden("skupper-token", made)


def test_one_link_for_each_group_of_a_hub_with_two_routers(parsed_link):
    second = [{**entry, "group": "skupper-router-2", "host": "192.0.2.8"} for entry in HUB]
    made = skupper.links(parsed_link(proxy_secret="proxy", cost=3), HUB + second, {"skupper-router-2": "flower-hub-1"})
    assert [link["metadata"]["name"] for link in made] == ["flower-hub-skupper-router", "flower-hub-1"]
    assert all(link["spec"]["tlsCredentials"] == "flower-hub" and link["spec"]["cost"] == 3 for link in made)
    assert made[0]["spec"]["settings"] == {"proxy-configuration": "proxy"}
    # A Link takes the first endpoint of its role; whatever order the API gives them in, the result is the same.
    assert [entry["name"] for entry in made[0]["spec"]["endpoints"]] == ["inter-router", "edge"]
    assert skupper.links(parsed_link(), list(reversed(HUB)), {}) == skupper.links(parsed_link(), HUB, {})


def test_end_of_a_grant_in_a_form_that_go_reads(parsed_link):
    def window(text):
        return skupper.access_grant(parsed_link(window=text))["spec"]["expirationWindow"]

    assert [window(text) for text in ("10m", "2h", "45s")] == ["600s", "7200s", "45s"]


def test_connector_selects_the_pods_that_the_superlink_has(parsed_listener, parsed_hub):
    from ansible_collections.federated.flower.plugins.plugin_utils.manifests import superlink

    (connector,) = skupper.connector_objects(parsed_listener())
    chosen = dict(part.split("=") for part in connector["spec"]["selector"].split(","))
    (pod,) = (o["spec"]["template"] for o in superlink.objects(parsed_hub()) if o["metadata"]["name"] == "superlink" and o["kind"] == "StatefulSet")
    assert chosen.items() <= pod["metadata"]["labels"].items()
    ports = [port["containerPort"] for c in pod["spec"]["containers"] for port in c.get("ports", [])]
    assert connector["spec"]["port"] in ports


def test_both_ends_have_one_routing_key(parsed_listener):
    for key in ("", "mine"):
        spec = parsed_listener(routing_key=key)
        (listener,), (connector,) = skupper.listener_objects(spec), skupper.connector_objects(spec)
        assert listener["spec"]["routingKey"] == connector["spec"]["routingKey"] == (key or "flower-fleet")
        assert "tlsCredentials" not in {**listener["spec"], **connector["spec"]}


def rules(objects, direction):
    return [(item["metadata"]["name"], rule) for item in objects for rule in item["spec"].get(direction, [])]


def test_supernodes_may_call_their_router_and_no_address(parsed_site):
    spec = parsed_site(connectivity="skupper", superlink_address="flower-superlink:9092")
    (policy,) = (p for p in network_policies.supernode_policies(spec) if p["metadata"]["name"] == "supernode")
    assert {"to": [{"podSelector": {"matchLabels": skupper.ROUTER}}]} in policy["spec"]["egress"]
    assert {rule["ports"][0]["port"] for rule in policy["spec"]["egress"] for peer in rule["to"] if "ipBlock" in peer} == {53}


def test_policies_of_skupper_only_where_a_policy_closes_the_namespace(parsed_network_site, parsed_link, parsed_listener):
    for switch in ({"network_policies": False}, {"create_namespace": False}):
        assert skupper.skupper_site_objects(parsed_network_site(**switch)) == []
        assert skupper.skupper_link_objects(parsed_link(**switch), HUB) == []
        assert skupper.skupper_listener_objects(parsed_listener(**switch)) == []
    # The SuperLink's own policy closes its pod everywhere.
    owned = skupper.skupper_connector_objects(parsed_listener(create_namespace=False))
    assert [p["metadata"]["name"] for p in owned] == ["skupper-superlink"]
    assert skupper.skupper_connector_objects(parsed_listener(network_policies=False)) == []


def test_way_of_a_router_to_the_hub(parsed_link):
    ((_name, rule),) = rules(skupper.skupper_link_objects(parsed_link(), HUB), "egress")
    assert rule["to"] == [{"ipBlock": {"cidr": "192.0.2.7/32"}}]
    assert [port["port"] for port in rule["ports"]] == [45671, 55671]
    named = [{**entry, "host": "router.example.com", "port": "443"} for entry in HUB]
    ((_name, rule),) = rules(skupper.skupper_link_objects(parsed_link(), named), "egress")
    assert rule == {"ports": [{"port": 443, "protocol": "TCP"}]}


def test_a_controller_of_the_namespace_has_its_ways(parsed_network_site):
    names = [
        p["metadata"]["name"] for p in skupper.skupper_site_objects(parsed_network_site(install="manifests", scope="namespace"))
    ]
    assert names == ["skupper-router", "skupper-controller"]
    assert len(skupper.skupper_site_objects(parsed_network_site(install="manifests"))) == 1


def test_router_takes_calls_of_supernodes(parsed_listener, parsed_site):
    ((_name, rule),) = rules(skupper.skupper_listener_objects(parsed_listener()), "ingress")
    (stateful_set,) = (o for o in supernode.objects(parsed_site()) if o["kind"] == "StatefulSet")
    labels = stateful_set["spec"]["template"]["metadata"]["labels"]
    assert rule["from"][0]["podSelector"]["matchLabels"].items() <= labels.items()
