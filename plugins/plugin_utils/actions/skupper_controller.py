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
from ..base.errors import ClusterError
from ..kube.api_errors import NotServed
from ..kube.client import Cluster
from ..sites import namespace_contents
from ..skupper import cluster_state, controller
from ..skupper.skupper_requirements import version_fault
from ..skupper.state import State
from ..spec.network_spec import NetworkSiteSpec
from .skupper_action import Object, SkupperAction


class ControllerAction(SkupperAction):
    """An action that installs or removes the controller."""

    def install(self, cluster: Cluster, spec: NetworkSiteSpec, params: Mapping[str, Any]) -> dict[str, Any]:
        """Install the controller as the specification says; one that is there stays as it is.

        Args:
            cluster: a connection.
            spec: the Site.
            params: C(upgrade), whether one that this collection installed is replaced, and C(wait_timeout).
        """
        self.refuse([cluster_state.fault(cluster, spec)])
        if spec.install == "operator":
            return self._operator(cluster, spec, params["wait_timeout"])
        return self._manifests(cluster, spec, params)

    # ---- manifests ---------------------------------------------------------------------------------------------------

    def _manifests(self, cluster: Cluster, spec: NetworkSiteSpec, params: Mapping[str, Any]) -> dict[str, Any]:
        namespace = controller.home(spec)
        live = cluster_state.deployment(cluster, namespace)
        if live is not None and not controller.is_part(live, namespace):
            wrong = version_fault(controller.release(live))
            if wrong:
                raise ClusterError(
                    f"Deployment {namespace}/{controller.NAME} on {cluster.name}, created by someone else, {wrong}."
                )
            return self.finished(
                f"Deployment {namespace}/{controller.NAME} ({controller.image(live)}) was created by someone else and is used as it is",
                namespace=namespace,
            )
        wanted = controller.placed(self._read(spec), namespace)
        (there,) = (
            item for item in wanted if item["kind"] == "Deployment" and item["metadata"]["name"] == controller.NAME
        )
        if live is not None and controller.image(live) != controller.image(there) and not params["upgrade"]:
            self.warn(
                f"{cluster.name}: Skupper's controller is {controller.image(live)}, and the manifests have {controller.image(there)}. "
                "skupper_site_upgrade: true upgrades it; the routers of all its sites restart"
            )
            return self.finished(f"Skupper's controller is {controller.image(live)}", namespace=namespace)
        if spec.scope == "cluster":
            wanted = controller.marked(wanted, cluster.get("v1", "Namespace", namespace))
        made = [] if spec.scope == "cluster" else self.make_namespace(cluster, spec, params["wait_timeout"])
        self.apply(
            cluster,
            [*made, *wanted],
            applyset=controller.NAME,
            applyset_namespace=namespace,
            wait=True,
            wait_timeout=params["wait_timeout"],
        )
        return self.finished(f"Skupper's controller is {controller.image(there)}", namespace=namespace)

    @staticmethod
    def _read(spec: NetworkSiteSpec) -> list[Object]:
        where = controller.location(spec)
        try:
            if "://" in where:
                content = open_url(where, timeout=30, http_agent="federated.flower").read()
            else:
                content = Path(where).expanduser().read_bytes()
        except (OSError, URLError, ValueError) as error:
            raise ClusterError(
                f"the manifests of Skupper's controller, {where}, cannot be read: {error}. Set a file or another URL in "
                "skupper_site_manifests."
            ) from error
        try:
            return controller.read(content, spec.manifests_checksum, where)
        except ValueError as error:
            raise ClusterError(f"{error}.") from error

    # ---- operator ----------------------------------------------------------------------------------------------------

    def _operator(self, cluster: Cluster, spec: NetworkSiteSpec, seconds: float) -> dict[str, Any]:
        namespace = controller.home(spec)
        found = cluster_state.subscriptions(cluster, namespace)
        if found:
            wrong = controller.channel_fault(found[0])
            if wrong:
                raise ClusterError(f"{wrong}.")
            name = found[0]["metadata"]["name"]
        else:
            groups = cluster.list(controller.GROUPS, "OperatorGroup", namespace)
            self.refuse([controller.groups_fault(namespace, groups)])
            wanted = controller.subscription(spec, groups)
            self.apply(cluster, wanted, applyset=controller.NAME, applyset_namespace=namespace)
            name = controller.PACKAGE
        if self.check and not found:
            return self.finished("the operator would be installed", namespace=namespace)

        def look() -> State:
            live = cluster.get(controller.OPERATORS, "Subscription", name, namespace)
            if live is None:
                return State(False, "it was deleted by someone else")
            csv = (live.get("status") or {}).get("installedCSV")
            return controller.operator_state(
                live,
                cluster.get(controller.OPERATORS, "ClusterServiceVersion", csv, namespace) if csv else None,
                cluster_state.deployment(cluster, namespace),
            )

        state = self.wait(seconds, look)
        if not state.ready and not self.check:
            when = "" if state.hopeless else f" after {seconds:g} s"
            raise ClusterError(
                f"Subscription {namespace}/{name} on {cluster.name} has not led to a controller{when}: {state.why}."
            )
        return self.finished(
            f"Skupper's controller is installed by Subscription {namespace}/{name}", namespace=namespace
        )

    # ---- absent ------------------------------------------------------------------------------------------------------

    def uninstall(self, cluster: Cluster, spec: NetworkSiteSpec, seconds: float) -> dict[str, Any]:
        """Remove what this collection installed, when no Site is left. CustomResourceDefinitions stay."""
        namespace = controller.home(spec)
        if cluster.get("v1", "Namespace", namespace) is None:
            return self.finished(f"there is no namespace {namespace}")
        if self.is_served(cluster):
            left = [
                f"{one['metadata']['namespace']}/{one['metadata']['name']}"
                for one in cluster.list("skupper.io/v2alpha1", "Site", None if controller.serves_all(spec) else namespace)
            ]
            if left:
                self.warn(
                    f"{cluster.name}: Skupper's controller is not deleted, because there still are Sites: {', '.join(sorted(left))}"
                )
                return self.finished("Skupper's controller stays")
        # Then a namespace is created for the controller alone.
        own = spec.install == "manifests" and spec.scope == "cluster"
        # Before anything is deleted, since what belongs to the controller would be without its owner then.
        stays = self._why_stays(cluster, namespace) if own else ""
        if spec.install == "operator":
            self._remove_operator(cluster, namespace, seconds)
        self.apply(
            cluster,
            [],
            state="absent",
            applyset=controller.NAME,
            applyset_namespace=namespace,
            wait=True,
            wait_timeout=seconds,
        )
        if own and not stays:
            self.remove(cluster, [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}], seconds)
        kept = f"; namespace {namespace} stays ({stays})" if stays else ""
        gone = sum(one["change"] == "deleted" for one in self.done["objects"])
        return self.finished(f"{gone} objects {'to delete' if self.check else 'deleted'}{kept}", namespace=namespace)

    def _remove_operator(self, cluster: Cluster, namespace: str, seconds: float) -> None:
        """Remove the operator that this collection had installed, before the record that it did: it goes on without its Subscription (Operator
        Lifecycle Manager, «Uninstall your operator»), which would install it again. One that is older than the record is someone else's."""
        record = cluster.get("v1", "ConfigMap", applyset.parent_name(controller.NAME), namespace)
        if record is None:
            return
        try:
            found = [one for one in cluster_state.subscriptions(cluster, namespace) if controller.is_part(one, namespace)]
            installs = cluster.list(controller.OPERATORS, "ClusterServiceVersion", namespace, labels=controller.operator_label(namespace))
        except NotServed:
            return
        kinds = {"Subscription": found, "ClusterServiceVersion": [one for one in installs if not controller.is_older(one, record)]}
        for kind, objects in kinds.items():
            names = [{"name": one["metadata"]["name"], "namespace": namespace} for one in objects]
            self.remove(cluster, [{"apiVersion": controller.OPERATORS, "kind": kind, "metadata": name} for name in names], seconds)

    @staticmethod
    def _why_stays(cluster: Cluster, namespace: str) -> str:
        """Why the namespace stays when the controller is removed: someone else created it or uses it. Empty if it goes."""
        live = cluster.get("v1", "Namespace", namespace)
        stays = controller.why_stays(live, [])
        if stays:
            return stays
        listed, unseen = namespace_contents.everything(cluster, namespace)
        left = namespace_contents.strange(listed, lambda one: controller.is_part(one, namespace))
        return controller.why_stays(live, left, unseen)
