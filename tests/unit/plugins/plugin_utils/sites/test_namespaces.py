# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Other hubs of a cluster."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.action import openshift_project
from ansible_collections.federated.flower.plugins.plugin_utils.base import labels
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Conflict, Forbidden
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.marks import proof
from ansible_collections.federated.flower.plugins.plugin_utils.sites import namespaces
from ansible_collections.federated.flower.plugins.plugin_utils.sites.registry import access_of
from ansible_collections.federated.flower.tests.unit.plugins.plugin_utils.backup.two_hubs import Kept
from ansible_collections.federated.flower.tests.unit.rows import each_row

DESIRED = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": "flower", "labels": {proof.MANAGED_BY: "federated.flower", proof.INSTANCE: "eu"}},
}


class Hubs:
    """A cluster with the hub of federation C(demo) in namespace C(flower), and whether that may be listed."""

    def __init__(self, *, allowed: bool) -> None:
        self.allowed = allowed

    def access_review(self, asked: list[Any]) -> list[bool]:
        return [self.allowed for _one in asked]

    def list(self, *_kind: str, labels: str) -> list[dict[str, Any]]:
        assert "component=clients" in labels
        return [{"metadata": {"namespace": "flower", "labels": RECORD}}]


RECORD = labels.record_labels("demo", "superlink", "clients")


@each_row(
    ("namespace", "federation", "allowed", "warned"),
    [("lab", "demo", True, True), ("flower", "demo", True, False), ("lab", "other", True, False), ("lab", "demo", False, False)],
)
def test_a_second_hub_of_a_federation_is_warned_of(namespace: str, federation: str, allowed: bool, warned: bool) -> None:
    cluster: Any = Hubs(allowed=allowed)
    found = namespaces.second_hub(cluster, namespace, federation)
    assert found.startswith("the federation demo already has a hub in namespace flower of this cluster.") is warned and bool(found) is warned


@each_row(
    ("given", "noted", "used"),
    [
        ("flower-ca", "", "flower-ca"),
        ("vault", "", "vault"),
        ("vault", "vault", "vault"),
        ("flower-ca", "vault", "vault"),  # only the default: the variable is not set in every play
        ("other", "vault", "flower_ca_namespace: other: .* has its CA keys in vault, and they cannot be moved: .* Set it to vault"),
    ],
)
def test_a_hub_keeps_its_cas_where_they_are(given: str, noted: str, used: str) -> None:
    """New ones in another namespace would lock out every site."""
    hub = Kept("hub")
    hub.put("ConfigMap", "superlink-clients", metadata={"annotations": {"federated.flower/ca-namespace": noted} if noted else {}})
    if "Set it" not in used:
        assert namespaces.resolve_ca_namespace(hub, "flower", given) == used
        return
    with pytest.raises(ClusterError, match=used):
        namespaces.resolve_ca_namespace(hub, "flower", given)


def project(description: str | None = None, requester: str = "developer", **labels: str) -> dict[str, Any]:
    """A Namespace as OpenShift creates it for a request."""
    notes = {proof.PROJECT_NOTE: proof.project_note("eu") if description is None else description, proof.PROJECT_REQUESTER: requester}
    found = {name: text for name, text in notes.items() if text}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "flower", "annotations": found, "labels": labels, "uid": "1"}}


class OpenShift(Cluster):
    """Answers as OpenShift does to a user who may request projects: what is not there is forbidden."""

    def __init__(self, live: dict[str, Any] | None = None, *, taken: bool = False, made: dict[str, Any] | None = None) -> None:
        self.name = "hub"
        self.live, self.taken, self.made = live, taken, made or project()
        self.sent: list[Any] = []
        self.rights = [False, True]

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> dict[str, Any] | None:
        if self.live is None:
            raise Forbidden("hub", f"GET {name}", 403, {"reason": "Forbidden", "message": "forbidden"})
        return self.live

    def request(self, method: str, path: str, **more: Any) -> dict[str, Any]:
        self.sent.append((method, path, more.get("body")))
        if self.taken:
            raise Conflict("hub", "POST", 409, {"reason": "AlreadyExists", "message": 'project "flower" already exists'})
        self.live = self.made
        return {}

    def access_review(self, checks: Any) -> list[bool]:
        return self.rights if len(checks) == 2 else [self.live is not None]


def test_a_project_carries_its_mark_from_the_request_on() -> None:
    cluster = OpenShift()
    assert namespaces.needed(cluster)
    assert namespaces.missing(cluster, ["flower"], "eu") == ["flower"]
    namespaces.request_project(cluster, "flower", "eu", 1)
    ((method, path, body),) = cluster.sent
    assert (method, path) == ("POST", "/apis/project.openshift.io/v1/projectrequests")
    assert body == {
        "apiVersion": "project.openshift.io/v1",
        "kind": "ProjectRequest",
        "metadata": {"name": "flower"},
        "description": "Created by federated.flower for the federation eu.",
    }
    assert namespaces.missing(cluster, ["flower"], "eu") == []


def test_who_may_create_namespaces_requests_nothing() -> None:
    cluster = OpenShift()
    for cluster.rights in ([True, True], [False, False], [True, False]):
        assert not namespaces.needed(cluster)


@pytest.mark.parametrize("live", [project("Something else"), project("Created by federated.flower for the federation us.")])
def test_a_project_of_others_is_refused(live: dict[str, Any]) -> None:
    with pytest.raises(ClusterError, match="hub: namespace flower exists already and .*flower_create_namespace"):
        namespaces.missing(OpenShift(live), ["flower"], "eu")


def test_a_name_that_is_taken_unseen() -> None:
    with pytest.raises(ClusterError, match=r"there is a project flower, and this identity may not see it: .*flower_namespace"):
        namespaces.request_project(OpenShift(taken=True), "flower", "eu", 0.3)


class Late(OpenShift):
    """A project that another host requested a moment ago."""

    def __init__(self, live: dict[str, Any]) -> None:
        super().__init__(taken=True)
        self.later = live

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> dict[str, Any] | None:
        try:
            return super().get(api_version, kind, name, namespace)
        finally:
            self.live = self.later


def test_a_project_that_another_host_has_just_requested() -> None:
    assert namespaces.request_project(OpenShift(), "flower", "eu", 1) is True
    assert namespaces.request_project(Late(project()), "flower", "eu", 2) is False, "this one did not request it"
    with pytest.raises(ClusterError, match="namespace flower exists already and belongs to the federation us"):
        namespaces.request_project(Late(project(proof.project_note("us"))), "flower", "eu", 2)


def test_a_template_that_drops_the_mark() -> None:
    with pytest.raises(ClusterError, match="without the description that was requested"):
        namespaces.request_project(OpenShift(made=project("")), "flower", "eu", 1)


def test_a_project_that_never_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = OpenShift()
    monkeypatch.setattr(cluster, "request", lambda *_args, **_more: {})
    with pytest.raises(ClusterError, match=r"is not usable after 0\.3 s: it cannot be read yet"):
        namespaces.request_project(cluster, "flower", "eu", 0.3)


def test_a_requested_project_is_the_federations_and_is_left_as_it_is() -> None:
    live = project()
    assert proof.project_of(live) == "eu" and proof.belongs(live, "eu") and not proof.belongs(live, "us")
    assert proof.created(live, "eu") and not proof.created(live, "us")
    assert proof.fault(DESIRED, live) == ""
    # Labels of a Namespace are not for those who request projects.
    assert proof.prepared(DESIRED, live) == {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "flower"}}


def test_a_namespace_with_that_description_and_no_requester_proves_nothing() -> None:
    live = project(requester="")
    assert proof.project_of(live) == "" and not proof.created(live, "eu")
    assert "exists already" in proof.fault(DESIRED, live)


@pytest.mark.parametrize(
    ("delivery", "names"),
    [("direct", ["flower", "flower-ca", "site"]), ("ocm", ["flower", "flower-ca"]), ("bundle", ["flower", "flower-ca"])],
)
def test_what_delivers_the_objects_of_a_site_makes_its_namespace(monkeypatch: pytest.MonkeyPatch, delivery: str, names: list[str]) -> None:
    action = object.__new__(openshift_project.ActionModule)
    monkeypatch.setattr(action, "access_of", lambda: access_of({"flower_delivery": delivery}))
    assert action._names({"names": ["flower", "flower-ca"], "site_names": ["site", "flower"]}) == names
    assert action._names({"names": [], "site_names": ["site"]}) == (["site"] if delivery == "direct" else [])
