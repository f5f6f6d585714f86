# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The SuperLink's pod is deleted. Kubernetes replaces it."""

from __future__ import annotations

import time

from ...base.errors import ClusterError
from ...base.object_names import SUPERLINK_POD
from ...marks import proof
from ..drill_verdict import Measured
from .base_break import Break


class SuperlinkKilled(Break):
    """See C(Break). Nothing has to be undone: Kubernetes does it."""

    def conduct(self) -> Measured:
        """Delete exactly the pod that was seen."""
        bench = self._bench
        nodes = bench.expected()
        pod = bench.superlink()
        if pod is None or not proof.belongs(pod, bench.federation):
            raise ClusterError(f"{bench.hub.name}: pod {bench.namespace}/{SUPERLINK_POD} is not there, or is not of this federation: it is not deleted")
        uid = pod["metadata"]["uid"]
        begun = time.monotonic()
        bench.hub.delete("v1", "Pod", SUPERLINK_POD, bench.namespace, uid=uid, propagation="Background")
        bench.run.note(words=[f"drill: pod {SUPERLINK_POD} was deleted"])
        since = bench.until_superlink(other_than=uid)
        again = time.monotonic() - begun
        seconds, missing = bench.until_back(nodes, since, begun)
        return Measured(len(nodes), len(nodes), seconds, f"the SuperLink ran again after {again:.0f} s", missing and f"{missing}")
