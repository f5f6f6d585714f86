# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods that report the packages of their ClientApps' image."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.program_text import program_text
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import package_report
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import template
from ansible_collections.federated.flower.tests.unit import specs

IMAGE = {"superexec_image": "r/app:1", "image": "r/node:1"}
POOLS = [{"name": "one"}, {"name": "plain", "isolation": "subprocess"}]


def reports(objects: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Workload -> its init container."""
    found = {}
    for item in objects:
        if item["kind"] in ("StatefulSet", "DaemonSet"):
            pods = item["spec"]["template"]["spec"]
            assert package_report.is_there(item) == any(
                one["name"] == "packages" for one in pods.get("initContainers", [])
            )
            for one in pods.get("initContainers", []):
                if one["name"] == "packages":
                    assert one is pods["initContainers"][0]
                    found[item["metadata"]["name"]] = one
    return found


@pytest.mark.parametrize(
    ("changes", "images"),
    [
        ({}, {}),
        ({"packages_report": False}, {}),
        ({"packages_report": True}, {"supernode-one": "r/app:1", "supernode-plain": "r/node:1"}),
        ({"packages_report": True, "pools": POOLS[:1], "clientapp": "workload"}, {"clientapp-one": "r/app:1"}),
        (
            {"packages_report": True, "pools": [{"name": "edge", "mode": "DaemonSet"}]},
            {"supernode-edge": "r/app:1"},
        ),
    ],
)
def test_the_image_that_computes_is_reported(
    changes: dict[str, Any], images: dict[str, str], supernode_spec: Any
) -> None:
    objects = specs.supernode_objects(supernode_spec(**{"pools": POOLS, **IMAGE, **changes}))
    assert {name: one["image"] for name, one in reports(objects).items()} == images


def test_it_runs_like_the_container_that_computes(supernode_spec: Any) -> None:
    spec = supernode_spec(
        packages_report=True, env=[{"name": "PYTHONPATH", "value": "/more"}], gpu={"count": 1}, pools=POOLS[:1]
    )
    objects = specs.supernode_objects(spec)
    one = reports(objects)["supernode-one"]
    assert one["command"] == ["python", "-c", program_text("package_program.py")]
    env = {each["name"]: each["value"] for each in one["env"]}
    assert env["PYTHONPATH"] == "/more"
    (pod,) = (item["spec"]["template"]["spec"] for item in objects if item["metadata"]["name"] == "supernode-one" and "template" in item["spec"])
    assert one["args"] == [one["terminationMessagePath"], str(12288 // (len(pod["containers"]) + len(pod["initContainers"])))]
    assert "nvidia.com/gpu" not in str(one["resources"])  # the container that computes has it
    assert {each["name"] for each in one["volumeMounts"]} == {"tmp"}
    assert one["securityContext"]["readOnlyRootFilesystem"] is True


def test_golden(supernode_spec: Any, golden: Any) -> None:
    golden("supernode-packages", specs.supernode_objects(supernode_spec(packages_report=True)))


def test_a_template_of_open_cluster_management_keeps_it_as_it_is(supernode_spec: Any) -> None:
    objects = specs.supernode_objects(supernode_spec(packages_report=True))
    for item in objects:
        if item["kind"] == "StatefulSet":
            text = template.stored(item)
            assert template.rendered(text) == text
