# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a dry run finds, as far as that needs no API server; and clusters that accept objects and cannot run them."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.checks import rehearsal
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Invalid
from ansible_collections.federated.flower.plugins.plugin_utils.sites.ocm import Backend
from ansible_collections.federated.flower.plugins.plugin_utils.spec.pods_spec import PodsSpec
from ansible_collections.federated.flower.tests.unit.rows import each_row
from ansible_collections.federated.flower.tests.unit.specs import drafted, said


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


def test_a_refused_field_of_pods_is_said_with_its_variable() -> None:
    rendered_otherwise = {"gpu", "extra_args", "datasets", "shm_size", "pod_labels", "pod_annotations", "runtime_dependency_installation", "pod_template"}
    options = {one.name for one in dataclasses.fields(PodsSpec)} - rendered_otherwise
    assert options <= {*rehearsal.VARIABLE_OF_FIELD.values()}, "a message of the API server would name no variable"


def test_drafts_need_nothing_that_is_found_later(parsed_hub, parsed_site):
    assert len(workloads(parsed_hub(superlink_address="", ca_bundle=""))) == 2
    spec = parsed_site(superlink_address="", ca_bundle="", client_certificate="", allocation={})
    assert len(workloads(spec)) == 1


def test_an_object_that_no_cluster_can_store(parsed_site):
    env = [{"name": f"A{number}", "value": "x" * 100000} for number in range(6)]
    (fault,) = rehearsal.too_large(drafted(parsed_site(env=env)), "supernode")
    assert fault.message.startswith("supernode: StatefulSet flower/supernode-default would have 1")


@each_row(
    ("role", "text", "named"),
    [
        ("supernode", "spec.template.spec.containers[0].resources.requests: Invalid value: must be less", "supernode_resources (also of"),
        ("supernode", '.spec.template.spec.containers[name="supernode"].env[name="A"].valueFrom.secretKeyReff: not declared', "supernode_env (also of"),
        ("supernode", ".spec.template.spec.containers[name=\"superexec\"].lifecycle.preStopp: field not declared in schema", "supernode_lifecycle (also of"),
        ("supernode", ".spec.template.spec.containers[name=\"a\"].comand: field not declared in schema", "supernode_extra_containers (also of"),
        ("supernode", "spec.template.spec.initContainers[0].name: Duplicate value: \"a\"", "supernode_init_containers (also of"),
        ("supernode", "metadata.annotations: Too long: may not be more than 262144 bytes", "supernode_annotations (also of"),
        ("supernode", "spec.template.spec.restartPolicy: Unsupported value: \"Never\"", "supernode_pod_template and supernode_patches"),
        ("supernode", "spec.template.spec.runtimeClassName: Invalid value", "gpu.runtime_class of the pools, or supernode_gpu.runtime_class, "),
        ("superlink", "spec.template.spec.runtimeClassName: Invalid value", "superlink_serverapp_gpu.runtime_class, "),
    ],
)
def test_the_variable_that_was_set_is_named(parsed_site, role, text, named):
    (item,) = workloads(parsed_site())
    message = rehearsal._refusal(item, "invalid", text, role).message
    assert f"See {named}" in message and message.endswith(f"{role}_pod_template and {role}_patches.") and "superlink_gpu" not in message


class Trying:
    """A cluster in which nothing is deployed; its API server adds address families to Services, also in a dry run."""

    name = "site-a"

    def __init__(self, families: list[str]) -> None:
        self.families = families

    def get(self, _api: str, _kind: str, _name: str, _namespace: str) -> None:
        """There is nothing."""

    def apply(self, item: dict[str, Any], *, dry_run: bool) -> dict[str, Any]:
        """The object as it would be."""
        assert dry_run
        more = {"ipFamilies": self.families} if item["kind"] == "Service" and self.families else {}
        return {**item, "spec": {**item.get("spec", {}), **more}}


class Stored(Trying):
    """A cluster in which everything is deployed, and a claim cannot get smaller."""

    def __init__(self, live: list[dict[str, Any]]) -> None:
        super().__init__([])
        self.live = {(item["kind"], item["metadata"]["name"]): item for item in live}

    def get(self, _api: str, kind: str, name: str, _namespace: str | None) -> dict[str, Any]:  # type: ignore[override]
        """An object as it was applied."""
        return self.live[kind, name]

    def apply(self, item: dict[str, Any], *, dry_run: bool) -> dict[str, Any]:
        """A smaller claim is refused."""
        if item["kind"] == "PersistentVolumeClaim":
            raise Invalid("site-a", "apply", 422, {"message": "spec.resources.requests.storage: Forbidden: field can not be less than previous value"})
        return super().apply(item, dry_run=dry_run)


def test_the_api_server_judges_claims_that_change(parsed_site: Callable[..., Any]) -> None:
    sizes = [[{"name": "ct", "new_claim": {"size": size}}] for size in ("2Gi", "1Gi")]
    before, after = (drafted(parsed_site(datasets=listed)) for listed in sizes)
    with pytest.raises(ClusterError, match=r"PersistentVolumeClaim flower/dataset-ct .*less than previous value\. Restore the dataset in supernode_datasets"):
        rehearsal.rehearse(Stored(before), after, set(), "supernode")  # type: ignore[arg-type]


@each_row("families", [["IPv4"], ["IPv4", "IPv6"], ["IPv6", "IPv4"], []])
def test_with_ipv4_or_unknown_families_there_is_no_fault(parsed_site, families):
    assert rehearsal.rehearse(Trying(families), drafted(parsed_site()), set(), "supernode")


@pytest.mark.parametrize("part", ["parsed_hub", "parsed_site"])
def test_a_cluster_with_ipv6_only_is_refused_once_and_by_name(request, part):
    with pytest.raises(ClusterError) as refused:
        rehearsal.rehearse(Trying(["IPv6"]), drafted(request.getfixturevalue(part)()), set(), "supernode")
    (fault,) = refused.value.message.splitlines()
    assert fault.startswith("site-a: the cluster gives Services only addresses of IPv6, ") and "dual stack" in fault


SIDECAR: dict[str, Any] = {}
PLAIN = {"sidecar": False, "mtls": False}
DAEMONS = {**PLAIN, "pools": [{"name": "edge", "mode": "DaemonSet"}]}


@each_row(
    ("version", "settings", "fault"),
    [
        ("v1.29.0", SIDECAR, ""),
        ("v1.34.4+k3s1", SIDECAR, ""),
        ("v1.28.15", SIDECAR, "Kubernetes v1.28.15 has no native sidecars"),
        ("v1.27.8+4fab27b", SIDECAR, "has no native sidecars"),  # OpenShift 4.14
        ("v1.28.15", PLAIN, ""),
        ("v1.27.8", PLAIN, "does not give pods their number"),
        ("v1.27.8", DAEMONS, ""),
        ("", SIDECAR, ""),
        ("v0.0.0-master+$Format:%H$", SIDECAR, ""),  # built without its version
    ],
)
def test_releases(parsed_site: Callable[..., Any], version: str, settings: dict[str, Any], fault: str) -> None:
    found, _warnings = said(rehearsal.too_old(version, drafted(parsed_site(**settings))))
    assert fault in found and bool(found) is bool(fault)


def test_a_managed_cluster_that_is_too_old(parsed_site: Callable[..., Any]) -> None:
    managed = {"status": {"version": {"kubernetes": "v1.28.15"}}}
    run = SimpleNamespace(connect=lambda _host: SimpleNamespace(server="", get=lambda *_place: managed))
    site = SimpleNamespace(spec=parsed_site(platform="auto"), hub="hub", name="a", namespace="flower", hub_namespace="other")
    way = Backend(run, site)  # type: ignore[arg-type]
    way.detect_platform()
    with pytest.raises(ClusterError, match=r"v1\.28\.15 has no native sidecars"):
        way._rehearse()
