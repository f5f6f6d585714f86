# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rotation of the CA does not wait for a site that is denied, whose router stays in the network until its certificate is refused. What is no site
is not revoked."""

from __future__ import annotations

import datetime
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.action import skupper
from ansible_collections.federated.flower.plugins.plugin_utils.actions import skupper_rotation
from ansible_collections.federated.flower.plugins.plugin_utils.actions.skupper_rotation import HubRotation
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates
from ansible_collections.federated.flower.plugins.plugin_utils.skupper import link_credentials, rotation_plan
from ansible_collections.federated.flower.tests.unit.plugins.plugin_utils.skupper import objects as given

YEARS = datetime.timedelta(days=1825)


def record(name: str) -> dict[str, Any]:
    links = [{"name": "x", "remoteSiteId": "uid-of-hub", "operational": True}]
    return {"id": f"uid-of-{name}", "name": name, "links": links}


@pytest.fixture
def finish(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Function: the last part of a rotation, of a hub to which site-a and site-b are linked. Returns its steps."""
    old, new = certificates.make_ca("old", YEARS), certificates.make_ca("new", YEARS)
    leaf = certificates.issue(old, "skupper-router", ["192.0.2.7"], YEARS)
    server = {"tls.crt": certificates.first(leaf.certificate), "tls.key": leaf.key, "ca.crt": old.certificate + new.certificate}
    good = {"trusts": [link_credentials.describe(new.certificate)["serial"]], "ready": True, "site_uid": "uid-of-site-a"}
    site = given.hub_site(network=[{"id": "uid-of-hub", "name": "hub"}, record("site-a"), record("site-b")])

    def run(denial: dict[str, Any] | None, report: dict[str, Any] | None, **options: Any) -> list[str]:
        steps: list[str] = []
        monkeypatch.setattr(HubRotation, "read", lambda _self: rotation_plan.Hub(new.certificate, server))
        monkeypatch.setattr(HubRotation, "site", lambda _self: site)
        monkeypatch.setattr(HubRotation, "step", lambda _self, which: steps.append(which))
        monkeypatch.setattr(HubRotation, "cut", lambda _self: steps.append("cut"))
        records = {"site-b": {"access": denial} if denial else {}}
        ledger = SimpleNamespace(read_book=dict, read_sites=lambda: (records, {}))
        monkeypatch.setattr(skupper_rotation, "Ledger", lambda *_given: ledger)
        action: Any = object.__new__(skupper.ActionModule)
        action.inventory_host, action.task_vars = "hub", {}
        action._task = SimpleNamespace(check_mode=False, diff=False)
        action.begin()
        reports = [{"site": "site-a", "link": good}, *([{"site": "site-b", **report}] if report else [])]
        place = {"hub": "hub", "hub_namespace": "flower", "federation": "flower"}
        asked = {"part": "link", "spec": {}, "step": "finish", **place, "sites": ["site-a", "site-b"], "reports": reports}
        cluster: Any = SimpleNamespace(name="hub")
        HubRotation(action, cluster, action._checked(action.ARGS, {}, {**asked, **options}, "")).finish()
        return steps

    return run


@pytest.mark.parametrize("report", [{"denied": True, "link": {}}, None])
def test_a_site_that_is_denied_is_not_waited_for(report, finish):
    assert finish({"since": "today"}, report) == [rotation_plan.REPLACE_SERVER]


def test_a_denied_site_does_not_keep_another_one_from_being_revoked(finish):
    assert finish({"since": "today"}, {"denied": True, "link": {}}, revoke="site-c") == [rotation_plan.REPLACE_SERVER, "cut"]


@pytest.mark.parametrize("denial", [None, {"since": "today", "holder": "a drill"}])
def test_a_site_that_is_denied_for_a_time_or_not_reached_is_waited_for(denial, finish):
    with pytest.raises(ClusterError, match="site-b: the site is denied.*it resumes where it stopped"):
        finish(denial, {"denied": True, "link": {}, "msg": "the site is denied"})


@pytest.mark.parametrize(
    ("site", "sites", "book", "certificate", "good"),
    [
        ("site-bb", ["site-a"], {}, False, False),
        ("site-b", ["site-a", "site-b"], {}, False, True),
        ("site-b", ["site-a"], {"left": {"site-b": {}}}, False, True),
        ("site-b", ["site-a"], {}, True, True),
    ],
)
def test_a_name_that_no_site_has_or_had_is_not_revoked(site, sites, book, certificate, good, monkeypatch):
    """The CA would be replaced, and the site that was meant would get a new certificate."""
    ledger = SimpleNamespace(read_book=lambda: book, read_records=lambda: {"site-a": {}}, read_denial=lambda _site: {})
    monkeypatch.setattr(skupper_rotation, "Ledger", lambda *_given, **_more: ledger)
    action: Any = object.__new__(skupper.ActionModule)
    action.inventory_host, action._task = "hub", SimpleNamespace(check_mode=False, diff=False)
    action.begin()
    removed: list[Any] = []
    action.remove = lambda _cluster, objects, _seconds, **_more: removed.extend(objects)
    params = {"revoke": site, "sites": sites, "hub_namespace": "flower", "federation": "flower", "wait_timeout": 1}

    def get(_version: str, kind: str, name: str, _namespace: str) -> Any:
        return given.live(kind, name) if certificate and kind == "Certificate" else None

    rotation = HubRotation(action, SimpleNamespace(name="hub", skew=0, get=get), params)  # type: ignore[arg-type]
    if good:
        rotation.deny()
        assert len(removed) == certificate
    else:
        with pytest.raises(ClusterError, match="does not have a site site-bb, and never had one.*the ledger on hub has site-a. Check flower_site"):
            rotation.deny()
