# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.site_access): deny a site, or admit it again, at once and for good."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.ledger import access
from ansible_collections.federated.flower.plugins.plugin_utils.rollout.admission import Admission


class ActionModule(ClusterAction):
    """See the module's documentation."""

    ARGS = {
        "hub": {"type": "str", "required": True},
        "hub_namespace": {"type": "str", "default": "flower"},
        "federation": {"type": "str", "default": "flower"},
        "site": {"type": "str", "required": True},
        "state": {"type": "str", "choices": [access.DENIED, access.ADMITTED], "required": True},
        "reason": {"type": "str", "default": ""},
    }

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """See C(Admission)."""
        site = params["site"]
        with self.connect(params["hub"]) as hub:
            admission = Admission(hub, params["hub_namespace"], params["federation"], self.note, check=self.check)
            done = admission.change(site, params["state"], params["reason"])
        return {
            "changed": done.changed,
            "diff": done.diff,
            "objects": done.objects,
            "warnings": done.warnings,
            "site": site,
            "state": params["state"],
            "since": done.denial.get("since", ""),
            "reason": done.denial.get("reason", ""),
            "msg": self._words(site, done.denial, done.changed),
        }

    @staticmethod
    def _words(site: str, found: dict[str, Any], changed: bool) -> str:
        if not found:
            return f"{site} is admitted" + ("" if changed else ", as it was")
        return f"{site} is denied since {found['since']} ({found['reason'] or 'no reason given'})"
