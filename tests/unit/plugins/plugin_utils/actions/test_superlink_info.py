# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A hub whose cluster answers is not said to be unreachable, whatever became of its SuperLink."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.action import superlink_info
from ansible_collections.federated.flower.plugins.action.superlink_info import ActionModule
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.object_names import FEDERATION_CONFIG
from ansible_collections.federated.flower.plugins.plugin_utils.fleet import fleet_report, fleet_table
from ansible_collections.federated.flower.plugins.plugin_utils.kube import stuck_pods
from ansible_collections.federated.flower.tests.unit.passing_time import Time


class Hub:
    """A cluster with a ServerApp, and with what was published of a hub whose SuperLink was deleted."""

    name = "hub"

    def __init__(self, *workloads: dict[str, Any]) -> None:
        self.workloads = list(workloads)

    def list(self, _api_version: str, kind: str, *_place: Any, **_more: Any) -> list[dict[str, Any]]:
        return self.workloads if kind == "StatefulSet" else []

    def get(self, _api_version: str, kind: str, name: str, *_place: Any) -> dict[str, Any] | None:
        published = {"metadata": {"name": name}, "data": {"address": "hub.example:9092", "version": "1.41.0", "ca.crt": "", "insecure": "true"}}
        return published if (kind, name) == ("ConfigMap", FEDERATION_CONFIG) else None


def read(hub: Any) -> dict[str, Any]:
    action = object.__new__(ActionModule)
    action.inventory_host = "hub"
    action._task = SimpleNamespace(check_mode=False, no_log=False)
    action.connect = lambda *_host, **_more: hub
    return action.execute(action._checked(action.ARGS, action.SPEC, {"hub": "hub", "namespace": "flower", "federation": "flower"}, ""), {})


SERVERAPP = {
    "metadata": {"name": "serverapp"},
    "spec": {"replicas": 1, "template": {"spec": {"containers": [{"name": "superexec", "image": "x"}]}}},
    "status": {"readyReplicas": 1},
}


@pytest.mark.parametrize("left", [[SERVERAPP], []])
def test_a_superlink_that_was_deleted(left: list[dict[str, Any]]) -> None:
    found = read(contextlib.nullcontext(Hub(*left)))
    assert found["reachable"] and found["deployed"] and found["trouble"] == "there is no SuperLink: its StatefulSet was deleted"
    assert "there is no such pod" in found["error"] and found["insecure"] is True
    report = fleet_report.fleet_report("hub", found, {})
    assert not any("may still work" in one["remedy"] for one in report["findings"]) and not report["hub"]["well"]
    assert "unreachable" not in fleet_table.fleet_table(report)


def test_the_pod_of_before_a_change_is_not_the_one_that_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """As at the end of site.yml with a limit to the hub: its StatefulSet is changed, and the old pod is ready and about to go."""
    hub, slept = Hub(), []
    was = {**SERVERAPP, "metadata": {"name": "superlink", "generation": 1}, "status": {"readyReplicas": 1, "replicas": 1, "observedGeneration": 1}}
    done = {"observedGeneration": 2, "updatedReplicas": 1, "currentRevision": "b", "updateRevision": "b"}
    hub.workloads = [{**was, "metadata": {"name": "superlink", "generation": 2}}]

    def sleep(_seconds: float) -> None:
        slept.append(read_again["trouble"])
        hub.workloads[0]["status"] = {**was["status"], **(done if len(slept) > 1 else {"observedGeneration": 2, "updateRevision": "b", "currentRevision": "a"})}

    read_again: dict[str, Any] = {"workloads": [], "trouble": "", "deployed": False}
    monkeypatch.setattr(superlink_info, "time", SimpleNamespace(monotonic=lambda: 0.0, sleep=sleep))
    action = object.__new__(ActionModule)
    action._task = SimpleNamespace(check_mode=False)
    action._wait_ready(hub, {"namespace": "flower", "wait_timeout": 300}, read_again)
    assert slept == ["StatefulSet superlink: its controller has not observed generation 2 yet", "StatefulSet superlink: 0 of 1 replicas are updated"]
    assert read_again["trouble"] == ""


def test_pods_that_the_cluster_refuses_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(Hub):
        skew = 0.0

        def list(self, api_version: str, kind: str, *place: Any, **more: Any) -> list[dict[str, Any]]:
            refused = {"metadata": {}, "involvedObject": {"uid": "u"}, "lastTimestamp": "9999", "message": 'pods "serverapp-0" is forbidden: failed quota'}
            return [refused] if kind == "Event" else super().list(api_version, kind, *place, **more)

    time = Time()
    for module in (superlink_info, stuck_pods):
        monkeypatch.setattr(module, "time", time)
    action = object.__new__(ActionModule)
    action._task = SimpleNamespace(check_mode=False)
    result: dict[str, Any] = {"trouble": "", "deployed": False}
    hub = Full({**SERVERAPP, "metadata": {"name": "serverapp", "namespace": "flower", "uid": "u"}, "status": {"readyReplicas": 0, "replicas": 0}})
    action._wait_ready(hub, {"namespace": "flower", "wait_timeout": 300}, result)  # type: ignore[arg-type]
    assert "StatefulSet serverapp at 9999" in result["trouble"] and "failed quota" in result["trouble"] and time.now < 30


def surroundings(monkeypatch: pytest.MonkeyPatch, insecure: bool = False, refusal: str = "") -> None:
    """A hub that is deployed, whose ledger has no sites and whose gateway refuses its files, if it does."""
    cli = SimpleNamespace(wait_for_superlink=lambda _seconds: None)
    ledger = SimpleNamespace(read_book=lambda: {"partitions": 0, "sites": {}}, read_sites=lambda: ({}, {}), read=lambda _part: {})
    monkeypatch.setattr(superlink_info, "FlowerCLI", lambda *_place: cli)
    monkeypatch.setattr(superlink_info, "Ledger", lambda *_place: ledger)
    monkeypatch.setattr(superlink_info, "Gateway", lambda hub, namespace: SimpleNamespace(refusal=lambda: refusal))
    monkeypatch.setattr(superlink_info.runs_of, "read_nodes_and_runs", lambda *_given: ({"7": {"status": "online"}}, []))
    monkeypatch.setattr(superlink_info.run_log, "read_logs", lambda *_given: [])
    monkeypatch.setattr(ActionModule, "_lease", staticmethod(lambda _lease: {}))
    monkeypatch.setattr(ActionModule, "_wait_ready", lambda _self, _hub, _params, result: result.update(deployed=True, insecure=insecure))


@pytest.mark.parametrize(("insecure", "unknown"), [(True, []), (False, ["7"])])
def test_supernodes_of_a_lab_are_not_strangers(monkeypatch: pytest.MonkeyPatch, insecure: bool, unknown: list[str]) -> None:
    """Without node authentication none is in the ledger, and to unregister them, as is the remedy for strangers, would end them."""
    surroundings(monkeypatch, insecure)
    assert read(contextlib.nullcontext(Hub()))["unknown_nodes"] == unknown


def test_a_gateway_that_refuses_its_files_is_trouble_and_shown_in_the_status(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every play that waits for the hub fails on the message, and the status shows a problem, though all pods are ready."""
    said = "the gateway on hub rejects its files: it serves the previous ones"
    surroundings(monkeypatch, refusal=said)
    found = read(contextlib.nullcontext(Hub()))
    assert found["trouble"] == found["msg"] == said
    report = fleet_report.fleet_report("hub", found, {})
    assert not report["healthy"] and any(said in problem for problem in report["problems"]) and not report["hub"]["well"]


def test_a_cluster_that_does_not_answer() -> None:
    class Silent(contextlib.ExitStack):
        def __enter__(self) -> Any:
            raise ClusterError("hub: no connection")

    assert read(Silent())["reachable"] is False
