# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Base of the actions that deal with Skupper: reading, applying on two clusters, waiting with a reason."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..apply import applyset as sets
from ..apply.engine import apply_objects
from ..apply.readiness import State
from ..apply.wait import Clock, Waiter
from ..base.errors import ClusterError
from ..base.labels import query
from ..kube.api_errors import Forbidden, NotServed, Unavailable, Unreachable
from ..kube.client import Cluster
from ..manifests import common_objects
from ..manifests.skupper import API, ROUTER, ROUTER_SERVICE
from ..skupper import cluster_state, links, ownership, site_plan, state
from ..skupper.skupper_requirements import OLDEST, version_fault
from ..spec.network_spec import NO_ACCESS, LinkSpec
from ..spec.part_spec import PartSpec
from ..state import audit_notes
from .role_options import RoleAction, hub_hosts, role_settings

Object = dict[str, Any]


class SkupperAction(RoleAction):
    """An action on Skupper's objects."""

    #: What was done so far, for the result.
    done: dict[str, Any]

    def spec(self) -> dict[str, Any]:
        """See C(RoleAction). C(hub): whether this host is the hub, for the Site."""
        return super().spec() | {"hub": self.at_hub}

    @property
    def at_hub(self) -> bool:
        """Whether this host is the hub: the one of its group or, in an inventory without that, one whose Site accepts links."""
        hubs = hub_hosts(self)
        return self.inventory_host in hubs or (not hubs and role_settings(self, "skupper_site", ["link_access"])["link_access"] not in NO_ACCESS)

    def begin(self) -> None:
        """Forget what an earlier task of this process has done."""
        self.done = {"changed": False, "objects": [], "hub_objects": [], "diff": [], "warnings": []}

    def finished(self, msg: str, **more: Any) -> dict[str, Any]:
        """The result."""
        self._site = self.inventory_host
        return {key: value for key, value in self.done.items() if value or key in ("changed", "objects")} | {"msg": msg, **more}

    def deleted(self) -> str:
        """How many objects were deleted, for the result."""
        gone = sum(one["change"] == "deleted" for one in (*self.done["objects"], *self.done["hub_objects"]))
        return f"{gone} objects {'to delete' if self.check else 'deleted'}"

    @staticmethod
    def refuse(*faults: str) -> None:
        """Stop where there are faults."""
        if any(faults):
            raise ClusterError("; ".join(filter(None, faults)) + ".")

    def warn(self, *sentences: str) -> None:
        """Show a warning, once."""
        self.done["warnings"] += [one for one in sentences if one and one not in self.done["warnings"]]

    def reach(self, host: str | None = None) -> Cluster:
        """A connection whose messages name the inventory host."""
        cluster = self.connect(host)
        cluster.name = host or self.inventory_host
        return cluster

    # ---- what is required --------------------------------------------------------------------------------------------

    @staticmethod
    def is_served(cluster: Cluster, kind: str = "Site") -> bool:
        """Whether the cluster has one of Skupper's kinds."""
        try:
            cluster.resource(API, kind)
        except NotServed:
            return False
        return True

    def require_kinds(self, cluster: Cluster) -> None:
        """Stop where Skupper is not installed, or is too old to be of use.

        MultiKeyListener was added in 2.2.0, as did C(observer) of a Listener.
        """
        oldest = ".".join(map(str, OLDEST))
        if not self.is_served(cluster):
            raise ClusterError(
                f"Skupper's CustomResourceDefinitions are not in the cluster {cluster.name}: {API} is not served. Install Skupper {oldest} "
                "or later there, or set skupper_site_install to manifests or operator to have it done by this run."
            )
        if not self.is_served(cluster, "MultiKeyListener"):
            raise ClusterError(
                f"Skupper's CustomResourceDefinitions in the cluster {cluster.name} are those of 2.1 or earlier (there is no kind "
                f"MultiKeyListener). Skupper {oldest} or later is needed: upgrade its CustomResourceDefinitions and its controller."
            )

    def require_proxy(self, cluster: Cluster, spec: LinkSpec) -> None:
        """Stop where the Secret of a link's proxy is not there, as far as it may be read."""
        if spec.proxy_secret:
            with contextlib.suppress(Forbidden):
                self.refuse(links.proxy_fault(spec, cluster.get("v1", "Secret", spec.proxy_secret, spec.namespace)))

    @staticmethod
    def end_of(cluster: Cluster, namespace: str, *, own: bool = False) -> str:
        """Which end of the network a namespace is; C(own) as for C(ownership.end_of)."""
        return ownership.end_of((_record(cluster, name, namespace) for name in ownership.RECORDS), own=own)

    def refuse_other_end(self, cluster: Cluster, namespace: str, *, hub: bool, own: bool = False, removing: str = "") -> None:
        """Stop where the namespace is that of the other end.

        Args:
            hub: whether this host is the hub.
            own: as for C(ownership.end_of).
            removing: the ApplySet whose members are to be removed. One without a record has none.
        """
        if not removing or _record(cluster, removing, namespace) is not None:
            self.refuse(ownership.end_error(namespace, self.end_of(cluster, namespace, own=own), hub=hub, removing=bool(removing)))

    # ---- writing -----------------------------------------------------------------------------------------------------

    def apply(self, cluster: Cluster, objects: Sequence[Mapping[str, Any]], *, at_hub: bool = False, **options: Any) -> Any:
        """Apply objects and keep account of it.

        Args:
            cluster: where.
            objects: see C(apply_objects), as for C(options).
            at_hub: whether they are the hub's, which the audit trail records under that name.
        """
        result = apply_objects(cluster, objects, check=self.check, show_diff=self.show_diff, **options)
        self.done["changed"] |= result.changed
        self.done["diff"] += result.diff
        self.warn(*result.warnings)
        if at_hub:
            self.done["hub_objects"] += [one for one in result.objects if one["change"] != "unchanged"]
            self.note(cluster.name, objects=audit_notes.of_objects(result.objects))
        else:
            self.done["objects"] += result.objects
        return result

    def remove(self, cluster: Cluster, objects: Sequence[Mapping[str, Any]], seconds: float, *, at_hub: bool = False) -> None:
        """Delete objects and wait until they are gone."""
        if objects:
            self.apply(cluster, objects, state="absent", wait=True, wait_timeout=seconds, at_hub=at_hub)

    def note_secret(self, cluster: Cluster, namespace: str, name: str, change: str, why: str = "") -> None:
        """Keep account of a change of one of the hub's Secrets."""
        self.done["changed"] = True
        self.done["hub_objects"].append({"apiVersion": "v1", "kind": "Secret", "namespace": namespace, "name": name, "change": change})
        if not self.check:
            self.note(cluster.name, objects=[{"change": change, "object": f"Secret {namespace}/{name}{why and f' ({why})'}"}])

    def make_namespace(self, cluster: Cluster, spec: PartSpec, seconds: float) -> list[Object]:
        """The Namespace, where the role creates it and it does not exist; waits until one that is being deleted is gone."""
        live = cluster.get("v1", "Namespace", spec.namespace)
        if live is not None and (self.check or not live["metadata"].get("deletionTimestamp")):
            return []
        self.wait_gone(cluster, [{**live, "apiVersion": "v1", "kind": "Namespace"}] if live else [], seconds)
        # The roles of SuperLink and SuperNodes own its labels; they also set the release of Flower.
        found = common_objects.namespace_objects(replace(spec, version="", skupper=True))
        for item in found:
            item["metadata"]["labels"].pop("app.kubernetes.io/version")
        if not found:
            raise ClusterError(f"there is no namespace {spec.namespace} on {cluster.name}, and flower_create_namespace is false: create it first.")
        return found

    # ---- waiting -----------------------------------------------------------------------------------------------------

    def wait(self, seconds: float, read_state: Callable[[], State]) -> State:
        """Wait until it is ready, waiting cannot help, or the timeout. An API server that restarts is not a reason to fail."""
        clock = Clock(0 if self.check else seconds)
        while True:
            lost: Unreachable | Unavailable | None = None
            found = State(False)
            try:
                found = read_state()
            except (Unreachable, Unavailable) as error:
                lost = error
            if found.ready or found.failed:
                return found
            if not clock.tick():
                if lost is not None:
                    raise lost
                return found

    def wait_for(self, problem: str, seconds: float, read_state: Callable[[], State], hint: str = "") -> State:
        """Wait until it is ready; in check mode read once.

        Args:
            problem: what is wrong if it is not.
            read_state: returns the state.
            hint: sentences after the reason.

        Raises:
            ClusterError: the problem, and what is missing.
        """
        found = self.wait(seconds, read_state)
        if not found.ready and not self.check:
            when = "" if found.failed else f" after {seconds:g} s"
            raise ClusterError(f"{problem}{when}: {found.why}.{hint and f' {hint}'}")
        return found

    def wait_gone(self, cluster: Cluster, objects: Sequence[Mapping[str, Any]], seconds: float) -> None:
        """Wait until objects that are being deleted are gone."""
        if self.check or not objects:
            return
        for which, why in Waiter(cluster, seconds).until_gone(list(objects)).items():
            raise ClusterError(f"{which} on {cluster.name} is being deleted, but {why} after {seconds:g} s.")

    def wait_cleared(self, cluster: Cluster, namespace: str, uids: Iterable[str], seconds: float) -> None:
        """Wait until Skupper's objects of deleted Sites are gone, too."""

        def read_state() -> State:
            objects = _router_objects(cluster, namespace)
            left = [name for uid in uids for name in site_plan.dependents(uid, objects)]
            return State(not left, f"{', '.join(left)} still exists. Run again when Kubernetes' garbage collector has deleted it")

        uids = [uid for uid in uids if uid]
        if uids:
            self.wait_for(f"not all objects of a deleted Site in namespace {namespace} of {cluster.name} are gone", seconds, read_state)

    def wait_site(self, cluster: Cluster, namespace: str, name: str, seconds: float) -> Object:
        """Wait until a Site is ready; returns it.

        Raises:
            ClusterError: it is not; the text has what is missing.
        """
        live: Object = {}

        def read_state() -> State:
            nonlocal live
            live = cluster_state.read(cluster, "Site", name, namespace) or {}
            if not live:
                return State(False, "it is not there")
            if wrong := version_fault((state.status(live).get("controller") or {}).get("version")):
                return State(False, f"the controller {wrong}", True)
            found = state.site(live)
            if found.ready or found.failed:
                return found
            service = cluster.get("v1", "Service", ROUTER_SERVICE, namespace)
            pods = cluster.list("v1", "Pod", namespace, labels=query(ROUTER))
            deployments = [one for one in _router_objects(cluster, namespace) if one["kind"] == "Deployment"]
            return state.site(live, [service] if service else [], pods, deployments, cluster.get("v1", "Namespace", namespace))

        self.wait_for(f"Site {namespace}/{name} on {cluster.name} is not ready", seconds, read_state)
        return live


def _router_objects(cluster: Cluster, namespace: str) -> list[Object]:
    found = []
    for name in (ROUTER_SERVICE, f"{ROUTER_SERVICE}-2"):
        for api_version, kind in (("v1", "ConfigMap"), ("apps/v1", "Deployment")):
            if live := cluster.get(api_version, kind, name, namespace):
                found.append({**live, "apiVersion": api_version, "kind": kind})
    return found


def _record(cluster: Cluster, name: str, namespace: str) -> Object | None:
    """The record of an ApplySet."""
    return cluster.get("v1", "ConfigMap", sets.parent_name(name), namespace)
