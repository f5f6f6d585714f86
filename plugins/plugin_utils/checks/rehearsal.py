# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask the API server, by server-side dry run, whether it accepts what will be applied, and whether it can be reached there.

Address, certificates and ledger are not known yet: objects are rendered with placeholders for them. So
workloads, claims and volumes are compared without the fields that depend on these, and only when one differs from the live one, or does
not exist yet, is anything sent. A run that changes nothing costs one GET for each of them.

What a release accepts, and cannot run, stands here as well (Kubernetes documentation, «Feature Gates»: SidecarContainers, PodIndexLabel): an API
server of 1.28 drops C(restartPolicy) of a native sidecar, and leaves an init container that never ends; before 1.28, pods of a StatefulSet have no
label with their number.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..apply.compare import as_applied, differs
from ..apply.results import describe_error
from ..base.problems import Problem, require
from ..base.values import Object
from ..kube.api_errors import ApiError, Conflict, Forbidden
from ..kube.client import FIELD_MANAGER, Cluster

WORKLOADS = ("DaemonSet", "Deployment", "StatefulSet")
_STORAGE = ("PersistentVolume", "PersistentVolumeClaim")
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
VARIABLE_OF_FIELD = {
    "env": "env",
    "volumes": "volumes",
    "volumeMounts": "volume_mounts",
    "resources": "resources",
    "tolerations": "tolerations",
    "affinity": "affinity",
    "nodeSelector": "node_selector",
    "topologySpreadConstraints": "topology_spread_constraints",
    "image": "image",
    "priorityClassName": "priority_class",
    "terminationGracePeriodSeconds": "termination_grace_period",
    "containers": "extra_containers",
    "initContainers": "init_containers",
    "lifecycle": "lifecycle",
    "annotations": "annotations",
    "labels": "labels",
}
_STORAGE_OF = {"superlink": "superlink_outputs_size and superlink_outputs_storage_class", "supernode": "the dataset in supernode_datasets (also of the pool)"}
_DEVICES = {"superlink": "superlink_serverapp_gpu.runtime_class", "supernode": "gpu.runtime_class of the pools, or supernode_gpu.runtime_class"}


def rehearse(cluster: Cluster, objects: Sequence[Object], absent: Collection[str], role: str) -> bool:
    """Have the API server test objects, unless nothing differs; returns whether it was called.

    Args:
        objects: rendered with stand-ins.
        absent: namespaces to create.
        role: role from whose variables the objects are rendered, for the messages.

    Raises:
        ClusterError: the cluster cannot be reached, or refuses objects; each has a sentence.
    """
    require(too_large(objects, role))
    if is_as_live(cluster, objects, absent):
        return False
    require(_refused(cluster, objects, absent, role))
    return True


def _refused(cluster: Cluster, objects: Iterable[Object], absent: Collection[str], role: str) -> Iterator[Problem]:
    for item in objects:
        namespace = item["metadata"].get("namespace")
        if not (namespace or item["kind"] in _STORAGE) or item["kind"] in _UNTRIED:
            continue
        place = {"namespace": SUBSTITUTE} if namespace in absent else {}
        try:
            tried = cluster.apply({**item, "metadata": {**item["metadata"], **place}}, dry_run=True)
        except (Conflict, Forbidden) as error:
            if isinstance(error, Forbidden) and namespace not in absent and not error.verb:
                yield _refusal(item, *describe_error(error), role)
        except ApiError as error:
            category, text = describe_error(error)
            if "does not support dry run" in text:
                continue  # a webhook without dry run
            if category in _OWN_FAULTS or (namespace not in absent and category not in ("not served", "not found")):
                yield _refusal(item, category, text, role)
        else:
            if item["kind"] == "Service":
                yield from families(cluster.name, tried)


def families(name: str, service: Mapping[str, Any]) -> Iterator[Problem]:
    """Whether a Service as an API server returns it can be reached: HAProxy and Flower's health servers listen on IPv4 addresses only.

    Args:
        name: of the cluster.
        service: may not say which families of addresses it has.
    """
    there = (service.get("spec") or {}).get("ipFamilies") or []
    if there and "IPv4" not in there:
        yield Problem(
            f"{name}: the cluster gives Services only addresses of {', '.join(there)}, and what is deployed listens on IPv4 addresses: its pods would "
            "never be ready. Use a cluster with IPv4, or with IPv4 and IPv6 (dual stack) and IPv4 first"
        )


def too_large(objects: Iterable[Object], role: str) -> Iterator[Problem]:
    """Objects that no cluster can store."""
    for item in objects:
        if (size := len(json.dumps(item, ensure_ascii=False).encode("utf-8", "replace"))) > MAX_BYTES:
            yield Problem(
                f"{role}: {_name(item)} would have {size} bytes; a cluster stores at most {MAX_BYTES}. Put large values into a ConfigMap or "
                "Secret and mount that"
            )


def release(version: str) -> tuple[int, ...]:
    """Major and minor number of a version of Kubernetes, such as C(v1.35.2+k3s1)."""
    return tuple(map(int, re.findall(r"\d+", version)[:2]))


def too_old(version: str, objects: Iterable[Mapping[str, Any]]) -> Iterator[Problem]:
    """Why the pods of rendered objects of a site do not work with a version of Kubernetes, which may not be known."""
    workloads = [item for item in objects if item["kind"] in WORKLOADS]
    pods = [item["spec"]["template"]["spec"] for item in workloads]
    has_sidecars = any(one.get("restartPolicy") == "Always" for pod in pods for one in pod.get("initContainers") or [])
    found = release(version)
    if has_sidecars and (1,) <= found < (1, 29):
        yield Problem(
            f"Kubernetes {version} has no native sidecars, so the pods of SuperNodes would never start: update the cluster to 1.29 or later. Without an "
            "update, supernode_sidecar and supernode_mtls can be false from 1.28 on, where the hub does not require client certificates."
        )
    elif any(item["kind"] == "StatefulSet" for item in workloads) and (1,) <= found < (1, 28):
        yield Problem(f"Kubernetes {version} does not give pods their number, by which each finds its key: update the cluster to 1.28 or later.")


def is_as_live(cluster: Cluster, objects: Iterable[Object], absent: Collection[str]) -> bool:
    """Whether every workload, claim and volume is there and is what would be applied, as far as that is known yet."""
    for item in objects:
        if item["kind"] not in (*WORKLOADS, *_STORAGE):
            continue
        meta = item["metadata"]
        if meta.get("namespace") in absent:
            return False
        live = cluster.get(item["apiVersion"], item["kind"], meta["name"], meta.get("namespace"))
        if live is None or differs(with_unknown_of(item, live), live, FIELD_MANAGER):
            return False
    return True


def with_unknown_of(item: Mapping[str, Any], live: Mapping[str, Any]) -> Object:
    """An object with what is not known yet taken from the live one: metadata and, of a workload, first ordinal, arguments, config digests."""
    known = copy.deepcopy(dict(item))
    # Only what was applied: a Deployment's controller, for example, adds an annotation of its own.
    meta = (as_applied(live, FIELD_MANAGER) or live)["metadata"]
    known["metadata"] = {key: meta[key] for key in ("name", "namespace", "labels", "annotations") if key in meta}
    spec, there = known["spec"], live["spec"]
    if item["kind"] not in WORKLOADS:
        return known
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


def _name(item: Mapping[str, Any]) -> str:
    return f"{item['kind']} {item['metadata'].get('namespace', '')}/{item['metadata']['name']}"


def _refusal(item: Mapping[str, Any], category: str, text: str, role: str) -> Problem:
    """An answer of the API server, with the variables from which the field comes."""
    if item["kind"] in _STORAGE:
        return Problem(f"the API server refuses {_name(item)} ({category}): {text}. Restore {_STORAGE_OF[role]}, or use another name or claim.")
    words = text.replace("[", ".").replace(":", ".").replace("]", ".").replace(" ", ".").split(".")
    # The last one is the innermost: spec.template.spec.containers[0].lifecycle.
    variable = next((f"{role}_{VARIABLE_OF_FIELD[word]} (also of the pool), " for word in reversed(words) if word in VARIABLE_OF_FIELD), "")
    if "runtimeClassName" in words:
        variable = f"{_DEVICES[role]}, "
    return Problem(f"the API server refuses {_name(item)} ({category}): {text}. See {variable}{role}_pod_template and {role}_patches.")
