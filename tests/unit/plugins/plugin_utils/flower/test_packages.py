# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an app declares against what pods answer: a run that is refused, and what could not be asked."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.flower import in_pod, packages
from ansible_collections.federated.flower.plugins.plugin_utils.flower.app import App
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerError
from ansible_collections.federated.flower.plugins.plugin_utils.flower.packages import SitePods
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import AuthError
from ansible_collections.federated.flower.plugins.plugin_utils.programs import package_program
from ansible_collections.federated.flower.tests.unit.rows import each_row
from ansible_collections.federated.flower.tests.unit.shared_namespace import selects

WANTED = packages.parse(["numpy>=2", "pandas"])[0]
APP = App("me/demo", "1", {}, {}, dependencies=("numpy>=2", "pandas"))
GOOD, BAD = {"numpy": "2.1", "pandas": "2.2"}, {"numpy": "1.26"}
ALLOWS, DISABLES = (f"--{word}-runtime-dependency-installation" for word in ("allow", "disable"))
PROGRAM = Path(str(package_program.__file__))


def pod(name: str, *containers: str, pool: str = "", args: Any = (), state: str = "running", **meta: Any) -> dict[str, Any]:
    """A pod; its last container has these arguments."""
    application = name.partition("-")[0]
    labels = {"app.kubernetes.io/managed-by": "federated.flower", "app.kubernetes.io/instance": "demo", "app.kubernetes.io/name": application}
    listed = [{"name": one, "image": f"r/{one}:1"} for one in containers]
    listed[-1]["args"] = list(args)
    return {
        "metadata": {"name": name, "namespace": "flower", "labels": {**labels, **({"federated.flower/pool": pool} if pool else {})}, **meta},
        "spec": {"containers": listed},
        "status": {"containerStatuses": [{"name": one, "state": {state: {}}} for one in containers]},
    }


class Cluster:
    """A cluster with some pods, of which a container has packages; and with the index of SuperNodes, if it is the hub."""

    name = "hub"

    def __init__(self, *pods: dict[str, Any], has: Any = None, may: bool = True, index: Any = None, fault: str = "") -> None:
        self.pods, self.has, self.may, self.index, self.fault = pods, has, may, index, fault
        self.asked: list[tuple[str, str]] = []

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_error: object) -> None:
        """Nothing is open."""

    def access_review(self, checks: list[dict[str, str]]) -> list[bool]:
        return [self.may for _check in checks]

    def list(self, version: str, kind: str, namespace: str, labels: str) -> list[dict[str, Any]]:
        if self.fault:
            raise ClusterError(self.fault)
        return [one for one in self.pods if selects(labels, one["metadata"]["labels"])]

    def get(self, version: str, kind: str, name: str, namespace: str) -> Any:
        if kind == "Pod":
            return next((one for one in self.pods if one["metadata"]["name"] == name), None)
        return self.index and {"metadata": {"name": name}, "data": {"ledger.json": json.dumps(self.index)}}


@pytest.fixture(autouse=True)
def answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pods answer with the packages of their cluster."""

    def run(cluster: Any, namespace: str, name: str, container: str, program: Any, request: Any, *, seconds: float) -> in_pod.Output:
        cluster.asked.append((name, container))
        if cluster.has is None:
            return in_pod.Output([], 1, "no Python")
        return in_pod.Output([json.dumps({"packages": cluster.has, "environment": {"python_version": "3.13"}, "extras": {}})], 0, "")

    monkeypatch.setattr(in_pod, "run", run)


INDEX = {"sites": {"a": {"cpu": {"nodes": ["1"]}, "gpu": {"nodes": ["2"]}}, "b": {"cpu": {"nodes": ["3"]}}, "c": {"cpu": {"nodes": ["4"]}}}}
SERVER = pod("superlink-0", "superlink", "gateway", annotations={"federated.flower/outputs": "serverapp-0"})
SITE = [pod("supernode-cpu-0", "supernode", "superexec", pool="cpu"), pod("supernode-gpu-0", "supernode", "superexec", pool="gpu")]


def hub(*pods: dict[str, Any], **given: Any) -> Cluster:
    """A hub whose ServerApp has good packages."""
    return Cluster(*(pods or (SERVER, pod("serverapp-0", "superexec", "outputs"))), **{"has": GOOD, "index": INDEX, **given})


def require(cluster: Any, online: tuple[str, ...], wanted: Any = (*WANTED,), **sites: Any) -> tuple[list[str], str]:
    """What fits, and what is said; sites are clusters, or why they cannot be reached."""
    nodes = {one: {"status": "online"} for one in online} | {"9": {"status": "offline"}}
    cli: Any = SimpleNamespace(cluster=cluster, namespace="flower", nodes=lambda: nodes, wait_for_superlink=lambda seconds: cluster.pods[0])
    said: list[str] = []

    def reach(site: str) -> SitePods:
        found = sites.get(site, "it is not in the inventory")
        if isinstance(found, str):
            raise ClusterError(found)

        def connect() -> Any:
            if isinstance(found, AuthError):
                raise found
            return found

        return SitePods(connect, "flower", "demo")

    places = packages.require(cli, APP, wanted, reach, said.append)
    assert len(said) < 2
    return places, "".join(said)


def test_what_fits_is_told_and_nothing_is_said() -> None:
    site: Any = Cluster(*SITE, has=GOOD)
    assert require(hub(), ("1",), a=site) == (["ServerApp", "a, pool cpu"], "")
    assert site.asked == [("supernode-cpu-0", "superexec")], "pools without a SuperNode that is online are not asked"


def test_all_misfits_of_all_places_are_named_and_nothing_is_submitted() -> None:
    with pytest.raises(FlowerError) as refused:
        require(hub(has=BAD), ("2", "3"), a=Cluster(*SITE, has={"numpy": "3"}), b=Cluster(*SITE, has=GOOD))
    assert refused.value.message.splitlines()[1:-1] == [
        "  ServerApp, image r/superexec:1: numpy: >=2 is required, and 1.26 is installed",
        "  ServerApp, image r/superexec:1: pandas: any version is required, and it is not installed",
        "  a, pool gpu, image r/superexec:1: pandas: any version is required, and it is not installed",
    ]
    assert "flower_run_packages_check=false" in refused.value.message


def test_what_cannot_be_asked_is_named_in_one_line_and_refuses_nothing() -> None:
    others = "its pods cannot be queried, because its objects are delivered through files that the site applies itself"
    places, said = require(hub(), ("1", "2", "3", "4", "77"), a=Cluster(fault="it does not\nanswer"), b=others, c=others)
    assert places == ["ServerApp"] and "\n" not in said
    for words in (f"b, c: {others}", "a: it does not", "1 SuperNode: federated.flower.site records"):
        assert words in said
    places, said = require(hub(), ("1", "3"), a=Cluster(*SITE, may=False), b=Cluster(*SITE))
    assert "a, pool cpu: the right to exec in pod supernode-cpu-0 is missing" in said
    assert "b, pool cpu: the Python of pod supernode-cpu-0 cannot list its packages: no Python" in said
    places, said = require(hub(), ("1", "3"), a=Cluster(), b=Cluster(*SITE, has=["?"]))
    assert "a, pool cpu: none of its pods runs" in said and "b, pool cpu: its Python did not return a list of packages" in said


def test_sites_log_in_at_the_same_time_and_variables_are_read_one_after_the_other() -> None:
    """The login of a site may take seconds, and variables of hosts are templated, which is for one thread."""
    logins, main = threading.Barrier(2), threading.current_thread()

    def reach(site: str) -> SitePods:
        def connect() -> Any:
            logins.wait(10)
            return Cluster(*SITE, has=GOOD)

        assert threading.current_thread() is main
        return SitePods(connect, "flower", "demo")

    cluster = hub()
    nodes = {one: {"status": "online"} for one in ("1", "3")}
    cli: Any = SimpleNamespace(cluster=cluster, namespace="flower", nodes=lambda: nodes, wait_for_superlink=lambda seconds: cluster.pods[0])
    assert packages.require(cli, APP, WANTED, reach, pytest.fail) == ["ServerApp", "a, pool cpu", "b, pool cpu"]


def test_a_site_whose_login_fails_refuses_nothing() -> None:
    assert require(hub(), ("1", "3"), a=AuthError("its exec plugin failed"), b=Cluster(*SITE, has=GOOD)) == (
        ["ServerApp", "b, pool cpu"],
        "the app's dependencies were not compared with all images: a: its exec plugin failed",
    )


def test_a_site_with_answers_of_another_form_stops_nothing() -> None:
    broken = Cluster({"metadata": {"labels": SITE[0]["metadata"]["labels"]}})
    assert require(hub(), ("1", "3"), a=broken, b=Cluster(*SITE, has=GOOD)) == (
        ["ServerApp", "b, pool cpu"],
        "the app's dependencies were not compared with all images: a: its API server returned unexpected answers",
    )


def test_without_the_index_the_serverapp_alone_is_compared() -> None:
    places, said = require(hub(index={"sites": []}), ("1",))
    assert places == ["ServerApp"] and "ClientApps: " in said and "cannot be used" in said
    places, said = require(hub(index=None), ("1",))
    assert places == ["ServerApp"] and "1 SuperNode: federated.flower.site" in said


@each_row(
    ("pods", "asked"),
    [
        ([SERVER, pod("serverapp-0", "superexec", "outputs")], ("serverapp-0", "superexec")),
        ([pod("superlink-0", "gateway", "superlink", args=["--isolation", "subprocess", DISABLES])], ("superlink-0", "superlink")),
        ([pod("superlink-0", "superlink", "gateway"), pod("serverapp-5f", "superexec")], ("serverapp-5f", "superexec")),
    ],
)
def test_the_pod_in_which_serverapps_compute_is_asked(pods: Any, asked: tuple[str, str]) -> None:
    cluster = hub(*pods)
    assert require(cluster, ()) == (["ServerApp"], "") and cluster.asked == [asked]


def test_images_whose_apps_install_their_packages_are_not_compared() -> None:
    server = pod("superlink-0", "gateway", "superlink", args=["--isolation", "subprocess"])
    site = Cluster(pod("supernode-cpu-0", "supernode", "superexec", pool="cpu", args=[ALLOWS]), has=BAD)
    cluster = hub(server, has=BAD)
    assert require(cluster, ("1",), a=site) == ([], "") and cluster.asked == site.asked == []


def test_the_pod_that_computes_is_asked() -> None:
    def ask(cluster: Any, federation: str = "demo") -> Any:
        return packages.ask_pools(cluster, SitePods(lambda: cluster, "flower", federation), ["cpu"], WANTED)

    leaving = pod("supernode-cpu-0", "supernode", "superexec", pool="cpu", deletionTimestamp="now")
    waiting = pod("supernode-cpu-1", "supernode", "superexec", pool="cpu", state="waiting")
    other = pod("supernode-cpu-2", "supernode", "superexec", pool="cpu")
    site: Any = Cluster(leaving, waiting, other, has=GOOD)
    assert "cpu" in ask(site) and site.asked == [("supernode-cpu-2", "superexec")]
    apart: Any = Cluster(pod("supernode-cpu-0", "supernode", pool="cpu"), pod("clientapp-cpu-0", "superexec", pool="cpu"), has=GOOD)
    assert "cpu" in ask(apart) and apart.asked == [("clientapp-cpu-0", "superexec")]
    inside: Any = Cluster(pod("supernode-cpu-0", "sidecar", "supernode", pool="cpu"), has=GOOD)
    assert "cpu" in ask(inside) and inside.asked == [("supernode-cpu-0", "supernode")]
    assert str(ask(inside, "other")["cpu"]) == "none of its pods runs", "pods of another federation"


def test_dependencies_that_cannot_be_read_are_named_before_anything_is_asked() -> None:
    app = App("me/demo", "1", {}, {}, dependencies=("numpy", "a b", ">=1"))
    with pytest.raises(FlowerError, match="'a b' is not a requirement.*'>=1' is not.*flower_run_packages_check=false"):
        packages.declared(app)
    assert packages.declared(App("me/demo", "1", {}, {})) == []


def test_the_program_lists_what_can_be_imported() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM.read_text(encoding="utf-8")], capture_output=True, text=True, check=True)
    (line,) = done.stdout.splitlines()
    found = json.loads(line)
    assert found["packages"]["packaging"] == metadata.version("packaging")
    assert found["environment"]["python_full_version"] == sys.version.split()[0]
    assert found["environment"]["sys_platform"] == sys.platform and "platform_release" not in found["environment"]


# ---- what an image lacks ----

IMAGE: Any = (
    {
        "flwr": "1.41.0",
        "numpy": "1.26.4",
        "torch": "2.9.0+cpu",
        "scikit-learn": "1.8.0rc1",
        "uvicorn": "0.30.0",
        "strange": "unknown",
    },
    {"python_version": "3.13", "python_full_version": "3.13.1", "sys_platform": "linux", "platform_machine": "aarch64"},
)


@each_row(
    ("text", "lacks"),
    [
        ("NumPy>=1.26,<2", []),
        ("numpy>=2", ["numpy: >=2 is required, and 1.26.4 is installed"]),
        ("pandas", ["pandas: any version is required, and it is not installed"]),
        ("torch==2.9.0", []),  # a local version is a build of that version
        ("scikit_learn>=1.7", []),  # a pre-release that is installed counts
        ("Scikit.Learn>=1.8", ["Scikit.Learn: >=1.8 is required, and 1.8.0rc1 is installed"]),
        ("flwr[simulation]>=1.40", []),  # of every template of Flower, and of no use here
        ("pywin32; sys_platform == 'win32'", []),
        ("numpy>=2; python_version >= '3.13'", ["numpy: >=2 is required, and 1.26.4 is installed"]),
        ("numpy>=2; python_version < '3.13'", []),
        ("odd; platform_release >= '6'", []),  # what the image does not decide
        ("torch @ https://example.com/torch.whl", []),
        ("jax @ https://example.com/jax.whl", ["jax: any version is required, and it is not installed"]),
        ("strange>=1", ["strange: >=1 is required, and unknown is installed"]),
        ("uvicorn[standard]>=0.20", []),  # extras are not compared
    ],
)
def test_misfits(text: str, lacks: list[str]) -> None:
    wanted, faults = packages.parse([text])
    assert not faults
    assert packages.lacking(wanted, *IMAGE) == lacks


def test_versions_from_other_containers_cannot_forge_lines() -> None:
    wanted, _faults = packages.parse(["numpy<1"])
    for version in ("1\nfatal: [hub]", "\x1b[31m1", "1" * 100, ""):
        (one,) = packages.lacking(wanted, {"numpy": version}, IMAGE[1])
        assert one == "numpy: <1 is required, and no version is installed"
