# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""By which volumes a hub is recognised. One that has others than at the last copy may have lost what only its standby still has.

The records of both hubs (C(terms)) note them, so that every copy, by whatever playbook, is refused. Pure, apart from C(read).
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from ..base.object_names import DATABASE_CLAIM
from ..kube.client import Cluster
from ..manifests import outputs
from ..spec.hub_spec import HubSpec
from .terms import STANDBY, Term

_CLAIM = "PersistentVolumeClaim"
#: In the record of a hub that began to serve without the outputs of runs which the former hub has.
UNCOPIED = "not copied"


@dataclass(frozen=True)
class Volumes:
    """Uids of the volume claims of a hub; empty where there is none, or where it is not known.

    Attributes:
        database: that with its database.
        outputs: that with the outputs of runs.
    """

    database: str = ""
    outputs: str = ""

    def in_record(self, term: Term) -> Term:
        """A record that notes them."""
        return dataclasses.replace(term, hub_claim=self.database, hub_outputs=self.outputs)


def noted(hub: str, *records: Term | None) -> Volumes:
    """What records know of the volumes of the hub that serves.

    Args:
        hub: its inventory name.
        records: of both hosts, that of the standby first: it is written when a copy is complete.
    """
    known = [one for one in records if one is not None and one.serves == hub]
    database = next((one.hub_claim for one in known if one.hub_claim), "")
    return Volumes(database, next((one.hub_outputs for one in known if one.hub_outputs), ""))


def read(cluster: Cluster, spec: HubSpec, known: Volumes, *, with_outputs: bool) -> Volumes:
    """The volumes that a hub has now.

    Args:
        cluster: a connection to it.
        spec: its specification.
        known: what C(noted) found. Outputs that are not copied count as unchanged.
        with_outputs: whether outputs are copied.
    """
    name = outputs.claim_name(spec) if with_outputs else ""
    return Volumes(_uid(cluster, spec, DATABASE_CLAIM), _uid(cluster, spec, name) if name else known.outputs)


def fault(hub: str, standby: str, known: Volumes, live: Volumes, there: Term | None) -> str:
    """Why a hub is not copied over what its standby has: a sentence; empty if it may be.

    Args:
        hub: inventory name of the hub.
        standby: that of its standby.
        known: what C(noted) found.
        live: what C(read) found.
        there: the record of the standby.
    """
    pairs = {"database": (known.database, live.database), "outputs of runs": (known.outputs, live.outputs)}
    changed = [what for what, (before, now) in pairs.items() if before and before != now]
    if not changed:
        return ""
    if changed == ["outputs of runs"] and known.outputs == UNCOPIED:
        return (
            f"{hub} began to serve without the outputs of runs that {standby} has, and a copy would delete these. Fetch from {standby} what you need, or "
            "copy without outputs: -e flower_standby_outputs=false. To have them deleted: -e flower_standby_accept_volumes=true"
        )
    way = ""
    if there is not None and there.state == STANDBY and there.copied:
        way = f"If the copy of {there.copied} on {standby} is right, use it: fail over with -e flower_failover_hub_lost=true. "
    return (
        f"{hub} has another volume for its {' and its '.join(changed)} than before, which may be empty or older, so it is not copied over what "
        f"{standby} has. {way}If what {hub} has now is right, for example after its volumes were moved: -e flower_standby_accept_volumes=true"
    )


def _uid(cluster: Cluster, spec: HubSpec, name: str) -> str:
    live = cluster.get("v1", _CLAIM, name, spec.namespace)
    return str(live["metadata"]["uid"]) if live else ""
