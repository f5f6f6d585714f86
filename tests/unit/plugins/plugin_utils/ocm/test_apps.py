# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions of ClientApps on an Open Cluster Management hub."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.object_names import REPLICA_SET_DIGITS
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import (
    app_versions,
    checks,
    delivery,
    health,
    hub_reader,
)
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import app_versions as unused
from ansible_collections.federated.flower.plugins.plugin_utils.ocm.apps import Apps, rollout_step
from ansible_collections.federated.flower.tests.unit import specs
from ansible_collections.federated.flower.tests.unit.specs import ocm_addon_objects

HOSTILE = "a \"b\" 'c' \\ {{CLUSTER_NAME}} {{ X }} {{ open\nnext line 東京 " + "MIIB" * 550


@pytest.fixture
def apps(parsed_ocm_site):
    """Function: the spec of a site with ClientApps of their own, and these."""

    def make(**changes):
        spec = parsed_ocm_site(clientapp="workload", **changes)
        return spec, specs.clientapp_objects(spec)

    return make


def made(spec, workloads, rules=False):
    placement, wanted = app_versions.objects(spec, workloads, rules=rules)
    return placement, wanted


def test_golden(apps, golden):
    spec, workloads = apps(
        env=[{"name": "NOTE", "value": HOSTILE}],
        clientapp_predicates=[
            {"requiredClusterSelector": {"labelSelector": {"matchLabels": {"gpu": "a100"}}}},
            {"requiredClusterSelector": {"claimSelector": {"matchExpressions": [{"key": "eu", "operator": "Exists"}]}}},
        ],
    )
    golden("ocm-clientapp", app_versions.objects(spec, workloads, rules=False))
    golden("ocm-clientapp-rules", app_versions.objects(spec, workloads, rules=True))


def test_golden_where_the_hub_paces(apps, golden):
    rollout = {
        "type": "Progressive",
        "progressive": {"maxConcurrency": "25%", "progressDeadline": "10m", "maxFailures": 1},
    }
    golden(
        "ocm-clientapp-pace", app_versions.objects(*apps(clientapp_pace="ocm", clientapp_rollout=rollout), rules=True)
    )


def test_a_version_is_its_content(apps):
    one, other = apps(), apps(cluster="site-b", ocm_cluster="cluster-b")
    assert app_versions.version(*one) == app_versions.version(*other)
    changed = [
        apps(superexec_image="app:2"),
        apps(env=[{"name": "A", "value": "1"}]),
        apps(hub_namespace="other"),
        apps(federation="other"),
        apps(clientapp_cluster_sets=["global"]),
        apps(clientapp_predicates=[{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"a": "b"}}}}]),
        apps(clientapp_pace="ocm"),
    ]
    found = {app_versions.version(*each) for each in [one, *changed]}
    assert len(found) == len(changed) + 1 and all(len(word) == REPLICA_SET_DIGITS for word in found)


def test_where_the_hub_paces_a_new_image_is_no_new_version(apps):
    def version(**changes):
        return app_versions.version(*apps(clientapp_pace="ocm", **changes))

    assert version() == version(superexec_image="app:2") == version(version="1.41.1")
    assert version() != version(env=[{"name": "A", "value": "1"}])


@pytest.mark.parametrize(
    ("given", "rendered"),
    [
        ({}, {"maxConcurrency": 1}),
        ({"type": "Progressive"}, {"maxConcurrency": 1}),
        ({"type": "Progressive", "progressive": {"minSuccessTime": "5m"}}, {"maxConcurrency": 1, "minSuccessTime": "5m"}),
        ({"type": "Progressive", "progressive": {"maxConcurrency": "2", "maxFailures": "10%"}}, {"maxConcurrency": 2, "maxFailures": "10%"}),
    ],
)
def test_the_hub_rolls_out_to_one_cluster_at_a_time_unless_told_otherwise(given, rendered, apps):
    """Without a number OCM takes all clusters at once, and a number as text ends its rollout before it begins."""
    (reference,) = made(*apps(clientapp_pace="ocm", clientapp_rollout=given), rules=True)[1]["spec"]["placementRefs"]
    assert reference["rolloutStrategy"] == {"type": "Progressive", "progressive": rendered}


def test_services_of_single_supernodes_are_the_sites_own(apps):
    spec, _workloads = apps()
    common, own = delivery.split(specs.supernode_objects(spec))
    names = [item["metadata"]["name"] for item in own]
    assert "supernode-default-runtime-0" in names and not any(
        "runtime" in str(item["spec"]) for item in common if item["kind"] == "Service"
    )


def test_cluster_sets_are_bound_for_client_apps_whoever_brings_the_add_on(ocm_addon_spec):
    def kinds(**changes):
        return [item["kind"] for item in ocm_addon_objects(ocm_addon_spec(install="Manual", **changes))]

    assert "ManagedClusterSetBinding" in kinds(clientapps=True)
    assert "ManagedClusterSetBinding" not in kinds() and "Placement" not in kinds(clientapps=True)


def test_versions_that_no_cluster_names_go_with_their_placement(apps):
    spec, workloads = apps()
    label = app_versions.label("flower")
    item = made(spec, workloads)[1]
    own = {"metadata": {"name": "c", "labels": {label: app_versions.version(spec, workloads)}}}
    assert unused.unused_apps([item], [own], label) == []
    gone = unused.unused_apps([item], [{"metadata": {"name": "c", "labels": {label: "other"}}}], label)
    assert [(one["kind"], one["metadata"]["name"]) for one in gone] == [
        ("ManifestWorkReplicaSet", item["metadata"]["name"]),
        ("Placement", item["metadata"]["name"]),
    ]


# ---- the feature -----------------------------------------------------------------------------------------------------


def manager(*listed, part="workConfiguration"):
    return {"metadata": {"name": "cluster-manager", "generation": 3}, "spec": {part: {"featureGates": list(listed)}}}


ON = {"feature": "ManifestWorkReplicaSet", "mode": "Enable"}
OFF = {"feature": "ManifestWorkReplicaSet", "mode": "Disable"}
OTHER = {"feature": "CleanUpCompletedManifestWork", "mode": "Enable"}


def test_a_feature_that_is_off_is_told_with_a_command_that_keeps_the_others():
    for before, after in (((), [ON]), ((OTHER,), [OTHER, ON]), ((OTHER, OFF), [OTHER, ON])):
        ((problem,), _warnings) = checks.clientapps_gate(manager(*before), [], enable=False)
        (patch,) = json.loads(problem.partition("-p '")[2].partition("'`")[0])
        assert (patch["op"], patch["path"], patch["value"]["featureGates"]) == ("add", "/spec/workConfiguration", after)
        assert "flower_ocm_enable_gates" in problem
    assert checks.clientapps_gate(manager(OTHER, ON), [], enable=False) == checks.clientapps_gate(manager(), [], enable=True) == ([], [])
    assert checks.clientapps_gate(None, [{"status": {"conditions": [{}]}}], enable=False) == ([], [])
    problems, (warning,) = checks.clientapps_gate(None, [{}], enable=False)
    assert problems == [] and "the hub has no readable ClusterManager" in warning


def test_what_the_operator_says_of_a_feature(status):
    live = {**manager(ON), "status": {"observedGeneration": 2}}
    assert hub_reader.operator_state(live, 3).why == "it has not processed it yet"
    assert hub_reader.operator_state({**live, "status": {"observedGeneration": 3}}, 3).ready
    bad = status.condition("ValidFeatureGates", "False", message="no such gate", observedGeneration=3)
    assert hub_reader.operator_state({**live, "status": {"observedGeneration": 3, "conditions": [bad]}}, 3).why == "ValidFeatureGates: no such gate"


# ---- a cluster -------------------------------------------------------------------------------------------------------


def test_what_keeps_client_apps_from_a_cluster_is_told(apps, status):
    addon = {"cluster_sets": ["default"], "set_labels": {}, "clientapps": True}

    def faults(live=None, **changes):
        return checks.clientapps(apps(**changes)[0], live or status.cluster(), addon, dict)

    assert faults() == []
    label = {"requiredClusterSelector": {"labelSelector": {"matchLabels": {"gpu": "a100"}}}}
    known = {"components": {"schemas": {}}}
    (fault,) = checks.clientapps(apps(clientapp_predicates=[label])[0], status.cluster(), addon, lambda: known)
    assert "do not support labelSelector" in fault
    (fault,) = checks.clientapps(apps()[0], status.cluster(), {**addon, "clientapps": False}, dict)
    assert "set flower_clientapp: workload" in fault
    (fault,) = faults(clientapp_cluster_sets=["hospitals"])
    assert "flower_ocm_cluster_sets" in fault
    stranger = status.cluster()
    stranger["metadata"]["labels"]["cluster.open-cluster-management.io/clusterset"] = "other"
    (fault,) = faults(stranger)
    assert "is in the cluster set other" in fault


def test_a_site_is_ready_when_its_client_apps_are(apps, status):
    spec, workloads = apps()
    nodes = status.nodes(replace(spec, clientapp="pod"))
    work = {"metadata": {"name": "clientapp-x"}, "spec": made(spec, workloads)[1]["spec"]["manifestWorkTemplate"]}

    def row(apps_work, version="x"):
        seen = health.Seen(
            "cluster-a",
            status.cluster(),
            True,
            {**status.addon(status.references(spec))},
            status.taken(nodes, status.numbers(nodes)),
            None,
            version,
            apps_work,
        )
        return health.health_row(seen, 1)

    good = row(status.taken(work, status.numbers(work)))
    assert (good["state"], good["clientapp"]["pods"], good["clientapp"]["images"]) == (
        "ready", 1, ["docker.io/flwr/superexec:1.42.0"],
    )  # fmt: skip
    late = row(status.taken(work, status.numbers(work, 0)))
    assert late["state"] == "starting" and late["why"].startswith("ClientApps: StatefulSet clientapp-default")
    assert row(None)["state"] == "delivering"
    assert row(status.taken(work, {}, refused="StatefulSet"))["state"] == "refused"
    assert row(None, "")["clientapp"] == {}


def paced(**summary):
    return {"status": {"summary": {"total": 3, **summary}, "conditions": [{"lastTransitionTime": "now"}]}}


def test_numbers_that_a_rollout_had_before_are_no_progress():
    steps = [rollout_step(paced(progressing=number % 2)) for number in range(100)]
    assert len(set(steps)) == 2 and rollout_step(None) not in steps


def test_a_failed_turn_says_that_the_hub_goes_on_by_itself(apps):
    spec, workloads = apps(clientapp_pace="ocm")
    said = Apps(None, spec, workloads)._goes_on()
    assert "ManifestWorkReplicaSet flower/clientapp-" in said and "run again with the previous image" in said
    assert Apps(None, replace(spec, clientapp_pace="play"), workloads)._goes_on() == ""


class Labelled:
    """A hub with one ManagedCluster that is in two federations."""

    host = name = serves = "hub"

    def __init__(self):
        self.patches = []

    def get(self, api_version, kind, name, namespace=None):
        labels = {"clientapp.federated.flower/flower": "1", "clientapp.federated.flower/other": "2"}
        return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "labels": labels}}

    def patch(self, _api_version, _kind, _name, _namespace, body):
        self.patches.append(body)


def test_clientapps_of_another_federation_in_the_same_cluster_stay(parsed_ocm_site):
    hub = Labelled()
    Apps(hub, parsed_ocm_site(), []).remove(None)
    assert hub.patches == [{"metadata": {"labels": {"clientapp.federated.flower/flower": None}}}]


class Lingering(Labelled):
    """A hub whose cluster has no version in its label, and still the ManifestWorks of others."""

    def __init__(self, *works):
        super().__init__()
        self.works = list(works)

    def get(self, api_version, kind, name, namespace=None):
        return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "labels": {}}}

    def list(self, _api_version, _kind, _namespace, *, labels):
        key, _equals, value = labels.partition("=")
        return [{"metadata": {"name": one, "labels": {key: one}}} for one in self.works if value in ("", one)]


def test_a_version_whose_label_is_gone_is_waited_for_as_well(apps, monkeypatch):
    spec, workloads = apps()
    hub, gates = Lingering("flower.clientapp-old", "other.clientapp-x", "flower.nodes"), []
    one = Apps(hub, spec, workloads)
    monkeypatch.setattr(one, "_changes", list)
    monkeypatch.setattr("ansible_collections.federated.flower.plugins.plugin_utils.ocm.apps.Clock", Once)
    monkeypatch.setattr(checks, "unavailable", lambda *_given: "")
    with pytest.raises(ClusterError, match=r"has not deleted its previous ClientApps .ManifestWork clientapp-old."):
        one.bring(None, lambda: gates.append(1))
    assert gates == [1] and hub.patches == [], "runs are waited for, and the new version does not come beside the old one"
    hub.works.remove("flower.clientapp-old")
    one.bring(None, lambda: gates.append(1))
    assert gates == [1] and len(hub.patches) == 1
    monkeypatch.setattr(checks, "unavailable", lambda *_given: "its agent is silent")
    hub.works.append("flower.clientapp-old")
    with pytest.raises(ClusterError, match="its agent is silent. Its ClientApps were not changed"):
        one.bring(None, lambda: gates.append(1))


@pytest.mark.parametrize(("changed", "gates"), [("Placement", []), ("ManifestWorkReplicaSet", [1])])
def test_only_what_changes_pods_waits_for_runs(changed, gates, apps, monkeypatch):
    spec, workloads = apps()
    version = {f"clientapp.federated.flower/{spec.federation}": app_versions.version(spec, workloads)}
    live = {"metadata": {"labels": version}, "spec": {"manifestWorkTemplate": {}}}
    hub, applied, waited = SimpleNamespace(get=lambda *_which: live), [], []

    def apply(_hub, objects, **_options):
        applied.append([item["kind"] for item in objects])
        told = [{"kind": item["kind"], "change": "changed" if item["kind"] == changed else "unchanged"} for item in objects]
        return SimpleNamespace(objects=told, changed=True)

    monkeypatch.setattr("ansible_collections.federated.flower.plugins.plugin_utils.ocm.apps.apply_objects", apply)
    monkeypatch.setattr(checks, "unavailable", lambda *_given: "")
    Apps(hub, spec, workloads).bring(None, lambda: waited.append(1))
    assert waited == gates and applied[-1] == [changed]


class Once:
    """A clock whose time is over at once."""

    def __init__(self, seconds):
        self.seconds = seconds

    def tick(self):
        return False
