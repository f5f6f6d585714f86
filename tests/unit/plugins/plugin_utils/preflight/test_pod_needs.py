# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What pods only name is looked for before a pod is deleted that could not be created again."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Forbidden
from ansible_collections.federated.flower.plugins.plugin_utils.preflight import pod_needs
from ansible_collections.federated.flower.plugins.plugin_utils.validate.render import drafted


class Cluster:
    """A cluster with some objects, of which some kinds may not be read."""

    def __init__(self, *has: str, hidden: Collection[str] = ()) -> None:
        self.has, self.hidden = has, hidden
        self.asked: list[str] = []

    def get(self, _api: str, kind: str, name: str, _namespace: str | None = None) -> dict[str, Any] | None:
        self.asked.append(f"{kind} {name}")
        if kind in self.hidden:
            raise Forbidden("site", "GET", 403, {"message": "no"})
        return {} if f"{kind} {name}" in self.has else None


POOLS = [
    {"name": "cpu", "replicas": 1, "priority_class": "low"},
    {"name": "gpu", "replicas": 2, "gpu": {"count": 1, "runtime_class": "nvidia"}, "pod_template": {"spec": {"priorityClassName": "low"}}},
]


@pytest.mark.parametrize(
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
        pod_needs.require_classes(cluster, objects)
    else:
        with pytest.raises(ClusterError) as error:
            pod_needs.require_classes(cluster, objects)
        assert all(fault in error.value.message for fault in faults)
    assert sorted(cluster.asked) == ["PriorityClass low", "RuntimeClass nvidia"]


def test_nothing_is_read_where_nothing_is_named(parsed_site: Callable[..., Any]) -> None:
    cluster: Any = Cluster()
    pod_needs.require_classes(cluster, drafted(parsed_site()))
    assert pod_needs.pull_secrets(cluster, parsed_site(), ["flower"]) == [] and cluster.asked == []


def test_pull_secrets(parsed_site: Callable[..., Any]) -> None:
    spec = parsed_site(image_pull_secrets=["mirror", "vendor"])
    some: Any = Cluster("Secret mirror")
    (word,) = pod_needs.pull_secrets(some, spec, [])
    assert "namespace flower does not have vendor (supernode_image_pull_secrets): nodes pull images without it" in word
    hidden: Any = Cluster(hidden=("Secret",))
    assert pod_needs.pull_secrets(hidden, spec, []) == []
    new: Any = Cluster()
    (word,) = pod_needs.pull_secrets(new, spec, ["flower"])
    assert "does not have mirror, vendor" in word and "create the namespace and its Secrets first" in word and new.asked == []
