# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Open Cluster Management: its own controllers on the hub and its own agents on every site, as processes of the clusters.

Registration and works are of release 0.16, add-ons and placement of 1.2: the newest ones whose programs can be built from
Go modules. Each runs as the service account, and with the rights, that its operator gives it.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ... import golang, host
from ...binaries import OCM, OCM_HUB, caches
from ...clusters import network
from ...clusters.api import Api, ApiError
from ...clusters.lifecycle import existing, usable
from ...console import Console
from ...errors import FleetError
from ...settings import Cluster, Settings
from ..base import until
from . import controllers, manifests

CLUSTERS = "/apis/cluster.open-cluster-management.io/v1/managedclusters"
SETS = "/apis/cluster.open-cluster-management.io/v1beta2/managedclustersets"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
RIGHTS = "/apis/rbac.authorization.k8s.io/v1"
WEBHOOKS = tuple(
    f"/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations" for kind in ("validating", "mutating")
)
# A label of the hub's, on what belongs to one cluster: its namespace, its certificate requests.
NAME_LABEL = "open-cluster-management.io/cluster-name"
BOOTSTRAP_USER = f"system:serviceaccount:{manifests.BASE_SPACE}:{manifests.BOOTSTRAP_ACCOUNT}"
HUB_SECRET = f"/api/v1/namespaces/{manifests.AGENT_SPACE}/secrets/hub-kubeconfig-secret"
LEASE = 60  # seconds; Open Cluster Management's default. A cluster counts as lost after five of them.


def add_verbs(verbs: Any) -> None:
    """Put the options of this add-on on its verbs ``up`` and ``down``, and add further verbs."""
    up_ = verbs.choices["up"]
    up_.add_argument(
        "--pending",
        metavar="SITE",
        action="append",
        default=[],
        help="this site only asks to join, and is not accepted",
    )
    up_.add_argument("--lease", metavar="SECONDS", type=int, default=LEASE, help=f"of all clusters (default: {LEASE})")
    up_.add_argument("--replica-sets", action="store_true", help=f"turn on the feature gate {manifests.GATE}")
    for verb in ("stop", "start"):
        verbs.add_parser(verb, help=f"{verb} the agents of a site").add_argument("site")


def run(options: argparse.Namespace, settings: Settings, console: Console, state: Path, hub: Cluster) -> None:
    """Carry out a verb."""
    sites = [one for one in existing(state, hub.subnet) if one.name != hub.name and usable(state, one)]
    fleet = _Fleet(settings, console, state, hub, sites)
    if options.verb in ("up", "down"):
        for one in (hub, *sites):
            if network.is_cut(one):
                raise FleetError(f"{one.name} is disconnected from the network. 'fleet mend {one.name}' connects it again.")
    if options.verb == "up":
        fleet.up(options.pending, options.lease, options.replica_sets)
    elif options.verb == "down":
        fleet.down()
    else:
        fleet.switch(fleet.site(options.site), on=options.verb == "start")


class _Fleet:
    """The clusters, and what is to be done with them."""

    def __init__(
        self, settings: Settings, console: Console, state: Path, hub: Cluster, sites: Sequence[Cluster]
    ) -> None:
        self.settings = settings
        self.console = console
        self.state = state
        self.hub = hub
        self.sites = sites
        self.api = self._api(hub)

    def _api(self, cluster: Cluster) -> Api:
        return Api(cluster, self.state / cluster.name / "pki")

    def site(self, name: str) -> Cluster:
        """The running site called so."""
        for one in self.sites:
            if one.name == name:
                return one
        raise FleetError(f"no site {name!r} runs; there are: {', '.join(one.name for one in self.sites) or 'none'}.")

    def _log(self, cluster: Cluster, name: str) -> Path:
        return controllers.group(self.state, cluster).logs / f"{name}.log"

    # ---- up ----------------------------------------------------------------------------------------------------------

    def up(self, pending: Iterable[str], lease: int, replica_sets: bool) -> None:
        """Build what the cache has not, make the hub, join all sites but the ``pending`` ones, which only ask to."""
        waiting = [self.site(name) for name in pending]
        joining = [one for one in self.sites if one not in waiting]
        go = golang.ensure(self.settings, self.console)
        if not all(build.folder(self.settings, go).is_dir() for build in (OCM, OCM_HUB)):
            build_cache, modules = caches(go)
            needs = [(build_cache, 3.5, "for Go's build cache"), (modules, 1.5, "for Go modules")]
            host.check_disk([*needs, (self.settings.cache, 0.4, "for programs")])
        folders = []
        for build in (OCM, OCM_HUB):
            with self.console.phase(f"Go build of {build.name}") as phase:
                folders.append(build.make(self.settings, go, phase))
        programs = controllers.Programs(*folders)
        objects = manifests.Manifests(go, programs.ocm / "ocm")
        with self.console.phase("Open Cluster Management on the hub") as phase:
            started = self._hub_up(programs, objects, replica_sets)
            phase.note = "started" if started else "it runs already"
        with self.console.phase(f"agents of {', '.join(one.name for one in self.sites)}") as phase:
            for one in waiting:
                if self._accepted(one):
                    self._detach([one])
            made = objects.site()
            started_ = [one.name for one in self.sites if self._site_up(programs, made, one)]
            phase.note = f"started: {', '.join(started_)}" if started_ else "they run already"
        with self.console.phase(f"joining {', '.join(one.name for one in joining)}"):
            logs = ", ".join(str(self._log(one, "ocm-registration-agent")) for one in joining)
            for one in joining:
                self._accept(one, lease)
            until(lambda: self._joined(joining), f"not all clusters are available; logs: {logs}")
        for one in waiting:
            with self.console.phase(f"{one.name} asks to be accepted"):
                log = self._log(one, "ocm-registration-agent")
                until(lambda one=one: self._asks(one), f"{one.name} does not ask for a certificate; log: {log}")

    def _hub_up(self, programs: controllers.Programs, objects: manifests.Manifests, replica_sets: bool) -> bool:
        authority = controllers.webhook_authority(self.state, self.hub)
        made = objects.hub(f"https://127.0.0.1:{manifests.WEBHOOK_PORT}", authority)
        for item in made:
            if "webhooks" not in item:
                self.api.apply(item)
        gates = [{"feature": manifests.GATE, "mode": "Enable"}] if replica_sets else []
        manager = {
            "apiVersion": "operator.open-cluster-management.io/v1",
            "kind": "ClusterManager",
            "metadata": {"name": "cluster-manager"},
            "spec": {"workConfiguration": {"featureGates": gates}},
        }
        until(lambda: _soon(lambda: self.api.apply(manager)), "the definition of ClusterManager is not served")
        started = controllers.group(self.state, self.hub).start(controllers.hub_entries(programs, self.state, self.hub))
        for item in made:
            if "webhooks" in item:  # they refuse everything until their server answers
                self.api.apply(item)
        until(
            lambda: _soon(lambda: self.api.request("GET", f"{SETS}/default")),
            f"the registration controller makes no cluster set; log: {self._log(self.hub, 'ocm-registration')}",
        )
        return started

    def _site_up(self, programs: controllers.Programs, objects: Iterable[manifests.Object], site: Cluster) -> bool:
        api = self._api(site)
        for item in objects:
            api.apply(item)
        access = self._access(site)
        if not access.exists():
            # the agent would continue with its state for an earlier hub
            api.delete(HUB_SECRET)
            access.mkdir(parents=True)
        return controllers.group(self.state, site).start(controllers.site_entries(programs, self.state, self.hub, site))

    def _access(self, site: Cluster) -> Path:
        """Where the site's agent keeps its access to this hub."""
        return controllers.hub_kubeconfig(self.state, self.hub, site).parent

    def _accept(self, site: Cluster, lease: int) -> None:
        cluster = {
            "apiVersion": "cluster.open-cluster-management.io/v1",
            "kind": "ManagedCluster",
            "metadata": {"name": site.name, "labels": {"region": site.region}},
            "spec": {"hubAcceptsClient": True, "leaseDurationSeconds": lease},
        }
        asks = self._log(site, "ocm-registration-agent")
        until(lambda: self._cluster(site.name), f"{site.name} does not ask to be accepted; log: {asks}")
        log = self._log(self.hub, "ocm-webhooks")
        until(lambda: _soon(lambda: self.api.apply(cluster)), f"the webhooks do not answer; log: {log}")

    def _joined(self, sites: Sequence[Cluster]) -> bool:
        """Approve what the sites ask for, as the hub's owner; whether all have access and are available."""
        names = {one.name for one in sites}
        for request in self._requests():
            if request["metadata"]["labels"][NAME_LABEL] in names:
                approval = {
                    "type": "Approved",
                    "status": "True",
                    "reason": "FleetApproved",
                    "message": "a cluster of the fleet",
                }
                body = {**request, "status": {"conditions": [approval]}}
                path = f"{REQUESTS}/{request['metadata']['name']}/approval"
                _soon(lambda path=path, body=body: self.api.request("PUT", path, body))
        # the hub keeps the old state of a recreated site for minutes
        holding = all((self._access(one) / "tls.crt").exists() for one in sites)
        available = (_condition(self._cluster(name), "ManagedClusterConditionAvailable") for name in names)
        return holding and all(status == "True" for status in available)

    def _requests(self) -> list[manifests.Object]:
        """Pending certificate requests of agents."""
        found = _items(self.api, f"{REQUESTS}?labelSelector={NAME_LABEL}")
        undecided = [item for item in found if not item.get("status", {}).get("conditions")]
        return [
            {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", **item}
            for item in undecided
            if item["spec"]["username"] == BOOTSTRAP_USER
        ]

    def _cluster(self, name: str) -> manifests.Object:
        return self.api.get(f"{CLUSTERS}/{name}") or {}

    def _accepted(self, site: Cluster) -> bool:
        return bool(self._cluster(site.name).get("spec", {}).get("hubAcceptsClient"))

    def _asks(self, site: Cluster) -> bool:
        asking = {request["metadata"]["labels"][NAME_LABEL] for request in self._requests()}
        return bool(self._cluster(site.name)) and site.name in asking

    def switch(self, site: Cluster, *, on: bool) -> None:
        """Stop or start the agents of one site."""
        group = controllers.group(self.state, site)
        if not on:
            group.stop()
            self.console.line(f"the agents of {site.name} are stopped")
        elif group.resume():
            self.console.line(f"the agents of {site.name} are started")
        else:
            raise FleetError(f"{site.name} has no agents. Make them with 'fleet addon ocm up'.")

    # ---- down --------------------------------------------------------------------------------------------------------

    def _detach(self, sites: Sequence[Cluster]) -> None:
        """Let the hub forget the clusters: it waits until their agents have removed what works and add-ons brought."""
        lives = {one.name: self._life(one) for one in sites}
        for one in sites:
            controllers.group(self.state, one).resume()
            self.api.delete(f"{CLUSTERS}/{one.name}")
        until(
            lambda: all(self._life(one) != lives[one.name] for one in sites),
            f"{', '.join(one.name for one in sites)}: the clusters are not detached",
        )
        for one in sites:
            self._end(one)
            # an agent that has just been started asks again when it finds no cluster
            self.api.delete(f"{CLUSTERS}/{one.name}")

    def _life(self, site: Cluster) -> str:
        """Changes when a site is detached, even if it asks again."""
        return str(self._cluster(site.name).get("metadata", {}).get("uid", ""))

    def _end(self, cluster: Cluster) -> None:
        group = controllers.group(self.state, cluster)
        group.stop()
        if group.folder.exists():
            shutil.rmtree(group.folder)

    def down(self) -> None:
        """Detach the sites, end all processes, remove all definitions with all their objects, namespaces and rights."""
        there = [one for one in self.sites if self._cluster(one.name)]
        with self.console.phase("detaching the sites") as phase:
            try:
                self._detach(there)
            except FleetError as error:
                # An agent that cannot work any more must not keep the rest from going.
                phase.note = f"{error}; their objects are removed without the agents"
        with self.console.phase("removing Open Cluster Management"):
            # without their server they would refuse everything
            for path in WEBHOOKS:
                self.api.request("DELETE", f"{path}?labelSelector={manifests.LABEL}")
            for one in (self.hub, *self.sites):
                self._end(one)
            apis = [self._api(one) for one in (self.hub, *self.sites)]
            for api in apis:
                _purge_all(api)
            # Namespaces first: their controller must start again, seconds later, when a definition is deleted meanwhile.
            _delete_all((api, path) for api in apis for path in _spaces(api))
            _delete_all((api, f"{DEFINITIONS}/{name}") for api in apis for name in _definitions(api))


def _soon(step: Callable[[], object]) -> bool:
    """Whether the API server did it: not before it serves a new kind, not before the webhooks answer, not in a conflict."""
    try:
        step()
    except ApiError as error:
        if error.status in (404, 409) or "failed calling webhook" in str(error):
            return False
        raise
    return True


def _items(api: Api, path: str) -> list[manifests.Object]:
    """Objects of a collection; none if there is no such kind."""
    return (api.get(path) or {}).get("items") or []


def _condition(item: manifests.Object, kind: str) -> str:
    """Status of a condition, empty if it does not exist."""
    found = item.get("status", {}).get("conditions", [])
    return next((one["status"] for one in found if one["type"] == kind), "")


def _definitions(api: Api) -> dict[str, manifests.Object]:
    """The add-on's definitions by name."""
    found = _items(api, f"{DEFINITIONS}?labelSelector={manifests.LABEL}")
    return {item["metadata"]["name"]: item["spec"] for item in found}


def _spaces(api: Api) -> list[str]:
    """Paths of the add-on's namespaces, and of those that the hub's controllers make for clusters."""
    found = [
        item
        for label in (manifests.LABEL, NAME_LABEL)
        for item in _items(api, f"/api/v1/namespaces?labelSelector={label}")
    ]
    return [f"/api/v1/namespaces/{item['metadata']['name']}" for item in found]


def _purge_all(api: Api) -> None:
    """Remove all objects and rights of one cluster."""
    for spec in _definitions(api).values():
        version = next(one["name"] for one in spec["versions"] if one["storage"])
        root = f"/apis/{spec['group']}/{version}"
        for item in _items(api, f"{root}/{spec['names']['plural']}"):
            _purge(api, root, spec["names"]["plural"], item)
    # the controllers give the bindings in a cluster's namespace finalizers
    for kind in ("clusterrolebindings", "clusterroles", "rolebindings", "roles"):
        for item in _items(api, f"{RIGHTS}/{kind}"):
            if item["metadata"]["name"].startswith(f"{manifests.BASE_SPACE}:"):
                _purge(api, RIGHTS, kind, item)
    for item in _items(api, f"{REQUESTS}?labelSelector={NAME_LABEL}"):
        api.delete(f"{REQUESTS}/{item['metadata']['name']}")


def _delete_all(paths: Iterable[tuple[Api, str]]) -> None:
    """Delete objects, and wait until they are gone."""
    deleted = list(paths)
    for api, path in deleted:
        api.delete(path)
    for api, path in deleted:
        until(partial(_gone, api, path), f"{path} is not deleted")


def _gone(api: Api, path: str) -> bool:
    return api.get(path) is None


def _purge(api: Api, root: str, plural: str, item: manifests.Object) -> None:
    """Delete an object whose finalizers have no controller any more."""
    space = item["metadata"].get("namespace")
    path = f"{root}/namespaces/{space}/{plural}" if space else f"{root}/{plural}"
    path = f"{path}/{item['metadata']['name']}"
    if api.delete(path) and item["metadata"].get("finalizers"):
        try:
            api.patch(path, {"metadata": {"finalizers": None}})
        except ApiError as error:
            if error.status != 404:  # it may have gone after all
                raise
