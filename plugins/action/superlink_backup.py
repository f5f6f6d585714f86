# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.superlink_backup): copy the hub into an encrypted archive on the control node, or put one back into an emptied hub."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from ansible.release import __version__ as ansible_version

from ansible_collections.federated.flower.plugins.plugin_utils.actions import serving
from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.actions.given_spec import given_spec
from ansible_collections.federated.flower.plugins.plugin_utils.apply.engine import apply_objects
from ansible_collections.federated.flower.plugins.plugin_utils.backup import (
    age_keys,
    archive,
    database,
    hub_archive,
    hub_objects,
    restore_mark,
    volume_pod,
)
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.formats import readable
from ansible_collections.federated.flower.plugins.plugin_utils.base.object_names import DATABASE_CLAIM, SUPERLINK
from ansible_collections.federated.flower.plugins.plugin_utils.checks import variables
from ansible_collections.federated.flower.plugins.plugin_utils.kube import cluster_platform
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import common_objects, outputs, superlink
from ansible_collections.federated.flower.plugins.plugin_utils.marks import owners
from ansible_collections.federated.flower.plugins.plugin_utils.sites import namespaces
from ansible_collections.federated.flower.plugins.plugin_utils.sites.namespace_inspection import inspect_namespace
from ansible_collections.federated.flower.plugins.plugin_utils.spec.hub_spec import HubSpec
from ansible_collections.federated.flower.plugins.plugin_utils.state import audit_notes
from ansible_collections.federated.flower.plugins.plugin_utils.state.ledger import BACKUP, NEW, Ledger

PRESENT, RESTORED = "present", "restored"
_CLAIM = "PersistentVolumeClaim"


class ActionModule(ClusterAction):
    """See the module's documentation."""

    NOTES_MESSAGE = False  # a file on the control node does not change the fleet, and a restore notes what it does
    #: The namespaces that were created for the lease.
    _lease_namespace: Sequence[Mapping[str, str]] = ()
    SPEC = {
        "required_if": [
            ("state", PRESENT, ["directory", "recipients"]),
            ("state", RESTORED, ["archive", "identity", "wait_timeout"]),
        ]
    }

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """See C(hub_archive)."""
        return self._restore(params) if params["state"] == RESTORED else self._back_up(params, task_vars)

    def make_lease_namespace(self, hub: Cluster) -> bool:
        """Nothing else is applied before the lease is taken."""
        if self.params["state"] != RESTORED:
            return False
        objects = common_objects.namespace_objects(given_spec(self, None))
        self._lease_namespace = apply_objects(hub, objects, own_only=True).objects
        return True

    def _back_up(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
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
            measured = hub_archive.measured(hub, namespace, folder)
            if self.check:
                found = hub_archive.contents(len(hub_objects.collect(hub, namespace, place, federation)), measured)
                return {"changed": True, "msg": f"would write {folder / about.file_name}: {found}"}
            hosts = self._inventory(params["hosts"], task_vars)
            path, count, size, keys = hub_archive.write(hub, namespace, place, about, folder, recipients, hosts)
            words = [f"wrote {path}: {hub_archive.contents(count, size)}"]
            if identity is None:
                words.append("it was not verified, because flower_backup_identity is not set")
            else:
                hub_archive.proven(path, identity)
                words.append("decrypted and read it completely")
            # For the metric and the alert: last, when there is a backup.
            ledger = Ledger(hub, namespace, federation)
            known = {*(ledger.read(BACKUP).get("keys") or []), *keys}
            facts = {"at": about.at, "archive": path.name, "bytes": path.stat().st_size, "opened": identity is not None, "keys": sorted(known)}
            ledger.change(BACKUP, lambda _old: facts)
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

    def _restore(self, params: dict[str, Any]) -> dict[str, Any]:
        """Everything that can be refused is refused before the first change. What an interrupted restore did is kept and completed."""
        spec = given_spec(self, None)
        identity = age_keys.identity_of(params["identity"])
        path = Path(params["archive"])
        proven = hub_archive.proven(path, identity, params["sha256"])
        about, content = proven.about, proven.content
        with self.connect() as hub:
            spec = spec.on(cluster_platform.known(hub, spec.platform))
            place = namespaces.resolve_ca_namespace(hub, spec.namespace, params["ca_namespace"])
            warnings = serving.require(self, hub, self.inventory_host, spec.namespace, restores=True)
            if proven.outputs:
                warnings.append(f"{self.inventory_host}: {hub_archive.outputs_warning(path, proven.outputs)}")
            found = Ledger(hub, spec.namespace, spec.federation).identity()
            wrong = hub_archive.errors(path, proven, spec, place, "" if found == NEW else found)
            begun = restore_mark.fault(restore_mark.read(hub, spec.namespace), about.file_name, spec.namespace)
            wrong += filter(None, [begun])
            if wrong:
                raise ClusterError("; ".join(wrong))
            claimed = self._refuse_hub(hub, spec, place, about.file_name)
            absent = hub_objects.missing(hub, content["objects"])
            words = f"{len(absent)} objects and a database of {readable(content['database']['size'])} of {path}"
            if self.check:
                return {"changed": bool(absent) or not claimed, "warnings": warnings, "msg": f"would restore {words}"}

            def put(volume: database.Volume) -> bool:
                done: list[bool] = []

                def take(name: str, size: int, data: BinaryIO) -> None:
                    if name == hub_archive.DATABASE:
                        done.append(database.put(volume, content["database"], data))

                archive.read(path, identity, take)
                return any(done)

            restored = hub_objects.restore(
                hub, spec, place, content["objects"], put,
                source=about.file_name, seconds=params["wait_timeout"],
            )  # fmt: skip
        # Not before: an entry would begin another trail, beside which that of the backup cannot be restored.
        self.note(objects=audit_notes.of_objects([*self._lease_namespace, *restored.objects]))
        changed = bool(restored.objects) or restored.database
        if changed:
            self.note(words=[f"restored {words}"])
        return {
            "changed": changed,
            "warnings": warnings,
            "msg": f"restored {words}. Run site.yml: it deploys the hub with them",
        }

    @staticmethod
    def _refuse_hub(hub: Cluster, spec: HubSpec, place: str, source: str) -> bool:
        """Refuse a hub that is not empty; whether the volume claim of this restore already exists."""
        for name in dict.fromkeys((spec.namespace, place)):
            live = hub.get("v1", "Namespace", name)
            if live is not None and live["metadata"].get("deletionTimestamp"):
                raise ClusterError(f"{hub.name}: namespace {name} is being deleted: run again when it is gone")
        inspect_namespace(hub, SUPERLINK, spec, lambda: superlink.objects(spec.complete()), place, owner=owners.deployment_notes(spec.federation))
        if hub.get("apps/v1", "StatefulSet", SUPERLINK, spec.namespace) is not None:
            lost = ""
            if hub.get("v1", _CLAIM, outputs.CLAIM, spec.namespace) is not None:
                lost = (
                    f". With the namespace, Kubernetes deletes the claim {outputs.CLAIM} with the outputs of runs, which backups do not contain. "
                    "Fetch them first (federated.flower.outputs), or make a snapshot of the volume"
                )
            raise ClusterError(
                f"{hub.name}: namespace {spec.namespace} has a SuperLink, which is not replaced. A backup is restored into an emptied hub: "
                f"delete the hub's namespaces first{lost}"
            )
        live = hub.get("v1", _CLAIM, DATABASE_CLAIM, spec.namespace)
        if fault := volume_pod.claim_fault(live, source):
            raise ClusterError(f"{hub.name}: {fault}")
        return live is not None
