# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Install Skupper's controller, and never upgrade it unasked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.error import URLError

from ansible.module_utils.urls import open_url

from ..apply import applyset
from ..apply.readiness import State
from ..base.errors import ClusterError
from ..kube.api_errors import NotServed
from ..kube.client import Cluster
from ..sites import namespace_contents
from ..skupper import cluster_state, controller
from ..skupper.skupper_requirements import version_fault
from ..spec.network_spec import NetworkSiteSpec
from .skupper_action import Object, SkupperAction


class ControllerAction(SkupperAction):
    """An action that installs or removes the controller."""

    def install(self, cluster: Cluster, spec: NetworkSiteSpec, params: Mapping[str, Any]) -> None:
        """Install the controller as the specification says; one that is there stays as it is.

        Args:
            params: C(upgrade), whether one that this collection installed is replaced, and C(wait_timeout).
        """
        self.refuse(cluster_state.install_error(cluster, spec))
        if spec.install == "operator":
            self._install_operator(cluster, spec, params["wait_timeout"])
            return
        namespace = controller.home(spec)
        live = cluster_state.deployment(cluster, namespace)
        if live is not None and not controller.is_part(live, namespace):
            if wrong := version_fault(controller.release(live)):
                raise ClusterError(f"Deployment {namespace}/{controller.NAME} on {cluster.name}, created by someone else, {wrong}.")
            return
        wanted = controller.placed(self._read(spec), namespace)
        image = next(controller.image(item) for item in wanted if item["kind"] == "Deployment" and item["metadata"]["name"] == controller.NAME)
        if live is not None and controller.image(live) != image and not params["upgrade"]:
            self.warn(
                f"{cluster.name}: Skupper's controller is {controller.image(live)}, and the manifests have {image}. "
                "skupper_site_upgrade: true upgrades it; the routers of all its sites restart"
            )
            return
        if spec.scope == "cluster":
            wanted = controller.marked(wanted, cluster.get("v1", "Namespace", namespace))
        else:
            wanted = [*self.make_namespace(cluster, spec, params["wait_timeout"]), *wanted]
        self.apply(cluster, wanted, applyset=controller.NAME, applyset_namespace=namespace, wait=True, wait_timeout=params["wait_timeout"])

    @staticmethod
    def _read(spec: NetworkSiteSpec) -> list[Object]:
        where = controller.location(spec)
        try:
            content = open_url(where, timeout=30, http_agent="federated.flower").read() if "://" in where else Path(where).expanduser().read_bytes()
        except (OSError, URLError, ValueError) as error:
            raise ClusterError(
                f"the manifests of Skupper's controller, {where}, cannot be read: {error}. Set a file or another URL in "
                "skupper_site_manifests."
            ) from error
        try:
            return controller.read(content, spec.manifests_checksum, where)
        except ValueError as error:
            raise ClusterError(f"{error}.") from error

    def _install_operator(self, cluster: Cluster, spec: NetworkSiteSpec, seconds: float) -> None:
        namespace = controller.home(spec)
        found = cluster_state.subscriptions(cluster, namespace)
        if found:
            self.refuse(controller.channel_fault(found[0]))
        else:
            groups = cluster.list(controller.GROUPS, "OperatorGroup", namespace)
            self.apply(cluster, controller.subscription(spec, groups), applyset=controller.NAME, applyset_namespace=namespace)
            if self.check:
                return
        name = found[0]["metadata"]["name"] if found else controller.PACKAGE

        def read_state() -> State:
            live = cluster.get(controller.OPERATORS, "Subscription", name, namespace)
            if live is None:
                return State(False, "it was deleted by someone else")
            csv = (live.get("status") or {}).get("installedCSV")
            installed = cluster.get(controller.OPERATORS, "ClusterServiceVersion", csv, namespace) if csv else None
            return controller.operator_state(live, installed, cluster_state.deployment(cluster, namespace))

        self.wait_for(f"Subscription {namespace}/{name} on {cluster.name} has not installed a controller", seconds, read_state)

    def uninstall(self, cluster: Cluster, spec: NetworkSiteSpec, seconds: float) -> dict[str, Any]:
        """Remove what this collection installed, when no Site is left. CustomResourceDefinitions stay."""
        namespace = controller.home(spec)
        live = cluster.get("v1", "Namespace", namespace)
        if live is None:
            return self.finished(f"there is no namespace {namespace}")
        sites = cluster_state.listed(cluster, "Site", None if controller.serves_all(spec) else namespace)
        if sites:
            names = sorted(f"{one['metadata']['namespace']}/{one['metadata']['name']}" for one in sites)
            self.warn(f"{cluster.name}: Skupper's controller is not deleted, because there still are Sites: {', '.join(names)}")
            return self.finished("Skupper's controller stays")
        # Then a namespace is created for the controller alone.
        own = spec.install == "manifests" and spec.scope == "cluster"
        stays = ""
        if own and not (stays := controller.why_stays(live, [])):
            # Before anything is deleted, since what belongs to the controller would be without its owner then.
            listed, unseen = namespace_contents.everything(cluster, namespace)
            stays = controller.why_stays(live, namespace_contents.strange(listed, lambda one: controller.is_part(one, namespace)), unseen)
        if spec.install == "operator":
            self._remove_operator(cluster, namespace, seconds)
        self.apply(cluster, [], state="absent", applyset=controller.NAME, applyset_namespace=namespace, wait=True, wait_timeout=seconds)
        if own and not stays:
            self.remove(cluster, [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}], seconds)
        kept = f"; namespace {namespace} stays ({stays})" if stays else ""
        return self.finished(f"{self.deleted()}{kept}", namespace=namespace)

    def _remove_operator(self, cluster: Cluster, namespace: str, seconds: float) -> None:
        """Remove the operator that this collection had installed, before the record that it did: it goes on without its Subscription (Operator
        Lifecycle Manager, «Uninstall your operator»), which would install it again. One that is older than the record is someone else's."""
        record = cluster.get("v1", "ConfigMap", applyset.parent_name(controller.NAME), namespace)
        if record is None:
            return
        # What the lifecycle manager has installed for the operator (operator-framework/api, «OperatorKey»).
        label = f"operators.coreos.com/{controller.PACKAGE}.{namespace}"
        try:
            found = [one for one in cluster_state.subscriptions(cluster, namespace) if controller.is_part(one, namespace)]
            installs = cluster.list(controller.OPERATORS, "ClusterServiceVersion", namespace, labels=label)
        except NotServed:
            return
        since = record["metadata"].get("creationTimestamp") or ""
        younger = [one for one in installs if (one["metadata"].get("creationTimestamp") or "") >= since]
        for kind, objects in {"Subscription": found, "ClusterServiceVersion": younger}.items():
            names = [{"name": one["metadata"]["name"], "namespace": namespace} for one in objects]
            self.remove(cluster, [{"apiVersion": controller.OPERATORS, "kind": kind, "metadata": name} for name in names], seconds)
