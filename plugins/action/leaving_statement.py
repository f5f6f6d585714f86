# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.leaving_statement): write the leaving record of a site, or verify one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.state import audit_report
from ansible_collections.federated.flower.plugins.plugin_utils.state.audit_trail import NAME, Trail
from ansible_collections.federated.flower.plugins.plugin_utils.state.hash_chain import verify


class ActionModule(ClusterAction):
    """See the module's documentation."""

    NOTES_MESSAGE = False  # a file on the control node does not change the fleet
    NEEDS_LEASE = False  # nothing in a cluster is changed
    HUB_BY_GROUP = True
    SPEC = {
        "required_one_of": [("site", "file")],
        "mutually_exclusive": [("site", "file"), ("directory", "file")],
        "required_together": [("site", "directory")],
    }

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Read the audit trail, then write a record or compare one."""
        with self.connect(params["hub"] or self.hub_host() or None) as cluster:
            verdict = verify(*Trail(cluster, params["hub_namespace"], params["federation"]).read())
            where = f"the audit trail {params['hub_namespace']}/{NAME} on {cluster.name}"
        if verdict.fault:
            raise ClusterError(f"{where} is not complete: {verdict.fault}. It cannot serve as evidence.")
        if params["file"]:
            path = Path(params["file"])
            text = self._read(path)
            fault = audit_report.leaving_error(text, verdict.entries, params["federation"])
            msg = f"{path}: {fault or f'matches {where}'}"
            result = {"changed": False, "valid": not fault, "fault": msg if fault else "", "file": str(path), "msg": msg}
            return result | {"text": [] if fault else text.splitlines()}
        site = params["site"]
        entries = audit_report.entries_of(verdict.entries, site)
        if not entries:
            raise ClusterError(
                f"{where} has no entry for the removal of {site!r}. Set flower_site to the inventory name of a removed site, or remove the site first: "
                f"federated.flower.teardown --limit {site} -e flower_teardown=true"
            )
        path = Path(params["directory"]) / f"{site}-entry-{entries[-1]['seq']}.txt"
        text = audit_report.leaving_page(verdict.entries, site, params["federation"])
        changed = not path.is_file() or self._read(path) != text
        if changed and not self.check:
            try:  # the directory is created, but not the one above it: a typing error in a path makes no tree of directories
                path.parent.mkdir(exist_ok=True)
                path.write_text(text, encoding="utf-8")
            except OSError as error:
                raise ClusterError(
                    f"the leaving record {path} cannot be written: {error}. Set flower_statement_directory to a directory that you may write to."
                ) from error
        word = "would be written to" if changed and self.check else "is in"
        return {"changed": changed, "text": text.splitlines(), "file": str(path), "msg": f"the leaving record of {site} {word} {path}"}

    @staticmethod
    def _read(path: Path) -> str:
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ClusterError(f"the leaving record {path} cannot be read: {error}. Correct flower_statement_file.") from error
