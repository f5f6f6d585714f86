# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""The stand-in does on the fleet what Skupper's own programs did there: ``observed.yml`` says what, and when it was seen."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import test_standin as contract
import yaml
from skupper_standin.kube import Object
from skupper_standin.switches import Switches
from test_standin import RESYNC, Net, Place, until

pytestmark = contract.pytestmark
SEEN: dict[str, Any] = yaml.safe_load((Path(__file__).with_name("observed.yml")).read_text(encoding="utf-8"))
LEVEL = "pod-security.kubernetes.io/enforce"
# Takes connections for 6 s, then none for 4 s, and so on.
FLICKER = """
import socket, time
while True:
    with socket.create_server(("", 9092)) as door:
        time.sleep(6)
    time.sleep(4)
"""
ROUTERS = "skupper-router", "skupper-router-2"


@pytest.fixture(scope="module")
def net() -> Iterator[Net]:
    """The hub with a load balancer and a pod behind its Connector, and one site that is linked directly."""
    yield from contract.network()


def router_pods(place: Place, group: str = ROUTERS[0]) -> list[Object]:
    """Pods of one router that are not going."""
    found = place.client.list("Pod", place.name)[0]
    return [
        one
        for one in found
        if one["metadata"]["namespace"] == place.name
        and one["metadata"].get("labels", {}).get("skupper.io/group") == group
        and not one["metadata"].get("deletionTimestamp")
    ]


def test_the_pace_is_skuppers_unless_someone_says_otherwise() -> None:
    late, by = SEEN["seconds"]["stale"]
    assert Switches().resync == SEEN["seconds"]["resync"] and late < Switches().staleness < by


def test_statuses_and_messages(net: Net) -> None:
    """Those of a network that is well, and of objects that nothing answers."""
    net.hub.true("Site", "hub", seconds=60)
    net.a.true("Link", "link-hub", seconds=60)
    net.a.make("Listener", "lonely", {"routingKey": "lonely", "host": "lonely", "port": 80})
    net.a.true("Listener", "lonely", "Configured")
    net.hub.make("Site", "second", {})
    hub = net.hub.says("Site", "second", "An active site already exists")
    net.a.says("Listener", "lonely", "No matching connectors")
    given = {
        ("Site", "Ready", "True"): net.hub.condition("Site", "hub"),
        ("Link", "Ready", "True"): net.a.condition("Link", "link-hub"),
        ("Listener", "Ready", "False"): net.a.condition("Listener", "lonely"),
        ("Site", "Configured", "False"): next(one for one in hub["conditions"] if one["type"] == "Configured"),
    }
    for kind, condition, status, message in SEEN["status"]:
        found = given.get((kind, condition, status))
        if found is not None:
            assert (found["status"], message in found["message"]) == (status, True), found
    assert list(net.hub.get("Certificate", "link-a")["status"]) == SEEN["certificate_status"]
    net.hub.delete("Site", "second")
    net.a.delete("Listener", "lonely")


def test_the_pods_of_a_router(net: Net) -> None:
    (pod,) = router_pods(net.hub)
    for part in ("init_containers", "containers"):
        key = "initContainers" if part == "init_containers" else "containers"
        assert [one["name"] for one in pod["spec"][key]] == SEEN["pods"][part]
    assert net.hub.get("ServiceAccount", "skupper-router")


def test_a_namespace_that_enforces_restricted_refuses_them_for_one_reason(net: Net) -> None:
    """The Deployment says why there are no pods. With baseline there are some, when Kubernetes tries again."""
    place = net.bare
    path = f"/api/v1/namespaces/{place.name}"

    def enforce(level: str) -> None:
        labels = {"metadata": {"labels": {LEVEL: level}}}
        place.client.request("PATCH", path, labels, "application/merge-patch+json")

    enforce("restricted")
    place.make("Site", "bare", {})

    def refused() -> str:
        found = place.there("Deployment", ROUTERS[0]) or {}
        listed = found.get("status", {}).get("conditions", [])
        return next((one["message"] for one in listed if one["type"] == SEEN["pods"]["condition"]), "")

    until(lambda: SEEN["pods"]["violates"] in refused(), what="a refusal")
    said = refused()
    for name in (*SEEN["pods"]["init_containers"], *SEEN["pods"]["containers"]):
        assert f'"{name}"' in said
    assert not [word for word in ("runAsNonRoot", "capabilities", "allowPrivilege") if word in said], said
    assert not router_pods(place)
    until(lambda: place.get("Site", "bare").get("status", {}).get("message") == "Not Running", what="a site that does not run")
    assert place.condition("Site", "bare", "Running").get("status") != "True"
    enforce("baseline")
    place.true("Site", "bare", seconds=60)


def test_a_link_outlives_its_site_and_is_of_no_use_until_it_is_touched(net: Net) -> None:
    place, seen = net.a, SEEN["former_link"]
    before = place.true("Link", "link-hub")
    place.delete("Site", "a")
    until(
        lambda: not place.there("Deployment", ROUTERS[0]) and not place.there("ConfigMap", ROUTERS[0]), what="its end"
    )
    time.sleep(1)  # for what the controller would say
    gone = place.get("Link", "link-hub")
    for kind in seen["keeps"]:
        assert place.condition("Link", "link-hub", kind)["status"] == "True"
    assert {key: gone["status"][key] for key in seen["keeps_fields"]} == {
        key: before["status"][key] for key in seen["keeps_fields"]
    }
    place.make("Site", "a", {})
    place.true("Site", "a", seconds=60)
    time.sleep(RESYNC + 2)
    config = json.loads(place.get("ConfigMap", ROUTERS[0])["data"]["router.json"])
    assert not config["links"] and not place.router()["links"]
    after = place.get("Link", "link-hub")
    assert after["status"] == before["status"], "as if nothing had happened"
    place.patch("Link", "link-hub", {"metadata": {"annotations": {"anything": "else"}}})
    until(lambda: [one["status"] for one in place.router()["links"]] == ["up"], seen["after_annotation_seconds"] + 10)


def test_two_routers_link_to_each_other_and_a_switch_replaces_the_first(net: Net) -> None:
    (first,) = router_pods(net.hub)
    net.hub.patch("Site", "hub", {"spec": {"ha": True}})
    until(lambda: router_pods(net.hub, ROUTERS[1]), what="a second router")

    def dialled() -> bool:
        state = net.hub.there("ConfigMap", f"{ROUTERS[1]}-state")
        links = json.loads(state["data"]["state.json"])["links"] if state else []
        return [(one["name"], one["status"]) for one in links] == [(ROUTERS[0], "up")]

    until(dialled, 60, "the second router's link to the first")

    def replaced() -> bool:
        return first["metadata"]["uid"] not in {one["metadata"]["uid"] for one in router_pods(net.hub)}

    until(replaced, 60, "another first router")
    assert net.hub.get("Site", "hub")["status"]["sitesInNetwork"] <= 2, "a Site is no neighbour of its own"
    net.hub.patch("Site", "hub", {"spec": {"ha": False}})
    until(lambda: not net.hub.there("Deployment", ROUTERS[1]), 60)
    net.a.true("Link", "link-hub", seconds=SEEN["seconds"]["links_back_after_routers_died"] + 30)


def test_what_another_site_has_lost_is_told_late_and_what_a_router_has_lost_at_once(net: Net) -> None:
    net.a.true("Listener", "fleet", seconds=60)
    until(lambda: net.hub.get("Site", "hub")["status"]["sitesInNetwork"] == 2, 60)
    begin = time.monotonic()
    net.hub.delete("Connector", "fleet")
    net.a.says("Listener", "fleet", "No matching connectors", RESYNC + 15)
    assert time.monotonic() - begin > RESYNC - 1, "it was known at once"
    (pod,) = router_pods(net.hub)
    net.hub.delete("Pod", pod["metadata"]["name"])
    until(lambda: net.hub.get("Site", "hub")["status"].get("sitesInNetwork") == 1, what="it knows itself alone")
    until(lambda: net.hub.get("Site", "hub")["status"].get("sitesInNetwork") == 2, 60, "the others again")
    spec = {"routingKey": "fleet", "port": 9092, "selector": "app=server"}
    net.hub.make("Connector", "fleet", spec)
    net.a.true("Listener", "fleet")


def test_a_pod_that_is_not_ready_for_a_moment_loses_its_connector_and_gets_it_back(net: Net) -> None:
    net.hub.make("Connector", "gate", {"routingKey": "gate", "port": 9092, "selector": "app=gate"})
    probe = {"tcpSocket": {"port": 9092}, "periodSeconds": 1, "failureThreshold": 1}
    contract.pod(net.hub, "gate", FLICKER, probe=probe)

    def connected() -> bool:
        return any(one["name"].startswith("gate@") for one in net.hub.router().get("connectors", []))

    def ready() -> bool:
        found = net.hub.get("Pod", "gate")["status"].get("conditions", [])
        return any(one["type"] == "Ready" and one["status"] == "True" for one in found)

    until(connected, 60, "a connector")
    until(lambda: not connected(), 30, "its end")
    until(ready, 30)
    begin = time.monotonic()
    until(connected, what="the connector again")
    assert time.monotonic() - begin < SEEN["seconds"]["connector_remade_when_its_pod_is_ready_again"] + 3
