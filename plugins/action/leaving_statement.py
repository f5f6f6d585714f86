# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.leaving_statement): state what became of a site that left, signed with the key of the CA of the client certificates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.actions.run_facts import now
from ansible_collections.federated.flower.plugins.plugin_utils.audit import signed_files
from ansible_collections.federated.flower.plugins.plugin_utils.audit import statement as leaving
from ansible_collections.federated.flower.plugins.plugin_utils.audit.hash_chain import Entry, verify
from ansible_collections.federated.flower.plugins.plugin_utils.audit.trail import NAME, Trail
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.hub import clients
from ansible_collections.federated.flower.plugins.plugin_utils.hub.client_store import ClientStore
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.ledger.store import Ledger
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates, library, signatures


class ActionModule(ClusterAction):
    """See the module's documentation."""

    NEEDS_LEASE = False  # nothing in a cluster is changed
    HUB_BY_GROUP = True
    ARGS = {
        "hub": {"type": "str"},
        "hub_namespace": {"type": "str"},
        "site": {"type": "str"},
        "directory": {"type": "path"},
        "file": {"type": "path"},
    }
    SPEC = {
        "required_one_of": [("site", "file")],
        "mutually_exclusive": [("site", "file"), ("directory", "file")],
        "required_together": [("site", "directory")],
    }

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Make a statement, or verify one."""
        library.require()
        hub = params["hub"] or self.hub_host() or None
        namespace = params["hub_namespace"]
        with self.connect(hub) as cluster:
            verdict = verify(*Trail(cluster, namespace, "").read(), [])
            if verdict.fault:
                raise ClusterError(
                    f"the audit trail {namespace}/{NAME} on {cluster.name} is not complete: {verdict.fault}. Nothing can be proven by it."
                )
            if params["file"]:
                return self._verify(cluster, namespace, Path(params["file"]), verdict.entries)
            return self._make(cluster, namespace, params["site"], Path(params["directory"]), verdict.entries)

    def _make(
        self, cluster: Cluster, namespace: str, site: str, folder: Path, trail: list[Entry]
    ) -> dict[str, Any]:
        live, ca = self._authority(cluster, namespace)
        records, faults = Ledger(cluster, namespace, "", check=True).read_sites()
        if site in records or site in faults:
            raise ClusterError(
                f"{site} is still in the ledger of the federation on {cluster.name}. Remove it first: federated.flower.teardown --limit {site} "
                "-e flower_teardown=true"
            )
        if not leaving.entries_of(trail, site):
            raise ClusterError(
                f"the audit trail {namespace}/{NAME} on {cluster.name} has no entry on the leaving of {site!r}. "
                "flower_site is the inventory name of a site that was removed."
            )
        where = f"{cluster.name}, namespace {namespace}"
        statement = leaving.state(trail, site, federation=live.federation, hub=where, time=now())
        data = signed_files.content(statement)
        path = folder / f"{site}-entry-{statement['entries'][-1]['entry']}.json"
        if folder.exists() and not folder.is_dir():
            raise ClusterError(f"flower_statement_directory: {folder} is not a directory. Name another one.")
        if not folder.parent.is_dir():
            raise ClusterError(f"flower_statement_directory: there is no directory {folder.parent}, in which {folder.name} is created. Correct the path.")
        signer = certificates.describe(ca.certificate)["fingerprint"]
        facts = {"file": str(path), "signer": signer}
        if path.exists() and (there := self._unchanged(path, statement, ca)):
            return {"changed": False, "statement": there, "text": leaving.text(there).splitlines(), **facts, "msg": f"{path} has it already"}
        if not self.check:
            parts = {
                path.suffix: data,
                signed_files.TEXT: leaving.text(statement).encode(),
                signed_files.SIGNATURE: signatures.sign(data, ca.key),
                signed_files.CERTIFICATE: certificates.first(ca.certificate).encode(),
            }
            signed_files.write(path, parts)
        word = "would be written to" if self.check else "is in"
        return {
            "changed": True,
            "statement": statement,
            "text": leaving.text(statement).splitlines(),
            **facts,
            "msg": f"the statement on {site} {word} {path}, signed by the CA {signer}",
        }

    @staticmethod
    def _unchanged(path: Path, statement: leaving.Statement, ca: certificates.Issued) -> leaving.Statement | None:
        """The statement of an earlier run, if it says the same but for its time."""
        there, data, signature, _certificate = signed_files.read(path)
        same = {**there, "time": ""} == {**statement, "time": ""}
        return there if same and signatures.is_valid(data, signature, ca.certificate) else None

    def _verify(self, cluster: Cluster, namespace: str, path: Path, trail: list[Entry]) -> dict[str, Any]:
        statement, data, signature, certificate = signed_files.read(path)
        _settings, ca = self._authority(cluster, namespace)
        faults = []
        try:
            if not signatures.is_valid(data, signature, ca.certificate):
                own = signatures.is_valid(data, signature, certificate)
                faults.append(
                    "it is signed by another CA than that of this federation"
                    if own
                    else "its signature does not fit: it was changed after it was signed, or the CA's key is another one now"
                )
            elif statement.get("format") != leaving.FORMAT:
                faults.append(f"its format is {statement.get('format')!r}, not {leaving.FORMAT}")
            elif difference := leaving.differing(statement, trail):
                faults.append(difference)
        except ValueError as error:
            faults.append(f"the certificate beside it cannot be used: {error}")
        signer = certificates.describe(ca.certificate)["fingerprint"]
        fault = f"{path}: {faults[0]}" if faults else ""
        return {
            "changed": False,
            "valid": not faults,
            "fault": fault,
            "statement": statement,
            "text": [] if faults else leaving.text(statement).splitlines(),
            "file": str(path),
            "signer": signer,
            "msg": fault or f"{path} is what the CA {signer} of {cluster.name} signed on {statement['time']}, and the audit trail says the same",
        }

    def _authority(self, cluster: Cluster, namespace: str) -> tuple[clients.Settings, certificates.Issued]:
        """Settings of the hub, and the CA of its client certificates.

        Raises:
            ClusterError: the federation has none.
        """
        store = ClientStore(cluster, namespace, Ledger(cluster, namespace, "", check=True), note=self.note, check=True)
        live = store.read()
        if live is None:
            raise ClusterError(
                f"the federation in namespace {namespace} on {cluster.name} has no CA of client certificates that could sign a statement: "
                "it is not there, or superlink_client_certificates is none."
            )
        settings = store.settings(live)
        return settings, store.authority(settings)
