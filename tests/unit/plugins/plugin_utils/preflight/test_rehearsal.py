# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What of a dry run does not need an API server."""

from __future__ import annotations

import copy

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.preflight import rehearsal
from ansible_collections.federated.flower.tests.unit.specs import drafted


def workloads(spec):
    return [item for item in drafted(spec) if item["kind"] in rehearsal.WORKLOADS]


def test_stand_ins_do_not_make_a_difference(parsed_site):
    (item,) = workloads(parsed_site(allocation={}))
    live = copy.deepcopy(item)
    live["spec"]["ordinals"]["start"] = 7
    live["spec"]["template"]["spec"]["containers"][0]["args"] = ["other"]
    live["metadata"]["labels"]["applyset.kubernetes.io/part-of"] = "x"
    assert rehearsal.with_unknown_of(item, live)["spec"] == live["spec"]
    item["spec"]["template"]["spec"]["containers"][0]["env"].append({"name": "A", "value": "b"})
    assert rehearsal.with_unknown_of(item, live)["spec"] != live["spec"]


def test_drafts_need_nothing_that_is_found_later(parsed_hub, parsed_site):
    assert len(workloads(parsed_hub(superlink_address="", ca_bundle=""))) == 2
    spec = parsed_site(superlink_address="", ca_bundle="", client_certificate="", allocation={})
    assert len(workloads(spec)) == 1


def test_an_object_that_no_cluster_can_store(parsed_site):
    env = [{"name": f"A{number}", "value": "x" * 100000} for number in range(6)]
    (fault,) = rehearsal.too_large(drafted(parsed_site(env=env)), "supernode")
    assert fault.startswith("supernode: StatefulSet flower/supernode-default would have 1")


def test_the_variable_is_named(parsed_site):
    (item,) = workloads(parsed_site())
    text = "invalid: spec.template.spec.containers[0].resources.requests: Invalid value: must be less"
    assert "See supernode_resources" in rehearsal._sentence(item, "invalid", text, "supernode")
    text = '.spec.template.spec.containers[name="supernode"].env[name="A"].valueFrom.secretKeyReff: field not declared'
    assert "See supernode_env" in rehearsal._sentence(item, "schema", text, "supernode")


@pytest.mark.parametrize(
    ("role", "text", "named"),
    [
        ("supernode", ".spec.template.spec.containers[name=\"superexec\"].lifecycle.preStopp: field not declared in schema", "supernode_lifecycle (also of"),
        ("supernode", ".spec.template.spec.containers[name=\"a\"].comand: field not declared in schema", "supernode_extra_containers (also of"),
        ("supernode", "spec.template.spec.initContainers[0].name: Duplicate value: \"a\"", "supernode_init_containers (also of"),
        ("supernode", "metadata.annotations: Too long: may not be more than 262144 bytes", "supernode_annotations (also of"),
        ("supernode", "spec.template.spec.restartPolicy: Unsupported value: \"Never\"", "supernode_pod_template and supernode_patches"),
        ("supernode", "spec.template.spec.runtimeClassName: Invalid value", "gpu.runtime_class of the pools (supernode_pools), "),
        ("superlink", "spec.template.spec.runtimeClassName: Invalid value", "superlink_serverapp_gpu.runtime_class, "),
    ],
)
def test_the_variable_that_was_set_is_named(parsed_site, role, text, named):
    (item,) = workloads(parsed_site())
    said = rehearsal._sentence(item, "invalid", text, role)
    assert f"See {named}" in said and said.endswith(f"{role}_pod_template and {role}_patches.") and f"{role}_gpu.runtime_class" not in said
