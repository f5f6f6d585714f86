# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is refused of the variables of a site and its pools: the form of each, and how they fit each other (see C(spec/site_spec.py))."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...module_utils import node_config
from ..base.addresses import SUBDOMAIN
from ..base.foreign_data import FAULTS
from ..base.names import WORKLOAD
from ..base.object_names import BUNDLE, OCM, OCM_PACE, REPLICA_SET_DIGITS, REPLICA_SET_PREFIX
from ..base.platforms import with_platform_values
from ..base.problems import Problem
from ..base.values import text
from ..manifests import clientapp
from ..manifests import supernode as manifests
from ..spec.part_spec import SKUPPER
from ..spec.pods_spec import PodsSpec
from ..spec.site_spec import DAEMON_SET, PoolSpec, SiteSpec
from . import connection_rules, ocm_rules, pod_rules, program_options
from .dataset_rules import check_datasets, dataset_problems
from .value_checks import MAX_SECONDS, Check, Problems, Rule, Spec, each, flag, given, networks, number, pattern, shown

# A StatefulSet's pods carry the label controller-revision-hash with "<StatefulSet>-<hash of up to 10 characters>", and
# a pod's name, "<StatefulSet>-<index>", is its host name: both end at 63 characters.
MAX_POOL_NAME = 63 - len("-") - 10 - len(manifests.workload_name(""))
# The name of a site is the value of a label, part of the names of ConfigMaps and the name in its client certificate.
MAX_LABEL = MAX_SITE_NAME = 63
# The record of a site is one ConfigMap of at most 1 MiB: 0.4 KiB a key, and twice as many keys while they are renewed.
MAX_SUPERNODES = node_config.MAX_REPLICAS


# flwr 1.40 to 1.42, supercore/utils.py:validate_node_location
_LOCATION = r"[+-]?(90(\.0+)?|[1-8]?[0-9](\.[0-9]+)?),[+-]?(180(\.0+)?|(1[0-7]|[1-9])?[0-9](\.[0-9]+)?)"

#: Of a site and of a pool.
_WORKLOAD: Mapping[str, Check] = {
    **pod_rules.PODS,
    "superexec_resources": pod_rules.resources,
    "termination_grace_period": number(10, 3600),
    "max_unavailable": pattern(r"([1-9][0-9]{0,3}|([1-9][0-9]?|100)%)?", 'is neither a number from 1 nor a percentage like "25%"'),
}
_SITE: Mapping[str, Check] = {
    **pod_rules.COMMON,
    **connection_rules.POLICIES,
    **_WORKLOAD,
    "cluster_domain": given(Problems.subdomain),
    "superlink_cidrs": networks,
    "egress": connection_rules.peers,
    "api_server": connection_rules.peers,
    "sidecar_resources": pod_rules.resources,
    "tunnel_resources": pod_rules.resources,
    "wait_timeout": number(1, MAX_SECONDS),
    "partitions": number(0),
    "sidecar_max_connections": number(10, 100000),
    "disruption_budget": number(0),
    "replicas": number(0, MAX_SUPERNODES),
    "gpu": lambda found, variable, value: pod_rules.gpu(found, variable, value, {}),
    "location": given(pattern(_LOCATION, 'is not a latitude and a longitude in degrees, such as "52.52,13.40"')),
}
_POOL: Mapping[str, Check] = {
    **_WORKLOAD,
    "name": lambda found, variable, value: found.label(variable, value, MAX_POOL_NAME),
    "image": Problems.image,
    "superexec_image": Problems.image,
}
#: Delivery -> checks of the variables that it needs.
_DELIVERY: Mapping[Any, Mapping[str, Check]] = {
    OCM: {"ocm_addon": ocm_rules.addon_name, "ocm_cluster": Problems.subdomain},
}


_insecure, _sidecar, _mtls = flag("insecure"), flag("sidecar", True), flag("mtls", True)


def _separate(spec: Spec) -> bool:
    """Whether ClientApps run in their own pods."""
    return spec.get("clientapp") == WORKLOAD


_RULES = (
    Rule("state", lambda spec: spec.get("state") == "absent",
         "is for your own playbooks with this role: remove the site with federated.flower.teardown, then from the inventory"),
    Rule("server_name", lambda spec: _insecure(spec) and spec.get("server_name"), "is a name in a certificate, but there is none: insecure is true"),
    Rule("superlink_cidrs", lambda spec: spec.get("connectivity") == SKUPPER and spec.get("superlink_cidrs"),
         "has no effect: SuperNodes call their site's Skupper router"),
    Rule("mtls", lambda spec: _mtls(spec) and _insecure(spec), "has no effect without TLS: insecure is true; set it to false"),
    Rule("mtls", lambda spec: _mtls(spec) and not _insecure(spec) and not _sidecar(spec),
         "needs the sidecar, which shows the client certificate: set supernode_sidecar to true, or this to false and superlink_client_certificates to "
         "optional"),
    Rule("bundle_directory", lambda spec: spec.get("delivery") == BUNDLE and not text(spec.get("bundle_directory")),
         "is not set: set flower_bundle_directory to the folder on the control node in which bundles are written"),
    Rule("insecure", lambda spec: spec.get("delivery") == BUNDLE and _insecure(spec),
         "cannot be combined with flower_delivery: bundle, whose files the CA of the hub signs"),
    Rule("clientapp", lambda spec: _separate(spec) and _insecure(spec), "needs TLS between ClientApp and SuperNode: set flower_insecure to false"),
    Rule("clientapp", lambda spec: _separate(spec) and not _insecure(spec) and not _sidecar(spec),
         "needs the sidecar, to which ClientApps connect: set supernode_sidecar to true"),
    Rule(
        "clientapp_rollout",
        lambda spec: _separate(spec) and spec.get("delivery") == OCM and spec.get("clientapp_pace") != OCM_PACE and spec.get("clientapp_rollout"),
        "has no effect with supernode_clientapp_pace: play: set supernode_clientapp_pace to ocm, or use flower_serial",
    ),
)
#: Of a pool with C(delivery), C(clientapp) of its site.
_POOL_RULES = (
    Rule("replicas", lambda pool: pool.get("mode") == DAEMON_SET and pool.get("replicas") is not None,
         "has no effect on a DaemonSet, which has one pod per node"),
    Rule("mode", lambda pool: pool.get("mode") == DAEMON_SET and pool["delivery"] == OCM,
         "needs a key for each node, and Open Cluster Management does not list the nodes of a cluster: use a StatefulSet with "
         "topology_spread_constraints, or flower_delivery: direct"),
    Rule("mode", lambda pool: pool.get("mode") == DAEMON_SET and pool["delivery"] == BUNDLE,
         "needs a key for each node, and the nodes of a bundle site are unknown: use a StatefulSet with topology_spread_constraints"),
    Rule("mode", lambda pool: pool.get("mode") == DAEMON_SET and _separate(pool),
         "cannot be combined with supernode_clientapp: workload: the node of a SuperNode is not known in advance. Use a StatefulSet, or set "
         "supernode_clientapp to pod"),
)


def site_problems(spec: Spec) -> list[Problem]:
    """All that is wrong with the variables of a site; their types are checked.

    Address and CA of the hub and the ledger's allocation may still be missing: they are found after validation.
    """
    spec = with_platform_values(spec)
    found = Problems(spec, "supernode_")
    # Objects of the hub are named and labelled by the site, so its inventory name must be valid in Kubernetes.
    name = text(spec.get("cluster"))
    if len(name) > MAX_SITE_NAME:
        found.sentence(
            f"{shown(name)}: the name of this host has {len(name)} characters; it names and labels objects of the hub, which accepts at "
            f"most {MAX_SITE_NAME}. Rename the host in the inventory"
        )
    elif not SUBDOMAIN.fullmatch(name):
        found.sentence(
            f"{shown(name)}: the name of this host cannot be part of the names of Kubernetes objects: lower case letters, digits, - "
            "and ., with a letter or digit at both ends. Rename the host in the inventory"
        )
    found.check({**_SITE, **_DELIVERY.get(spec.get("delivery"), {})}, spec)
    found.apply(_RULES, spec)
    if spec.get("delivery") in (OCM, BUNDLE) and spec.get("connectivity") == SKUPPER:
        found.sentence(
            f"{found.cluster}: flower_delivery: {spec['delivery']!r} cannot be combined with flower_connectivity: skupper: a site's part of a Skupper "
            "network is created through its own API server. Set flower_connectivity to direct, so that its SuperNodes connect to the hub, or "
            "flower_delivery to direct"
        )
    connection_rules.other_superlink(found, spec)
    connection_rules.http_proxy(found, spec)
    if _separate(spec):
        found.number("clientapp_wait", spec.get("clientapp_wait"), 0)
        if spec.get("delivery") == OCM:
            _delivered_clientapps(found, spec)
    pools: list[Spec] = spec.get("pools") or []
    if not pools:
        found.add("pools", pools, "is empty; a site needs at least one SuperNode")
    right = [_check_pool(found, spec, pool, f"pools[{index}].") for index, pool in enumerate(pools)]
    found.unique("pools", pools, "is the name of {}, too")
    has_right_datasets = check_datasets(found, spec)
    try:
        site = SiteSpec.parse(spec).complete()
    except FAULTS:
        if not found.found:
            raise
        return found.found  # the rest is checked when what was found is corrected
    _workload(found, spec, site.pods, site.version, "")
    for index, pool in enumerate(site.pools):
        _pool(found, site, pool, spec, index, right[index])
    if not found.found and (total := sum(pool.replicas for pool in site.pools)) > MAX_SUPERNODES:
        found.sentence(
            f"{found.prefix}pools: the pools have {total} replicas together; a site has at most {MAX_SUPERNODES} SuperNodes. Make more than one site of it"
        )
    if has_right_datasets:
        dataset_problems(found, pools, site.pools)
    pod_rules.patches(found, spec, lambda: manifests.objects(site))
    return found.found


def _delivered_clientapps(found: Problems, spec: Spec) -> None:
    """ClientApps in their own pods, which Open Cluster Management delivers."""
    name = f"{spec.get('hub_namespace')}.{REPLICA_SET_PREFIX}{'0' * REPLICA_SET_DIGITS}"
    if len(name) > MAX_LABEL:
        reason = f"is too long: Open Cluster Management labels ManifestWorks with it and the name of the ManifestWorkReplicaSet ({name})"
        found.add("hub_namespace", spec.get("hub_namespace"), reason)
    found.check({"clientapp_predicates": each(ocm_rules.predicate)}, spec)
    if spec.get("clientapp_pace") == OCM_PACE:
        ocm_rules.rollout(found, "clientapp_rollout", spec.get("clientapp_rollout"))


def _workload(found: Problems, own: Spec, pods: PodsSpec, version: str, at: str) -> None:
    """Rules for keys that a site and a pool may have: C(own). C(pods): the pool with the site's settings filled in."""
    for key, program in (("extra_args", program_options.SUPERNODE), ("superexec_extra_args", program_options.CLIENTAPP)):
        pod_rules.arguments(found, f"{at}{key}", own.get(key), program, version)
    if own.get("volumes") or own.get("volume_mounts") or own.get("shm_size"):
        paths = pod_rules.SITE_PATHS | ({"/dev/shm"} if pods.shm_size else set())
        pod_rules.volumes(found, {"volumes": pods.volumes, "volume_mounts": pods.volume_mounts}, at, pod_rules.SITE_VOLUMES, paths)


def _check_pool(found: Problems, spec: Spec, pool: Spec, at: str) -> bool:
    """Check the form of each variable of a pool, as it is given; returns whether all are right."""
    before = len(found.found)
    found.check(_POOL, pool, at)
    found.apply(_POOL_RULES, {**pool, **{key: spec.get(key) for key in ("delivery", "clientapp")}}, at)
    if pool.get("mode") != DAEMON_SET:
        found.number(f"{at}replicas", pool.get("replicas"), 0, MAX_SUPERNODES)
    return len(found.found) == before


def _pool(found: Problems, site: SiteSpec, pool: PoolSpec, spec: Spec, index: int, is_right: bool) -> None:
    """How the variables of a pool fit each other and those of its site. C(spec): as they are given, to name the one that is wrong."""
    own: Spec = spec["pools"][index]
    at = f"pools[{index}]."
    if not pool.is_process:  # what is for a SuperExec, where the SuperNode runs ClientApps itself
        if pool.superexec_image and (not pool.image or (own.get("superexec_image") and pool.superexec_image != pool.image)):
            found.add(
                f"{at if own.get('superexec_image') else ''}superexec_image",
                pool.superexec_image,
                f"has no effect on pool {pool.name}: with subprocess isolation ClientApps run in the SuperNode's container. Set image of the "
                "pool to an image with flower-supernode and the app's packages, or isolation of the pool to process",
            )
        for key in ("superexec_resources", "superexec_extra_args", "superexec_lifecycle"):
            if own.get(key):
                reason = f"has no effect: with subprocess isolation there is no SuperExec; use {key.removeprefix('superexec_')}"
                found.add(f"{at}{key}", own[key], reason)
    devices = own.get("gpu")
    computing = pool.superexec_resources if pool.is_process else pool.resources
    pod_rules.gpu(found, "gpu" if devices is None else f"{at}gpu", spec.get("gpu") if devices is None else devices, computing)
    _workload(found, own, pool, site.version, at)
    if is_right:
        _node_config(found, site, pool, own.get("node_config") or {}, spec.get("node_config") or {})
    if not site.has_separate_clientapps or pool.is_daemon:
        return
    if not pool.is_process:
        reason = "cannot be combined with supernode_clientapp: workload: ClientApps run in the SuperNode then. Set it to process"
        found.add(f"{at if own.get('isolation') else ''}isolation", pool.isolation, reason)
    if is_right:
        name = clientapp.listener_service(pool.name, max(pool.replicas - 1, 0))
        if len(name) > MAX_LABEL:
            reason = f"is too long: its last SuperNode's Service would have the name {name}, and {MAX_LABEL} characters are the limit"
            found.add(f"{at}name", pool.name, reason)


def _node_config(found: Problems, site: SiteSpec, pool: PoolSpec, own: Spec, common: Spec) -> None:
    """The node config of a pool, out of its own and that of its site. The ledger is read after validation; any numbers do to find what is wrong."""
    try:
        manifests.expansion(site, pool)
    except node_config.NodeConfigError as exc:
        inherited = {*map(text, common)} - {*map(text, own)}
        for fault in exc.faults:
            message = fault.message(pool.name, site.cluster)
            if fault.key in inherited:
                message = f"{message.removesuffix('.')}. The key is from supernode_node_config: change it there, or remove it with null in the pool"
            found.sentence(message)


def render_problems(spec: SiteSpec) -> list[Problem]:
    """What must be known to render a site, and is not, or cannot be used: values of the hub and its ledger."""
    found = Problems({"cluster": spec.cluster}, "supernode_")
    found.address("superlink_address", spec.superlink_address)
    found.certificates("ca_bundle", spec.ca_bundle)
    if not spec.superlink_address:
        found.add("superlink_address", "", "is unknown: the hub does not publish it yet, and it is not set")
    if not spec.ca_bundle and not spec.insecure:
        found.add("ca_bundle", "", "is unknown: the hub does not publish it yet, and it is not set")
    if not spec.client_certificate and spec.shows_certificate:
        found.add("mtls", spec.mtls, "needs a client certificate, and the hub has issued none yet")
    for index, pool in enumerate(spec.pools):
        if pool.uses_partition and not spec.allocation.get(pool.name):
            found.add(f"pools[{index}].name", pool.name, "uses {partition}, but the ledger allots nothing to it")
    return found.found
