# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.superlink_backup): copy the hub into an encrypted archive on the control node."""

from __future__ import annotations

import datetime
import platform
from pathlib import Path
from typing import Any

from ansible.release import __version__ as ansible_version

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.apply.applyset import TOOL_VERSION
from ansible_collections.federated.flower.plugins.plugin_utils.backup import (
    age_keys,
    archive_writer,
    hub_archive,
    hub_objects,
    inventory,
    retention,
)
from ansible_collections.federated.flower.plugins.plugin_utils.backup.about import About
from ansible_collections.federated.flower.plugins.plugin_utils.backup.database import Copy, Volume
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.sizes import readable
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.ledger.store import NEW, Ledger
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import federation, superlink
from ansible_collections.federated.flower.plugins.plugin_utils.ownership import ca_namespace


class ActionModule(ClusterAction):
    """See the module's documentation."""

    ARGS = {
        "namespace": {"type": "str", "default": "flower"},
        "ca_namespace": {"type": "str", "required": True},
        "federation": {"type": "str", "default": "flower"},
        "directory": {"type": "path", "required": True},
        "recipients": {"type": "list", "elements": "str", "required": True, "no_log": False},
        "identity": {"type": "str", "no_log": True},
        "keep": {"type": "int"},
        "hosts": {"type": "list", "elements": "str", "default": []},
    }
    NEEDS_LEASE = False

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Copy the database first: what a site has registered meanwhile is then missing in the copy, which site.yml corrects."""
        recipients = age_keys.recipients_of(params["recipients"])
        identity = age_keys.identity_of(params["identity"]) if params["identity"] else None
        if params["keep"] is not None and params["keep"] < 1:
            raise ClusterError(f"flower_backup_keep: {params['keep']} is not a number of backups: it is at least 1")
        folder = Path(params["directory"])
        if not folder.is_dir():
            raise ClusterError(f"flower_backup_directory: there is no folder {folder} on the control node: create it")
        with self.connect() as hub:
            about = self._about(hub, params)
            if self.check:
                return {"changed": True, "msg": f"would write {folder / about.file_name}"}
            path, count, size = self._write(hub, params, about, folder, recipients, self._inventory(params["hosts"], task_vars))
            words = [f"wrote {path}: {count} objects and a database of {readable(size)}"]
            if identity is None:
                words.append("it was not opened, since flower_backup_identity is not set")
            else:
                hub_archive.proven(path, identity)
                words.append("opened it and read it to its end")
            # For the metric and the alert: last, when there is a backup.
            facts = {"at": about.at, "archive": path.name, "bytes": path.stat().st_size, "opened": identity is not None}
            Ledger(hub, params["namespace"], params["federation"]).note_backup(facts)
        removed = retention.surplus(folder, about, params["keep"]) if params["keep"] else []
        retention.remove(removed)
        words += [f"removed {one.name}" for one in removed]
        return {
            "changed": True,
            "path": str(path),
            "opened": identity is not None,
            "removed": [str(one) for one in removed],
            "msg": "; ".join(words),
        }

    def _about(self, hub: Cluster, params: dict[str, Any]) -> About:
        publication = hub.get("v1", "ConfigMap", federation.NAME, params["namespace"])
        known = Ledger(hub, params["namespace"], params["federation"]).identity()
        if publication is None or known in ("", NEW):
            raise ClusterError(
                f"{hub.name}: there is no hub of the federation {params['federation']} in namespace {params['namespace']} that can be "
                "backed up: its ledger or its publication is missing. Run site.yml first"
            )
        made = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        return About(params["federation"], known, made, TOOL_VERSION.rpartition("/v")[2], publication["data"]["version"])

    @staticmethod
    def _inventory(hosts: list[str], task_vars: dict[str, Any]) -> bytes:
        """What the variables of the fleet's hosts come to: an inventory that is lost can be written again."""
        known = task_vars["hostvars"]
        versions = {"ansible-core": ansible_version, "python": platform.python_version()}
        return inventory.described(hosts, task_vars["groups"], lambda host: known[host], lambda host, name: known[host][name], versions)

    @staticmethod
    def _write(
        hub: Cluster, params: dict[str, Any], about: About, folder: Path, recipients: list[Any], hosts: bytes
    ) -> tuple[Path, int, int]:
        place = ca_namespace.resolve(hub, params["namespace"], params["ca_namespace"])
        with Copy(Volume(hub, params["namespace"], superlink.POD)) as copy:
            objects = hub_objects.collect(hub, params["namespace"], place, params["federation"])
            database = {"size": copy.size, "sha256": copy.sha256}
            members = [
                archive_writer.member_of(
                    hub_archive.HUB, hub_archive.described(params["namespace"], place, database, objects)
                ),
                archive_writer.member_of(hub_archive.INVENTORY, hosts),
                archive_writer.Member(hub_archive.DATABASE, copy.size, copy),  # type: ignore[arg-type]  # it is read only
            ]
            return archive_writer.write(folder, about, members, recipients), len(objects), copy.size
