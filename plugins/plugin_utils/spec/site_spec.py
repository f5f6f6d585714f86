# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A site: its pools of SuperNodes, the proxy through which it reaches the hub, and its settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any

from ..base.names import CLIENTAPPS, WORKLOAD
from ..base.values import text
from .part_spec import (
    NOTHING,
    PROCESS,
    Amounts,
    Flag,
    FlowerSpec,
    Listed,
    Mapped,
    MaybeNumber,
    Number,
    Parsed,
    Text,
    Texts,
    Unordered,
    UnorderedTexts,
    merge_env,
    parsed,
)
from .pods_spec import NO_GPU, PodsSpec, merge_datasets

USERNAME, PASSWORD = "username", "password"

STATEFUL_SET = "StatefulSet"
DAEMON_SET = "DaemonSet"
MODES = (STATEFUL_SET, DAEMON_SET)
SPREADS = ("none", "soft", "hard")
#: Entries that a site's C(node_config) adds for a StatefulSet.
NUMBERS = {"partition-id": "{partition}", "num-partitions": "{partitions}"}


@dataclass(frozen=True)
class Proxy(Parsed):
    """The proxy; none if C(address) is empty.

    Attributes:
        address: its host and port.
        secret: existing Secret with the credentials, in the entries C(username_key) and C(password_key).
        cidrs: networks of its address, for policies.
    """

    address: Text = ""
    secret: Text = ""
    username_key: Text = USERNAME
    password_key: Text = PASSWORD
    cidrs: Texts = field(default_factory=list)


@dataclass(frozen=True)
class PoolSpec(PodsSpec):
    """A pool, with the site's settings filled in.

    C(image), C(resources) and C(extra_args) are those of the SuperNode; C(env) goes to SuperNode and SuperExec. The container that
    computes is the SuperExec with process isolation, else the SuperNode.

    Attributes:
        replicas: SuperNodes of a StatefulSet; 0 for a DaemonSet.
        spread: whether SuperNodes avoid each other's nodes, one of C(SPREADS).
        max_unavailable: how many are replaced at once, a number or a percentage; empty for one.
    """

    name: Text = ""
    mode: Text = STATEFUL_SET
    replicas: Number = 1
    node_config: Mapped = field(default_factory=dict)
    isolation: Text = PROCESS
    superexec_image: Text = ""
    superexec_resources: Amounts = field(default_factory=dict)
    superexec_extra_args: Texts = field(default_factory=list)
    superexec_lifecycle: Mapped = field(default_factory=dict)
    spread: Text = "none"
    max_unavailable: Text = ""
    termination_grace_period: Number = 15  # a SuperNode takes leave in less than 6 s; killed, it is refused for 60 s

    @property
    def is_daemon(self) -> bool:
        """Whether it is a DaemonSet, with one pod for each node."""
        return self.mode == DAEMON_SET

    @property
    def is_process(self) -> bool:
        """Whether a SuperExec computes."""
        return self.isolation == PROCESS

    @property
    def superexec(self) -> PodsSpec:
        """Settings of its SuperExecs."""
        image, resources, extra_args = self.superexec_image, self.superexec_resources, self.superexec_extra_args
        return replace(self, image=image, resources=resources, extra_args=extra_args, lifecycle=self.superexec_lifecycle)

    @property
    def uses_partition(self) -> bool:
        """Whether it counts across the fleet."""
        return uses_placeholder(self.node_config, "{partition}")

    @property
    def has_range(self) -> bool:
        """Whether the ledger allocates partition numbers to its SuperNodes."""
        return self.uses_partition and not self.is_daemon

    @property
    def least_pods(self) -> int:
        """Number of its pods; 2 for a DaemonSet, which has one on each node."""
        return 2 if self.is_daemon else self.replicas

    @property
    def needs_others_count(self) -> bool:
        """Whether it wants to know how many partitions the fleet has, and adds none: others, or a fixed number, say it."""
        counts = uses_placeholder(self.node_config, "{partitions}") and not self.uses_partition
        return counts and not self.is_daemon and self.replicas > 0


OWN = ("name", "mode")
# Settings of a site that a pool may have for itself.
SHARED = tuple(one.name for one in fields(PoolSpec) if one.name not in OWN)


def uses_placeholder(node_config: Mapping[str, Any] | None, placeholder: str) -> bool:
    """Whether any value holds a placeholder, given as C({NAME}). Never raises: what was given is checked elsewhere."""
    given = node_config.values() if isinstance(node_config, Mapping) else ()
    strings = (value.get("string") if isinstance(value, Mapping) else value for value in given)
    return any(isinstance(one, str) and placeholder in one for one in strings)


def merge_node_config(site: Mapping[str, Any] | None, pool: Mapping[str, Any] | None, mode: str) -> dict[str, Any]:
    """The entries of a site and of a pool, and, if the site has any, C(NUMBERS), unless the pool counts for itself. A null removes an entry."""
    merged = {**(site or {}), **(pool or {})}
    if site and mode == STATEFUL_SET and not any(uses_placeholder(merged, word) for word in ("{index}", "{replicas}")):
        merged = {**NUMBERS, **merged}
    removable = {*NUMBERS, *(key for key, value in site.items() if value is not None)} if site else ()
    return {key: value for key, value in merged.items() if value is not None or key not in removable}  # a null that removes nothing is a fault


def pool_of(site: Mapping[str, Any], pool: Mapping[str, Any]) -> PoolSpec:
    """A pool out of variables without faults: env, datasets, node config, labels and annotations are merged with the site's, all else replaces it.

    Args:
        site: variables of its site.
        pool: its own variables.
    """
    merged = {key: site.get(key) for key in SHARED}
    merged.update({key: value for key, value in pool.items() if value is not None})
    mode = text(merged.get("mode")) or STATEFUL_SET
    if mode == DAEMON_SET:
        merged["replicas"] = 0
    merged["node_config"] = merge_node_config(site.get("node_config"), pool.get("node_config"), mode)
    merged["env"] = merge_env(site.get("env") or [], pool.get("env") or [])
    merged["datasets"] = merge_datasets(site.get("datasets"), pool.get("datasets"))
    for key in ("pod_labels", "pod_annotations"):
        merged[key] = {**(site.get(key) or {}), **(pool.get(key) or {})}
    return PoolSpec.parse(merged)


@dataclass(frozen=True)
class SiteSpec(FlowerSpec):
    """A site.

    Attributes:
        egress: peers that the pods may call in which ClientApps run; C(api_server): peers where the cluster's API server is.
        allocation: pool -> C(offset) and C(partitions) from the ledger, for pools that use {partition} or {partitions}.
        keys_account: whether its administrators created the account of the job that creates them.
        http_proxy: HTTP proxy through which the hub is reached, and C(http_proxy_credentials) the names of the credentials for it that are in
            variables.
        bundle_directory: folder on the control node for bundles.
    """

    pods: PodsSpec = field(default_factory=PodsSpec)
    pools: list[PoolSpec] = field(default_factory=list)
    disruption_budget: MaybeNumber = None
    sidecar: Flag = True
    sidecar_image: Text = ""
    sidecar_resources: Amounts = field(default_factory=dict)
    sidecar_max_connections: Number = 200
    sidecar_access_log: Flag = False
    mtls: Flag = True
    client_certificate: Text = ""
    http_proxy: Annotated[Proxy, parsed(Proxy)] = Proxy()
    http_proxy_credentials: Texts = field(default_factory=list)
    tunnel_image: Text = ""
    tunnel_resources: Amounts = field(default_factory=dict)
    cluster_domain: Text = ""
    superlink_cidrs: UnorderedTexts = field(default_factory=list)
    egress: Unordered = field(default_factory=list)
    api_server: Unordered = field(default_factory=list)
    allocation: Mapped = field(default_factory=dict)
    keys_account: Flag = False
    delivery: Text = ""
    hub_namespace: Text = ""
    clientapp: Text = CLIENTAPPS[0]
    clientapp_wait: Number = 0
    clientapp_force: Flag = False
    clientapp_pace: Text = ""
    clientapp_rollout: Mapped = field(default_factory=dict)
    clientapp_predicates: Listed = field(default_factory=list)
    clientapp_cluster_sets: Texts = field(default_factory=list)
    ocm_addon: Text = ""
    ocm_cluster: Text = ""
    ocm_install: Text = ""
    bundle_directory: Text = ""
    location: Text = ""

    @classmethod
    def parse(cls, given: Mapping[str, Any], **more: Any) -> SiteSpec:
        """See C(Parsed). Its rules are in checks/site_rules.py."""
        pools = [pool_of(given, pool) for pool in given.get("pools") or []]
        return super().parse(given, pods=PodsSpec.parse(given, gpu=NO_GPU), pools=pools, **more)

    @property
    def has_sidecar(self) -> bool:
        """Whether pods get a sidecar. Without TLS there is nothing it could verify."""
        return self.sidecar and not self.insecure

    @property
    def shows_certificate(self) -> bool:
        """Whether the sidecar presents a client certificate to the gateway."""
        return self.has_sidecar and self.mtls

    @property
    def has_proxy(self) -> bool:
        """Whether the sidecar reaches the hub through an HTTP proxy."""
        return self.has_sidecar and bool(self.http_proxy.address)

    @property
    def has_separate_clientapps(self) -> bool:
        """Whether ClientApps run in their own workload beside the SuperNodes."""
        return self.clientapp == WORKLOAD

    @property
    def needs_nodes(self) -> bool:
        """Whether the cluster's nodes must be known: a DaemonSet pool has a key for each."""
        return any(pool.is_daemon for pool in self.pools)

    def complete(self) -> SiteSpec:
        """See C(FlowerSpec)."""
        allocation = {pool.name: {"offset": 0, "partitions": max(1, pool.replicas)} for pool in self.pools}
        certificate = self.client_certificate or NOTHING
        return replace(super().complete(), client_certificate=certificate, allocation={**allocation, **self.allocation})
