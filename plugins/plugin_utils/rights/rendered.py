# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rights on the objects that the roles render, taken from the renderers. Pure."""

from __future__ import annotations

from dataclasses import replace

from ..base.kinds import group_of, plural_of
from ..manifests import superlink, supernode
from ..spec.deployed_spec import Spec
from ..spec.hub_spec import HubSpec
from ..spec.part_spec import NOTHING, NOWHERE, PROCESS
from ..spec.pool_spec import DAEMON_SET, PoolSpec
from .need import FEDERATION, OBJECT_VERBS, TEARDOWN, Need
from .table import AUDITOR, CONTROLLER, READ

# Settings that add and remove kinds of objects. Rights do not depend on them: to switch one off, the right is needed to
# prune existing objects. They do depend on what a cluster's administrators may not want to grant at all: its own APIs, the
# whole cluster (exposure), network policies.
_POOLS = [PoolSpec(name="one", replicas=2), PoolSpec(name="two", mode=DAEMON_SET, replicas=0)]
# Their rights are in the table: a Namespace's depend on who creates it, only the controller reads Secrets, and rights on claims are
# limited to their names (dataset_needs.py, output_needs.py).
_TABLED = {("", "Namespace"), ("", "Secret"), ("", "PersistentVolumeClaim")}


def kinds(spec: Spec) -> list[tuple[str, str]]:
    """(API group, kind) of the objects of a part, with any switches, without Namespaces."""
    # Patches change no kinds; an address and certificates are only known when all is deployed.
    shape = replace(spec, insecure=False, superlink_address=NOWHERE, ca_bundle=NOTHING, patches=[])
    if isinstance(shape, HubSpec):
        shape = replace(shape, isolation=PROCESS, protect_runs=True)
        listed = [
            *superlink.objects(replace(shape, outputs_enabled=False)),
            *superlink.objects(replace(shape, outputs_enabled=True)),
        ]
    else:
        listed = supernode.objects(
            replace(shape, pools=_POOLS, disruption_budget=1, client_certificate=NOTHING, allocation={})
        )
    found = {(group_of(item["apiVersion"]), item["kind"]) for item in listed}
    return sorted(found - _TABLED)


def needs(holder: str, spec: Spec) -> list[Need]:
    """What a holder needs for the objects of a part."""
    if holder not in (CONTROLLER, AUDITOR):
        return []
    found = []
    for group, kind in kinds(spec):
        resource = plural_of(kind) + (f".{group}" if group else "")
        if holder == AUDITOR:
            found.append(Need(FEDERATION, resource, READ, "what is deployed"))
            continue
        found.append(Need(FEDERATION, resource, OBJECT_VERBS, "objects of the deployment"))
        found.append(Need(FEDERATION, resource, "get list delete", "remove the deployment", work=TEARDOWN))
    return found
