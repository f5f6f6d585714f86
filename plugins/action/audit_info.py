# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.audit_info): read and verify the audit trail, at the hub or in an exported file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.state.audit_report import trail_table
from ansible_collections.federated.flower.plugins.plugin_utils.state.audit_trail import NAME, Trail
from ansible_collections.federated.flower.plugins.plugin_utils.state.hash_chain import (
    Head,
    Line,
    export,
    read_export,
    verify,
)


class ActionModule(ClusterAction):
    """See the module's documentation."""

    HUB_BY_GROUP = True

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Read, verify, show."""
        lines, head, where = self._file(params["file"]) if params["file"] else self._hub(params)
        verdict = verify(lines, head, params["anchors"])
        count = verdict.head.entries
        result: dict[str, Any] = {
            "changed": False,
            "valid": not verdict.fault,
            "fault": verdict.fault and f"{where}: {verdict.fault}",
            "notes": verdict.notes,
            "entries": count,
            "hash": verdict.head.hash,
            "table": trail_table(verdict.entries[-params["last"] :], verdict.doubtful),
        }
        if params["export"]:
            result["lines"] = export(lines, head)
        word = f"{where}: {count} entries, none altered; the hash of the last one is {verdict.head.hash}"
        return result | {"msg": result["fault"] or (word if count else f"{where}: no entries yet")}

    def _hub(self, params: dict[str, Any]) -> tuple[list[Line], Head | None, str]:
        hub = params["hub"] or self.hub_host() or None
        namespace = params["hub_namespace"]
        with self.connect(hub) as cluster:
            lines, head = Trail(cluster, namespace, "").read()
            return lines, head, f"audit trail {namespace}/{NAME} on {cluster.name}"

    @staticmethod
    def _file(name: str) -> tuple[list[Line], Head | None, str]:
        try:
            text = Path(name).read_text(encoding="ascii")
        except (OSError, UnicodeDecodeError) as error:
            raise ClusterError(f"the exported audit trail {name} cannot be read: {error}.") from error
        return (*read_export(text.splitlines(), name), f"audit trail in {name}")
