# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rights that do not depend on what the roles render. Pure."""

from __future__ import annotations

from ..base.object_names import SUPERLINK
from ..spec.addon_spec import AddonSpec
from .need import CA, CLUSTER, FEDERATION, Right, rights
from .table import CONTROLLER, OCM, TABLE


def places(part: str, namespace: str, ca_namespace: str) -> dict[str, str]:
    """Place -> its namespace."""
    found = {FEDERATION: namespace, CLUSTER: ""}
    return {**found, CA: ca_namespace} if part == SUPERLINK else found


def rights_of_work(part: str, work: str, namespace: str, ca_namespace: str = "") -> dict[str, list[Right]]:
    """The same as C(grants.controller_rights) for one work whose rows are the same for every spec.

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
