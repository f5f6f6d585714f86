# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A federation that an earlier release deployed is taken over: no pod restarts, nothing changes but what is listed here."""

from __future__ import annotations

import difflib
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.flower import app as apps
from ansible_collections.federated.flower.plugins.plugin_utils.flower import runs, submission
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI
from ansible_collections.federated.flower.tests.integration.scenarios.conftest import APP
from ansible_collections.federated.flower.tests.integration.scenarios.lane import NAMESPACE

#: The release that deploys, as a commit: the last one before ownership was recorded.
RELEASE = "577cac1"

#: What a user of the collection needs of it.
PARTS = ("galaxy.yml", "meta", "playbooks", "plugins", "roles")

#: What later releases set otherwise by default, so that their pods are other ones: Flower's release, and memory had no limits.
FLOWER = "1.41.0"
AS_BEFORE: dict[str, Any] = {"flower_version": FLOWER} | {
    name: {"requests": {"cpu": cpu, "memory": memory}}
    for name, cpu, memory in (
        ("superlink_resources", "100m", "256Mi"),
        ("superlink_gateway_resources", "20m", "32Mi"),
        ("superlink_serverapp_resources", "100m", "256Mi"),
        ("supernode_resources", "50m", "192Mi"),
        ("supernode_superexec_resources", "100m", "256Mi"),
        ("supernode_sidecar_resources", "10m", "32Mi"),
    )
}

WORKLOADS = (("hub", "superlink"), ("hub", "serverapp"), ("site-a", "supernode"), ("site-b", "supernode"))

#: What taking over may change, as «Kind name» -> what the changed lines look like: what a fix needs, never a pod's template.
_SELECTOR = r"\+ +app\.kubernetes\.io/managed-by: federated\.flower"  # selects no pods of others that have the same names
# Caches of DNS on nodes may be asked, too.
_RULE = r"(- )?(ports:|protocol: (UDP|TCP)|to:|namespaceSelector:|podSelector:|matchLabels:)"
_DNS = rf"\+ +({_RULE}|(- )?(port: 53|ipBlock:|cidr: 169\.254\.0\.0/16|kubernetes\.io/metadata\.name: kube-system|k8s-app: node-local-dns))"
# A site in the hub's cluster reaches the SuperLink's pod where the network plugin sees that behind the address.
_HUB_HERE = rf"\+ +((- )?port: 9092|kubernetes\.io/metadata\.name: {NAMESPACE}|app\.kubernetes\.io/(component|instance|name): (superlink|scenario))"
MENDS = {
    "ConfigMap superlink-clients": r"\+ +federated\.flower/hub: [0-9a-f-]+",  # the hub's identity, which survives the loss of the ledger
    # Limits of each site and of ServerApps, by what HAProxy counts itself; the gateway reads them without a restart.
    "ConfigMap superlink-gateway": (
        r"[+-] +((tcp|http)-request|http-response|acl|maxconn|default_backend|backend|server|http-reuse|stick-table|option dontlognull)\b.*"
    ),
    "NetworkPolicy serverapp": f"{_SELECTOR}|{_DNS}",
    "NetworkPolicy superlink": f"{_SELECTOR}|{_DNS}",
    "NetworkPolicy supernode": f"{_SELECTOR}|{_DNS}|{_HUB_HERE}",
    "PodDisruptionBudget serverapp": _SELECTOR,
    "PodDisruptionBudget supernode-cpu": _SELECTOR,
    "Service superlink": _SELECTOR,
    "Service superlink-runtime": _SELECTOR,
    "Service supernode": _SELECTOR,
}


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """Folder for ANSIBLE_COLLECTIONS_PATH that holds the collection as it was released."""
    checkout = os.environ.get("FLOWER_CHECKOUT", "")
    if not checkout:
        pytest.fail("FLOWER_CHECKOUT is not set: run `make scenario NAME=test_00_upgrade`")
    git = ["git", "-c", f"safe.directory={checkout}", "-C", checkout]
    if subprocess.run([*git, "cat-file", "-e", RELEASE], capture_output=True, check=False).returncode:
        pytest.skip(f"{checkout} has no git history that reaches back to {RELEASE}")
    archive = subprocess.run([*git, "archive", RELEASE, *PARTS], capture_output=True, check=True).stdout
    folder = tmp_path / "ansible_collections" / "federated" / "flower"
    folder.mkdir(parents=True)
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)
    return tmp_path


def lives(fed) -> dict[tuple[str, str], dict[str, tuple[str, int]]]:
    """Pods and restarts of all workloads."""
    return {place: fed.lives(place[0], name=place[1]) for place in WORKLOADS}


def workloads(fed) -> dict[str, bool]:
    """Kind -> whether the ServerApp has such a workload."""
    kinds = ("Deployment", "StatefulSet")
    return {kind: fed.hub.get("apps/v1", kind, "serverapp", NAMESPACE) is not None for kind in kinds}


def changed_lines(run) -> dict[str, list[str]]:
    """«Kind name» -> the lines of its difference, for all objects that were not left as they were."""
    found: dict[str, list[str]] = {}
    for one in (one for result in run.results for one in result["result"].get("diff") or [] if "after_header" in one):
        lines = difflib.unified_diff(one["before"].splitlines(), one["after"].splitlines(), n=0, lineterm="")
        kind, _space, place = one["after_header"].partition(" ")
        shown = found.setdefault(f"{kind} {place.rpartition('/')[2]}", [])
        shown += [line for line in lines if not line.startswith(("---", "+++", "@@"))]
    for one in (one for result in run.results for one in result["result"].get("objects") or [] if one["change"] != "unchanged"):
        found.setdefault(f"{one['kind']} {one['name']}", ["(no difference is shown)"])
    return found


def test_a_federation_of_an_earlier_release_is_taken_over(federation, release, fleet_image):
    fleet_image(f"flower-{FLOWER}")
    federation.clear()  # the scenarios of this lane may have started
    run = federation.play("site", collections=release)
    assert "3 SuperNodes of 2 sites are online" in run.messages()
    before = lives(federation)
    ids = {site: federation.keys(site) for site in ("site-a", "site-b")}

    run = federation.site(**AS_BEFORE, superlink_outputs_enabled=False)
    changed = changed_lines(run)
    wrong = {name: lines for name, lines in changed.items() if not all(re.fullmatch(MENDS.get(name, ""), line) for line in lines)}
    assert not wrong, f"the takeover changed more than it must: {wrong}, see {run.log}"
    assert lives(federation) == before, "pods were replaced or restarted"
    assert {site: federation.keys(site) for site in ids} == ids
    assert workloads(federation) == {"Deployment": True, "StatefulSet": False}

    # Outputs are new. They replace the hub's pods, which no run may notice: a run survives that of the SuperLink, not that of the ServerApp.
    cli = FlowerCLI(federation.hub, NAMESPACE)
    run_id = str(submission.submit(cli, apps.load(APP), {"num-server-rounds": 20, "sleep": 6.0})["run-id"])
    words = federation.play("site", rc=2, **AS_BEFORE).messages("hub", failed=True)
    assert f"which would fail run {run_id} of " in words and "superlink_outputs_enabled: false" in words
    same = {**AS_BEFORE, "superlink_outputs_enabled": False}
    words = federation.play("site", rc=2, **same, superlink_serverapp_image="flwr/superexec:1.41.0").messages("hub", failed=True)
    assert "the pod of ServerApps is replaced by one with another image (" in words and f"would fail run {run_id} of " in words, words
    federation.unchanged(**same)  # what replaces nothing is not refused
    assert lives(federation) == before, "what was refused replaced or restarted pods"
    assert runs.stop(cli, [run_id]) == ({}, {}) and runs.read_run(cli, run_id, 60).finished

    federation.site(**AS_BEFORE)
    after = lives(federation)
    assert workloads(federation) == {"Deployment": False, "StatefulSet": True}
    assert [*after["hub", "serverapp"]] == ["serverapp-0"] and [*after["hub", "superlink"]] == ["superlink-0"]
    sites = [place for place in WORKLOADS if place[0] != "hub"]
    assert {place: after[place] for place in sites} == {place: before[place] for place in sites}
    federation.unchanged(**AS_BEFORE)
    assert lives(federation) == after, "the hub's pods were replaced more than once"

    federation.site(**AS_BEFORE, superlink_outputs_enabled=False)
    assert workloads(federation) == {"Deployment": True, "StatefulSet": False}
    claim = federation.hub.get("v1", "PersistentVolumeClaim", "superlink-outputs", NAMESPACE)
    assert claim and not claim["metadata"].get("deletionTimestamp"), "the outputs went with the switch"
