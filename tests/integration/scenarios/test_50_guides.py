# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands of README.md and of the guides for operators and data scientists, run in a shell as they are on the pages, in their order.

The federation is that of the pages, in the namespaces C(flower) and C(flower-ca). The tests build on each other.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import NotFound
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster, connect
from ansible_collections.federated.flower.tests.integration.scenarios import guide_commands
from ansible_collections.federated.flower.tests.integration.scenarios.guide_commands import LAST, SERIES, Command

CONTEXTS = ("hub", "site-a", "site-b")
NAMESPACES = ("flower", "flower-ca")
LIMIT = 600  # seconds for a command


class Shell:
    """A shell in a folder that has what the pages assume."""

    def __init__(self, folder: Path, kubeconfig: Path, clusters: list[Cluster]) -> None:
        guide_commands.prepare(folder, kubeconfig)
        self.folder, self.clusters = folder, clusters
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "K8S_AUTH_", "FLOWER_"))}
        places = {"HOME": str(folder), "KUBECONFIG": str(kubeconfig), "ANSIBLE_COLLECTIONS_PATH": os.environ["ANSIBLE_COLLECTIONS_PATH"]}
        self.environment = {**kept, **places}
        self.done: dict[str, tuple[int, str]] = {}  # command -> exit code and output
        self.run_id = ""  # of the last run that completed

    def run(self, command: str) -> tuple[int, str]:
        """Run a command with the reader's own run id, if it was not run before."""
        if command not in self.done:
            own = re.sub(r"\b\d{15,20}\b", lambda found: self.run_id or found[0], command)
            process = subprocess.Popen(
                ["bash", "-c", own], cwd=self.folder, env=self.environment, text=True, start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
            try:
                printed = process.communicate(timeout=LIMIT)[0]
            finally:
                with suppress(ProcessLookupError):  # it has ended
                    os.killpg(process.pid, signal.SIGKILL)
            self.done[command] = process.returncode, printed
            for run_id in re.findall(r"\brun (\d+) of \S+ completed\b", printed):
                self.run_id = run_id
        return self.done[command]

    def fault(self, command: Command) -> str:
        """What is wrong with a command of a page, with its output; nothing if it does what the page says."""
        code, printed = self.run(command.text)
        is_refused = any(line.strip().startswith("fatal:") for line in command.output)
        if bool(code) != is_refused:
            wrong = f"exit code {code}"
        elif lines := guide_commands.not_shown(command, printed):
            wrong = "\n".join(["the page has other output:", *lines])
        else:
            return ""
        return f"{command.block}: {command.text}\n{wrong}\nOutput:\n{printed[-4000:]}"


def existing(clusters: list[Cluster]) -> list[tuple[Cluster, str]]:
    """The namespaces of the federation that exist."""
    return [(cluster, name) for cluster in clusters for name in NAMESPACES if cluster.get("v1", "Namespace", name) is not None]


def clear(clusters: list[Cluster]) -> None:
    """Delete the namespaces of the federation."""
    for cluster, name in existing(clusters):
        with suppress(NotFound):
            cluster.delete("v1", "Namespace", name, propagation="Background")
    deadline = time.monotonic() + 180
    while existing(clusters):
        assert time.monotonic() < deadline, f"these namespaces still exist: {existing(clusters)}"
        time.sleep(1)


@pytest.fixture(scope="module")
def shell(fleet_kubeconfig: Path, local_fleet: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A shell for the clusters, which have no federation before and after."""
    clusters = [connect({"kubeconfig": str(fleet_kubeconfig), "context": context}) for context in CONTEXTS]
    if not local_fleet.is_used and existing(clusters):
        pytest.skip("these clusters have a federation in the namespace flower, which this test would delete")
    clear(clusters)
    yield Shell(tmp_path_factory.mktemp("guides"), fleet_kubeconfig, clusters)
    clear(clusters)


@pytest.mark.parametrize("page", [page for page in SERIES if guide_commands.to_run(page)], ids=lambda page: Path(page).stem)
def test_the_commands_of_a_page(shell: Shell, page: str) -> None:
    faults = [shell.fault(command) for command in guide_commands.to_run(page) if LAST not in command.text]
    assert not any(faults), "\n\n".join(filter(None, faults))


def test_the_federation_is_removed(shell: Shell) -> None:
    faults = [shell.fault(command) for page in SERIES for command in guide_commands.to_run(page) if LAST in command.text]
    assert faults and not any(faults), "\n\n".join(faults)
    assert not [one["metadata"]["name"] for cluster in shell.clusters for one in cluster.list("apps/v1", "StatefulSet", "flower")]
