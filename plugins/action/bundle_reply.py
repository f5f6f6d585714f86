# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.bundle_reply): take the reply of a site that gives no access."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.base import foreign_data
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.names import PUBLIC_KEYS
from ansible_collections.federated.flower.plugins.plugin_utils.base.object_names import BUNDLE
from ansible_collections.federated.flower.plugins.plugin_utils.pki import library
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.client_store import ClientStore
from ansible_collections.federated.flower.plugins.plugin_utils.site_keys import reported
from ansible_collections.federated.flower.plugins.plugin_utils.sites.bundle_keeper import Keeper
from ansible_collections.federated.flower.plugins.plugin_utils.state.ledger import Ledger, site_name_error

_LARGEST = 4 * 1024 * 1024  # a ConfigMap has up to 1 MiB, and may be indented


class ActionModule(ClusterAction):
    """See the module's documentation."""

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Check everything, then keep the reply at the hub: the step that deploys the site goes on from there."""
        library.require()
        path = Path(params["file"])
        try:
            answer = reported.opened(self._read(path))
        except ClusterError as error:
            raise ClusterError(f"flower_bundle_reply: {path}: {error.message}") from error
        site, version = str(answer.binding["site"]), answer.binding["version"]
        if site_name_error(site) or site not in params["sites"]:
            listed = ", ".join(params["sites"]) or "none"
            raise ClusterError(
                f"flower_bundle_reply: {path} is the reply of {site[:63]!r}, and the sites of this run are {listed}. Add the host to the inventory, or "
                "correct --limit."
            )
        if self.access_of(site).delivery != BUNDLE:
            raise ClusterError(f"{site}: flower_delivery is {self.access_of(site).delivery!r}: only sites with flower_delivery: bundle send a reply.")
        with self.connect(params["hub"]) as hub:
            ledger = Ledger(hub, params["hub_namespace"], params["federation"], check=self.check)
            store = ClientStore(hub, params["hub_namespace"], ledger, note=self.note, check=self.check)
            keeper = Keeper(site, ledger, store, check=self.check)
            if fault := keeper.fault(answer, params["fingerprint"]):
                raise ClusterError(f"{site}: {path} is refused: {fault}.")
            changed = keeper.take(answer)
            if changed and not self.check:
                self.note(site, words=[f"reply to bundle version {version} imported, fingerprint {answer.fingerprint}"])
        advice = (
            f"{site}: the fingerprint of the reply was not verified. Ask the site's administrators for theirs, and compare it with {answer.fingerprint}. "
            "-e flower_bundle_fingerprint='...' makes the playbook compare it."
        )
        return {
            "changed": changed,
            "site": site,
            "version": version,
            "fingerprint": answer.fingerprint,
            "warnings": [advice] if changed and not params["fingerprint"] else [],
            "msg": f"{site} has answered bundle version {version}; the fingerprint of its reply is {answer.fingerprint}",
        }

    @staticmethod
    def _read(path: Path) -> Any:
        try:
            if path.stat().st_size > _LARGEST:
                raise ClusterError("it exceeds the maximum size of a reply")
            return foreign_data.read_json(path.read_bytes())
        except (OSError, ValueError) as error:
            raise ClusterError(
                f"it cannot be read: {str(error).splitlines()[0]}. It must be JSON: kubectl get configmap {PUBLIC_KEYS} -n NAMESPACE -o json > reply.json"
            ) from error
