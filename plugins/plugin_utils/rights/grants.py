# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""From the table to what one holder gets in one cluster. Pure."""

from __future__ import annotations

from collections.abc import Collection

from ..base.object_names import SUPERLINK
from ..spec.addon_spec import AddonSpec
from ..spec.part_spec import PartSpec
from . import dataset_needs, metrics_needs, output_needs, rendered
from .need import CA, CLUSTER, DEPLOY, FEDERATION, Need, Right, Spec, rights
from .table import CONTROLLER, OCM, SCIENTIST, TABLE, WAYS

# Namespace (empty: the whole cluster) -> what is needed there.
Grants = dict[str, list[Need]]


def places(part: str, namespace: str, ca_namespace: str) -> dict[str, str]:
    """Place -> its namespace."""
    found = {FEDERATION: namespace, CLUSTER: ""}
    return {**found, CA: ca_namespace} if part == SUPERLINK else found


def namespaces(part: str, spec: PartSpec, ca_namespace: str) -> list[str]:
    """The namespaces of a part in its cluster."""
    return list(dict.fromkeys(name for name in places(part, spec.namespace, ca_namespace).values() if name))


def grants(holder: str, part: str, spec: Spec, ca_namespace: str = "", *, ways: Collection[str] = WAYS) -> Grants:
    """What a holder needs in a cluster.

    Args:
        holder: C(controller), C(scientist), C(auditor) or C(backup).
        part: what is deployed there, C(superlink) or C(supernode).
        ca_namespace: namespace of the CA keys, for the superlink.
        ways: how scientists reach the SuperLink, of C(exec) and C(portforward).
    """
    where = places(part, spec.namespace, ca_namespace)
    barred = {f"pods/{way}" for way in WAYS if way not in ways} if holder == SCIENTIST else set()
    found: Grants = {}
    listed = [
        *TABLE[holder, part],
        *rendered.needs(holder, spec),
        *dataset_needs.needs(holder, spec),
        *output_needs.needs(holder, spec),
        *metrics_needs.needs(holder, spec),
    ]
    for need in listed:
        if need.when(spec) and need.resource not in barred:
            found.setdefault(where[need.place], []).append(need)
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


def rights_of_work(part: str, work: str, namespace: str, ca_namespace: str = "") -> dict[str, list[Right]]:
    """The same as C(controller_rights) for one work whose rows are the same for every spec.

    Args:
        part: what is deployed there, C(superlink) or C(supernode).
        work: of C(WORKS).
        namespace: that of the part.
        ca_namespace: namespace of the CA keys, for the superlink.
    """
    where = places(part, namespace, ca_namespace)
    found: dict[str, list[Right]] = {}
    for need in TABLE[CONTROLLER, part]:
        if need.work == work:
            found.setdefault(where[need.place], []).extend(rights(need, where[need.place]))
    return found


def ocm_rights(namespace: str, spec: AddonSpec) -> dict[str, list[Right]]:
    """Namespace (empty: the whole cluster) -> rights that delivery through Open Cluster Management needs on its hub.

    Args:
        namespace: that of the federation.
    """
    found: dict[str, list[Right]] = {}
    for need in OCM:
        if need.when(spec):
            where = "" if need.place == CLUSTER else namespace
            found.setdefault(where, []).extend(rights(need, where))
    return found
