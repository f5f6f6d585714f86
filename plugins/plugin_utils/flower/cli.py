# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Flower's command line, reached by exec in the SuperLink pod.

The control node therefore needs no flwr of the right version, and access is controlled by Kubernetes RBAC. Answers are
judged by their C(success) field: C(flwr … --format json) exits with 0 when it failed (flwr 1.41).
"""

from __future__ import annotations

import base64
import datetime
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..base import formats
from ..base.errors import ClusterError
from ..base.object_names import SUPERLINK, SUPERLINK_POD
from ..kube.api_errors import Unavailable, Unreachable
from ..kube.client import Cluster
from ..kube.stuck_pods import Patience, refusal
from ..programs import pod_program
from . import in_pod

CONTAINER = SUPERLINK
CONNECTION = "hub"  # name of the connection in the pod's config.toml
# Seconds of one wait for SuperNodes. Nothing is sent meanwhile, and proxies and load balancers before API servers often close a connection
# that is idle for 30 to 60 s. Each wait takes 0.65 s of the pod's CPU.
_SLICE = 20.0
_CHECK_PAUSE = 3.0  # seconds between two looks at why a pod does not start
_UNANSWERED = 60.0  # seconds after which an API server that does not answer is no longer waited for
# Seconds for which a SuperNode counts as online after its last call. It calls every 30 s (flwr 1.40 to 1.42, HEARTBEAT_PATIENCE 2).
_REMEMBERED = 60.0
#: More runs than any SuperLink has.
ALL_RUNS = 10**9
#: Seconds for a list of them: the SuperLink has 30 to answer, and to read the answer takes as long.
LISTING_SECONDS = 120.0


def listing(most: int = ALL_RUNS) -> list[str]:
    """Arguments of C(flwr list) for the newest runs, C(most) at most; without a number, it lists 20 (flwr 1.40 to 1.42, C(control_handlers.list_runs)).

    Each takes about 4 ms (3000 runs took 11 s): the SuperLink cleans up after every run in the list that has ended. A
    run that is active may be older than any number of others.
    """
    return ["list", "--limit", str(most)]


class FlowerError(ClusterError):
    """Flower refused something, or could not be called. The text has the operation, the place and the remedy."""


@dataclass(frozen=True)
class Answer:
    """The result of one C(flwr) command.

    Attributes:
        ok: whether it succeeded.
        data: the JSON it printed, or an empty dict.
        message: its error message.
        text: what it printed when that is not JSON.
    """

    ok: bool
    data: dict[str, Any]
    message: str
    text: str = ""


def read_answer(answer: Mapping[str, Any]) -> Answer:
    """Read C(rc) and C(out) of one command."""
    out = answer["out"]
    if isinstance(out, dict):
        return Answer(bool(out.get("success")), out, str(out.get("error-message") or "")[-10_000:])
    text = str(out).strip()
    return Answer(False, {}, (text or f"no output, exit code {answer['rc']}")[-2000:], text)


class FlowerCLI:
    """The C(flwr) command of one SuperLink."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self.cluster = cluster
        self.namespace = namespace
        self._may_ask: bool | None = None

    def wait_for_superlink(self, seconds: float, *, waiting: Callable[[dict[str, Any]], None] = lambda pod: None) -> dict[str, Any]:
        """Wait until the SuperLink container (not the whole pod) is ready; return the pod.

        Args:
            seconds: time limit.
            waiting: called with the pod each time that it was seen not to be ready.

        Raises:
            FlowerError: with its last state, when it is not ready after C(seconds), or will not be.
        """
        deadline = time.monotonic() + seconds
        pause = 0.2
        patience, checked = Patience(self.cluster), time.monotonic()
        while True:
            pod = self.cluster.get("v1", "Pod", SUPERLINK_POD, self.namespace)
            seen = superlink_state(pod)
            if pod is not None and seen is None:
                return pod
            now = time.monotonic()
            why = ""
            if now >= deadline:
                seen = seen if pod or not seconds else refusal(self.cluster, self._workload()) or seen
            elif now - checked >= _CHECK_PAUSE:
                checked = now
                why = patience.is_over(self._workload(), partial(list, [pod] if pod else []))
            if now >= deadline or why:
                raise FlowerError(
                    f"the SuperLink container of pod {self.namespace}/{SUPERLINK_POD} on {self.cluster.name} is not ready"
                    f"{f' after {seconds:g} s' if seconds and not why else ''}; last seen: {why or seen}"
                )
            if pod is not None:
                waiting(pod)
            time.sleep(pause)
            pause = min(pause * 1.5, 2.0)

    def _workload(self) -> dict[str, Any]:
        """The pod's StatefulSet; one that lacks nothing where there is none, or where this identity may not ask why pods are missing."""
        if self._may_ask is None:
            right = {"verb": "get", "group": "apps", "resource": "statefulsets", "namespace": self.namespace, "name": SUPERLINK}
            self._may_ask = all(self.cluster.access_review([right, {"verb": "list", "resource": "events", "namespace": self.namespace}]))
        found = self.cluster.get("apps/v1", "StatefulSet", SUPERLINK, self.namespace) if self._may_ask else None
        return {"metadata": {"name": SUPERLINK, "namespace": self.namespace}, "spec": {"replicas": 0}, **(found or {}), "kind": "StatefulSet"}

    def do(
        self, steps: Sequence[Mapping[str, Any]], *, files: Mapping[str, str] | None = None, archive: bytes | None = None, seconds: float = 60
    ) -> list[Answer]:
        """Run steps of the pod program in one exec.

        Args:
            steps: dicts as C(pod_program.main) reads them.
            files: name -> text, put into a folder that commands name as C(@FOLDER@).
            archive: a tar file, unpacked as C(@FOLDER@/app).
            seconds: time limit of the whole exec.

        Raises:
            FlowerError: when the program itself failed; a refused command is an Answer.
        """
        request: dict[str, Any] = {"steps": list(steps), "files": dict(files or {})}
        if archive is not None:
            request["archive"] = base64.b64encode(archive).decode("ascii")
        output = in_pod.run(self.cluster, self.namespace, SUPERLINK_POD, CONTAINER, pod_program, request, seconds=seconds)
        if output.rc != 0 or len(output.answers) != len(steps):
            raise FlowerError(
                f"Flower's command line in pod {self.namespace}/{SUPERLINK_POD} on {self.cluster.name} ended with code {output.rc} "
                f"after {len(output.answers)} of {len(steps)} answers: {output.stderr}"
            )
        return list(map(read_answer, output.objects()))

    def command(self, *arguments: str) -> dict[str, str | list[str]]:
        """A step that runs C(flwr ARGUMENTS… hub --format json)."""
        return {"command": [*arguments, CONNECTION, "--format", "json"]}

    def _once(self, *arguments: str) -> dict[str, str | list[str]]:
        """As C(command), for commands that may run only once: a repeated request gets the first one's answer."""
        return {**self.command(*arguments), "once": uuid.uuid4().hex}

    def _do_once(self, steps: Sequence[Mapping[str, Any]], *, files: Mapping[str, str] | None = None) -> list[Answer]:
        """Run steps of C(_once). When the connection breaks, they are sent again: those that were run return the answer of that time.

        Without it, keys that were registered would be unusable: their node ids are known from the answer alone.
        """
        send: Callable[[], list[Answer]] = partial(self.do, steps, files=files, seconds=60 + 0.2 * len(steps)) if steps else list
        for pause in (1, 3, 10):
            try:
                return send()
            except (Unreachable, Unavailable):
                time.sleep(pause)  # a load balancer that has cut the connection needs a moment
        return send()

    def nodes(self, wait_for: Sequence[str] = (), seconds: float = 0) -> dict[str, dict[str, Any]]:
        """List the SuperNodes, optionally after waiting until some of them are online.

        A SuperLink that restarts reads from its database who was online before. Those that are waited for must have called it since.

        Args:
            wait_for: node ids that should be online.
            seconds: how long to wait for them at most.

        Returns:
            Node id (text) -> its state at Flower (C(status), C(online-at), …).

        Raises:
            FlowerError: the SuperLink cannot list them.
            Unreachable: the API server does not answer, for 60 s or until C(seconds) are over.
        """
        answered_at = time.monotonic()
        deadline = answered_at + seconds
        while True:
            left = max(deadline - time.monotonic(), 0)
            part = min(left, _SLICE)
            step = {"wait_online": list(wait_for), "connection": CONNECTION, "seconds": part}
            try:
                (answer,) = self.do([step], seconds=part + 60)
                started = started_at(self.cluster.get("v1", "Pod", SUPERLINK_POD, self.namespace)) if wait_for else None
            except (Unreachable, Unavailable):  # it only reads, so it can be repeated
                if time.monotonic() >= min(deadline, answered_at + _UNANSWERED):
                    raise
                time.sleep(1)  # one that refuses connections does so at once
                continue
            answered_at = time.monotonic()
            if part == left or answer.ok:
                found = nodes_of(answer, self.cluster.name)
                silent, pause = self._silent(found, wait_for, started)
                if time.monotonic() >= deadline:
                    return found | {node: {**found[node], "status": "silent since the SuperLink restarted"} for node in silent}
                if all(found.get(node, {}).get("status") == "online" for node in wait_for):
                    if not silent:
                        return found
                    time.sleep(min(pause, deadline - time.monotonic()))

    def _silent(
        self, nodes: Mapping[str, Mapping[str, Any]], wanted: Sequence[str], started: datetime.datetime | None
    ) -> tuple[list[str], float]:
        """Those of some SuperNodes that are online only because the SuperLink's database remembers them, and for how many seconds more it does so."""
        if started is None:
            return [], 0
        now = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=self.cluster.skew or 0)
        left = _REMEMBERED + 1 - (now - started).total_seconds()  # its start is given in whole seconds
        if left <= 0:
            return [], 0
        came = {node: formats.moment(nodes[node].get("online-at")) for node in wanted if nodes.get(node, {}).get("status") == "online"}
        return [node for node, moment in came.items() if moment is not None and moment < started], left

    def register(self, public_keys: Sequence[str], described: Sequence[tuple[str, str]] = ()) -> list[Answer]:
        """Register SuperNodes' public keys, all in one exec; C(data["node-id"]) is each one's id.

        C(described): name and location of each, empty where there is none. Flower keeps them (1.40 to 1.42); C(flwr supernode list) does not show them.
        """
        files = {f"{number}.pub": key + "\n" for number, key in enumerate(public_keys)}
        options = [[f"--name={name}"] * bool(name) + [f"--location={where}"] * bool(where) for name, where in described or [("", "")] * len(files)]
        steps = [self._once("supernode", "register", f"@FOLDER@/{file}", *more) for file, more in zip(files, options, strict=True)]
        return self._do_once(steps, files=files)

    def unregister(self, node_ids: Sequence[str]) -> list[Answer]:
        """Unregister SuperNodes. Permanently: Flower never accepts their keys again."""
        return self._do_once([self._once("supernode", "unregister", node) for node in node_ids])

    def unregister_known(self, wanted: Mapping[str, Sequence[str | None]], nodes: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
        """Unregister the SuperNodes of some sites, unless they are unregistered; returns site -> why that failed.

        Args:
            wanted: site -> node ids; None for a key that never had one.
            nodes: the result of C(nodes).
        """
        known = {node for node, facts in nodes.items() if facts.get("status", "unregistered") != "unregistered"}
        todo = [(site, node) for site, ids in wanted.items() for node in ids if node and node in known]
        answers = self.unregister([node for _site, node in todo])
        return {
            site: f"the SuperLink on {self.cluster.name} cannot unregister node {node}: {answer.message}"
            for (site, node), answer in zip(todo, answers)
            if not answer.ok
        }


def nodes_of(answer: Answer, hub: str) -> dict[str, dict[str, Any]]:
    """Node id (text) -> its state, of an answer to C(flwr supernode list).

    Raises:
        FlowerError: the SuperLink could not list them. That is not a list without entries.
    """
    if not answer.ok:
        raise FlowerError(f"cannot list the SuperNodes on {hub}: {' '.join(answer.message.split())}")
    return {str(node["node-id"]): node for node in answer.data.get("nodes", [])}


def started_at(pod: Mapping[str, Any] | None) -> datetime.datetime | None:
    """When the SuperLink's container started, by the clock of its node; None while it does not run."""
    listed = ((pod or {}).get("status") or {}).get("containerStatuses") or []
    running = [(one.get("state") or {}).get("running") or {} for one in listed if one["name"] == CONTAINER]
    return formats.moment(running[0].get("startedAt")) if running else None


def superlink_state(pod: Mapping[str, Any] | None) -> str | None:
    """Why the SuperLink container is not ready; None when it is."""
    if pod is None:
        return "there is no such pod"
    status = pod.get("status", {})
    for container in (one for one in status.get("containerStatuses", []) if one["name"] == CONTAINER):
        if container.get("ready") and not pod["metadata"].get("deletionTimestamp"):
            return None
        for state, detail in container.get("state", {}).items():
            facts = [f"{key} {detail[key]}" for key in ("reason", "message", "exitCode") if detail.get(key)]
            return ", ".join([f"container {state}", *facts])
    for condition in status.get("conditions", []):
        if condition.get("status") == "False" and condition.get("message"):
            return f"pod {status.get('phase')}: {condition['message']}"
    return f"pod {status.get('phase', 'has no status yet')}"
