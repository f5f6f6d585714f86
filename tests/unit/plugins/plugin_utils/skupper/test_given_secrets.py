# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Skupper uses a CA that a user puts into its Secret (doc/tls/README.md, «Using user-provided CAs»). No rotation deletes it."""

from __future__ import annotations

import datetime
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.action import skupper
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.manifests.skupper import SITE_CA, SITE_SERVER
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates
from ansible_collections.federated.flower.plugins.plugin_utils.skupper import ownership
from ansible_collections.federated.flower.tests.unit.plugins.plugin_utils.skupper import objects as given

YEARS = datetime.timedelta(days=1825)


class Hub(Cluster):
    """The cluster of the hub. What is deleted there is recreated as Skupper does it. The certificates of its CA and its router are due."""

    skew = (0.6 * YEARS).total_seconds()  # type: ignore[assignment]

    def __init__(self, *, ca_of_skupper: bool, server_of_skupper: bool = True, ours: bool = True) -> None:
        self.name = "hub"
        self.own_site = given.hub_site(ours=ours)
        self.deleted: list[str] = []
        self.by_name: dict[str, Any] = {}
        self.authority: Any = None
        self._put(SITE_CA, ca_of_skupper)
        self._put(SITE_SERVER, server_of_skupper)

    def _put(self, name: str, made: bool) -> None:
        self.authority = certificates.make_ca("hub", YEARS) if name == SITE_CA else self.authority
        leaf = certificates.issue(self.authority, "skupper-router", ["192.0.2.7"], YEARS)
        crt, key = (self.authority.certificate, self.authority.key) if name == SITE_CA else (certificates.first(leaf.certificate), leaf.key)
        one = given.secret(name, {"tls.crt": crt, "tls.key": key, "ca.crt": self.authority.certificate}, ours=False)
        one["metadata"]["annotations"] = {"internal.skupper.io/controlled": "true"} if made else {}
        self.by_name[name] = one

    def __enter__(self) -> Hub:
        return self

    def __exit__(self, *_error: Any) -> None:
        return None

    def get(self, _version: str, _kind: str, name: str, _namespace: str | None = None) -> Any:
        return self.by_name.get(name)

    def list(self, _version: str, kind: str, _namespace: str | None = None, **_chosen: Any) -> Any:
        return [self.own_site] if kind == "Site" else list(self.by_name.values()) if kind == "Secret" else []

    def patch(self, _version: str, _kind: str, name: str, _namespace: str | None, body: Any, **_more: Any) -> Any:
        self.by_name[name]["data"].update(body["data"])

    def delete(self, _version: str, _kind: str, name: str, _namespace: str | None = None, **_more: Any) -> Any:
        self.deleted.append(name)
        self._put(name, True)


def begin(hub: Hub, **options: Any) -> dict[str, Any]:
    """The hub's part of C(federated.flower.site), or of a rotation that is requested."""
    action: Any = object.__new__(skupper.ActionModule)
    action.inventory_host = "hub"
    action._task = SimpleNamespace(check_mode=False, diff=False)
    action.connect = lambda _host=None: hub
    action.note = lambda *_host, **_facts: None
    asked = {"step": "begin", "hub": "hub", "hub_namespace": "flower", "federation": "flower", **options}
    return dict(action.execute(action._checked(action.ARGS, {}, {"part": "link", "spec": {}, **asked}, ""), {}))


def test_a_ca_of_skupper_is_replaced_when_it_is_due():
    hub = Hub(ca_of_skupper=True)
    begin(hub)
    assert hub.deleted == [SITE_CA]


def test_a_ca_of_a_user_is_not_deleted_when_it_is_due():
    hub = Hub(ca_of_skupper=False)
    result = begin(hub)
    assert hub.deleted == [SITE_SERVER] and list(result["todo"]) == ["server"]
    (warning,) = result["warnings"]
    assert warning.startswith("ca (it expires on ") and f"Secret flower/{SITE_CA} on hub was not created by Skupper" in warning


def test_a_ca_of_a_user_is_not_deleted_when_its_rotation_is_requested():
    hub = Hub(ca_of_skupper=False)
    with pytest.raises(ClusterError, match=f"Secret flower/{SITE_CA} on hub was not created by Skupper"):
        begin(hub, rotate="ca")
    assert hub.deleted == []


def test_the_routers_certificate_of_a_ca_of_a_user_is_replaced():
    hub = Hub(ca_of_skupper=False)
    assert begin(hub, rotate="server")["todo"] == {"server": "it was requested"}
    assert hub.deleted == [SITE_SERVER]


@pytest.mark.parametrize("rotate", ["ca", "server"])
def test_a_certificate_of_a_user_for_the_router_stays(rotate):
    hub = Hub(ca_of_skupper=True, server_of_skupper=False)
    with pytest.raises(ClusterError, match=f"Secret flower/{SITE_SERVER} on hub was not created by Skupper"):
        begin(hub, rotate=rotate)
    assert hub.deleted == []


def test_a_ca_that_its_owner_has_replaced_is_handed_to_the_sites():
    hub = Hub(ca_of_skupper=False)
    hub._put(SITE_CA, False)
    result = begin(hub)
    assert result["todo"]["ca"] == "the rotation of the CA was started" and result["stage"] == "overlap"
    assert hub.deleted == []


def test_what_is_due_of_someone_elses_site_is_named_once():
    hub = Hub(ca_of_skupper=True, ours=False)
    (warning,) = begin(hub)["warnings"]
    assert warning.startswith("ca (") and "Site flower/hub on hub was created by someone else" in warning and hub.deleted == []


def test_what_skupper_has_made_is_known_by_its_owner_too():
    secret = given.secret("a", {}, ours=False)
    assert not ownership.is_issued(secret)
    assert ownership.is_issued(given.secret("a", {}, ours=False, owners=["Certificate"]))
