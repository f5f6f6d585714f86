# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One federation on the fleet, shared by all scenarios, run by ansible-playbook as a user would.

The federation has its own namespaces and can live beside others. A scenario that leaves it different from what the base
inventory wants costs the next one a run of site.yml that heals it.
"""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_ssh_private_key
from kubernetes.client import CoreV1Api
from kubernetes.client.exceptions import ApiException
from kubernetes.config import new_client_from_config
from urllib3.exceptions import HTTPError

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.flower import in_pod
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI, FlowerError
from ansible_collections.federated.flower.plugins.plugin_utils.flower.runs import read_all, stop
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import NotFound
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster, connect
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import sidecar
from ansible_collections.federated.flower.plugins.plugin_utils.state.audit_trail import Trail
from ansible_collections.federated.flower.plugins.plugin_utils.state.hash_chain import verify
from ansible_collections.federated.flower.plugins.plugin_utils.state.ledger import Ledger
from ansible_collections.federated.flower.tests.integration.scenarios import gateway_probe, waiting_app
from ansible_collections.federated.flower.tests.integration.scenarios.lane import CA_NAMESPACE, NAMESPACE

APP = Path(__file__).parents[3] / "examples" / "quickstart"
# Suffixes of the namespaces that scenarios may make, removed before the first and after the last one.
SUFFIXES = (
    "",
    "-by",
    "-by-ca",
    "-c",
    "-ca",
    "-cert",
    "-cert-ca",
    "-clinic",
    "-d",
    "-far",
    "-federation",
    "-federation-2",
    "-federation-ca",
    "-helm",
    "-helm-ca",
    "-infra",
    "-jobs",
    "-keys",
    "-lines",
    "-lines-ca",
    "-nightly",
    "-ocm",
    "-oc",
    "-ocm-ca",
    "-operator",
    "-os",
    "-os-ca",
    "-race",
    "-rights",
    "-rights-ca",
    "-taken",
    "-taken-ca",
    "-uid",
    "-uid-ca",
    "-wrong",
    "-wrong-ca",
)
NAMESPACES = [NAMESPACE + suffix for suffix in SUFFIXES]
PRINT_JSON = {"ANSIBLE_CALLBACK_RESULT_FORMAT": "json"}  # what status.yml needs for it
LIMIT = 420  # seconds that no playbook should ever print nothing; how long it takes depends on the machine
# Playbooks that leave the deployment as it is.
LOOKING = {"status", "run", "runs", "outputs", "audit", "backup", "connect", "convert", "leaving_statement", "logs", "plan", "support", "verify"}
DISCOVERY = "k8srcp-*.json"
NO_SECOND_TRY = "(no second try)"  # tools/second_try.py looks for it

NODE_CONFIG = {"partition-id": "{partition}", "num-partitions": "{partitions}", "site": "{cluster}"}
CPU = {"name": "cpu", "replicas": 2, "node_config": NODE_CONFIG}
# Without {partitions}: a number that a pool's pods know restarts them when it changes.
GPU = {
    "name": "gpu",
    "replicas": 1,
    "gpu": {"resource": "nvidia.com/gpu", "count": 1},
    "node_config": {"partition-id": "{partition}", "site": "{cluster}"},
}

# Calls an ops port of a sidecar from within its pod.
_ASK_SIDECAR = """\
import sys, urllib.error, urllib.request
try:
    print(200, urllib.request.urlopen(sys.argv[1], timeout=10).read().decode())
except urllib.error.HTTPError as error:
    print(error.code)
"""

Hosts = dict[str, dict[str, Any]]


@dataclass
class Run:
    """What a run of ansible-playbook left: exit code, output, results of all tasks, and the play recap."""

    rc: int
    output: str
    log: Path
    results: list[dict[str, Any]] = field(default_factory=list)

    @property
    def recap(self) -> dict[str, dict[str, int]]:
        """Host -> counter -> number."""
        found = {}
        for line in self.output.rpartition("PLAY RECAP")[2].splitlines():
            host, colon, numbers = line.partition(" : ")
            if colon:
                found[host.strip()] = {key: int(number) for key, number in re.findall(r"(\w+)=(\d+)", numbers)}
        return found

    @property
    def changed(self) -> dict[str, int]:
        """Host -> number of tasks that changed something."""
        return {host: numbers["changed"] for host, numbers in self.recap.items()}

    def messages(self, host: str | None = None, failed: bool | None = None) -> str:
        """The messages of tasks, one a line."""
        chosen = [
            one["result"].get("msg", "")
            for one in self.results
            if host in (None, one["host"]) and failed in (None, one["failed"])
        ]
        return "\n".join(text if isinstance(text, str) else json.dumps(text) for text in chosen)

    @property
    def table(self) -> list[str]:
        """The lines of the report of status.yml, or of another table. Where results are YAML, a table may be one text."""
        shown = [one["result"].get("msg", "") for one in self.results]
        return next((msg for msg in shown if isinstance(msg, list)), None) or next(msg for msg in shown if "\n" in msg).splitlines()

    @property
    def measured(self) -> dict[str, Any]:
        """Site -> what verify.yml measured there, with all checks, of which the hub keeps the reasons."""
        return next(one["result"]["sites"] for one in self.results if {"table", "sites"} <= set(one["result"]))

    @property
    def report(self) -> dict[str, Any]:
        """What status.yml prints for machines."""
        return next(json.loads(text) for text in self.messages().splitlines() if text.startswith("{"))

    def warnings(self) -> str:
        """The warnings of tasks, one a line."""
        return "\n".join(str(text) for one in self.results for text in one["result"].get("warnings") or [])

    def details(self) -> str:
        """What failed, for the message of an assertion."""
        bad = [
            line[:2000]
            for line in self.output.splitlines()
            if line.startswith(("fatal:", "ERROR", "[ERROR]", "failed:"))
        ]
        return f"exit code {self.rc}, see {self.log}\n" + "\n".join(bad or self.output.splitlines()[-25:])


class Federation:
    """The federation, its inventory, and methods to read the real state."""

    namespace = NAMESPACE

    def __init__(self, kubeconfig: Path, contexts: list[str], folder: Path) -> None:
        self.kubeconfig = kubeconfig
        self.contexts = contexts
        self.folder = folder
        self.tmp = folder / "tmp"
        self.logs = folder / "logs"
        self.home = folder / "ansible"
        for path in (self.tmp, self.logs, self.home):
            path.mkdir()
        self.runs = 0
        self.secrets: dict[str, str] = {}  # what must never be seen -> where it lies
        self._collected: set[tuple[str, str]] = set()  # versions of Secrets that were read
        self.left_behind: list[str] = []
        self.processes = Processes()
        self.started: list[Any] = []  # what start() returned
        self.has_left_runs = False  # a playbook was ended by us: its run of an app may still be active
        self.settled = (
            False  # the clusters are as the base inventory wants them; who breaks something sets this to False
        )
        self.common: dict[str, Any] = {
            "ansible_connection": "local",
            "ansible_python_interpreter": sys.executable,
            "flower_kubeconfig": str(kubeconfig),
            "flower_federation": "scenario",
            "flower_namespace": NAMESPACE,
            "flower_ca_namespace": CA_NAMESPACE,
            "flower_monitoring_namespaces": ["monitoring"],
        }
        self._clusters: dict[str, Cluster] = {}

    # Inventory and runs

    def base(self) -> Hosts:
        """A fresh copy of the hosts that all scenarios start with."""
        return copy.deepcopy(
            {
                "hub": {"flower_context": "hub", "superlink_exposure": "node_port", "superlink_storage_size": "256Mi"},
                "site-a": {"flower_context": "site-a", "flower_region": "eu", "supernode_pools": [CPU]},
                "site-b": {"flower_context": "site-b", "flower_region": "us", "supernode_pools": [GPU]},
            }
        )

    def inventory(self, hosts: Hosts | None = None, **common: Any) -> Path:
        """Write an inventory; `hub` is the hub, everything else a site."""
        hosts = self.base() if hosts is None else hosts
        groups = {
            "flower_hub": {"hosts": {name: found for name, found in hosts.items() if name == "hub"}},
            "flower_sites": {"hosts": {name: found for name, found in hosts.items() if name != "hub"}},
        }
        text = json.dumps({"all": {"vars": {**self.common, **common}, "children": groups}}, indent=1)
        # The same one has the same name: its inventory also shows what a run did.
        path = self.folder / f"inventory-{hashlib.sha256(text.encode()).hexdigest()[:12]}.json"
        path.write_text(text)
        return path

    def environment(self, results: Path, collections: Path | None = None) -> dict[str, str]:
        """Environment of a run: nothing of it may fall outside of this session's folder.

        `collections`: where the collection is to be taken from, instead of the staged copy.
        """
        other = {"ANSIBLE_COLLECTIONS_PATH": str(collections), "PYTHONPATH": str(collections)} if collections else {}
        return {
            **os.environ,
            **other,
            "TMPDIR": str(self.tmp),
            "ANSIBLE_HOME": str(self.home),
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_CALLBACK_PLUGINS": str(Path(__file__).parents[1] / "callback_plugins"),
            "ANSIBLE_CALLBACKS_ENABLED": "results_json",
            "FLOWER_RESULTS": str(results),
        }

    def start(
        self,
        playbook: str,
        *arguments: str,
        hosts: Hosts | Path | None = None,
        collections: Path | None = None,
        **common: Any,
    ) -> Callable[[], Run]:
        """Start a playbook of the collection, or one by its path; call what comes back to wait for its end.

        `hosts` may be the path of an inventory.
        """
        self.runs += 1
        name = playbook if playbook.endswith(".yml") else f"federated.flower.{playbook}"
        log = self.logs / f"{self.runs:03}-{Path(playbook).stem}.log"
        results = log.with_suffix(".jsonl")
        inventory = hosts if isinstance(hosts, Path) else self.inventory(hosts, **common)
        command = ["ansible-playbook", "-vvv", "--diff", "-i", str(inventory), name, *arguments]
        with log.open("wb") as sink:
            process = subprocess.Popen(
                command,
                cwd=self.folder,
                env={**self.environment(results, collections), **(PRINT_JSON if "flower_status_format=json" in arguments else {})},
                stdout=sink,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

        def finish() -> Run:
            try:
                rc = wait_for_end(process, log)
            except subprocess.TimeoutExpired as error:
                self.settled, self.has_left_runs = False, True
                pods = self._keep_logs(log.with_suffix(".pods"))
                tail = "\n".join(log.read_text(encoding="utf-8").splitlines()[-15:])
                raise AssertionError(f"{name} printed nothing for {error.timeout:.0f} s, see {log} and {pods}\n{tail}") from None
            finally:
                crash()
            lines = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
            self._collect()
            return Run(rc, log.read_text(encoding="utf-8"), log, [json.loads(line) for line in lines])

        def kill() -> None:
            """End the playbook's main process as a crash would; no matter if it is over. Forks are in sessions of their own and go on."""
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                # A module that is killed leaves what Ansible had unpacked for it.
                for path in self.tmp.glob("ansible_*_payload_*"):
                    shutil.rmtree(path)

        def crash() -> None:
            """End the playbook with its forks; no matter if it is over."""
            kill_forks(process)
            kill()

        finish.kill = kill
        finish.crash = crash
        finish.pid = process.pid
        finish.log = log
        finish.running = lambda: process.poll() is None
        finish.tasks = lambda: results.read_text(encoding="utf-8").count("\n") if results.exists() else 0
        self.started.append(finish)
        return finish

    def play(
        self, playbook: str, *arguments: str, hosts: Hosts | Path | None = None, rc: int | None = 0, **common: Any
    ) -> Run:
        """Run a playbook; `rc=None` takes any exit code."""
        if playbook not in LOOKING and "--check" not in arguments:
            self.settled = False
        self._collect()
        run = self.start(playbook, *arguments, hosts=hosts, **common)()
        self._note_left_files(run, ours=not playbook.endswith(".yml"))
        if rc is not None:
            assert run.rc == rc, run.details()
        if (
            playbook == "site"
            and hosts is None
            and not common
            and not run.rc
            and not {"--limit", "--tags"} & set(arguments)
        ):
            self.settled = True
        return run

    def site(self, hosts: Hosts | None = None, *arguments: str, **common: Any) -> Run:
        """Run site.yml, which must succeed."""
        return self.play("site", *arguments, hosts=hosts, **common)

    def settle(self) -> None:
        """Have the clusters as the base inventory wants them; the first time as a user would, later changes of scenarios are reverted."""
        # Before site.yml, which an active run can forbid a restart; after it, if there was no SuperLink to ask.
        if self.has_left_runs and self.pods("hub", name="superlink"):
            with suppress(ClusterError):
                self._stop_left_runs()
        if not self.settled:
            self.site(None, *self.forgetting())
        if self.has_left_runs:
            self._stop_left_runs()

    def _stop_left_runs(self) -> None:
        """Stop what runs of apps are active after a playbook was ended by us.

        Raises:
            ClusterError: the SuperLink does not list or stop them.
        """
        cli = FlowerCLI(self.hub, NAMESPACE)
        _over, refused = stop(cli, [run["run-id"] for run in read_all(cli) if not run["status"].startswith("finished")])
        if refused:
            raise FlowerError(f"runs that were left could not be stopped: {refused}")
        self.has_left_runs = False

    def forgetting(self) -> list[str]:
        """Arguments that forget all sites that the base inventory does not have."""
        known = set()
        if self.hub.get("v1", "Namespace", NAMESPACE) is not None:
            found, unreadable = self.ledger().read_sites()
            known = {*found, *unreadable}
        gone = sorted(known - set(self.base()))
        return ["-e", f"flower_forget_sites={','.join(gone)}", "-e", f"flower_forget_max={len(gone)}"] if gone else []

    def unchanged(self, hosts: Hosts | None = None, *arguments: str, **common: Any) -> None:
        """Run site.yml once more: nothing may change."""
        run = self.site(hosts, *arguments, **common)
        assert set(run.changed.values()) == {0}, f"the second run changed something: {run.changed}, see {run.log}"

    # Reading the clusters

    def cluster(self, context: str) -> Cluster:
        """A connection to a cluster of the fleet."""
        if context not in self._clusters:
            self._clusters[context] = connect({"kubeconfig": str(self.kubeconfig), "context": context})
        return self._clusters[context]

    @property
    def hub(self) -> Cluster:
        """A connection to the hub."""
        return self.cluster("hub")

    def pods(self, context: str, namespace: str = NAMESPACE, name: str = "supernode") -> dict[str, dict[str, Any]]:
        """Pod name -> pod, without those that are going."""
        found = self.cluster(context).list("v1", "Pod", namespace, labels=f"app.kubernetes.io/name={name}")
        return {pod["metadata"]["name"]: pod for pod in found if not pod["metadata"].get("deletionTimestamp")}

    def lives(self, context: str, namespace: str = NAMESPACE, name: str = "supernode") -> dict[str, tuple[str, int]]:
        """Pod name -> (uid, restarts): equal before and after when nothing was touched."""
        lives = {}
        for pod, found in self.pods(context, namespace, name).items():
            status = found["status"]
            containers = [*status.get("initContainerStatuses", []), *status.get("containerStatuses", [])]
            lives[pod] = (found["metadata"]["uid"], sum(container["restartCount"] for container in containers))
        return lives

    def everything(self) -> dict[tuple[str, str], str]:
        """(Cluster, pod) -> its uid, of all pods of the federation that stay."""
        return {
            (context, pod["metadata"]["name"]): pod["metadata"]["uid"]
            for context in ("hub", "site-a", "site-b")
            for pod in self.cluster(context).list("v1", "Pod", self.namespace)
            if not pod["metadata"].get("deletionTimestamp")
        }

    def python(
        self, context: str, pod: str, container: str, program: str, *arguments: str, namespace: str = NAMESPACE
    ) -> str:
        """Run a Python program in a container; return what it printed."""
        command = ["python", "-c", program, *arguments]
        result = self.cluster(context).exec(namespace, pod, container, command, timeout=90)
        assert result.rc == 0, f"{pod}/{container}: {result.stderr.decode()[-1500:]}"
        return result.stdout.decode()

    def door(self) -> dict[str, Any]:
        """Host and port to which sites connect."""
        publication = self.hub.get("v1", "ConfigMap", "flower-federation", NAMESPACE)["data"]
        host, _colon, port = publication["address"].rpartition(":")
        return {"host": host, "port": int(port)}

    def identity(self, context: str, namespace: str = NAMESPACE) -> dict[str, str]:
        """Client certificate and key that a site holds, PEM."""
        certificate = self.cluster(context).get("v1", "ConfigMap", "supernode-client", namespace)["data"]["tls.crt"]
        key = self.cluster(context).get("v1", "Secret", "supernode-client-key", namespace)["data"]["tls.key"]
        return {"certificate": certificate, "key": base64.b64decode(key).decode()}

    def call(
        self,
        calls: list[dict[str, Any]],
        identity: dict[str, str] | None = None,
        *,
        where: tuple[str, str, str] | None = None,
        seconds: float = 90,
    ) -> list[dict[str, Any]]:
        """Make calls from within a container, see gateway_probe.py; without a host they go to the port for sites."""
        context, pod, container = where or ("site-a", min(self.pods("site-a")), "supernode")
        wanted = [{**self.door(), **call} for call in calls]
        request = {"calls": wanted, "identity": identity}
        cluster = connect({"kubeconfig": str(self.kubeconfig), "context": context})  # threads share no connection
        output = in_pod.run(cluster, NAMESPACE, pod, container, gateway_probe, request, seconds=seconds)
        assert output.rc == 0, f"{pod}/{container}: {output.stderr}"
        return json.loads(output.answers[0])

    def probe(self, context: str, url: str = "http://127.0.0.1:8404/probe/now") -> tuple[int, dict[str, str]]:
        """Code, and what the gateway said, through the ops port of a sidecar, which accepts calls from its own pod only."""
        code, *answer = self.python(context, min(self.pods(context)), "supernode", _ASK_SIDECAR, url).split()
        return int(code), self.probed(answer)

    @staticmethod
    def probed(words: list[str]) -> dict[str, str]:
        """What the gateway answers to a probe; the serial as pki.describe writes it, without zeros before it."""
        found = dict(word.split("=") for word in words)
        return {**found, "serial": format(int(found["serial"], 16), "x")} if found else {}

    def log(self, context: str, pod: str, container: str) -> str:
        """What a container printed."""
        client = new_client_from_config(str(self.kubeconfig), context)
        return CoreV1Api(client).read_namespaced_pod_log(pod, NAMESPACE, container=container, _request_timeout=30)

    def _keep_logs(self, folder: Path) -> Path:
        """Write what all containers of the federation print to files, for whoever looks for what a playbook waited for."""
        folder.mkdir(exist_ok=True)
        for context in self.contexts:
            with suppress(ClusterError):  # a cluster that does not answer
                for pod in self.cluster(context).list("v1", "Pod", NAMESPACE):
                    name = pod["metadata"]["name"]
                    for container in [*pod["spec"].get("initContainers", []), *pod["spec"]["containers"]]:
                        with suppress(ApiException, HTTPError):  # it has not started, or its node is away
                            text = self.log(context, name, container["name"])
                            (folder / f"{context}-{name}-{container['name']}.log").write_text(text, encoding="utf-8")
        return folder

    def node_config(self, context: str, pod: str, namespace: str = NAMESPACE) -> dict[str, str]:
        """The node config that a SuperNode was really started with."""
        program = "print(open('/proc/1/cmdline').read().replace(chr(0), chr(10)))"
        for line in self.python(context, pod, "supernode", program, namespace=namespace).splitlines():
            option, equals, value = line.partition("=")
            if option == "--node-config" and equals:
                pairs = (pair.partition("=") for pair in re.split(r"[ ,](?=[\w-]+=)", value))
                return {key: text.strip('"') for key, _sign, text in pairs}
        raise AssertionError(f"{pod} was started without --node-config")

    def partitions(self, context: str, namespace: str = NAMESPACE) -> dict[str, int]:
        """Pod name -> partition, of the pods that have one."""
        running = [name for name, pod in self.pods(context, namespace).items() if pod["status"]["phase"] == "Running"]
        configs = {pod: self.node_config(context, pod, namespace) for pod in running}
        return {pod: int(config["partition-id"]) for pod, config in configs.items() if "partition-id" in config}

    def ledger(self) -> Ledger:
        """The ledger."""
        return Ledger(self.hub, NAMESPACE, "scenario")

    def pools(self, site: str) -> dict[str, dict[str, int]]:
        """Pool -> offset and size, as the ledger has them."""
        return self.ledger().read_book()["sites"].get(site, {}).get("pools", {})

    def keys(self, site: str) -> dict[tuple[str, str], str]:
        """(Pool, name) -> node id, as the ledger has them."""
        record = self.ledger().read_records().get(site, {"keys": {}})
        return {(key["pool"], key["name"]): key["node_id"] for key in record["keys"].values()}

    def held(self, context: str, pool: str, namespace: str = NAMESPACE) -> set[str]:
        """Names of the keys that a site holds for a pool."""
        secret = self.cluster(context).get("v1", "Secret", f"supernode-{pool}-keys", namespace)
        return set((secret or {}).get("data") or {})

    def nodes(self) -> dict[str, str]:
        """Node id -> status, as Flower has them."""
        return {node: facts["status"] for node, facts in FlowerCLI(self.hub, NAMESPACE).nodes().items()}

    def trail(self) -> list[dict[str, Any]]:
        """The entries of the audit trail, which must be a complete chain."""
        verdict = verify(*Trail(self.hub, NAMESPACE, "scenario").read())
        assert not verdict.fault and not verdict.notes, (verdict.fault, verdict.notes)
        return verdict.entries

    def recorded(self, since: int) -> dict[str, Any]:
        """What the entries of the audit trail after the first C(since) ones say together: each task that changes something has one."""
        whole: dict[str, Any] = {"failed": {}, "sites": {}}
        for entry in self.trail()[since:]:
            whole["failed"] |= entry.get("failed", {})
            for site, facts in entry["sites"].items():
                for kind, found in facts.items():
                    whole["sites"].setdefault(site, {}).setdefault(kind, []).extend(found)
        return whole

    @staticmethod
    def noted(entry: dict[str, Any], site: str, kind: str, change: str) -> list[dict[str, Any]]:
        """The facts of an entry about a change in a cluster."""
        return [one for one in entry["sites"].get(site, {}).get(kind, []) if one["change"] == change]

    def wait(self, what: str, condition: Callable[[], Any], seconds: float = 120, pause: float = 0.5) -> Any:
        """Wait until a condition is true; returns its value. Pause longer for calls of Flower: each costs a second of CPU."""
        deadline = time.monotonic() + seconds
        while True:
            found = condition()
            if found:
                return found
            assert time.monotonic() < deadline, f"{what}: not after {seconds:g} s"
            time.sleep(pause)

    def app_runs(self) -> dict[str, str]:
        """Run id -> status, of all runs of apps."""
        return {str(run["run-id"]): run["status"] for run in read_all(FlowerCLI(self.hub, NAMESPACE))}

    def begin(self, **config: Any) -> tuple[str, Callable[[], Run]]:
        """Start a run of the example app; its id, once it is running, and a function that waits for its end."""
        finish = self.start("run", "-e", json.dumps({"flower_app": str(APP), "flower_run_config": config}))
        return self.running(finish), finish

    def hold(self, **config: Any) -> tuple[str, Callable[[], Run]]:
        """Start a run that stays active before its last round; its id, once it is running, and a function that lets it complete."""
        name = f".go-on-{uuid.uuid4().hex}"  # the container "outputs" mounts the volume of outputs, as the ServerApp does
        gate = f"/outputs/{name}"
        app = waiting_app.copy(APP, self.folder / name, gate)
        playbook = self.start("run", "-e", json.dumps({"flower_app": str(app), "flower_run_config": config}))

        def finish() -> Run:
            self.python("hub", "serverapp-0", "outputs", "import sys; open(sys.argv[1], 'x')", gate)
            return playbook()

        return self.running(playbook), finish

    def wait_for_output(self, playbook: Any, words: str) -> None:
        """Wait until a playbook that was started prints some words."""
        self.wait(words, lambda: words in playbook.log.read_text(encoding="utf-8") or not playbook.running(), LIMIT)
        assert words in playbook.log.read_text(encoding="utf-8"), playbook().details()

    def running(self, finish: Any) -> str:
        """The id of the run that a playbook submitted, once that is running; from what the playbook shows."""

        def begun() -> str:
            assert finish.running(), finish().details()
            shown = re.search(r"^hub: \S+ run (\d+): running for ", finish.log.read_text(encoding="utf-8"), re.M)
            return shown[1] if shown else ""

        return str(self.wait("a run", begun, 90))

    def wait_online(self, *node_ids: str, seconds: float = 120) -> None:
        """Wait until nodes are online at the SuperLink."""
        nodes = FlowerCLI(self.hub, NAMESPACE).nodes(node_ids, seconds)
        status = {node: nodes.get(node, {}).get("status") for node in node_ids}
        assert set(status.values()) == {"online"}, status

    def gone(self, context: str, *names: str) -> bool:
        """Whether namespaces are not there."""
        return all(self.cluster(context).get("v1", "Namespace", name) is None for name in names)

    def shown(self, *places: Path) -> dict[str, str]:
        """Secrets that stand in files, by where they lie -> file."""
        command = ["grep", "-raoFH", "--null", "-f", "-", *map(str, places)]
        run = subprocess.run(command, input="\n".join(self.secrets), capture_output=True, text=True, check=False)
        assert run.returncode in (0, 1), run.stderr
        lines = (line.split("\0") for line in run.stdout.splitlines())
        return {self.secrets[secret]: path for path, secret in lines}

    def judge(self) -> None:
        """What is true of all that this session ran: no secret was printed, is in a file or was an argument of a process, and no file is left.

        Raises:
            AssertionError: something was found, with where. The words at its end keep tools/second_try.py from trying again.
        """
        folders = (self.logs, self.home, self.tmp)
        files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
        seen = self.folder / "processes.txt"
        seen.write_text("\n".join(self.processes.seen), encoding="utf-8")
        found = {
            "private keys that were shown, and where": [path.name for path in files if b"PRIVATE KEY-----" in path.read_bytes()],
            "secrets that were shown, and where": self.shown(*folders),
            "secrets that were in arguments or environments": self.shown(seen),
            "files that were left in the folder for temporary files": self.left_behind,
        }
        assert not any(found.values()), f"{found} {NO_SECOND_TRY}"

    def spaces(self, context: str) -> list[str]:
        """The scenarios' namespaces that are there."""
        found = {item["metadata"]["name"] for item in self.cluster(context).list("v1", "Namespace")}
        return [name for name in NAMESPACES if name in found]

    def clear(self) -> None:
        """Delete everything that scenarios may have left, of any run."""
        going = []
        for context in self.contexts:
            for name in NAMESPACES:
                try:
                    self.cluster(context).delete("v1", "Namespace", name, propagation="Background")
                    going.append((context, name))
                except NotFound:
                    pass
        for context, name in going:
            self.wait(
                f"deletion of namespace {name} on {context}", lambda where=context, what=name: self.gone(where, what)
            )

    def _note_left_files(self, run: Run, ours: bool) -> None:
        """Note what a run left in the folder for temporary files, each file once."""
        if not ours:
            # The modules of kubernetes.core, which examples use, keep there what an API server offers. The collection's own do not.
            for path in self.tmp.glob(DISCOVERY):
                path.unlink()
        # A playbook that a scenario holds or has killed meanwhile waits in this module.
        left = [path for path in self.tmp.rglob("*") if not path.is_dir() and "builtin.wait_for_payload_" not in str(path)]
        self.left_behind += [f"{run.log.stem}: {path}" for path in left if not any(str(path) in one for one in self.left_behind)]

    # Secrets

    def _collect(self) -> None:
        """Note every secret that there is now; some are gone at the end."""
        for context in self.contexts:
            for name in self.spaces(context):
                for secret in self.cluster(context).list("v1", "Secret", name):
                    version = (secret["metadata"]["uid"], secret["metadata"]["resourceVersion"])
                    if version in self._collected:
                        continue
                    self._collected.add(version)
                    for key, value in (secret.get("data") or {}).items():
                        if (secret["metadata"]["name"], key) == (sidecar.SECRET, sidecar.MARK):
                            continue  # a random number in the pod's environment, which tells the versions of the Secret apart
                        place = f"{key} of Secret {name}/{secret['metadata']['name']} on {context}"
                        self.secrets.update(dict.fromkeys(sensitive(base64.b64decode(value)), place))


def wait_for_end(process: subprocess.Popen[Any], log: Path) -> int:
    """Wait for the end of a playbook as long as it prints something; its exit code.

    Raises:
        subprocess.TimeoutExpired: it has printed nothing for C(LIMIT) seconds.
    """
    size, since = -1, time.monotonic()
    while True:
        with suppress(subprocess.TimeoutExpired):
            return process.wait(1)
        if (now := log.stat().st_size) != size:
            size, since = now, time.monotonic()
        if time.monotonic() - since > LIMIT:
            raise subprocess.TimeoutExpired(process.args, LIMIT)


def kill_forks(process: subprocess.Popen[Any]) -> None:
    """Kill the forks of a playbook, which are in sessions of their own. It is stopped, so that it starts no further one, until it is killed."""
    if process.poll() is not None:
        return
    os.kill(process.pid, signal.SIGSTOP)
    for path in Path(f"/proc/{process.pid}/task").glob("*/children"):
        for fork in path.read_text("utf-8").split():
            with suppress(ProcessLookupError):  # it has ended
                os.kill(int(fork), signal.SIGKILL)


class Processes:
    """Command lines and environments of all processes that this machine has had meanwhile, those in pods of a local
    fleet included.
    """

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self._looked: dict[str, int] = {}  # process id -> how often it was read
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._end.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._end.wait(0.2):
            there = {name for name in os.listdir("/proc") if name.isdigit()}
            # Three times each: a process that has just been forked looks like its parent.
            self._looked = {pid: self._looked.get(pid, 0) + 1 for pid in there}
            for pid in (pid for pid, times in self._looked.items() if times <= 3):
                for part in ("cmdline", "environ"):
                    # It may have ended, or be someone else's.
                    with suppress(FileNotFoundError, ProcessLookupError, PermissionError):
                        self.seen.add(Path(f"/proc/{pid}/{part}").read_text("utf-8", "replace"))


_KEY = re.compile(rb"-----BEGIN ((?:\w+ )?PRIVATE KEY)-----(.*?)-----END \1-----\s*", re.DOTALL)
_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\s*", re.DOTALL)


def sensitive(value: bytes) -> list[str]:
    """Texts that give a Secret's value away.

    Of a private key: the lines with its private number (others hold the public half, which may be shown), and the same
    piece of the value's base64 form. Of anything but a certificate: its lines. And the base64 form of the whole.
    """
    texts = []
    for key in _KEY.finditer(value):
        load = load_ssh_private_key if b"OPENSSH" in key[1] else load_pem_private_key
        numbers = load(key[0].strip() + b"\n", None).private_numbers()
        number = numbers.d if hasattr(numbers, "d") else numbers.private_value  # RSA, or a curve
        secret = number.to_bytes((number.bit_length() + 7) // 8, "big")
        lines = key[2].split()
        at = base64.b64decode(b"".join(lines)).index(secret) * 4 // 3
        width = len(lines[0])
        texts += [
            line.decode() for line in lines[at // width : (at + len(secret) * 4 // 3) // width + 1] if len(line) >= 16
        ]
        # The same once more, as base64 of the text that the Secret's data is.
        first = value.index(lines[at // width])
        texts.append(_middle(value, first, first + width))
    rest = _CERTIFICATE.sub(b"", _KEY.sub(b"", value)).strip()
    texts += [line.decode() for line in rest.splitlines() if len(line) >= 16]
    return [*texts, base64.b64encode(value).decode()] if texts else []


def _middle(value: bytes, start: int, end: int) -> str:
    """The part of the base64 form of C(value) that stands for nothing but C(value[start:end])."""
    return base64.b64encode(value).decode()[-(-start // 3) * 4 : end // 3 * 4]


@pytest.fixture(scope="session")
def federation(
    fleet_kubeconfig: Path, fleet_contexts: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Federation]:
    """The federation before it is deployed; what is left at the end is deleted. Each worker of pytest has its own, and judges it."""
    missing = {"hub", "site-a", "site-b"} - set(fleet_contexts)
    assert not missing, f"the fleet's kubeconfig has no context {', '.join(sorted(missing))}"
    made = Federation(fleet_kubeconfig, fleet_contexts, tmp_path_factory.mktemp("federation"))
    made.clear()
    yield made
    for playbook in made.started:  # those of an interrupted fixture of a file
        playbook.crash()
    made.processes.stop()
    try:
        made.judge()
    finally:
        made.clear()


@pytest.fixture(autouse=True)
def no_playbook_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """What a test that failed has started is ended: it would hold the lease, and all that follow would fail as well."""
    if "federation" not in request.fixturenames:
        yield
        return
    federation = request.getfixturevalue("federation")
    before = len(federation.started)
    yield
    left = [finish for finish in federation.started[before:] if finish.running()]
    for finish in left:
        finish.crash()
    if left:
        federation.settled, federation.has_left_runs = False, True
    assert not left, f"these were still running and were ended: {', '.join(str(finish.log) for finish in left)}"


@pytest.fixture
def fed(federation: Federation) -> Federation:
    """The federation, deployed as the base inventory wants it."""
    federation.settle()
    return federation


@pytest.fixture
def dead(federation: Federation) -> str:
    """A kubeconfig whose clusters do not answer: there is no listener on port 1."""
    config = yaml.safe_load(federation.kubeconfig.read_text())
    for cluster in config["clusters"]:
        cluster["cluster"]["server"] = "https://127.0.0.1:1"
    path = federation.folder / "dead.kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return str(path)
