# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ClientApps as a workload of their own: each has one SuperNode, and is the same wherever the settings are."""

from __future__ import annotations

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.manifests import clientapp
from ansible_collections.federated.flower.plugins.plugin_utils.sites.workloads import workload
from ansible_collections.federated.flower.tests.unit import specs
from ansible_collections.federated.flower.tests.unit.rows import each_row
from ansible_collections.federated.flower.tests.unit.specs import supernode_faults

POOL = {
    "name": "gpu",
    "replicas": 2,
    "node_config": {"partition-id": "{partition}", "num-partitions": "{partitions}"},
    "gpu": {"resource": "nvidia.com/gpu", "count": 1},
    "shm_size": "1Gi",
}


@pytest.fixture
def spec(supernode_spec):
    """Function: the spec of a site with such ClientApps, and some changes."""

    def make(**changes):
        base = {
            "clientapp": "workload",
            "pools": [POOL],
            "allocation": {"gpu": {"offset": 5, "partitions": 9}},
        }
        return supernode_spec(**{**base, **changes})

    return make


def found(objects, kind, name):
    return next(item for item in objects if (item["kind"], item["metadata"]["name"]) == (kind, name))


def test_each_client_app_has_the_one_supernode_of_its_number(spec):
    objects = specs.supernode_objects(spec())
    nodes = found(objects, "StatefulSet", "supernode-gpu")
    apps = found(objects, "StatefulSet", "clientapp-gpu")
    for clientapps in ("workload", "pod"):  # status.yml sees it in what is live
        own = found(specs.supernode_objects(spec(clientapp=clientapps)), "StatefulSet", "supernode-gpu")
        assert workload(own)["apart"] == (clientapps == "workload")
    assert nodes["spec"]["ordinals"] == {"start": 5} and apps["spec"]["ordinals"] == {"start": 0}
    assert nodes["spec"]["replicas"] == apps["spec"]["replicas"] == 2
    args = apps["spec"]["template"]["spec"]["containers"][0]["args"]
    assert args[:2] == ["--runtime-api-address", "supernode-gpu-runtime-$(FLOWER_INDEX).flower.svc:9095"]
    for number in (0, 1):
        service = found(objects, "Service", clientapp.listener_service("gpu", number))["spec"]
        assert service["selector"][clientapp.POD_NAME] == f"supernode-gpu-{5 + number}"
        assert service["publishNotReadyAddresses"] and service["ports"][0]["port"] == 9095
    env = apps["spec"]["template"]["spec"]["containers"][0]["env"]
    assert env[0]["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.labels['apps.kubernetes.io/pod-index']"


def test_sites_with_the_same_settings_have_the_same_client_apps(spec):
    one = specs.clientapp_objects(spec())
    other = specs.clientapp_objects(spec(cluster="site-b", allocation={"gpu": {"offset": 0, "partitions": 9}}))
    assert one == other and len(one) == 1
    whole = specs.supernode_objects(spec())
    assert one == [item for item in whole if clientapp.is_one(item)]


def test_they_need_nothing_from_hub_or_ledger(spec):
    early = spec(allocation={}, superlink_address="", ca_bundle="", client_certificate="")
    assert specs.clientapp_objects(early) == specs.clientapp_objects(spec())


SCANS = [{"name": "scans", "persistentVolumeClaim": {"claimName": "scans"}}]
FETCH = {"name": "fetch", "image": "fetch:1", "volumeMounts": [{"name": "scans", "mountPath": "/scans"}]}
LOGS = {"name": "logs", "image": "logs:2", "volumeMounts": [{"name": "tmp", "mountPath": "/logs"}]}


def pods(objects):
    """The containers of the SuperNodes' pods and of the ClientApps', by kind: all have an image, and every mount its volume."""
    for name in ("supernode-gpu", "clientapp-gpu"):
        pod = found(objects, "StatefulSet", name)["spec"]["template"]["spec"]
        every = [*pod.get("initContainers", []), *pod["containers"]]
        assert all(one.get("image") for one in every), name
        mounted = {one["name"] for container in every for one in container.get("volumeMounts", [])}
        assert mounted <= {volume["name"] for volume in pod["volumes"]}, name
        yield [one["name"] for one in pod.get("initContainers", [])], [one["name"] for one in pod["containers"]]


def test_containers_that_mount_what_computes_are_with_the_client_app(spec):
    changes = {"volumes": SCANS, "init_containers": [FETCH], "extra_containers": [LOGS]}
    template = {"spec": {"initContainers": [{"name": "fetch", "env": [{"name": "A", "value": "b"}]}]}}
    for more in ({}, {"pod_template": template}):
        node, app = pods(specs.supernode_objects(spec(**changes, **more)))
        assert node == (["sidecar"], ["supernode", "logs"]) and app == (["fetch"], ["superexec", "logs"])
    # A volume that both pods have is mounted in both.
    node, app = pods(specs.supernode_objects(spec(init_containers=[FETCH], pod_template={"spec": {"volumes": SCANS}})))
    assert (node[0], app[0]) == (["sidecar", "fetch"], ["fetch"])


@pytest.mark.parametrize("name", ["superexec", "supernode"])
def test_a_pod_template_changes_the_container_that_it_names_and_adds_none(spec, name):
    template = {"spec": {"containers": [{"name": name, "tty": True}], "dnsPolicy": "None"}}
    objects = specs.supernode_objects(spec(pod_template=template))
    assert [containers for _init, containers in pods(objects)] == [["supernode"], ["superexec"]]
    for item in (found(objects, "StatefulSet", "supernode-gpu"), found(objects, "StatefulSet", "clientapp-gpu")):
        pod = item["spec"]["template"]["spec"]
        assert pod["dnsPolicy"] == "None" and pod["containers"][0].get("tty", False) is (pod["containers"][0]["name"] == name)


def test_a_pod_template_that_names_no_container_is_a_fault(spec):
    wrong = {"spec": {"containers": [{"name": "superexce", "tty": True}]}}
    (fault,) = supernode_faults(spec(pod_template=wrong))
    assert "pod_template of the pods supernode: containers has 'superexce', which has no image, and is not one of: supernode" in fault
    assert supernode_faults(spec(pod_template={"spec": {"containers": [{"name": "more", "image": "more:1"}]}})) == []


def test_patches_reach_them(spec):
    patch = {"target": {"kind": "StatefulSet", "name": "clientapp-gpu"}, "patch": {"spec": {"minReadySeconds": 5}}}
    for objects in (specs.supernode_objects(spec(patches=[patch])), specs.clientapp_objects(spec(patches=[patch]))):
        assert found(objects, "StatefulSet", "clientapp-gpu")["spec"]["minReadySeconds"] == 5


@each_row(
    ("changes", "words"),
    [
        ({"clientapp": "daemon"}, "supernode_clientapp must be one of: pod, workload"),
        ({"insecure": True, "mtls": False}, "needs TLS between ClientApp and SuperNode"),
        ({"sidecar": False, "mtls": False}, "supernode_clientapp: 'workload' needs the sidecar"),
        ({"isolation": "subprocess"}, "supernode_isolation: 'subprocess' cannot be combined with"),
        ({"pools": [{**POOL, "isolation": "subprocess"}]}, "supernode_pools[0].isolation: 'subprocess' cannot be combined"),
        ({"pools": [{"name": "edge", "mode": "DaemonSet"}]}, "supernode_pools[0].mode: 'DaemonSet' cannot be combined"),
        (
            {"pools": [{"name": "x" * 42, "replicas": 101, "node_config": {}}]},
            "is too long: its last SuperNode's Service",
        ),
        ({"clientapp_wait": -1}, "supernode_clientapp_wait: -1"),
    ],
)
def test_what_does_not_go_together_is_told(changes, words, spec):
    assert any(words in fault for fault in supernode_faults(spec(**changes))), supernode_faults(
        spec(**changes)
    )


@each_row(
    ("changes", "words"),
    [
        ({"hub_namespace": "n" * 50}, "supernode_hub_namespace"),
        ({"clientapp_predicates": [{"labelSelector": {}}]}, "supernode_clientapp_predicates[0]"),
        ({"clientapp_pace": "fast"}, "supernode_clientapp_pace must be one of: play, ocm"),
        ({"clientapp_rollout": {"type": "All"}}, "has no effect with supernode_clientapp_pace: play"),
        ({"clientapp_pace": "ocm", "clientapp_rollout": {"type": "Slow"}}, "supernode_clientapp_rollout.type: 'Slow'"),
    ],
)
def test_faults_of_their_delivery_are_told(changes, words, spec):
    behind = {"delivery": "ocm", "key_source": "site", "ocm_cluster": "cluster-a"}
    assert any(words in fault for fault in supernode_faults(spec(**behind, **changes)))
    assert supernode_faults(spec(**behind)) == []
