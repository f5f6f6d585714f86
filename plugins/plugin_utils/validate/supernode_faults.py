# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of a supernode spec (see spec/site_spec.py for its shape)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...module_utils import node_config
from ..base.addresses import SUBDOMAIN
from ..base.platforms import settled
from ..base.values import boolean, text
from ..manifests import supernode as manifests
from ..spec.pool_spec import DAEMON_SET, MODES, OWN, SHARED, SPREADS, STATEFUL_SET, pool_of
from ..spec.site_spec import SiteSpec
from . import dataset_faults, program_options
from .bundle_faults import bundle_faults
from .clientapp_faults import clientapp_faults
from .faults import ISOLATIONS, MAX_SECONDS, Faults, Spec, common_faults, patch_faults, placement_faults, shown
from .ocm_faults import delivery_faults
from .own_volumes import SITE_PATHS, SITE_VOLUMES
from .policy_faults import peer_faults, policy_faults
from .proxy_faults import proxy_faults

# A StatefulSet's pods carry the label controller-revision-hash with "<StatefulSet>-<hash of up to 10 characters>", and
# a pod's name, "<StatefulSet>-<index>", is its host name: both end at 63 characters.
MAX_POOL_NAME = 63 - len("-") - 10 - len(manifests.workload_name(""))

# The name of a site is the value of a label, part of the names of ConfigMaps and the name in its client certificate.
MAX_SITE_NAME = 63
# The record of a site is one ConfigMap of at most 1 MiB: 0.4 KiB a key, and twice as many keys while they are renewed.
MAX_SUPERNODES = node_config.MAX_REPLICAS

POOL_KEYS = (*OWN, *SHARED)
_AT_ONCE = re.compile(r"[1-9][0-9]{0,3}|([1-9][0-9]?|100)%")
_FIXED = "each SuperNode has a registered key and a number, so their count is fixed; set replicas"


def supernode_faults(spec: Spec) -> list[str]:
    """All faults of the spec, each a sentence; an empty list if there is none.

    Address and CA of the hub and the ledger's allocation may still be missing: they are found after validation.
    """
    spec = settled(spec)
    faults = Faults(spec, "supernode_")
    _site_name_fault(spec, faults)
    common_faults(spec, faults)
    policy_faults(spec, faults)
    if spec.get("connectivity") == "skupper" and spec.get("superlink_cidrs"):
        faults.add(
            "superlink_cidrs", spec["superlink_cidrs"], "has no effect: SuperNodes call their site's Skupper router"
        )
    if spec.get("cluster_domain"):
        faults.subdomain("cluster_domain", spec["cluster_domain"])
    faults.networks("superlink_cidrs", spec.get("superlink_cidrs"))
    peer_faults("egress", spec.get("egress"), faults)
    peer_faults("api_server", spec.get("api_server"), faults)
    faults.resources("sidecar_resources", spec.get("sidecar_resources"))
    faults.number("wait_timeout", spec.get("wait_timeout"), 1, MAX_SECONDS)
    faults.number("partitions", spec.get("partitions"), 0)
    faults.number("sidecar_max_connections", spec.get("sidecar_max_connections"), 10, 100000)
    _mtls_faults(spec, faults)
    proxy_faults(spec, faults)
    delivery_faults(spec, faults)
    bundle_faults(spec, faults)
    clientapp_faults(spec, faults)
    if spec.get("disruption_budget") is not None:
        faults.number("disruption_budget", spec["disruption_budget"], 0)
    _workload_faults(spec, spec, faults, "")

    pools = spec.get("pools")
    if faults.sequence("pools", pools):
        if not pools:
            faults.add("pools", pools, "is empty; a site needs at least one SuperNode")
        seen: dict[str, int] = {}
        for number, pool in enumerate(pools or []):
            at = f"pools[{number}]"
            if not isinstance(pool, Mapping):
                faults.add(at, pool, "is not a mapping")
                continue
            _pool_faults(spec, pool, faults, f"{at}.")
            name = text(pool.get("name"))
            if name in seen:
                faults.add(f"{at}.name", name, f"is the name of pools[{seen[name]}], too")
            seen.setdefault(name, number)
        _total_fault(pools or [], faults)
        dataset_faults.dataset_faults(spec, faults)

    patch_faults(spec, faults, lambda: manifests.objects(SiteSpec.parse(spec).complete()))
    return faults.found


def _site_name_fault(spec: Spec, faults: Faults) -> None:
    """Objects of the hub are named and labelled by the site, so its inventory name must be valid in Kubernetes."""
    name = text(spec.get("cluster"))
    if len(name) > MAX_SITE_NAME:
        faults.sentence(
            f"{shown(name)}: the name of this host has {len(name)} characters; it names and labels objects of the hub, which accepts at "
            f"most {MAX_SITE_NAME}. Rename the host in the inventory"
        )
    elif not SUBDOMAIN.fullmatch(name):
        faults.sentence(
            f"{shown(name)}: the name of this host cannot be part of the names of Kubernetes objects: lower case letters, digits, - "
            "and ., with a letter or digit at both ends. Rename the host in the inventory"
        )


def _mtls_faults(spec: Spec, faults: Faults) -> None:
    if not boolean(spec.get("mtls", True)):
        return
    if boolean(spec.get("insecure")):
        faults.add("mtls", spec.get("mtls"), "has no meaning without TLS: insecure is true; set it to false")
    elif not boolean(spec.get("sidecar", True)):
        faults.add(
            "mtls",
            spec.get("mtls"),
            "needs the sidecar, which shows the client certificate: set supernode_sidecar to true, or this to false and "
            "superlink_client_certificates to optional",
        )


def _total_fault(pools: list[Any], faults: Faults) -> None:
    if faults.found:
        return
    total = sum(pool_of({}, pool).replicas for pool in pools)
    if total > MAX_SUPERNODES:
        faults.sentence(
            f"{faults.prefix}pools: the pools have {total} replicas together; a site has at most {MAX_SUPERNODES} SuperNodes. Make more "
            "than one site of it"
        )


def render_faults(spec: SiteSpec) -> list[str]:
    """What must be known to render a site, and is not, or cannot be used: values of the hub and its ledger."""
    faults = Faults({"cluster": spec.cluster}, "supernode_")
    faults.address("superlink_address", spec.superlink_address)
    faults.certificates("ca_bundle", spec.ca_bundle)
    if not spec.superlink_address:
        faults.add("superlink_address", "", "is not known: the hub publishes none yet, and none is given")
    if not spec.ca_bundle and not spec.insecure:
        faults.add("ca_bundle", "", "is not known: the hub publishes none yet, and none is given")
    if not spec.client_certificate and spec.shows_certificate:
        faults.add("mtls", spec.mtls, "needs a client certificate, and the hub has issued none yet")
    for number, pool in enumerate(spec.pools):
        if pool.uses_partition and not spec.allocation.get(pool.name):
            faults.add(f"pools[{number}].name", pool.name, "uses {partition}, but the ledger allots nothing to it")
    return faults.found


def _pool_faults(spec: Spec, pool: Mapping[str, Any], faults: Faults, at: str) -> None:
    for key in pool:
        if key not in POOL_KEYS:
            faults.add(f"{at}{key}", pool[key], f"is not possible: {_FIXED}" if key == "autoscaling" else "is not a pool option")
    faults.label(f"{at}name", pool.get("name"), MAX_POOL_NAME)
    mode = text(pool.get("mode") or STATEFUL_SET)
    good = faults.choice(f"{at}mode", mode, MODES)
    if mode == DAEMON_SET:
        if pool.get("replicas") is not None:
            faults.add(f"{at}replicas", pool["replicas"], "has no meaning for a DaemonSet, which has one pod per node")
    else:
        good = faults.number(f"{at}replicas", pool.get("replicas"), 0, MAX_SUPERNODES) and good
    effective = {key: spec.get(key) for key in SHARED}
    effective.update({key: value for key, value in pool.items() if value is not None})
    for key in ("image", "superexec_image"):
        faults.image(f"{at}{key}", pool.get(key))
    if pool.get("isolation"):
        faults.choice(f"{at}isolation", pool["isolation"], ISOLATIONS)
    process = effective.get("isolation") == "process"
    if effective.get("isolation") == "subprocess":
        _beside_faults(pool, effective, faults, at)
    computes = effective.get("superexec_resources" if process else "resources")
    faults.gpu(f"{at}gpu", pool.get("gpu"), computes)
    _workload_faults(pool, effective, faults, at)
    if faults.mapping(f"{at}node_config", pool.get("node_config")) and good and pool.get("name"):
        _node_config_faults(spec, pool, faults)


def _beside_faults(pool: Mapping[str, Any], effective: Mapping[str, Any], faults: Faults, at: str) -> None:
    """What is for a SuperExec, where the SuperNode runs ClientApps itself."""
    own, image = pool.get("superexec_image"), effective.get("image")
    if (own and own != image) or (effective.get("superexec_image") and not image):
        faults.add(
            f"{at if own else ''}superexec_image",
            effective["superexec_image"],
            f"has no effect on pool {text(pool.get('name'))}: with subprocess isolation ClientApps run in the SuperNode's container. Set image of the "
            "pool to an image with flower-supernode and the app's packages, or isolation of the pool to process",
        )
    for key in ("superexec_resources", "superexec_extra_args", "superexec_lifecycle"):
        if pool.get(key):
            faults.add(f"{at}{key}", pool[key], f"has no effect: with subprocess isolation there is no SuperExec; use {key.removeprefix('superexec_')}")


def _node_config_faults(spec: Spec, pool: Mapping[str, Any], faults: Faults) -> None:
    site = {key: spec.get(key) for key in ("cluster", "region", "namespace", "federation", "allocation")}
    own = {key: pool.get(key) for key in ("name", "mode", "replicas", "node_config")}
    own["datasets"] = [{"name": name} for name in dataset_faults.names(spec, pool)]
    # The ledger is read after validation; any numbers do to find what is wrong with the text.
    part = SiteSpec.parse({**site, "pools": [own]}).complete()
    try:
        manifests.expansion(part, part.pools[0])
    except node_config.NodeConfigError as exc:
        for fault in exc.faults:
            faults.sentence(fault.message(pool["name"], text(spec.get("cluster"))))


def _workload_faults(keys: Mapping[str, Any], effective: Mapping[str, Any], faults: Faults, at: str) -> None:
    """Rules for keys that a site and a pool may have. C(effective) is the pool with the site's settings filled in."""
    for key in ("resources", "superexec_resources"):
        faults.resources(f"{at}{key}", keys.get(key))
    faults.env(f"{at}env", keys.get("env"))
    faults.arguments(f"{at}extra_args", keys.get("extra_args"), program_options.SUPERNODE)
    faults.arguments(f"{at}superexec_extra_args", keys.get("superexec_extra_args"), program_options.CLIENTAPP)
    if keys.get("volumes") or keys.get("volume_mounts") or keys.get("shm_size"):
        paths = SITE_PATHS | ({"/dev/shm"} if effective.get("shm_size") else set())
        volumes, mounts = effective.get("volumes"), effective.get("volume_mounts")
        faults.volumes(f"{at}volumes", volumes, f"{at}volume_mounts", mounts, SITE_VOLUMES, paths)
    if keys.get("shm_size"):
        faults.quantity(f"{at}shm_size", keys["shm_size"])
    faults.number(f"{at}termination_grace_period", keys.get("termination_grace_period"), 10, 3600)
    if keys.get("spread"):
        faults.choice(f"{at}spread", keys["spread"], SPREADS)
    at_once = keys.get("max_unavailable")
    if at_once not in (None, "") and not _AT_ONCE.fullmatch(text(at_once)):
        faults.add(f"{at}max_unavailable", at_once, 'is neither a number from 1 nor a percentage like "25%"')
    placement_faults(keys, faults, at)
