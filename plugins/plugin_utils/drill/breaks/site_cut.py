# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The gateway refuses all calls of one site, as it does for a site that is denied, and admits it again."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ...ledger import access
from ...rollout.admission import Admission
from ...rotation import conditions
from ..bench import Bench
from ..drill_verdict import Measured
from .base_break import Break

#: Reason of the denial, and its holder: there is one drill at a time.
REASON = "drill: site_cut"


class SiteCut(Break):
    """See C(Break)."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self.place = ""
        self._admission = Admission(bench.hub, bench.namespace, bench.federation, bench.run.note)

    def faults(self) -> list[str]:
        """A site that is admitted, has SuperNodes, and is known to the gateway by its certificate."""
        wanted = self._bench.options.site
        book, found = self._bench.records
        if wanted and wanted not in self._bench.sites:
            return [f"flower_drill_site: there is no site '{wanted}' in the inventory. There are: {', '.join(self._bench.sites)}"]
        reasons = []
        for site in [wanted] if wanted else self._bench.sites:
            why = conditions.exemption(site, book, found) or self._admission.fault(site)
            if not why and not self._bench.expected(site):
                why = "none of its SuperNodes is online"
            if not why:
                self.place = site
                return []
            reasons.append(f"{site}: {why}")
        return [f"site_cut: no site can be cut off: {'; '.join(reasons) or 'there is none'}"]

    def facts(self) -> dict[str, Any]:
        """The site."""
        return {"site": self.place}

    def conduct(self) -> Measured:
        """Deny it, wait, admit it."""
        bench = self._bench
        nodes = bench.expected(self.place)
        self._admission.change([self.place], access.DENIED, REASON, REASON)
        begin = bench.look().now
        cut = time.monotonic()
        bench.hold(bench.lasting, f"{self.place} is cut off")
        away = bench.cut_off(nodes, begin)
        since, begun = bench.look().now, time.monotonic()
        lasted = begun - cut
        denial = self._admission.change([self.place], access.ADMITTED, holder=REASON).denials[self.place]
        if denial:
            why = denial["reason"] or "no reason given"
            return Measured(len(nodes), len(away), error=f"someone denied {self.place} meanwhile ({why}): it stays denied")
        seconds, missing = bench.until_back(away, since, begun)
        return Measured(len(nodes), len(away), seconds, f"cut off for {lasted:.0f} s", missing)

    def undo(self, facts: Mapping[str, Any]) -> list[str]:
        """Admit the site, unless someone else denied it."""
        site = str(facts["site"])
        if self._admission.denial(site).get("holder") != REASON:
            return []
        self._admission.change([site], access.ADMITTED, holder=REASON)
        return [f"{site} was admitted again"]
