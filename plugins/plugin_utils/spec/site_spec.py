# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A site: its SuperNodes, and the way to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..base.names import CLIENTAPPS, WORKLOAD
from .fields import Amounts, Flag, Listed, Mapped, MaybeNumber, Number, Text, Texts, Unordered, UnorderedTexts
from .part_spec import NOTHING, FlowerSpec
from .pods_spec import PodsSpec
from .pool_spec import PoolSpec, pool_of
from .proxy_spec import HttpProxy, Proxy


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
    http_proxy: HttpProxy = field(default_factory=Proxy)
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

    @classmethod
    def parse(cls, given: Mapping[str, Any], **more: Any) -> SiteSpec:
        """See C(Parsed). Faults of variables are in validate/site_rules.py."""
        pools = [pool_of(given, pool) for pool in given.get("pools") or []]
        return super().parse(given, pods=PodsSpec.parse(given), pools=pools, **more)

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
    def has_apps_apart(self) -> bool:
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
