# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.audit): record this run's changes in the audit trail."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible import constants

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.actions.run_facts import kubernetes_user, now
from ansible_collections.federated.flower.plugins.plugin_utils.audit import notes as audit_notes
from ansible_collections.federated.flower.plugins.plugin_utils.audit.journal import Journal, abandoned
from ansible_collections.federated.flower.plugins.plugin_utils.audit.trail import NAME, Refused, Trail
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError


class _Unrecorded(ClusterError):
    """The audit trail cannot be written. C(own): the entry of this run; None where only interrupted runs have one."""

    def __init__(self, message: str, own: audit_notes.Content | None) -> None:
        super().__init__(message)
        self.own = own


class ActionModule(ClusterAction):
    """See the module's documentation."""

    NEEDS_LEASE = False  # what was changed is recorded in any case
    HUB_BY_GROUP = True
    ARGS = {
        "hub": {"type": "str"},
        "hub_namespace": {"type": "str"},
        "federation": {"type": "str"},
        "required": {"type": "bool", "default": True},
    }

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Read the notes; without any, no cluster is contacted."""
        folder = Path(constants.DEFAULT_LOCAL_TMP)
        if self.check:
            wanted = audit_notes.has_entry(Journal(folder).read())
            return {"changed": wanted, "msg": "an entry would be added" if wanted else "nothing would change"}
        try:
            with contextlib.ExitStack() as stack:  # an error that leaves it keeps the journals
                mine = stack.enter_context(Journal(folder).taken())
                others = [
                    stack.enter_context(journal.taken())
                    for journal in abandoned(folder, socket.gethostname(), self.place())
                ]
                return self._record(params, mine, others)
        except _Unrecorded as error:
            return self._unrecorded(error, required=params["required"])

    def _record(
        self, params: dict[str, Any], mine: list[audit_notes.Note], others: list[list[audit_notes.Note]]
    ) -> dict[str, Any]:
        """Record the notes of this run, and before it those of interrupted runs."""
        failed = set(self.task_vars.get("ansible_play_hosts_all", ())) - set(
            self.task_vars.get("ansible_play_hosts", ())
        )
        lost = "not known: the run was interrupted"
        new = [audit_notes.compose(notes, time=now(), kubernetes=lost, interrupted=True) for notes in others]
        own = audit_notes.compose(mine, time=now(), kubernetes="", failed=failed)
        entries = [entry for entry in (*new, own) if entry]
        if not entries:
            return {"changed": False, "msg": "nothing was changed, so there is nothing to record"}
        hub = params["hub"] or self.hub_host()
        namespace, federation = params["hub_namespace"], params["federation"]
        if not hub:
            raise ClusterError("the inventory has no group flower_hub: set flower_hub_group, or the option hub.")
        if audit_notes.deleted(mine, hub, [f"Namespace {namespace}", f"Project {namespace}", f"ConfigMap {namespace}/{NAME}"]):
            return {
                "changed": False,
                "msg": f"the audit trail was deleted together with the hub's namespace {namespace}",
            }
        try:
            return self._append(hub, namespace, federation, entries, required=params["required"])
        except ClusterError as error:
            raise _Unrecorded(error.message, own) from error

    def _unrecorded(self, error: _Unrecorded, *, required: bool) -> dict[str, Any]:
        """The result when the trail cannot be written. This run's journal goes with its folder, those of interrupted runs stay."""
        if error.own is None:
            text = f"what interrupted runs changed could not be recorded in the audit trail; it is kept for a later run. {self.named(error)}"
            return {"changed": False, "failed": required, "msg": text}
        text = f"the changes could not be recorded in the audit trail; they are in this result. {self.named(error)}"
        return {"changed": False} | self._report_unrecorded(text, [error.own], required=required)

    def _append(
        self, hub: str, namespace: str, federation: str, entries: list[audit_notes.Content], *, required: bool
    ) -> dict[str, Any]:
        """Record entries. What the hub does not accept is in the result, and everything else in the trail."""
        with self.connect(hub) as cluster:
            user = kubernetes_user(cluster)
            for entry in entries:
                entry["who"]["kubernetes"] = entry["who"]["kubernetes"] or user
            parts = [part for entry in entries for part in audit_notes.in_parts(entry)]
            partly: dict[str, Any] = {}
            try:
                made, warnings = Trail(cluster, namespace, federation).append(parts)
            except Refused as error:
                if not error.done:
                    raise  # nothing was recorded, so the journals of interrupted runs stay
                made, warnings = error.done, error.warnings
                partly = self._report_unrecorded(f"{self.named(error)}; they are in this result", error.entries, required=required)
        self._noted = True  # to record changes is not one of them
        result: dict[str, Any] = {
            "changed": bool(made),
            "added": [entry["seq"] for entry in made],
            "warnings": warnings,
        }
        if not made:
            return result | {"msg": "what was changed had been recorded already"}
        # Shown without -v as well: the hash should be stored outside of the hub.
        result |= {"hash": made[-1]["hash"], "_ansible_verbose_always": True}
        text = f"the audit trail has {made[-1]['seq']} entries, the hash of the last one is {result['hash']}"
        return result | {"msg": text} | partly | {"warnings": [*warnings, *partly.get("warnings", ())]}

    @staticmethod
    def _report_unrecorded(text: str, entries: Sequence[Mapping[str, Any]], *, required: bool) -> dict[str, Any]:
        """The part of a result that has what could not be recorded, and why."""
        lost = {"msg": text, "unrecorded": list(entries)}
        return lost | ({"failed": True} if required else {"warnings": [text]})
