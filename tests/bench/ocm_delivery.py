# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""How long does it take to deliver SuperNodes to N managed clusters through Open Cluster Management's hub? See README.md beside this file.

The hub's API server and its controllers are real. The clusters are played: they are ManagedClusters without any agent.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import yaml

from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import NotFound
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster, connect
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import addon_objects, api, checks
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates
from ansible_collections.federated.flower.tests.bench.measure import (
    ApiServer,
    Measure,
    compare,
    context_of,
    machine,
    measured,
    playbook,
    print_head,
    print_row,
)
from ansible_collections.federated.flower.tests.integration import ocm_hub

Object = dict[str, Any]
HERE = Path(__file__).parents[2]
CONNECTIONS = 8
# Nobody renews the leases of clusters that are played.
_LEASE = 7 * 24 * 3600
# Seconds for controllers that have to do something for each cluster: this and so much for each.
_PATIENCE, _PATIENCE_EACH = 60.0, 0.5
BASE = "k8s_list"
_LIMITS = {"ocm_site": 1000, "ocm": 1000, BASE: 200}
# What the API server adds to an object, and who belongs to whom.
_SERVERS = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "finalizers")


# Ansible knows no hostvars before a playbook's first play, which is about the hub in site.yml, too.
FIRST = {"hosts": "flower_hub", "gather_facts": False, "tasks": [{"ansible.builtin.meta": "noop"}]}


def deliver() -> Object:
    """A play as that of the role supernode, with C(bench_deliver) in the place of its action. See there."""
    bring = {"bench_deliver": {"found": "{{ bench_found }}"}, "run_once": True, "register": "delivered"}
    told = {"federated.flower.site_result": {"registered": "delivered"}}
    return {"name": "Deliver", "hosts": "flower_sites", "gather_facts": False, "tasks": [bring, told]}


def plays(part: str) -> list[Object]:
    """The plays of one part of site.yml that concern such sites, with those tasks alone that do; nothing is recorded."""
    found = []
    for play in yaml.safe_load((HERE / "playbooks/parts" / f"site_{part}.yml").read_text(encoding="utf-8")):
        tasks = [task for one in play["tasks"] for task in one.get("block", [one])]
        chosen = tasks if "ocm" in play.get("tags", []) else [task for task in tasks if "ocm" in task.get("tags", [])]
        if "supernode" in play.get("tags", []):
            chosen = tasks
        if chosen:
            found.append({**play, "tasks": chosen})
    return found


def site() -> list[Object]:
    """The delivery among the other plays of site.yml that such sites have: checks of hub and sites, add-on, old versions."""
    return [FIRST, *plays("check"), *plays("hub"), deliver(), *plays("whole")]


@dataclass
class Bench:
    """Clusters on one hub, and the runs that deliver to them."""

    auth: Object
    server: ApiServer
    folder: Path
    forks: int
    run: str = field(default_factory=lambda: uuid.uuid4().hex[:8])
    measures: list[Measure] = field(default_factory=list)
    facts: list[Object] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.name = f"bench-{self.run}"
        self.addon = f"{self.name}-supernode"
        self.selector = f"{ocm_hub.MARK}=true,benchmark/run={self.run}"
        self.certificate = certificates.make_ca("bench", datetime.timedelta(days=1)).certificate

    # ---- what runs ---------------------------------------------------------------------------------------------------

    def measure(self, count: int, methods: Iterable[str], repeat: int) -> None:
        """All ways with so many clusters."""
        names = [f"{self.name}-{number:04}" for number in range(count)]
        folder = self.folder / str(count)
        folder.mkdir()
        self._files(folder, names)
        with connect(self.auth) as hub:
            self._timed("clusters accepted by the hub", count, lambda: self._make(hub, names))
            live: list[Object] = []
            for method in (one for one in methods if count <= _LIMITS[one]):
                if method != "ocm_site":
                    self._timed("add-on, placed by OCM", count, lambda: self._addon(hub, folder, names))
                if method == BASE:
                    self._files(folder, names, self._captured(hub, names, live))
                for run in ("first", *["no change"] * repeat):
                    self.server.learn_idle()
                    hosts = count + (method == "ocm_site")  # and the hub
                    found = measured(self.server, method, hosts, run, folder, self.forks, f"{method}.yml")
                    self.measures.append(found)
                    print_row(found)
                if method == "ocm":
                    self._count(hub, count)
                    live = self._live(hub)
                self._timed("add-on taken away", count, lambda: self._play("away.yml", folder))
            self._timed("clusters detached", count, lambda: self._detach(hub, names))

    def _files(self, folder: Path, names: list[str], objects: dict[str, list[Object]] | None = None) -> None:
        """Inventory and plays."""
        behind = {"flower_delivery": "ocm", "ansible_connection": "local"}
        hosts: Object = {}
        found: Object = {}
        for number, name in enumerate(names):
            # What the steps before this one would find out: ledger, hub, certificate.
            found[name] = {
                "allocation": {"default": {"offset": number, "partitions": len(names)}},
                "superlink_address": "superlink.example.com:30092",
                "ca_bundle": self.certificate,
                "client_certificate": self.certificate,
            }
            hosts[name] = {"bench_objects": (objects or {}).get(name, [])}
        common = {
            **{f"flower_{key}": value for key, value in self.auth.items()},
            "flower_federation": self.name,
            "flower_namespace": self.name,
            "flower_labels": {"benchmark/run": self.run},
            "ansible_connection": "local",
            "ansible_python_interpreter": sys.executable,
            "bench_found": found,
        }
        hub = {"ocm_addon_cluster_sets": [self.name], "ocm_addon_wait_timeout": 1800}
        groups = {
            "all": {"vars": common},
            "flower_hub": {"hosts": {f"{self.name}-hub": hub}},
            "flower_sites": {"hosts": hosts, "vars": behind},
        }
        k8s = {
            **self.auth,
            "apply": True,
            "server_side_apply": {"field_manager": "bench", "force_conflicts": True},
            "definition": "{{ bench_objects }}",
        }
        # Kubernetes' garbage collector takes its time with what belongs to an add-on.
        away = {"name": "federated.flower.ocm_addon", "tasks_from": "remove"}
        made = {
            "addon": [{"hosts": "flower_hub", "gather_facts": False, "roles": ["federated.flower.ocm_addon"]}],
            "away": [{"hosts": "flower_hub", "gather_facts": False, "tasks": [{"ansible.builtin.import_role": away}]}],
            "ocm": [FIRST, deliver()],
            "ocm_site": site(),
            BASE: [{"hosts": "flower_sites", "gather_facts": False, "tasks": [{"kubernetes.core.k8s": k8s}]}],
        }
        plugins = folder / "action_plugins"
        if not plugins.exists():
            plugins.symlink_to(Path(__file__).with_name("action_plugins"))
        (folder / "inventory.yml").write_text(json.dumps(groups), encoding="utf-8")
        for name, play in made.items():
            (folder / f"{name}.yml").write_text(json.dumps(play), encoding="utf-8")

    # ---- the hub -----------------------------------------------------------------------------------------------------

    def _make(self, hub: Cluster, names: list[str]) -> None:
        labels = {addon_objects.FEDERATION_LABEL: self.name, "benchmark/run": self.run, api.SET_LABEL: self.name}
        clusters = [ocm_hub.managed_cluster(name, labels) for name in names]
        for one in clusters:
            one["spec"]["leaseDurationSeconds"] = _LEASE
        cluster_set = ocm_hub.cluster_set(self.name)
        cluster_set["metadata"]["labels"] = {ocm_hub.MARK: "true", "benchmark/run": self.run}
        hub.create(cluster_set)
        if hub.get("v1", "Namespace", self.name) is None:
            space = {"name": self.name, "labels": {"benchmark/run": self.run}}
            hub.create({"apiVersion": "v1", "kind": "Namespace", "metadata": space})
        ocm_hub.put_all(self.auth, clusters, CONNECTIONS)
        self._until(names, lambda: set(names) <= set(_names(hub.list("v1", "Namespace"))), "have a namespace")

    def _addon(self, hub: Cluster, folder: Path, names: list[str]) -> None:
        self._play("addon.yml", folder)
        self._until(names, lambda: len(self._addons(hub)) == len(names), "are chosen")

    def _play(self, play: str, folder: Path) -> None:
        """Run a play that is not measured itself."""
        command, env = playbook(play, folder, self.forks)
        run = subprocess.run(command, cwd=folder, env=env, check=False, text=True, capture_output=True)
        if run.returncode:
            raise SystemExit(f"{play} failed:\n{run.stdout[-3000:]}{run.stderr[-1000:]}")

    def _addons(self, hub: Cluster) -> list[Object]:
        return hub.list(api.ADDONS, "ManagedClusterAddOn", fields=f"metadata.name={self.addon}")

    def _works(self, hub: Cluster) -> list[Object]:
        ours = ",".join(f"{key}={value}" for key, value in addon_objects.addon_labels(self.name).items())
        return hub.list(api.WORKS, "ManifestWork", labels=ours)

    def _versions(self, hub: Cluster) -> list[Object]:
        ours = ",".join(f"{key}={value}" for key, value in addon_objects.addon_labels(self.name).items())
        spaces = {"AddOnTemplate": None, "AddOnDeploymentConfig": self.name}
        return [
            {**item, "apiVersion": api.ADDONS, "kind": kind}
            for kind, space in spaces.items()
            for item in hub.list(api.ADDONS, kind, space, labels=ours)
        ]

    def _live(self, hub: Cluster) -> list[Object]:
        """What the collection has on the hub for these clusters."""
        listed = {
            (api.ADDONS, "ManagedClusterAddOn"): self._addons(hub),
            (api.WORKS, "ManifestWork"): self._works(hub),
        }
        named = [
            {**item, "apiVersion": version, "kind": kind} for (version, kind), items in listed.items() for item in items
        ]
        return [*self._versions(hub), *named]

    def _captured(self, hub: Cluster, names: list[str], live: list[Object]) -> dict[str, list[Object]]:
        """The objects that were delivered to each cluster, as someone would write them down."""
        uids = {item["metadata"]["namespace"]: item["metadata"]["uid"] for item in self._addons(hub)}
        named = {(item["kind"], item["metadata"]["name"]): item for item in live if item["kind"].startswith("AddOn")}
        found: dict[str, list[Object]] = {name: [] for name in names}
        for item in live:
            place = item["metadata"].get("namespace")
            if place not in found:
                continue
            meta = {key: value for key, value in item["metadata"].items() if key not in _SERVERS}
            for owner in meta.get("ownerReferences", []) if item["kind"] == "ManifestWork" else []:
                owner["uid"] = uids[place]
            if item["kind"] == "ManagedClusterAddOn":
                meta.pop("ownerReferences", None)
                kinds = {api.TEMPLATES_RESOURCE: "AddOnTemplate", api.CONFIGS_RESOURCE: "AddOnDeploymentConfig"}
                for one in item["spec"]["configs"]:
                    version = named[(kinds[one["resource"]], one["name"])]
                    own = {key: value for key, value in version["metadata"].items() if key not in _SERVERS}
                    found[place].insert(0, _plain(version, own))
            found[place].append(_plain(item, meta))
        return found

    def _count(self, hub: Cluster, count: int) -> None:
        live = self._live(hub)
        numbers = Counter(item["kind"] for item in live)
        works = [len(json.dumps(item)) for item in live if item["kind"] == "ManifestWork"]
        deployed = hub.list(api.WORKS, "ManifestWork", labels=f"open-cluster-management.io/addon-name={self.addon}")
        told = {
            "clusters": count,
            **numbers,
            "ManifestWorks of OCM": len(deployed),
            "bytes of a ManifestWork": max(works),
            "bytes of all": sum(len(json.dumps(item)) for item in live),
        }
        self.facts.append(told)
        print(f"{'':14}  on the hub: {', '.join(f'{value} {key}' for key, value in told.items())}", flush=True)

    def _remove_addon(self, hub: Cluster, names: list[str]) -> None:
        """What the role leaves when it was interrupted. The Placement first: while it is there, OCM makes add-ons anew."""
        hub.delete(api.PLACEMENTS, "Placement", self.addon, self.name)
        hub.delete(api.ADDONS, "ClusterManagementAddOn", self.addon, propagation="Background")
        self._until(names, lambda: not self._addons(hub) and not self._works(hub), "are rid of the add-on")
        for item in self._versions(hub):
            hub.delete(api.ADDONS, item["kind"], item["metadata"]["name"], item["metadata"].get("namespace"))

    def _detach(self, hub: Cluster, names: Iterable[str]) -> None:
        """Delete the clusters and their namespaces, over several connections."""
        path = f"/apis/{api.CLUSTERS}/managedclusters"
        hub.request("DELETE", path, query={"labelSelector": self.selector})
        gone = list(names)
        self._until(gone, lambda: not hub.list(api.CLUSTERS, "ManagedCluster", labels=self.selector), "are detached")

        def some(number: int) -> None:
            with connect(self.auth) as own:
                for name in gone[number::CONNECTIONS]:
                    own.delete("v1", "Namespace", name)

        with ThreadPoolExecutor(CONNECTIONS) as pool:
            list(pool.map(some, range(CONNECTIONS)))
        self._until(
            gone, lambda: not set(gone) & set(_names(hub.list("v1", "Namespace"))), "are rid of their namespaces"
        )
        hub.delete(api.SETS, "ManagedClusterSet", self.name)

    def clean(self) -> None:
        """Take away what is left of this benchmark, after an interruption, too."""
        with connect(self.auth) as hub:
            clusters = _names(hub.list(api.CLUSTERS, "ManagedCluster", labels=self.selector))
            spaces = [name for name in _names(hub.list("v1", "Namespace")) if name.startswith(f"{self.name}-")]
            if clusters or spaces:
                print(f"deleting {len(spaces)} namespaces …", file=sys.stderr)
            self._remove_addon(hub, clusters)
            self._detach(hub, {*clusters, *spaces})
            hub.delete("v1", "Namespace", self.name)

    # ---- waiting -----------------------------------------------------------------------------------------------------

    def _timed(self, what: str, count: int, step: Callable[[], None]) -> None:
        start = time.monotonic()
        step()
        seconds = round(time.monotonic() - start, 2)
        self.facts.append({"clusters": count, "what": what, "seconds": seconds})
        print(f"{'':14}  {count:>8}  {what}: {seconds:.1f} s", flush=True)

    @staticmethod
    def _until(names: Iterable[str], good: Callable[[], bool], what: str) -> None:
        count = len(list(names))
        deadline = time.monotonic() + _PATIENCE + _PATIENCE_EACH * count
        while not good():
            if time.monotonic() > deadline:
                raise SystemExit(f"not all of {count} clusters {what}")
            time.sleep(1)


def _names(items: Iterable[Object]) -> list[str]:
    return [item["metadata"]["name"] for item in items]


def _plain(item: Object, meta: Object) -> Object:
    return {"apiVersion": item["apiVersion"], "kind": item["kind"], "metadata": meta, "spec": item["spec"]}


def _is_hub(hub: Cluster) -> bool:
    """Whether the hub serves what is needed, and its controllers are at work."""
    for version, kind in (*checks.KINDS, *checks.PLACEMENT_KINDS):
        try:
            hub.resource(version, kind)
        except NotFound:
            return False
    return hub.get(api.SETS, "ManagedClusterSet", "default") is not None


def main() -> None:
    """Make clusters, measure, print the table, write the JSON, take the clusters away."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that everything is taken away
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kubeconfig", default=os.environ.get("FLOWER_FLEET_KUBECONFIG"))
    parser.add_argument("--context", help="the hub (default: hub if there is one, else the current context)")
    parser.add_argument("--clusters", default="10,200,1000", help="numbers of clusters (default: %(default)s)")
    parser.add_argument("--methods", default=",".join(_LIMITS), help="of these, which are the default: %(default)s")
    parser.add_argument("--repeat", type=int, default=1, help="no-change runs (default: %(default)s)")
    parser.add_argument("--forks", type=int, default=20, help="Ansible's forks (default: %(default)s)")
    arguments = parser.parse_args()
    if not arguments.kubeconfig:
        raise SystemExit("give --kubeconfig, or set FLOWER_FLEET_KUBECONFIG")
    auth = {
        "kubeconfig": arguments.kubeconfig,
        "context": context_of(arguments.kubeconfig, arguments.context),
    }
    with connect(auth) as hub:
        if not _is_hub(hub):
            print(
                f"{auth['context']} is not an Open Cluster Management hub: delivery through it is not measured",
                file=sys.stderr,
            )
            return
    methods = arguments.methods.split(",")
    with tempfile.TemporaryDirectory(prefix="flower-bench-") as folder:
        bench = Bench(auth, ApiServer(**auth), Path(folder), arguments.forks)
        try:
            print_head()
            for count in (int(text) for text in arguments.clusters.split(",")):
                bench.measure(count, methods, arguments.repeat)
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)  # whoever is impatient would leave things behind
            bench.clean()
        compare(bench.measures, BASE)
    target = Path(os.environ.get("FLOWER_BUILD", "build")) / "bench-ocm-delivery.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    measures = [asdict(one) for one in bench.measures]
    report = {"machine": machine(), "forks": arguments.forks, "measures": measures, "facts": bench.facts}
    target.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    for one in bench.measures:
        if one.ratio:
            print(
                f"{one.clusters} clusters, {one.run}: {one.method} takes {one.seconds:.1f} s, {BASE} {one.ratio} times as long"
            )
    print(f"\nwritten: {target}")


if __name__ == "__main__":
    main()
