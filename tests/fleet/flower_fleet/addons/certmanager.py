# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""cert-manager's own controller for the hub, as a process in its namespaces.

Its release 1.11 is the last whose programs are part of a Go module. Its webhook is left out on purpose: it refuses
certificates that live for less than an hour, and a test cannot wait that long. Without it the API server checks objects
against the schemas alone, which are the same.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

from .. import golang
from ..binaries import CERT_MANAGER
from ..clusters.api import Api, ApiError, object_path
from ..clusters.lifecycle import commands_from, entering
from ..console import Console
from ..settings import Cluster, Settings, process_environment
from .base import until

MODULE = "github.com/cert-manager/cert-manager"
SPACE = "cert-manager"
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}}
# Its being ready shows that the controller works.
SELF_SIGNED = {
    "apiVersion": "cert-manager.io/v1",
    "kind": "ClusterIssuer",
    "metadata": {"name": "fleet-self-signed"},
    "spec": {"selfSigned": {}},
}
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def up(settings: Settings, console: Console, state: Path, hub: Cluster) -> None:
    """Build it if the cache has it not, apply its definitions, start it, wait until it works."""
    go = golang.ensure(settings, console)
    with console.phase("Go build of cert-manager") as phase:
        folder = CERT_MANAGER.make(settings, go, phase)
    api = Api(hub, state / hub.name / "pki")
    with console.phase("cert-manager on the hub") as phase:
        for text in definitions(go):
            name = re.search(r"^  name: (\S+)$", text, re.M)
            assert name is not None
            api.apply_text(f"{DEFINITIONS}/{name[1]}", text)
        api.apply(NAMESPACE)
        if not _pids(settings):
            _start(folder / "controller", state, hub)
        else:
            phase.note = "it runs already"
        until(lambda: _ready(api), f"cert-manager does not work, log: {_log(state, hub)}")


def down(settings: Settings, state: Path, hub: Cluster) -> None:
    """Stop it, and remove all that it brought; Secrets with certificates stay where they are."""
    for pid in _pids(settings):
        os.kill(pid, signal.SIGKILL)
    until(lambda: not _pids(settings), "cert-manager's controller does not end")
    api = Api(hub, state / hub.name / "pki")
    found = api.request("GET", DEFINITIONS)["items"]
    names = [item["metadata"]["name"] for item in found if item["spec"]["group"].endswith("cert-manager.io")]
    for path in (*(f"{DEFINITIONS}/{name}" for name in names), object_path(NAMESPACE)):
        api.delete(path)
        until(lambda path=path: api.get(path) is None, f"{path} is not deleted")


def definitions(go: golang.Go) -> list[str]:
    """cert-manager's CustomResourceDefinitions in YAML, without the lines that are for Helm."""
    folder = golang.module_folder(go, CERT_MANAGER.source, MODULE)
    files = sorted((folder / "deploy/crds").glob("crd-*.yaml"))
    return ["".join(line for line in path.read_text().splitlines(True) if "{{" not in line) for path in files]


def _log(state: Path, hub: Cluster) -> Path:
    return state / hub.name / "log/cert-manager.log"


def _pids(settings: Settings) -> list[int]:
    return commands_from(settings.cache / "bin" / f"{CERT_MANAGER.name}-")


def _start(program: Path, state: Path, hub: Cluster) -> None:
    command = [
        str(program),
        f"--kubeconfig={state / hub.name / 'pki/admin.kubeconfig'}",
        "--leader-elect=false",
        f"--cluster-resource-namespace={SPACE}",
        "--metrics-listen-address=127.0.0.1:9402",
    ]
    with _log(state, hub).open("a") as log:
        subprocess.Popen(
            [*entering(state, hub), *command],
            env=process_environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd="/",
            start_new_session=True,
        )


def _ready(api: Api) -> bool:
    try:
        api.apply(SELF_SIGNED)
        conditions = (api.get(object_path(SELF_SIGNED)) or {}).get("status", {}).get("conditions", [])
    except ApiError as error:
        if error.status == 404:  # the definition is not served yet
            return False
        raise
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
