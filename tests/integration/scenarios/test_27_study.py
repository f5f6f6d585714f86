# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The study of the guide (examples/tabular): tables at the sites, SecAgg+ and differential privacy, and a real MLflow server.

Three SuperNodes; the ClientApp of site-b is in a pod of its own. What is computed without Flower, on this machine, is what the runs are
compared with.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI
from ansible_collections.federated.flower.plugins.plugin_utils.flower.outputs_reader import Reader
from ansible_collections.federated.flower.tests.integration.scenarios.conftest import CPU, GPU, Federation, Run
from ansible_collections.federated.flower.tests.integration.scenarios.lane import NAMESPACE
from ansible_collections.federated.flower.tests.integration.scenarios.published_app import SKLEARN

ROOT = Path(__file__).parents[3]
APP = ROOT / "examples" / "tabular"
IMAGE = "registry.example.com/federated-flower/tabular:1.0.0"
SITES = ("site-a", "site-b")
PORT = 5000  # of the fleet's MLflow
USER = "fleet"
SHARE = {"site": "{cluster}", "part": "{index}", "parts": "{replicas}", "partition-id": "{index}", "num-partitions": "{replicas}"}
# The average of the models that the three SuperNodes train in the first round, and how far models of that round are from it.
DISTANCES = """\
import sys, tomllib
from pathlib import Path
from tabular import checkpoints, table, task

app, tables, *files = map(Path, sys.argv[1:])
config = tomllib.loads((app / "pyproject.toml").read_text())["tool"]["flwr"]["app"]["config"]
sums, total = [0.0, 0.0], 0
for site, part, parts in (("site-a", 0, 2), ("site-a", 1, 2), ("site-b", 0, 1)):
    rows, _measured = task.parts(table.read(tables / site / table.FILE, part, parts))
    seed = 1000 * config["seed"] + 1
    model = task.train(task.new_model(), rows, config["local-epochs"], config["learning-rate"], seed)
    sums = [one + array * len(rows.labels) for one, array in zip(sums, model)]
    total += len(rows.labels)
for file in files:
    print(max(abs(array - one / total).max() for one, array in zip(sums, checkpoints.load(file).arrays)))
"""
ENVIRONMENT = "import json, os; print(json.dumps({k: v for k, v in os.environ.items() if k.startswith('MLFLOW')}))"
CHECKPOINTS = "import os, sys; folder = f'/outputs/{sys.argv[1]}/checkpoints'; print(len(os.listdir(folder)) if os.path.isdir(folder) else 0)"


class Server:
    """MLflow, asked with its own API."""

    def __init__(self, address: str, password: str) -> None:
        self.address = address
        self.password = password

    @property
    def uri(self) -> str:
        return f"http://{self.address}:{PORT}"

    def ask(self, path: str, body: dict[str, Any] | None = None, user: str = USER) -> tuple[int, bytes]:
        """Code and answer of a GET, or of a POST with a body."""
        login = base64.b64encode(f"{user}:{self.password}".encode()).decode()
        headers = {"Authorization": f"Basic {login}", "Content-Type": "application/json"}
        connection = http.client.HTTPConnection(self.address, PORT, timeout=300)
        try:
            connection.request("POST" if body else "GET", f"/api/2.0/{path}", json.dumps(body) if body else None, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def get(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """What it answers."""
        code, answer = self.ask(path, body)
        assert code == 200, (path, code, answer[:500])
        return json.loads(answer)

    def run(self, run_id: str) -> dict[str, Any]:
        """The run of MLflow that belongs to a run of Flower."""
        experiment = self.get("mlflow/experiments/get-by-name?experiment_name=tabular")["experiment"]["experiment_id"]
        wanted = {"experiment_ids": [experiment], "filter": f"tags.`flower.run_id` = '{run_id}'"}
        (found,) = self.get("mlflow/runs/search", wanted)["runs"]
        return found

    def history(self, run: str, metric: str) -> dict[int, float]:
        """Round -> value."""
        found = self.get(f"mlflow/metrics/get-history?run_id={run}&metric_key={metric}")["metrics"]
        return {int(one.get("step", 0)): one["value"] for one in found}


@dataclass(frozen=True)
class Done:
    """A run that is complete: its id, what the playbook printed, its outputs on this machine."""

    run_id: str
    output: str
    folder: Path

    @property
    def metrics(self) -> dict[str, dict[str, float]]:
        return json.loads((self.folder / "metrics.json").read_text())

    @property
    def model(self) -> Path:
        return self.folder / "model.npz"


@dataclass(frozen=True)
class Study:
    """The federation of the study, and what runs of its app leave."""

    fed: Federation
    inventory: Path
    server: Server
    python: str
    tables: Path
    folder: Path

    def compute(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Run Python with the example's packages, on this machine."""
        environ = {**os.environ, "PYTHONPATH": str(APP)}
        command = [self.python, "-B", *map(str, arguments)]
        return subprocess.run(command, env=environ, text=True, capture_output=True, check=False)

    def start(self, name: str, *arguments: str, **config: Any) -> Callable[[], Run]:
        """Start a run."""
        given = {
            "flower_app": str(APP),
            "flower_run_config": {"min-nodes": 3, **config},
            "flower_run_datasets": ["biopsies"],
            "flower_run_interval": 10,
            "flower_outputs_directory": str(self.folder / name),
        }
        return self.fed.start("run", "-e", json.dumps(given), *arguments, hosts=self.inventory)

    def begin(self, name: str, **config: Any) -> tuple[str, Callable[[], Run]]:
        """Start a run, and wait until its ServerApp does: its id, and a function that waits for its end."""
        finish = self.start(name, **config)
        return self.fed.running(finish), finish

    def finish(self, name: str, finish: Callable[[], Run]) -> Done:
        """Wait for a run, which must complete."""
        run = finish()
        assert run.rc == 0, run.details()
        (folder,) = (self.folder / name).iterdir()
        return Done(folder.name, run.output, folder)


@pytest.fixture(scope="module")
def server(fleet_command: Callable[..., None], fleet_addon: Callable[..., None], fleet_kubeconfig: Path) -> Iterator[Server]:
    """MLflow on the hub. What the runs need besides, the app's image, is made before."""
    fleet_command("image", "tabular")
    fleet_addon("mlflow", "up")
    config = yaml.safe_load(fleet_kubeconfig.read_text(encoding="utf-8"))
    (context,) = (one["context"] for one in config["contexts"] if one["name"] == "hub")
    (url,) = (one["cluster"]["server"] for one in config["clusters"] if one["name"] == context["cluster"])
    password = (fleet_kubeconfig.parent / "hub/mlflow/password").read_text(encoding="utf-8")
    yield Server(url.removeprefix("https://").partition(":")[0], password)
    fleet_addon("mlflow", "down")


@pytest.fixture(scope="module")
def study(federation: Federation, server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    """The federation with tables at its sites; it is as before at the end."""
    folder = tmp_path_factory.mktemp("study")
    secret = folder / "mlflow-password"
    secret.write_text(server.password, encoding="utf-8")
    hosts = federation.base()
    hosts["hub"] |= {
        "flower_tracking": {"uri": server.uri},
        "flower_tracking_credentials": {
            "username": USER,
            "password": f"{{{{ lookup('ansible.builtin.file', '{secret}') }}}}",
        },
        # On a busy machine MLflow needs more than the 10 s after which the example goes on without it.
        "superlink_serverapp_env": [{"name": "MLFLOW_HTTP_REQUEST_TIMEOUT", "value": "300"}],
    }
    for site, pool in zip(SITES, (CPU, GPU)):
        hosts[site] |= {
            "supernode_pools": [{**pool, "node_config": SHARE}],
            "supernode_datasets": [{"name": "biopsies", "new_claim": {"size": "64Mi"}}],
        }
    hosts["site-b"]["flower_clientapp"] = "workload"
    inventory = federation.inventory(hosts, flower_app_image=IMAGE)
    environment = [sys.executable, str(ROOT / "tools/environment.py"), "study"]
    python = subprocess.run(environment, text=True, stdout=subprocess.PIPE, check=True).stdout.strip()
    made = Study(federation, inventory, server, python, folder / "tables", folder / "outputs")

    federation.site(inventory)
    split = made.compute(APP / "split.py", made.tables, *SITES)
    assert split.returncode == 0, split.stderr
    federation.play(str(APP / "load.yml"), "-e", f"study_tables={made.tables}", hosts=inventory)
    yield made

    federation.settled = False
    federation.settle()
    for site in SITES:
        federation.cluster(site).delete("v1", "PersistentVolumeClaim", "dataset-biopsies", NAMESPACE)
    federation.hub.delete("v1", "ConfigMap", "flower-datasets", NAMESPACE)
    federation.hub.delete("v1", "Secret", "superlink-tracking", NAMESPACE)
    # It is in the environment of the ServerApp's processes, as the guide says, and nowhere else.
    shown = federation.shown(federation.logs, federation.home, federation.tmp)
    assert not shown, shown
    places = {text: place for text, place in federation.secrets.items() if "superlink-tracking" in place}
    assert places, "the Secret was never seen"
    for text in places:
        del federation.secrets[text]


@pytest.fixture(scope="module")
def runs(study: Study) -> tuple[Done, Done]:
    """A run with SecAgg+, and meanwhile one with differential privacy."""
    _run_id, secret = study.begin("secret", **{"num-server-rounds": 2, "secagg": True})
    noisy = study.start("noisy", **{"num-server-rounds": 1, "dp": True})
    return study.finish("secret", secret), study.finish("noisy", noisy)


def test_the_model_is_the_average_and_scores_what_the_run_said(study: Study, runs: tuple[Done, Done]) -> None:
    """With SecAgg+ but for what is lost by rounding; with differential privacy it is not."""
    secret, noisy = runs
    assert secret.output.count("Secure aggregation completed.") >= 2
    files = [done.folder / "checkpoints/round-0001.npz" for done in runs]
    found = study.compute("-c", DISTANCES, APP, study.tables, *files)
    assert found.returncode == 0, found.stderr
    rounded, private = map(float, found.stdout.split())
    assert rounded < 1e-3 and private > 0.05, found.stdout
    assert secret.metrics["2"]["loss"] < secret.metrics["1"]["loss"] and secret.metrics["2"]["accuracy"] > 0.9
    for done in runs:
        score = study.compute(APP / "score.py", done.folder)
        assert score.returncode == 0, score.stdout + score.stderr


def test_sites_tell_their_accuracy_unless_it_is_private(runs: tuple[Done, Done]) -> None:
    told = [[line for line in done.output.splitlines() if line.startswith("hub | round")] for done in runs]
    assert all(told)
    for place in ("; site-a 0.", ", site-b 0."):
        assert all(place in line for line in told[0]), told[0]
        assert not any(place in line for line in told[1]), told[1]


def test_mlflow_has_the_runs_their_metrics_and_models(study: Study, runs: tuple[Done, Done]) -> None:
    server = study.server
    for done, wanted in zip(runs, ({"secagg": "True", "dp": "False"}, {"secagg": "False", "dp": "True"})):
        found = server.run(done.run_id)
        run = found["info"]["run_id"]
        assert (found["info"]["status"], found["info"]["run_name"]) == ("FINISHED", done.run_id)
        parameters = {one["key"]: one["value"] for one in found["data"]["params"]}
        assert wanted | {"num-server-rounds": str(len(done.metrics)), "min-nodes": "3"} == {
            key: parameters[key] for key in (*wanted, "num-server-rounds", "min-nodes")
        }
        for name in ("accuracy", "loss"):
            said = {int(number): values[name] for number, values in done.metrics.items()}
            assert server.history(run, name) == pytest.approx(said, rel=1e-12)
        (model,) = server.get(f"mlflow/artifacts/list?run_id={run}&path=model")["files"]
        assert model["path"] == "model/model.npz"
        experiment = found["info"]["experiment_id"]
        code, answer = server.ask(f"mlflow-artifacts/artifacts/{experiment}/{run}/artifacts/{model['path']}")
        assert code == 200 and answer == done.model.read_bytes()


def test_the_server_wants_credentials_which_the_serverapp_alone_has(study: Study) -> None:
    assert study.server.ask("mlflow/experiments/search?max_results=1", user="other")[0] == 401
    fed = study.fed
    (clientapp,) = fed.pods("site-b", name="clientapp")
    asked = (("hub", "serverapp-0"), ("site-a", min(fed.pods("site-a"))), ("site-b", clientapp))
    has = [json.loads(fed.python(context, pod, "superexec", ENVIRONMENT)) for context, pod in asked]
    assert has[0].pop("MLFLOW_TRACKING_PASSWORD") == study.server.password
    assert (has[0]["MLFLOW_TRACKING_URI"], has[0]["MLFLOW_TRACKING_USERNAME"]) == (study.server.uri, USER)
    assert has[1:] == [{}, {}]


def test_a_published_example_ends_with_its_model_on_the_users_disk(study: Study, tmp_path: Path) -> None:
    """It needs scikit-learn, which the image of the study has."""
    given = {"flower_app": str(SKLEARN.write(tmp_path)), "flower_outputs_directory": str(tmp_path / "outputs")}
    run = study.fed.play("run", "-e", json.dumps(given), hosts=study.inventory)
    (folder,) = (tmp_path / "outputs").iterdir()
    assert "completed in" in run.messages() and study.fed.app_runs()[folder.name] == "finished:completed", run.messages()
    files = json.loads((folder / "flower-outputs.json").read_text(encoding="utf-8"))["files"]
    assert set(files) == {SKLEARN.model} and (folder / SKLEARN.model).stat().st_size


@pytest.mark.soak
def test_a_run_killed_in_round_3_of_6_ends_as_one_that_was_not(study: Study) -> None:
    fed, six = study.fed, {"num-server-rounds": 6}
    straight = study.finish("straight", study.start("straight", **six))
    run_id, finish = study.begin("killed", **six)

    def done() -> int:
        return int(fed.python("hub", "serverapp-0", "outputs", CHECKPOINTS, run_id))

    fed.wait("the checkpoint of round 2", lambda: done() == 2, 150, pause=1)
    fed.hub.delete("v1", "Pod", "serverapp-0", NAMESPACE, propagation="Background")
    assert finish().rc == 2 and fed.app_runs()[run_id] == "finished:failed"
    Reader(FlowerCLI(fed.hub, NAMESPACE)).pod(120)
    assert done() == 2
    resumed = study.finish("resumed", study.start("resumed", "-e", f"flower_run_resume={run_id}", **six))
    assert sorted(resumed.metrics) == ["3", "4", "5", "6"] and resumed.metrics["6"] == straight.metrics["6"]
    assert resumed.model.read_bytes() == straight.model.read_bytes()
