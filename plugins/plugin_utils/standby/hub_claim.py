# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The volume claim with the database of the hub that serves. A hub that has another one than at the last copy may have lost what only its standby
still has.

The records of both hubs (C(leadership)) have its uid, so that every copy, by whatever playbook, is refused. Pure, apart from C(uid).
"""

from __future__ import annotations

from ..base.object_names import DATABASE_CLAIM
from ..kube.client import Cluster
from .leadership import STANDBY, Term


def recorded(hub: str, *records: Term | None) -> str:
    """The uid that records have; empty where it is not known.

    Args:
        hub: inventory name of the hub that serves.
        records: of both hosts, that of the standby first: it is written when a copy is complete.
    """
    return next((one.hub_claim for one in records if one is not None and one.serves == hub and one.hub_claim), "")


def uid(cluster: Cluster, namespace: str) -> str:
    """The uid of the volume claim of a SuperLink; empty where there is none."""
    live = cluster.get("v1", "PersistentVolumeClaim", DATABASE_CLAIM, namespace)
    return str(live["metadata"]["uid"]) if live else ""


def fault(hub: str, standby: str, known: str, live: str, there: Term | None) -> str:
    """Why a hub is not copied over what its standby has: a sentence; empty if it may be.

    Args:
        hub: inventory name of the hub.
        standby: that of its standby.
        known: what C(recorded) found.
        live: what C(uid) found.
        there: the record of the standby.
    """
    if not known or known == live:
        return ""
    use = ""
    if there is not None and there.state == STANDBY and there.copied:
        use = f"If the copy of {there.copied} on {standby} is right, use it: fail over with -e flower_failover_hub_lost=true. "
    return (
        f"{hub} has another volume for its database than before, which may be empty or older, so it is not copied over what {standby} has. {use}If what "
        f"{hub} has now is right, for example after its volume was moved: -e flower_standby_accept_volumes=true"
    )
