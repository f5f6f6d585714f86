# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values files of Flower's Helm charts, and flower-operator's resources, become inventories, which are deployed and train."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.federated.flower.tests.integration.scenarios.lane import NAMESPACE

FILES = Path(__file__).parent / "helm"
FEDERATIONS = Path(__file__).parent / "federation"
APP = Path(__file__).parents[3] / "examples" / "quickstart"
SPACE = f"{NAMESPACE}-helm"
BESIDE = f"{NAMESPACE}-federation-2"
COMMON = {"flower_namespace": SPACE, "flower_ca_namespace": f"{SPACE}-ca", "flower_federation": "converted"}


class _Loader(yaml.SafeLoader):
    """Reads what Ansible would not template as text."""


_Loader.add_constructor("!unsafe", lambda loader, node: {"__ansible_unsafe": loader.construct_scalar(node)})


def read(folder: Path, group: str) -> dict[str, Any]:
    """Variables that a conversion has written for a group."""
    return yaml.load((folder / "inventory" / "group_vars" / group / "converted.yml").read_text(), _Loader)


@pytest.fixture
def converted(fed, tmp_path):
    """The hosts that the values files describe, with the fleet's clusters."""
    given = [f"flower_convert_{chart}={FILES / chart}.yaml" for chart in ("superlink", "supernode")]
    arguments = [word for one in (*given, f"flower_convert_directory={tmp_path}") for word in ("-e", one)]
    for name in ("convert-report.txt", "convert-report.json"):
        (tmp_path / name).write_text("theirs")
        refused = fed.play("convert", *arguments, rc=2)
        assert f"{tmp_path / name} was not written by" in refused.output, refused.details()
        assert {path.name for path in tmp_path.iterdir()} == {name}
        (tmp_path / name).unlink()
    fed.play("convert", *arguments)
    again = fed.play("convert", *arguments)
    assert again.changed == {"localhost": 0}
    report = json.loads((tmp_path / "convert-report.json").read_text())
    results = {entry["parameter"]: entry["result"] for part in report.values() for entry in part}
    assert set(results.values()) <= {"mapped", "met", "default"}, results
    hub = {"flower_context": "hub", "superlink_storage_size": "256Mi", **read(tmp_path, "flower_hub")}
    yield {"hub": hub, "site-a": {"flower_context": "site-a", **read(tmp_path, "flower_sites")}}


def test_values_files_are_deployed_and_train(fed, converted):
    fed.site(converted, **COMMON)
    pods = {(host, pod["metadata"]["name"]): pod for host in converted for pod in fed.cluster(host).list("v1", "Pod", SPACE)}
    superlink, supernode = pods["hub", "superlink-0"], pods["site-a", "supernode-default-1"]
    env = {one["name"]: one.get("value") for pod in pods.values() for box in pod["spec"]["containers"] for one in box.get("env", [])}
    assert {name: env[name] for name in env if name.startswith("HELM_")} == {
        "HELM_EVERYWHERE": "yes", "HELM_SUPERLINK": "1", "HELM_SUPEREXEC": "{{ not a template }}", "HELM_SUPERNODE": "1", "HELM_CLIENTAPP": "1",
    }  # fmt: skip
    assert superlink["spec"]["securityContext"]["runAsUser"] == 50123
    assert [pod["spec"]["securityContext"]["supplementalGroups"] for pod in (superlink, supernode)] == [[50999], [50997]]
    for pod, name, period in ((superlink, "superlink", 11), (supernode, "supernode", 13), (supernode, "superexec", 14)):
        (box,) = (one for one in pod["spec"]["containers"] if one["name"] == name)
        assert box["livenessProbe"]["periodSeconds"] == period and box["lifecycle"]["preStop"]["sleep"]["seconds"] == 1, box
    assert fed.node_config("site-a", "supernode-default-1", SPACE) == {
        "partition-id": "0", "num-partitions": "2", "ward": "3 east", "rate": "0.5", "code": "007", "night": "true",
    }  # fmt: skip
    service = fed.hub.get("v1", "Service", "superlink", SPACE)
    assert [(port["port"], port["nodePort"]) for port in service["spec"]["ports"]] == [(19092, 31692)]
    assert superlink["metadata"]["labels"]["example.com/role"] == "server"
    assert supernode["metadata"]["labels"]["example.com/role"] == "client"
    for pod in (superlink, supernode):
        assert pod["spec"]["nodeSelector"]["kubernetes.io/os"] == "linux"
        assert "/scratch" in [mount["mountPath"] for box in pod["spec"]["containers"] for mount in box["volumeMounts"]]
    given = {"flower_app": str(APP), "flower_run_config": {"num-server-rounds": 1}}
    run = fed.play("run", "-e", json.dumps(given), hosts=converted, **COMMON)
    assert "completed" in run.messages("hub")
    fed.unchanged(converted, **COMMON)
    fed.play("teardown", "-e", "flower_teardown=true", "-e", "flower_delete_volumes=true", hosts=converted, **COMMON)


@pytest.fixture
def amd(federation):
    """The node of site-b advertises GPUs of AMD, as a device plugin has it do; those of NVIDIA are few, and others use them."""
    cluster = federation.cluster("site-b")
    (node,) = cluster.list("v1", "Node")
    path = f"/api/v1/nodes/{node['metadata']['name']}/status"

    def advertise(count: str | None) -> None:
        body = {"status": {part: {"amd.com/gpu": count} for part in ("capacity", "allocatable")}}
        cluster.request("PATCH", path, body=body, content_type="application/merge-patch+json")

    advertise("2")
    yield
    advertise(None)


@pytest.fixture
def federations(federation, amd, tmp_path):
    """Hosts out of Federations of both modes, with SuperExecs and without, two in each cluster; and the variables of all.

    The federation of the other scenarios is away: it has one of the GPUs.
    """
    fed = federation
    fed.clear()
    fed.settled = False
    folders = {name: tmp_path / name for name in ("statefulset", "daemonset", "statefulset-subprocess", "daemonset-process")}
    for name, folder in folders.items():
        folder.mkdir()
        given = (f"flower_convert_federation={FEDERATIONS / name}.yaml", f"flower_convert_directory={folder}")
        fed.play("convert", *(word for one in given for word in ("-e", one)))
        report = json.loads((folder / "convert-report.json").read_text())
        assert {entry["result"] for part in report.values() for entry in part} <= {"mapped", "default"}, report
    hub = {"flower_context": "hub", "superlink_storage_size": "256Mi", **read(folders["statefulset"], "flower_hub")}
    sites = {
        "site-a": {"flower_context": "site-a", **read(folders["daemonset"], "flower_sites")},
        "site-b": {"flower_context": "site-b", **read(folders["statefulset"], "flower_sites")},
        "site-c": {"flower_context": "site-a", "supernode_namespace": BESIDE, **read(folders["daemonset-process"], "flower_sites")},
        "site-d": {"flower_context": "site-b", "supernode_namespace": BESIDE, **read(folders["statefulset-subprocess"], "flower_sites")},
    }
    return {"hub": hub, **sites}, read(folders["statefulset"], "all")


@pytest.mark.soak
def test_federations_are_deployed_and_train(federation, federations):
    fed = federation
    hosts, common = federations
    space = f"{NAMESPACE}-federation"
    common |= {"flower_namespace": space, "flower_ca_namespace": f"{space}-ca"}
    run = fed.site(hosts, **common)
    assert "7 SuperNodes of 4 sites are online" in run.messages()
    pods = {pod["metadata"]["name"]: pod for context in ("site-a", "site-b") for pod in fed.cluster(context).list("v1", "Pod", space)}
    (edge,) = (pod for name, pod in pods.items() if name.startswith("supernode-edge-"))
    assert edge["metadata"]["ownerReferences"][0]["kind"] == "DaemonSet"
    (second,) = (pod for name, pod in pods.items() if name == "supernode-cpu-1")
    boxes = {box["name"]: box for pod in (second,) for box in pod["spec"]["containers"]}
    env = {one["name"]: one.get("value") for one in boxes["superexec"]["env"]}
    assert env["FEDERATION_POOL"] == "{{ cpu }}" and env["FEDERATION_ALL"] == "yes"
    assert {mount["mountPath"] for mount in boxes["superexec"]["volumeMounts"]} >= {"/data"}
    assert {mount["mountPath"] for mount in boxes["supernode"]["volumeMounts"]} >= {"/work"}
    gpus = {name: box["resources"] for name, pod in pods.items() for box in pod["spec"]["containers"] if "nvidia.com/gpu" in str(box.get("resources"))}
    assert list(gpus) == ["supernode-gpu-0"]
    beside = {pod["metadata"]["name"]: pod for context in ("site-a", "site-b") for pod in fed.cluster(context).list("v1", "Pod", BESIDE)}
    assert {name.rpartition("-")[0] if "all" in name else name for name in beside} == {"supernode-all", "supernode-amd-0", "supernode-amd-1"}
    boxes = {box["name"]: box for box in beside["supernode-amd-1"]["spec"]["containers"]}
    assert set(boxes) == {"supernode", "clock"} and boxes["supernode"]["resources"]["limits"]["amd.com/gpu"] == "1"
    assert beside["supernode-amd-1"]["spec"]["hostAliases"][0]["hostnames"] == ["nas.example.com"]
    assert fed.node_config("site-b", "supernode-amd-1", BESIDE) == {"partition-id": "1", "num-partitions": "2", "of": "1_of_2"}
    given = {"flower_app": str(APP), "flower_run_config": {"num-server-rounds": 1, "min-nodes": 7}}
    assert "completed" in fed.play("run", "-e", json.dumps(given), hosts=hosts, **common).messages("hub")
    fed.unchanged(hosts, **common)
    fed.play("teardown", "-e", "flower_teardown=true", "-e", "flower_delete_volumes=true", hosts=hosts, **common)
