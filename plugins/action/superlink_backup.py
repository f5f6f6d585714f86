# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.superlink_backup): copy the hub into an encrypted archive on the control node."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

from ansible.release import __version__ as ansible_version

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.backup import (
    age_keys,
    archive,
    hub_archive,
    hub_objects,
)
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.checks import variables
from ansible_collections.federated.flower.plugins.plugin_utils.sites import namespaces
from ansible_collections.federated.flower.plugins.plugin_utils.state.ledger import BACKUP, Ledger


class ActionModule(ClusterAction):
    """See the module's documentation."""

    NOTES_MESSAGE = False  # a file on the control node does not change the fleet
    ARGS = {
        "namespace": {"type": "str"},
        "ca_namespace": {"type": "str", "required": True},
        "federation": {"type": "str"},
        "directory": {"type": "path", "required": True},
        "recipients": {"type": "list", "elements": "str", "required": True, "no_log": False},
        "identity": {"type": "str", "no_log": True},
        "keep": {"type": "int"},
        "hosts": {"type": "list", "elements": "str", "default": []},
    }

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """See C(hub_archive)."""
        recipients = age_keys.recipients_of(params["recipients"])
        identity = age_keys.identity_of(params["identity"]) if params["identity"] else None
        if identity is not None:
            age_keys.require_recipient(identity, recipients)
        if params["keep"] is not None and params["keep"] < 1:
            raise ClusterError(f"flower_backup_keep: {params['keep']} is not a number of backups: it is at least 1")
        if refused := variables.removed(self.inventory_host, task_vars):
            raise ClusterError("\n".join(refused))
        folder = Path(params["directory"])
        namespace, federation = params["namespace"], params["federation"]
        with self.connect() as hub:
            about = hub_archive.about(hub, namespace, federation)
            place = namespaces.resolve_ca_namespace(hub, namespace, params["ca_namespace"])
            database = hub_archive.measured(hub, namespace, folder)
            if self.check:
                found = hub_archive.contents(len(hub_objects.collect(hub, namespace, place, federation)), database)
                return {"changed": True, "msg": f"would write {folder / about.file_name}: {found}"}
            hosts = self._inventory(params["hosts"], task_vars)
            path, count, size, keys = hub_archive.write(hub, namespace, place, about, folder, recipients, hosts)
            words = [f"wrote {path}: {hub_archive.contents(count, size)}"]
            if identity is None:
                words.append("it was not opened, since flower_backup_identity is not set")
            else:
                hub_archive.proven(path, identity)
                words.append("opened it and read it to its end")
            # For the metric and the alert: last, when there is a backup.
            ledger = Ledger(hub, namespace, federation)
            known = {*(ledger.read_backup().get("keys") or []), *keys}
            facts = {"at": about.at, "archive": path.name, "bytes": path.stat().st_size, "opened": identity is not None, "keys": sorted(known)}
            ledger.note_backup(facts)
            if lost := sorted(known - {*keys}):
                raise ClusterError(
                    f"wrote {path}, which lacks {', '.join(lost)}: these Secrets with keys of certificate authorities are not in namespace {place} any more, "
                    "and an earlier backup has them. Older archives stay. Put the Secrets back from one of them (in its hub.json); or, if they are not "
                    f"needed any more, delete the ConfigMap {namespace}/{BACKUP}, and run again"
                )
        surplus = archive.surplus(folder, about, params["keep"]) if params["keep"] else []
        kept = archive.remove(surplus)
        removed = [one for one in surplus if one not in kept]
        words += [f"removed {one.name}" for one in removed]
        warnings = [f"{self.inventory_host}: flower_backup_keep: {one} cannot be removed: {why}" for one, why in kept.items()]
        return {
            "changed": True,
            "path": str(path),
            "opened": identity is not None,
            "warnings": warnings,
            "removed": [str(one) for one in removed],
            "msg": "; ".join(words),
        }

    @staticmethod
    def _inventory(hosts: list[str], task_vars: dict[str, Any]) -> bytes:
        """What the variables of the fleet's hosts come to: an inventory that is lost can be written again."""
        versions = {"ansible-core": ansible_version, "python": platform.python_version()}
        return hub_archive.host_variables(hosts, task_vars["groups"], task_vars["hostvars"].__getitem__, versions)
