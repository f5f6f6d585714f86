# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A hub that moved: its sites are asked whether they reach it, since their pods stay ready and count as online for a while."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.sites import direct, direct_certificates
from ansible_collections.federated.flower.plugins.plugin_utils.sites.registry import access_of
from ansible_collections.federated.flower.plugins.plugin_utils.sites.site import Site, StepResult
from ansible_collections.federated.flower.tests.unit.rows import each_row

CHANGED = {"kind": "ConfigMap", "name": "supernode-sidecar", "change": "changed"}
REFUSED = {"error": "the sidecar got no answer from the hub (503)"}


def pod(name: str, *, sidecar: bool = True) -> dict[str, Any]:
    running = [{"name": "supernode", "state": {"running": {}}}]
    spec = {"containers": [{"name": "supernode"}], "initContainers": [{"name": "sidecar"}] if sidecar else []}
    return {"metadata": {"name": name, "namespace": "flower"}, "spec": spec, "status": {"containerStatuses": running}}


class Moved:
    """A cluster with pods, whose sidecars take in a configuration or do not."""

    def __init__(self, rc: int = 0, fault: str = "", *, allowed: bool = True) -> None:
        self.rc, self.fault, self.allowed, self.asked = rc, fault, allowed, []

    def access_review(self, checks: list[Any]) -> list[bool]:
        return [self.allowed for _one in checks]

    def list(self, *_which: Any, **_more: Any) -> list[Any]:
        return [pod("supernode-cpu-1"), pod("supernode-cpu-0"), pod("other", sidecar=False)]

    def exec(self, _namespace: str, name: str, container: str, command: list[str], timeout: float) -> Any:
        self.asked.append((name, container, command[-1]))
        if self.fault:
            raise ClusterError(self.fault)
        return SimpleNamespace(rc=self.rc)


def way_of_site(parsed_site: Any, cluster: Moved, *objects: dict[str, str], check: bool = False) -> direct.Backend:
    run: Any = SimpleNamespace(check=check, rendering=False)
    way = direct.Backend(run, Site("site-a", parsed_site(superlink_address="hub.example.com:443"), access_of({}), seconds=0))
    way.cluster = cluster  # type: ignore[assignment]
    way._apply = lambda *_given, **_more: StepResult(objects=list(objects))  # type: ignore[method-assign]
    way.apply([], lambda: None)
    return way


@pytest.mark.parametrize(
    ("seen", "rc", "fault", "found"),
    [
        ({"serial": "1f"}, 0, "", ("", "")),
        (REFUSED, 0, "", ("do not reach the hub at hub.example.com:443 any more: supernode-cpu-0: the sidecar got no answer", "")),
        (REFUSED, 1, "", ("", "its sidecar does not have the new configuration yet")),
        (REFUSED, 0, "no connection", ("", "its sidecar could not be queried: no connection")),
    ],
)
def test_a_running_sidecar_is_asked_once_it_has_the_new_configuration(parsed_site, monkeypatch, seen, rc, fault, found):
    cluster = Moved(rc, fault)
    monkeypatch.setattr(direct_certificates.outdated_pods, "run_site_program", lambda *_given: {"seen": {"now": seen}})
    way = way_of_site(parsed_site, cluster, CHANGED)
    for said, part in zip(way.connectivity_error(), found):
        assert part in said if part else said == ""
    wanted = direct_certificates.site_proof.file_digest(direct_certificates.sidecar.configuration(way.site.spec))
    assert cluster.asked == [("supernode-cpu-0", "sidecar", wanted)]


def test_without_the_right_nobody_is_asked(parsed_site):
    """A request that is refused would stand in audit logs."""
    cluster = Moved(allowed=False)
    fault, warning = way_of_site(parsed_site, cluster, CHANGED).connectivity_error()
    assert fault == "" and ": the right to exec in it is missing" in warning and not cluster.asked


@each_row(("change", "check"), [("unchanged", False), ("created", False), ("changed", True)])
def test_nobody_is_asked_where_running_sidecars_keep_what_they_have(parsed_site, change, check):
    cluster = Moved()
    assert way_of_site(parsed_site, cluster, {**CHANGED, "change": change}, check=check).connectivity_error() == ("", "")
    assert cluster.asked == []


def test_a_site_whose_pods_cannot_be_asked_ends_in_time(parsed_site, monkeypatch):
    """All other sites wait for it. Pods that no key belongs to are not asked."""
    now, asked = [0.0], []

    def run(_cluster: Any, one: Any, *_more: Any) -> Any:
        asked.append(one["metadata"]["name"])
        now[0] += 1 if one["metadata"]["name"] == "supernode-cpu-0" else 90
        if now[0] > 1:
            raise ClusterError("the connection broke")
        return {"seen": {"now": {"serial": "7"}}, "held": {}}

    monkeypatch.setattr(direct_certificates.outdated_pods, "run_site_program", run)
    monkeypatch.setattr(direct_certificates, "time", SimpleNamespace(monotonic=lambda: now[0]))
    pods = [pod(f"supernode-cpu-{number}") for number in range(100)]
    for one in pods:
        one["metadata"]["labels"] = {"federated.flower/pool": "cpu"}
    cluster: Any = SimpleNamespace(get=lambda *_which: {"data": {"ca.crt": "x"}}, list=lambda *_which, **_more: pods)
    site = Site("site-a", parsed_site(superlink_address="hub.example.com:443"), access_of({}))
    wanted = direct_certificates.site_proof.Proof("hub", {"now": "7"}, expected=[{"pool": "cpu", "name": str(name)} for name in range(20)], seconds=120)
    result: dict[str, Any] = {"pods": []}
    run_: Any = SimpleNamespace(check=False)
    direct_certificates.prove(run_, cluster, site, wanted, result)
    assert now[0] <= 120 + 30 + 20 * 2 + 90 and len(asked) == 4
    assert [one["pod"] for one in result["pods"]] == [f"supernode-cpu-{number}" for number in range(20)]
    assert result["accepts"] == [] and "supernode-cpu-19: it was not asked, because" in result["trouble"]
