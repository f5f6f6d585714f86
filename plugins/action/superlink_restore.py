# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.superlink_restore): put a hub's database, Secrets and ConfigMaps back into an emptied hub."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

from ansible_collections.federated.flower.plugins.plugin_utils.actions import serving
from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.actions.given_spec import given_spec
from ansible_collections.federated.flower.plugins.plugin_utils.apply.engine import apply_objects
from ansible_collections.federated.flower.plugins.plugin_utils.audit import notes
from ansible_collections.federated.flower.plugins.plugin_utils.backup import (
    age_keys,
    archive_reader,
    database,
    hub_archive,
    hub_objects,
    output_choice,
    output_restore,
    restore_mark,
    volume_pod,
)
from ansible_collections.federated.flower.plugins.plugin_utils.backup.volume_files import Place
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.object_names import DATABASE_CLAIM, SUPERLINK
from ansible_collections.federated.flower.plugins.plugin_utils.base.sizes import readable
from ansible_collections.federated.flower.plugins.plugin_utils.kube import cluster_platform
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.ledger.store import NEW, Ledger
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import namespace, outputs, superlink
from ansible_collections.federated.flower.plugins.plugin_utils.marks import record
from ansible_collections.federated.flower.plugins.plugin_utils.ownership import ca_namespace
from ansible_collections.federated.flower.plugins.plugin_utils.ownership.look import look
from ansible_collections.federated.flower.plugins.plugin_utils.spec.hub_spec import HubSpec

_CLAIM = "PersistentVolumeClaim"


class ActionModule(ClusterAction):
    """See the module's documentation."""

    ARGS = {
        "spec": {"type": "dict", "required": True},
        "ca_namespace": {"type": "str", "required": True},
        "archive": {"type": "path", "required": True},
        "identity": {"type": "str", "required": True, "no_log": True},
        "sha256": {"type": "str", "default": ""},
        "outputs": {"type": "bool", "default": True},
        "wait_timeout": {"type": "int", "default": 300},
    }

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Everything that can be refused is refused before the first change. What an interrupted restore did is kept and completed."""
        spec = given_spec(self, params["spec"])
        identity = age_keys.identity_of(params["identity"])
        path = Path(params["archive"])
        proven = hub_archive.proven(path, identity, params["sha256"])
        about, content = proven.about, proven.content
        files = proven.outputs if params["outputs"] else {}
        with self.connect() as hub:
            spec = spec.on(cluster_platform.known(hub, spec.platform))
            place = ca_namespace.resolve(hub, spec.namespace, params["ca_namespace"])
            unknown = serving.require(self, hub, self.inventory_host, spec.namespace, restores=True)
            found = Ledger(hub, spec.namespace, spec.federation).identity()
            wrong = hub_archive.faults(path, about, content, spec, place, "" if found == NEW else found)
            begun = restore_mark.fault(restore_mark.read(hub, spec.namespace), about.file_name, spec.namespace)
            wrong += [*filter(None, [begun, self._outputs_fault(hub, spec, path) if files else ""])]
            if wrong:
                raise ClusterError("; ".join(wrong))
            claimed = self._refuse_hub(hub, spec, place, about.file_name, has_outputs=bool(proven.outputs))
            absent = hub_objects.missing(hub, content["objects"])
            words = f"{len(absent)} objects and a database of {readable(content['database']['size'])} of {path}"
            if self.check:
                more = f", and {output_restore.words_of(files)}" if files else ""
                return {"changed": bool(absent) or not claimed, "msg": f"would restore {words}{more}"}
            objects = self._make(hub, self._namespaces(spec, place))
            with restore_mark.marked(hub, spec.namespace, spec.federation, about.file_name):
                objects += self._make(hub, outputs.objects(spec) if files else [])
                objects += self._restore_objects(hub, absent)
                if not claimed:
                    hub.create(volume_pod.claim(spec, about.file_name))
                with volume_pod.Holder(hub, spec, params["wait_timeout"]) as volume:
                    put = self._put(volume, content, path, identity)
                restored = output_restore.Restored()
                if files:
                    with volume_pod.Holder(hub, spec, params["wait_timeout"], volume_pod.outputs_pod(spec)) as volume:
                        there = Place(volume.cluster, volume.namespace, volume.pod, volume.container)
                        restored = output_restore.put(there, path, identity, files, self.say)
                    words += f", and {restored.words}"
        changed = bool(objects) or not claimed or put or bool(restored.files)
        if changed:
            self.note(words=[f"restored {words}"])
        return {
            "changed": changed,
            "outputs_kept": restored.kept,
            "warnings": unknown + ([self._kept(restored.kept, spec)] if restored.kept else []),
            "msg": f"restored {words}. Run site.yml: it deploys the hub with them",
        }

    @staticmethod
    def _outputs_fault(hub: Cluster, spec: HubSpec, path: Path) -> str:
        """Why outputs of an archive cannot be restored: a sentence; empty if they can."""
        remedy = "or leave them out with flower_restore_outputs: false"
        if not spec.outputs_enabled:
            return f"{path} has outputs of runs, and superlink_outputs_enabled is false: set it, {remedy}"
        if spec.outputs_claim and hub.get("v1", _CLAIM, spec.outputs_claim, spec.namespace) is None:
            return (
                f"{path} has outputs of runs, and there is no volume claim {spec.namespace}/{spec.outputs_claim} (superlink_outputs_claim): create it, "
                f"{remedy}"
            )
        return ""

    def _kept(self, paths: list[str], spec: HubSpec) -> str:
        return (
            f"{self.inventory_host}: outputs that were not restored, since the volume {outputs.claim_name(spec)} has others in their places, which stay: "
            f"{output_choice.named(paths)}"
        )

    @staticmethod
    def _refuse_hub(hub: Cluster, spec: HubSpec, place: str, source: str, *, has_outputs: bool) -> bool:
        """Refuse a hub that is not empty; whether the volume claim of this restore is there already."""
        for name in dict.fromkeys((spec.namespace, place)):
            live = hub.get("v1", "Namespace", name)
            if live is not None and live["metadata"].get("deletionTimestamp"):
                raise ClusterError(f"{hub.name}: namespace {name} is being deleted: run again when it is gone")
        look(hub, SUPERLINK, spec, lambda: superlink.objects(spec.complete()), place, owner=record.notes(spec.federation))
        if hub.get("apps/v1", "StatefulSet", SUPERLINK, spec.namespace) is not None:
            lost = ""
            if not has_outputs and hub.get("v1", _CLAIM, outputs.CLAIM, spec.namespace) is not None:
                lost = (
                    f". With the namespace, Kubernetes deletes the claim {outputs.CLAIM} with the outputs of runs, of which {source} has none: before "
                    "that, fetch them (federated.flower.outputs), or make a backup with them (flower_backup_outputs)"
                )
            raise ClusterError(
                f"{hub.name}: namespace {spec.namespace} has a SuperLink, which is not replaced. A backup is restored into an emptied hub: "
                f"delete the hub's namespaces first{lost}"
            )
        live = hub.get("v1", _CLAIM, DATABASE_CLAIM, spec.namespace)
        fault = volume_pod.claim_fault(live, source)
        if fault:
            raise ClusterError(f"{hub.name}: {fault}")
        return live is not None

    @staticmethod
    def _namespaces(spec: HubSpec, place: str) -> list[dict[str, Any]]:
        return namespace.objects(spec) + (namespace.objects(spec.beside(place)) if place != spec.namespace else [])

    def _make(self, hub: Cluster, wanted: list[dict[str, Any]]) -> list[dict[str, str]]:
        done = notes.of_objects(apply_objects(hub, wanted).objects) if wanted else []
        self.note(objects=done)
        return done

    def _restore_objects(self, hub: Cluster, absent: list[Any]) -> list[dict[str, str]]:
        done: list[dict[str, str]] = []
        for one in absent:
            written = notes.of_objects([hub_objects.restore(hub, one)])
            self.note(objects=written)
            done += written
        return done

    @staticmethod
    def _put(volume: database.Volume, content: dict[str, Any], path: Path, identity: Any) -> bool:
        put = False

        def take(name: str, size: int, data: BinaryIO) -> None:
            nonlocal put
            if name == hub_archive.DATABASE:
                put = database.put(volume, content["database"], data)

        archive_reader.read(path, take, identity)
        return put
