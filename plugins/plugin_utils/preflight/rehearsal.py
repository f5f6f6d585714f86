# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask the API server, by server-side dry run, whether it accepts what will be applied, and whether it can be reached there.

Address, certificates and ledger are not known yet: objects are rendered with placeholders for them. So
workloads are compared without the fields that depend on these, and only when one differs from the live one, or does not exist
yet, is anything sent. A run that changes nothing costs one GET for each workload.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from ..apply.compare import difference
from ..apply.messages import describe
from ..apply.owned import as_applied
from ..base.errors import ClusterError
from ..base.values import Object
from ..kube.api_errors import ApiError, Conflict, Forbidden
from ..kube.client import FIELD_MANAGER, Cluster
from . import ip_families

WORKLOADS = ("DaemonSet", "Deployment", "StatefulSet")
# etcd accepts requests of 1.5 MiB (--max-request-bytes); the object's managedFields and status are added to what is sent.
MAX_BYTES = 2**20
# The namespace that every cluster has. Where the own one is not there yet, objects are tried in this one.
SUBSTITUTE = "default"
# Faults of the object itself, in any namespace; the others may be about the substitute.
_OWN_FAULTS = ("schema", "invalid", "too large")
# Without the right to bind any role, only one that is there can be bound, and a dry run creates none (Kubernetes documentation, «Privilege
# escalation prevention»).
_UNTRIED = ("RoleBinding",)
# Fields of a pod template and the variable that they come from, without the role's prefix.
_VARIABLES = {
    "env": "env",
    "volumes": "volumes",
    "volumeMounts": "volume_mounts",
    "resources": "resources",
    "tolerations": "tolerations",
    "affinity": "affinity",
    "nodeSelector": "node_selector",
    "topologySpreadConstraints": "topology_spread_constraints",
    "image": "image",
    "terminationGracePeriodSeconds": "termination_grace_period",
    "containers": "extra_containers",
    "initContainers": "init_containers",
    "lifecycle": "lifecycle",
    "annotations": "annotations",
    "labels": "labels",
}
_DEVICES = {"superlink": "superlink_serverapp_gpu.runtime_class", "supernode": "gpu.runtime_class of the pools (supernode_pools)"}


def rehearse(cluster: Cluster, objects: Sequence[Object], absent: Collection[str], role: str) -> bool:
    """Have the API server test objects, unless nothing differs; returns whether it was called.

    Args:
        objects: rendered with stand-ins.
        absent: namespaces to create.
        role: role from whose variables the objects are rendered, for the messages.

    Raises:
        ClusterError: the cluster cannot be reached, or refuses objects; each has a sentence.
    """
    found = too_large(objects, role)
    if not found and is_as_live(cluster, objects, absent):
        return False
    found = found or _refused(cluster, objects, absent, role)
    if found:
        raise ClusterError("\n".join(found))
    return True


def _refused(cluster: Cluster, objects: Iterable[Object], absent: Collection[str], role: str) -> list[str]:
    found: list[str] = []
    for item in objects:
        namespace = item["metadata"].get("namespace")
        if not namespace or item["kind"] in _UNTRIED:
            continue
        try:
            tried = cluster.apply(_placed(item, SUBSTITUTE if namespace in absent else namespace), dry_run=True)
        except (Conflict, Forbidden) as error:
            if isinstance(error, Forbidden) and namespace not in absent and not error.verb:
                found.append(_sentence(item, *describe(error), role))
        except ApiError as error:
            category, text = describe(error)
            if "does not support dry run" in text:
                continue  # a webhook without dry run
            if category in _OWN_FAULTS or (namespace not in absent and category not in ("not served", "not found")):
                found.append(_sentence(item, category, text, role))
        else:
            fault = ip_families.family_fault(ip_families.families_of(tried)) if item["kind"] == "Service" else ""
            if fault and f"{cluster.name}: {fault}" not in found:
                found.append(f"{cluster.name}: {fault}")
    return found


def too_large(objects: Iterable[Object], role: str) -> list[str]:
    """Objects that no cluster can store."""
    return [
        f"{role}: {_name(item)} would have {size} bytes; a cluster stores at most {MAX_BYTES}. Put large values into a ConfigMap or "
        "Secret and mount that"
        for item in objects
        if (size := len(json.dumps(item, ensure_ascii=False).encode("utf-8", "replace"))) > MAX_BYTES
    ]


def is_as_live(cluster: Cluster, objects: Iterable[Object], absent: Collection[str]) -> bool:
    """Whether every workload is there and is what would be applied, as far as that is known yet."""
    for item in objects:
        if item["kind"] not in WORKLOADS:
            continue
        meta = item["metadata"]
        if meta["namespace"] in absent:
            return False
        live = cluster.get(item["apiVersion"], item["kind"], meta["name"], meta["namespace"])
        if live is None or difference(with_unknown_of(item, live), live, FIELD_MANAGER):
            return False
    return True


def with_unknown_of(item: Mapping[str, Any], live: Mapping[str, Any]) -> Object:
    """A workload with what is not known yet taken from the live one: metadata, first ordinal, arguments, config digests."""
    known = copy.deepcopy(dict(item))
    # Only what was applied: a Deployment's controller, for example, adds an annotation of its own.
    meta = (as_applied(live, FIELD_MANAGER) or live)["metadata"]
    known["metadata"] = {key: meta[key] for key in ("name", "namespace", "labels", "annotations") if key in meta}
    spec, there = known["spec"], live["spec"]
    _take(spec, there, "ordinals")
    template, live_template = spec["template"], there["template"]
    _take(template["metadata"], live_template["metadata"], "annotations")
    pod, live_pod = template["spec"], live_template["spec"]
    for kind in ("initContainers", "containers"):
        live_ones = {one["name"]: one for one in live_pod.get(kind) or []}
        for one in pod.get(kind) or []:
            _take(one, live_ones.get(one["name"], {}), "args")
    return known


def _take(known: Object, live: Mapping[str, Any], key: str) -> None:
    if key in live:
        known[key] = live[key]
    else:
        known.pop(key, None)


def _placed(item: Object, namespace: str) -> Object:
    return {**item, "metadata": {**item["metadata"], "namespace": namespace}}


def _name(item: Mapping[str, Any]) -> str:
    return f"{item['kind']} {item['metadata'].get('namespace', '')}/{item['metadata']['name']}"


def _sentence(item: Mapping[str, Any], category: str, text: str, role: str) -> str:
    words = text.replace("[", ".").replace(":", ".").replace("]", ".").replace(" ", ".").split(".")
    # The last one is the innermost: spec.template.spec.containers[0].lifecycle.
    variable = next((f"{role}_{_VARIABLES[word]} (also of the pool), " for word in reversed(words) if word in _VARIABLES), "")
    if "runtimeClassName" in words:
        variable = f"{_DEVICES[role]}, "
    return f"the API server refuses {_name(item)} ({category}): {text}. See {variable}{role}_pod_template and {role}_patches."
