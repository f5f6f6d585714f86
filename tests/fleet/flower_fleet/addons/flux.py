# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Flux's source-controller and kustomize-controller on the hub, and a Git server with an empty repository, as processes in its namespaces.

Their flags are those of Flux's own Deployments, without leader election and notifications. They have the rights of the hub's administrator, as Flux's
own ClusterRoleBinding gives them. The Git server (go/flux/git-server) takes every push.
"""

from __future__ import annotations

import http.client
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .. import golang
from ..binaries import FLUX
from ..clusters.api import Api, object_path
from ..clusters.lifecycle import commands_from, entering
from ..console import Console
from ..settings import Cluster, Settings, process_environment
from ..shell import run
from .base import until

SPACE = "flux-system"
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}}
CONTROLLERS = ("source-controller", "kustomize-controller")
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GIT_PORT, SOURCE_HEALTH, KUSTOMIZE_HEALTH = 8418, 9440, 9441
ARTIFACTS = "127.0.0.1:9790"


def up(settings: Settings, console: Console, state: Path, hub: Cluster) -> None:
    """Build it if the cache has it not, apply the definitions, make the repository, start all, wait until they answer."""
    go = golang.ensure(settings, console)
    with console.phase("Go build of Flux") as phase:
        programs = FLUX.make(settings, go, phase)
    api = Api(hub, state / hub.name / "pki")
    with console.phase("Flux on the hub") as phase:
        for text in definitions(go):
            name = re.search(r"^  name: (\S+)$", text, re.M)
            assert name is not None
            api.apply_text(f"{DEFINITIONS}/{name[1]}", text)
        api.apply(NAMESPACE)
        until(lambda: all(api.get(_objects(item)) for item in _served(api)), "the API server does not serve Flux's kinds")
        if not _pids(settings):
            _start(programs, state, hub)
        for port, path in ((GIT_PORT, "/fleet.git/HEAD"), (SOURCE_HEALTH, "/readyz"), (KUSTOMIZE_HEALTH, "/readyz")):
            until(lambda port=port, path=path: _answers(hub, port, path), f"Flux does not work, logs: {state / hub.name / 'log'}")
        phase.note = f"http://{hub.address}:{GIT_PORT}/fleet.git"


def down(settings: Settings, state: Path, hub: Cluster) -> None:
    """Stop it, and remove its definitions with all objects of their kinds. What it has applied stays, whatever C(prune) says."""
    for pid in _pids(settings):
        os.kill(pid, signal.SIGKILL)
    until(lambda: not _pids(settings), "Flux does not end")
    api = Api(hub, state / hub.name / "pki")
    found = _served(api)
    for item in found:
        for one in api.request("GET", _objects(item))["items"]:
            path = f"/apis/{one['apiVersion']}/namespaces/{one['metadata']['namespace']}/{item['spec']['names']['plural']}/{one['metadata']['name']}"
            api.patch(path, {"metadata": {"finalizers": None}})
    for path in (*(f"{DEFINITIONS}/{item['metadata']['name']}" for item in found), object_path(NAMESPACE)):
        api.delete(path)
        until(lambda path=path: api.get(path) is None, f"{path} is not deleted")
    shutil.rmtree(state / hub.name / "flux", ignore_errors=True)


def definitions(go: golang.Go) -> list[str]:
    """The CustomResourceDefinitions of both controllers in YAML."""
    folders = [golang.module_folder(go, FLUX.source, f"github.com/fluxcd/{name}") / "config/crd/bases" for name in CONTROLLERS]
    return [path.read_text() for folder in folders for path in sorted(folder.glob("*.yaml"))]


def _served(api: Api) -> list[Mapping[str, Any]]:
    return [item for item in api.request("GET", DEFINITIONS)["items"] if item["spec"]["group"].endswith(".toolkit.fluxcd.io")]


def _objects(item: Mapping[str, Any]) -> str:
    """Path of all objects of a definition."""
    version = next(one["name"] for one in item["spec"]["versions"] if one["storage"])
    return f"/apis/{item['spec']['group']}/{version}/{item['spec']['names']['plural']}"


def _pids(settings: Settings) -> list[int]:
    return commands_from(settings.cache / "bin" / f"{FLUX.name}-")


def _start(programs: Path, state: Path, hub: Cluster) -> None:
    folder = state / hub.name / "flux"
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("artifacts", "git", "tmp"):
        (folder / name).mkdir(parents=True)
    run(["git", "init", "--quiet", "--bare", "--initial-branch=main", str(folder / "git/fleet.git")])
    common = ["--watch-all-namespaces", "--metrics-addr=0", "--log-level=info"]
    storage = [f"--storage-path={folder / 'artifacts'}", f"--storage-addr={ARTIFACTS}", f"--storage-adv-addr={ARTIFACTS}"]
    commands = {
        "git-server": [f"{hub.address}:{GIT_PORT}", str(folder / "git")],
        "source-controller": [*common, *storage, f"--health-addr={hub.address}:{SOURCE_HEALTH}"],
        "kustomize-controller": [*common, f"--health-addr={hub.address}:{KUSTOMIZE_HEALTH}"],
    }
    environment = {
        **process_environment(),
        "KUBECONFIG": str(state / hub.name / "pki/admin.kubeconfig"),
        "RUNTIME_NAMESPACE": SPACE,
        "TMPDIR": str(folder / "tmp"),
    }
    for name, arguments in commands.items():
        with (state / hub.name / f"log/flux-{name}.log").open("a") as log:
            subprocess.Popen(
                [*entering(state, hub), str(programs / name), *arguments],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd="/",
                start_new_session=True,
            )


def _answers(hub: Cluster, port: int, path: str) -> bool:
    connection = http.client.HTTPConnection(hub.address, port, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
