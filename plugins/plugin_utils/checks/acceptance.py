# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether a site is accepted: what its SuperNodes measured and what the hub knows, as checks with a verdict, and a score. Pure.

Source of the rules: a SuperNode of flwr 1.41 sends bodies of up to 5,243,820 bytes, waits 30 s for an answer and treats 4xx as final; so every
hop between has to let such bodies pass, and clocks have to agree (C(site_agreement.py)).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..state import records
from . import site_agreement

GOOD, WEAK, BAD, OPEN = "good", "weak", "bad", "not checked"
#: Longer than a SuperNode is ever silent, and shorter than the gateway waits for the first byte.
MOST_IDLE = 50
#: The largest body that a SuperNode sends, and a little more.
BODY = 5_250_000
# What the SuperLink answers to a call without a signature is 401. Without node authentication, it handles the call, and does not know the node.
_ANSWERS = (200, 401, 404)
_POINTS = {GOOD: 1.0, WEAK: 0.5, BAD: 0.0}
# What the hub keeps of all sites is one ConfigMap of at most 1 MiB: so many reasons of a site, and so many characters of each.
_REASONS, _REASON = 3, 200


@dataclass(frozen=True)
class Limits:
    """From when on a measurement is a weakness.

    Attributes:
        round_trip: milliseconds of a small call to the SuperLink and back.
        upload: megabits a second to the SuperLink.
        idle: seconds that a silent connection should live; 0 does not try.
    """

    round_trip: float = 500
    upload: float = 8
    idle: float = 0


@dataclass(frozen=True)
class Check:
    """One check of a site.

    Attributes:
        name: what is checked; C(pool) where it is about one.
        verdict: C(GOOD), C(WEAK), C(BAD), or C(OPEN) where it could not be checked.
        text: what was found, and the remedy.
        pool: name of the pool; empty for the site as a whole.
    """

    name: str
    verdict: str
    text: str
    pool: str = ""


#: Of a site whose SuperNodes have no keys.
NAMELESS = Check("SuperNodes", OPEN, "without node authentication, the SuperNodes of this site cannot be identified")


def offset(answer: Mapping[str, Any], sent: float, received: float) -> float:
    """Seconds by which the clock of an answer's pod is ahead of the controller's, as NTP (RFC 5905, section 8) computes it."""
    return ((answer["begun"] - sent) + (answer["ended"] - received)) / 2


def of_pool(pool: str, measured: Mapping[str, Any], limits: Limits, hub_clock: float | None, *, signed: bool) -> list[Check]:
    """The checks of one pool.

    Args:
        pool: its name.
        measured: of C(direct_connection): C(error) alone, or the answers of C(way_program), C(trust) of C(site_program), and C(clock);
            with C(proxy) where the path leads through an HTTP proxy: C(name) and C(port) are then those of the proxy.
        limits: from when on a measurement is a weakness.
        hub_clock: seconds by which the hub's clock is ahead of the controller's; None if that is not known.
        signed: whether SuperNodes sign their calls with the time.
    """
    found: list[Check] = []

    def add(name: str, verdict: str, text: str) -> None:
        found.append(Check(name, verdict, text, pool))

    if measured.get("error"):
        add("pod", BAD, str(measured["error"]))
        return found
    path, apps, trust, proxy, clock = measured["way"], measured["apps"], measured["trust"], measured.get("proxy"), measured["clock"]
    name, port = path["name"], path["port"]
    of, variable = ("of the HTTP proxy ", "supernode_http_proxy.address") if proxy else ("", "superlink_address")
    if "error" in name:
        add("name", BAD, f"{name['error']}; check the site's DNS, or {variable}")
    else:
        add("name", GOOD, f"{of}resolves to {', '.join(name['addresses'])}")
    if "error" in port:
        add("port", BAD, f"{port['error']}; check firewalls and NetworkPolicies on the path")
    else:
        add("port", GOOD, f"{of}is open after {port['milliseconds']:.1f} ms")
    if proxy:
        add("HTTP proxy", GOOD if proxy["good"] else BAD, str(proxy["text"]))
    if "serial" in trust:
        add("certificate", GOOD, f"accepts the gateway's, serial {trust['serial']}")
    else:
        add("certificate", BAD, f"{trust.get('error')}; a proxy that intercepts TLS, or an outdated CA bundle: run site.yml")
    if clock is None or hub_clock is None:
        add("clock", OPEN, "the hub's clock is unknown")
    elif problem := next(site_agreement.clocks(clock, hub_clock, signed=signed), None):
        add("clock", BAD if problem.refuses else WEAK, problem.message)
    else:
        add("clock", GOOD, f"differs by {abs(clock - hub_clock):.1f} s from the hub's")

    call, upload = path["call"], path["upload"]
    if fault := _call_fault(call):
        add("round trip", BAD, fault)
    else:
        milliseconds = call["seconds"] * 1000
        is_slow = milliseconds > limits.round_trip
        more = f", more than {limits.round_trip:g} ms" if is_slow else ""
        add("round trip", WEAK if is_slow else GOOD, f"{milliseconds:.0f} ms to the SuperLink and back{more}")
    if fault := _call_fault(upload):
        add("upload", BAD, f"{BODY} bytes in one call: {fault}; every proxy on the path must accept bodies of that size")
    else:
        rate = BODY * 8 / 1e6 / max(upload["seconds"], 1e-6)
        less = f", less than {limits.upload:g} Mbit/s" if rate < limits.upload else ""
        add("upload", WEAK if less else GOOD, f"{rate:.0f} Mbit/s{less}")
    if "idle" in path:
        silent = f"a connection that was silent for {limits.idle:g} s is"
        if "error" in path["idle"]:
            add("idle", WEAK, f"{silent} dropped on the path: {path['idle']['error']}; increase its idle timeout to more than 60 s")
        else:
            add("idle", GOOD, f"{silent} still open")
    for dataset, seen in sorted((apps.get("paths") or {}).items()):
        if "error" in seen:
            add(f"dataset {dataset}", BAD, f"apps cannot read it: {seen['error']}")
        else:
            add(f"dataset {dataset}", GOOD if seen["entries"] else WEAK, f"apps see {seen['entries']} entries in it" if seen["entries"] else "is empty")
    if apps.get("devices"):
        add("GPU", GOOD, f"apps see {', '.join(apps['devices'])}")
    elif "devices" in apps:
        reason = "is granted, but the container in which apps compute has no device of a GPU: check the device plugin of the node"
        add("GPU", BAD, f"{measured['resource']} {reason}")
    return found


def _call_fault(seen: Mapping[str, Any]) -> str:
    if "error" in seen:
        return str(seen["error"])
    return "" if seen["status"] in _ANSWERS else f"it was answered with {seen['status']}, by the gateway or a proxy on the path"


def online(keys: Iterable[Mapping[str, Any]], nodes: Mapping[str, Mapping[str, Any]], wanted: int | None = None) -> Check:
    """Whether the SuperNodes of a site are online at the SuperLink. One that still serves with a key that leaves counts.

    Args:
        keys: those of the site's record in the ledger.
        nodes: node id -> its state at Flower.
        wanted: how many there should be; None if only the ledger knows.
    """
    known = list(keys)
    used = [key for key in known if not key.get("leaving")]
    serving = records.pods_with_leaving_keys(known, nodes)
    count = sum(_status(key, nodes) == "online" or (key["pool"], key["name"]) in serving for key in used)
    all_of = max(len(used), wanted or 0)
    text = f"{count} of {all_of} are online"
    return Check("SuperNodes", GOOD, text) if all_of and count == all_of else Check("SuperNodes", BAD, f"{text}; see status.yml")


def was_online(keys: Iterable[Mapping[str, Any]], nodes: Mapping[str, Mapping[str, Any]], *, by_hand: bool = False) -> bool:
    """Whether a SuperNode of a site has ever been online, so that there is something to judge.

    Args:
        keys: as of C(online).
        nodes: node id -> its state at Flower.
        by_hand: whether people apply what is delivered, whenever they do. Then one has to be online now: it may not be back yet since the
            site was admitted again, or its next version was written.
    """
    return any(_status(key, nodes) == "online" if by_hand else _status(key, nodes) not in ("", "registered") for key in keys)


def _status(key: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]]) -> str:
    return str((nodes.get(str(key["node_id"])) or {}).get("status", ""))


def entry(checks: Sequence[Check], now: str) -> dict[str, Any]:
    """The result of a site. Its score is from 0 to 100: the share of the checks that are good; a weak one counts half. None if nothing was checked."""
    points = [_POINTS[one.verdict] for one in checks if one.verdict != OPEN]
    return {
        "at": now,
        "score": round(100 * sum(points) / len(points)) if points else None,
        "accepted": all(one.verdict != BAD for one in checks) and any(one.verdict != OPEN for one in checks),
        "reasons": [f"{one.pool + ': ' if one.pool else ''}{one.name}: {one.text}" for one in checks if one.verdict in (BAD, WEAK)],
        "checks": [asdict(one) for one in checks],
    }


def kept(result: Mapping[str, Any]) -> dict[str, Any]:
    """What the hub keeps of the result of a site: without the single checks, and of many reasons the first."""
    reasons = [one if len(one) <= _REASON else f"{one[: _REASON - 3]}..." for one in result.get("reasons") or []]
    if len(reasons) > _REASONS + 1:
        reasons = [*reasons[:_REASONS], f"and {len(reasons) - _REASONS} more"]
    return {**{name: result.get(name) for name in ("at", "score", "accepted")}, "reasons": reasons}


def table(sites: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Lines for people: the score of each site, and below it what is not good."""
    lines = []
    for name, found in sites.items():
        points = "-" if found["score"] is None else str(found["score"])
        lines.append(f"{name:<24} {points:>3}  {'accepted' if found['accepted'] else 'not accepted'}")
        lines += [f"    {reason}" for reason in found["reasons"]]
        left = sorted({one["name"] for one in found["checks"] if one["verdict"] == OPEN})
        lines += [f"    not checked: {', '.join(left)}"] if left else []
    return lines
