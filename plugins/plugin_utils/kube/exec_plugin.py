# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the credential plugin of a kubeconfig, with a time limit.

The C(kubernetes) package reads the entry; its own runner waits without a limit, so that one plugin that asks for a password or
waits for a browser would stop a whole play.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from typing import Any

from ..base.foreign_data import cleaned
from .api_errors import AuthError

LIMIT = 60.0  # seconds; a token from a cloud takes some 2 s, on a busy machine 10
_CLUSTER_EXTENSION = "client.authentication.k8s.io/exec"


def show(text: str) -> None:
    """Show what only those see who ask for it. Actions put their own in its place."""


def run(provider: Any) -> dict[str, Any]:
    """The C(status) of the ExecCredential that a plugin prints.

    Args:
        provider: the package's C(ExecProvider).

    Raises:
        AuthError: it does not end within C(LIMIT) and is killed with all processes of its group, fails, or prints
            something else. What it printed is not shown.
        OSError: it cannot be started.
    """
    with subprocess.Popen(
        provider.args,
        stdin=subprocess.DEVNULL,  # it cannot be answered
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=provider.cwd,
        env={**provider.env, "KUBERNETES_EXEC_INFO": json.dumps(_exec_info(provider))},
        start_new_session=True,
    ) as process:
        try:
            output, messages = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            _kill_group(process)
            raise AuthError(
                f"it returned nothing within {LIMIT:g} s and was stopped. Run it manually to see whether it waits for a login, "
                "a password or the network."
            ) from None
        except BaseException:
            _kill_group(process)
            raise
    if process.returncode:
        show(f"{provider.args[0]}: {cleaned(messages.decode('utf-8', 'replace'), 500)}")
        raise AuthError(f"it ended with code {process.returncode}. Its messages may have credentials: -vvv shows them")
    return _status(output, provider.api_version)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """End a plugin and what it started. It is the leader of its own session, so its id is that of the group."""
    os.killpg(process.pid, signal.SIGKILL)
    for pipe in (process.stdout, process.stderr):
        if pipe:
            pipe.close()  # a process that left the group may keep the other end open


def _exec_info(provider: Any) -> dict[str, Any]:
    """What a plugin receives (Kubernetes documentation, "client-go credential plugins")."""
    spec: dict[str, Any] = {"interactive": False}
    if known := getattr(provider, "cluster", None):  # kubernetes < 32 does not have it
        cluster = dict(known.value)
        for extension in cluster.get("extensions") or []:
            if extension.get("name") == _CLUSTER_EXTENSION:
                cluster["config"] = extension.get("extension")
                break
        spec["cluster"] = cluster
    return {"apiVersion": provider.api_version, "kind": "ExecCredential", "spec": spec}


def _status(output: bytes, api_version: str) -> dict[str, Any]:
    try:
        data = json.loads(output)
    except ValueError:
        raise AuthError("it did not print JSON") from None
    if not isinstance(data, dict) or not isinstance(data.get("status"), dict):
        raise AuthError("it did not print an ExecCredential with a status")
    if data.get("apiVersion") != api_version:
        raise AuthError(f"it printed an ExecCredential of another version than {api_version}")
    return data["status"]
