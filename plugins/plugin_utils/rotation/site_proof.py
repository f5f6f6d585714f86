# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a site's SuperNodes are asked which certificates they accept, and what their answers mean. Pure.

C(site_program) does the asking inside the pods. A certificate is called C(now) (what the gateway serves sites) or C(next)
(what it serves under the test name).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from ..base.addresses import split_address
from ..base.certificate_names import next_server_name
from ..base.labels import POOL_LABEL
from ..base.ports import OPS_PORT
from . import machine
from .ca_state import ADDING, State

NOW, NEXT = "now", "next"
SIDECAR = "sidecar"
CONTAINER = "supernode"
INDEX_LABEL = "apps.kubernetes.io/pod-index"

Object = Mapping[str, Any]


def digest(text: str) -> str:
    """As reported by C(site_program) for a file."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def wanted(state: State, facts: machine.Facts) -> dict[str, str]:
    """What SuperNodes are asked in the current phase: C(now) and C(next) -> serial; empty to accept any."""
    needed = machine.needed(state, facts)
    asked = {NOW: facts.leaf.serial if facts.leaf.serial in needed else ""}
    return {**asked, NEXT: facts.extra.serial} if state.phase == ADDING else asked


def has_sidecar(pod: Object) -> bool:
    """Whether a sidecar connects to the hub for this SuperNode."""
    return any(container["name"] == SIDECAR for container in pod["spec"].get("initContainers") or [])


def key_name(pod: Object) -> str:
    """The name of this pod's key in the ledger: its index, or in a DaemonSet pool its node."""
    owners = [owner["kind"] for owner in pod["metadata"].get("ownerReferences") or []]
    if "DaemonSet" in owners:
        return str(pod["spec"].get("nodeName", ""))
    return str((pod["metadata"].get("labels") or {}).get(INDEX_LABEL) or pod["metadata"]["name"].rpartition("-")[2])


def place(pod: Object) -> tuple[str, str]:
    """Pool and name of the key of this pod."""
    return str((pod["metadata"].get("labels") or {}).get(POOL_LABEL, "")), key_name(pod)


def is_running(pod: Object) -> bool:
    """Whether its SuperNode container runs and is not about to go."""
    if pod["metadata"].get("deletionTimestamp"):
        return False
    statuses = (pod.get("status") or {}).get("containerStatuses") or []
    return any(status["name"] == CONTAINER and "running" in (status.get("state") or {}) for status in statuses)


def argument(pod: Object, option: str, name: str = CONTAINER) -> str:
    """What a container of this pod, by default the SuperNode, was started with; empty when the option is not there."""
    for container in pod["spec"]["containers"]:
        if container["name"] == name:
            args = container.get("args") or []
            return next((args[at + 1] for at, arg in enumerate(args[:-1]) if arg == option), "")
    return ""


def request(pod: Object, server_name: str, serials: Mapping[str, str], seconds: float) -> dict[str, Any]:
    """What to ask in this pod.

    Args:
        pod: the live pod.
        server_name: the name under which the gateway serves sites.
        serials: C(now) and C(next) -> serial that is expected; empty for any. One that is missing is not
            asked for.
        seconds: how long to wait until all of them are received.
    """
    probes: dict[str, dict[str, Any]] = {}
    files: dict[str, str] = {}
    if has_sidecar(pod):
        probes = {label: {"port": OPS_PORT, "path": f"/probe/{label}"} for label in serials}
    else:
        host, port = split_address(argument(pod, "--superlink"))
        files["trust"] = argument(pod, "--root-certificates")
        # A SuperNode verifies the host that it connects to.
        names = {NOW: host, NEXT: next_server_name(server_name)}
        probes = {
            label: {"host": host, "port": port, "name": names[label], "trust": files["trust"]} for label in serials
        }
    for label, serial in serials.items():
        probes[label]["serial"] = serial
    return {"probes": probes, "files": files, "seconds": seconds}


def is_stale(answer: Object, bundle: str) -> bool:
    """Whether this SuperNode runs with another CA bundle than its cluster has: only a restart loads it."""
    trust = answer.get("held", {}).get("trust")
    return trust is not None and not (trust.get("loaded") and trust.get("sha256") == digest(bundle))


def judge(
    expected: Sequence[Mapping[str, str]], pods: Sequence[Mapping[str, Any]], serials: Mapping[str, str]
) -> tuple[list[str], str]:
    """What all SuperNodes of a site accept, and what is wrong.

    Args:
        expected: the keys that are required, with C(pool) and C(name).
        pods: C(pool), C(name), C(pod), C(stale), C(error) and C(seen), as M(federated.flower.supernode) reports them with C(state=trusted).
        serials: C(now) and C(next) -> serial.

    Returns:
        The serials that every expected SuperNode received and accepted, and a sentence on those that did not.
    """
    found = {(pod["pool"], pod["name"]): pod for pod in pods}
    troubles: list[str] = []
    accepts = {serial for serial in serials.values() if serial}
    for key in expected:
        pod = found.get((key["pool"], key["name"]))
        if pod is None:
            accepts.clear()
            troubles.append(f"SuperNode {key['pool']}/{key['name']} has no running pod")
            continue
        if pod["stale"]:
            accepts.clear()
            troubles.append(f"{pod['pod']} still runs with the CA bundle of its start")
            continue
        if pod["error"]:
            accepts.clear()
            troubles.append(f"{pod['pod']}: {pod['error']}")
            continue
        for label, serial in serials.items():
            seen = pod["seen"].get(label, {})
            if serial and seen.get("serial") != serial:
                accepts.discard(serial)
                troubles.append(f"{pod['pod']}, certificate {serial} ({label}): {said(seen)}")
    return sorted(accepts), "; ".join(troubles)


def said(seen: Mapping[str, str]) -> str:
    """The result of one probe, as text."""
    if seen.get("serial"):
        return f"it received {seen['serial']}"
    return seen.get("error") or "not asked"
