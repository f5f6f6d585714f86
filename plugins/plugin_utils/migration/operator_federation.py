# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Federation of flower-operator in a cluster: which one a site's variables select, and its parts. It is only read.

Source of names and labels: exalsius/flower-operator at commit C(bc0c510).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..base.errors import ClusterError
from ..base.problems import require
from ..checks.value_checks import Problems
from ..kube.api_errors import NotServed
from ..kube.client import Cluster
from ..marks.proof import labels_of

Object = dict[str, Any]
API, KIND = "flwr.exalsius.ai/v1", "Federation"
MANAGER = "flower-operator"
POOL = "flower.flwr.ai/pool"
SUPERLINK, SUPERNODE = "superlink", "supernode"  # its containers
_WORKLOADS = ("StatefulSet", "DaemonSet")

NAMESPACE, FEDERATION = "flower_takeover_namespace", "flower_takeover_federation"
_UNSET = (None, "")


@dataclass(frozen=True)
class OperatorFederation:
    """A Federation with what the operator made for it.

    Attributes:
        resource: the Federation.
        superlink: the SuperLink's StatefulSet.
        pools: name -> workload of the pool.
        pods: of all these workloads.
        claims: names of the PersistentVolumeClaims of their templates; the operator leaves them behind.
    """

    resource: Object
    superlink: Object | None = None
    pools: dict[str, Object] = field(default_factory=dict)
    pods: list[Object] = field(default_factory=list)
    claims: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Of the Federation."""
        return str(self.resource["metadata"]["name"])

    @property
    def namespace(self) -> str:
        """Of the Federation, and of all that the operator made for it."""
        return str(self.resource["metadata"]["namespace"])

    def pods_of(self, workload: Mapping[str, Any]) -> list[Object]:
        """Pods of a workload."""
        return [pod for pod in self.pods if _owned(pod, workload)]


def read(cluster: Cluster, namespace: str, name: str) -> OperatorFederation:
    """Read a Federation. What has the operator's labels without being owned by it is left out.

    Raises:
        ClusterError: there is no such Federation, or a right is missing.
    """
    try:
        resource = cluster.get(API, KIND, name, namespace)
    except NotServed as error:
        raise ClusterError(f"{cluster.name}: its API server does not serve {KIND} ({API}): flower-operator is not installed there.") from error
    if resource is None:
        raise ClusterError(
            f"{cluster.name}: there is no Federation {namespace}/{name}. flower_takeover_namespace and flower_takeover_federation name it."
        )
    labels = f"app.kubernetes.io/managed-by={MANAGER},app.kubernetes.io/instance={name}"
    workloads = [
        one for kind in _WORKLOADS for one in cluster.list("apps/v1", kind, namespace, labels=labels) if _owned(one, resource)
    ]
    pools = {labels_of(one)[POOL]: one for one in workloads if labels_of(one).get(POOL)}
    superlink = next((one for one in workloads if labels_of(one).get("app.kubernetes.io/name") == SUPERLINK), None)
    pods = [pod for pod in cluster.list("v1", "Pod", namespace, labels=labels) if any(_owned(pod, one) for one in workloads)]
    claims = [item["metadata"]["name"] for item in cluster.list("v1", "PersistentVolumeClaim", namespace)]
    return OperatorFederation(resource, superlink, pools, pods, sorted(name for name in claims if any(is_claim_of(name, one) for one in workloads)))


def is_claim_of(name: str, workload: Mapping[str, Any]) -> bool:
    """Whether a PersistentVolumeClaim is one of a StatefulSet's. One of C(lab-superlink-2) is none of C(lab-superlink)."""
    prefixes = (f"{claim['metadata']['name']}-{workload['metadata']['name']}-" for claim in workload["spec"].get("volumeClaimTemplates") or [])
    return any(name.startswith(prefix) and name[len(prefix) :].isdecimal() for prefix in prefixes)


def _owned(obj: Mapping[str, Any], owner: Mapping[str, Any]) -> bool:
    """Whether the owner controls the object."""
    found = obj["metadata"].get("ownerReferences") or []
    return any(one.get("controller") and one.get("uid") == owner["metadata"]["uid"] for one in found)


def container_of(workload: Mapping[str, Any], name: str) -> Object:
    """A container of a workload; empty if it has none of this name."""
    containers = workload["spec"]["template"]["spec"].get("containers") or []
    return next((one for one in containers if one.get("name") == name), {})


def has_shell(container: Mapping[str, Any]) -> bool:
    """Whether the operator starts it through a shell, as it does where a node config counts."""
    return list(container.get("command") or [])[:1] == ["sh"]


def option(container: Mapping[str, Any], name: str) -> str | None:
    """The value of an option of a container; the last one counts, as for Flower. Empty if it has no value, None if it is not there."""
    text = " ".join(str(one) for one in container.get("args") or [])
    found = re.findall(rf"(?:^|\s){re.escape(name)}(?:[=\s]([^\s\"']+))?", text)
    return found[-1] if found else None


def locate(workload: Mapping[str, Any], container: Mapping[str, Any], file: str, env: Mapping[str, str]) -> tuple[Object | None, str]:
    """The volume of a file, None if it is in none, and its path there. The deepest mount counts.

    Args:
        file: its path in the container.
        env: the environment, for C(subPathExpr).
    """
    inside = [one for one in container.get("volumeMounts") or [] if f"{file}/".startswith(one["mountPath"].rstrip("/") + "/")]
    if not inside:
        return None, ""
    mount = max(inside, key=lambda one: len(one["mountPath"]))
    rest = file[len(mount["mountPath"].rstrip("/")) :].lstrip("/")
    below = mount.get("subPath") or filled(mount.get("subPathExpr") or "", env, shell=False)
    claims = [{"name": one["metadata"]["name"], "persistentVolumeClaim": {}} for one in workload["spec"].get("volumeClaimTemplates") or []]
    volumes = [*(workload["spec"]["template"]["spec"].get("volumes") or []), *claims]
    volume = next((one for one in volumes if one["name"] == mount["name"]), None)
    return volume, "/".join(filter(None, (below.strip("/"), rest)))


_KUBELET = re.compile(r"\$\(([A-Za-z_]\w*)\)")
_SHELL = re.compile(r"\$\{?([A-Za-z_]\w*)\}?")


def filled(text: str, env: Mapping[str, str], *, shell: bool) -> str:
    """A text with its variables replaced, by kubelet and then by the shell. Unknown ones stay."""
    text = _KUBELET.sub(lambda one: env.get(one[1], one[0]), text)
    return _SHELL.sub(lambda one: env.get(one[1], one[0]), text) if shell else text


def environment(container: Mapping[str, Any], pod: str, index: str, node: str) -> dict[str, str]:
    """What is known of the environment of a pod's container."""
    known = {"metadata.name": pod, "spec.nodeName": node, "metadata.labels['apps.kubernetes.io/pod-index']": index}
    env = {}
    for one in container.get("env") or []:
        source = ((one.get("valueFrom") or {}).get("fieldRef") or {}).get("fieldPath")
        value = known.get(source) if source else one.get("value")
        if value:
            env[one["name"]] = str(value)
    if has_shell(container) and index:
        env["FLOWER_INDEX"] = index  # its shell computes it
    return env


def references(containers: Iterable[Mapping[str, Any]], volumes: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """(kind, name) of Secrets, ConfigMaps and claims that containers and volumes name. Optional ones are left out."""
    for container in containers:
        given = [(one.get("valueFrom") or {}, "secretKeyRef", "configMapKeyRef") for one in container.get("env") or []]
        given += [(one, "secretRef", "configMapRef") for one in container.get("envFrom") or []]
        for source, *keys in given:
            for key, kind in zip(keys, ("Secret", "ConfigMap"), strict=True):
                found = source.get(key) or {}
                if found.get("name") and not found.get("optional"):
                    yield kind, found["name"]
    for volume in volumes:
        for source in [volume, *((volume.get("projected") or {}).get("sources") or [])]:
            for key, kind, named in (
                ("secret", "Secret", "secretName"), ("configMap", "ConfigMap", "name"), ("persistentVolumeClaim", "PersistentVolumeClaim", "claimName"),
            ):  # fmt: skip
                found = source.get(key) or {}
                name = found.get(named) or found.get("name")
                if name and not found.get("optional"):
                    yield kind, name


def selected_federation(namespace: Any, name: Any, default: str) -> tuple[str, str] | None:
    """Namespace and name of a site's Federation; None for a site without one.

    Args:
        namespace: value of C(NAMESPACE).
        name: value of C(FEDERATION).
        default: its name where the variable has none.

    Raises:
        ClusterError: one of them is not a name, or only the second is set.
    """
    if namespace in _UNSET:
        if name in _UNSET:
            return None
        raise ClusterError(f"{FEDERATION} is {name!r}, and {NAMESPACE} is not set: set it to the namespace of that Federation.")
    found = Problems({}, "")
    found.label(NAMESPACE, namespace)
    if name not in _UNSET:
        found.subdomain(FEDERATION, name)
    require(found.found)
    return str(namespace), str(name or default)
