# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""An MLflow server for the hub: the package ``mlflow`` of the Python index (requirements/mlflow.txt), with its own user accounts, as
a process in the hub's namespaces. Pods of the hub and the machine reach it at the node's address.
"""

from __future__ import annotations

import http.client
import os
import secrets
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from ..clusters.lifecycle import commands_from, entering
from ..console import Console
from ..settings import HERE, Cluster, Settings, process_environment
from ..shell import run
from .base import until

ENVIRONMENT = HERE.parents[2] / "tools/environment.py"
PORT = 5000
USER = "fleet"
ACCOUNTS = """\
[mlflow]
default_permission = READ
database_uri = sqlite:///{folder}/accounts.db
admin_username = {user}
admin_password = {password}
"""


def up(settings: Settings, console: Console, state: Path, hub: Cluster) -> None:
    """Install it if the cache has it not, start it with an empty store, wait until it answers."""
    with console.phase("Python packages of MLflow"):
        python = run([sys.executable, ENVIRONMENT, "mlflow"], contained=True).stdout.strip()
    folder = state / hub.name / "mlflow"
    with console.phase("MLflow on the hub") as phase:
        if not _pids(settings):
            _start(python, folder, state, hub)
        until(lambda: _answers(hub), f"MLflow does not answer, log: {_log(state, hub)}")
        phase.note = f"{_url(hub)}, user {USER}, password: {folder / 'password'}"


def down(settings: Settings, state: Path, hub: Cluster) -> None:
    """Stop it, and remove what it has stored."""
    for pid in _pids(settings):
        os.kill(pid, signal.SIGKILL)
    until(lambda: not _pids(settings), "MLflow does not end")
    folder = state / hub.name / "mlflow"
    if folder.exists():
        shutil.rmtree(folder)


def _url(hub: Cluster) -> str:
    return f"http://{hub.address}:{PORT}"


def _log(state: Path, hub: Cluster) -> Path:
    return state / hub.name / "log/mlflow.log"


def _pids(settings: Settings) -> list[int]:
    return commands_from(settings.cache.parent / "federated-flower/mlflow-")


def _start(python: str, folder: Path, state: Path, hub: Cluster) -> None:
    from ..clusters import pki  # needs cryptography, which ``up`` installs if it is missing

    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir()
    password = secrets.token_urlsafe(24)
    pki.write_private(folder / "password", password.encode())
    accounts = ACCOUNTS.format(folder=folder, user=USER, password=password)
    pki.write_private(folder / "accounts.ini", accounts.encode())
    command = [python, "-m", "mlflow", "server", "--app-name=basic-auth", "--host=0.0.0.0", f"--port={PORT}"]
    command += ["--workers=1", f"--backend-store-uri=sqlite:///{folder}/mlflow.db"]
    command += [f"--artifacts-destination={folder}/artifacts"]
    environment = {
        **process_environment(),
        "PYTHONPATH": "",
        "MLFLOW_AUTH_CONFIG_PATH": str(folder / "accounts.ini"),
        "MLFLOW_FLASK_SERVER_SECRET_KEY": secrets.token_urlsafe(24),
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        "MLFLOW_DISABLE_TELEMETRY": "true",
    }
    with _log(state, hub).open("a") as log:
        subprocess.Popen(
            [*entering(state, hub), *command],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd="/",
            start_new_session=True,
        )


def _answers(hub: Cluster) -> bool:
    connection = http.client.HTTPConnection(hub.address, PORT, timeout=5)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
