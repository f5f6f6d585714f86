# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run a module of the collection with the Python of a container.

Images of Flower have Python, and nothing else is needed there. Program and request are sent on standard input: in the command
line they would be part of a URL, which proxies limit to 8 KiB and audit logs repeat.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from ..base.errors import ClusterError
from ..kube.client import Cluster

#: Printed when a program has succeeded. Occasionally a node whose CPU is busy reports the end of a command and drops what
#: it printed; then this line is missing, too.
COMPLETE = "."
LOADER = (
    "import json, sys; exec(compile(json.loads(sys.stdin.readline()), 'pod_program', 'exec')); "
    f"print('{COMPLETE}', flush=True)"
)
_ATTEMPTS = 3


@dataclass(frozen=True)
class Output:
    """The result of a program.

    Attributes:
        answers: the lines that it printed.
        rc: its exit code.
        said: the end of its standard error, or a text for none.
    """

    answers: list[str]
    rc: int
    said: str


def run(
    cluster: Cluster,
    namespace: str,
    pod: str,
    container: str,
    program: ModuleType,
    request: Mapping[str, Any],
    *,
    seconds: float,
) -> Output:
    """Send a module that reads a request, one line of JSON, and prints answers, each a line.

    When it succeeded but its answers were lost, it is sent once more: a request must have the same effect when it is
    repeated.

    Args:
        cluster: a connection to its cluster.
        namespace: of the pod.
        pod: its name.
        container: the one to run it in.
        program: the module; it may import nothing that the container has not.
        request: its task.
        seconds: time limit of each time that it runs.

    Raises:
        ClusterError: the program could not be started, the connection broke, or the answers were lost again and again.
    """
    lines = (json.dumps(inspect.getsource(program)), json.dumps(request), "")
    for _attempt in range(_ATTEMPTS):
        result = cluster.exec(
            namespace, pod, container, ["python", "-c", LOADER], stdin="\n".join(lines).encode(), timeout=seconds
        )
        answers = [line for line in result.stdout.decode("utf-8", "replace").splitlines() if line.strip()]
        said = result.stderr.decode("utf-8", "replace").strip()[-2000:] or "it said nothing"
        if result.rc:
            return Output(answers, result.rc, said)
        if answers and answers[-1] == COMPLETE:
            return Output(answers[:-1], 0, said)
    raise ClusterError(
        f"{cluster.name}: a program in pod {namespace}/{pod} ({container}) succeeded {_ATTEMPTS} times, but its answers did not "
        f"arrive completely; last seen: {len(answers)} lines of output, and {said}. Check the node's container runtime."
    )
