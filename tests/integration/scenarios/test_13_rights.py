# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A separate federation, from the first Role to the teardown, by identities that have the generated rights and no others.

Requests go through a recorder, so the end can show that every right was needed.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyrage
import pytest
import yaml
from kubernetes.client import CoreV1Api
from kubernetes.config import new_client_from_config

from ansible_collections.federated.flower.plugins.plugin_utils.flower import app as apps
from ansible_collections.federated.flower.plugins.plugin_utils.flower import runs, submission
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Forbidden
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster, connect
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import site_jobs
from ansible_collections.federated.flower.plugins.plugin_utils.rights import ask
from ansible_collections.federated.flower.plugins.plugin_utils.rights.grants import controller_rights, grants
from ansible_collections.federated.flower.plugins.plugin_utils.rights.need import DEPLOY, TEARDOWN, WORKS, Right, rights
from ansible_collections.federated.flower.plugins.plugin_utils.spec.hub_spec import HubSpec
from ansible_collections.federated.flower.plugins.plugin_utils.spec.site_spec import SiteSpec
from ansible_collections.federated.flower.tests.integration.recorder import Recorder
from ansible_collections.federated.flower.tests.integration.scenarios import identities
from ansible_collections.federated.flower.tests.integration.scenarios.kubectl import Kubectl
from ansible_collections.federated.flower.tests.integration.scenarios.lane import NAMESPACE

ROOT = Path(__file__).parents[3]
APP = ROOT / "examples" / "quickstart"
SPACE = f"{NAMESPACE}-rights"
CA_SPACE = f"{NAMESPACE}-rights-ca"
COMMON = {
    "flower_federation": "rights",
    "flower_namespace": SPACE,
    "flower_ca_namespace": CA_SPACE,
    "flower_rbac_scientists": [{"kind": "ServiceAccount", "name": "scientist", "namespace": SPACE}],
    "flower_rbac_auditors": [{"kind": "ServiceAccount", "name": "auditor", "namespace": SPACE}],
}
CPU = {"name": "cpu", "replicas": 2, "node_config": {"partition-id": "{partition}"}}
EDGE = {"name": "edge", "mode": "DaemonSet", "node_config": {"site": "{cluster}"}}
HUB = {
    "superlink_exposure": "node_port",
    "superlink_storage_size": "256Mi",
    # What the exporter may do, the controller gives away.
    "superlink_metrics": {"enabled": True},
}
# A site that makes its keys itself, and without the right to exec into its pods: no rule reads its Secrets.
ALONE = {"flower_key_source": "site", "flower_rbac_works": [DEPLOY, TEARDOWN]}
SITES = {"site-a": {"supernode_pools": [CPU], "flower_location": "52.52,-13.4"}, "site-b": {"supernode_pools": [EDGE], **ALONE}}
PARTS = {"hub": "superlink", "site-a": "supernode", "site-b": "supernode"}
API = "rbac.authorization.k8s.io"

# Rights that nothing here uses: the API server does not ask for them, or it takes another playbook.
UNSEEN = {
    "create pods/exec": "asked for by API servers from 1.35 on, and by clients that send a POST",
    "delete pods": "test_09_rebuild.py: a SuperLink that waits for its volume without end",
    "patch pods": "who changes who may come in makes the kubelet bring the gateway's files",
    "patch namespaces/ca": "a namespace of the CA keys that is there is left as it is",
    "delete secrets": "that of the exporter of metrics belongs to a ConfigMap, which OpenShift allows to those who may delete it",
}


class World:
    """The clusters, and who acts on them."""

    def __init__(self, federation: Any) -> None:
        self.federation = federation
        self.recorders: dict[str, Recorder] = {}
        self.config = yaml.safe_load(federation.kubeconfig.read_text(encoding="utf-8"))
        self.closing: list[Recorder] = []

    def play(
        self, playbook: str, *arguments: str, hosts: dict[str, Any] | None = None, rc: int = 0, **common: Any
    ) -> Any:
        """Run a playbook; the federation of the other scenarios is not concerned."""
        settled = self.federation.settled
        run = self.federation.play(
            playbook, *arguments, hosts=hosts or self.administrators(), rc=rc, **{**COMMON, **common}
        )
        self.federation.settled = settled
        return run

    def start(self, playbook: str, *arguments: str, hosts: dict[str, Any]) -> Any:
        """Start a playbook in the background."""
        return self.federation.start(playbook, *arguments, hosts=hosts, **COMMON)

    def administrators(self, **sites: Any) -> dict[str, Any]:
        """Hosts with the identity of the clusters' administrators."""
        variables = {"hub": HUB, **SITES, **sites}
        return {context: {"flower_context": context, **found} for context, found in variables.items()}

    def controllers(self, **sites: Any) -> dict[str, Any]:
        """Hosts with the controllers' identities, through the recorders."""
        hosts = self.administrators(**sites)
        for context, found in hosts.items():
            found["flower_kubeconfig"] = self.identity(context, "flower-controller", self.recorder(context).url)
        return hosts

    def recorder(self, context: str) -> Recorder:
        """The recorder of the controller's requests to a cluster."""
        if context not in self.recorders:
            self.recorders[context] = self.new_recorder(context)
        return self.recorders[context]

    def new_recorder(self, context: str) -> Recorder:
        """A recorder in front of a cluster."""
        cluster = self._entry(context)
        made = Recorder(cluster["server"], _decoded(cluster["certificate-authority-data"]))
        self.closing.append(made)
        return made

    def _entry(self, context: str) -> dict[str, Any]:
        return identities.entry(self.config, context)

    def identity(self, context: str, account: str, server: str | None = None) -> str:
        """Path of a kubeconfig for a ServiceAccount, with a token that the API server gave out for it."""
        path = self.federation.folder / f"{account}-{context}{'-recorded' if server else ''}.kubeconfig"
        if path.exists():
            return str(path)
        home = CA_SPACE if (context, account) == ("hub", "flower-controller") else SPACE
        token = identities.token(self.federation, context, home, account)
        clusters = {context: {"server": server} if server else self._entry(context)}
        config = identities.kubeconfig(clusters, {context: {"token": token}})
        path.write_text(json.dumps(config), encoding="utf-8")
        return str(path)

    def connect(self, context: str, account: str, server: str | None = None) -> Cluster:
        """A connection as a ServiceAccount."""
        return connect({"kubeconfig": self.identity(context, account, server), "context": context})

    def namespaces(self, context: str) -> list[str]:
        """The federation's namespaces in a cluster."""
        return [SPACE, CA_SPACE] if context == "hub" else [SPACE]

    def roles(self, context: str, holder: str) -> list[dict[str, Any]]:
        """Roles and ClusterRoles of a holder."""
        cluster = self.federation.cluster(context)
        found = [role for name in self.namespaces(context) for role in cluster.list(f"{API}/v1", "Role", name)]
        found += cluster.list(f"{API}/v1", "ClusterRole", labels="app.kubernetes.io/instance=rights")
        return [role for role in found if f"-{holder}" in role["metadata"]["name"]]

    def spec(self, context: str, **changes: Any) -> HubSpec | SiteSpec:
        """The specification as the role has it: its defaults and what the inventory says."""
        part = PARTS[context]
        text = (ROOT / "roles" / part / "meta" / "argument_specs.yml").read_text(encoding="utf-8")
        options = yaml.safe_load(text)["argument_specs"]["main"]["options"]
        spec = {name[len(part) + 1 :]: option.get("default") for name, option in options.items()}
        own = {
            name[len(part) + 1 :]: value
            for name, value in {"hub": HUB, **SITES}[context].items()
            if name.startswith(f"{part}_")
        }
        if part == "supernode":
            own["key_source"] = SITES[context].get("flower_key_source", "controller")
        kind = SiteSpec if part == "supernode" else HubSpec
        return kind.parse({**spec, "federation": "rights", "namespace": SPACE, "keys_account": True, **own, **changes})

    def needed(self, context: str, *works: str) -> dict[str, list[Right]]:
        """What the table says that the controller needs, of what it is to do there."""
        works = [work for work in works if work in {"hub": {}, **SITES}[context].get("flower_rbac_works", WORKS)]
        return controller_rights(PARTS[context], self.spec(context), CA_SPACE, works=works)


def _decoded(data: str) -> str:
    return base64.b64decode(data).decode()


@pytest.fixture(scope="module")
def world(federation) -> Iterator[World]:
    """Empty clusters."""
    made = World(federation)
    yield made
    for recorder in made.closing:
        recorder.close()
    for context in federation.contexts:
        cluster = federation.cluster(context)
        for kind in ("ClusterRoleBinding", "ClusterRole"):
            for item in cluster.list(f"{API}/v1", kind, labels="app.kubernetes.io/instance=rights"):
                cluster.delete(f"{API}/v1", kind, item["metadata"]["name"])


@pytest.fixture(scope="module")
def granted(world) -> World:
    """The Roles, applied by the clusters' administrators."""
    world.play("rbac", "-e", "flower_rbac_apply=true")
    return world


@pytest.fixture(scope="module")
def deployed(granted) -> World:
    """The federation, deployed with these rights."""
    run = granted.play("site", hosts=granted.controllers())
    assert "3 SuperNodes of 2 sites are online" in run.messages()
    return granted


def versions(world: World) -> dict[str, str]:
    """Object -> its version, of everything that the playbooks make."""
    kinds = {
        "v1": ["ConfigMap", "Secret", "Service", "ServiceAccount"],
        "apps/v1": ["StatefulSet", "DaemonSet", "Deployment"],
    }
    found = {}
    for context in world.federation.contexts:
        cluster = world.federation.cluster(context)
        for namespace in world.namespaces(context):
            for api, names in kinds.items():
                for kind in names:
                    for item in cluster.list(api, kind, namespace):
                        meta = item["metadata"]
                        found[f"{context} {namespace} {kind} {meta['name']}"] = (
                            meta.get("generation") or meta["resourceVersion"]
                        )
    return found


def singles(role: dict[str, Any]) -> list[Right]:
    """The single rights of a Role."""
    return [
        Right(verb, group, resource, role["metadata"].get("namespace", ""), name)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    ]


def as_rules(some: list[Right]) -> list[dict[str, Any]]:
    """One rule for each right."""
    return [
        {"apiGroups": [one.group], "resources": [one.resource], "verbs": [one.verb]}
        | ({"resourceNames": [one.name]} if one.name else {})
        for one in some
    ]


@contextmanager
def without(world: World, context: str, taken: Right) -> Iterator[None]:
    """The controller without one right."""
    cluster = world.federation.cluster(context)
    (role,) = (
        one for one in world.roles(context, "controller") if one["metadata"].get("namespace", "") == taken.namespace
    )
    kept = [one for one in singles(role) if one != taken]
    assert len(kept) == len(singles(role)) - 1, f"{taken} is not a right of {role['metadata']['name']}"
    role = cluster.replace({**role, "rules": as_rules(kept)})
    yield
    cluster.replace({**role, "rules": as_rules([*kept, taken])})


# From nothing to rights


def test_check_mode_gives_nothing(world):
    run = world.play("rbac", "--check", "-e", "flower_rbac_apply=true")
    assert all(run.changed.values()), run.changed
    for context in world.federation.contexts:
        assert world.federation.gone(context, SPACE, CA_SPACE)


def test_files_are_what_is_applied(world):
    run = world.play("rbac", "-e", "flower_rbac_directory=rbac")
    assert all(run.changed.values()), run.changed
    world.play("rbac", "-e", "flower_rbac_apply=true")
    for context in world.federation.contexts:
        written = yaml.safe_load_all((world.federation.folder / "rbac" / f"{context}.yml").read_text(encoding="utf-8"))
        kinds = set()
        for item in written:
            kinds.add(item["kind"])
            meta = item["metadata"]
            live = world.federation.cluster(context).get(
                item["apiVersion"], item["kind"], meta["name"], meta.get("namespace")
            )
            for field in ("rules", "roleRef", "subjects"):
                assert live.get(field) == item.get(field)
        assert {"Namespace", "ServiceAccount", "Role", "RoleBinding"} <= kinds
        assert ("ClusterRole" in kinds) == (context != "site-a"), (
            "nodes are listed for node ports and DaemonSet pools alone"
        )


def test_the_same_rights_again_change_nothing(granted):
    run = granted.play("rbac", "-e", "flower_rbac_apply=true", "-e", "flower_rbac_directory=rbac")
    assert set(run.changed.values()) == {0}, run.changed


def test_a_wrong_subject_is_named_before_anything(granted):
    before = versions(granted)
    wrong = {"kind": "Robot", "name": "x"}
    run = granted.play("rbac", "-e", "flower_rbac_apply=true", rc=2, flower_rbac_controller=wrong)
    for word in ("hub: flower_rbac_controller.kind", "'Robot'", "ServiceAccount, User, Group"):
        assert word in run.messages(failed=True)
    assert versions(granted) == before


# The controller


def test_second_run_changes_nothing(deployed):
    run = deployed.play("site", hosts=deployed.controllers())
    assert set(run.changed.values()) == {0}, run.changed
    run = deployed.play("site", "--check", hosts=deployed.controllers())
    assert set(run.changed.values()) == {0}, run.changed


def test_status(deployed):
    report = deployed.play("status", "-e", "flower_status_format=json", hosts=deployed.controllers()).report
    assert report["healthy"], report["problems"]


def test_logs(deployed):
    run = deployed.play("logs", "--limit", "hub,site-a", "-e", "flower_logs_lines=3", hosts=deployed.controllers())
    lines = next(one["result"]["lines"] for one in run.results if "lines" in one["result"])
    assert {line.split(" ")[1] for line in lines} == {"hub", "site-a"}, lines


def test_backup(deployed, tmp_path):
    made = pyrage.x25519.Identity.generate()
    given = {"flower_backup_directory": str(tmp_path), "flower_backup_recipients": [str(made.to_public())]}
    run = deployed.play("backup", "-e", json.dumps(given), hosts=deployed.controllers())
    assert len(list(tmp_path.glob("flower-backup-*.tar"))) == 1, run.details()


def test_every_right_is_missed_by_name(deployed):
    """Each right in turn is removed; the preflight check of a deployment or a teardown then reports it, and only it."""
    checked = 0
    for context in deployed.federation.contexts:
        needed = deployed.needed(context, *WORKS)
        cluster = deployed.connect(context, "flower-controller")

        def lacking(cluster=cluster, needed=needed):
            return [right for namespace, some in needed.items() for right in ask.lacks(cluster, namespace, some)]

        assert lacking() == [], f"on {context}"
        for role in deployed.roles(context, "controller"):
            for taken in singles(role):
                # A right on all objects is one on each of them.
                gone = [one for some in needed.values() for one in some if taken in (one, replace(one, name=""))]
                with without(deployed, context, taken):
                    deadline = time.monotonic() + 5  # the API server hears of it a moment later
                    while (found := lacking()) != gone and time.monotonic() < deadline:
                        time.sleep(0.02)
                    assert found == gone, f"without '{taken}' on {context}"
                    checked += 1
        deadline = time.monotonic() + 5
        while lacking() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert lacking() == []
    assert checked > 100, checked


TAKEN = {
    "hub": Right("update", "", "configmaps", SPACE),
    "site-b": Right("patch", "apps", "daemonsets", SPACE),
}


@pytest.mark.parametrize("context", TAKEN)
def test_a_missing_right_is_named_before_anything_changes(deployed, context):
    before = versions(deployed)
    with without(deployed, context, TAKEN[context]):
        run = deployed.play(
            "site", "--limit", context, hosts=deployed.controllers(), rc=2, flower_annotations={"a": "b"}
        )
    words = run.messages(context, failed=True)
    assert words.startswith(f"{context}: ") and f"may not: {TAKEN[context]}. " in words, words
    assert versions(deployed) == before


def test_what_goes_wrong_is_explained_with_these_rights(deployed):
    hosts = deployed.controllers()
    hosts["hub"]["superlink_serverapp_image"] = hosts["site-b"]["supernode_superexec_image"] = "nowhere.invalid/app:1"
    slow = ("-e", "superlink_wait=true", "-e", "superlink_wait_timeout=4", "-e", "supernode_wait_timeout=4")
    for context, name in (("hub", "serverapp"), ("site-b", "supernode-edge")):
        run = deployed.play("site", "--limit", context, *slow, hosts=hosts, rc=2)
        words = run.messages(context, failed=True)
        assert f"pod {name}-" in words and "event of Pod" in words, words


def test_a_change_and_a_smaller_pool(deployed):
    hosts = deployed.controllers(**{"site-a": {"supernode_pools": [{**CPU, "replicas": 1}]}})
    run = deployed.play("site", hosts=hosts, flower_annotations={"scenario/rights": "yes"})
    assert "2 SuperNodes of 2 sites are online" in run.messages()
    secret = deployed.federation.cluster("site-a").get("v1", "Secret", "supernode-cpu-keys", SPACE)
    assert set(secret["data"]) == {"0"}, "the key of the replica that is gone is still there"


def test_a_missing_right_of_the_job_is_named_before_anything_changes(deployed):
    before = versions(deployed)
    hosts = deployed.controllers(**{"site-b": {"supernode_pools": [EDGE, {"name": "late"}], **ALONE}})
    words = deployed.play("site", "--limit", "site-b", hosts=hosts, rc=2).messages("site-b", failed=True)
    assert (
        f"the job that creates the keys on site-b lacks these rights: get secrets in namespace {NAMESPACE}-rights (supernode-late-keys)"
        in words
    )
    assert "federated.flower.rbac" in words and versions(deployed) == before


def test_keys_of_a_site_that_makes_them_are_seen_by_nobody_else(deployed):
    site, control = deployed.federation.cluster("site-b"), deployed.connect("site-b", "flower-controller")
    held = [item["metadata"]["name"] for item in site.list("v1", "Secret", SPACE)]
    assert sorted(held) == site_jobs.secret_names(["edge"])
    (pod,) = deployed.federation.pods("site-b", SPACE)
    assert refused(control.list, "v1", "Secret", SPACE) and refused(control.exec, SPACE, pod, "supernode", ["true"])
    for name in held:
        for call in (control.get, control.delete):
            assert refused(call, "v1", "Secret", name, SPACE)
        assert refused(control.patch, "v1", "Secret", name, SPACE, {"metadata": {"labels": {"seen": "yes"}}})
    assert not [one for one in deployed.recorder("site-b").seen if one.resource == "secrets"]
    assert [one for one in deployed.recorder("site-a").seen if one.resource == "secrets"]
    assert deployed.federation.shown(deployed.federation.logs) == {}


def test_a_missing_right_of_a_rotation_is_named_before_anything_changes(deployed):
    """Without the right to exec into pods of site-b, they cannot be asked which certificates they accept."""
    for target in ("ca", "leaf"):
        run = deployed.play("rotate_certs", "-e", f"flower_rotate={target}", hosts=deployed.controllers(), rc=2)
        words = run.messages(failed=True)
        assert "site-b: " in words and f"get pods/exec in namespace {NAMESPACE}-rights" in words, words
        others = {host: changed for host, changed in run.changed.items() if host != "hub"}
        assert set(others.values()) == {0}
        # All sites depend on the gateway's certificate, and its renewal needs nothing of any of them.
        assert (run.changed["hub"] > 0) is (target == "leaf"), "something was changed before the missing right was named"


# People


def allowed(cluster: Cluster, namespace: str) -> set[Right]:
    """All rights of a subject in a namespace, except those of every user."""
    review = cluster.request(
        "POST",
        "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
        body={
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectRulesReview",
            "spec": {"namespace": namespace},
        },
    )
    found = singles({"metadata": {"namespace": namespace}, "rules": review["status"]["resourceRules"]})
    return {one for one in found if one.group not in ("authentication.k8s.io", "authorization.k8s.io")}


def expected(holder: str, context: str, world: World) -> dict[str, set[Right]]:
    """Namespace -> what the table gives someone."""
    given = grants(holder, PARTS[context], world.spec(context), CA_SPACE)
    return {
        namespace: {one for need in given.get(namespace, []) for one in rights(need, namespace)}
        for namespace in world.namespaces(context)
    }


def refused(call: Any, *arguments: Any, **options: Any) -> bool:
    """Whether the API server says no."""
    try:
        call(*arguments, **options)
    except Forbidden:
        return True
    return False


def test_a_scientist_submits_lists_reads_and_stops_runs(deployed):
    recorder = deployed.new_recorder("hub")
    recorded = deployed.identity("hub", "scientist", recorder.url)
    hosts = {"hub": {**HUB, "flower_context": "hub", "flower_kubeconfig": recorded}}
    config = json.dumps({"flower_run_config": {"num-server-rounds": 1}, "flower_app": str(APP)})
    finish = deployed.start("run", "-e", config, hosts=hosts)  # submits, and reads the log at its end
    cli = FlowerCLI(deployed.connect("hub", "scientist", recorder.url), SPACE)
    run_id = str(submission.submit(cli, apps.load(APP), {"num-server-rounds": 20, "sleep": 6.0})["run-id"])
    (listed,) = cli.do([cli.command("list")])
    assert run_id in [str(run["run-id"]) for run in listed.data["runs"]]
    (stopped,) = cli.do([cli.command("stop", run_id)])
    assert stopped.ok, stopped.message
    assert runs.read_run(cli, run_id, 60).status == "finished:stopped"
    run = finish()
    assert run.rc == 0, run.details()
    assert any("round 1: accuracy" in line for line in run.table), run.table
    assert {found.status for found in recorder.seen} <= {101, 200}
    seen = {(found.verb, found.resource, found.namespace, found.name) for found in recorder.seen}
    assert seen == {
        *(
            (verb, resource, SPACE, pod)
            for verb, resource in (("get", "pods"), ("get", "pods/exec"))
            for pod in ("superlink-0", "serverapp-0")
        ),
        ("get", "configmaps", SPACE, "flower-packages"),
    }


def test_a_scientist_goes_on_from_outputs_fetches_and_deletes_them(deployed, tmp_path):
    identity = deployed.identity("hub", "scientist")
    hosts = {"hub": {**HUB, "flower_context": "hub", "flower_kubeconfig": identity}}
    config = {"flower_run_config": {"num-server-rounds": 1}, "flower_app": str(APP), "flower_outputs_directory": str(tmp_path)}
    deployed.play("run", "-e", json.dumps(config), hosts=hosts)
    (fetched,) = tmp_path.iterdir()
    assert (fetched / "model.json").stat().st_size > 100
    config = {**config, "flower_run_inputs": str(fetched / "model.json"), "flower_run_config": {"num-server-rounds": 1}}
    deployed.play("run", "-e", json.dumps(config), hosts=hosts)
    gone = deployed.play("outputs", "-e", f"flower_outputs=delete flower_run_id={fetched.name}", hosts=hosts)
    assert "deleted the outputs of 1 run" in gone.messages() and "could not be recorded" in gone.warnings()


# The SuperNodes that are online, by Flower's own API: `flwr supernode list` shows neither names nor locations.
NODES = """\
from flwr.cli.flower_config import read_superlink_connection
from flwr.cli.utils import init_http_client_from_connection
from flwr.proto.control_pb2 import ListNodesRequest
nodes = init_http_client_from_connection(read_superlink_connection("study")).ListNodes(ListNodesRequest()).nodes_info
print("\\n", *(f"{node.name}@{node.location}" for node in nodes if node.status == "online"))
"""


class Laptop:
    """A scientist's machine: flwr, its settings, and nothing else of the federation."""

    def __init__(self, folder: Path) -> None:
        environment = [sys.executable, str(ROOT / "tools/environment.py"), "study"]
        self.python = Path(subprocess.run(environment, text=True, stdout=subprocess.PIPE, check=True).stdout.strip())
        quiet = {"FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1"}
        self.env = {"PATH": os.environ["PATH"], "HOME": str(folder), "FLWR_HOME": str(folder / "flwr"), **quiet}
        self.app = shutil.copytree(APP, folder / "quickstart")

    def run(self, *words: str) -> str:
        done = subprocess.run(words, env=self.env, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def flwr(self, *words: str) -> str:
        return self.run(str(self.python.with_name("flwr")), *words)

    def read(self, *words: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.flwr(*words, "--format", "json"))
        assert found["success"], found
        return found

    @contextmanager
    def running(self, command: str, kubectl: str, shows: str) -> Iterator[None]:
        """The command that the playbook shows, in a terminal of its own."""
        env = {**self.env, "PATH": f"{Path(kubectl).parent}:{self.env['PATH']}"}
        shell = ["bash", "-c", command]
        process = subprocess.Popen(shell, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        assert process.stdout is not None
        try:
            assert shows in (line := process.stdout.readline()), line
            yield
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(30)
            process.stdout.close()


def test_a_scientist_works_with_their_own_flwr(deployed, tmp_path, monkeypatch):
    """With what `connect` writes, and the command that it shows: kubectl forwards, and the real flwr submits, follows, lists and stops."""
    laptop = Laptop(tmp_path)
    monkeypatch.setenv("FLWR_HOME", laptop.env["FLWR_HOME"])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    hosts = {"hub": {"flower_context": "hub", "flower_kubeconfig": deployed.identity("hub", "scientist")}}
    options = ("-e", f"flower_connect_name=study flower_connect_port={port}")
    planned = deployed.play("connect", "--check", "--diff", *options, hosts=hosts)
    assert planned.changed == {"hub": 1} and not (tmp_path / "flwr").exists()
    shown = deployed.play("connect", *options, hosts=hosts)
    assert shown.changed == {"hub": 1}
    assert deployed.play("connect", *options, hosts=hosts).changed == {"hub": 0}
    command = next(one["result"]["forward"] for one in shown.results if one["result"].get("forward"))
    assert f"keep this running: {command}" in shown.table and f"pod/superlink-0 {port}:8000" in command
    with laptop.running(command, Kubectl(deployed.federation, "hub").words[0], f"127.0.0.1:{port} -> 8000"):
        assert "round 1: accuracy" in laptop.flwr("run", str(laptop.app), "study", "--stream", "--run-config", "num-server-rounds=1")
        submitted = laptop.read("run", str(laptop.app), "study", "--run-config", "num-server-rounds=20 sleep=6.0")
        run_id = str(submitted["run-id"])
        (listed,) = (one for one in laptop.read("list", "study")["runs"] if str(one["run-id"]) == run_id)
        assert not listed["status"].startswith("finished"), listed
        laptop.read("stop", run_id, "study")
        (stopped,) = laptop.read("list", "--run-id", run_id, "study")["runs"]
        assert stopped["status"] == "finished:stopped"
        completed = next(str(one["run-id"]) for one in laptop.read("list", "study")["runs"] if one["status"] == "finished:completed")
        assert "round 1: accuracy" in laptop.flwr("log", completed, "study", "--show")
        online = [node for node in laptop.read("supernode", "list", "study")["nodes"] if node["status"] == "online"]
        described = laptop.run(str(laptop.python), "-c", NODES).split("\n")[-2].split()
        assert len(described) == len(online) and "site-a/cpu/0@52.52,-13.4" in described, described
        assert any(re.fullmatch("site-b/edge/.+@", node) for node in described), described
    gone = deployed.play("connect", *options, "-e", "flower_connect_state=absent", hosts=hosts)
    assert gone.changed == {"hub": 1} and list((tmp_path / "flwr").rglob("*.toml")) == list((tmp_path / "flwr").rglob("*.crt")) == []


# Method and path of requests that a scientist has no right for: {space} is the namespace of the federation, {ca} that of its CA keys.
REFUSED = """
GET /api/v1/nodes
GET /api/v1/namespaces
GET /api/v1/secrets
GET /api/v1/namespaces/{space}/secrets
GET /api/v1/namespaces/{space}/secrets/superlink-gateway-tls
GET /api/v1/namespaces/{space}/secrets/superlink-internal
GET /api/v1/namespaces/{ca}/secrets/flower-ca
GET /api/v1/namespaces/{ca}/configmaps
GET /api/v1/namespaces/{space}/configmaps
GET /api/v1/namespaces/{space}/configmaps/flower-ledger
PATCH /api/v1/namespaces/{space}/configmaps/flower-datasets
GET /api/v1/namespaces/{space}/pods
POST /api/v1/namespaces/{space}/pods
DELETE /api/v1/namespaces/{space}/pods/superlink-0
GET /api/v1/namespaces/{space}/pods/superlink-0/log
GET /api/v1/namespaces/{space}/pods/serverapp-0/portforward
POST /api/v1/namespaces/{space}/pods/superlink-0/eviction
PATCH /api/v1/namespaces/{space}/pods/superlink-0/ephemeralcontainers
GET /api/v1/namespaces/{space}/events
GET /api/v1/namespaces/{space}/services
GET /api/v1/namespaces/{space}/persistentvolumeclaims
DELETE /api/v1/namespaces/{space}/persistentvolumeclaims/superlink-outputs
GET /apis/apps/v1/namespaces/{space}/statefulsets
PATCH /apis/apps/v1/namespaces/{space}/statefulsets/superlink/scale
GET /apis/coordination.k8s.io/v1/namespaces/{space}/leases
GET /apis/rbac.authorization.k8s.io/v1/namespaces/{space}/rolebindings
POST /apis/rbac.authorization.k8s.io/v1/namespaces/{space}/rolebindings
POST /api/v1/namespaces/{ca}/serviceaccounts/flower-controller/token
POST /api/v1/namespaces/{space}/serviceaccounts/auditor/token
"""


def test_a_scientist_can_do_nothing_else(deployed):
    (site_pod, *_others) = deployed.federation.pods("site-a", SPACE, "supernode")
    cluster = deployed.connect("hub", "scientist")
    requests = [line.format(space=SPACE, ca=CA_SPACE).split() for line in REFUSED.strip().splitlines()]
    assert len(requests) > 20
    for method, path in requests:
        query = {"dryRun": "All"} if method in ("POST", "PATCH", "DELETE") else None
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        assert refused(cluster.request, method, path, query=query, body=None if method == "GET" else {}, content_type=kind), path
    # In the ServerApp's pod scientists fetch outputs; no other pod is theirs, on the hub or at a site.
    assert refused(cluster.exec, SPACE, site_pod, "supernode", ["true"])
    for namespace, wanted in expected("scientist", "hub", deployed).items():
        assert allowed(cluster, namespace) == wanted


def test_an_auditor_reads_all_but_secrets(deployed):
    for context in deployed.federation.contexts:
        cluster = deployed.connect(context, "auditor")
        name = "superlink" if context == "hub" else "supernode"
        pod = next(iter(deployed.federation.pods(context, SPACE, name)))
        assert pod in [found["metadata"]["name"] for found in cluster.list("v1", "Pod", SPACE)]
        assert cluster.list("v1", "ConfigMap", SPACE) and cluster.list(f"{API}/v1", "RoleBinding", SPACE)
        client = CoreV1Api(new_client_from_config(deployed.identity(context, "auditor")))
        assert client.read_namespaced_pod_log(pod, SPACE, container=name)
        for namespace in deployed.namespaces(context):
            assert refused(cluster.list, "v1", "Secret", namespace)
        assert refused(cluster.exec, SPACE, pod, name, ["true"])
        assert refused(cluster.delete, "v1", "Pod", pod, SPACE, dry_run=True)
        for namespace, wanted in expected("auditor", context, deployed).items():
            assert allowed(cluster, namespace) == wanted


# The end


def test_teardown_leaves_the_rights(deployed):
    sites = ("teardown", "-e", "flower_teardown=true")
    run = deployed.play(*sites, "--limit", "site-a", hosts=deployed.controllers())
    assert f"namespace {SPACE} stays (the rights to delete it are missing)" in run.messages("site-a")
    deployed.play(*sites, "-e", "flower_delete_volumes=true", hosts=deployed.controllers())
    for context in deployed.federation.contexts:
        cluster = deployed.federation.cluster(context)
        for namespace in deployed.namespaces(context):
            left = {
                f"{kind} {item['metadata']['name']}"
                for api, kind in (
                    ("v1", "Secret"), ("v1", "ConfigMap"), ("v1", "Service"), ("v1", "PersistentVolumeClaim"),
                    ("apps/v1", "StatefulSet"), ("apps/v1", "DaemonSet"), ("apps/v1", "Deployment"),
                    ("policy/v1", "PodDisruptionBudget"),
                )
                for item in cluster.list(api, kind, namespace)
            }  # fmt: skip
            assert left <= {"ConfigMap applyset-rights", "ConfigMap kube-root-ca.crt"}, f"{context}: {left}"
        assert deployed.roles(context, "controller")


def test_every_right_was_used(deployed):
    """All requests of the federation's life so far, beside the table."""
    unseen = []
    used: dict[str, set[tuple[str, str, str, str, str]]] = {"superlink": set(), "supernode": set()}
    for context, recorder in deployed.recorders.items():
        # The blocked runs reported their missing rights before they needed them. Schedules are shown to those who may list them.
        denied = {str(found) for found in recorder.seen if found.status == 403 and found.resource != "cronjobs"}
        assert not denied, f"{context}: {denied}"
        used[PARTS[context]] |= {(one.verb, one.group, one.resource, one.namespace, one.name) for one in recorder.seen}
    for context in deployed.federation.contexts:
        seen = used[PARTS[context]]
        for right in {right for some in deployed.needed(context, DEPLOY, TEARDOWN).values() for right in some}:
            wanted = (right.verb, right.group, right.resource, right.namespace)
            if not any(one[:4] == wanted and right.name in ("", one[4]) for one in seen):
                place = "/ca" if right.namespace == CA_SPACE else ""
                unseen.append(f"{right.verb} {right.resource}{place}")
    assert set(unseen) <= set(UNSEEN), "rights that nothing used"


def test_rights_are_taken_away(granted):
    for check in ("--check", "--diff"):
        run = granted.play("rbac", check, "-e", "flower_rbac_apply=true", "-e", "flower_rbac_state=absent")
        assert all(run.changed.values()), run.changed
    for context in granted.federation.contexts:
        assert granted.roles(context, "") == []
    run = granted.play("rbac", "-e", "flower_rbac_apply=true", "-e", "flower_rbac_state=absent")
    assert set(run.changed.values()) == {0}


def test_rights_that_kubectl_applied_are_named_and_not_passed_over(granted):
    written = list(yaml.safe_load_all((granted.federation.folder / "rbac" / "hub.yml").read_text(encoding="utf-8")))
    role = next(one for one in written if one["kind"] == "ClusterRole")
    cluster = granted.federation.cluster("hub")
    cluster.request("POST", f"/apis/{API}/v1/clusterroles", query={"fieldManager": "kubectl"}, body=role)
    name = role["metadata"]["name"]
    run = granted.play("rbac", "-e", "flower_rbac_apply=true", "-e", "flower_rbac_state=absent", rc=2)
    assert f"ClusterRole {name}" in run.messages(failed=True) and "Delete it manually" in run.messages(failed=True)
    assert cluster.get(f"{API}/v1", "ClusterRole", name) is not None
    cluster.delete(f"{API}/v1", "ClusterRole", name)
