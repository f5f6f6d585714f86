# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the table and the rendered objects to the rights of one holder in one cluster. Pure.

A C(create) that is limited to a name works with server-side apply, see table.py. Secrets and ConfigMaps of datasets need nothing
more than the table grants: where the controller has no right on Secrets, it cannot know whether one exists.

To switch metrics off, they are still needed: remove them afterwards.

Where ServerApps have their own pod, the right to run commands in it also covers the container with the app. It adds nothing to what
data scientists can do: they run their code there by submitting it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from ..base.kinds import group_of, plural_of
from ..base.names import METRICS
from ..base.object_names import SERVERAPP_POD
from ..manifests import datasets, outputs, superlink, supernode
from ..manifests.exposure import GATEWAY_GROUP, GatewayApi
from ..spec.deployed_spec import Spec
from ..spec.hub_spec import HubSpec
from ..spec.part_spec import NOTHING, NOWHERE, PROCESS, PartSpec
from ..spec.site_spec import DAEMON_SET, PoolSpec, SiteSpec
from .ask import places
from .need import CLUSTER, DEPLOY, FEDERATION, OBJECT_VERBS, TEARDOWN, Need, Right, rights
from .table import AUDITOR, CONTROLLER, POD_ACCESS, READ, SCIENTIST, TABLE

_CLAIMS = "persistentvolumeclaims"

# Settings that add and remove kinds of objects. Rights do not depend on them: to switch one off, the right is needed to
# prune existing objects. They do depend on what a cluster's administrators may not want to grant at all: its own APIs, the
# whole cluster (exposure), network policies.
_POOLS = [PoolSpec(name="one", replicas=2), PoolSpec(name="two", mode=DAEMON_SET, replicas=0)]
# Their rights are in the table: a Namespace's depend on who creates it, only the controller reads Secrets, and rights on claims are
# limited to their names (below).
_TABLED = {("", "Namespace"), ("", "Secret"), ("", "PersistentVolumeClaim")}

# What the rendered kinds of a site depend on -> these.
_rendered: dict[str, list[tuple[str, str]]] = {}

# Namespace (empty: the whole cluster) -> what is needed there.
Grants = dict[str, list[Need]]


def dataset_needs(holder: str, spec: Spec) -> list[Need]:
    """What a holder needs for datasets; nothing where there are none."""
    pools = spec.pools if isinstance(spec, SiteSpec) else []
    listed = [one for pool in pools for one in pool.datasets if one.claim_name]
    if not isinstance(spec, SiteSpec) or not listed:
        return []
    if holder == AUDITOR:
        return [Need(FEDERATION, _CLAIMS, READ, "where data is")]
    if holder != CONTROLLER:
        return []
    created = datasets.created(spec)
    claims = " ".join(sorted({one.claim_name for one in created}))
    existing = " ".join(sorted({one.claim for one in listed if one.claim}))
    volumes = " ".join(datasets.volume_name(spec, one) for one in created if one.volume is not None)
    found = []
    if existing:
        found.append(Need(FEDERATION, _CLAIMS, "get", "see whether the claims of datasets can be used", names=existing))
    for place, resource, names, purpose in (
        (FEDERATION, _CLAIMS, claims, "claims of datasets"),
        (CLUSTER, "persistentvolumes", volumes, "storage that exists outside the cluster"),
    ):
        if names:
            found += [
                Need(place, resource, "get create patch", purpose, names=names),
                Need(place, resource, "list", "find them, if they are to be deleted", work=TEARDOWN),
                # Not on all claims of the namespace: others have their data there.
                Need(place, resource, "get delete", "delete them, if that is requested", names=names, work=TEARDOWN),
            ]
    return found


def _hub_needs(holder: str, spec: Spec) -> list[Need]:
    """What a holder needs for outputs and metrics of a hub; nothing where there are none."""
    found: list[Need] = []
    if not isinstance(spec, HubSpec):
        return found
    if spec.outputs_enabled and holder in (CONTROLLER, SCIENTIST):
        if spec.is_process:  # otherwise it is the SuperLink's pod, see table.py
            found += [
                Need(FEDERATION, "pods", "get", "find the outputs of runs", names=SERVERAPP_POD),
                Need(FEDERATION, "pods/exec", "get create", "list, fetch and delete the outputs of runs", names=SERVERAPP_POD),
            ]
        if holder == CONTROLLER:
            verbs, purpose = "get create patch", "the volume for the outputs of runs"
            if spec.outputs_claim:
                verbs, purpose = "get", "see whether the claim for outputs can be used"
            found.append(Need(FEDERATION, _CLAIMS, verbs, purpose, names=outputs.claim_name(spec)))
    if spec.metrics.enabled and holder == CONTROLLER:
        # OpenShift grants no owner of an object to those who may not delete it (OwnerReferencesPermissionEnforcement).
        found.append(Need(FEDERATION, "secrets", "delete", "let the exporter's Secret go with its program", names=METRICS))
    return found


def rendered_kinds(spec: Spec) -> list[tuple[str, str]]:
    """(API group, kind) of the objects of a part, with any switches, without Namespaces."""
    # Patches change no kinds; an address and certificates are only known when all is deployed.
    shape = replace(spec, insecure=False, superlink_address=NOWHERE, ca_bundle=NOTHING, patches=[])
    if isinstance(shape, HubSpec):
        shape = replace(shape, isolation=PROCESS, protect_runs=True)
        listed = [item for is_on in (False, True) for item in superlink.objects(replace(shape, outputs_enabled=is_on))]
        return _kinds_of(listed)
    # The same for most sites of a fleet, and asked for each.
    shape = replace(shape, pools=_POOLS, disruption_budget=1, client_certificate=NOTHING, allocation={})
    key = repr((replace(shape, cluster="", namespace="", region="", location=""), shape.namespace == shape.hub_namespace))
    if key not in _rendered:
        _rendered[key] = _kinds_of(supernode.objects(shape))
    return _rendered[key]


def _kinds_of(objects: Iterable[Mapping[str, Any]]) -> list[tuple[str, str]]:
    return sorted({(group_of(item["apiVersion"]), item["kind"]) for item in objects} - _TABLED)


def _rendered_needs(holder: str, spec: Spec) -> list[Need]:
    """What a holder needs for the objects of a part."""
    found = []
    for group, kind in rendered_kinds(spec) if holder in (CONTROLLER, AUDITOR) else ():
        resource = plural_of(kind) + (f".{group}" if group else "")
        if holder == AUDITOR:
            found.append(Need(FEDERATION, resource, READ, "what is deployed"))
        else:
            found.append(Need(FEDERATION, resource, OBJECT_VERBS, "objects of the deployment"))
            found.append(Need(FEDERATION, resource, "get list delete", "remove the deployment", work=TEARDOWN))
    return found


def namespaces(part: str, spec: PartSpec, ca_namespace: str) -> list[str]:
    """The namespaces of a part in its cluster."""
    return list(dict.fromkeys(name for name in places(part, spec.namespace, ca_namespace).values() if name))


def grants(holder: str, part: str, spec: Spec, ca_namespace: str = "", *, pod_access: Collection[str] = POD_ACCESS) -> Grants:
    """What a holder needs in a cluster.

    Args:
        holder: C(controller), C(scientist), C(auditor) or C(backup).
        part: what is deployed there, C(superlink) or C(supernode).
        ca_namespace: namespace of the CA keys, for the superlink.
        pod_access: how scientists reach the SuperLink, of C(exec) and C(portforward).
    """
    where = places(part, spec.namespace, ca_namespace)
    barred = {f"pods/{kind}" for kind in POD_ACCESS if kind not in pod_access} if holder == SCIENTIST else set()
    found: Grants = {}
    for need in (*TABLE[holder, part], *_rendered_needs(holder, spec), *dataset_needs(holder, spec), *_hub_needs(holder, spec)):
        if need.when(spec) and need.resource not in barred:
            found.setdefault(where[need.place], []).append(need)
    if holder == CONTROLLER and isinstance(spec, HubSpec) and spec.exposure == GatewayApi.name:
        reading = Need(FEDERATION, f"gateways.{GATEWAY_GROUP}", "get", "the address of the Gateway, and whether it takes the route", names=spec.gateway.name)
        found.setdefault(spec.gateway_namespace, []).append(reading)
    return found


def controller_rights(
    part: str,
    spec: Spec,
    ca_namespace: str = "",
    *,
    works: Collection[str] = (DEPLOY,),
    absent: Collection[str] = (),
    projects: Collection[str] = (),
) -> dict[str, list[Right]]:
    """Namespace (empty: the whole cluster) -> the single rights that the controller needs for some works.

    Args:
        part: what is deployed there, C(superlink) or C(supernode).
        ca_namespace: namespace of the CA keys, for the superlink.
        works: its tasks, of C(WORKS).
        absent: namespaces that do not exist and that the controller creates. No Role covers this: who grants rights in a
            namespace creates it first.
        projects: namespaces that were requested as projects of OpenShift: they are not changed.
    """
    found: dict[str, dict[Right, None]] = {}
    for namespace, needs in grants(CONTROLLER, part, spec, ca_namespace).items():
        for need in needs:
            if need.work in works:
                single = [one for one in rights(need, namespace) if (one.resource, one.verb) != ("namespaces", "patch") or namespace not in projects]
                found.setdefault(namespace, {}).update(dict.fromkeys(single))
    for name in absent:
        found.setdefault("", {})[Right("create", "", "namespaces", "", name)] = None
    return {namespace: list(single) for namespace, single in found.items()}
