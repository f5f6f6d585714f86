# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""From the table to what one holder gets in one cluster. Pure."""

from __future__ import annotations

from collections.abc import Collection

from ..spec.deployed_spec import Spec
from ..spec.part_spec import PartSpec
from . import dataset_needs, metrics_needs, output_needs, rendered
from .fixed_rights import places
from .need import DEPLOY, Need, Right, rights
from .table import CONTROLLER, SCIENTIST, TABLE, WAYS

# Namespace (empty: the whole cluster) -> what is needed there.
Grants = dict[str, list[Need]]


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
