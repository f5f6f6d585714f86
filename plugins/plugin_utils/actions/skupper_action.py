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
from ..apply.wait import Clock, Waiter
from ..base.errors import ClusterError
from ..base.labels import query
from ..kube.api_errors import Forbidden, NotServed, Unavailable, Unreachable
from ..kube.client import Cluster
from ..manifests import common_objects as namespace_manifests
from ..manifests.skupper import API, ROUTER, ROUTER_SERVICE
from ..skupper import links, ownership, site_plan, state
from ..skupper.skupper_requirements import OLDEST, version_fault
from ..skupper.state import State
from ..spec.network_spec import LinkSpec
from ..spec.part_spec import PartSpec
from ..state import audit_notes
from .role_options import RoleAction, hub_hosts

Object = dict[str, Any]

_OLDEST = ".".join(map(str, OLDEST))


class SkupperAction(RoleAction):
    """An action on Skupper's objects."""

    #: What was done so far, for the result.
    done: dict[str, Any]

    def spec(self) -> dict[str, Any]:
        """See C(RoleAction). C(hub): whether this host is the hub, for the Site."""
        return super().spec() | {"hub": self.at_hub}

    @property
    def at_hub(self) -> bool:
        """Whether this host is the hub."""
        return self.inventory_host in hub_hosts(self)

    def begin(self) -> None:
        """Forget what an earlier task of this process has done."""
        self.done = {"changed": False, "objects": [], "hub_objects": [], "diff": [], "warnings": []}

    def finished(self, msg: str, **more: Any) -> dict[str, Any]:
        """The result."""
        self._site = self.inventory_host
        told_empty = ("hub_objects", "diff", "warnings")
        return {key: value for key, value in self.done.items() if value or key not in told_empty} | {"msg": msg, **more}

    @staticmethod
    def refuse(faults: Iterable[str]) -> None:
        """Stop when a spec has faults."""
        found = list(filter(None, faults))
        if found:
            raise ClusterError("; ".join(found) + ".")

    def reach(self, host: str | None = None) -> Cluster:
        """A connection whose messages name the inventory host."""
        cluster = self.connect(host)
        cluster.name = host or self.inventory_host
        return cluster

    # ---- reading -----------------------------------------------------------------------------------------------------

    @staticmethod
    def is_served(cluster: Cluster) -> bool:
        """Whether the cluster has Skupper's kinds."""
        try:
            cluster.resource(API, "Site")
        except NotServed:
            return False
        return True

    def require_kinds(self, cluster: Cluster) -> None:
        """Stop where Skupper is not installed, or is too old to be of use.

        MultiKeyListener was added in 2.2.0, as did C(observer) of a Listener.
        """
        if not self.is_served(cluster):
            raise ClusterError(
                f"Skupper's CustomResourceDefinitions are not in the cluster {cluster.name}: {API} is not served. Install Skupper {_OLDEST} "
                "or later there, or set skupper_site_install to manifests or operator to have it done by this run."
            )
        try:
            cluster.resource(API, "MultiKeyListener")
        except NotServed:
            raise ClusterError(
                f"Skupper's CustomResourceDefinitions in the cluster {cluster.name} are those of 2.1 or earlier (there is no kind "
                f"MultiKeyListener). Skupper {_OLDEST} or later is needed: upgrade its CustomResourceDefinitions and its controller."
            ) from None

    def require_proxy(self, cluster: Cluster, spec: LinkSpec) -> None:
        """Stop where the Secret of a link's proxy is not there, as far as it may be read."""
        if spec.proxy_secret:
            with contextlib.suppress(Forbidden):
                self.refuse([links.proxy_fault(spec, cluster.get("v1", "Secret", spec.proxy_secret, spec.namespace))])

    @staticmethod
    def read(cluster: Cluster, kind: str, name: str, namespace: str, api_version: str = API) -> Object | None:
        """One object; None where there is none, or its kind is not served."""
        try:
            return cluster.get(api_version, kind, name, namespace)
        except NotServed:
            return None

    @staticmethod
    def end_of(cluster: Cluster, namespace: str, *, own: bool = False) -> str:
        """Which end of the network a namespace is; C(own) as for C(ownership.end_of)."""
        return ownership.end_of((_record(cluster, name, namespace) for name in ownership.RECORDS), own=own)

    def refuse_other_end(
        self, cluster: Cluster, namespace: str, *, hub: bool, own: bool = False, removing: str = ""
    ) -> None:
        """Stop where the namespace is that of the other end.

        Args:
            cluster: a connection.
            namespace: its name.
            hub: whether this host is the hub.
            own: as for C(ownership.end_of).
            removing: the ApplySet whose members are to be removed. One without a record has none.
        """
        if removing and _record(cluster, removing, namespace) is None:
            return
        end = self.end_of(cluster, namespace, own=own)
        self.refuse([ownership.end_error(namespace, end, hub=hub, removing=bool(removing))])

    # ---- writing -----------------------------------------------------------------------------------------------------

    def apply(
        self, cluster: Cluster, objects: Sequence[Mapping[str, Any]], *, at_hub: bool = False, **options: Any
    ) -> Any:
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

    def remove(
        self, cluster: Cluster, objects: Sequence[Mapping[str, Any]], seconds: float, *, at_hub: bool = False
    ) -> None:
        """Delete objects and wait until they are gone."""
        if objects:
            self.apply(cluster, objects, state="absent", wait=True, wait_timeout=seconds, at_hub=at_hub)

    def warn(self, *sentences: str) -> None:
        """Show a warning, once."""
        self.done["warnings"] += [one for one in sentences if one and one not in self.done["warnings"]]

    def make_namespace(self, cluster: Cluster, spec: PartSpec, seconds: float) -> list[Object]:
        """The Namespace, where the role creates it and it does not exist; waits until one that is being deleted is gone."""
        live = cluster.get("v1", "Namespace", spec.namespace)
        if live is not None and live["metadata"].get("deletionTimestamp") and not self.check:
            left = Waiter(cluster, seconds).until_gone([{**live, "apiVersion": "v1", "kind": "Namespace"}])
            for which, why in left.items():
                raise ClusterError(f"{which} on {cluster.name} is being deleted, but {why} after {seconds:g} s.")
            live = None
        if live is not None:
            return []
        # The roles of SuperLink and SuperNodes own its labels; they also set the release of Flower.
        made = namespace_manifests.namespace_objects(replace(spec, version="", skupper=True))
        for item in made:
            item["metadata"]["labels"].pop("app.kubernetes.io/version")
        if not made:
            raise ClusterError(
                f"there is no namespace {spec.namespace} on {cluster.name}, and flower_create_namespace is false: create it first."
            )
        return made

    # ---- waiting -----------------------------------------------------------------------------------------------------

    def wait(self, seconds: float, look: Callable[[], State]) -> State:
        """Wait until it is ready, hopeless, or the timeout. An API server that restarts is not a reason to fail."""
        clock = Clock(0 if self.check else seconds)
        while True:
            lost: Unreachable | Unavailable | None = None
            found = State(False)
            try:
                found = look()
            except (Unreachable, Unavailable) as error:
                lost = error
            if found.ready or found.hopeless:
                return found
            if not clock.tick():
                if lost is not None:
                    raise lost
                return found

    def wait_gone(self, cluster: Cluster, objects: Sequence[Mapping[str, Any]], seconds: float) -> None:
        """Wait until objects that are being deleted are gone."""
        if self.check or not objects:
            return
        for which, why in Waiter(cluster, seconds).until_gone(list(objects)).items():
            raise ClusterError(f"{which} on {cluster.name} is being deleted, but {why} after {seconds:g} s.")

    def wait_cleared(self, cluster: Cluster, namespace: str, uids: Iterable[str], seconds: float) -> None:
        """Wait until Skupper's objects of deleted Sites are gone, too."""
        for site_uid in filter(None, uids):

            def look(site_uid: str = site_uid) -> State:
                left = site_plan.dependents(site_uid, self._router_objects(cluster, namespace))
                return State(not left, f"{', '.join(left)} of the deleted Site still exists")

            found = self.wait(seconds, look)
            if not found.ready and not self.check:
                raise ClusterError(
                    f"{found.why} after {seconds:g} s: Kubernetes' garbage collector has not cleared it away. Run again when it has."
                )

    @staticmethod
    def _router_objects(cluster: Cluster, namespace: str) -> list[Object]:
        found = []
        for name in ("skupper-router", "skupper-router-2"):
            for api_version, kind in (("v1", "ConfigMap"), ("apps/v1", "Deployment")):
                live = cluster.get(api_version, kind, name, namespace)
                if live is not None:
                    found.append({**live, "apiVersion": api_version, "kind": kind})
        return found

    def look_at_site(self, cluster: Cluster, namespace: str, name: str) -> State:
        """The state of a Site; where it is not ready, with the state of Service and pods of its router."""
        found = self.read(cluster, "Site", name, namespace)
        if found is None:
            return State(False, f"Site {namespace}/{name} is not there")
        wrong = version_fault((state.status(found).get("controller") or {}).get("version"))
        if wrong:
            return State(False, f"the controller {wrong}", True)
        first = state.site(found)
        if first.ready or first.hopeless:
            return first
        service = cluster.get("v1", "Service", ROUTER_SERVICE, namespace)
        chosen = query(ROUTER)
        pods = cluster.list("v1", "Pod", namespace, labels=chosen)
        deployments = [one for one in self._router_objects(cluster, namespace) if one["kind"] == "Deployment"]
        home = cluster.get("v1", "Namespace", namespace)
        return state.site(found, [service] if service else [], pods, deployments, home)

    def wait_site(self, cluster: Cluster, namespace: str, name: str, seconds: float) -> Object:
        """Wait until a Site is ready; returns it.

        Raises:
            ClusterError: it is not; the text has what is missing.
        """
        found = self.wait(seconds, lambda: self.look_at_site(cluster, namespace, name))
        if not found.ready:
            when = "" if found.hopeless else f" after {seconds:g} s"
            raise ClusterError(f"Site {namespace}/{name} on {cluster.name} is not ready{when}: {found.why}.")
        live = self.read(cluster, "Site", name, namespace)
        if live is None:
            raise ClusterError(
                f"Site {namespace}/{name} on {cluster.name} was deleted by someone else during this run. Run again."
            )
        return live


def _record(cluster: Cluster, name: str, namespace: str) -> Object | None:
    """The record of an ApplySet."""
    return cluster.get("v1", "ConfigMap", sets.parent_name(name), namespace)


def facts(site: Mapping[str, Any] | None, *, adopted: bool = False) -> dict[str, Any]:
    """Public facts of a Site."""
    if site is None:
        return {}
    found = state.status(site)
    return {
        "name": site["metadata"]["name"],
        "namespace": site["metadata"]["namespace"],
        "uid": state.uid(site),
        "adopted": adopted,
        "ready": state.site(site).ready,
        "endpoints": list(found.get("endpoints") or []),
        "controller": dict(found.get("controller") or {}),
    }
