# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The clock of the control node: what it signs begins by that, and is checked by the clocks of others."""

from __future__ import annotations

import datetime

from ..base.errors import ClusterError
from ..kube.client import Cluster
from ..pki import certificates, chain


def require_clock(cluster: Cluster) -> None:
    """Called before anything is signed for a cluster, when it has answered a request.

    Raises:
        ClusterError: it would begin in the future of the cluster. Until then, a gateway that serves it, or has it as its list of revoked
            certificates, refuses every site.
    """
    ahead = -(cluster.skew or 0)
    if ahead > certificates.BACKDATE.total_seconds():
        raise ClusterError(
            f"the clock of the control node is {ahead / 60:.0f} minutes ahead of that of {cluster.name}, so nothing is signed: new certificates, and "
            "a new list of revoked ones, would not be valid yet, and sites would lose their connection until they are. Synchronize the clock of the "
            "machine that runs Ansible (NTP), then run again."
        )


def not_valid_yet(certificate: str, now: datetime.datetime | None = None) -> str | None:
    """Why a certificate must be reissued that was signed by a clock that was ahead; None if it is valid by now.

    Args:
        certificate: PEM.
        now: the time to judge by; the present by default.
    """
    start = datetime.datetime.fromisoformat(certificates.describe(certificate)["not_before"])
    now = now or datetime.datetime.now(datetime.timezone.utc)
    return f"it is not valid before {start.isoformat()}" if now < start - chain.CLOCK_ACCURACY else None
