# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The record of a set never forgets what could not be looked at."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.apply import applyset, live_objects
from ansible_collections.federated.flower.plugins.plugin_utils.apply.engine import apply_objects
from ansible_collections.federated.flower.plugins.plugin_utils.apply.results import ApplyFailed
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import (
    ERRORS,
    ApiError,
    Conflict,
    NotServed,
)
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.tests.unit.rows import each_row

Object = dict[str, Any]

RECORD = "/api/v1/namespaces/flower/configmaps/applyset-superlink"
SETTINGS = "/api/v1/namespaces/flower/configmaps/settings"
INGRESSES = "/apis/networking.k8s.io/v1/namespaces/flower/ingresses"
LISTED = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "flower"}}


def fields(value: Any) -> Object:
    """The fields of an object, as managedFields have them."""
    return {f"f:{name}": fields(part) for name, part in value.items()} if isinstance(value, dict) else {}


def live(obj: Object, uid: str) -> Object:
    """An object that this collection applied."""
    content = {name: part for name, part in obj.items() if name not in ("apiVersion", "kind", "metadata")}
    owned = fields({**content, "metadata": {name: part for name, part in obj["metadata"].items() if name not in ("name", "namespace")}})
    manager = {"manager": "federated.flower", "operation": "Apply", "apiVersion": obj["apiVersion"], "fieldsV1": owned}
    return {**obj, "metadata": {**obj["metadata"], "uid": uid, "resourceVersion": f"{uid}0", "managedFields": [manager]}}


def ingress() -> Object:
    meta = {"name": "superlink", "namespace": "flower", "labels": {applyset.PART_OF: applyset.set_id("superlink", "flower")}}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": meta}


class Hub(Cluster):
    """An API server that refuses some paths. Its set has had an object of another kind, too.

    Args:
        kind: that kind, as the record names it.
        refused: path -> HTTP status.
    """

    def __init__(self, kind: str, refused: dict[str, int]) -> None:
        self.name = "hub"
        self.requests = 0
        self.warnings: dict[str, None] = {}
        self._kinds: dict[str, Any] = {}
        self.refused = refused
        parent = applyset.parent_object("superlink", "flower", [("", "ConfigMap"), tuple(kind.split(".", 1)[::-1])], ["other"])
        self.objects = {RECORD: live(parent, "1"), SETTINGS: live(applyset.with_label(LISTED, applyset.set_id("superlink", "flower")), "2")}
        self.objects[f"{INGRESSES}/superlink"] = live(ingress(), "3")
        self.sent: list[tuple[str, str, Any]] = []

    def request(self, method: str, path: str, *, query: Any = None, body: Any = None, content_type: str = "", **_more: Any) -> Object:
        """Any request; an object that was applied is the one that was sent."""
        if path in self.refused:
            words = f'User "jane" cannot list resource "{path.rpartition("/")[2]}" in API group "x" in the namespace "flower"'
            status = self.refused[path]
            raise ERRORS.get(status, ApiError)("hub", f"{method} {path}", status, {"message": words})
        if method == "GET":
            if path in self.objects:
                return self.objects[path]
            items = [dict(obj) for place, obj in self.objects.items() if place.rpartition("/")[0] == path]
            if query and "labelSelector" in query:
                label = query["labelSelector"].partition("=")[2]
                items = [obj for obj in items if (obj["metadata"].get("labels") or {}).get(applyset.PART_OF) == label]
                return {"items": items}
            raise NotServed("hub", path, 404, {"message": "page not found"})
        self.sent.append((method, path, body))
        if method == "DELETE":
            self.objects.pop(path, None)
        else:
            self.objects[path] = live(body, "1")
        return self.objects.get(path) or {}

    def noted(self) -> tuple[str, str]:
        """Kinds and further namespaces that the record names."""
        notes = self.objects[RECORD]["metadata"]["annotations"]
        return notes[applyset.GROUP_KINDS], notes.get(applyset.NAMESPACES, "")

    def gone(self) -> list[str]:
        """What was deleted."""
        return [path for method, path, _body in self.sent if method == "DELETE"]


def run(hub: Hub, state: str = "present", **options: Any) -> Any:
    objects = [LISTED] if state == "present" else []
    return apply_objects(hub, objects, state=state, applyset="superlink", applyset_namespace="flower", **options)


def test_a_kind_that_may_not_be_listed_stays_in_the_record() -> None:
    hub = Hub("Ingress.networking.k8s.io", {INGRESSES: 403})
    result = run(hub)
    (words,) = result.warnings
    assert "user jane cannot list ingresses in namespace flower" in words and "applyset-superlink" in words
    assert hub.gone() == [] and hub.noted() == ("ConfigMap,Ingress.networking.k8s.io", "")
    sent = len(hub.sent)
    again = run(hub)
    assert not again.changed and len(hub.sent) == sent, "a second run writes nothing"
    hub.refused = {}
    run(hub)
    assert hub.gone() == [f"{INGRESSES}/superlink"] and hub.noted() == ("ConfigMap", "")


def test_a_namespace_in_which_it_may_not_be_listed_stays_as_well() -> None:
    hub = Hub("Ingress.networking.k8s.io", {INGRESSES.replace("flower", "other"): 403})
    run(hub)
    assert hub.gone() == [f"{INGRESSES}/superlink"] and hub.noted() == ("ConfigMap,Ingress.networking.k8s.io", "other")


def test_a_kind_that_is_not_served_now_stays_in_the_record() -> None:
    hub = Hub("Route.route.openshift.io", {})
    assert run(hub).warnings == []
    assert hub.noted() == ("ConfigMap,Route.route.openshift.io", "other")


def test_an_aggregated_api_that_does_not_answer_changes_nothing() -> None:
    hub = Hub("Route.route.openshift.io", {"/apis/route.openshift.io": 503})
    for state in ("present", "absent"):
        with pytest.raises(ApplyFailed):
            run(hub, state)
    assert hub.gone() == [] and hub.noted() == ("ConfigMap,Route.route.openshift.io", "other")


def test_a_set_with_members_that_may_not_be_listed_is_not_removed() -> None:
    hub = Hub("Ingress.networking.k8s.io", {INGRESSES: 403})
    with pytest.raises(ApplyFailed) as failure:
        run(hub, "absent")
    (error,) = failure.value.result.errors
    assert error["category"] == "unseen" and "user jane cannot list ingresses in namespace flower" in error["message"]
    assert "remove Ingress.networking.k8s.io from the annotation" in error["message"]
    assert hub.sent == []
    hub.refused = {}
    run(hub, "absent")
    assert hub.gone() == [SETTINGS, f"{INGRESSES}/superlink", RECORD]


def test_unless_the_caller_names_its_members() -> None:
    hub = Hub("Ingress.networking.k8s.io", {INGRESSES: 403})
    run(hub, "absent", named=[("networking.k8s.io", "Ingress")])
    assert hub.gone() == [SETTINGS, RECORD]


def many(number: int, length: int) -> Hub:
    """A hub that lists so many other members, with names of that length."""
    hub = Hub("Ingress.networking.k8s.io", {})
    for count in range(number):
        name = f"{count:06}".ljust(length, "x")
        found = live(ingress(), str(count))
        hub.objects[f"{INGRESSES}/{name}"] = {**found, "metadata": {**found["metadata"], "name": name}}
    return hub


@each_row(("number", "length"), [(live_objects.MOST, 10), (1, 254), (1, 100_000)])
@each_row("state", ["present", "absent"])
def test_an_api_server_decides_neither_how_many_nor_what_names(state: str, number: int, length: int) -> None:
    hub = many(number, length)
    with pytest.raises(ClusterError, match="nothing was deleted. Check them") as failure:
        run(hub, state)
    assert hub.sent == [] and len(failure.value.message) < 500


def test_names_of_kubernetes_are_accepted() -> None:
    hub = many(3, 253)
    run(hub)
    assert len(hub.gone()) == 4


RBAC = "rbac.authorization.k8s.io"
ROLES = f"/apis/{RBAC}/v1/clusterroles"
RIGHTS = [(RBAC, "ClusterRole"), (RBAC, "Role")]


class WithoutRecord(Hub):
    """A cluster in which the namespace with the record of a set was deleted; ClusterRoles of it and of others are left."""

    def __init__(self, refused: dict[str, int]) -> None:
        super().__init__("Ingress.networking.k8s.io", refused)
        member = {applyset.PART_OF: applyset.set_id("superlink", "flower")}
        self.objects = {}
        for name, manager in (("flower-hub-controller-flower", "federated.flower"), ("copy", "kubectl"), ("flower-site-controller-flower", "federated.flower")):
            role = live({"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": name, "labels": member}, "rules": []}, name)
            role["metadata"]["managedFields"][0]["manager"] = manager
            self.objects[f"{ROLES}/{name}"] = role

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Object | None:
        return None


def test_members_in_the_whole_cluster_are_found_without_the_record() -> None:
    hub = WithoutRecord({})
    run(hub, "absent", part="hub")
    assert hub.gone() == [], "no kinds were named"
    run(hub, "absent", part="hub", unrecorded=RIGHTS, check=True)
    assert hub.gone() == [f"{ROLES}/flower-hub-controller-flower"]
    hub = WithoutRecord({})
    result = run(hub, "absent", part="hub", unrecorded=RIGHTS)
    assert result.changed and hub.gone() == [f"{ROLES}/flower-hub-controller-flower"]
    assert not run(hub, "absent", part="hub", unrecorded=RIGHTS).changed


def test_what_may_not_be_listed_without_the_record_is_a_warning() -> None:
    hub = WithoutRecord({f"/apis/{RBAC}/v1/roles": 403})
    result = run(hub, "absent", part="hub", unrecorded=RIGHTS)
    (words,) = result.warnings
    assert "the record of the set, is missing, and objects of the kind Role in the cluster may belong to the set: " in words
    assert "user jane cannot list roles" in words
    assert hub.gone() == [f"{ROLES}/flower-hub-controller-flower"]


def test_a_kind_that_is_gone_for_good_blocks_no_removal() -> None:
    hub = Hub("Route.route.openshift.io", {})
    run(hub, "absent")
    assert hub.gone() == [SETTINGS, RECORD]


def test_the_record_is_deleted_as_it_was_read() -> None:
    hub = Hub("Ingress.networking.k8s.io", {})
    run(hub, "absent")
    assert hub.sent[-1][1] == RECORD and hub.sent[-1][2]["preconditions"] == {"uid": "1", "resourceVersion": "10"}


def test_a_record_that_another_run_changed_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = Hub("Ingress.networking.k8s.io", {})
    request = hub.request

    def rival(method: str, path: str, **more: Any) -> Object:
        if (method, path) == ("DELETE", RECORD):
            raise Conflict("hub", f"{method} {path}", 409, {"message": "the ResourceVersion in the precondition differs"})
        return request(method, path, **more)

    monkeypatch.setattr(hub, "request", rival)
    with pytest.raises(ApplyFailed, match="applyset-superlink .* was changed by someone else during this run. Run again"):
        run(hub, "absent")
    assert RECORD in hub.objects
