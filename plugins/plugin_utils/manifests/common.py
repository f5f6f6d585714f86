# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all renderers share: names, ports, labels, security contexts, images, and the shape of the two specs.

Renderers are pure: a spec (plain dict) goes in, a list of Kubernetes objects comes out, the same input gives the same
bytes. Nothing here opens a connection, reads a file or imports Ansible.

A spec key is the role variable without the role's prefix (C(superlink_storage_size) is C(storage_size)), so that a
fault can name the variable. roles/*/meta/argument_specs.yml describes the types; the keys every spec has:

    cluster             inventory name of the cluster, for messages and the {cluster} placeholder
    region              str, may be empty
    version             Flower release, "1.41.0"
    federation          name of the federation, also the label app.kubernetes.io/instance
    namespace, create_namespace, pod_security   the last one is the Pod Security level of the namespace: auto, a level, or ""
    insecure            bool: no TLS and no node authentication between SuperNodes and the hub, for labs
    isolation           "process" or "subprocess"
    labels, annotations put on every object
    image_registry, image_pull_policy, image_pull_secrets (list of Secret names)
    run_as_user, run_as_group, fs_group   int, or None to leave the field out
    log_level           FLWR_LOG_LEVEL, or ""
    superlink_address   "host:port" that SuperNodes dial, or "" while nobody knows it
    server_name         name that the gateway's certificate is verified against, or "" for the default
    ca_bundle           PEM text that verifies the gateway's certificate, or "" while there is none
    network_policies, dns, monitoring_namespaces   see policies.py
    patches             list of {target: {kind, name}, patch, type}; see patches.py

Only in the superlink spec: see superlink.py, serverapp.py, gateway.py, exposure.py and policies.py.
Only in the supernode spec: see supernode.py, sidecar.py and policies.py.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping
from typing import Any

Spec = Mapping[str, Any]
Object = dict[str, Any]

MANAGER = "federated.flower"
PART_OF = "flower"
POOL_LABEL = "federated.flower/pool"

SUPERLINK_PORT = 8000  # SuperLink itself, on 127.0.0.1 of its pod only
RUNTIME_PORT = 9091  # the gateway's door for the ServerApp, inside the hub cluster
FLEET_PORT = 9092  # the gateway's door for sites
NODE_RUNTIME_PORT = 9094  # SuperNode's Runtime API, on 127.0.0.1 of its pod only
NODE_DOOR_PORT = 9095  # the sidecar's door for a ClientApp in another pod, inside the site
SIDECAR_PORT = 9443  # the sidecar's loopback door, on 127.0.0.1 of the SuperNode's pod only
OPS_PORT = 8404  # HAProxy: /live, /ready, /metrics
HEALTH_PORT = 8990  # gRPC health of SuperLink and SuperNode
SUPEREXEC_HEALTH_PORT = 8991  # gRPC health of a SuperExec

DEFAULT_REGISTRY = "docker.io"
UPSTREAM_IMAGES = {
    "superlink": "flwr/superlink:{version}",
    "supernode": "flwr/supernode:{version}",
    "superexec": "flwr/superexec:{version}",
    "haproxy": "library/haproxy:2.6",
}

# SIGTERM stops SuperLink in 0.2-2.4 s and a SuperNode in less than 6 s (it takes leave of the SuperLink first; a
# SuperNode that is killed instead is refused for 60 s afterwards).
GRACE_SECONDS = 15


def compact(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """The mapping without entries that say nothing (None, empty text, empty list, empty mapping); keeps 0 and False."""
    return {k: v for k, v in mapping.items() if v is not None and v != "" and v != [] and v != {}}


def integer(value: Any) -> int | None:
    """An int, or None for a value that stands for "not given".

    Ansible releases before 2.19 hand templated numbers over as text and a templated null as an empty string.
    """
    if value is None or (isinstance(value, str) and value.strip().lower() in ("", "none", "null")):
        return None
    return int(value)


def boolean(value: Any) -> bool:
    """A bool, also from the text that templating makes of one."""
    if isinstance(value, str):
        return value.strip().lower() in ("true", "yes", "on", "1", "y", "t")
    return bool(value)


def text(value: Any) -> str:
    """Text for a label, annotation or environment value: true/false as Kubernetes users write them."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def labels(spec: Spec, name: str, component: str | None = None, *, pool: str | None = None) -> dict[str, str]:
    """Labels of an object or pod template. The collection's own labels win over the user's.

    :arg name: application ("superlink", "serverapp", "supernode").
    :arg component: its part; the application's name if not given.
    :arg pool: name of the pool.
    """
    merged = {k: text(v) for k, v in (spec.get("labels") or {}).items()}
    merged.update(selector(spec, name, component, pool=pool))
    merged["app.kubernetes.io/part-of"] = PART_OF
    merged["app.kubernetes.io/managed-by"] = MANAGER
    merged["app.kubernetes.io/version"] = text(spec["version"])
    return dict(sorted(merged.items()))


def selector(spec: Spec, name: str, component: str | None = None, *, pool: str | None = None) -> dict[str, str]:
    """Labels that select pods. Never the version: selectors can't be changed later."""
    picked = {
        "app.kubernetes.io/component": component or name,
        "app.kubernetes.io/instance": text(spec["federation"]),
        "app.kubernetes.io/name": name,
    }
    if pool is not None:
        picked[POOL_LABEL] = pool
    return picked


# Where a site's keys are made. The annotation notes it on Secrets and pods; nothing stands for the controller.
KEY_SOURCE = "federated.flower/key-source"
CONTROLLER = "controller"
SITE = "site"
KEY_SOURCES = (CONTROLLER, SITE)
# ConfigMap in which a site that makes its keys itself tells their public halves.
PUBLIC_KEYS = "supernode-public"


# Where ClientApps run: in the SuperNode's pod, or in a workload of their own.
POD, WORKLOAD = "pod", "workload"
CLIENTAPPS = (POD, WORKLOAD)
CLIENTAPP = "clientapp"


def parted(spec: Spec) -> bool:
    """Whether ClientApps are a workload of their own beside the SuperNodes."""
    return text(spec.get("clientapp")) == WORKLOAD


def keys_secret(pool: str) -> str:
    """Name of the Secret with a pool's SuperNode keys, one entry per pod index or node name."""
    return f"supernode-{pool}-keys"


def metadata(
    spec: Spec,
    object_name: str,
    name: str,
    component: str | None = None,
    *,
    pool: str | None = None,
    annotations: Mapping[str, Any] | None = None,
    extra_labels: Mapping[str, Any] | None = None,
    namespaced: bool = True,
) -> Object:
    """metadata of one object: name, namespace, labels and, if there are any, annotations."""
    own = labels(spec, name, component, pool=pool)
    merged = {**{k: text(v) for k, v in (extra_labels or {}).items()}, **own}
    notes = {**(spec.get("annotations") or {}), **(annotations or {})}
    return compact(
        {
            "name": object_name,
            "namespace": spec["namespace"] if namespaced else None,
            "labels": dict(sorted(merged.items())),
            "annotations": {k: text(v) for k, v in sorted(notes.items())},
        }
    )


def config_map(
    spec: Spec, object_name: str, name: str, data: Mapping[str, str], component: str | None = None
) -> Object:
    """A ConfigMap with text data."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(spec, object_name, name, component),
        "data": dict(data),
    }


def service_account(spec: Spec, name: str) -> Object:
    """A ServiceAccount that gives its pods no token. It is there for image pull rights and OpenShift's SCCs."""
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": metadata(spec, name, name),
        "automountServiceAccountToken": False,
    }


def image(spec: Spec, kind: str, override: Any = None) -> str:
    """Reference of an image: the user's, else the upstream one taken from the registry or mirror of the spec.

    :arg kind: key of C(UPSTREAM_IMAGES).
    """
    if override:
        return text(override)
    registry = text(spec.get("image_registry") or DEFAULT_REGISTRY).rstrip("/")
    return registry + "/" + UPSTREAM_IMAGES[kind].format(version=spec["version"])


def pod_security_context(spec: Spec) -> Object:
    """Security context of a pod that Pod Security "restricted" lets pass.

    Fields that are None are left out: OpenShift's SCCs choose user and groups themselves.
    """
    return compact(
        {
            "runAsNonRoot": True,
            "runAsUser": integer(spec.get("run_as_user")),
            "runAsGroup": integer(spec.get("run_as_group")),
            "fsGroup": integer(spec.get("fs_group")),
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        }
    )


def container_security_context() -> Object:
    """Security context of every container: no privileges, nothing writable but the mounts."""
    return {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }


def resources(value: Any) -> Object:
    """A ResourceRequirements with every quantity as text (the API server stores text)."""
    value = value or {}
    return compact(
        {part: {k: text(v) for k, v in sorted((value.get(part) or {}).items())} for part in ("limits", "requests")}
    )


def merge_env(*lists: Iterable[Mapping[str, Any]] | None) -> list[Object]:
    """Environment lists merged by name; a later entry replaces an earlier one in its place."""
    merged: dict[str, Object] = {}
    for entries in lists:
        for entry in entries or []:
            item = {"name": entry["name"]}
            if entry.get("valueFrom") is not None:
                item["valueFrom"] = entry["valueFrom"]
            else:
                item["value"] = text(entry.get("value"))
            merged[entry["name"]] = item
    return list(merged.values())


def flower_env(spec: Spec, home: str) -> list[Object]:
    """Environment of every Flower container.

    Telemetry and the update check are off. HOME is set because a random user id has no entry in /etc/passwd.

    :arg home: the container's writable directory.
    """
    env = [
        {"name": "FLWR_TELEMETRY_ENABLED", "value": "0"},
        {"name": "FLWR_DISABLE_UPDATE_CHECK", "value": "1"},
        {"name": "HOME", "value": home},
        {"name": "FLWR_HOME", "value": home if home != "/tmp" else "/tmp/flwr"},
        {"name": "TMPDIR", "value": home},
    ]
    if spec.get("log_level"):
        env.append({"name": "FLWR_LOG_LEVEL", "value": text(spec["log_level"])})
    return env


def grpc_probes(port: int, *, failures: int) -> Object:
    """Start-up and liveness probe on a gRPC health port.

    Never C(httpGet /health) for a SuperNode: that answers 200 after the connection was given up for good, and only the
    gRPC check notices (it times out).

    :arg failures: failed liveness checks, ten seconds apart, before the container is restarted.
    """
    return {
        # Python imports for several seconds on a busy node: the start-up probe waits two minutes and asks every second.
        "startupProbe": {"grpc": {"port": port}, "periodSeconds": 1, "failureThreshold": 120},
        "livenessProbe": {
            "grpc": {"port": port},
            "periodSeconds": 10,
            "timeoutSeconds": 5,
            "failureThreshold": failures,
        },
    }


def secret_volume(name: str, secret: str, *, keys: Iterable[str] | None = None, optional: bool = False) -> Object:
    """A volume with a Secret's files, readable by the pod's group only (fsGroup)."""
    source: Object = {"secretName": secret, "defaultMode": 0o440}
    if keys:
        source["items"] = [{"key": key, "path": key} for key in keys]
    if optional:
        source["optional"] = True
    return {"name": name, "secret": source}


def key_pair_volume(name: str, secret: str, *, optional: bool = False) -> Object:
    """A volume with certificate and key of a Secret in the form that HAProxy's C(crt) takes: FILE and FILE.key.

    The Secret needs C(tls.crt) and C(tls.key) only, so that those of cert-manager and of users fit as they are. HAProxy
    2.2 and later look for the key beside a certificate that holds none (C(ssl-load-extra-files)).
    """
    volume = secret_volume(name, secret, optional=optional)
    volume["secret"]["items"] = [{"key": "tls.crt", "path": "tls.pem"}, {"key": "tls.key", "path": "tls.pem.key"}]
    return volume


def config_volume(name: str, config: str) -> Object:
    """A volume with a ConfigMap's files."""
    return {"name": name, "configMap": {"name": config, "defaultMode": 0o444}}


def scratch_volume(name: str, *, size: Any = None, memory: bool = False) -> Object:
    """An emptyDir, in memory if asked."""
    return {
        "name": name,
        "emptyDir": compact({"medium": "Memory" if memory else None, "sizeLimit": text(size) if size else None}),
    }


def mount(name: str, path: str, *, read_only: bool = True, sub_path: str | None = None) -> Object:
    """A volume mount."""
    return compact({"name": name, "mountPath": path, "readOnly": True if read_only else None, "subPath": sub_path})


def pod_spec(
    spec: Spec,
    placement: Mapping[str, Any],
    *,
    service_account_name: str,
    containers: list[Object],
    volumes: list[Object],
    init_containers: list[Object] | None = None,
    runtime_class: str | None = None,
    grace: int = GRACE_SECONDS,
) -> Object:
    """The PodSpec around a list of containers.

    :arg placement: mapping with C(node_selector), C(tolerations), C(affinity), C(topology_spread_constraints) and
        C(priority_class), each may be missing.
    :arg grace: seconds between SIGTERM and SIGKILL.
    """
    return compact(
        {
            "serviceAccountName": service_account_name,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "restartPolicy": "Always",  # a SuperNode that lost its registration exits with code 0
            "terminationGracePeriodSeconds": grace,
            "securityContext": pod_security_context(spec),
            "imagePullSecrets": [{"name": name} for name in spec.get("image_pull_secrets") or []],
            "nodeSelector": {k: text(v) for k, v in sorted((placement.get("node_selector") or {}).items())},
            "tolerations": placement.get("tolerations"),
            "affinity": placement.get("affinity"),
            "topologySpreadConstraints": placement.get("topology_spread_constraints"),
            "priorityClassName": placement.get("priority_class"),
            "runtimeClassName": runtime_class,
            "initContainers": init_containers,
            "containers": containers,
            "volumes": volumes,
        }
    )


def pod_template(
    spec: Spec,
    name: str,
    pod: Object,
    *,
    pool: str | None = None,
    pod_labels: Mapping[str, Any] | None = None,
    pod_annotations: Mapping[str, Any] | None = None,
) -> Object:
    """A pod template. Nothing that changes often may enter it: each change restarts pods."""
    own = {**{k: text(v) for k, v in (pod_labels or {}).items()}, **labels(spec, name, pool=pool)}
    return {
        "metadata": compact(
            {
                "labels": dict(sorted(own.items())),
                "annotations": {k: text(v) for k, v in sorted((pod_annotations or {}).items())},
            }
        ),
        "spec": pod,
    }


def disruption_budget(
    spec: Spec, object_name: str, name: str, max_unavailable: int, *, pool: str | None = None
) -> Object:
    """A PodDisruptionBudget. A broken pod never holds up a drain."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(spec, object_name, name, pool=pool),
        "spec": {
            "maxUnavailable": max_unavailable,
            "selector": {"matchLabels": selector(spec, name, pool=pool)},
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
        },
    }


_ADDRESS = re.compile(r"^(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<host>[^\s:/\[\]]+)):(?P<port>\d{1,5})$")


def split_address(address: str) -> tuple[str, int]:
    """Host and port of "host:port" or "[ipv6]:port".

    :raises ValueError: the text is no such address.
    """
    match = _ADDRESS.match(address)
    if not match or not 1 <= int(match["port"]) <= 65535:
        raise ValueError(f"{address!r} is no host:port")
    return match["six"] or match["host"], int(match["port"])


def is_ip(host: str) -> bool:
    """True for a literal IPv4 or IPv6 address."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def fixed_server_name(spec: Spec) -> str:
    """DNS name that every certificate of the gateway carries, whatever its address is.

    Nobody resolves it. It is what a sidecar verifies when the hub's address is an IP: HAProxy compares names with DNS
    entries of a certificate only, never with IP entries.
    """
    return f"superlink.{spec['federation']}.flower.internal"


def server_name(spec: Spec) -> str:
    """Name (also the SNI) against which a site's sidecar verifies the gateway's certificate.

    The C(server_name) of the spec if there is one; else the host of the address, as a router that passes TLS through
    finds its backend by it; for an IP address, the fixed name.
    """
    if spec.get("server_name"):
        return text(spec["server_name"])
    if spec.get("superlink_address"):
        host = split_address(text(spec["superlink_address"]))[0]
        if not is_ip(host):
            return host
    return fixed_server_name(spec)


def next_server_name(name: str) -> str:
    """Name (SNI) under which the gateway shows the certificate that it will serve after a change of the CA.

    Nobody needs to resolve it: whoever asks for it dials the same address as ever.
    """
    return f"next.{name}"


def certificate_names(spec: Spec, addresses: Iterable[str] = ()) -> dict[str, list[str]]:
    """Subject alternative names of a certificate that is made for the gateway.

    Without C(certificate_internal_names) in the spec only those of C(certificate_names): what sites verify (hub/names.py)
    is put there before.

    :arg addresses: more hosts or "host:port" under which sites reach the gateway.
    :returns: C({"dns": [...], "ip": [...]}), each without doubles, in a stable order.
    """
    dns: list[str] = []
    ips: list[str] = []
    given: list[Any] = []
    if boolean(spec.get("certificate_internal_names", True)):
        dns = [fixed_server_name(spec), "superlink", f"superlink.{spec['namespace']}.svc"]
        given = [spec.get("server_name"), spec.get("host"), spec.get("superlink_address"), *addresses]
    given += list(spec.get("certificate_names") or [])
    for entry in given:
        if not entry:
            continue
        host = text(entry)
        if _ADDRESS.match(host) and not is_ip(host):
            host = split_address(host)[0]
        if is_ip(host):
            ips.append(str(ipaddress.ip_address(host)))
        else:
            dns.append(host)
    return {"dns": list(dict.fromkeys(dns)), "ip": list(dict.fromkeys(ips))}


def internal_certificate_names() -> dict[str, list[str]]:
    """Names in SuperLink's own certificate (Secret C(superlink-internal)).

    The gateway and the command line dial localhost; the SuperExec that SuperLink starts itself with subprocess
    isolation dials 127.0.0.1.
    """
    return {"dns": ["localhost"], "ip": ["127.0.0.1"]}


def runtime_certificate_names(spec: Spec) -> dict[str, list[str]]:
    """Names in the certificate of the gateway's door for the ServerApp (Secret C(superlink-runtime-tls))."""
    return {"dns": ["superlink-runtime", f"superlink-runtime.{spec['namespace']}.svc"], "ip": []}


def local_certificate_names(namespace: str) -> list[str]:
    """Names in the certificate of a sidecar's own doors (Secret C(supernode-local-tls)): loopback, and Services of the site."""
    return ["localhost", "127.0.0.1", door_certificate_name(namespace)]


def door_certificate_name(namespace: str) -> str:
    """The name among them by which ClientApps in other pods know the doors. OpenSSL wants two labels behind the star."""
    return f"*.{namespace}.svc"
