# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""What the stand-in says, and when, without a cluster: README.md, §1, §4 and §7."""

from __future__ import annotations

import json
from typing import Any

import pytest
from skupper_standin import bindings, links, network, site
from skupper_standin.conditions import CONFIGURED, READY, RESOLVED, RUNNING
from skupper_standin.kube import API_VERSION, KINDS, Object, path_of
from skupper_standin.space import Space
from skupper_standin.store import Store
from skupper_standin.switches import NEVER_MATCHED, UNREADY, Switches

NAMESPACE = "place"


class Api:
    """An API server that keeps what is written."""

    def __init__(self) -> None:
        self.written: dict[str, Object] = {}

    def create(self, item: Object) -> Object:
        data = {**item["metadata"], "uid": f"uid-{item['metadata']['name']}", "resourceVersion": "9", "creationTimestamp": "2026-11-27T10:00:00Z"}
        made = {**item, "metadata": data}
        self.written[path_of(item["kind"], data["namespace"], data["name"])] = made
        return made

    apply = replace = create

    def get(self, kind: str, namespace: str, name: str) -> Object | None:
        return self.written.get(path_of(kind, namespace, name))


class Place:
    """A namespace with a Site."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **spec: Any) -> None:
        self.now, self.asked = 100.0, list[float]()
        for module in ("space", "network"):
            monkeypatch.setattr(f"skupper_standin.{module}.time.monotonic", lambda: self.now)
        self.api, self.number = Api(), 0
        self.store = Store(self.api, lambda kind, key: None, print)  # type: ignore[arg-type]
        self.space = Space(NAMESPACE, "one", self.api, self.store, Switches(), print, self.asked.append)  # type: ignore[arg-type]
        self.space.site = self.make("Site", "here", spec)

    def make(self, kind: str, name: str, spec: Object | None = None, *, generation: int = 1, **more: Any) -> Object:
        """Make or change an object."""
        self.number += 1
        data = {"name": name, "namespace": NAMESPACE, "uid": f"uid-{name}", "generation": generation, "resourceVersion": str(self.number)}
        data |= {"creationTimestamp": f"2026-11-27T10:00:{self.number:02}Z", **more.pop("metadata", {})}
        item = {"apiVersion": KINDS[kind][0], "kind": kind, "metadata": data, "spec": spec or {}, **more}
        self.store.put(item)
        return item

    def pod(self, name: str, labels: dict[str, str], **conditions: tuple[bool, str]) -> None:
        """A pod that runs; its conditions with their messages."""
        said = [{"type": kind, "status": str(good), **({"message": text} if text else {})} for kind, (good, text) in conditions.items()]
        self.make("Pod", name, status={"phase": "Running", "podIP": "10.0.0.1", "conditions": said}, metadata={"labels": labels})

    def says(self, item: Object) -> tuple[str, str, dict[str, tuple[str, str]]]:
        """Status, message and conditions of an object, with all that was said of it so far."""
        found = self.space.status(item).value
        return found.get("status", ""), found.get("message", ""), {one["type"]: (one["status"], one["message"]) for one in found.get("conditions", [])}


ROUTER = {"skupper.io/component": "router", "skupper.io/type": "site"}
INIT, UP = "containers with incomplete status: [config-init]", "containers with unready status: [router kube-adaptor]"


def test_a_site_while_its_router_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """In this order, and no condition before it was evaluated."""
    place = Place(monkeypatch, linkAccess="default")
    told = []
    for pod in (None, {}, {"Initialized": (False, INIT)}, {"Initialized": (True, ""), "Ready": (False, UP)}, {"Ready": (True, "")}):
        if pod is not None:
            place.pod("skupper-router-1", ROUTER, **pod)
        site.tell(place.space, None, [])
        assert place.space.site is not None
        status, message, conditions = place.says(place.space.site)
        told.append((status, message, conditions.get(RUNNING)))
    assert told == [
        ("Pending", "Not Running", None),
        ("Pending", "", ("False", "")),
        ("Pending", INIT, ("False", INIT)),
        ("Pending", UP, ("False", UP)),
        ("Pending", "Not Resolved", ("True", "OK")),
    ]
    place.make("RouterAccess", "skupper-router")
    site.tell(place.space, None, [])
    good, wait = ("True", "OK"), ("False", "Pending")
    assert place.says(place.space.site)[1:] == ("Pending", {CONFIGURED: good, RUNNING: good, READY: wait, RESOLVED: wait})


def test_ready_is_taken_back_for_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(monkeypatch)
    place.pod("skupper-router-1", ROUTER, Ready=(True, ""))
    site.tell(place.space, None, [])
    assert place.says(place.space.site)[0] == "Ready"  # type: ignore[arg-type]
    unready = place.make("Site", "here", metadata={"annotations": {UNREADY: "[kube-adaptor]"}})
    place.space.forget()
    place.space.site = unready
    site.tell(place.space, None, [])
    assert place.says(unready)[:2] == ("Pending", "containers with unready status: [kube-adaptor]")


def test_a_condition_is_absent_until_it_was_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(monkeypatch)
    listener = place.make("Listener", "l", {"routingKey": "k", "host": "h", "port": 1})
    connector = place.make("Connector", "c", {"routingKey": "k2", "host": "h", "port": 1})
    bindings.listen(place.space, {}, [])
    bindings.connect(place.space)
    bindings.seen(place.space, set(), set())
    for item in (listener, connector):
        assert place.says(item)[:2] == ("Pending", "Not Matched") and "Matched" not in place.says(item)[2]
    assert place.asked == [2.0, 2.0]
    place.now += 2
    bindings.seen(place.space, set(), set())
    assert place.says(listener)[1] == "No matching connectors" and place.says(connector)[2]["Matched"] == ("False", "No matching listeners")
    bindings.seen(place.space, {"k2"}, {"k"})
    assert place.says(listener)[0] == place.says(connector)[0] == "Ready"


def test_a_match_that_is_there_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(monkeypatch)
    listener = place.make("Listener", "l", {"routingKey": "k", "host": "h", "port": 1})
    never = place.make("Listener", "n", {"routingKey": "k", "host": "n", "port": 1}, metadata={"annotations": {NEVER_MATCHED: "true"}})
    bindings.listen(place.space, {}, [])
    bindings.seen(place.space, set(), {"k"})
    assert place.says(listener)[0] == "Ready" and place.says(never)[1] == "Not Matched"


def test_a_connector_without_ready_pods_stays_matched(monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(monkeypatch)
    connector = place.make("Connector", "c", {"routingKey": "k", "selector": "app=x", "port": 1})
    bindings.connect(place.space)
    assert place.says(connector)[:2] == ("Error", "No matches for selector")
    place.pod("x", {"app": "x"}, Ready=(True, ""))
    assert bindings.connect(place.space)
    bindings.seen(place.space, {"k"}, set())
    assert place.says(connector)[0] == "Ready"
    place.pod("x", {"app": "x"}, Ready=(False, "not ready"))
    assert not bindings.connect(place.space)
    bindings.seen(place.space, {"k"}, set())
    status, message, conditions = place.says(connector)
    assert (status, message, conditions["Matched"]) == ("Error", "No matches for selector", ("True", "OK"))


def test_a_selection_that_was_changed_to_an_empty_one_has_a_word_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(monkeypatch)
    place.pod("x", {"app": "x"}, Ready=(True, ""))
    connector = place.make("Connector", "c", {"routingKey": "k", "selector": "app=x", "port": 1})
    bindings.connect(place.space)
    before = place.space.status(connector).value
    place.space.forget()
    connector = place.make("Connector", "c", {"routingKey": "k", "selector": "app=y", "port": 1}, generation=2, status=before)
    for _look in range(2):
        bindings.connect(place.space)
        assert place.says(connector)[1] == "No pods match selector"


def test_the_first_listener_that_was_processed_has_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    def twice(*names: str) -> dict[str, str]:
        for name in names:
            place.make("Listener", name, {"routingKey": "k", "host": "h", "port": 7})
        place.space.forget()
        bindings.listen(place.space, {}, [])
        return {one["metadata"]["name"]: place.says(one)[1] for one in place.store.all("Listener")}

    place = Place(monkeypatch)
    lost = "Listener {} with host h and port 7 already exists in namespace"
    assert twice("old") == {"old": "Not Matched"}
    assert twice("young") == {"old": "Not Matched", "young": lost.format("young")}
    place.space.places.clear()  # a controller that was started anew; the younger one wins as well where both are older than their Site
    assert twice() == {"old": lost.format("old"), "young": "Not Matched"}


def test_a_new_link_waits_until_someone_changes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(monkeypatch)
    spec = {"endpoints": [{"name": "inter-router", "host": "h", "port": "1"}], "tlsCredentials": "none"}
    link = place.make("Link", "l", spec)
    assert links.configure(place.space) == []
    links.tell(place.space)
    assert place.says(link) == ("", "", {})
    link = place.make("Link", "l", spec, generation=2, metadata={"labels": {"a": "b"}})
    place.space.forget()
    assert [one["name"] for one in links.configure(place.space)] == ["l"]
    links.tell(place.space)
    assert place.says(link)[:2] == ("Pending", "Not Operational")


def test_kube_adaptors_leave_a_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(monkeypatch)
    site.elect(place.space, again=False)
    assert place.api.written == {}
    place.pod("skupper-router-1", ROUTER)
    site.elect(place.space, again=False)
    lease = next(iter(place.api.written.values()))
    assert lease["metadata"]["name"] == "skupper-site-leader" and not {"ownerReferences", "labels"} & lease["metadata"].keys()


def test_the_network_status_belongs_to_the_router(monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(monkeypatch)
    view = network.SiteView("uid-here", "here", NAMESPACE, "2.2.1", [{"pod": "p", "links": [], "inbound": [], "connectors": [], "listeners": []}])
    network.publish(place.space, [view])
    assert not place.api.written
    place.api.create({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "skupper-router", "namespace": NAMESPACE}})
    network.publish(place.space, [view])
    data = place.api.written[path_of("ConfigMap", NAMESPACE, network.NAME)]["metadata"]
    assert [(one["apiVersion"], one["kind"]) for one in data["ownerReferences"]] == [("apps/v1", "Deployment")] and "labels" not in data


@pytest.mark.parametrize(("without_pods", "left"), [({("connectors", "k")}, 0), ({("connectors", "other")}, 1), (set(), 1)])
def test_a_connector_that_lost_its_pods_is_lost_at_once(monkeypatch: pytest.MonkeyPatch, without_pods: set[tuple[str, str]], left: int) -> None:
    def entry(uid: str, keys: list[str]) -> Object:
        router = {"router": {"name": uid}, "links": [], "connectors": [{"address": key} for key in keys], "listeners": []}
        return {"site": {"identity": uid}, "routerStatus": [router]}

    place = Place(monkeypatch)
    view = network.SiteView("hub", "hub", "x", "2.2.1", without_pods=without_pods)
    here = entry("uid-here", [])
    told = network._late(place.space, [here, entry("hub", ["k"])], [here, entry("hub", [])], [view])
    assert sum(len(one["routerStatus"][0]["connectors"]) for one in told) == left
    assert API_VERSION in json.dumps(place.space.owner)
