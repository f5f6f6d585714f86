# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fleet without sites behind Open Cluster Management needs no rights to it, also where its hub has it."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.action import ocm_addon
from ansible_collections.federated.flower.plugins.plugin_utils.actions import ocm_hub
from ansible_collections.federated.flower.plugins.plugin_utils.apply.results import Result
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Forbidden
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.state import partition_numbers

PLACES = {"site-a": "c2", "site-b": "c3"}


class Hub(Cluster):
    """A hub of Open Cluster Management; whoever asks may not read what that has."""

    def __init__(self) -> None:
        self.name = "hub"

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Any:
        raise Forbidden("hub", f"GET {kind}", 403, {"message": "jane cannot get clustermanagementaddons"})


def clean(
    monkeypatch: pytest.MonkeyPatch, delivery: str, *, hub: Any = None, records: Any = None, note: Any = None, **given: Any
) -> dict[str, Any]:
    monkeypatch.setattr(ocm_hub.Ledger, "read_sites", lambda _ledger: (records or {}, {}))
    monkeypatch.setattr(ocm_hub.Ledger, "read_book", lambda _ledger: partition_numbers.empty_book())
    action: Any = object.__new__(ocm_addon.ActionModule)
    action._task = SimpleNamespace(check_mode=False, diff=False)
    action.connect, action.note = lambda: contextlib.nullcontext(hub or Hub()), note
    action.access_of = lambda _site: SimpleNamespace(delivery=delivery)
    action.variables_of = lambda site: {"flower_delivery": delivery, "ocm_name": PLACES.get(site)}
    spec = {"name": "flower-supernode", "federation": "flower", "namespace": "flower"}
    result: dict[str, Any] = action.execute(action._checked(action.ARGS, {}, {"spec": spec, "state": "cleaned", **given}, ""), {})
    return result


def test_a_site_is_forgotten_without_rights_that_its_fleet_does_not_need(monkeypatch: pytest.MonkeyPatch) -> None:
    result = clean(monkeypatch, "direct", sites=["site-a"], forget="site-b")
    assert not result["changed"]
    (words,) = result["warnings"]
    assert words.startswith("cannot determine whether Open Cluster Management still delivers objects to site-b: ") and "jane cannot get" in words


def test_where_sites_are_behind_it_a_missing_right_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Forbidden):
        clean(monkeypatch, "ocm", sites=["site-a"])


@pytest.mark.parametrize(("record", "known"), [({"delivery": "direct"}, True), ({"delivery": "ocm"}, False), ({}, False)])
def test_a_missing_right_is_an_error_if_a_site_may_have_been_behind_it(
    monkeypatch: pytest.MonkeyPatch, record: dict[str, Any], known: bool
) -> None:
    """The last such site has left the inventory, and with it the rights. The record says how its objects were delivered."""
    given: dict[str, Any] = {"sites": ["site-a"], "forget": "site-b", "records": {"site-a": {}, "site-b": record}}
    if known:
        assert clean(monkeypatch, "direct", **given)["warnings"]
        return
    with pytest.raises(ClusterError, match=r"site-b is unknown, so nothing is forgotten: .*jane cannot get"):
        clean(monkeypatch, "direct", **given)


class Moved(Cluster):
    """site-a was in c1 and is in c2. In c1 there is also what someone else made, and c9 has another site of this inventory."""

    def __init__(self) -> None:
        self.name = "hub"
        self.items = [self._one("ManifestWork", "c1", "site-a"), self._one("ManifestWork", "c2", "site-a"), self._one("ManifestWork", "c1", "")]
        self.items += [self._one("ManagedClusterAddOn", "c1", "site-a"), self._one("ManifestWork", "c1", "site-b"), self._one("ManifestWork", "c9", "site-b")]

    @staticmethod
    def _one(kind: str, cluster: str, site: str) -> dict[str, Any]:
        meta = {"name": f"flower-{site}", "namespace": cluster, "annotations": {"federated.flower/site": site}}
        return {"apiVersion": "v1", "kind": kind, "metadata": meta}

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Any:
        return None

    def list(self, api_version: str, kind: str, namespace: str | None = None, **_chosen: Any) -> Any:
        return [item for item in self.items if item["kind"] == kind]


def test_what_is_left_in_a_former_cluster_goes_on_request_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    deleted: list[list[tuple[str, str, str]]] = []

    def apply(_hub: Any, objects: Any, **_options: Any) -> Result:
        deleted.append([(one["kind"], one["metadata"]["namespace"], one["metadata"]["name"]) for one in objects])
        return Result()

    monkeypatch.setattr(ocm_hub, "apply_objects", apply)
    given: dict[str, Any] = {"sites": ["site-a", "site-c"], "hub": Moved()}
    clean(monkeypatch, "ocm", **given)
    assert deleted[0] == []
    result = clean(monkeypatch, "ocm", **given, former="c1,c2")
    assert deleted[2] == [("ManifestWork", "c1", "flower-site-a"), ("ManagedClusterAddOn", "c1", "flower-site-a")]
    assert [words for words in result["warnings"] if "site-b" not in words] == [
        "what is left of site-a in its former cluster c1 is removed",
        "flower_forget_clusters: c2 is not the former cluster of a site of the inventory, so nothing is deleted there",
    ]
    with pytest.raises(ClusterError, match="flower_forget_clusters is True, and must be names of managed clusters"):
        clean(monkeypatch, "ocm", **given, former=True)


def test_what_was_deleted_of_a_forgotten_site_is_recorded_as_the_sites(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise its leaving record says that nothing was deleted."""
    noted: list[tuple[str, Any]] = []

    def apply(_hub: Any, objects: Any, **_options: Any) -> Result:
        told = [{"kind": one["kind"], **one["metadata"], "change": "deleted"} for one in objects]
        return Result(changed=bool(told), objects=told)

    monkeypatch.setattr(ocm_hub, "apply_objects", apply)
    clean(monkeypatch, "ocm", hub=Moved(), sites=["site-a"], forget="site-b", note=lambda site, objects: noted.extend((site, one) for one in objects))
    assert noted == [("site-b", {"change": "deleted", "object": f"ManifestWork {cluster}/flower-site-b"}) for cluster in ("c1", "c9")]


def test_a_moved_site_is_named_before_anything_is_changed(monkeypatch: pytest.MonkeyPatch, ocm_addon_spec: Any) -> None:
    """In the check that site.yml and plan.yml begin with."""
    monkeypatch.setattr(ocm_addon.hub_reader, "at_addon", lambda *_given, **_more: {"warnings": []})
    monkeypatch.setattr(ocm_addon.placement_switch, "loss", lambda *_given: "")
    action: Any = object.__new__(ocm_addon.ActionModule)
    action.connect = lambda: contextlib.nullcontext(Moved())
    action.inventory_host, action.task_vars = "hub", {}
    action.variables_of = lambda site: {"flower_delivery": "ocm", "ocm_name": PLACES.get(site)}
    params = {"spec": ocm_addon_spec(), "state": "checked", "claim": False, "sites": ["site-a", "site-c"]}
    (words,) = action.execute(params, {})["warnings"]
    assert words.startswith("site-a is in the cluster c2 now, but the hub still delivers to its former cluster c1")
    assert "federated.flower.site -e flower_forget_clusters=c1" in words
    action.variables_of = lambda site: {"flower_delivery": "direct"}
    assert "not delivered through Open Cluster Management any more" in action.execute(params, {})["warnings"][0]
    action.variables_of = lambda site: {"flower_delivery": "ocm", "supernode_ocm_cluster": "c1", "ocm_name": "c2"}
    assert action.execute(params, {})["warnings"] == []
    monkeypatch.setattr(ocm_addon.placement_switch, "loss", lambda *_given: "a site would be lost")
    with pytest.raises(ClusterError, match="a site would be lost"):
        action.execute(params, {})
    with pytest.raises(ClusterError, match="^hub: ocm_addon_install: 'never' is not one of"):
        action.execute({**params, "spec": ocm_addon_spec(install="never")}, {})
