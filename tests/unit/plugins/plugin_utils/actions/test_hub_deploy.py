# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Steps of the action superlink: what each applies, and what is recorded where a later one fails."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.action import superlink
from ansible_collections.federated.flower.plugins.plugin_utils.actions import hub_certificates
from ansible_collections.federated.flower.plugins.plugin_utils.apply.results import Result
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError

SETTINGS = {"wait": True, "wait_timeout": 30, "ca_namespace": "flower-ca", "sites": []}
ISSUED = {
    "changed": False, "diff": [], "warnings": [], "objects": [], "msg": "all certificates are good", "address": "hub.example.com:9092",
    "ca_bundle": "CA", "secret": "superlink-tls", "names": ["hub.example.com"], "storage_size": "10Gi",
}  # fmt: skip


class Action(superlink.ActionModule):
    """The action with a cluster that accepts everything."""

    rendering = False
    check = False
    show_diff = False

    def __init__(self, fails: str = "") -> None:
        self.inventory_host, self.task_vars, self._fails = "hub", {"superlink_checked": {}}, fails
        self.noted: list[Any] = []

    def connect(self, host: str | None = None, *, timeout: float = 0) -> Any:
        return nullcontext(SimpleNamespace(name="hub"))

    def note(self, site: str | None = None, **facts: Any) -> None:
        self.noted += list(facts["objects"])

    def issue_missing(self, spec: Any, params: Any, ca_lifetime_days: int = 3650) -> dict[str, Any]:
        if self._fails:
            raise ClusterError(self._fails)
        return ISSUED


@pytest.fixture
def applied(monkeypatch: pytest.MonkeyPatch, parsed_hub: Any) -> list[tuple[list[str], dict[str, Any]]]:
    calls: list[tuple[list[str], dict[str, Any]]] = []

    def apply(hub: Any, objects: list[dict[str, Any]], **options: Any) -> Result:
        kinds = [one["kind"] for one in objects]
        calls.append((kinds, options))
        done = [{"apiVersion": one["apiVersion"], "kind": one["kind"], "namespace": "flower", "name": one["kind"], "change": "created"} for one in objects]
        return Result(changed=True, msg="applied", objects=done)

    monkeypatch.setattr(superlink, "apply_objects", apply)
    monkeypatch.setattr(superlink, "given_spec", lambda action, spec, platform="": parsed_hub())
    monkeypatch.setattr(superlink, "hub_settings", lambda action: SETTINGS)
    monkeypatch.setattr(superlink.stuck_pods, "are_files_changed", lambda objects: False)
    return calls


def of(state: str) -> dict[str, Any]:
    return {"state": state, "works": ["deploy"], "serves_later": False, "rights": None, "policy": None}


def test_the_services_come_first_and_nothing_is_pruned_until_everything_is_known(applied: Any) -> None:
    result = Action().execute(of("present"), {})
    (front, first), (rest, second) = applied
    assert "Service" in front and "StatefulSet" not in front and first["prune"] is False
    assert "StatefulSet" in rest and second["prune"] is None and second["applyset"] == "superlink"
    assert result["changed"] and result["address"] == "hub.example.com:9092"
    assert len(result["objects"]) == len(front) + len(rest)


def test_the_namespace_of_the_lease_is_applied_alone(applied: Any) -> None:
    """Of several first deployments one creates the lease; the others leave nothing, also no record of a set."""
    action = Action()
    action.params = of("present")
    assert action.make_lease_namespace(SimpleNamespace(name="hub"))  # type: ignore[arg-type]
    ((kinds, options),) = applied
    assert kinds == ["Namespace"] and "applyset" not in options
    action.params = of("checked")
    assert not action.make_lease_namespace(SimpleNamespace(name="hub"))  # type: ignore[arg-type]


def test_what_was_applied_before_an_error_is_recorded(applied: Any) -> None:
    action = Action(fails="nobody signs")
    with pytest.raises(ClusterError, match="nobody signs"):
        action.execute(of("present"), {})
    assert any("Service" in str(one) for one in action.noted)


def test_secrets_are_recorded_where_the_rest_cannot_be_applied(applied: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "namespace": "flower", "name": "superlink-tls", "change": "created"}
    monkeypatch.setitem(ISSUED, "objects", [secret])
    action, apply = Action(), superlink.apply_objects

    def fail(hub: Any, objects: Any, **options: Any) -> Result:
        if len(applied) == 1:
            raise ClusterError("no room")
        return apply(hub, objects, **options)

    monkeypatch.setattr(superlink, "apply_objects", fail)
    with pytest.raises(ClusterError, match="no room"):
        action.execute(of("present"), {})
    assert any("superlink-tls" in str(one) for one in action.noted)


def test_the_hub_gets_no_ca_that_its_clock_takes_for_one_of_the_future(monkeypatch: pytest.MonkeyPatch, parsed_hub: Any) -> None:
    """A new CA of the sites' client certificates: the gateway would refuse every site by it."""

    def nothing(*_given: Any) -> None:
        """Refuses nothing."""

    plan = SimpleNamespace(members=[], pending="")
    hub = SimpleNamespace(name="hub", skew=-3600.0)
    stand_ins: dict[str, Any] = {
        "check": False, "connect": lambda _action: nullcontext(hub), "check_denials": nothing, "address": lambda *_given: "hub.example:9092",
        "wanted": lambda *_given: SimpleNamespace(namespace="flower", ca_namespace="flower-ca"), "plan": lambda *_given: plan, "refuse_faults": nothing,
    }  # fmt: skip
    action = object.__new__(type("Issuing", (superlink.ActionModule,), stand_ins))
    monkeypatch.setattr(hub_certificates.namespaces, "resolve_ca_namespace", lambda *_given: "flower-ca")
    monkeypatch.setattr(hub_certificates, "LiveObjects", lambda *_given: None)
    monkeypatch.setattr(hub_certificates.internal_secrets, "plan", lambda *_given: SimpleNamespace(secrets=[{"kind": "Secret"}]))
    monkeypatch.setattr(hub_certificates, "apply_objects", lambda *_given, **_more: pytest.fail("it was written"))
    with pytest.raises(ClusterError, match="the clock of the control node is 60 minutes ahead of that of hub, so nothing is signed"):
        action.issue_missing(parsed_hub(), SETTINGS)
