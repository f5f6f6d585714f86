# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The hub's CA, certificates and shared secrets."""

from __future__ import annotations

import datetime
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..apply.engine import apply_objects
from ..base.addresses import split_address
from ..base.errors import ClusterError
from ..base.names import METRICS
from ..base.object_names import FEDERATION_CONFIG, SUPERLINK, UNKNOWN_ADDRESS
from ..base.secret_data import entries
from ..checks import hub_volumes
from ..kube import stuck_pods
from ..kube.client import Cluster
from ..manifests import common_objects, network_policies
from ..marks import proof
from ..pki import certificates, library
from ..rotation import authority, clients, clocks, internal_secrets, secrets_rotation
from ..rotation.authority import hand_over
from ..rotation.certificate_plan import LiveObjects, Plan, Wanted
from ..rotation.client_store import ClientStore
from ..rotation.hub_steps import issued_facts
from ..sites import namespaces
from ..spec.hub_spec import HubSpec
from ..state.ledger import Ledger
from .hub_action import CertificateAction

APPLYSET = "superlink"


class HubCertificates(CertificateAction):
    """An action that issues the hub's certificates."""

    def issue_missing(self, spec: HubSpec, params: Mapping[str, Any]) -> dict[str, Any]:
        """Find the address of the gateway, create the Secrets that are missing or no longer valid, wait for those that others create.

        Namespace and Services of the hub exist. If sites do not trust the CA of a new certificate yet, the gateway keeps its certificate and both CAs
        are published; the next run continues from there.

        Returns:
            C(changed), C(diff), C(warnings), C(objects) and C(msg) as in a result, and C(address), C(names), C(server_name), C(ca_bundle),
            C(secret), C(storage_size), and facts of certificates.

        Raises:
            ClusterError: sites would reject the certificate, or it was not issued in time.
        """
        library.require()
        with self.connect() as hub:
            place = namespaces.resolve_ca_namespace(hub, spec.namespace, params["ca_namespace"])
            params = {**params, "spec": spec, "ca_namespace": place}
            self.check_denials(hub, spec, params["sites"])  # the preflight has warned
            found = self.address(hub, spec)
            if not (found or self.check):
                raise ClusterError(
                    f"the SuperLink on {hub.name} has no address (superlink_exposure is {spec.exposure}); "
                    "set superlink_address to the host:port to which the sites connect, or select another superlink_exposure."
                )
            address = found or UNKNOWN_ADDRESS
            doubts: list[str] = []
            wanted = self.wanted(hub, params, found, doubts)
            live = LiveObjects(hub, (wanted.namespace, wanted.ca_namespace))
            own, plan = internal_secrets.plan(wanted, live), self.plan(params, wanted, found, live)
            self.refuse_faults(hub, plan, wanted)
            if own.secrets:
                clocks.require_clock(hub)
            outcomes = []
            if plan.members:  # further objects of the release, and what must exist before the rest of it
                of_set: dict[str, Any] = {"applyset": APPLYSET, "applyset_namespace": wanted.namespace, "prune": False}
                outcomes.append(apply_objects(hub, plan.members, check=self.check, show_diff=self.show_diff, **of_set))
            if plan.pending and not self.check:
                live, plan = self._wait(hub, params, wanted, found)
                self.refuse_faults(hub, plan, wanted)
            now = datetime.datetime.now(datetime.timezone.utc)
            workload = live.get("apps/v1", "StatefulSet", wanted.namespace, SUPERLINK)
            mounted = authority.mounted_secret(workload)
            served = live.entries(wanted.namespace, mounted).get("tls.crt", "") if mounted else ""
            published = authority.published_bundle(live.get("v1", "ConfigMap", wanted.namespace, FEDERATION_CONFIG))
            shown = hand_over(plan, published, mounted, served, now, forget=params["forget_cas"])
            tracking = internal_secrets.tracking_secrets(spec, params["tracking_credentials"])
            secrets = [*own.secrets, *shown.secrets, *tracking, *self._metrics(hub, spec, own.ca)]
            around = self._ca_namespace(hub, wanted, spec)
            outcomes.append(apply_objects(hub, [*around, *secrets], check=self.check))
            self.note(certificates=[issued_facts(item["metadata"]["name"], pem) for item in secrets if (pem := entries(item).get("tls.crt"))])
            ledger = Ledger(hub, wanted.namespace, wanted.federation, check=self.check)
            store = ClientStore(hub, wanted.namespace, ledger, note=self.note, check=self.check)
            settings = clients.Settings(wanted.federation, wanted.namespace, wanted.ca_namespace, params["client_certificate_days"])
            if store.publish(settings, own.client_ca):
                own.reasons.append(f"{clients.CONFIG}: the gateway's files on sites differed")
                store.load_now()
            if (plan.managed_elsewhere or shown.secrets) and shown.certificate and not self.check:
                # By fingerprint: a certificate that someone else wrote to the Secret meanwhile is loaded by the first run that sees it.
                marks = {authority.NOTE: certificates.describe(shown.certificate)["fingerprint"]}
                stuck_pods.touch_pods(hub, wanted.namespace, proof.pods_query(wanted.federation, SUPERLINK), marks=marks)
            restarted = [] if self.check else secrets_rotation.restart_pods_with_old_secrets(hub, wanted.namespace, wanted.federation, self.note)
            if not self.check and internal_secrets.is_tracking_changed(outcomes[-1].objects):
                shown.warnings.append(internal_secrets.TRACKING_WORDS)
        certificate = {"name": shown.secret, "namespace": wanted.namespace, "source": spec.certificates_source}
        if shown.certificate:
            certificate.update(certificates.describe(shown.certificate))
        reasons = [*own.reasons, *(plan.reasons if shown.secrets else [])]
        reasons += [f"pod {name} was restarted, because it used outdated Secrets" for name in restarted]
        return {
            "changed": any(outcome.changed for outcome in outcomes) or bool(store.diff or restarted),
            "diff": [entry for outcome in outcomes for entry in outcome.diff] + store.diff,
            "warnings": [f"{self.inventory_host}: {warning}" for warning in [*doubts, *shown.warnings, *store.warnings]],
            "address": address,
            "host": split_address(address)[0],
            "names": list(wanted.names),
            "server_name": replace(spec, superlink_address=address).verified_name,
            "ca_bundle": shown.trust,
            "secret": shown.secret,
            "storage_size": hub_volumes.created_size(workload),
            "certificate": certificate,
            "trust": [certificates.describe(part) for part in certificates.split(shown.trust)],
            "certificates": own.certificates,
            "objects": [item for outcome in outcomes for item in outcome.objects] + store.objects,
            "msg": "; ".join(reasons) or plan.pending or "all certificates are good",
        }

    @staticmethod
    def with_issued(spec: HubSpec, issued: Mapping[str, Any]) -> HubSpec:
        """The specification with what C(issue_missing) returned."""
        return replace(
            spec,
            superlink_address=issued["address"] or spec.superlink_address,
            ca_bundle=issued["ca_bundle"] or spec.ca_bundle,
            gateway_secret=issued["secret"],
            gateway_names=issued["names"],
            created_storage_size=issued["storage_size"],
        )

    def _wait(self, hub: Cluster, params: Mapping[str, Any], wanted: Wanted, address: str) -> tuple[LiveObjects, Plan]:
        """Plan again until nothing is pending."""
        deadline = time.monotonic() + params["wait_timeout"]
        while True:
            live = LiveObjects(hub, (wanted.namespace, wanted.ca_namespace))
            plan = self.plan(params, wanted, address, live)
            if not plan.pending:
                return live, plan
            if plan.hopeless:
                raise ClusterError(f"{plan.pending}. Correct it and run again.")
            if time.monotonic() >= deadline:
                raise ClusterError(f"{plan.pending}, after {params['wait_timeout']:g} s (superlink_wait_timeout).")
            time.sleep(1)  # between two reads, until the deadline

    @staticmethod
    def _metrics(hub: Cluster, spec: HubSpec, ca: certificates.Issued) -> list[dict[str, Any]]:
        """The Secret of the gateway's port for metrics, if it must be written."""
        if not spec.metrics.enabled:
            return []
        live, owner = (hub.get("v1", kind, METRICS, spec.namespace) for kind in ("Secret", "ConfigMap"))
        if live is not None and not proof.belongs(live, spec.federation):
            raise ClusterError(
                f"Secret {spec.namespace}/{METRICS} on {hub.name} is not of this federation: rename it, or set superlink_metrics.enabled to false"
            )
        return internal_secrets.metrics_secrets(spec, ca, live, owner)

    @staticmethod
    def _ca_namespace(hub: Cluster, wanted: Wanted, spec: HubSpec) -> list[dict[str, Any]]:
        """The namespace of the CA keys and its policy, unless the namespace is someone else's, or another federation's."""
        ca_spec = spec.beside(wanted.ca_namespace)
        objects = [*common_objects.namespace_objects(ca_spec), *network_policies.default_deny(ca_spec, SUPERLINK)]
        if not objects or wanted.ca_namespace == wanted.namespace:
            return []  # others create it, or it is one of the SuperLink's objects
        there = hub.get("v1", "Namespace", wanted.ca_namespace)
        if there is not None and not proof.belongs(there, wanted.federation):
            return []
        return objects
