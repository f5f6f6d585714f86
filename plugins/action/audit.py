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

from ansible_collections.federated.flower.plugins.plugin_utils.actions import fleet_lease
from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.actions.run_facts import kubernetes_user, now
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.state import audit_notes
from ansible_collections.federated.flower.plugins.plugin_utils.state.audit_notes import Journal, abandoned
from ansible_collections.federated.flower.plugins.plugin_utils.state.audit_trail import NAME, Refused, Trail


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
        """Record what changed. A run ends with a play in which every host failed: then the lease is returned here."""
        result = self._record_notes(params)
        if task_vars.get("ansible_play_batch") == [] and not self.check:
            with contextlib.suppress(ClusterError):
                fleet_lease.give_back(self)
        return result

    def _record_notes(self, params: dict[str, Any]) -> dict[str, Any]:
        """Read the notes; without any, no cluster is contacted."""
        folder = Path(constants.DEFAULT_LOCAL_TMP)
        if self.check:
            wanted = audit_notes.has_entry(Journal(folder).read())
            return {"changed": wanted, "msg": "an entry would be added" if wanted else "nothing would change"}
        journals = abandoned(folder, socket.gethostname(), self.place())
        own: audit_notes.Content | None = None
        try:
            with contextlib.ExitStack() as stack:  # an error that leaves it keeps the journals
                mine = stack.enter_context(Journal(folder).taken())
                others = [stack.enter_context(journal.taken()) for journal in journals]
                own = audit_notes.compose(mine, time=now(), kubernetes="", failed=self._failed())
                entries = [entry for entry in (*map(self._interrupted, others), own) if entry]
                if not entries:
                    return {"changed": False, "msg": "nothing was changed, so there is nothing to record"}
                return self._record(params, mine, entries)
        except ClusterError as error:
            if own:  # this run's journal is removed with its folder
                text = f"the changes could not be recorded in the audit trail; they are in this result. {self.named(error)}"
                return {"changed": False} | self._report_unrecorded(text, [own], required=params["required"])
            text = f"what interrupted runs changed could not be recorded in the audit trail; it is kept for a later run. {self.named(error)}"
            return {"changed": False, "failed": params["required"], "msg": text}

    @staticmethod
    def _interrupted(notes: list[audit_notes.Note]) -> audit_notes.Content | None:
        lost = "not known: the run was interrupted"
        return audit_notes.compose(notes, time=now(), kubernetes=lost, interrupted=True)

    def _failed(self) -> set[str]:
        """The hosts that failed in this play."""
        return {*self.task_vars.get("ansible_play_hosts_all", ())} - {*self.task_vars.get("ansible_play_hosts", ())}

    def _record(
        self, params: dict[str, Any], mine: list[audit_notes.Note], entries: list[audit_notes.Content]
    ) -> dict[str, Any]:
        """Record entries, unless this run deleted the trail."""
        hub = params["hub"] or self.hub_host()
        namespace = params["hub_namespace"]
        if not hub:
            raise ClusterError("the inventory has no group flower_hub: set flower_hub_group, or the option hub.")
        places = [f"Namespace {namespace}", f"Project {namespace}", f"ConfigMap {namespace}/{NAME}"]
        if audit_notes.deleted(mine, hub, places):
            return {
                "changed": False,
                "msg": f"the audit trail was deleted together with the hub's namespace {namespace}",
            }
        return self._append(hub, namespace, params["federation"], entries, required=params["required"])

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
        text = f"the audit trail has {made[-1]['seq']} entries, the hash of the last one is {made[-1]['hash']}"
        result = {
            "changed": True,
            "added": [entry["seq"] for entry in made],
            "hash": made[-1]["hash"],
            "msg": text,
        } | partly
        # Shown without -v as well: the hash should be stored outside of the hub.
        return result | {"warnings": [*warnings, *partly.get("warnings", ())], "_ansible_verbose_always": True}

    @staticmethod
    def _report_unrecorded(text: str, entries: Sequence[Mapping[str, Any]], *, required: bool) -> dict[str, Any]:
        """The part of a result that has what could not be recorded, and why."""
        lost = {"msg": text, "unrecorded": list(entries)}
        return lost | ({"failed": True} if required else {"warnings": [text]})
