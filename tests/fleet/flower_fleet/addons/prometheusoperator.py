# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""The Prometheus operator on the hub, as a process in its namespaces, with those of its CustomResourceDefinitions that Prometheus and its alerts need.

It runs for what it writes: the configuration of a Prometheus. The pods of a Prometheus need images that there are none of here.
"""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from .. import golang
from ..binaries import PROMETHEUS_OPERATOR
from ..clusters.api import Api
from ..clusters.lifecycle import commands_from, entering
from ..console import Console
from ..settings import Cluster, Settings, process_environment
from .base import until

MODULE = "github.com/prometheus-operator/prometheus-operator"
GROUP = "monitoring.coreos.com"
KINDS = ("podmonitors", "probes", "prometheuses", "prometheusrules", "servicemonitors")
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def up(settings: Settings, console: Console, state: Path, hub: Cluster) -> None:
    """Build it if the cache has it not, apply the definitions, and start it when the API server serves them: it looks for them once."""
    go = golang.ensure(settings, console)
    with console.phase("Go build of the Prometheus operator") as phase:
        folder = PROMETHEUS_OPERATOR.make(settings, go, phase)
    api = Api(hub, state / hub.name / "pki")
    with console.phase("the Prometheus operator on the hub") as phase:
        for kind, text in definitions(go).items():
            api.apply_text(f"{DEFINITIONS}/{kind}.{GROUP}", text)
        for kind in KINDS:
            until(lambda kind=kind: api.get(f"/apis/{GROUP}/v1/{kind}") is not None, f"the API server does not serve {kind}")
        if _pids(settings):
            phase.note = "it runs already"
            return
        _start(folder / "operator", state, hub)
        log = _log(state, hub)
        until(lambda: "successfully synced all caches" in log.read_text(), f"the Prometheus operator does not work, log: {log}")


def down(settings: Settings, state: Path, hub: Cluster) -> None:
    """Stop it, and remove the definitions with all objects of their kinds."""
    for pid in _pids(settings):
        os.kill(pid, signal.SIGKILL)
    until(lambda: not _pids(settings), "the Prometheus operator does not end")
    api = Api(hub, state / hub.name / "pki")
    for kind in KINDS:
        path = f"{DEFINITIONS}/{kind}.{GROUP}"
        api.delete(path)
        until(lambda path=path: api.get(path) is None, f"{path} is not deleted")


def definitions(go: golang.Go) -> dict[str, str]:
    """Kind -> its CustomResourceDefinition in YAML."""
    folder = golang.module_folder(go, PROMETHEUS_OPERATOR.source, MODULE) / "example/prometheus-operator-crd"
    return {kind: (folder / f"{GROUP}_{kind}.yaml").read_text() for kind in KINDS}


def _log(state: Path, hub: Cluster) -> Path:
    return state / hub.name / "log/prometheus-operator.log"


def _pids(settings: Settings) -> list[int]:
    return commands_from(settings.cache / "bin" / f"{PROMETHEUS_OPERATOR.name}-")


def _start(program: Path, state: Path, hub: Cluster) -> None:
    with _log(state, hub).open("w") as log:
        subprocess.Popen(
            [*entering(state, hub), str(program), "--web.listen-address=127.0.0.1:9403"],
            env={**process_environment(), "KUBECONFIG": str(state / hub.name / "pki/admin.kubeconfig")},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd="/",
            start_new_session=True,
        )
