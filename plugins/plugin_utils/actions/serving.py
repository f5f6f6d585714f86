# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the hub of a run may be changed: it is the one that serves, by its own record, and by that of its standby where the inventory has one, and
it is whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from ..backup import leadership, restore_mark
from ..base.errors import ClusterError
from ..checks.inventory import peers
from ..kube.client import Cluster

_SECONDS = 5  # for the answer of the other hub, which may be lost


class Connecting(Protocol):
    """An action, as far as it is needed here (C(cluster_action.ClusterAction))."""

    task_vars: Mapping[str, Any]

    def connect(self, host: str | None = None, *, timeout: float = 0) -> Cluster:
        """A connection to the cluster of a host."""


def require(action: Connecting, cluster: Cluster, host: str, namespace: str, *, restores: bool = False) -> list[str]:
    """Refuse a hub (inventory name C(host)) that does not serve, or of which a restore is not complete; what is not known, as warnings.

    C(restores): whether the action completes such a restore.

    Raises:
        ClusterError: it names the one that serves, or says how the restore is completed.
    """
    own = leadership.read(cluster, namespace)
    why, words = leadership.refusal(host, own), []
    if not (why or restores):
        why = restore_mark.refusal(restore_mark.read(cluster, namespace), namespace)
    for peer in peers(action.task_vars.get("groups") or {}, host):
        if why:
            break
        try:
            with action.connect(peer, timeout=_SECONDS) as other:
                found = leadership.read(other, namespace)
        except ClusterError as error:
            words.append(f"cannot determine whether {peer} serves: {error.message}")
            continue
        why = leadership.refusal_by_peer(host, own, peer, found)
        if not why and found is not None and found.state == leadership.ACTIVE:
            words.append(
                f"{peer} claims to serve in term {found.number}, which has ended: federated.flower.standby or federated.flower.failover fences it"
            )
    if why:
        raise ClusterError(f"{why}. Nothing was changed.")
    return words
