# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""How fast are the same objects delivered to N clusters, by which way? See README.md beside this file."""

from __future__ import annotations

import argparse
import base64
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml
from kubernetes import client

from ansible_collections.federated.flower.tests.bench.distance import away
from ansible_collections.federated.flower.tests.bench.measure import (
    ApiServer,
    Measure,
    compare,
    context_of,
    machine,
    measured,
    medians,
    print_head,
    print_row,
)

LABEL = "benchmark/run"
APP = Path(__file__).resolve().parents[2] / "examples" / "quickstart"


# ---- what is delivered -----------------------------------------------------------------------------------------------


def objects_of(run: str) -> list[dict[str, Any]]:
    """Eight objects in one namespace: what a small part of a federation looks like. No pod starts."""
    labels = {"app.kubernetes.io/name": "bench", "app.kubernetes.io/managed-by": "federated.flower"}
    meta = {"name": "bench", "namespace": "{{ bench_namespace }}", "labels": labels}
    ports = [{"name": "fleet", "port": 9092, "targetPort": "fleet"}]
    container = {
        "name": "main",
        "image": "example.invalid/bench:1",
        "args": ["--address", "0.0.0.0:9092"],
        "env": [{"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
        "ports": [{"name": "fleet", "containerPort": 9092}],
        "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": [{"name": "settings", "mountPath": "/settings"}, {"name": "data", "mountPath": "/data"}],
    }
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    pod = {
        "serviceAccountName": "bench",
        "automountServiceAccountToken": False,
        "containers": [container],
        "volumes": [{"name": "settings", "configMap": {"name": "bench"}}],
    }
    selector = {"matchLabels": {"app.kubernetes.io/name": "bench"}}
    return [
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": "{{ bench_namespace }}", "labels": {LABEL: run}},
        },
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta},
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": meta,
            "data": {"config.toml": "[federation]\nname = 'bench'\n" * 8},
        },
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": meta,
            "type": "Opaque",
            "data": {"key": base64.b64encode(b"0123456789" * 40).decode()},
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": meta,
            "spec": {"selector": selector["matchLabels"], "clusterIP": "None", "ports": ports},
        },
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": meta,
            "spec": {
                "podSelector": selector,
                "policyTypes": ["Ingress"],
                "ingress": [{"ports": [{"port": 9092, "protocol": "TCP"}]}],
            },
        },
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": meta,
            "spec": {"maxUnavailable": 1, "selector": selector},
        },
        {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": meta,
            "spec": {
                "replicas": 0,
                "serviceName": "bench",
                "selector": selector,
                "template": {"metadata": {"labels": labels}, "spec": pod},
                "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim}],
            },
        },
    ]


# ---- the ways --------------------------------------------------------------------------------------------------------

_K8S = {
    "kubeconfig": "{{ bench_kubeconfig }}",
    "context": "{{ bench_context }}",
    "apply": True,
    "server_side_apply": {"field_manager": "bench", "force_conflicts": True},
}
_APPLY = {"kubeconfig": "{{ bench_kubeconfig }}", "context": "{{ bench_context }}", "objects": "{{ objects }}"}


@dataclass
class Method:
    """One way to deliver. ``limit``: the most clusters it is run with unless told otherwise; it is slow."""

    name: str
    tasks: list[dict[str, Any]]
    limit: int
    #: one kubeconfig with all contexts instead of one per host
    merged: bool = False
    #: the whole role federated.flower.supernode; a SuperLink is deployed first, outside the measured time
    role: bool = False
    #: whole playbooks of the collection for a hub and its sites, and what they are given: the row's name -> playbook, extra variables
    playbooks: Mapping[str, tuple[str, dict[str, Any]]] = field(default_factory=dict)

    @property
    def federation(self) -> bool:
        """Its hosts are the sites of a federation."""
        return self.role or bool(self.playbooks)


METHODS = {
    method.name: method
    for method in (
        Method("apply", [{"federated.flower.apply": _APPLY}], 1000),
        Method("apply_merged", [{"federated.flower.apply": _APPLY}], 1000, merged=True),
        Method("apply_set", [{"federated.flower.apply": {**_APPLY, "applyset": "bench", "wait": True}}], 1000),
        Method("role", [], 1000, role=True),
        Method(
            "site",
            [],
            1000,
            playbooks={
                "first": ("site", {}),
                "no change": ("site", {}),
                "status": ("status", {}),
                "client": ("rotate_certs", {"flower_rotate": "client"}),
                # The last one, since a rotation waits for the end of runs. No SuperNode is online, so none is waited for.
                "run": ("run", {"flower_app": str(APP), "flower_run_wait": False}),
            },
        ),
        Method("k8s_list", [{"kubernetes.core.k8s": {**_K8S, "definition": "{{ objects }}"}}], 200),
        Method(
            "k8s_loop",
            [
                {
                    "kubernetes.core.k8s": {**_K8S, "definition": "{{ item }}"},
                    "loop": "{{ objects }}",
                    "loop_control": {"label": "x"},
                }
            ],
            10,
        ),
    )
}
BASE = "k8s_list"  # what the others are compared with


def _imported(playbook: str, variables: dict[str, Any]) -> dict[str, Any]:
    """A play that is a playbook of the collection."""
    return {"import_playbook": f"federated.flower.{playbook}", "vars": variables}


# ---- runs -----------------------------------------------------------------------------------------------------------


@dataclass
class Bench:
    """The runs of one benchmark against one context."""

    kubeconfig: str
    context: str
    folder: Path
    forks: int
    #: milliseconds of the round trip to the clusters, not to the hub
    distance: int = 0
    run: str = field(default_factory=lambda: uuid.uuid4().hex[:8])
    measures: list[Measure] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.server = ApiServer(self.kubeconfig, self.context)
        self.entries = self.far = self._entries()

    def _entries(self) -> dict[str, dict[str, Any]]:
        """Cluster and user of the context, with every file inline."""
        whole = yaml.safe_load(Path(self.kubeconfig).read_text(encoding="utf-8"))
        names = next(one["context"] for one in whole["contexts"] if one["name"] == self.context)
        parts = {}
        for kind, name in (("cluster", names["cluster"]), ("user", names["user"])):
            entry = dict(next(one[kind] for one in whole[f"{kind}s"] if one["name"] == name))
            for key in ("certificate-authority", "client-certificate", "client-key"):
                if key in entry:
                    content = (Path(self.kubeconfig).parent / entry.pop(key)).read_bytes()
                    entry[f"{key}-data"] = base64.b64encode(content).decode()
            parts[kind] = entry
        return parts

    @contextlib.contextmanager
    def far_away(self) -> Iterator[None]:
        """Reach the clusters over the given distance meanwhile."""
        if not self.distance:
            self.far = self.entries
            yield
            return
        server = urlsplit(self.entries["cluster"]["server"])
        with away(str(server.hostname), server.port or 443, self.distance) as port:
            near = {"server": f"https://127.0.0.1:{port}", "tls-server-name": server.hostname}
            self.far = {**self.entries, "cluster": {**self.entries["cluster"], **near}}
            yield

    def _kubeconfig(self, names: list[str], path: Path, *, far: bool = True) -> None:
        entries = self.far if far else self.entries
        text = ["apiVersion: v1", "kind: Config", f"current-context: {names[0]}"]
        for kind in ("cluster", "user"):
            text.append(f"{kind}s:")
            for name in names:
                body = "".join(f"    {key}: {json.dumps(value)}\n" for key, value in entries[kind].items())
                text.append(f"- name: {name}\n  {kind}:\n{body.rstrip()}")
        text.append("contexts:")
        text += [f"- name: {name}\n  context:\n    cluster: {name}\n    user: {name}" for name in names]
        path.write_text("\n".join(text) + "\n", encoding="utf-8")
        path.chmod(0o600)

    def measure(self, method: Method, clusters: int, repeat: int) -> None:
        """First run and no-change runs of one method with one number of clusters."""
        label = f"{method.name} {self.distance} ms" if self.distance else method.name
        folder = self.folder / f"{method.name}-{clusters}-{self.distance}"
        folder.mkdir()
        # kubernetes.core knows no underscore in names of namespaces either
        names = [f"bench-{self.run}-{method.name.replace('_', '')}-{clusters}-{self.distance}-{n}" for n in range(clusters)]
        hosts = {}
        for name in names:
            path = folder / ("all.kubeconfig" if method.merged else f"{name}.kubeconfig")
            if not method.merged:
                self._kubeconfig([name], path)
            hosts[name] = {"bench_namespace": name, "bench_context": name, "bench_kubeconfig": str(path)}
        if method.merged:
            self._kubeconfig(names, folder / "all.kubeconfig")
        common = {
            "ansible_connection": "local",
            "ansible_python_interpreter": sys.executable,
            "objects": objects_of(self.run),
        }
        groups: dict[str, Any] = {"all": {"hosts": hosts, "vars": common}}
        play: dict[str, Any] = {"hosts": "all", "gather_facts": False, "tasks": method.tasks}
        if method.federation:
            # As playbooks/site.yml does: the role's own task checks the variables of all sites.
            role = {"name": "federated.flower.supernode", "rolespec_validate": False}
            play = {"hosts": "flower_sites", "gather_facts": False, "tasks": [{"ansible.builtin.import_role": role}]}
            groups = self._federation(hosts, common, folder)
        (folder / "inventory.yml").write_text(json.dumps(groups), encoding="utf-8")
        if method.role:
            self._deploy_hub(folder)
        files = {"play.yml": play} | {f"{row}.yml": _imported(*given) for row, given in method.playbooks.items()}
        for file, content in files.items():
            (folder / file).write_text(json.dumps([content]), encoding="utf-8")
        for row in (*(method.playbooks or ("first", "no change")), *["no change"] * (repeat - 1)):
            file = f"{row}.yml" if method.playbooks else "play.yml"
            others = None if method.playbooks else 0  # some look at the hub alone
            self.server.learn_idle()
            self.measures.append(measured(self.server, label, clusters, row, folder, self.forks, file, others))
            print_row(self.measures[-1])

    def _federation(self, hosts: dict[str, Any], common: dict[str, Any], folder: Path) -> dict[str, Any]:
        """Inventory of a federation whose hub and sites are namespaces of the API server. No SuperNode pod starts."""
        for name, host in hosts.items():
            host |= {
                "flower_kubeconfig": host["bench_kubeconfig"],
                "flower_context": name,
                "supernode_namespace": name,
                "supernode_pools": [{"name": "bench", "replicas": 0, "node_config": {"site": "{cluster}"}}],
            }
        hub = f"bench-{self.run}-hub-{len(hosts)}-{self.distance}"
        self._kubeconfig([hub], folder / "hub.kubeconfig", far=False)
        shared = {"flower_labels": {LABEL: self.run}, "flower_namespace": hub, "flower_ca_namespace": f"{hub}-ca"}
        access = {"flower_kubeconfig": str(folder / "hub.kubeconfig"), "flower_context": hub}
        return {
            "all": {"vars": {**common, **shared}},
            "flower_hub": {"hosts": {hub: {**access, "superlink_exposure": "node_port"}}},
            "flower_sites": {"hosts": hosts},
        }

    def _deploy_hub(self, folder: Path) -> None:
        hub = [{"hosts": "flower_hub", "gather_facts": False, "roles": ["federated.flower.superlink"]}]
        (folder / "hub.yml").write_text(json.dumps(hub), encoding="utf-8")
        command = [str(Path(sys.executable).parent / "ansible-playbook"), "-i", "inventory.yml", "hub.yml"]
        run = subprocess.run(command, cwd=folder, check=False, text=True, capture_output=True)
        if run.returncode:
            raise SystemExit(f"the SuperLink was not deployed:\n{run.stdout[-3000:]}{run.stderr[-1000:]}")

    def clean(self) -> None:
        """Delete all namespaces of this benchmark and wait until they are gone."""
        api = self.server.core
        names = [one.metadata.name for one in api.list_namespace(label_selector=f"{LABEL}={self.run}").items]
        if names:
            with contextlib.suppress(OSError):  # whoever read us may have gone
                print(f"deleting {len(names)} namespaces …", file=sys.stderr)
        for name in names:
            with contextlib.suppress(client.ApiException):
                api.delete_namespace(name)
        deadline = time.monotonic() + 60 + len(names)
        while api.list_namespace(label_selector=f"{LABEL}={self.run}", limit=1).items and time.monotonic() < deadline:
            time.sleep(2)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--kubeconfig", default=os.environ.get("FLOWER_FLEET_KUBECONFIG") or os.environ.get("KUBECONFIG")
    )
    parser.add_argument("--context", help="default: hub if there is one, else the current context")
    parser.add_argument("--clusters", default="1,10,50,200,1000", help="numbers of clusters (default: %(default)s)")
    parser.add_argument(
        "--methods", default="apply,role,k8s_list,k8s_loop", help=f"of {', '.join(METHODS)} (default: %(default)s)"
    )
    parser.add_argument("--no-limit", action="store_true", help="run slow methods with many clusters, too")
    parser.add_argument(
        "--repeat", type=int, default=1, help="no-change runs; the median counts (default: %(default)s)"
    )
    parser.add_argument("--forks", type=int, default=20, help="Ansible's forks (default: %(default)s)")
    parser.add_argument(
        "--distance", default="0", help="milliseconds of the round trip to the clusters, not to the hub (default: %(default)s)"
    )
    parser.add_argument("--json", default=None, help="file for the results (default: build/bench.json)")
    return parser.parse_args()


@contextlib.contextmanager
def _benchmark(arguments: argparse.Namespace) -> Iterator[Bench]:
    with tempfile.TemporaryDirectory(prefix="flower-bench-") as folder:
        context = context_of(arguments.kubeconfig, arguments.context)
        bench = Bench(arguments.kubeconfig, context, Path(folder), arguments.forks)
        try:
            yield bench
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)  # whoever is impatient would leave things behind
            bench.clean()


def main() -> None:
    """Run the benchmark, print the table, write the JSON."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the namespaces are deleted
    arguments = _arguments()
    if not arguments.kubeconfig:
        raise SystemExit("give --kubeconfig, or set FLOWER_FLEET_KUBECONFIG")
    methods = [METHODS[name] for name in arguments.methods.split(",")]
    numbers = [int(text) for text in arguments.clusters.split(",")]
    target = Path(arguments.json or Path(os.environ.get("FLOWER_BUILD", "build")) / "bench.json")
    with _benchmark(arguments) as bench:
        print_head()
        for bench.distance in map(int, arguments.distance.split(",")):
            with bench.far_away():
                for number in numbers:
                    for method in methods:
                        if number <= method.limit or arguments.no_limit:
                            bench.measure(method, number, arguments.repeat)
        compare(bench.measures, BASE)
        print("\nmedians, ratio = seconds of", BASE, "/ seconds")
        print_head()
        for one in medians(bench.measures):
            print_row(one)
        target.parent.mkdir(parents=True, exist_ok=True)
        report = {
            "machine": machine(),
            "forks": arguments.forks,
            "objects_per_cluster": len(objects_of("")),
            "base": BASE,
            "measures": [asdict(one) for one in bench.measures],
        }
        target.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
        print(f"\nwritten: {target}")


if __name__ == "__main__":
    main()
