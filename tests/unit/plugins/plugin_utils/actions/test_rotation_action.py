# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a rotation finds due, from what the ledger has."""

from __future__ import annotations

import datetime
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.action import rotation
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates, keypairs
from ansible_collections.federated.flower.plugins.plugin_utils.rotation import machine

DAY = datetime.timedelta(days=1)
CA = certificates.make_ca("client CA", 3650 * DAY)


def look(monkeypatch: pytest.MonkeyPatch, sites: list[str], **more: Any) -> dict[str, Any]:
    """What is due if site-a and site-gone have a client certificate of which more than half of the lifetime is over."""
    request = certificates.client_request(keypairs.make_client_key(), "a site")
    long_ago = datetime.datetime.now(datetime.timezone.utc) - 60 * DAY
    aged = certificates.sign_client_request(CA, request, "a site", "demo", 90 * DAY, long_ago)
    action: Any = object.__new__(rotation.ActionModule)
    action._task = SimpleNamespace(check_mode=True)
    action.params = {"hub": "hub", "hub_namespace": "flower", "federation": "demo", "step": "look", "source": "existing", "sites": sites, **more}
    action.params = action._checked(action.ARGS, {}, action.params, "")
    action.book = {"denied": {}}
    action.records = {name: {"keys": {}, "client": {"certificate": aged}} for name in ("site-a", "site-gone")}
    action.hub = SimpleNamespace(
        cluster=None,
        settings=SimpleNamespace(handed_in=None),
        gateway=SimpleNamespace(secret=lambda: "mine"),
        is_deployed=lambda: True,
        is_insecure=lambda: False,
        facts=lambda _state, now: machine.Facts(now),
        gateway_secret=lambda: {},
        needed_names=list,
        publication=lambda: {"data": {"server_name": "hub.example"}},
    )
    monkeypatch.setattr(rotation, "Internal", lambda _hub: SimpleNamespace(started=lambda: None))
    monkeypatch.setattr(rotation.ask, "require", lambda *_given: None)
    result: dict[str, Any] = action._look(action.params)
    return result


def test_what_is_due_at_a_site_that_this_run_does_not_reach_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a site that has left the inventory, and stays in the ledger until it is forgotten, it would be due for ever."""
    found = look(monkeypatch, ["site-a"])
    assert "site-a: more than half" in found["reasons"]["client"] and "site-gone" not in found["reasons"]["client"]
    found = look(monkeypatch, ["site-b"])
    assert (found["todo"], found["changed"], found["msg"]) == ([], False, "nothing is due")


def test_what_is_requested_is_done_at_any_site(monkeypatch: pytest.MonkeyPatch) -> None:
    assert look(monkeypatch, ["site-b"], rotate="client")["todo"] == ["client"]


def settle(monkeypatch: pytest.MonkeyPatch, *, force: bool) -> tuple[dict[str, Any], list[str], list[str]]:
    """The result of the last step of a rotation of secrets in which site-b was down; its warnings, and what the audit trail has."""
    recorded: list[str] = []
    action: Any = object.__new__(rotation.ActionModule)
    action._task = SimpleNamespace(check_mode=False)
    action.book = {"denied": {}}
    key = {"pool": "cpu", "name": "0", "node_id": "1", "dead": False}
    action.records = {name: {"keys": {"SHA256:x": key}} for name in ("site-a", "site-b")}
    action.hub = SimpleNamespace(warnings=[])
    monkeypatch.setattr(rotation, "Internal", lambda _hub: SimpleNamespace(settle=lambda words: recorded.append(words) or True))
    reports = [{"site": "site-a", "renewed": True, "trouble": ""}, {"site": "site-b", "renewed": False, "trouble": "no answer"}]
    result = action._settle({"hub": "hub", "sites": ["site-a", "site-b"], "reports": reports, "force": force})
    return result, action.hub.warnings, recorded


def test_a_site_that_was_left_out_is_not_said_to_have_new_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    result, warnings, recorded = settle(monkeypatch, force=True)
    assert "not those of sites that were left out: site-b: no answer" in result["msg"]
    assert "rotate superexec again" in warnings[0] and recorded == [result["msg"]]
    result, warnings, recorded = settle(monkeypatch, force=False)
    assert result["failed"] and recorded == []


def test_a_site_that_is_offline_stops_restarts_with_a_way_out() -> None:
    action: Any = object.__new__(rotation.ActionModule)
    action._task, action.book, action.records = SimpleNamespace(check_mode=False), {"denied": {}}, {}
    action._offline = lambda _seconds: {"site-b": "cpu/0 is offline"}
    with pytest.raises(ClusterError, match="site-b: cpu/0 is offline.*-e cert_rotation_force=true"):
        action._gate({"sites": ["site-a", "site-b"], "force": False, "wait": 0})
