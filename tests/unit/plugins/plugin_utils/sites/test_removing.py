# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is recorded of the volume claims of a site that leaves."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.apply.results import Result
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.names import PUBLIC_KEYS
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Forbidden
from ansible_collections.federated.flower.plugins.plugin_utils.sites import removing
from ansible_collections.federated.flower.plugins.plugin_utils.sites.removing import Leftovers, Removal

OWNERS = [{"kind": "Secret", "name": "supernode-cpu-keys", "uid": "1"}, {"kind": "Secret", "name": "supernode-client-key", "uid": "2"}]
REPORT = {"kind": "ConfigMap", "metadata": {"name": PUBLIC_KEYS, "namespace": "ward", "ownerReferences": OWNERS}}
WANTED = Removal("ward", "supernode", "flower", site="site-a", credentials=True, key_source="site", seconds=1)


class Claims:
    """A cluster with claims and volumes."""

    def access_review(self, checks: list[Any]) -> list[bool]:
        return [True for _check in checks]

    def list(self, _api: str, kind: str, *_where: str) -> list[Any]:
        if kind == "PersistentVolume":
            return [{"metadata": {"name": "pv-1"}, "spec": {"persistentVolumeReclaimPolicy": "Retain"}}, {"metadata": {"name": "pv-2"}, "spec": {}}]
        bound = {"a": "pv-1", "b": "pv-2", "c": None, "d": "gone"}
        return [{"metadata": {"name": name}, "spec": {"volumeName": volume} if volume else {}} for name, volume in bound.items()]


def test_the_policy_is_that_of_the_bound_volume() -> None:
    assert removing.claims(Claims(), "ward") == {"a": "Retain", "b": "unknown", "c": "unknown", "d": "unknown"}  # type: ignore[arg-type]


def test_facts_name_the_claim_what_became_of_it_and_the_choice() -> None:
    found = removing.facts("flower", {"b": "Delete", "a": "Retain"}, {"b"}, wanted=True)
    assert [(one["claim"], one["change"], one["storage"]) for one in found] == [("flower/a", "deleted", "Retain"), ("flower/b", "kept", "Delete")]
    assert {one["choice"] for one in found} == {"flower_delete_volumes is set"}
    assert removing.facts("flower", {"a": "Delete"}, {"a"}, wanted=False)[0]["choice"] == "flower_delete_volumes is not set"


class Site:
    """A site whose cluster deletes the Secrets together with their owner; or one whose project is gone, so that all in it is forbidden."""

    name = "site-a"

    def __init__(self, *, project: bool = True) -> None:
        self.project, self.objects = project, {PUBLIC_KEYS: REPORT}

    def get(self, _api: str, kind: str, name: str, namespace: str = "") -> Any:
        if not self.project:
            raise Forbidden(self.name, name, 403, {"message": "forbidden"})
        return {"metadata": {"name": name}} if kind == "Namespace" else self.objects.get(name)

    def resource(self, *_kind: str) -> Any:
        return SimpleNamespace(namespaced=False)

    def access_review(self, checks: list[Any]) -> list[bool]:
        return [False for _check in checks]


def remove(monkeypatch: pytest.MonkeyPatch, site: Any, *, check: bool = False) -> Any:
    def delete(_cluster: Any, objects: list[Any], **_more: Any) -> Result:
        if objects and not check:
            site.objects.clear()
        return Result(objects=[{"kind": "ConfigMap", "namespace": "ward", "name": "supernode-keys-owner", "change": "deleted"}] if objects else [])

    monkeypatch.setattr(removing, "apply_objects", delete)
    monkeypatch.setattr(removing, "leftovers", lambda *_asked: Leftovers([{}] if site.project else []))
    monkeypatch.setattr(removing.job, "make_room", lambda where, namespace, _seconds: where.get("batch/v1", "Job", "supernode-keys", namespace))
    return removing.remove(site, WANTED, check=check)


def test_keys_that_a_site_made_itself_count_as_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The leaving record of a site said that its private keys are there still."""
    done = remove(monkeypatch, Site())
    told = {(one["kind"], one["name"]) for one in done.objects if one["change"] == "deleted"}
    assert told == {("ConfigMap", "supernode-keys-owner"), ("Secret", "supernode-cpu-keys"), ("Secret", "supernode-client-key")}
    assert {one["kind"] for one in remove(monkeypatch, Site(), check=True).objects} == {"ConfigMap"}


def test_a_project_that_is_gone_has_nothing_left(monkeypatch: pytest.MonkeyPatch) -> None:
    done = remove(monkeypatch, Site(project=False))
    assert not done.changed and done.objects == []


def test_workloads_whose_record_is_lost_are_not_left_behind_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their kinds are in the record. Without it the teardown deleted nothing, and said that it was done, while SuperNodes ran on."""
    labels = {"app.kubernetes.io/managed-by": "federated.flower", "app.kubernetes.io/instance": "flower", "app.kubernetes.io/name": "supernode"}
    ours = {"metadata": {"name": "supernode-cpu", "labels": labels}}
    hubs = {"metadata": {"name": "superlink", "labels": {**labels, "app.kubernetes.io/name": "superlink"}}}

    class Lost(Site):
        record: Any = None

        def get(self, api: str, kind: str, name: str, namespace: str = "") -> Any:
            return self.record if name == "applyset-supernode" else super().get(api, kind, name, namespace)

        def access_review(self, checks: list[Any]) -> list[bool]:
            return [check.get("resource") == "statefulsets" for check in checks]

        def list(self, _api: str, kind: str, *_where: str, **_more: str) -> Any:
            assert kind == "StatefulSet", "others may not be listed"
            return [ours, hubs] if self.objects else [hubs]

    with pytest.raises(ClusterError, match=r"nothing is deleted: ConfigMap ward/applyset-supernode, .* is missing, and StatefulSet supernode-cpu would stay"):
        remove(monkeypatch, Lost())
    site = Lost()
    site.objects.clear()
    assert not remove(monkeypatch, site, check=True).failed, "the hub's own in a namespace that both share do not count"
    site = Lost()
    site.record = {"metadata": {"name": "applyset-supernode", "annotations": {}}}
    assert not remove(monkeypatch, site, check=True).failed


def test_a_namespace_that_stays_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ansible shows the message of a task that is ok with -v only."""
    site = Site()
    monkeypatch.setattr(removing, "apply_objects", lambda *_given, **_more: Result(objects=[]))
    monkeypatch.setattr(removing, "leftovers", lambda *_asked: Leftovers([], ["namespace ward stays (it contains Lease theirs)"]))
    done = removing.remove(site, Removal("ward", "supernode", "flower", credentials=True), check=True)  # type: ignore[arg-type]
    assert done.warnings == ["site-a: namespace ward stays (it contains Lease theirs)"] and done.warnings[0][8:] in done.msg
