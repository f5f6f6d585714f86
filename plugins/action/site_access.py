# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.site_access): deny sites, or admit them again, at once and for good."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions import serving
from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.admission import Admission
from ansible_collections.federated.flower.plugins.plugin_utils.state import access_records


class ActionModule(ClusterAction):
    """See the module's documentation."""

    SPEC = {"mutually_exclusive": [("site", "sites")]}

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """See C(Admission). At a hub that does not serve, a denial would have no effect, and the next copy of the one that serves would undo it."""
        sites = [params["site"]] if params["site"] else params["sites"]
        if sites is None and not (params["holder"] and params["state"] == access_records.ADMITTED):
            raise ClusterError("set site or sites: only state admitted with a holder needs neither.")
        with self.connect(params["hub"]) as hub:
            warnings = serving.require(self, hub, params["hub"], params["hub_namespace"])
            admission = Admission(hub, params["hub_namespace"], params["federation"], self.note, check=self.check)
            done = admission.change(sites, params["state"], params["reason"], params["holder"])
        words = [_words(site, denial, site in done.sites, check=self.check) for site, denial in done.denials.items()]
        if not words:
            words = ["no site was named" if sites is not None else f"{params['holder']} denies no site"]
        result = {
            "changed": done.changed,
            "diff": done.diff,
            "objects": done.objects,
            "warnings": [*warnings, *done.warnings],
            "sites": list(done.denials),
            "state": params["state"],
            "msg": "; ".join(words),
        }
        if params["site"]:
            denial = done.denials[params["site"]]
            result |= {"site": params["site"], "since": denial.get("since", ""), "reason": denial.get("reason", "")}
        return result


def _words(site: str, found: dict[str, Any], changed: bool, *, check: bool) -> str:
    reason = found.get("reason") or "no reason given"
    if changed and check:
        return f"{site} would be denied ({reason})" if found else f"{site} would be admitted"
    if not found:
        return f"{site} is admitted" + ("" if changed else ", as it was")
    return f"{site} has been denied since {found['since']} ({reason})"
