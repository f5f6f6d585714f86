# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Traefik's controller for the Gateway API on the hub, as a process in its namespaces (go/traefik/main.go says which parts of Traefik).

It listens on a port of the node, as a controller with host network does, and serves Gateways of the class ``traefik``. CustomResourceDefinitions
are the standard channel of the module ``sigs.k8s.io/gateway-api``, and of Traefik's own only that of IngressRouteTCP, which nothing serves here.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

from .. import golang
from ..binaries import TRAEFIK
from ..clusters.api import Api, ApiError, object_path
from ..clusters.lifecycle import commands_from, entering
from ..console import Console
from ..settings import Cluster, Settings, process_environment
from .base import until

PORT = 8443
CLASS = {
    "apiVersion": "gateway.networking.k8s.io/v1",
    "kind": "GatewayClass",
    "metadata": {"name": "traefik"},
    "spec": {"controllerName": "traefik.io/gateway-controller"},
}
GROUPS = ("gateway.networking.k8s.io", "traefik.io")
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def up(settings: Settings, console: Console, state: Path, hub: Cluster) -> None:
    """Build it if the cache has it not, apply the definitions, start it, wait until it has accepted its class."""
    go = golang.ensure(settings, console)
    with console.phase("Go build of Traefik") as phase:
        folder = TRAEFIK.make(settings, go, phase)
    api = Api(hub, state / hub.name / "pki")
    with console.phase("Traefik on the hub") as phase:
        for text in definitions(go):
            name = re.search(r"^  name: (\S+)$", text, re.M)
            assert name is not None
            api.apply_text(f"{DEFINITIONS}/{name[1]}", text)
        until(lambda: _has_class(api), "the API server does not serve GatewayClasses")
        if not _pids(settings):
            _start(folder / "traefik", state, hub)
        else:
            phase.note = "it runs already"
        until(lambda: _accepts(api), f"Traefik does not work, log: {_log(state, hub)}")


def down(settings: Settings, state: Path, hub: Cluster) -> None:
    """Stop it, and remove the definitions with all objects of their kinds."""
    for pid in _pids(settings):
        os.kill(pid, signal.SIGKILL)
    until(lambda: not _pids(settings), "Traefik does not end")
    api = Api(hub, state / hub.name / "pki")
    for item in api.request("GET", DEFINITIONS)["items"]:
        if item["spec"]["group"] in GROUPS:
            path = f"{DEFINITIONS}/{item['metadata']['name']}"
            api.delete(path)
            until(lambda path=path: api.get(path) is None, f"{path} is not deleted")


def definitions(go: golang.Go) -> list[str]:
    """The CustomResourceDefinitions in YAML."""
    gateway = golang.module_folder(go, TRAEFIK.source, "sigs.k8s.io/gateway-api") / "config/crd/standard"
    own = golang.module_folder(go, TRAEFIK.source, "github.com/traefik/traefik/v3") / "docs/content/reference/dynamic-configuration"
    files = [*sorted(gateway.glob(f"{GROUPS[0]}_*s.yaml")), own / "traefik.io_ingressroutetcps.yaml"]
    return [text for path in files if "\nkind: CustomResourceDefinition\n" in (text := path.read_text())]


def _log(state: Path, hub: Cluster) -> Path:
    return state / hub.name / "log/traefik.log"


def _pids(settings: Settings) -> list[int]:
    return commands_from(settings.cache / "bin" / f"{TRAEFIK.name}-")


def _start(program: Path, state: Path, hub: Cluster) -> None:
    with _log(state, hub).open("a") as log:
        subprocess.Popen(
            [*entering(state, hub), str(program), str(PORT), hub.address],
            env={**process_environment(), "KUBECONFIG": str(state / hub.name / "pki/admin.kubeconfig")},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd="/",
            start_new_session=True,
        )


def _has_class(api: Api) -> bool:
    try:
        return bool(api.apply(CLASS))
    except ApiError as error:
        if error.status == 404:  # the definition is not served yet
            return False
        raise


def _accepts(api: Api) -> bool:
    conditions = (api.get(object_path(CLASS)) or {}).get("status", {}).get("conditions", [])
    return any(one["type"] == "Accepted" and one["status"] == "True" for one in conditions)
