# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The pod of one SuperNode is deleted. Kubernetes replaces it, and its key begins another session."""

from __future__ import annotations

import time

from ...base.values import Object
from ...marks import proof
from ...rotation import conditions, site_proof
from ..bench import Bench
from ..drill_verdict import Measured
from .base_break import Break


class SupernodeKilled(Break):
    """See C(Break). Nothing has to be undone: Kubernetes does it."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self.place = ""
        self._pod: Object = {}
        self._node = ""

    def faults(self) -> list[str]:
        """A SuperNode that is online and whose pod can be deleted from here."""
        wanted = self._bench.options.site
        reasons = []
        for site in [wanted] if wanted else self._bench.sites:
            if site not in self._bench.sites:
                return [f"flower_drill_site: there is no site '{site}' in the inventory. There are: {', '.join(self._bench.sites)}"]
            why = self._choose(site)
            if not why:
                self.place = site
                return []
            reasons.append(f"{site}: {why}")
        return [f"supernode_killed: no SuperNode can be killed: {'; '.join(reasons) or 'there is no site'}"]

    def _choose(self, site: str) -> str:
        """Choose a pod of a site; returns why there is none."""
        bench = self._bench
        book, found = bench.records
        if site not in found or conditions.exemption(site, book, found):
            return conditions.exemption(site, book, found) or "it is not in the ledger"
        way = bench.reach(site)
        try:
            pods = way.pods()
        finally:
            way.rest()
        if pods is None:
            return "its pods are reached by the agent of its cluster only"
        online = bench.expected(site)
        keys = {(key["pool"], key["name"]): key["node_id"] for key in conditions.expected(found[site])}
        for pod in sorted(pods, key=lambda one: str(one["metadata"]["name"])):
            node = keys.get(site_proof.place(pod), "")
            if node in online and site_proof.is_running(pod) and proof.belongs(pod, bench.federation):
                self._pod, self._node = pod, node
                return ""
        return "none of its SuperNodes is online with a pod that runs"

    def conduct(self) -> Measured:
        """Delete exactly the pod that was seen."""
        bench, name = self._bench, self._pod["metadata"]["name"]
        since = bench.look().now
        begun = time.monotonic()
        way = bench.reach(self.place)
        try:
            way.restart_pods([self._pod])
        finally:
            way.rest()
        seconds, missing = bench.until_back({self._node: f"{self.place} {name}"}, since, begun, restarted=True)
        return Measured(1, 1, seconds, f"pod {name}", missing)
