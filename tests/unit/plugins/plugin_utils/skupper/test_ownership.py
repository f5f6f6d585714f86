# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hub and site in one namespace: neither replaces or removes the parts of the other, and both say so before anything is changed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.action import skupper
from ansible_collections.federated.flower.plugins.plugin_utils.apply import applyset
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.skupper import ownership, site_plan
from ansible_collections.federated.flower.tests.unit.plugins.plugin_utils.skupper import objects as given
from ansible_collections.federated.flower.tests.unit.rows import each_row

SKUPPER = "skupper.io"


def record(name: str, *kinds: str) -> dict[str, Any]:
    found = {(SKUPPER if kind[0].isupper() else "", kind) for kind in kinds}
    return applyset.parent_object(name, "flower", found, ())


SUPERLINK = record("superlink")
HUB_ENDS = record("skupper-listener", "Connector")
SITE_ENDS = record("skupper-listener", "Listener")
BARE = record("skupper-listener")  # the Listener is someone else's


@each_row(
    ("records", "own", "end"),
    [
        ([None, None, None], False, ""),
        ([None, None, SUPERLINK], False, ownership.PART_HUB),
        ([BARE, None, SUPERLINK], False, ownership.PART_HUB),
        ([BARE, record("skupper-link", "Link"), SUPERLINK], False, ownership.PART_SITE),
        ([None, record("skupper-link", "Certificate"), None], False, ownership.PART_HUB),
        ([None, record("skupper-link", "AccessGrant"), None], True, ownership.PART_HUB),
        ([None, record("skupper-link", "AccessToken"), None], False, ownership.PART_SITE),
        ([HUB_ENDS, None, None], True, ownership.PART_HUB),
        ([SITE_ENDS, None, SUPERLINK], False, ownership.PART_SITE),
        ([None, None, SUPERLINK], True, ""),  # beside a site's Site: a standby
    ],
)
def test_whose_a_namespace_is(records: Any, own: bool, end: str) -> None:
    assert ownership.end_of(records, own=own) == end


def test_a_site_never_replaces_the_site_of_the_hub(parsed_network_site: Any) -> None:
    plan = site_plan.decide_site(parsed_network_site(cluster="site-x"), [given.hub_site()], ownership.PART_HUB)
    assert plan.former == () and "is the hub's own" in plan.fault and "set flower_connectivity to direct" in plan.fault


def test_the_hub_never_replaces_the_site_of_a_site(parsed_network_site: Any) -> None:
    hub = parsed_network_site(cluster="hub", hub=True, link_access="default")
    plan = site_plan.decide_site(hub, [given.site()], ownership.PART_SITE)
    assert plan.former == () and "federated.flower.skupper_leave" in plan.fault
    # One that a site has put in the place of the hub's goes, as does the hub's own of another name.
    assert [one["metadata"]["name"] for one in site_plan.decide_site(hub, [given.site()], ownership.PART_HUB).former] == ["site-a"]


def test_the_site_of_a_hub_is_applied_with_the_name_that_it_has(site_spec: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    applied: list[Any] = []
    monkeypatch.setattr(skupper.ActionModule, "remove", lambda _self, _cluster, objects, _seconds: applied.extend(objects))
    action: Any = object.__new__(skupper.ActionModule)
    action.inventory_host, action.connect = "hub-fra", lambda _host=None: Place(HUB_ENDS, site=given.hub_site())
    action._task = SimpleNamespace(check_mode=True, diff=False)
    action.apply = lambda _cluster, objects, **_options: applied.extend(objects)
    spec = site_spec(cluster="hub-fra", hub=True, link_access="default", platform="kubernetes")
    action.execute(action._checked(action.ARGS, {}, {"part": "site", "spec": spec}, ""), {})
    assert [one["metadata"]["name"] for one in applied if one["kind"] == "Site"] == ["hub"]


class Place(Cluster):
    """A cluster with a namespace, some records, and a Site."""

    def __init__(self, *records: dict[str, Any], site: dict[str, Any] | None = None, there: bool = True) -> None:
        self.name = self.server = "cluster"
        self.there, self.site = there, site
        self.records = {one["metadata"]["name"]: one for one in records}

    def __enter__(self) -> Place:
        return self

    def __exit__(self, *_error: Any) -> None:
        return None

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Any:
        if kind == "Namespace":
            return (
                {"metadata": {"name": name, "uid": f"uid-of-{name}"}} if self.there or name == "kube-system" else None
            )
        return self.records.get(name) if kind == "ConfigMap" else None

    def list(self, api_version: str, kind: str, namespace: str | None = None, **_chosen: Any) -> Any:
        return [self.site] if self.site and kind == "Site" else []

    def resource(self, api_version: str, kind: str) -> Any:
        return SimpleNamespace(namespaced=True)


def act(part: str, cluster: Cluster, host: str = "site-x", **options: Any) -> Any:
    action: Any = object.__new__(skupper.ActionModule)
    action.inventory_host = host
    action._task = SimpleNamespace(check_mode=False, diff=False)
    action.connect = lambda _host=None: cluster
    action.apply = lambda *_objects, **_options: pytest.fail("something was written")
    params = action._checked(action.ARGS, {}, {"part": part, **options}, "")
    return action.execute(params, {})


@each_row("part", ["site", "listener", "link"])
def test_leaving_the_network_removes_nothing_of_the_hub(
    part: str, site_spec: Any, listener_spec: Any, link_spec: Any
) -> None:
    cluster = Place(HUB_ENDS, record("skupper-link", "Certificate"), record("skupper-site", "Site"), SUPERLINK)
    with pytest.raises(ClusterError, match="its namespace flower is the hub's own.*Nothing was removed"):
        if part == "site":
            act("site", cluster, spec=site_spec(cluster="site-x"), state="absent")
        elif part == "listener":
            act("listener", cluster, spec=listener_spec(cluster="site-x"), side="listener", state="absent")
        else:
            act("link", cluster, spec=link_spec(cluster="site-x"), hub="hub", state="absent")


def test_a_listener_takes_no_connector_away(listener_spec: Any) -> None:
    with pytest.raises(ClusterError, match="set flower_connectivity to direct"):
        act("listener", Place(HUB_ENDS), spec=listener_spec(cluster="site-x"), side="listener")
    with pytest.raises(ClusterError, match="would replace that of the site"):
        act("listener", Place(SITE_ENDS), "hub", spec=listener_spec(cluster="hub"), side="connector")


def test_a_site_beside_a_standby_may_leave(site_spec: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Place(record("skupper-site", "Site"), SUPERLINK, site=given.site())
    written = []
    monkeypatch.setattr(skupper.ActionModule, "wait_cleared", lambda *_given: None)
    action: Any = object.__new__(skupper.ActionModule)
    action.inventory_host, action.connect = "site-a", lambda _host=None: cluster
    action._task = SimpleNamespace(check_mode=False, diff=False)
    action.apply = lambda _cluster, objects, **options: written.append(options.get("applyset") or objects[0]["metadata"]["name"])
    action.execute(action._checked(action.ARGS, {}, {"part": "site", "spec": site_spec(), "state": "absent"}, ""), {})
    assert written == ["skupper-site", "skupper-site-leader"]


def looked(cluster: Cluster, monkeypatch: pytest.MonkeyPatch, site: Any, listener: Any, **more: Any) -> Any:
    host = site["cluster"]
    monkeypatch.setattr(skupper.ActionModule, "check_site", lambda self, spec: self.check_parts(spec, {**listener, "cluster": host}, more.get("link", {})))
    return act("site", cluster, host, spec=site, state="checked")


def test_with_a_limit_the_records_show_the_hub(monkeypatch: pytest.MonkeyPatch, site_spec: Any, listener_spec: Any, link_spec: Any) -> None:
    with pytest.raises(ClusterError, match="would replace the hub's, and all links would be lost"):
        looked(Place(SUPERLINK), monkeypatch, site_spec(cluster="site-x"), listener_spec(), link=link_spec())
