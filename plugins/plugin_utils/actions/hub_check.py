# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check the hub before anything is changed: rights, clock, pods that run, volumes, the gateway's certificate."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ..base.errors import ClusterError
from ..base.object_names import SUPERLINK
from ..base.platforms import KUBERNETES, OPENSHIFT
from ..base.problems import require
from ..checks import hub_exposure, hub_services, hub_volumes, pod_needs, rehearsal, serverapp_pod, site_agreement
from ..fleet import flower_versions
from ..kube import cluster_platform
from ..kube.client import Cluster
from ..manifests import common_objects as namespaces
from ..manifests import outputs, superlink
from ..marks import proof
from ..pki import certificates, library
from ..rights import ask, grants
from ..rights.need import DEPLOY
from ..rotation import certificate_checks
from ..rotation.certificate_plan import LiveObjects
from ..sites import namespace_inspection
from ..sites import namespaces as ca_namespaces
from ..spec.hub_spec import HubSpec
from ..state.ledger import Ledger
from . import serving
from .given_spec import given_spec, hub_settings
from .hub_action import CertificateAction

_CLAIM = "PersistentVolumeClaim"
_NAMES = {KUBERNETES: "Kubernetes", OPENSHIFT: "OpenShift, Kubernetes"}


class HubCheck(CertificateAction):
    """An action that checks the hub before anything is changed."""

    def check_hub(self, works: Iterable[str] = (DEPLOY,), *, serves_later: bool = False) -> dict[str, Any]:
        """Connect to the cluster; check variables, rights, clock, volumes, running pods and the gateway's certificate.

        Args:
            works: tasks that the identity is going to perform, keys of C(WORKS); rights for others are not checked.
            serves_later: whether it is a standby that is going to serve after a failover.

        Returns:
            What was found, as M(federated.flower.superlink) returns it.

        Raises:
            ClusterError: why the hub cannot be deployed.
        """
        spec, params = given_spec(self, None), hub_settings(self) | {"works": list(works), "standby": serves_later}
        if params["state"] == "absent":
            raise ClusterError("superlink_state: absent is for your own playbooks with this role. Remove the federation with federated.flower.teardown.")
        warnings = ["flower_insecure is true: no TLS and no node authentication; for labs only"] if spec.insecure else []
        with self.connect() as cluster:
            spec = given_spec(self, None, cluster_platform.known(cluster, spec.platform))
            ca_namespace = ca_namespaces.resolve_ca_namespace(cluster, spec.namespace, params["ca_namespace"])
            params |= {"spec": spec, "ca_namespace": ca_namespace}
            route_api = hub_exposure.route_api(cluster, spec)
            spec = replace(spec, skupper=any(map(self.is_in_network, params["sites"])), route_api=route_api or spec.route_api)
            version = cluster.request("GET", "/version")["gitVersion"]
            found = namespace_inspection.inspect_namespace(
                cluster, SUPERLINK, spec, lambda: superlink.objects(spec.complete()), ca_namespace, owner=None, claim=False
            )
            needed = grants.controller_rights(SUPERLINK, spec, ca_namespace, works=params["works"], absent=found.absent, projects=found.projects)
            ask.require(cluster, needed)
            warnings += self.check_denials(cluster, spec, params["sites"])

            # Can what runs now be followed by what is going to be deployed?
            pods = cluster.list("v1", "Pod", spec.namespace, labels=proof.pods_query(spec.federation, superlink.NAME))
            if fault := flower_versions.started_fault(spec.version, pods):
                raise ClusterError(fault)
            if not params["standby"]:
                warnings += serving.require(self, cluster, self.inventory_host, spec.namespace)
                warnings += [] if params["serverapp_force"] else require(serverapp_pod.check(cluster, spec, is_check=self.check))

            # Are metrics, the tracking server, the object storage and the exposure as the variables want them?
            services = [*hub_services.metrics(cluster, spec), *hub_services.tracking(spec), *hub_services.storage(spec), *hub_services.exposure(spec)]
            services += hub_exposure.check(cluster, spec)
            if spec.tracking.uri and spec.tracking.secret:
                services += hub_services.tracking_secret(spec, cluster.get("v1", "Secret", spec.tracking.secret, spec.namespace))
            if spec.outputs_s3.endpoint:
                services += hub_services.storage_secret(spec, cluster.get("v1", "Secret", spec.outputs_s3.secret, spec.namespace))
            warnings += require(services)

            objects = self._check_volumes(cluster, params, spec, warnings)
            rehearsed = rehearsal.rehearse(cluster, objects, found.absent, SUPERLINK)
            warnings += require(pod_needs.check(cluster, spec, objects, found.absent, SUPERLINK)) if rehearsed else []
            identity = Ledger(cluster, spec.namespace, spec.federation).identity()
            warnings += require(site_agreement.hub_clock(cluster.skew))
            certificate, lost = ({}, {}) if spec.insecure else self._check_certificate(cluster, params, warnings)
            skew, doors = cluster.skew, hub_exposure.summary(cluster, spec)
        return {
            "changed": False,
            "version": version,
            "skew": skew,
            "rehearsed": rehearsed,
            "flower": flower_versions.wanted(spec.version, objects),
            "certificate": certificate,
            "identity": identity,
            "namespace": spec.namespace,
            "places": found.places,
            "platform": spec.platform,
            "skupper": spec.skupper,
            "route_api": route_api,
            "client_certificates": spec.asks,
            "lost_sites": lost,
            "pod_security": namespaces.security_levels(spec).get("enforce", "") if namespaces.namespace_objects(spec) else None,
            "warnings": [f"{self.inventory_host}: {warning}" for warning in warnings],
            "msg": f"{cluster.name} runs {_NAMES[spec.platform]} {version}, the rights are sufficient{doors}",
        }

    @staticmethod
    def _check_volumes(cluster: Cluster, params: dict[str, Any], spec: HubSpec, warnings: list[str]) -> list[dict[str, Any]]:
        """Are the volumes good? Returns the objects of the hub, with the size of its database's volume as it is."""
        claims = [cluster.get("v1", _CLAIM, superlink.CLAIM, spec.namespace)]
        if spec.outputs_enabled:
            claims.append(cluster.get("v1", _CLAIM, outputs.claim_name(spec), spec.namespace))
            require(hub_volumes.outputs(spec, claims[-1]))
        warnings += require(hub_volumes.deleted(claims))
        workload = cluster.get("apps/v1", "StatefulSet", superlink.NAME, spec.namespace)
        workload = workload if proof.belongs(workload, spec.federation) else None  # one of an operator is replaced
        objects = superlink.objects(replace(spec.complete(), created_storage_size=hub_volumes.created_size(workload)))
        (rendered,) = [one for one in objects if (one["kind"], one["metadata"]["name"]) == ("StatefulSet", superlink.NAME)]
        warnings += require(hub_volumes.database(spec, rendered, workload, claims[0]))
        warnings += require(hub_volumes.storage_classes(spec, cluster_platform.storage_classes(cluster))) if claims[0] is None else []
        if workload is None and not params["standby"]:
            warnings += filter(None, [ca_namespaces.second_hub(cluster, spec.namespace, spec.federation)])
        return objects

    def _check_certificate(self, hub: Cluster, params: dict[str, Any], warnings: list[str]) -> tuple[dict[str, str], dict[str, str]]:
        """Is what the gateway is going to serve good for all sites? Public facts of it, as far as they are known yet; and C(Wanted.lost_sites)."""
        library.require()
        address = self.address(hub, params["spec"], likely=True)
        wanted = self.wanted(hub, params, address, warnings)
        plan = self.plan(params, wanted, address, LiveObjects(hub, (wanted.namespace, wanted.ca_namespace)))
        self.refuse_faults(hub, plan, wanted)
        warnings += certificate_checks.warnings(plan, datetime.datetime.now(datetime.timezone.utc))
        found = {**certificates.describe(plan.certificate), "pem": plan.certificate} if plan.certificate else {}
        return found, dict(wanted.lost_sites)
