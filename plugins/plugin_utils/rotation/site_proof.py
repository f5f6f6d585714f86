# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which sites must prove that they accept a certificate, how their SuperNodes are asked, and what their answers mean. Pure.

C(site_program) does the asking inside the pods. A certificate is called C(now) (what the gateway serves sites) or C(next)
(what it serves under the test name). A site's report is a mapping: C(site), C(trust) (PEM; None when it could not be queried), C(pods) (for each
running SuperNode C(pod), C(pool), C(name), C(seen), which is C(now) and C(next) with C(serial) or C(error), C(stale) and C(error)), C(accepts)
(serials), C(stale) (only a restart helps) and C(trouble) (the fault; empty if there is none).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..base.addresses import split_address
from ..base.certificate_names import next_server_name
from ..base.foreign_data import cleaned
from ..base.labels import POOL_LABEL
from ..base.object_names import OPS_PORT
from ..state.partition_numbers import Book
from . import machine, restart_conditions
from .authority import trust_bundle
from .ca_state import ADDING, State

NOW, NEXT = "now", "next"
SIDECAR = "sidecar"
CONTAINER = "supernode"
INDEX_LABEL = "apps.kubernetes.io/pod-index"

_ABSENT = (
    "the ledger has it, but this run does not reach it: it failed before, --limit excludes it, or it is not in the inventory. "
    "To forget a site that has left, run site.yml -e flower_forget_sites=NAME"
)
_HEAD = ("SITE", "POD", "SERVED BEFORE", "SERVED AFTER", "OLD", "NEW")
_DIGITS = 12  # of a serial: enough to distinguish two
_LONGEST = 500  # characters of what a pod answers for a probe
_INVALID = "it gave an invalid answer. Find out who changed the container"

Object = Mapping[str, Any]
Report = Mapping[str, Any]


@dataclass(frozen=True)
class Proof:
    """What is tested at SuperNodes.

    Attributes:
        server_name: the name under which the gateway serves sites.
        wanted: C(now) and C(next) -> the serial that they must accept; empty for any.
        bundle: the CA bundle to deploy first, PEM; empty to leave it as it is.
        own_bundle: whether the site's CA bundle is set by its variables.
        first: whether this is the first step, so that missing rights must be reported.
        expected: keys of SuperNodes that must answer, see C(members).
        seconds: how long they may take.
    """

    server_name: str
    wanted: Mapping[str, str]
    bundle: str = ""
    own_bundle: bool = False
    first: bool = False
    expected: Sequence[Mapping[str, Any]] = ()
    seconds: int = 120


def file_digest(text: str) -> str:
    """As reported by C(site_program) for a file."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def wanted_serials(state: State, facts: machine.Facts) -> dict[str, str]:
    """What SuperNodes are asked in the current phase: C(now) and C(next) -> serial; empty to accept any."""
    needed = machine.needed_serials(state, facts)
    asked = {NOW: facts.leaf.serial if facts.leaf.serial in needed else ""}
    return {**asked, NEXT: facts.test_leaf.serial} if state.phase == ADDING else asked


def has_sidecar(pod: Object) -> bool:
    """Whether a sidecar connects to the hub for this SuperNode."""
    return any(container["name"] == SIDECAR for container in pod["spec"].get("initContainers") or [])


def key_of_pod(pod: Object) -> tuple[str, str]:
    """Pool and name of the key of this pod in the ledger: its index, or in a DaemonSet pool its node."""
    labels = pod["metadata"].get("labels") or {}
    name = labels.get(INDEX_LABEL) or pod["metadata"]["name"].rpartition("-")[2]
    if any(owner["kind"] == "DaemonSet" for owner in pod["metadata"].get("ownerReferences") or []):
        name = pod["spec"].get("nodeName", "")
    return str(labels.get(POOL_LABEL, "")), str(name)


def is_running(pod: Object) -> bool:
    """Whether its SuperNode container runs and is not about to go."""
    if pod["metadata"].get("deletionTimestamp"):
        return False
    statuses = (pod.get("status") or {}).get("containerStatuses") or []
    return any(status["name"] == CONTAINER and "running" in (status.get("state") or {}) for status in statuses)


def container_argument(pod: Object, option: str, name: str = CONTAINER) -> str:
    """What a container of this pod, by default the SuperNode, was started with; empty when the option is not there."""
    for container in pod["spec"]["containers"]:
        if container["name"] == name:
            args = container.get("args") or []
            return next((args[at + 1] for at, arg in enumerate(args[:-1]) if arg == option), "")
    return ""


def probe_request(pod: Object, server_name: str, serials: Mapping[str, str], seconds: float) -> dict[str, Any]:
    """What to ask in this live pod.

    Args:
        server_name: the name under which the gateway serves sites.
        serials: C(now) and C(next) -> serial that is expected; empty for any. One that is missing is not asked for.
        seconds: how long to wait until all of them are received.
    """
    probes: dict[str, dict[str, Any]] = {}
    files: dict[str, str] = {}
    if has_sidecar(pod):
        probes = {label: {"port": OPS_PORT, "path": f"/probe/{label}"} for label in serials}
    else:
        host, port = split_address(container_argument(pod, "--superlink"))
        files["trust"] = container_argument(pod, "--root-certificates")
        # A SuperNode verifies the host that it connects to.
        names = {NOW: host, NEXT: next_server_name(server_name)}
        probes = {label: {"host": host, "port": port, "name": names[label], "trust": files["trust"]} for label in serials}
    for label, serial in serials.items():
        probes[label]["serial"] = serial
    return {"probes": probes, "files": files, "seconds": seconds}


def is_stale(answer: Object, bundle: str) -> bool:
    """Whether this SuperNode runs with another CA bundle than its cluster has: only a restart loads it."""
    present = answer.get("held") or {}
    trust = present.get("trust") if isinstance(present, Mapping) else present
    return trust is not None and not (isinstance(trust, Mapping) and trust.get("loaded") and trust.get("sha256") == file_digest(bundle))


def seen_by(answer: Object, labels: Iterable[str]) -> dict[str, dict[str, str]]:
    """Label -> C(serial) or C(error) of each probe in the answer of a pod; short texts, whatever its container answers."""
    found, seen = answer.get("seen"), {}
    for label in labels:
        result = found.get(label) if isinstance(found, Mapping) else None
        texts = {key: result[key] for key in ("serial", "error") if isinstance(result.get(key), str)} if isinstance(result, Mapping) else {}
        seen[label] = {key: cleaned(text, _LONGEST) for key, text in texts.items()} or {"error": _INVALID}
    return seen


def judge(expected: Sequence[Mapping[str, str]], pods: Sequence[Mapping[str, Any]], serials: Mapping[str, str]) -> tuple[list[str], str]:
    """The serials that every expected SuperNode (C(pool) and C(name)) received and accepted, and a sentence on those that did not.

    C(pods) are those of a site's report; C(serials): C(now) and C(next) -> serial.
    """
    found = {(pod["pool"], pod["name"]): pod for pod in pods}
    troubles: list[str] = []
    accepts = {serial for serial in serials.values() if serial}
    for key in expected:
        pod = found.get((key["pool"], key["name"]))
        fault = ""
        if pod is None:
            fault = f"SuperNode {key['pool']}/{key['name']} has no running pod"
        elif pod["stale"]:
            fault = f"{pod['pod']} still runs with the CA bundle of its start"
        elif pod["error"]:
            fault = f"{pod['pod']}: {pod['error']}"
        if fault or pod is None:
            accepts.clear()
            troubles.append(fault)
            continue
        for label, serial in serials.items():
            seen = pod["seen"].get(label, {})
            if serial and seen.get("serial") != serial:
                accepts.discard(serial)
                troubles.append(f"{pod['pod']}, certificate {serial} ({label}): {describe_probe(seen)}")
    return sorted(accepts), "; ".join(troubles)


def describe_probe(seen: Mapping[str, str]) -> str:
    """The result of one probe, as text."""
    if seen.get("serial"):
        return f"it received {seen['serial']}"
    return seen.get("error") or "not asked"


def members(book: Book, found: Mapping[str, restart_conditions.Record], reached: Iterable[str]) -> dict[str, dict[str, Any]]:
    """All sites of the ledger and of this run, which may have to report.

    Returns:
        Site -> C(expected) (its keys: C(pool), C(name), C(node_id)), C(exempt) (why it need not be asked, or empty) and
        C(here) (whether this run reaches it).
    """
    here = set(reached)
    return {
        site: {
            "expected": restart_conditions.expected_keys(found[site]) if site in found else [],
            "exempt": restart_conditions.exemption(site, book, found),
            "here": site in here,
        }
        for site in sorted({*found, *here})
    }


def site_facts(fleet: Mapping[str, Mapping[str, Any]], reports: Mapping[str, Report]) -> dict[str, machine.Site]:
    """What the state machine needs of each site: see C(members); sites that were not asked yet have no report."""
    sites = {}
    for name, entry in fleet.items():
        if entry["exempt"]:
            sites[name] = machine.Site(exempt=entry["exempt"])
        elif name in reports:
            report = reports[name]
            trust = None if report["trust"] is None else trust_bundle(report["trust"])
            sites[name] = machine.Site(trust, frozenset(report["accepts"]), report["trouble"])
        else:
            sites[name] = machine.Site(trouble="" if entry["here"] else _ABSENT)
    return sites


def handshake_table(before: Sequence[Report], rounds: Sequence[Report] = ()) -> list[str]:
    """Lines of the table.

    Args:
        before: reports of sites from before the rotation.
        rounds: those from during and after it, the oldest first.

    Returns:
        A head, a line for each SuperNode, and a line for each site that could not be queried. OLD and NEW show whether the
        SuperNode accepted the previous certificate, and the one that is served at the end; or that it was not tested.
    """
    lines = [_HEAD]
    troubles = []
    reports = [*before, *rounds]
    for site in sorted({report["site"] for report in reports}):
        own = [report for report in reports if report["site"] == site]
        if own[-1].get("trouble"):
            troubles.append(f"! {site}: {own[-1]['trouble']}")
        for pod in sorted({entry["pod"] for report in own for entry in report["pods"]}):
            first, all_seen = ([entry["seen"] for report in found for entry in report["pods"] if entry["pod"] == pod and report["site"] == site]
                               for found in (before, own))  # fmt: skip
            accepted = {one.get("serial") for seen in all_seen for one in seen.values()} - {None}
            serials = [_last_serial(seen) for seen in (first, all_seen)]
            tested = ["not tested" if serial is None else "yes" if serial and serial in accepted else "no" for serial in serials]
            lines.append((site, pod, *((serial or "")[:_DIGITS] or "-" for serial in serials), *tested))
    widths = [max(len(line[column]) for line in lines) for column in range(len(_HEAD))]
    reported = ["  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip() for line in lines]
    return [*reported, *troubles] if len(reported) > 1 or troubles else []


def _last_serial(shown: Sequence[Mapping[str, Any]]) -> str | None:
    """The serial that was received last; empty where it was not accepted, None where nothing was asked."""
    return str(shown[-1][NOW].get("serial") or "") if shown and NOW in shown[-1] else None
