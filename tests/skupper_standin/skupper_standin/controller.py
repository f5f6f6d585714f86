# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""The controller: one loop for each cluster, which looks at namespaces after changes and every few seconds.

The real one handles each event by itself; this one compares the whole namespace with what should be. Where the
difference can be seen from outside (what waits for a resync), the modules say so.
"""

from __future__ import annotations

import json
import threading
import time
import traceback

from . import access, bindings, certificates, installation, links, network, profiles, site, switches, tokens
from .grants import GrantServer
from .kube import ApiError, Client, Object
from .space import AgainError, Space
from .store import CUSTOM, Key, Store

SETTLE = 0.05  # seconds in which changes gather
TICK = 0.5
REFRESH = 30.0  # seconds after which what is not watched (accounts, Deployments of routers) is applied again


class Fleet:
    """All clusters; what a router tells in one concerns the Sites in all."""

    def __init__(self, defaults: switches.Switches, router_image: str) -> None:
        self.defaults = defaults
        self.router_image = router_image
        self.clusters: list[Cluster] = []

    def spaces(self) -> list[Space]:
        """Every namespace that was looked at."""
        return [space for cluster in self.clusters for space in list(cluster.spaces.values())]

    def network_changed(self) -> None:
        """Look at every namespace with a Site."""
        for cluster in self.clusters:
            for space in list(cluster.spaces.values()):
                if space.site is not None:
                    cluster.look(space.name)


class Cluster:
    """One cluster's controller."""

    def __init__(self, fleet: Fleet, name: str, client: Client) -> None:
        self.fleet, self.name, self.client = fleet, name, client
        self.store = Store(client, self._changed, self.log)
        self.spaces: dict[str, Space] = {}
        self.grants = GrantServer(client, self.store, self.switches, self.log, self._everything)
        self._wake = threading.Condition()
        self._dirty: dict[str, float] = {}  # namespace -> when to look
        self._told = ""
        self._trouble: dict[str, str] = {}
        self._refreshed: dict[str, float] = {}

    def log(self, text: str) -> None:
        """One line."""
        print(f"{time.strftime('%H:%M:%S')} {self.name} {text}", flush=True)

    def start(self) -> None:
        """Begin to watch and to work."""
        self.store.start()
        threading.Thread(target=self._run, daemon=True).start()

    def switches(self) -> switches.Switches:
        """The settings now: from the start, the Deployment's version, the ConfigMap."""
        found = self.fleet.defaults
        deployment = self.store.get("Deployment", installation.NAMESPACE, installation.CONTROLLER)
        version = ((deployment or {}).get("metadata", {}).get("labels") or {}).get(installation.VERSION_LABEL)
        if version:
            found = found.with_config({"version": version})
        config = self.store.get("ConfigMap", installation.NAMESPACE, switches.CONFIG_MAP)
        try:
            return found.with_config((config or {}).get("data") or {})
        except ValueError as error:
            self._say("switches", f"{switches.CONFIG_MAP}: {error}")
            return found

    def look(self, namespace: str, after: float = 0.0) -> None:
        """Look at a namespace soon."""
        when = time.monotonic() + max(after, SETTLE)
        with self._wake:
            self._dirty[namespace] = min(when, self._dirty.get(namespace, when))
            self._wake.notify()

    def _everything(self) -> None:
        for namespace in {*self.store.namespaces(), *self.spaces}:
            self.look(namespace)

    def _changed(self, kind: str, key: Key) -> None:
        """A watch has seen something."""
        namespace, name = key
        if namespace == installation.NAMESPACE and kind in ("Deployment", "ConfigMap", "Secret"):
            if kind != "Secret" or name.startswith("skupper-grant-server"):
                self.look(namespace)
                self._everything()
            return
        if kind in CUSTOM or namespace in self.spaces or self.store.concerned(namespace):
            self.look(namespace)
        if kind == "ConfigMap" and name.endswith("-state") and namespace in self.spaces:
            self.fleet.network_changed()
        if kind == "AttachedConnector":
            item = self.store.get(kind, namespace, name)
            if item is not None:
                self.look(item["spec"]["siteNamespace"])

    # --- the loop

    def _run(self) -> None:
        resynced = 0.0
        while True:
            with self._wake:
                now = time.monotonic()
                self._wake.wait(max(0.0, min([TICK, *(when - now for when in self._dirty.values())])))
            if not self._active():
                continue
            now = time.monotonic()
            resync = now - resynced >= self.switches().resync
            if resync:
                resynced = now
                self._everything()
            with self._wake:
                due = [name for name, when in self._dirty.items() if resync or when <= now]
                for name in due:
                    del self._dirty[name]
            for name in due:
                self._visit(name, resync=resync)

    def _active(self) -> bool:
        """§5: a controller is installed here, and not stopped."""
        if not self.store.synced():
            word = "no definitions, or the cluster does not answer"
        elif self.store.get("Deployment", installation.NAMESPACE, installation.CONTROLLER) is None:
            word = "no controller is installed"
        elif self.switches().stopped:
            word = "stopped"
        else:
            word = "controls the cluster"
        if word != self._told:
            self.log(word)
            self._told = word
        return word == "controls the cluster"

    def _visit(self, namespace: str, *, resync: bool) -> None:
        try:
            self._reconcile(namespace, resync=resync)
            self._trouble.pop(namespace, None)
        except AgainError:
            self.look(namespace)
        except (ApiError, OSError) as error:
            self._say(namespace, f"{namespace}: {error}")
            self.look(namespace, 1.0)
        except Exception:  # a fault of the stand-in must be seen, and must not end it for all others
            self._say(namespace, traceback.format_exc())
            self.look(namespace, 1.0)
        finally:
            if namespace in self.spaces:
                self.spaces[namespace].forget()

    def _say(self, about: str, text: str) -> None:
        if self._trouble.get(about) != text:
            self._trouble[about] = text
            self.log(text)

    def _elsewhere(self, namespace: str) -> bool:
        """§5: a ConfigMap ``skupper`` in a namespace may name another controller."""
        config = self.store.get("ConfigMap", namespace, "skupper")
        named = ((config or {}).get("data") or {}).get("controller", "")
        return named not in ("", installation.CONTROLLER, f"{installation.NAMESPACE}/{installation.CONTROLLER}")

    def _reconcile(self, namespace: str, *, resync: bool) -> None:
        space = self.spaces.get(namespace)
        if not self.store.concerned(namespace) and namespace != installation.NAMESPACE:
            if space is not None:
                had_site = space.site is not None
                del self.spaces[namespace]
                if had_site:
                    self.fleet.network_changed()
            return
        if self._elsewhere(namespace):
            return
        now = self.switches()
        if space is None:
            space = Space(
                namespace,
                self.name,
                self.client,
                self.store,
                now,
                self.log,
                lambda seconds: self.look(namespace, seconds),
            )
            self.spaces[namespace] = space
        space.switches = now
        if namespace == installation.NAMESPACE:
            self._grant_server(space)
        before = space.site
        site.choose(space)
        certificates.check(space, resync=resync)
        if space.site is None:
            links.tell(space)
            bindings.without_site(space)
        else:
            self._site(space)
        if (before is None) != (space.site is None):
            self.fleet.network_changed()
        tokens.check_grants(space, self.grants.url, self.grants.ca)
        tokens.check_tokens(space, resync=resync)
        space.flush()

    def _grant_server(self, space: Space) -> None:
        """§3: the grant server's certificate is made as all others are."""
        name = "skupper-grant-server"
        certificates.want(space, f"{name}-ca", f"{name}-ca", owners=[])
        certificates.want(space, name, name, ca=f"{name}-ca", hosts=[self.grants.host, name], owners=[])
        self.grants.refresh()

    def _site(self, space: Space) -> None:
        now = time.monotonic()
        refresh = now - self._refreshed.get(space.name, now) >= REFRESH
        if refresh or space.name not in self._refreshed:
            self._refreshed[space.name] = now
        trouble = site.check(space, again=refresh)
        if trouble is not None and not site.initialised(space):
            site.tell(space, trouble)
            return
        assert space.site is not None
        endpoints = access.check(space, site.groups(space.site))
        certificates.check(space, resync=False)
        self._configure(space)
        site.run_routers(space, self.fleet.router_image, again=refresh)
        site.elect(space, again=refresh)
        site.tell(space, trouble, endpoints)
        links.tell(space)
        network.publish(space, network.gather(self.fleet.spaces()))
        found = network.records(space)
        status = space.status(space.site)
        status.field("network", found)
        status.field("sitesInNetwork", len(found))
        if found and space.switches.network == "live":
            links.seen(space, found[0].get("links", []))
            services = [service for record in found for service in record.get("services", [])]
            bindings.seen(
                space,
                {one["routingKey"] for one in services if one.get("listeners")},
                {one["routingKey"] for one in services if one.get("connectors")},
            )

    def _configure(self, space: Space) -> None:
        """Put the routers' configuration together and write it."""
        assert space.site is not None
        have = space.get("ConfigMap", site.ROUTER)
        before: Object = json.loads(have["data"]["router.json"]) if have else {}
        accesses = [
            {"name": name, "role": name, "port": port, "profile": item["spec"]["tlsCredentials"]}
            for item in space.all("RouterAccess")
            for name, port in access.roles(item)
        ]
        linked = links.configure(space)
        named = [item for kind in ("Listener", "Connector") for item in space.all(kind)]
        used = {
            "skupper-local-server",
            *(one["profile"] for one in (*accesses, *linked)),
            *(item["spec"].get("tlsCredentials", "") for item in named),
        } - {""}
        config = {
            "site": {"id": space.site["metadata"]["uid"], "name": space.site["metadata"]["name"]},
            "accesses": accesses,
            "links": linked,
            "listeners": bindings.listen(space, before, [one["port"] for one in accesses]),
            "connectors": bindings.connect(space),
            "profiles": profiles.update(space, used, before.get("profiles", {})),
        }
        site.write_config(space, config)
