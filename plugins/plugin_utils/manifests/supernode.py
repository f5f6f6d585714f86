# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A site: one workload per pool, SuperNode and ClientApp SuperExec in one pod, one key per pod.

A key admits one session, so pods are replaced and never doubled. With C(clientapp: workload) the SuperExecs are in pods of
their own, see clientapp.py; what belongs to the site and not to a version of the app (account, policy, Services) is here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...module_utils import node_config
from ..base.labels import POOL_LABEL, own_pods, selector
from ..base.names import CLIENTAPP, KEY_SOURCE, SITE, keys_secret
from ..base.object_names import (
    HEALTH_PORT,
    NODE_LISTENER_PORT,
    NODE_RUNTIME_PORT,
    SIDECAR_PORT,
    SUPERNODE,
    TRUST_CONFIG,
)
from ..base.values import Object, compact
from ..spec.part_spec import merge_env
from ..spec.site_spec import PoolSpec, SiteSpec
from . import clientapp, common_objects, datasets, network_policies, patches, sidecar, superexec
from .common_objects import api_object, config_map, disruption_budget, service, service_account
from .pod import (
    AppParts,
    config_volume,
    container_security_context,
    flower_env,
    grpc_probes,
    image,
    mount,
    past_proxy,
    pod_template,
    scratch_volume,
    secret_volume,
)

NAME = SUPERNODE
TRUST = TRUST_CONFIG

# Waits for the key of this node: a node joins a DaemonSet before its key is created.
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


def first_ordinal(spec: SiteSpec, pool: PoolSpec) -> int:
    """Index of a pool's first pod: the site's offset if the pool counts across the fleet, else 0."""
    if not pool.uses_partition:
        return 0
    allocation = spec.allocation.get(pool.name)
    if allocation is None:
        raise ValueError(f"pool {pool.name!r} uses {{partition}}, but the ledger has allotted no partitions to it")
    return int(allocation["offset"])


def numbers(sets: Iterable[Object]) -> dict[str, tuple[int, int]]:
    """Pool -> index of the first pod and number of pods, of StatefulSets that exist."""
    found = {}
    for item in sets:
        wanted = item["spec"]
        if wanted.get("replicas"):
            start = (wanted.get("ordinals") or {}).get("start") or 0
            # The selector cannot be changed, and the label of the StatefulSet itself can be removed.
            found[wanted["selector"]["matchLabels"][POOL_LABEL]] = (start, wanted["replicas"])
    return found


def expansion(spec: SiteSpec, pool: PoolSpec, *, preview: bool = False) -> Any:
    """The pool's node config from C(node_config.expand).

    Args:
        preview: whether to show what each replica gets.

    Raises:
        node_config.NodeConfigError: the node config is wrong; C(faults) has the reasons.
    """
    known: dict[str, Any] = {key: getattr(spec, key) for key in ("cluster", "region", "namespace", "federation")}
    known |= {"mode": pool.mode, "pool": pool.name, "replicas": None if pool.is_daemon else pool.replicas, "datasets": datasets.paths(pool) or None}
    allocation = spec.allocation.get(pool.name) or {}
    # Also where they are not used: to find a typing error in {partition}.
    known_numbers = not pool.is_daemon and bool(allocation.get("partitions"))
    if pool.uses_partition or known_numbers:
        known |= {"first_partition": first_ordinal(spec, pool), "partitions": int(allocation["partitions"])}
    return node_config.expand(pool.node_config, **known, preview=preview)


def objects(spec: SiteSpec) -> list[Object]:
    """All objects of a site, in the order in which they can be applied."""
    health = {"name": "health", "port": HEALTH_PORT, "protocol": "TCP", "targetPort": "health"}
    rendered = [
        *common_objects.namespace_objects(spec),
        *network_policies.supernode_policies(spec),
        service_account(spec, NAME),
        *([] if spec.insecure else [config_map(spec, TRUST, NAME, {"ca.crt": spec.ca_bundle}, "trust")]),
        *sidecar.config_objects(spec),
        # It gives StatefulSet pods their names. Sites do not call it.
        service(spec, NAME, NAME, {"type": "ClusterIP", "clusterIP": "None", "selector": own_pods(spec.federation, NAME), "ports": [health]}),
        *([service_account(spec, CLIENTAPP)] if spec.has_separate_clientapps else []),
        *datasets.objects(spec),
    ]
    for pool in _by_name(spec):
        rendered += _pool_objects(spec, pool)
    return patches.apply(rendered, spec.patches)


def clientapps(spec: SiteSpec) -> list[Object]:
    """Only their ClientApps, which need nothing from the hub or the ledger."""
    if not spec.has_separate_clientapps:
        return []
    return patches.apply([clientapp.workload(spec, pool) for pool in _by_name(spec)], spec.patches, partial=True)


def _by_name(spec: SiteSpec) -> list[PoolSpec]:
    return sorted(spec.pools, key=lambda pool: pool.name)


def _pool_objects(spec: SiteSpec, pool: PoolSpec) -> list[Object]:
    """A pool's workloads and what goes with them."""
    rendered: list[Object] = []
    names = [NAME, CLIENTAPP] if spec.has_separate_clientapps else [NAME]
    # A Service for the listener of each replica, numbered from 0 in every site, with any numbers of its pods: so the ClientApps of all sites are
    # the same. A pod that is not ready, or is about to go, is reached all the same: its ClientApp may still have a result to send.
    for number in range(pool.replicas if spec.has_separate_clientapps else 0):
        pod = f"{workload_name(pool.name)}-{first_ordinal(spec, pool) + number}"
        body = {
            "type": "ClusterIP",
            "publishNotReadyAddresses": True,
            "selector": {**selector(spec.federation, NAME, pool=pool.name), clientapp.POD_NAME: pod},
            "ports": [{"name": "runtime", "port": NODE_LISTENER_PORT, "protocol": "TCP", "targetPort": "runtime"}],
        }
        rendered.append(service(spec, clientapp.listener_service(pool.name, number), NAME, body, pool=pool.name))
    rendered.append(workload(spec, pool))
    if spec.has_separate_clientapps:
        rendered.append(clientapp.workload(spec, pool))
    budget = spec.disruption_budget
    if budget is not None and pool.replicas > 1:
        rendered += [disruption_budget(spec, f"{name}-{pool.name}", name, budget, pool=pool.name) for name in names]
    return rendered


def _key_env(pool: PoolSpec) -> Object:
    """The variable that names the pod's key. No shell puts it in: kubelet does."""
    if pool.is_daemon:
        return {"name": "FLOWER_NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
    path = "metadata.labels['apps.kubernetes.io/pod-index']"
    return {"name": "FLOWER_INDEX", "valueFrom": {"fieldRef": {"fieldPath": path}}}


def workload(spec: SiteSpec, pool: PoolSpec) -> Object:
    """The StatefulSet or DaemonSet of a pool."""
    computes = not spec.has_separate_clientapps
    # All keys change with their source, and a SuperNode reads its key when it starts.
    notes = {KEY_SOURCE: SITE} if spec.makes_keys and not spec.insecure else {}

    volumes: list[Object] = []
    init_containers: list[Object] = []
    if not spec.insecure:
        volumes.append(config_volume("trust", TRUST))
        volumes.append(secret_volume("keys", keys_secret(pool.name), optional=pool.is_daemon))
        if pool.is_daemon:
            wait = {
                "name": "wait-key",
                "image": image(spec, "supernode", pool.image),
                "imagePullPolicy": spec.image_pull_policy,
                "command": ["python", "-c", _WAIT_KEY],
                "env": [_key_env(pool), {"name": "FLOWER_KEYS", "value": keys_secret(pool.name)}],
                "resources": pool.resources,
                "securityContext": container_security_context(),
                "volumeMounts": [mount("keys", "/keys")],
            }
            init_containers.append(compact(wait))
    sidecars, sidecar_volumes = sidecar.pod_parts(spec)
    volumes += sidecar_volumes
    if pool.is_process:
        volumes.append(superexec.secret())
    volumes += superexec.compute_parts(pool).volumes if computes else [scratch_volume("tmp")]

    containers = [_supernode(spec, pool)]
    if pool.is_process and computes:
        loopback = ["--runtime-api-address", f"127.0.0.1:{NODE_RUNTIME_PORT}", "--insecure"]
        containers.append(superexec.container(spec, pool.superexec, loopback))
    template = pod_template(
        spec,
        NAME,
        pool if computes else clientapp.supernode_part(pool, volumes),
        init_containers=init_containers + sidecars,
        containers=containers,
        volumes=volumes,
        runtime_class=pool.gpu.runtime_class if computes else "",
        grace=pool.termination_grace_period,
        pool=pool.name,
        notes=notes,
        affinity=_spread_out(spec, pool),
    )
    chosen = {"matchLabels": selector(spec.federation, NAME, pool=pool.name)}
    at_once: int | str = int(pool.max_unavailable) if pool.max_unavailable.isdecimal() else pool.max_unavailable
    if pool.is_daemon:
        # A key admits one session: the old pod goes before the new one comes.
        strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": at_once or 1}}
        body: Object = {"selector": chosen, "updateStrategy": strategy, "template": template}
    else:
        body = {
            "replicas": pool.replicas,
            "serviceName": NAME,
            "podManagementPolicy": "Parallel",
            "ordinals": {"start": first_ordinal(spec, pool)},
            "selector": chosen,
            "updateStrategy": {"type": "RollingUpdate", **({"rollingUpdate": {"maxUnavailable": at_once}} if at_once else {})},
            "template": template,
        }
    return api_object(spec, f"apps/v1/{pool.mode}", workload_name(pool.name), NAME, {"spec": body}, pool=pool.name)


def _spread_out(spec: SiteSpec, pool: PoolSpec) -> Object:
    """The affinity of a pool's pods, in which SuperNodes avoid each other's nodes if they are to."""
    if pool.spread == "none":
        return pool.affinity
    term = {"labelSelector": {"matchLabels": selector(spec.federation, NAME)}, "topologyKey": "kubernetes.io/hostname"}
    kind = "requiredDuringSchedulingIgnoredDuringExecution"
    rule: Object = term
    if pool.spread == "soft":
        kind, rule = "preferredDuringSchedulingIgnoredDuringExecution", {"weight": 100, "podAffinityTerm": term}
    against = pool.affinity.get("podAntiAffinity") or {}
    return {**pool.affinity, "podAntiAffinity": {**against, kind: [*(against.get(kind) or []), rule]}}


def _supernode(spec: SiteSpec, pool: PoolSpec) -> Object:
    expanded = expansion(spec, pool)
    key_env = _key_env(pool)
    mounts: list[Object] = []

    if spec.insecure:
        args = ["--superlink", spec.superlink_address, "--insecure"]
    else:
        if spec.has_sidecar:
            args = ["--superlink", f"localhost:{SIDECAR_PORT}", "--root-certificates", "/local-ca/ca.crt"]
            mounts.append(mount("local-ca", "/local-ca"))
        else:
            args = ["--superlink", spec.superlink_address, "--root-certificates", "/trust/ca.crt"]
            mounts.append(mount("trust", "/trust"))
        args += ["--auth-supernode-private-key", f"/keys/$({key_env['name']})"]
        mounts.append(mount("keys", "/keys"))
    if expanded.argument:
        args.append(f"--node-config={expanded.argument}")  # one argument: a key may start with a dash
    args += ["--isolation", pool.isolation]
    args += ["--host", "127.0.0.1", "--port", str(NODE_RUNTIME_PORT)]
    if pool.is_process:
        args += ["--superexec-auth-secret-file", "/superexec/secret"]
        mounts.append(mount("superexec", "/superexec"))
    elif pool.runtime_dependency_installation:
        args.append("--allow-runtime-dependency-installation")
    args += ["--health-server-address", f"0.0.0.0:{HEALTH_PORT}"]
    args += pool.extra_args
    parts = AppParts() if pool.is_process else superexec.compute_parts(pool)
    mounts += parts.mounts
    # The sidecar, and itself for the ClientApps that it starts.
    peers = [*(["https://localhost"] if spec.has_sidecar else []), *([] if pool.is_process else ["http://127.0.0.1"])]
    # Variables that arguments refer to come first; the user's can't replace them (the validator reports it).
    env = merge_env([key_env], expanded.env, flower_env(spec, "/tmp"), parts.env, pool.env)
    return compact(
        {
            "name": NAME,
            "image": image(spec, "supernode", pool.image),
            "imagePullPolicy": spec.image_pull_policy,
            "args": args,
            "lifecycle": pool.lifecycle,
            "env": past_proxy(env, *peers),
            "ports": [{"name": "health", "containerPort": HEALTH_PORT}],
            "resources": pool.resources if pool.is_process else pool.gpu.added_to(pool.resources),
            "securityContext": container_security_context(),
            **grpc_probes(HEALTH_PORT, failures=3),
            "volumeMounts": mounts,
        }
    )
