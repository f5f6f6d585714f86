# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What pods only name is looked for before a pod is deleted that could not be created again."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.problems import require
from ansible_collections.federated.flower.plugins.plugin_utils.checks import pod_needs
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Forbidden
from ansible_collections.federated.flower.tests.unit.rows import each_row
from ansible_collections.federated.flower.tests.unit.specs import drafted

KINDS = {"priorityclasses": "PriorityClass", "runtimeclasses": "RuntimeClass", "secrets": "Secret", "pods": "Pod"}
# As Kubernetes 1.34 wrote them.
NO_LIMITS = 'pods "x-dbfkb" is forbidden: failed quota: q: must specify limits.cpu for: sidecar,superexec,supernode'
TOO_MUCH = 'pods "x-dbfkb" is forbidden: [minimum memory usage per Container is 1Gi, but request is 192Mi, maximum cpu usage per Pod is 1, but limit is 2]'
FULL = 'pods "x-b4z5m" is forbidden: exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0'
BARE = 'admission webhook "validate.kyverno.svc-fail" denied the request: pods need an owner'


class Cluster:
    """A cluster with some objects, of which some kinds may not be read or created. A request that is denied would be in its audit log."""

    def __init__(self, *has: str, hidden: Collection[str] = (), refuses: str = "") -> None:
        self.has, self.hidden, self.refuses = has, hidden, refuses
        self.asked: list[str] = []
        self.tried: list[dict[str, Any]] = []

    def access_review(self, asked: list[dict[str, Any]]) -> list[bool]:
        self.asked += [f"{KINDS[one['resource']]} {one['name']}" for one in asked if one["verb"] == "get"]
        return [KINDS[one["resource"]] not in self.hidden for one in asked]

    def get(self, _api: str, kind: str, name: str, _namespace: str | None = None) -> dict[str, Any] | None:
        assert kind not in self.hidden
        return {} if f"{kind} {name}" in self.has else None

    def create(self, pod: dict[str, Any], *, dry_run: bool) -> dict[str, Any]:
        assert dry_run and "Pod" not in self.hidden
        self.tried.append(pod)
        if self.refuses:
            raise Forbidden("site", "POST", 403, {"message": self.refuses})
        return pod


POOLS = [
    {"name": "cpu", "replicas": 1, "priority_class": "low"},
    {"name": "gpu", "replicas": 2, "gpu": {"count": 1, "runtime_class": "nvidia"}, "pod_template": {"spec": {"priorityClassName": "low"}}},
]


@each_row(
    ("cluster", "faults"),
    [
        (Cluster("PriorityClass low", "RuntimeClass nvidia"), []),
        (Cluster(hidden=("PriorityClass", "RuntimeClass")), []),
        (Cluster("RuntimeClass nvidia"), ["no PriorityClass low in the cluster, which would refuse the pods of StatefulSet supernode-cpu, "]),
        (Cluster("PriorityClass low"), ["no RuntimeClass nvidia in the cluster, which would refuse", "StatefulSet supernode-gpu: correct gpu.runtime_class"]),
    ],
)
def test_classes(parsed_site: Callable[..., Any], cluster: Any, faults: list[str]) -> None:
    objects = drafted(parsed_site(pools=POOLS))
    if not faults:
        require(pod_needs.classes(cluster, objects, "supernode"))
    else:
        with pytest.raises(ClusterError) as error:
            require(pod_needs.classes(cluster, objects, "supernode"))
        assert all(fault in error.value.message for fault in faults)
        assert "supernode_gpu.runtime_class" in error.value.message or "RuntimeClass" not in error.value.message
    assert sorted(cluster.asked) == ["PriorityClass low", "RuntimeClass nvidia"]


def test_nothing_is_read_where_nothing_is_named(parsed_site: Callable[..., Any]) -> None:
    cluster: Any = Cluster()
    require(pod_needs.classes(cluster, drafted(parsed_site()), "supernode"))
    assert require(pod_needs.check(cluster, parsed_site(), [], ["flower"], "supernode")) == [] and cluster.asked == []


def test_pull_secrets(parsed_site: Callable[..., Any]) -> None:
    spec = parsed_site(image_pull_secrets=["mirror", "vendor"])
    some: Any = Cluster("Secret mirror")
    (word,) = require(pod_needs.check(some, spec, [], [], "supernode"))
    assert "namespace flower does not have vendor (supernode_image_pull_secrets): nodes pull images without it" in word
    hidden: Any = Cluster(hidden=("Secret",))
    assert require(pod_needs.check(hidden, spec, [], [], "supernode")) == []
    new: Any = Cluster()
    (word,) = require(pod_needs.check(new, spec, [], ["flower"], "supernode"))
    assert "does not have mirror, vendor" in word and "create the namespace and its Secrets first" in word and new.asked == []


def test_classes_of_the_hub(parsed_hub: Callable[..., Any]) -> None:
    spec = parsed_hub(serverapp_priority_class="low", serverapp_gpu={"count": 1, "runtime_class": "nvidia"}, image_pull_secrets=["mirror"])
    cluster: Any = Cluster()
    with pytest.raises(ClusterError) as error:
        require(pod_needs.check(cluster, spec, drafted(spec), [], "superlink"))
    assert "refuse the pods of StatefulSet serverapp: correct superlink_priority_class or superlink_serverapp_priority_class, or" in error.value.message
    assert "superlink_serverapp_gpu.runtime_class" in error.value.message
    there: Any = Cluster("PriorityClass low", "RuntimeClass nvidia")
    (word,) = require(pod_needs.check(there, spec, drafted(spec), [], "superlink"))
    assert "does not have mirror (superlink_image_pull_secrets)" in word


@pytest.mark.parametrize("refuses", [NO_LIMITS, TOO_MUCH])
def test_what_a_namespace_demands(parsed_site: Callable[..., Any], refuses: str) -> None:
    spec = parsed_site()
    cluster: Any = Cluster(refuses=refuses)
    with pytest.raises(ClusterError, match="refuses the pods of StatefulSet supernode-default: .*supernode_resources") as error:
        require(pod_needs.check(cluster, spec, drafted(spec), [], "supernode"))
    assert refuses in error.value.message
    (pod,) = cluster.tried
    assert pod["spec"]["serviceAccountName"] == "default" and pod["metadata"]["namespace"] == "flower"


@each_row(
    ("cluster", "absent"),
    [
        (Cluster(), []),
        (Cluster(refuses=BARE), []),
        (Cluster(refuses=NO_LIMITS, hidden=["Pod"]), []),  # the rights that the collection renders have no pods
        (Cluster(refuses=NO_LIMITS), ["flower"]),
        (Cluster("StatefulSet supernode-default", refuses=FULL), []),  # its own pods use the quota
    ],
)
def test_what_does_not_stop_a_site(parsed_site: Callable[..., Any], cluster: Any, absent: list[str]) -> None:
    assert require(pod_needs.check(cluster, parsed_site(), drafted(parsed_site()), absent, "supernode")) == []


def test_a_quota_that_is_used_up(parsed_site: Callable[..., Any]) -> None:
    cluster: Any = Cluster(refuses=FULL)
    (word,) = require(pod_needs.check(cluster, parsed_site(), drafted(parsed_site()), [], "supernode"))
    assert FULL in word and "until the quota has free capacity" in word
