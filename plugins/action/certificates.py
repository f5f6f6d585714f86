# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.certificates): the hub's CA, certificates and shared secrets."""

from __future__ import annotations

import datetime
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.action_base import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.apply.engine import apply_objects
from ansible_collections.federated.flower.plugins.plugin_utils.cluster import Cluster, ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.hub import credentials
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import exposure, namespace
from ansible_collections.federated.flower.plugins.plugin_utils.manifests.common import certificate_names, split_address


class ActionModule(ClusterAction):
    """See the module's documentation."""

    ARGS = {
        "spec": {"type": "dict", "required": True},
        "ca_namespace": {"type": "str", "required": True},
        "lifetime_days": {"type": "int", "default": 90},
        "ca_lifetime_days": {"type": "int", "default": 3650},
    }

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Find the address, make what is missing, say what there is."""
        spec = params["spec"]
        with self.connect() as hub:
            address = self._address(hub, spec)
            names = certificate_names({**spec, "superlink_address": address}, [address])
            wanted = credentials.Wanted(
                federation=spec["federation"],
                namespace=spec["namespace"],
                ca_namespace=params["ca_namespace"],
                names=[*names["dns"], *names["ip"]],
                lifetime=datetime.timedelta(days=params["lifetime_days"]),
                ca_lifetime=datetime.timedelta(days=params["ca_lifetime_days"]),
            )
            plan = credentials.plan(wanted, self._live(hub, wanted))
            missing = self._ca_namespace(hub, spec, params["ca_namespace"]) if plan.secrets else []
            outcome = apply_objects(hub, [*missing, *plan.secrets], check=self.check)
            made = {(secret["metadata"]["namespace"], secret["metadata"]["name"]) for secret in plan.secrets}
            self.note(
                certificates=[
                    {key: certificate[key] for key in ("name", "serial", "fingerprint", "not_after")}
                    for certificate in plan.certificates
                    if (certificate["namespace"], certificate["name"]) in made
                ]
            )
        return {
            "changed": outcome.changed,
            "diff": outcome.diff,
            "address": address,
            "host": split_address(address)[0],
            "ca_bundle": plan.ca_bundle,
            "certificates": plan.certificates,
            "objects": outcome.objects,
            "msg": "; ".join(plan.reasons) or "all certificates are good",
        }

    def _address(self, hub: Cluster, spec: dict[str, Any]) -> str:
        if spec.get("superlink_address"):
            return exposure.address(spec)
        live = [hub.get("v1", "Service", exposure.SERVICE, spec["namespace"])]
        if spec["exposure"] == "route":
            live.append(hub.get("route.openshift.io/v1", "Route", exposure.SERVICE, spec["namespace"]))
        if spec["exposure"] == "node_port":
            live += [{"kind": "Node", **node} for node in hub.list("v1", "Node")]
        found = exposure.address(spec, [item for item in live if item])
        if found:
            return found
        if self.check:
            return credentials.UNKNOWN_ADDRESS
        raise ClusterError(
            f"nothing gives the SuperLink on {hub.name} an address (superlink_exposure is {spec['exposure']}); "
            "set superlink_address to the host:port that the sites dial, or choose another superlink_exposure."
        )

    @staticmethod
    def _live(hub: Cluster, wanted: credentials.Wanted) -> dict[tuple[str, str], dict[str, Any]]:
        found = {}
        for where in (wanted.namespace, wanted.ca_namespace):
            for secret in hub.list("v1", "Secret", where, labels=f"app.kubernetes.io/component={credentials.CREDENTIALS}"):
                found[(where, secret["metadata"]["name"])] = secret
        return found

    @staticmethod
    def _ca_namespace(hub: Cluster, spec: dict[str, Any], name: str) -> list[dict[str, Any]]:
        wanted = namespace.objects({**spec, "namespace": name})
        if not wanted or hub.get("v1", "Namespace", name) is not None:
            return []
        return wanted
