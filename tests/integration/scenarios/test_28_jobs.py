# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every job template of the role awx as a controller runs it: by ansible-runner in a pod on the hub, with the image of the execution environment
and the example project.

The pod is like those of container groups: a random user id in group 0, no home, a read-only file system and project, a namespace that
enforces the Pod Security Standard "restricted", and the rights that federated.flower.rbac grants to its ServiceAccount.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyrage
import pytest
import yaml

from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import connect
from ansible_collections.federated.flower.tests.integration.scenarios import identities, runner_job
from ansible_collections.federated.flower.tests.integration.scenarios.lane import NAMESPACE
from ansible_collections.federated.flower.tests.unit.read import yaml_file

ROOT = Path(__file__).parents[3]
PROJECT = ROOT / "examples" / "awx-project"
APP = ROOT / "examples" / "quickstart"
ROWS = {row["playbook"]: row for row in yaml_file("roles", "awx", "defaults", "main.yml")["awx_job_templates"]}
SPACE = f"{NAMESPACE}-jobs"
IMAGE = "registry.example.com/flower-ee:1"
USER = 1000680000  # as OpenShift chooses them
SECONDS = 240  # that no job should ever take
EVENT = 64 * 1024  # bytes that no event of a fleet of three clusters should ever have
EVENTS = 256 * 1024  # and all of a job
RECIPIENT = str(pyrage.x25519.Identity.generate().to_public())
LAUNCHED = {"awx_job_id": 7, "awx_user_name": "jane"}  # two of the variables that a controller adds


@dataclass(frozen=True)
class Job:
    """What a job left."""

    rc: int
    runner: str
    stdout: str
    events: list[dict[str, Any]]
    sizes: list[int]
    left: list[str]
    written: dict[str, str]

    @property
    def artifacts(self) -> dict[str, Any]:
        """What set_stats published."""
        return self._stats().get("artifact_data", {})

    @property
    def changed(self) -> dict[str, int]:
        """Host -> number of its tasks that changed something, of the hosts with such tasks."""
        return self._stats().get("changed", {})

    def _stats(self) -> dict[str, Any]:
        found = [event["event_data"] for event in self.events if event["event"] == "playbook_on_stats"]
        return found[-1] if found else {}

    def details(self) -> str:
        """For the message of an assertion."""
        return f"exit code {self.rc}\n{self.runner[-2000:]}\n{self.stdout[-4000:]}"


@dataclass(frozen=True)
class Case:
    """What is answered at the launch of a job template, and what has to come of it."""

    answers: dict[str, Any] = field(default_factory=dict)
    shows: str = ""
    refused: bool = False
    holds: Callable[[Job], bool] = lambda job: job.changed == {}


# A deployed federation stays as it is: where the real thing would remove a site, a required question is left unanswered.
CASES = {
    "site.yml": Case(shows="3 SuperNodes of 2 sites are online", holds=lambda job: job.changed == {} and bool(job.artifacts["flower_site_result"]["address"])),
    "plan.yml": Case(shows="nothing to do", holds=lambda job: job.changed == {} and len(job.artifacts["flower_plan_hash"]) == 64),
    "status.yml": Case(shows="site-b", holds=lambda job: job.artifacts["flower_status_result"]["healthy"] is True),
    # The test fleet's GPUs are only advertised.
    "verify.yml": Case(shows="apps compute has no device of a GPU", refused=True),
    "logs.yml": Case({"flower_logs_lines": 10}, shows="site-a supernode-cpu-0/supernode:"),  # each line is an event
    "restart.yml": Case(shows="Set the hosts to restart", refused=True),
    "reconcile.yml": Case(
        {"flower_reconcile": "heal"}, shows="no SuperNode needs healing", holds=lambda job: job.artifacts["flower_reconcile_result"]["drift"] == []
    ),
    "rotate_certs.yml": Case({"flower_rotate": "due"}, shows="nothing is due"),
    "upgrade.yml": Case({"flower_upgrade_wait": 0}, shows="nothing to upgrade"),
    "clientapp.yml": Case(shows="Update the ClientApps of the sites"),
    "run.yml": Case(
        {"flower_app": "apps/quickstart", "flower_run_config": '{"num-server-rounds": 1}', "flower_outputs_directory": "/tmp/outputs"},
        holds=lambda job: job.artifacts["flower_run_result"]["outcome"] == "completed",
    ),
    "runs.yml": Case(shows="quickstart"),
    "outputs.yml": Case(shows="outputs of "),
    "site_access.yml": Case({"flower_site": "site-b", "flower_access": "admitted"}, shows="site-b is admitted, as it was"),
    "audit.yml": Case({"flower_audit_last": 5}, shows="none altered"),
    "rbac.yml": Case(shows="flower-hub-controller"),
    "acm_policy.yml": Case(shows="kind: Policy"),
    "skupper_rotate.yml": Case(shows="nothing is due"),
    "skupper_leave.yml": Case(shows="Name a site of the inventory", refused=True),
    "skupper_revoke.yml": Case(shows="Name the site", refused=True),
    "teardown.yml": Case(shows="To confirm, add", refused=True),
    "drill.yml": Case({"flower_drill": "superlink_killed"}, refused=True),
    # The key is public, and nothing opens the archive here.
    "backup.yml": Case(
        {"flower_backup_directory": "/runner", "flower_backup_recipients": RECIPIENT},
        shows="wrote /runner/flower-backup-",
        holds=lambda job: set(job.changed) == {"hub"},
    ),
    "standby.yml": Case(refused=True),
    "failover.yml": Case(refused=True),
    "failback.yml": Case(refused=True),
    "takeover.yml": Case(refused=True),
}


def config_map(name: str, files: dict[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A ConfigMap with files in folders, and its volume, which nobody can write to."""
    keys = {path: path.replace("/", "--") for path in files}
    made = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": SPACE},
        "data": {keys[path]: text for path, text in files.items()},
    }
    items = [{"key": key, "path": path} for path, key in keys.items()]
    return made, {"name": name, "configMap": {"name": name, "items": items, "defaultMode": 0o444}}


def texts(folder: Path, prefix: str = "", left_out: tuple[str, ...] = ()) -> dict[str, str]:
    """Path below a folder -> text."""
    found = {path: path.relative_to(folder) for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    return {f"{prefix}{place}": path.read_text(encoding="utf-8") for path, place in found.items() if place.parts[0] not in left_out}


class Group:
    """The pod, and who acts in it."""

    def __init__(self, federation: Any) -> None:
        self.federation = federation
        config = yaml.safe_load(federation.kubeconfig.read_text(encoding="utf-8"))
        self.administrator = config
        self.clusters = {context: identities.entry(config, context) for context in federation.contexts}
        self.kubeconfigs: dict[str, dict[str, Any]] = {}

    def create(self) -> None:
        """The namespace, its accounts, the project and the pod."""
        hub = self.federation.hub
        levels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn", "audit")}
        hub.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE, "labels": levels}})
        for account in ("jobs", "scientist"):
            hub.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account, "namespace": SPACE}})
        shipped = texts(PROJECT, left_out=("inventory", "ocm"))
        project, project_volume = config_map("project", {**shipped, **texts(APP, "apps/quickstart/")})
        inventory, inventory_volume = config_map("inventory", {**texts(PROJECT / "inventory"), "01-fleet.yml": json.dumps(self.inventory())})
        for one in (project, inventory):
            hub.create(one)
        mounts = [{"name": name, "mountPath": f"/{name}"} for name in ("project", "inventory", "runner", "tmp")]
        hub.create(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "job", "namespace": SPACE},
                "spec": {
                    "serviceAccountName": "jobs",
                    "terminationGracePeriodSeconds": 0,
                    "securityContext": {
                        "runAsNonRoot": True, "runAsUser": USER, "runAsGroup": 0, "seccompProfile": {"type": "RuntimeDefault"},
                    },
                    "containers": [
                        {
                            "name": "worker",
                            "image": IMAGE,
                            "command": ["sleep", "3600"],
                            "env": [{"name": "HOME", "value": "/nonexistent"}],
                            "securityContext": {
                                "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
                            },
                            "volumeMounts": mounts,
                        }
                    ],
                    "volumes": [project_volume, inventory_volume, {"name": "runner", "emptyDir": {}}, {"name": "tmp", "emptyDir": {}}],
                },
            }
        )  # fmt: skip

    def inventory(self) -> dict[str, Any]:
        """The hosts of the federation; the rest is in the example project, whose group variables these override."""
        given = {name: value for name, value in self.federation.common.items() if not name.startswith("ansible_")}
        del given["flower_kubeconfig"]  # the credential names it
        hosts = {name: {**given, **found} for name, found in self.federation.base().items()}
        hosts["hub"]["flower_rbac_controller"] = {"kind": "ServiceAccount", "name": "jobs", "namespace": SPACE}
        hosts["hub"]["flower_rbac_scientists"] = [{"kind": "ServiceAccount", "name": "scientist", "namespace": SPACE}]
        for found in hosts.values():
            found["flower_rbac_auditors"] = []
        hub = hosts.pop("hub")
        return {"all": {"children": {"flower_hub": {"hosts": {"hub": hub}}, "flower_sites": {"hosts": hosts}}}}

    def wait(self) -> None:
        """Wait until the pod runs."""

        def running() -> bool:
            pod = self.federation.hub.get("v1", "Pod", "job", SPACE)
            return pod["status"].get("phase") == "Running"

        self.federation.wait("the pod of jobs", running, 60)

    def identify(self) -> None:
        """Kubeconfigs of the credentials: on the hub the pod's own ServiceAccount, in each site the one that was made there."""
        mounted = "/var/run/secrets/kubernetes.io/serviceaccount/token"
        own = self.federation.hub.exec(SPACE, "job", "worker", ["cat", mounted])
        self.federation.secrets[own.stdout.decode()] = "token of the pod of jobs"
        sites = [context for context in self.clusters if context != "hub"]
        tokens = {site: {"token": identities.token(self.federation, site, NAMESPACE, "flower-controller")} for site in sites}
        self.kubeconfigs["fleet"] = identities.kubeconfig(self.clusters, {"hub": {"tokenFile": mounted}, **tokens})
        scientist = identities.token(self.federation, "hub", SPACE, "scientist")
        self.kubeconfigs["study"] = identities.kubeconfig({"hub": self.clusters["hub"]}, {"hub": {"token": scientist}})

    def launch(self, playbook: str, answers: dict[str, Any], *, kubeconfig: dict[str, Any] | None = None, name: str = "", words: str = "") -> Job:
        """Run a job; by default with the credential of its template."""
        credential = "study" if "__awx_study_credentials" in str(ROWS[playbook].get("credentials")) else "fleet"
        name = name or playbook.removesuffix(".yml")
        job = {
            "name": name,
            "playbook": playbook,
            "kubeconfig": kubeconfig or self.kubeconfigs[credential],
            "variables": {**LAUNCHED, **answers},
            "words": f"--forks 20 {words}",
            "seconds": SECONDS,
        }
        program = Path(runner_job.__file__).read_text(encoding="utf-8")
        with connect({"kubeconfig": str(self.federation.kubeconfig), "context": "hub"}) as hub:
            done = hub.exec(SPACE, "job", "worker", ["python", "-c", program], stdin=json.dumps(job).encode(), timeout=SECONDS + 30)
        assert done.rc == 0, done.stderr.decode()[-3000:]
        # Where the last scenario looks for secrets.
        (self.federation.logs / f"job-{name}.json").write_bytes(done.stdout)
        return Job(**json.loads(done.stdout))


@pytest.fixture(scope="module")
def group(federation: Any, fleet_command: Callable[..., None]) -> Iterator[Group]:
    """The pod with the rights of the example, which are taken away at the end."""
    fleet_command("image", "awx-project")
    federation.settle()
    federation.wait_online(*(node for site in ("site-a", "site-b") for node in federation.keys(site).values()))
    made = Group(federation)
    made.create()
    made.wait()
    rights = {"flower_rbac_apply": "true"}
    granted = made.launch("rbac.yml", rights, kubeconfig=made.administrator, name="grant")
    assert granted.rc == 0 and set(granted.changed) == set(federation.contexts), granted.details()
    made.identify()
    yield made
    revoked = made.launch("rbac.yml", {**rights, "flower_rbac_state": "absent"}, kubeconfig=made.administrator, name="revoke")
    federation.hub.delete("v1", "Namespace", SPACE, propagation="Background")
    assert revoked.rc == 0 and set(revoked.changed) == set(federation.contexts), revoked.details()


@pytest.fixture(scope="module")
def jobs(group: Group) -> dict[str, Job]:
    """One job of each template. Those that must not run at the same time run one after the other, beside the others."""
    kinds = [[], []]
    for playbook, row in ROWS.items():
        kinds[row.get("allow_simultaneous", False)].append(playbook)

    def one_by_one(playbooks: list[str]) -> dict[str, Job]:
        return {playbook: group.launch(playbook, CASES[playbook].answers) for playbook in playbooks if playbook in CASES}

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(one_by_one, kinds)
    return {**first, **second}


def test_every_template_has_a_case() -> None:
    assert sorted(CASES) == sorted(ROWS)


def test_the_pod_has_no_more_than_a_job_of_a_controller(group: Group) -> None:
    hub = group.federation.hub
    who = hub.exec(SPACE, "job", "worker", ["id"]).stdout.decode()
    assert f"uid={USER}" in who and "gid=0" in who, who
    for place in ("/nonexistent", "/project", "/inventory", "/usr/share/ansible/collections", "/opt/ansible", "/etc"):
        assert hub.exec(SPACE, "job", "worker", ["mkdir", f"{place}/new"]).rc != 0, place


@pytest.mark.parametrize("playbook", CASES)
def test_a_job_does_what_its_template_says(jobs: dict[str, Job], playbook: str) -> None:
    case, job = CASES[playbook], jobs[playbook]
    assert (job.rc != 0) == case.refused, job.details()
    assert case.shows in job.stdout, job.details()
    assert case.holds(job), (job.changed, job.artifacts)
    assert max(job.sizes) < EVENT and sum(job.sizes) < EVENTS, sorted(job.sizes)[-5:]
    assert job.left == []
    # The cache of facts is on, as in jobs of controllers; whatever it holds is in what the last test looks at.
    (command,) = (text for path, text in job.written.items() if path.endswith("/job/command"))
    assert json.loads(command)["env"]["ANSIBLE_CACHE_PLUGIN"] == "jsonfile"


def test_a_change_is_made_with_these_rights_and_recorded(group: Group, jobs: dict[str, Job]) -> None:
    """One object of the hub is deleted."""
    federation = group.federation
    assert federation.hub.list("policy/v1", "PodDisruptionBudget", NAMESPACE)
    federation.settled = False
    job = group.launch("site.yml", {"superlink_protect_runs": False}, name="change", words="--diff")
    assert job.rc == 0 and set(job.changed) == {"hub"}, job.details()  # that object, and the trail
    assert federation.hub.list("policy/v1", "PodDisruptionBudget", NAMESPACE) == []
    who = federation.trail()[-1]["who"]
    assert who["awx_user"] == "jane" and who["kubernetes"] == f"system:serviceaccount:{SPACE}:jobs", who


def test_a_job_that_comes_as_a_stream(group: Group, tmp_path: Path) -> None:
    """As a controller sends it to a pod of a container group, and reads what comes back: the project, the inventory and the credential, too."""
    sent, received = tmp_path / "sent", tmp_path / "received"
    received.mkdir()
    credential = "/runner/stream/env/credential"
    for path, text in {
        "project/audit.yml": (PROJECT / "audit.yml").read_text(encoding="utf-8"),
        "inventory/fleet.yml": json.dumps(group.inventory()),
        "inventory/group_vars/all.yml": (PROJECT / "inventory/group_vars/all.yml").read_text(encoding="utf-8"),
        "env/credential": json.dumps(group.kubeconfigs["fleet"]),
        "env/envvars": json.dumps({"K8S_AUTH_KUBECONFIG": credential}),
    }.items():
        (sent / path).parent.mkdir(parents=True, exist_ok=True)
        (sent / path).write_text(text, encoding="utf-8")
    runner = [str(Path(sys.executable).parent / "ansible-runner")]
    stream = subprocess.run([*runner, "transmit", str(sent), "-p", "audit.yml", "--ident", "job"], capture_output=True, check=True).stdout
    worker = ["ansible-runner", "worker", "--private-data-dir", "/runner/stream"]
    answer = group.federation.hub.exec(SPACE, "job", "worker", worker, stdin=stream, timeout=SECONDS)
    process = [*runner, "process", str(received), "--ident", "job"]
    shown = subprocess.run(process, input=answer.stdout, capture_output=True, check=False)
    assert (received / "artifacts/job/rc").read_text() == "0", (shown, answer.stderr[-2000:])
    assert b"none altered" in shown.stdout, shown.stdout[-2000:]


def test_jobs_show_no_secret_and_leave_no_file(group: Group, jobs: dict[str, Job]) -> None:
    federation = group.federation
    federation._collect()
    told = sorted(federation.logs.glob("job-*.json"))
    assert len(told) > len(CASES)
    assert federation.shown(*told) == {}
    listing = "import os; print(*(os.path.join(place, name) for place, _folders, names in os.walk('/tmp') for name in names), sep='\\n')"
    left = federation.hub.exec(SPACE, "job", "worker", ["python", "-c", listing]).stdout.decode().split()
    assert left and all(path.startswith("/tmp/outputs/") for path in left), left
