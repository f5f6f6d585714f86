# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Site of a namespace: ours, or one of someone else that is used as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..apply.readiness import State
from ..base.errors import ClusterError
from ..base.problems import Problem, require
from ..checks.skupper_rules import network_problems, site_problems
from ..kube import cluster_platform
from ..kube.client import Cluster
from ..manifests import skupper
from ..manifests.common_objects import BASELINE, ENFORCE
from ..skupper import cluster_state, site_plan, skupper_requirements, state
from ..skupper.ownership import split
from ..spec.network_spec import LinkSpec, ListenerSpec, NetworkSiteSpec
from ..state import audit_notes
from ..state.lease_object import API as LEASES
from .role_options import role_spec, wrong_types
from .skupper_action import Object
from .skupper_controller import ControllerAction

_SET = skupper.applyset(skupper.SITE)
ABSENT, CHECKED, PRESENT, UNINSTALLED = "absent", "checked", "present", "uninstalled"


class SkupperSite(ControllerAction):
    """The part of M(federated.flower.skupper) that manages the Site."""

    def manage_site(self, params: dict[str, Any]) -> dict[str, Any]:
        """Do what C(state) says."""
        wanted, seconds = params["state"], params["wait_timeout"]
        if wanted == CHECKED:
            return self.check_site(params["spec"])
        require(site_problems(params["spec"]))
        spec = NetworkSiteSpec.parse(params["spec"])
        if wanted == UNINSTALLED and spec.install == "none":
            return self.finished("nothing to uninstall")
        with self.reach() as cluster:
            if wanted == UNINSTALLED:
                return self.uninstall(cluster, spec, seconds)
            if wanted == ABSENT:
                return self._remove_site(cluster, spec, seconds)
            try:
                if spec.install != "none":
                    self.install(cluster, spec, params)
                    # An API server serves new kinds a moment after it has established their definitions.
                    self.wait(seconds, lambda: State(self.is_served(cluster)))
                return self._deploy_site(cluster, spec.on(cluster_platform.known(cluster, spec.platform)), params)
            except ClusterError:
                self.note(objects=audit_notes.of_objects(self.done["objects"]))
                raise

    # ---- checked -----------------------------------------------------------------------------------------------------

    def check_site(self, site: Mapping[str, Any]) -> dict[str, Any]:
        """Check a Site with the listener and the link that the other two roles make of their variables; the hub has no link."""
        wrong = [Problem(fault) for fault in wrong_types(self, "skupper_site", "skupper_listener", "skupper_link")]
        place = {name: site[name] for name in ("federation", "namespace")}
        link = {} if self.at_hub else role_spec(self, "skupper_link") | place
        return self.check_parts(site, role_spec(self, "skupper_listener") | place, link, wrong)

    def check_parts(
        self, site: Mapping[str, Any], listener: Mapping[str, Any], link: Mapping[str, Any], wrong: Sequence[Problem] = ()
    ) -> dict[str, Any]:
        """Check the variables of all three roles, then whether the cluster can take part in the network.

        Args:
            wrong: variables of a wrong type.

        Raises:
            ClusterError: all that is wrong with the variables, or why the cluster cannot take part.
        """
        require([*wrong, *network_problems(site, listener, link)])
        spec = NetworkSiteSpec.parse(site)
        with self.reach() as cluster:
            live = cluster.get("v1", "Namespace", spec.namespace)
            is_there = live is not None and not live["metadata"].get("deletionTimestamp")
            found = cluster_state.listed(cluster, "Site", spec.namespace) if is_there else []
            if is_there:
                self.refuse_other_end(cluster, spec.namespace, hub=spec.hub, own=site_plan.has_own(spec, found))
            self.refuse(cluster_state.install_error(cluster, spec))
            if spec.install == "none" or self.is_served(cluster):
                self.require_kinds(cluster)
                if is_there:
                    self._check_objects(cluster, spec, ListenerSpec.parse(listener), found, live)
                    self.require_proxy(cluster, LinkSpec.parse(link))
        return self.finished(f"{cluster.name} can join the Skupper network")

    def _check_objects(self, cluster: Cluster, spec: NetworkSiteSpec, listener: ListenerSpec, found: list[Object], namespace: Object | None) -> None:
        served = site_plan.active(found)
        wrong = skupper_requirements.version_fault((state.status(served).get("controller") or {}).get("version"))
        if spec.hub:
            end = site_plan.decide_connector(listener, cluster_state.listed(cluster, "Connector", spec.namespace))
        else:
            service = cluster.get("v1", "Service", listener.host, spec.namespace)
            end = site_plan.decide_listener(listener, cluster_state.listed(cluster, "Listener", spec.namespace), service)
        running = served is not None and state.is_true(served, "Running")
        level = skupper_requirements.level_warning(spec, namespace, running=running)
        self.warn(level and f"{cluster.name}: {level}.")
        self.refuse(
            site_plan.decide_site(spec, found).fault,
            wrong and f"the controller that serves namespace {spec.namespace} of {cluster.name} {wrong}",
            end.fault,
        )

    # ---- present -----------------------------------------------------------------------------------------------------

    def _deploy_site(self, cluster: Cluster, spec: NetworkSiteSpec, params: Mapping[str, Any]) -> dict[str, Any]:
        if not (self.check and spec.install != "none"):  # what would be installed is not there yet
            self.require_kinds(cluster)
        namespace, seconds = spec.namespace, params["wait_timeout"]
        around = self.make_namespace(cluster, spec, seconds)
        found = [] if around else cluster_state.listed(cluster, "Site", namespace)
        spec = site_plan.of_hub(spec, found)
        plan = site_plan.decide_site(spec, found, "" if around else self.end_of(cluster, namespace, own=site_plan.has_own(spec, found)))
        self.refuse(plan.fault)
        self._lower_pod_security(cluster, spec)
        self.warn(*plan.warnings)
        self.wait_gone(cluster, plan.leaving, seconds)
        # Two Sites are one too many, and the routers of the previous one must be gone before the new ones are created.
        self.remove(cluster, plan.former, seconds)
        self.wait_cleared(cluster, namespace, [state.uid(one) for one in (*plan.leaving, *plan.former)], seconds)
        own = [] if plan.adopted else skupper.site_objects(spec)
        self.apply(cluster, [*around, *skupper.skupper_site_objects(spec), *own], applyset=_SET, applyset_namespace=namespace)
        name = plan.adopted["metadata"]["name"] if plan.adopted else spec.site_name
        if params["wait"] and not self.check:
            live: Object | None = self.wait_site(cluster, namespace, name, seconds)
        else:
            live = cluster_state.read(cluster, "Site", name, namespace)
        if live is None:
            return self.finished(f"Site {namespace}/{name} would be created", site={})
        status, ready = state.status(live), state.site(live).ready
        site = {
            "name": name,
            "namespace": namespace,
            "uid": state.uid(live),
            "adopted": plan.adopted is not None,
            "ready": ready,
            "endpoints": list(status.get("endpoints") or []),
            "controller": dict(status.get("controller") or {}),
        }
        release = (status.get("controller") or {}).get("version")
        words = f"({'of someone else, used as it is' if plan.adopted else 'ours'}) is {'ready' if ready else 'not ready yet'}"
        return self.finished(f"Site {namespace}/{name} {words}{f', Skupper {release}' if release else ''}", site=site)

    def _lower_pod_security(self, cluster: Cluster, spec: NetworkSiteSpec) -> None:
        """Lower the Pod Security level of a namespace of ours to what Skupper's routers comply with. One field, so the
        roles of both ends still own all."""
        live = cluster.get("v1", "Namespace", spec.namespace)
        if not skupper_requirements.is_to_change(spec, live):
            return
        self.warn(f"{cluster.name}: {skupper_requirements.level_warning(spec, live, running=False)}.")
        if not self.check:
            cluster.patch("v1", "Namespace", spec.namespace, None, {"metadata": {"labels": {ENFORCE: BASELINE}}})
        self.done["changed"] = True
        self.done["objects"].append({"apiVersion": "v1", "kind": "Namespace", "namespace": "", "name": spec.namespace, "change": "changed"})
        if self.show_diff:
            header = f"Namespace {spec.namespace}"
            before, after = (f"{ENFORCE}: {level}\n" for level in (skupper_requirements.enforced(live), BASELINE))
            self.done["diff"].append({"before_header": header, "after_header": header, "before": before, "after": after})

    # ---- absent ------------------------------------------------------------------------------------------------------

    def _remove_site(self, cluster: Cluster, spec: NetworkSiteSpec, seconds: float) -> dict[str, Any]:
        namespace = spec.namespace
        if cluster.get("v1", "Namespace", namespace) is None:
            return self.finished(f"there is no namespace {namespace}, so there is no Site")
        found = cluster_state.listed(cluster, "Site", namespace)
        self.refuse_other_end(cluster, namespace, hub=spec.hub, own=site_plan.has_own(spec, found), removing=_SET)
        ours, theirs = split(found)
        self.apply(cluster, [], state=ABSENT, applyset=_SET, applyset_namespace=namespace, wait=True, wait_timeout=seconds)
        self.wait_cleared(cluster, namespace, [state.uid(one) for one in ours], seconds)
        if ours and not theirs:  # no Site owns it, so it would stay, and with it the namespace
            lease = {"name": skupper.ROUTER_LEASE, "namespace": namespace}
            self.remove(cluster, [{"apiVersion": LEASES, "kind": "Lease", "metadata": lease}], seconds)
        kept = f"; {', '.join(map(state.named, theirs))}, created by someone else, stays" if theirs else ""
        return self.finished(f"{self.deleted()} in {namespace}{kept}", site={})
