# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The placeholders and types of a pool's node_config, once: for the module, the filter and the manifests.

Nothing here is run by a shell. What differs from pod to pod is a variable from the downward API that the kubelet puts
into the argument; everything else is written out, with C($) doubled so that the kubelet restores it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import flower_toml, kubelet
from .node_config_faults import Fault, NodeConfigError, shown
from .node_config_values import INDEX_VARIABLE, NODE_VARIABLE, POOL_COUNT, Reader

__all__ = ["ARGUMENT_SPEC", "Expansion", "Fault", "NodeConfigError", "expand"]

ARGUMENT_SPEC: dict[str, dict[str, Any]] = {
    "node_config": {"type": "dict", "required": True},
    "mode": {"type": "str", "required": True, "choices": ["StatefulSet", "DaemonSet"]},
    "pool": {"type": "str", "required": True},
    "replicas": {"type": "int"},
    "nodes": {"type": "list", "elements": "str"},
    "cluster": {"type": "str"},
    "region": {"type": "str"},
    "namespace": {"type": "str"},
    "federation": {"type": "str"},
    "first_partition": {"type": "int"},
    "partitions": {"type": "int"},
    "datasets": {"type": "dict"},
}

# See MAX_SUPERNODES in plugin_utils/checks/site_rules.py.
MAX_REPLICAS = 1000
# Numbers of pods and partitions are int32 in Kubernetes (StatefulSetOrdinals.start).
_MAX_NUMBER = 2**31 - 1

_ENV = {
    INDEX_VARIABLE: "metadata.labels['apps.kubernetes.io/pod-index']",
    NODE_VARIABLE: "spec.nodeName",
}

_NODE_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")

_DATASET_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")

# Linux takes no single argument longer than this (MAX_ARG_STRLEN without the closing zero byte).
_ARGUMENT_BYTES = 131071 - len("--node-config=")


@dataclass(frozen=True)
class Expansion:
    """What a node_config becomes.

    argument: value of C(--node-config) for the args of the pod template, None when there is nothing to pass. Pass
      it as C(--node-config=<argument>): a key may start with a dash.
    env: Kubernetes EnvVar objects that the container needs, only those the argument refers to.
    preview: one {"index" | "node", "argument", "config"} for each replica or node; "partition" too where the pool
      counts across the fleet.
    counts: "fleet" when {partition} is used (spec.ordinals.start must then be first_partition), "pool" when {index}
      or {replicas} is, else None.
    warnings: sentences about what is allowed but surely not meant.
    """

    argument: str | None
    env: list[dict[str, Any]] = field(default_factory=list)
    preview: list[dict[str, Any]] = field(default_factory=list)
    counts: str | None = None
    warnings: list[str] = field(default_factory=list)


def expand(
    node_config: Any,
    *,
    mode: str,
    pool: str,
    replicas: int | None = None,
    nodes: Sequence[str] | None = None,
    cluster: str | None = None,
    region: str | None = None,
    namespace: str | None = None,
    federation: str | None = None,
    first_partition: int | None = None,
    partitions: int | None = None,
    datasets: Mapping[str, str] | None = None,
    preview: bool = True,
) -> Expansion:
    """Return the argument, environment and preview of one pool's node_config.

    The rules are those documented for the module federated.flower.node_config. None and "" of an optional parameter
    mean that it was not set. Without preview, only the last replica is checked, whose number is the longest. Raises
    NodeConfigError with all faults.
    """
    given: dict[str, Any] = {"replicas": replicas, "first_partition": first_partition, "partitions": partitions, "datasets": datasets}
    given |= {"pool": pool, "cluster": cluster, "region": region, "namespace": namespace, "federation": federation}
    faults = list(_parameter_faults(mode, nodes, given))
    if node_config is not None and not isinstance(node_config, Mapping):
        faults.append(
            Fault("invalid-parameter", f"must be a dictionary, not {shown(node_config)}", parameter="node_config")
        )
        node_config = None

    reader = Reader(mode, given)
    pairs = reader.read(node_config or {})
    faults.extend(reader.faults)
    if faults:
        raise NodeConfigError(faults, pool=pool, cluster=cluster)
    argument = " ".join(f"{key}={value}" for key, value in pairs) or None

    used = reader.used
    counts = "fleet" if "partition" in used else "pool" if used & POOL_COUNT else None
    variables = [
        name for name, by in ((INDEX_VARIABLE, {"index", "partition"}), (NODE_VARIABLE, {"node"})) if used & by
    ]
    previews: list[dict[str, Any]] = []
    longest = len((argument or "").encode())
    if longest <= _ARGUMENT_BYTES:
        first = first_partition if counts == "fleet" else None
        previews = list(_preview(argument, mode, replicas, nodes, first, whole=preview))
        longest = max([longest, *(len((entry["argument"] or "").encode()) for entry in previews)])
    if longest > _ARGUMENT_BYTES:
        text = f"the argument would have {longest} bytes, the limit of Linux is {_ARGUMENT_BYTES}"
        raise NodeConfigError([Fault("argument-too-long", text, parameter="node_config")], pool=pool, cluster=cluster)
    return Expansion(
        argument=argument,
        env=[{"name": name, "valueFrom": {"fieldRef": {"fieldPath": _ENV[name]}}} for name in variables],
        preview=previews if preview else [],
        counts=counts,
        warnings=list(_warnings(used, pool, replicas, first_partition, partitions)),
    )


def _parameter_faults(mode: Any, nodes: Any, given: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield the faults of everything but node_config."""

    def fault(parameter: str, text: str) -> Fault:
        return Fault("invalid-parameter", text, parameter=parameter)

    if mode not in ("StatefulSet", "DaemonSet"):
        yield fault("mode", f"must be StatefulSet or DaemonSet, not {shown(mode)}")
    if given["replicas"] is None and mode == "StatefulSet":
        yield fault("replicas", "a StatefulSet needs the number of its replicas")
    if given["replicas"] is not None and mode == "DaemonSet":
        yield fault("replicas", "a DaemonSet has one pod on each of its nodes and no number of replicas; leave it out")
    for parameter, least, most in (("replicas", 0, MAX_REPLICAS), ("first_partition", 0, _MAX_NUMBER), ("partitions", 1, _MAX_NUMBER)):
        number = given[parameter]
        if number is not None and (not isinstance(number, int) or isinstance(number, bool) or number < least):
            yield fault(parameter, f"must be an integer of at least {least}, not {shown(number)}")
        elif number is not None and number > most:
            yield fault(parameter, f"must be an integer of at most {most}, not {shown(number)}")
    for parameter in ("pool", "cluster", "region", "namespace", "federation"):
        text = given[parameter]
        if text is None and parameter != "pool":
            continue
        if not isinstance(text, str) or (not text and parameter == "pool"):
            yield fault(parameter, f"must be a non-empty string, not {shown(text)}")
        elif flower_toml.find_surrogate(text) >= 0:
            yield fault(parameter, f"{shown(text)} contains half of a surrogate pair, which is not valid in UTF-8 text")
    datasets = given["datasets"]
    if datasets is not None and not isinstance(datasets, Mapping):
        yield fault("datasets", f"must be a dictionary of paths, not {shown(datasets)}")
    for name, path in datasets.items() if isinstance(datasets, Mapping) else ():
        if not isinstance(name, str) or not _DATASET_NAME.fullmatch(name):
            yield fault("datasets", f"{shown(name)} cannot be the name of a dataset (a DNS label of lower case)")
        elif not isinstance(path, str) or not path.startswith("/") or flower_toml.find_surrogate(path) >= 0:
            yield fault("datasets", f"the path of {shown(name)} must be an absolute one, not {shown(path)}")
    if nodes is not None and (isinstance(nodes, str) or not isinstance(nodes, Sequence)):
        yield fault("nodes", f"must be a list of node names, not {shown(nodes)}")
        return
    for name in nodes or []:
        if not isinstance(name, str) or len(name) > 253 or not _NODE_NAME.fullmatch(name):
            yield fault("nodes", f"{shown(name)} cannot be the name of a node (a DNS subdomain of lower case)")


def _preview(
    argument: str | None, mode: str, replicas: int | None, nodes: Sequence[str] | None, offset: int | None, *, whole: bool
) -> Iterator[dict[str, Any]]:
    """Yield what each process receives and Flower reads; offset is the number of the pool's first pod.

    Incomplete: of a StatefulSet without known nodes only the last replica.
    """
    names = [str(name) for name in nodes or []]
    is_daemon = mode == "DaemonSet"
    where: list[dict[str, Any]] = [{"node": name} for name in names] if is_daemon else [{"index": index} for index in range(replicas or 0)]
    for position, entry in enumerate(where):
        if not whole and not names and position < len(where) - 1:
            continue
        variables: dict[str, str] = {}
        if names:
            variables[NODE_VARIABLE] = names[position % len(names)]
        if not is_daemon:
            variables[INDEX_VARIABLE] = str((offset or 0) + position)
            if offset is not None:
                entry["partition"] = offset + position
        seen = None if argument is None else kubelet.expand(argument, variables)
        yield {**entry, "argument": seen, "config": flower_toml.read(seen)}


def _warnings(used: set[str], pool: str, replicas: int | None, first: int | None, partitions: int | None) -> Iterator[str]:
    if not {"partition", "partitions"} <= used or first is None or partitions is None or not replicas:
        return
    if (last := first + replicas - 1) >= partitions:
        yield (
            f"pool {pool!r}: its {{partition}} goes up to {last}, but {{partitions}} is {partitions}, "
            f"and an app expects every partition to be below the number of partitions"
        )
