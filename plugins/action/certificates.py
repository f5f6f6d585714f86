# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.certificates): the hub's CA, certificates and shared secrets."""

from __future__ import annotations

import datetime
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils import pki
from ansible_collections.federated.flower.plugins.plugin_utils.action_base import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.apply.engine import apply_objects
from ansible_collections.federated.flower.plugins.plugin_utils.cluster import Cluster, ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.hub import clients, credentials, settings
from ansible_collections.federated.flower.plugins.plugin_utils.hub.client_store import ClientStore
from ansible_collections.federated.flower.plugins.plugin_utils.hub.look import look
from ansible_collections.federated.flower.plugins.plugin_utils.hub.sources.choice import choose
from ansible_collections.federated.flower.plugins.plugin_utils.hub.wanted import Wanted, secret_ref
from ansible_collections.federated.flower.plugins.plugin_utils.ledger.store import Ledger
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import exposure, namespace
from ansible_collections.federated.flower.plugins.plugin_utils.manifests.common import certificate_names, split_address


class ActionModule(ClusterAction):
    """See the module's documentation."""

    ARGS = {
        "spec": {"type": "dict", "required": True},
        "ca_namespace": {"type": "str", "required": True},
        "certificates": {"type": "dict", "default": {}, "options": settings.OPTIONS},
        "ca_lifetime_days": {"type": "int", "default": 3650},
        "client_lifetime_days": {"type": "int", "default": 90},
        "wait_timeout": {"type": "int", "default": 300},
    }

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Find the address, make what is missing, say what there is."""
        spec = params["spec"]
        with self.connect() as hub:
            address = self._address(hub, spec)
            names = certificate_names({**spec, "superlink_address": address}, [address])
            wanted = Wanted(
                federation=spec["federation"],
                namespace=spec["namespace"],
                ca_namespace=params["ca_namespace"],
                names=[*names["dns"], *names["ip"]],
                lifetime=datetime.timedelta(days=params["certificates"]["days"]),
                ca_lifetime=datetime.timedelta(days=params["ca_lifetime_days"]),
                renew_before=settings.duration(params["certificates"]["renew_before"]),
            )
            source = choose(params["certificates"])
            told = clients.Settings(
                spec["federation"], spec["namespace"], params["ca_namespace"], params["client_lifetime_days"]
            )
            client_ca = secret_ref(told.ca_namespace, clients.CA)
            seen = look(hub, source, wanted, [*credentials.reads(wanted), client_ca])
            made = credentials.plan(wanted, seen)
            plan = source.plan(wanted, seen)
            own = clients.authority(told, seen[client_ca], wanted.ca_lifetime)
            objects = [*made.secrets, *plan.objects, *own.secrets]
            missing = self._ca_namespace(hub, spec, params["ca_namespace"]) if objects else []
            outcome = apply_objects(hub, [*missing, *objects], check=self.check)
            ledger = Ledger(hub, told.namespace, told.federation, check=self.check)
            store = ClientStore(hub, told.namespace, ledger, check=self.check)
            if store.publish(told, own.ca):
                made.reasons.append(f"{clients.CONFIG}: the gateway's files on sites differed")
                store.hand_out()
            made.certificates += own.certificates
            made.reasons += own.reasons
        gateway = {"name": plan.secret, "namespace": wanted.namespace, **pki.describe(plan.certificate)}
        return {
            "changed": outcome.changed or bool(store.diff),
            "diff": [*outcome.diff, *store.diff],
            "address": address,
            "host": split_address(address)[0],
            "ca_bundle": plan.trust,
            "secret": plan.secret,
            "certificates": [gateway, *made.certificates],
            "objects": [*outcome.objects, *store.objects],
            "msg": "; ".join([*made.reasons, *plan.reasons]) or "all certificates are good",
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
    def _ca_namespace(hub: Cluster, spec: dict[str, Any], name: str) -> list[dict[str, Any]]:
        wanted = namespace.objects({**spec, "namespace": name})
        if not wanted or hub.get("v1", "Namespace", name) is not None:
            return []
        return wanted
