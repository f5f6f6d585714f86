# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A site's objects: golden files, and the rules behind them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import sidecar, supernode
from ansible_collections.federated.flower.tests.unit import specs
from ansible_collections.federated.flower.tests.unit.rows import each_row

GPU_POOL = {
    "name": "a100",
    "replicas": 2,
    "node_config": {"slot": "{index}", "site": "{cluster}"},
    "gpu": {"resource": "nvidia.com/mig-1g.5gb", "count": 1, "runtime_class": "nvidia"},
    "shm_size": "8Gi",
    "node_selector": {"gpu": "a100"},
    "env": [{"name": "SHARED", "value": "pool"}, {"name": "OWN", "value": 1}],
}
GPU_POOLS = [
    {"name": "amd", "gpu": {"resource": "amd.com/gpu"}},
    {"name": "intel", "gpu": {"resource": "gpu.intel.com/i915"}},
    {"name": "shared", "replicas": 4, "gpu": {"resource": "nvidia.com/gpu.shared"}},
    {"name": "several", "gpu": {"count": 4, "runtime_class": "nvidia"}},
    {"name": "all", "gpu": {"mount_all": True, "runtime_class": "nvidia"}},
    {"name": "some", "mode": "DaemonSet", "gpu": {"mount_all": True, "runtime_class": "nvidia", "visible_devices": "0,1"}},
    {"name": "beside", "isolation": "subprocess", "gpu": {"mount_all": True, "runtime_class": "nvidia"}},
]
EDGE_POOL = {"name": "edge", "mode": "DaemonSet", "node_config": {"camera": "{node}"}}
PLAIN_POOL = {"name": "plain"}

CASES = {
    "default": {},
    "ip-address": {"superlink_address": "192.0.2.10:30992"},
    "no-sidecar": {"sidecar": False, "mtls": False},
    "no-mtls": {"mtls": False},
    "insecure": {"insecure": True, "mtls": False, "ca_bundle": ""},
    "proxy": {
        "http_proxy": {"address": "proxy.example.com:3128", "secret": "site-proxy", "username_key": "user", "cidrs": ["192.0.2.0/28"]},
    },
    "pools": {"pools": [GPU_POOL, EDGE_POOL, PLAIN_POOL], "env": [{"name": "SHARED", "value": "site"}]},
    "gpus": {"pools": GPU_POOLS},
    "subprocess": {"isolation": "subprocess", "pools": [GPU_POOL]},
    "clientapp": {
        "clientapp": "workload",
        "pools": [GPU_POOL, PLAIN_POOL],
        "key_source": "site",
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "scans", "readOnly": True}}],
        "volume_mounts": [{"name": "data", "mountPath": "/scans", "readOnly": True}],
        "egress": [{"cidr": "198.51.100.0/24", "ports": ["443"]}],
    },
    "own-pods": {
        "init_containers": [{"name": "fetch", "image": "busybox:1", "command": ["true"]}],
        "extra_containers": [
            {
                "name": "logs",
                "image": "busybox:1",
                "securityContext": {
                    "runAsUser": 7,
                    "allowPrivilegeEscalation": False,
                    "capabilities": {"drop": ["ALL"]},
                    "readOnlyRootFilesystem": True,
                },
            }
        ],
        "lifecycle": {"preStop": {"sleep": {"seconds": 1}}},
        "superexec_lifecycle": {"preStop": {"sleep": {"seconds": 2}}},
        "pod_template": {"metadata": {"labels": {"mesh": "off"}}, "spec": {"hostAliases": [{"ip": "192.0.2.1", "hostnames": ["nas"]}]}},
        "spread": "soft",
        "max_unavailable": "25%",
        "pools": [
            {
                **PLAIN_POOL,
                "spread": "hard",
                "pod_template": {"spec": {"containers": [{"name": "superexec", "tty": True}], "dnsPolicy": "None", "enableServiceLinks": None}},
                "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}},
            },
            {**EDGE_POOL, "isolation": "subprocess"},
        ],
    },
    "rich": {
        "region": "eu",
        "pools": [{**GPU_POOL, "node_config": {"where": "{region}"}, "pod_labels": {"b": "2"}}],
        "run_as_user": None,
        "run_as_group": None,
        "fs_group": None,
        "pod_labels": {"a": "1"},
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "scans", "readOnly": True}}],
        "volume_mounts": [{"name": "data", "mountPath": "/scans", "readOnly": True}],
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
        "termination_grace_period": 60,
        "runtime_dependency_installation": True,
        "monitoring_namespaces": ["monitoring"],
        "superlink_cidrs": ["192.0.2.0/24"],
        "egress": [{"cidr": "198.51.100.0/24", "ports": ["443"]}],
        "patches": [
            {
                "target": {"kind": "StatefulSet", "name": "supernode-a100"},
                "patch": {"spec": {"minReadySeconds": 5}},
            }
        ],
    },
}


def workload(objects, pool="default"):
    return next(
        o for o in objects if o["metadata"]["name"] == f"supernode-{pool}" and o["kind"] != "PodDisruptionBudget"
    )


def containers(obj):
    pod = obj["spec"]["template"]["spec"]
    return {c["name"]: c for c in pod.get("initContainers", []) + pod["containers"]}


@pytest.mark.parametrize("name", CASES)
def test_golden(name, supernode_spec, golden):
    golden(f"supernode-{name}", specs.supernode_objects(supernode_spec(**CASES[name])))


@each_row(
    ("changes", "words"),
    [
        ({"init_containers": [{"name": "superexec", "image": "x"}]}, "supernode_init_containers[0].name: 'superexec' exists already"),
        ({"extra_containers": [{"image": "x"}]}, "supernode_extra_containers[0]: an entry with the keys image has no name"),
        ({"extra_containers": [{"name": "x"}]}, "has no image"),
        ({"max_unavailable": 0}, "is neither a number from 1"),
        ({"max_unavailable": "101%"}, "is neither a number from 1"),
        ({"pod_template": {"kind": "Pod"}}, "supernode_pod_template.kind: a value of the type str (not shown) is neither metadata nor spec"),
        ({"pod_template": {"metadata": {"name": "x"}}}, "is neither labels nor annotations"),
        ({"pod_template": {"metadata": {"labels": {"app.kubernetes.io/name": "x"}}}}, "replaces a label"),
        ({"pod_template": {"spec": {"containers": [{"tty": True}]}}}, "pod_template of the pods supernode: an entry of containers has no name"),
        ({"pools": [{"name": "a", "pod_template": {"spec": {"volumes": [{}]}}}]}, "an entry of volumes has no name"),
    ],
)
def test_refuses_what_cannot_be_added(changes, words, supernode_spec):
    with pytest.raises(ClusterError) as refused:
        specs.supernode_objects(supernode_spec(**changes))
    assert words in str(refused.value)


# Two entries of each list whose order has no meaning.
LISTS = {
    "pools": [GPU_POOL, PLAIN_POOL],
    "dns": [{"namespace": "kube-system", "ports": ["53/UDP"]}, {"cidr": "10.0.0.10/32", "ports": ["53"]}, {"cidr": "10.0.0.9/32"}],
    "monitoring_namespaces": ["watch", "monitoring", "a"],
    "superlink_cidrs": ["192.0.2.0/24", "10.0.0.0/8"],
    "egress": [{"cidr": "198.51.100.0/24", "ports": ["443"]}, {"namespace": "models"}, {"cidr": "10.0.0.0/8"}],
    "datasets": [{"name": "scans", "claim": "scans"}, {"name": "labs", "claim": "labs"}],
    "pod_labels": {"b": "1", "a": "2"},
}


@each_row("given", [*CASES.values(), LISTS])
def test_any_order_gives_the_same_bytes(given, supernode_spec):
    spec = supernode_spec(**given)
    before = json.dumps(spec)
    objects = specs.supernode_objects(spec)
    turned = dict(sorted(spec.items(), reverse=True)) | {"pools": spec["pools"][::-1]}
    assert json.dumps(objects) == json.dumps(specs.supernode_objects(turned))
    for seed in range(3):
        assert specs.written(specs.supernode_objects(specs.shuffled(spec, seed))) == specs.written(objects), seed
    assert json.dumps(spec) == before


def test_other_pools_start_at_zero_and_do_not_see_the_ledger(parsed_site):
    spec = parsed_site(pools=[GPU_POOL], allocation={})
    one = workload(specs.supernode_objects(spec), "a100")
    assert one["spec"]["ordinals"] == {"start": 0}
    two = workload(specs.supernode_objects(replace(spec, allocation={"x": {"offset": 9, "partitions": 99}})), "a100")
    assert one == two


def test_pod_template_holds_neither_address_nor_trust(supernode_spec):
    one = workload(specs.supernode_objects(supernode_spec()))
    two = workload(specs.supernode_objects(supernode_spec(superlink_address="192.0.2.1:1", ca_bundle=CASES_CA)))
    assert one == two


def test_the_client_certificate_is_the_sidecars_alone(supernode_spec):
    objects = specs.supernode_objects(supernode_spec())
    for name, container in containers(workload(objects)).items():
        assert any(m["name"] == "client" for m in container["volumeMounts"]) == (name == "sidecar")
    (volume,) = (v for v in workload(objects)["spec"]["template"]["spec"]["volumes"] if v["name"] == "client")
    paths = [
        item["path"] for source in volume["projected"]["sources"] for part in source.values() for item in part["items"]
    ]
    assert paths == ["tls.pem", "tls.pem.key"]
    renewed = specs.supernode_objects(supernode_spec(client_certificate=CASES_CA))
    assert workload(renewed) == workload(objects), "a renewed certificate would restart pods"


CASES_CA = specs.OTHER_CA


@each_row(
    ("address", "given", "name", "target"),
    [
        ("[2001:db8::1]:443", "", "superlink.flower.flower.internal", "[2001:db8::1]:443"),
        ("superlink.net.svc:9092", "hub.example.com", "hub.example.com", "superlink.net.svc.cluster.local:9092"),
        (
            "flower-superlink:9092",
            "hub.example.com",
            "hub.example.com",
            "flower-superlink.flower.svc.cluster.local:9092",
        ),
    ],
)
def test_name_that_the_sidecar_verifies(address, given, name, target, parsed_site):
    text = sidecar.configuration(parsed_site(superlink_address=address, server_name=given))
    assert f"server hub {target} ssl verify required" in text
    assert f"sni str({name}) verifyhost {name} " in text


def test_numbers_of_workloads_that_exist(parsed_site):
    spec = parsed_site()
    built = [supernode.workload(spec, pool) for pool in spec.pools]
    sets = [one for one in built if one["kind"] == "StatefulSet"]
    assert supernode.numbers(sets) == {
        one["metadata"]["labels"]["federated.flower/pool"]: (one["spec"]["ordinals"]["start"], one["spec"]["replicas"])
        for one in sets
    }
    (first, *_rest) = sets
    assert supernode.numbers([{**first, "spec": {**first["spec"], "replicas": 0}}]) == {}
    plain = {name: value for name, value in first["spec"].items() if name != "ordinals"}
    unlabelled = {**first, "metadata": {**first["metadata"], "labels": {}}, "spec": {**plain, "replicas": 2}}
    assert list(supernode.numbers([unlabelled]).items()) == [(first["metadata"]["labels"]["federated.flower/pool"], (0, 2))]


def test_a_time_zone_is_for_all_that_run_flower_and_others_win(parsed_site):
    def zones(**given):
        found = containers(workload(specs.supernode_objects(parsed_site(time_zone="Europe/Paris", **given))))
        return {name: [env["value"] for env in one.get("env", []) if env["name"] == "TZ"] for name, one in found.items()}

    assert {name: zones()[name] for name in ("supernode", "superexec", "sidecar")} == {
        "supernode": ["Europe/Paris"], "superexec": ["Europe/Paris"], "sidecar": [],
    }  # fmt: skip
    assert zones(env=[{"name": "TZ", "value": "UTC"}])["superexec"] == ["UTC"]
