# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run a module of C(programs) with the Python of a container.

Images of Flower have Python, and nothing else is needed there. Program and request are sent on standard input: in the command
line they would be part of a URL, which proxies limit to 8 KiB and audit logs repeat.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from ..base import foreign_data
from ..base.errors import ClusterError
from ..base.foreign_data import Lines
from ..kube.client import Cluster

#: Printed when a program has succeeded. Occasionally a node whose CPU is busy reports the end of a command and drops what
#: it printed; then this line is missing, too.
COMPLETE = "."
# The text layer of standard input would read ahead, into what follows the request.
LOADER = (
    "import json, sys; exec(compile(json.loads(sys.stdin.buffer.readline()), 'pod_program', 'exec')); "
    f"print('{COMPLETE}', flush=True)"
)
_ATTEMPTS = 3
_MOST = 2 * foreign_data.MOST  # bytes of all answers of a program
_BREAK = " | "


@dataclass(frozen=True)
class Output:
    """The result of a program.

    Attributes:
        answers: the lines that it printed.
        rc: its exit code.
        stderr: the end of its standard error in one line, or a text for none.
        where: its cluster and pod.
    """

    answers: list[str]
    rc: int
    stderr: str
    where: str = ""

    @property
    def last(self) -> str:
        """The last line of its standard error."""
        return self.stderr.rpartition(_BREAK)[2]

    def objects(self, count: int | None = None) -> list[dict[str, Any]]:
        """Its answers, each an object of JSON; so many, if that is given.

        Raises:
            ClusterError: it failed, or did not give such answers. The container may have another Python, or someone has changed it.
        """
        if self.rc:
            raise ClusterError(f"{self.where}: a program ended with code {self.rc}: {self.stderr}")
        with contextlib.suppress(ValueError):
            found = list(map(foreign_data.read_json, self.answers))
            if all(isinstance(one, dict) for one in found) and count in (None, len(found)):
                return found
        raise ClusterError(f"{self.where}: a program returned an invalid answer, or an unexpected number of answers. Find out who changed the container.")

    def object(self) -> dict[str, Any]:
        """Its only answer. Raises as C(objects)."""
        return self.objects(1)[0]


def is_running(pod: Mapping[str, Any] | None, container: str) -> bool:
    """Whether a container runs, in a pod that is not being deleted."""
    if pod is None or pod["metadata"].get("deletionTimestamp"):
        return False
    listed = (pod.get("status") or {}).get("containerStatuses") or []
    return any(one["name"] == container and "running" in (one.get("state") or {}) for one in listed)


def may_run(cluster: Cluster, namespace: str, pod: str) -> bool:
    """Whether the identity may run a program in a pod; a request that is refused would stand in audit logs."""
    exec_right = {"verb": "get", "resource": "pods", "subresource": "exec", "namespace": namespace, "name": pod}
    return all(cluster.access_review([exec_right]))


def run(
    cluster: Cluster,
    namespace: str,
    pod: str,
    container: str,
    program: ModuleType,
    request: Mapping[str, Any],
    *,
    seconds: float,
    data: bytes = b"",
    silence: float | None = None,
    on_output: Callable[[], None] | None = None,
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
        data: what follows the request on standard input, for programs that read it from C(sys.stdin.buffer).
        silence: seconds without output after which the connection is considered lost, for programs that show that they are alive.
        on_output: called when there was output, also when it was only such a sign.

    Raises:
        ClusterError: the program could not be started, the connection broke, or the answers were lost again and again.
    """
    where = f"{cluster.name}: pod {namespace}/{pod} ({container})"
    for _attempt in range(_ATTEMPTS):
        answers: list[str] = []
        receive = _collector(answers, on_output)
        rc, errors = send(cluster, namespace, pod, container, program, request, receive, seconds=seconds, silence=silence, data=data)
        if rc or answers[-1:] == [COMPLETE]:
            return Output(answers if rc else answers[:-1], rc, errors, where)
    raise ClusterError(
        f"{cluster.name}: a program in pod {namespace}/{pod} ({container}) succeeded {_ATTEMPTS} times, but its answers did not "
        f"arrive completely; last seen: {len(answers)} lines of output, and {errors}. Check the node's container runtime."
    )


def _collector(answers: list[str], on_output: Callable[[], None] | None) -> Callable[[bytes], None]:
    """A function that takes pieces of output and adds their whole lines to the answers."""
    lines = Lines(_MOST)

    def receive(piece: bytes) -> None:
        answers.extend(line.rstrip("\r") for line in lines.feed(piece) if line.strip())
        if on_output is not None:
            on_output()

    return receive


def send(
    cluster: Cluster,
    namespace: str,
    pod: str,
    container: str,
    program: ModuleType,
    request: Mapping[str, Any],
    on_stdout: Callable[[bytes], None],
    *,
    seconds: float,
    silence: float | None = None,
    data: bytes = b"",
) -> tuple[int, str]:
    """Send a module as C(run) does, once. C(on_stdout) receives what it prints, as soon as it is there; what was lost is for the caller to notice.

    Returns:
        Its exit code, and the end of its standard error in one line, or a text for none.

    Raises:
        ClusterError: the program could not be started, or the connection broke.
    """
    text = Path(str(program.__file__)).read_text(encoding="utf-8")
    stdin = "\n".join((json.dumps(text), json.dumps(request), "")).encode() + data
    result = cluster.exec(namespace, pod, container, ["python", "-c", LOADER], stdin=stdin, timeout=seconds, on_stdout=on_stdout, silence=silence)
    lines = result.stderr.decode("utf-8", "replace").strip()[-2000:].splitlines()
    return result.rc, _BREAK.join(filter(None, map(foreign_data.cleaned, lines))) or "no error output"
