# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an app declares against what images hold: errors and warnings."""

from __future__ import annotations

import json
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base import package_list
from ansible_collections.federated.flower.plugins.plugin_utils.flower import (
    image_packages,
    needed_packages,
    requirements,
)
from ansible_collections.federated.flower.plugins.plugin_utils.flower.app import App
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerError
from ansible_collections.federated.flower.plugins.plugin_utils.flower.needed_packages import Checked, Place, compare
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Forbidden
from ansible_collections.federated.flower.plugins.plugin_utils.ledger import package_index
from ansible_collections.federated.flower.plugins.plugin_utils.ledger.package_index import Held
from ansible_collections.federated.flower.plugins.plugin_utils.programs import package_program

WANTED = requirements.parse(["numpy>=2", "pandas"])[0]


def packed(**packages: str) -> str:
    """A packed list."""
    return package_program.pack({"packages": packages, "environment": {"python_version": "3.13"}, "extras": {}})


def test_all_misfits_of_all_places_are_named() -> None:
    checked = Checked()
    places = [
        Place("ServerApp", Held("r/server:3", listed=packed(numpy="2.1", pandas="2.2"))),
        Place("site-a, pool cpu", Held("r/client:3", listed=packed(numpy="1.26.4"))),
        Place("site-b, pool cpu", Held("r/other:1", listed=packed(numpy="2.0", pandas="1.0"))),
    ]
    assert compare(places, WANTED, checked) == [
        "site-a, pool cpu, image r/client:3: numpy: >=2 is required, and 1.26.4 is installed",
        "site-a, pool cpu, image r/client:3: pandas: any version is required, and it is not installed",
    ]
    assert checked.places == ["ServerApp", "site-a, pool cpu", "site-b, pool cpu"] and not checked.warnings


def test_what_is_not_known_refuses_nothing_and_is_said() -> None:
    checked = Checked()
    places = [
        Place("ServerApp", Held("r/server:3")),
        Place("site-a, pool cpu", Held("r/client:3", why="exec is not granted there")),
        Place("site-b, pool cpu", Held("r/client:3", listed="###")),
        Place("site-c, pool cpu", Held("r/client:3", installs=True)),
    ]
    assert compare(places, WANTED, checked) == [] and checked.places == []
    (warning,) = checked.warnings
    for words in (
        "ServerApp: federated.flower.site",
        "site-a, pool cpu: exec is not granted",
        "site-b, pool cpu: its list",
    ):
        assert words in warning
    assert "site-c" not in warning


def test_extras_without_end_are_not_known() -> None:
    names = [f"p{number}" for number in range(3000)]
    extras = {one: {"x": [f"{other}[x]; extra == 'x'"]} for one, other in zip(names, names[1:])}
    text = package_program.pack({"packages": dict.fromkeys(names, "1"), "environment": {}, "extras": extras})
    checked = Checked()
    wanted = requirements.parse(["p0[x]"])[0]
    assert compare([Place("site-a, pool cpu", Held("r/client:3", listed=text))], wanted, checked) == []
    assert checked.places == [] and "cannot be read: maximum recursion" in checked.unknown[0]


def test_dependencies_that_cannot_be_read_are_named_before_anything_is_asked() -> None:
    app = App("me/demo", "1", {}, {}, dependencies=("numpy", "a b", ">=1"))
    with pytest.raises(FlowerError, match="'a b' is not a requirement.*'>=1' is not.*flower_run_packages_check=false"):
        needed_packages.declared(app)
    assert needed_packages.declared(App("me/demo", "1", {}, {})) == []


def test_without_dependencies_nothing_is_asked() -> None:
    nobody: Any = None
    assert needed_packages.require(nobody, App("me/demo", "1", {}, {}), []) == Checked()


def pod(name: str = "p-0", image_id: str = "sha256:1", revision: str = "r1", **state: Any) -> dict[str, Any]:
    """A pod with a SuperNode and a SuperExec."""
    status = [
        {"name": container, "imageID": image_id, "state": state or {"running": {}}}
        for container in ("supernode", "superexec")
    ]
    containers = [
        {"name": "supernode", "image": "r/node:1"},
        {"name": "superexec", "image": "r/app:1", "args": ["--x"]},
    ]
    labels = {"controller-revision-hash": revision}
    return {
        "metadata": {"name": name, "namespace": "flower", "labels": labels},
        "spec": {"containers": containers},
        "status": {"containerStatuses": status},
    }


def test_a_pod_with_the_known_image_is_not_asked() -> None:
    nobody: Any = None
    known = Held("r/app:1", "sha256:1", "r1", "list")
    assert image_packages.held(nobody, [pod()], ("superexec", "supernode"), known) == known


def test_only_a_running_pod_is_asked() -> None:
    nobody: Any = None
    leaving = pod()
    leaving["metadata"]["deletionTimestamp"] = "now"
    assert image_packages.held(nobody, [leaving, pod(waiting={"reason": "x"})], ("superexec",)) is None
    assert image_packages.held(nobody, [], ("superexec",)) is None


def test_what_apps_install_themselves_is_read_from_the_arguments() -> None:
    nobody: Any = None
    known = Held("r/app:1", "sha256:1", "r1", "list")
    one = pod()
    one["spec"]["containers"][1]["args"].append("--allow-runtime-dependency-installation")
    found = image_packages.held(nobody, [one], ("superexec",), known)
    assert found is not None and found.installs
    for args, installs in ((["--disable-runtime-dependency-installation"], False), ([], True)):
        one["spec"]["containers"] = [{"name": "superlink", "image": "r/app:1", "args": args}]
        one["status"]["containerStatuses"] = [{"name": "superlink", "imageID": "sha256:1", "state": {"running": {}}}]
        found = image_packages.held(nobody, [one], ("superlink",), known)
        assert found is not None and found.installs is installs


def test_a_pod_that_reports_its_packages_is_not_asked() -> None:
    nobody: Any = None
    one = pod()
    state = {"terminated": {"exitCode": 0, "message": "list-2"}}
    one["status"]["initContainerStatuses"] = [{"name": "sidecar"}, {"name": "packages", "state": state}]
    found = image_packages.held(nobody, [one], ("superexec", "supernode"))
    assert found == Held("r/app:1", "sha256:1", "r1", "list-2")


class Node:
    """Runs what is sent in its own process, and has one ConfigMap and some pods."""

    name = "hub"

    def __init__(self, *, may: bool = True, python: str = sys.executable, index: Any = None, pods: Any = ()) -> None:
        self.may, self.python, self.index, self.pods = may, python, index, list(pods)
        self.runs = 0

    def access_review(self, checks: list[dict[str, str]]) -> list[bool]:
        return [self.may for _check in checks]

    def exec(
        self,
        namespace: str,
        pod: str,
        container: str,
        command: list[str],
        *,
        stdin: bytes,
        timeout: float,
        on_stdout: Any,
        silence: Any,
    ) -> Any:
        self.runs += 1
        done = subprocess.run(
            [self.python, *command[1:]], input=stdin, capture_output=True, timeout=timeout, check=False
        )
        on_stdout(done.stdout)
        return SimpleNamespace(stdout=b"", stderr=done.stderr, rc=done.returncode)

    def list(self, version: str, kind: str, namespace: str, labels: str) -> list[dict[str, Any]]:
        assert self.may
        return self.pods if "=serverapp" in labels else []

    def get(self, version: str, kind: str, name: str, namespace: str) -> Any:
        if isinstance(self.index, Exception):
            raise self.index
        return self.index and {"metadata": {"name": name}, "data": {"ledger.json": json.dumps(self.index)}}


def test_a_pod_is_asked_once() -> None:
    node: Any = Node()
    found = image_packages.held(node, [pod()], ("superexec",))
    assert found is not None and "packaging" in package_list.unpack(found.listed).packages and not found.why
    assert image_packages.held(node, [pod()], ("superexec",), found) == found and node.runs == 1
    again = image_packages.held(node, [pod(revision="r2")], ("superexec",), found)
    assert again is not None and (again.listed, again.revision, node.runs) == (found.listed, "r2", 2)


def test_a_pod_that_may_not_be_asked_is_not_tried() -> None:
    node: Any = Node(may=False)
    found = image_packages.held(node, [pod()], ("superexec",))
    assert found is not None and not found.listed and "the right to exec" in found.why and node.runs == 0


def test_what_was_known_of_the_image_survives_a_failure() -> None:
    node: Any = Node(python="/bin/false")
    known = Held("r/app:1", "sha256:1", "r0", "list")
    found = image_packages.held(node, [pod()], ("superexec",), known)
    assert found is not None and (found.listed, found.revision, node.runs) == ("list", "r0", 1)
    found = image_packages.held(node, [pod(image_id="sha256:2")], ("superexec",), known)
    assert found is not None and not found.listed and "cannot list its packages" in found.why


RECORD = {
    "site": "a",
    "region": None,
    "retired": {},
    "keys": {"k": {"pool": "cpu", "name": "0", "node_id": "1", "public_key": "k"}},
}
APP = App("me/demo", "1", {}, {}, dependencies=("numpy>=2", "pandas"))


def cli(node: Any, *online: str) -> Any:
    """Flower's command line on a hub."""
    nodes = {one: {"status": "online"} for one in online} | {"9": {"status": "offline"}}
    return SimpleNamespace(cluster=node, namespace="flower", nodes=lambda: nodes, wait_for_superlink=lambda seconds: {})


def index(server: str, site: str) -> dict[str, Any]:
    """A record with two lists."""
    held = Held("r/app:1", "sha256:1", "r1", site)
    return package_index.updated({}, {"a": {"cpu": held}}, {"a": RECORD}, Held("r/server:1", "sha256:0", "r1", server))


GOOD, BAD = packed(numpy="2.1", pandas="2.2"), packed(numpy="1.26")


def test_a_run_is_refused_before_anything_is_submitted() -> None:
    with pytest.raises(FlowerError) as refused:
        needed_packages.require(cli(Node(index=index(GOOD, BAD)), "1"), APP, WANTED)
    assert refused.value.message.splitlines()[1:3] == [
        "  a, pool cpu, image r/app:1: numpy: >=2 is required, and 1.26 is installed",
        "  a, pool cpu, image r/app:1: pandas: any version is required, and it is not installed",
    ]
    assert "flower_run_packages_check=false" in refused.value.message


def test_supernodes_that_are_offline_do_not_count_and_unknown_ones_are_a_warning() -> None:
    checked = needed_packages.require(cli(Node(index=index(GOOD, BAD)), "7"), APP, WANTED)
    assert checked.places == ["ServerApp"] and "1 SuperNodes (7): federated.flower.site" in checked.warnings[0]
    checked = needed_packages.require(cli(Node(index=index(GOOD, GOOD)), "1"), APP, WANTED)
    assert checked.places == ["ServerApp", "a, pool cpu"] and not checked.warnings


def test_an_outdated_record_of_the_serverapp_refuses_nothing() -> None:
    node = Node(index=index(BAD, packed(packaging="26")), pods=[pod(image_id="sha256:3")])
    wanted = requirements.parse(["packaging"])[0]
    assert (
        needed_packages.require(cli(node, "1"), APP, wanted).places == ["ServerApp", "a, pool cpu"] and node.runs == 1
    )
    node.may = False
    with pytest.raises(FlowerError, match="ServerApp, image r/server:1: packaging"):
        needed_packages.require(cli(node, "1"), APP, wanted)


def test_a_record_that_is_missing_or_cannot_be_read_is_a_warning() -> None:
    denied = Forbidden("hub", "GET", 403, {})
    for node, words in (
        (Node(), "ServerApp: federated.flower.site records it"),
        (Node(index=denied), "federated.flower.rbac gives"),
        (Node(index={"sites": []}), "cannot be used"),
    ):
        checked = needed_packages.require(cli(node, "1"), APP, WANTED)
        assert not checked.places and words in checked.warnings[0]
