# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The objects that flower-operator makes of a Federation, as its code at commit bc0c510 makes them; the operator itself is not used.

Where Flower's releases from 1.40 need other arguments than it gives, a Federation has them in C(extraArgs).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Object = dict[str, Any]
FEDERATION = {"apiVersion": "flwr.exalsius.ai/v1", "kind": "Federation"}


def definition() -> Object:
    """Its CustomResourceDefinition, with a schema that takes any spec: the operator's own checks are not played."""
    schema = {"type": "object", "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "federations.flwr.exalsius.ai"},
        "spec": {
            "group": "flwr.exalsius.ai",
            "names": {"kind": "Federation", "plural": "federations", "singular": "federation", "shortNames": ["fedf"]},
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def objects(resource: Mapping[str, Any]) -> list[Object]:
    """Service and workloads. C(metadata) of the resource needs a uid."""
    spec, name = resource["spec"], resource["metadata"]["name"]
    superlink = _labels(name, "superlink", "superlink")
    ports = [{"name": "fleet", "port": 9092, "targetPort": 9092}, {"name": "control", "port": 9093, "targetPort": 9093}]
    service = {"apiVersion": "v1", "kind": "Service", "metadata": _meta(resource, f"{name}-superlink", superlink)}
    made = [{**service, "spec": {"selector": superlink, "ports": ports}}]
    hub = spec["superlink"]
    flags = ["--insecure"] if spec.get("insecure", True) else []
    args = [f"--isolation={spec['isolationMode']}", *flags, *hub.get("extraArgs", [])]
    box = _container("superlink", hub["image"], args, hub)
    made.append(_workload(resource, "StatefulSet", f"{name}-superlink", superlink, [box], hub, 1))
    for pool in spec["supernodes"]["pools"]:
        labels = {**_labels(name, "supernode", f"pool-{pool['name']}"), "flower.flwr.ai/pool": pool["name"]}
        args = [f"--superlink={name}-superlink:9092", f"--isolation={spec['isolationMode']}", *flags, *pool.get("extraArgs", [])]
        made.append(_pool(resource, pool, labels, args))
    return made


def _labels(name: str, app: str, component: str) -> dict[str, str]:
    return {
        "app.kubernetes.io/name": app, "app.kubernetes.io/instance": name, "app.kubernetes.io/component": component,
        "app.kubernetes.io/managed-by": "flower-operator",
    }  # fmt: skip


def _meta(resource: Mapping[str, Any], name: str, labels: Mapping[str, str]) -> Object:
    meta = resource["metadata"]
    owner = {**FEDERATION, "name": meta["name"], "uid": meta["uid"], "controller": True, "blockOwnerDeletion": True}
    return {"name": name, "namespace": meta["namespace"], "labels": dict(labels), "ownerReferences": [owner]}


def _container(name: str, image: str, args: list[str], given: Mapping[str, Any], resources: str = "resources") -> Object:
    made = {"name": name, "image": image, "args": args}
    made |= {key: given[key] for key in ("env", "volumeMounts") if given.get(key)}
    return made | ({"resources": given[resources]} if given.get(resources) else {})


def _pool(resource: Mapping[str, Any], pool: Mapping[str, Any], labels: Mapping[str, str], args: list[str]) -> Object:
    spec, name = resource["spec"], f"{resource['metadata']['name']}-supernode-{pool['name']}"
    daemon = spec["mode"] == "DaemonSet"
    config = {key: value.replace("{pool}", pool["name"]) for key, value in sorted(pool.get("nodeConfig", {}).items())}
    dynamic = any(word in value for value in config.values() for word in ("{index}", "{replicas}", "{node}"))
    if not daemon:
        config = {key: value.replace("{replicas}", str(pool["replicas"])) for key, value in config.items()}
    written = " ".join(f"{key}={_value(value, dynamic)}" for key, value in config.items())
    box = _container("supernode", pool["images"]["supernode"], args, pool, "supernodeResources")
    if config and not dynamic:
        box["args"] = [*args, f"--node-config={written}"]
    elif config:
        env = [("POD_NAME", "metadata.name"), ("FLOWER_NODE_NAME", "spec.nodeName")]
        box["env"] = [*box.get("env", []), *({"name": key, "valueFrom": {"fieldRef": {"fieldPath": path}}} for key, path in env)]
        number = "" if daemon else "export FLOWER_INDEX=$(echo $POD_NAME | rev | cut -d- -f1 | rev) && "
        box |= {"command": ["sh", "-c"], "args": [f'{number}exec flower-supernode {" ".join(args)} --node-config "{written}"']}
    gpu = pool.get("gpu") or {}
    if gpu.get("enabled"):
        device = {gpu.get("resourceName") or f"{gpu.get('vendor', 'nvidia')}.com/gpu": str(gpu.get("count", 1))}
        box["resources"] = {part: {**box.get("resources", {}).get(part, {}), **device} for part in ("limits", "requests")}
    kind = "DaemonSet" if daemon else "StatefulSet"
    return _workload(resource, kind, name, labels, [box], pool, None if daemon else pool["replicas"])


def _value(value: str, dynamic: bool) -> str:
    bare = value in ("{index}", "true", "false") or value.lstrip("+-").isdigit()
    text = value.replace("{index}", "$FLOWER_INDEX").replace("{node}", "$FLOWER_NODE_NAME")
    return text if bare else f'\\"{text}\\"' if dynamic else f'"{text}"'


def _workload(
    resource: Mapping[str, Any], kind: str, name: str, labels: Mapping[str, str], boxes: list[Object], given: Mapping[str, Any], replicas: int | None
) -> Object:  # fmt: skip
    pod: Object = {"containers": boxes, **{key: given[key] for key in ("volumes",) if given.get(key)}}
    spec: Object = {"selector": {"matchLabels": dict(labels)}, "template": {"metadata": {"labels": dict(labels)}, "spec": pod}}
    if kind == "StatefulSet":
        spec |= {"replicas": replicas, "serviceName": name}
        if given.get("volumeClaimTemplates"):
            spec["volumeClaimTemplates"] = given["volumeClaimTemplates"]
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": _meta(resource, name, labels), "spec": spec}


def pods(workload: Mapping[str, Any], nodes: tuple[str, ...] = ("node-1",)) -> list[Object]:
    """The pods that Kubernetes makes of a workload, one for each node of a DaemonSet."""
    spec, meta = workload["spec"], workload["metadata"]
    names = [f"{meta['name']}-{index}" for index in range(spec.get("replicas") or 0)] or [f"{meta['name']}-{node}" for node in nodes]
    owner = {"apiVersion": "apps/v1", "kind": workload["kind"], "name": meta["name"], "uid": meta.get("uid"), "controller": True}
    return [
        {
            "metadata": {"name": name, "namespace": meta["namespace"], "labels": spec["template"]["metadata"]["labels"], "ownerReferences": [owner]},
            "spec": {**spec["template"]["spec"], "nodeName": nodes[number % len(nodes)]},
            "status": {"phase": "Running"},
        }
        for number, name in enumerate(names)
    ]
