# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A site: one workload per pool, SuperNode and ClientApp SuperExec in one pod, one key per pod.

A key admits one session, so pods are replaced and never doubled. With C(clientapp: workload) the SuperExecs are in pods of
their own, see clientapp.py; what belongs to the site and not to a version of the app (account, policy, Services) is here.

Keys of the supernode spec used here: C(image), C(superexec_image), C(resources), C(superexec_resources), C(env),
C(extra_args), C(superexec_extra_args), C(volumes), C(volume_mounts), C(shm_size), C(node_selector), C(tolerations),
C(affinity), C(topology_spread_constraints), C(priority_class), C(pod_labels), C(pod_annotations),
C(termination_grace_period), C(runtime_dependency_installation), C(disruption_budget), C(key_source), C(clientapp), and:

    pools       list of {name, mode, replicas, node_config, gpu, ...}. A pool may hold any of the keys above (except
                disruption_budget) for itself: env, pod_labels and pod_annotations are merged with the site's by name,
                everything else replaces the site's.
    allocation  {pool: {"offset": int, "partitions": int}} from the ledger; needed for pools that use {partition} or
                {partitions}

C(env) goes to SuperNode and SuperExec, C(volume_mounts), C(shm_size) and C(gpu) to the container that computes: the
SuperExec with process isolation, the SuperNode with subprocess isolation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...module_utils import node_config
from ..base.labels import selector
from ..base.names import CLIENTAPP, KEY_SOURCE, SITE, keys_secret, parted
from ..base.ports import HEALTH_PORT, NODE_LISTENER_PORT, NODE_RUNTIME_PORT, SIDECAR_PORT
from ..base.values import Object, Spec, boolean, compact, integer, text
from . import clientapp, gpu, namespace, patches, policies, sidecar, superexec
from .objects import config_map, disruption_budget, metadata, service_account
from .pod import (
    GRACE_SECONDS,
    config_volume,
    container_security_context,
    flower_env,
    grpc_probes,
    image,
    merge_env,
    mount,
    pod_spec,
    pod_template,
    resources,
    scratch_volume,
    secret_volume,
)

NAME = "supernode"
TRUST = "supernode-trust"
STATEFUL_SET = "StatefulSet"
DAEMON_SET = "DaemonSet"

# Site-wide keys that a pool may hold for itself.
POOL_KEYS = (
    "image",
    "superexec_image",
    "isolation",
    "resources",
    "superexec_resources",
    "env",
    "extra_args",
    "superexec_extra_args",
    "volumes",
    "volume_mounts",
    "shm_size",
    "node_selector",
    "tolerations",
    "affinity",
    "topology_spread_constraints",
    "priority_class",
    "pod_labels",
    "pod_annotations",
    "termination_grace_period",
    "runtime_dependency_installation",
)

# Waits for the key of this node: a node joins a DaemonSet before anybody has made a key for it.
_WAIT_KEY = """\
import os, time
node = os.environ["FLOWER_NODE_NAME"]
path = "/keys/" + node
said = 0.0
while not (os.path.exists(path) and os.path.getsize(path)):
    if time.monotonic() - said > 60 or not said:
        said = time.monotonic()
        print("waiting for the key of node " + node + " in Secret " + os.environ["FLOWER_KEYS"], flush=True)
    time.sleep(1)
"""


def workload_name(pool: str) -> str:
    """Name of a pool's workload."""
    return f"{NAME}-{pool}"


def pool_mode(pool: Mapping[str, Any]) -> str:
    """Kind of a pool's workload."""
    return text(pool.get("mode") or STATEFUL_SET)


def needs_nodes(spec: Spec) -> bool:
    """Whether the cluster's nodes have to be known: a DaemonSet pool has a key for each."""
    return any(pool_mode(pool) == DAEMON_SET for pool in spec.get("pools") or [])


def pool_replicas(pool: Mapping[str, Any]) -> int | None:
    """Replicas of a StatefulSet pool, 1 if it does not say; None for a DaemonSet."""
    if pool_mode(pool) == DAEMON_SET:
        return None
    replicas = integer(pool.get("replicas"))
    return 1 if replicas is None else replicas


def effective_pool(spec: Spec, pool: Mapping[str, Any]) -> dict[str, Any]:
    """A pool with the site's settings filled in."""
    merged = {key: spec.get(key) for key in POOL_KEYS}
    merged.update({key: value for key, value in pool.items() if value is not None})
    merged["env"] = merge_env(spec.get("env"), pool.get("env"))
    for key in ("pod_labels", "pod_annotations"):
        merged[key] = {**(spec.get(key) or {}), **(pool.get(key) or {})}
    return merged


def first_ordinal(spec: Spec, pool: Mapping[str, Any]) -> int:
    """Index of a pool's first pod: the site's offset if the pool counts across the fleet, else 0."""
    if not node_config.uses_partition(pool.get("node_config") or {}):
        return 0
    allocation = (spec.get("allocation") or {}).get(pool["name"])
    if allocation is None:
        raise ValueError(f"pool {pool['name']!r} uses {{partition}}, but the ledger has allotted no partitions to it")
    return int(allocation["offset"])


def expansion(spec: Spec, pool: Mapping[str, Any], *, preview: bool = False) -> Any:
    """The pool's node config as C(node_config.expand) gives it.

    Args:
        preview: whether to say what each replica gets.

    Raises:
        node_config.NodeConfigError: the node config is wrong; C(faults) says how.
    """
    config = pool.get("node_config") or {}
    known: dict[str, Any] = {
        "mode": pool_mode(pool),
        "pool": pool["name"],
        "replicas": pool_replicas(pool),
        "cluster": text(spec.get("cluster")),
        "region": text(spec.get("region")),
        "namespace": text(spec["namespace"]),
        "federation": text(spec["federation"]),
    }
    allocation = (spec.get("allocation") or {}).get(pool["name"]) or {}
    # Also where they are not used: a slip of the pen in {partition} is to be told from what could have been meant.
    known_numbers = pool_mode(pool) == STATEFUL_SET and bool(integer(allocation.get("partitions")))
    if node_config.uses_partition(config) or known_numbers:
        known["first_partition"] = first_ordinal(spec, pool)
        known["partitions"] = int(allocation["partitions"])
    return node_config.expand(config, **known, preview=preview)


def objects(spec: Spec) -> list[Object]:
    """All objects of a site, in the order in which they can be applied."""
    rendered = [
        *namespace.objects(spec),
        *policies.supernode_objects(spec),
        service_account(spec, NAME),
        *trust_objects(spec),
        *sidecar.config_objects(spec),
        headless_service(spec),
    ]
    if parted(spec):
        rendered.append(service_account(spec, CLIENTAPP))
    for pool in sorted(spec.get("pools") or [], key=lambda p: p["name"]):
        rendered += pool_objects(spec, effective_pool(spec, pool))
    return patches.apply(rendered, spec.get("patches"))


def clientapps(spec: Spec) -> list[Object]:
    """Of these the ClientApps alone, without anything that the hub or the ledger has to tell before."""
    if not parted(spec):
        return []
    pools = [effective_pool(spec, pool) for pool in sorted(spec["pools"], key=lambda pool: pool["name"])]
    made = [clientapp.workload(spec, pool, pool_replicas(pool) or 0) for pool in pools]
    return patches.apply(made, spec.get("patches"), partial=True)


def pool_objects(spec: Spec, pool: Mapping[str, Any]) -> list[Object]:
    """A pool's workloads and what goes with them, see C(effective_pool)."""
    rendered = door_services(spec, pool) if parted(spec) else []
    rendered.append(workload(spec, pool))
    names = [NAME]
    if parted(spec):
        rendered.append(clientapp.workload(spec, pool, pool_replicas(pool) or 0))
        names.append(CLIENTAPP)
    budget = integer(spec.get("disruption_budget"))
    if budget is not None and (pool_replicas(pool) or 0) > 1:
        rendered += [
            disruption_budget(spec, f"{name}-{pool['name']}", name, budget, pool=pool["name"]) for name in names
        ]
    return rendered


def door_services(spec: Spec, pool: Mapping[str, Any]) -> list[Object]:
    """A Service for the door of each replica, numbered from 0 in every site, whatever the numbers of its pods are.

    So the ClientApps of all sites are the same. A pod that is not ready, or is about to go, is reached all the same: its
    ClientApp may still have a result to hand over.
    """
    first = first_ordinal(spec, pool)
    return [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata(spec, clientapp.door(pool["name"], number), NAME, pool=pool["name"]),
            "spec": {
                "type": "ClusterIP",
                "publishNotReadyAddresses": True,
                "selector": {
                    **selector(spec, NAME, pool=pool["name"]),
                    clientapp.POD_NAME: f"{workload_name(pool['name'])}-{first + number}",
                },
                "ports": [
                    {"name": "runtime", "port": NODE_LISTENER_PORT, "protocol": "TCP", "targetPort": "runtime"},
                ],
            },
        }
        for number in range(pool_replicas(pool) or 0)
    ]


def trust_objects(spec: Spec) -> list[Object]:
    """The ConfigMap with the CA certificates that verify the hub."""
    if boolean(spec.get("insecure")):
        return []
    return [config_map(spec, TRUST, NAME, {"ca.crt": text(spec["ca_bundle"])}, "trust")]


def headless_service(spec: Spec) -> Object:
    """The headless Service that gives StatefulSet pods their names. It publishes nothing that sites would call."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(spec, NAME, NAME),
        "spec": {
            "type": "ClusterIP",
            "clusterIP": "None",
            "selector": selector(spec, NAME),
            "ports": [{"name": "health", "port": HEALTH_PORT, "protocol": "TCP", "targetPort": "health"}],
        },
    }


def _key_env(pool: Mapping[str, Any]) -> Object:
    """The variable that names the pod's key. No shell puts it in: kubelet does."""
    if pool_mode(pool) == DAEMON_SET:
        return {"name": "FLOWER_NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
    path = "metadata.labels['apps.kubernetes.io/pod-index']"
    return {"name": "FLOWER_INDEX", "valueFrom": {"fieldRef": {"fieldPath": path}}}


def workload(spec: Spec, pool: Mapping[str, Any]) -> Object:
    """The StatefulSet or DaemonSet of a pool, see C(effective_pool)."""
    process = pool["isolation"] == "process"
    computes = not parted(spec)
    insecure = boolean(spec.get("insecure"))
    daemon = pool_mode(pool) == DAEMON_SET
    name = workload_name(pool["name"])
    notes = dict(pool.get("pod_annotations") or {})
    if not insecure and spec.get("key_source") == SITE:
        # All keys change with their source, and a SuperNode reads its key when it starts.
        notes[KEY_SOURCE] = SITE

    volumes: list[Object] = []
    init_containers: list[Object] = []
    if not insecure:
        volumes.append(config_volume("trust", TRUST))
        volumes.append(secret_volume("keys", keys_secret(pool["name"]), optional=daemon))
        if daemon:
            init_containers.append(_wait_key(spec, pool))
    volumes += sidecar.volumes(spec)
    if process:
        volumes.append(superexec.secret())
    volumes += superexec.compute_volumes(pool) if computes else [scratch_volume("tmp")]

    containers = [_supernode(spec, pool)]
    if process and computes:
        loopback = ["--runtime-api-address", f"127.0.0.1:{NODE_RUNTIME_PORT}", "--insecure"]
        containers.append(superexec.container(spec, pool, loopback))
    pod = pod_spec(
        spec,
        pool,
        service_account_name=NAME,
        init_containers=init_containers + sidecar.init_containers(spec),
        containers=containers,
        volumes=volumes,
        runtime_class=gpu.runtime_class(pool.get("gpu")) if computes else None,
        grace=integer(pool.get("termination_grace_period")) or GRACE_SECONDS,
    )
    template = pod_template(
        spec,
        NAME,
        pod,
        pool=pool["name"],
        pod_labels=pool.get("pod_labels"),
        pod_annotations=notes,
    )
    built: Object = {
        "apiVersion": "apps/v1",
        "kind": DAEMON_SET if daemon else STATEFUL_SET,
        "metadata": metadata(spec, name, NAME, pool=pool["name"]),
    }
    chosen = {"matchLabels": selector(spec, NAME, pool=pool["name"])}
    if daemon:
        # A key admits one session: the old pod goes before the new one comes.
        built["spec"] = {
            "selector": chosen,
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
            "template": template,
        }
    else:
        built["spec"] = {
            "replicas": pool_replicas(pool),
            "serviceName": NAME,
            "podManagementPolicy": "Parallel",
            "ordinals": {"start": first_ordinal(spec, pool)},
            "selector": chosen,
            "updateStrategy": {"type": "RollingUpdate"},
            "template": template,
        }
    return built


def _wait_key(spec: Spec, pool: Mapping[str, Any]) -> Object:
    env = [_key_env(pool), {"name": "FLOWER_KEYS", "value": keys_secret(pool["name"])}]
    return compact(
        {
            "name": "wait-key",
            "image": image(spec, "supernode", pool.get("image")),
            "imagePullPolicy": spec.get("image_pull_policy"),
            "command": ["python", "-c", _WAIT_KEY],
            "env": env,
            "resources": resources(pool.get("resources")),
            "securityContext": container_security_context(),
            "volumeMounts": [mount("keys", "/keys")],
        }
    )


def _supernode(spec: Spec, pool: Mapping[str, Any]) -> Object:
    process = pool["isolation"] == "process"
    expanded = expansion(spec, pool)
    key_env = _key_env(pool)
    mounts: list[Object] = []

    if boolean(spec.get("insecure")):
        args = ["--superlink", text(spec["superlink_address"]), "--insecure"]
    else:
        if sidecar.enabled(spec):
            args = ["--superlink", f"localhost:{SIDECAR_PORT}", "--root-certificates", "/local-ca/ca.crt"]
            mounts.append(mount("local-ca", "/local-ca"))
        else:
            args = ["--superlink", text(spec["superlink_address"]), "--root-certificates", "/trust/ca.crt"]
            mounts.append(mount("trust", "/trust"))
        args += ["--auth-supernode-private-key", f"/keys/$({key_env['name']})"]
        mounts.append(mount("keys", "/keys"))
    if expanded.argument:
        args.append(f"--node-config={expanded.argument}")  # one argument: a key may begin with a dash
    args += ["--isolation", pool["isolation"]]
    args += ["--host", "127.0.0.1", "--port", str(NODE_RUNTIME_PORT)]
    if process:
        args += ["--superexec-auth-secret-file", "/superexec/secret"]
        mounts.append(mount("superexec", "/superexec"))
    elif boolean(pool.get("runtime_dependency_installation")):
        args.append("--allow-runtime-dependency-installation")
    args += ["--health-server-address", f"0.0.0.0:{HEALTH_PORT}"]
    args += [text(arg) for arg in pool.get("extra_args") or []]
    if not process:
        mounts += superexec.compute_mounts(pool)
    wanted = pool.get("resources")
    return compact(
        {
            "name": NAME,
            "image": image(spec, "supernode", pool.get("image")),
            "imagePullPolicy": spec.get("image_pull_policy"),
            "args": args,
            # Variables that arguments refer to come first; the user's can't replace them (the validator says so).
            "env": merge_env([key_env], expanded.env, flower_env(spec, "/tmp"), pool.get("env")),
            "ports": [{"name": "health", "containerPort": HEALTH_PORT}],
            "resources": resources(wanted) if process else gpu.with_devices(wanted, pool.get("gpu")),
            "securityContext": container_security_context(),
            **grpc_probes(HEALTH_PORT, failures=3),
            "volumeMounts": mounts,
        }
    )
