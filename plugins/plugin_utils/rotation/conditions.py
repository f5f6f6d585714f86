# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Conditions for a restart of pods: every SuperNode is online, and no run is active."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..base import values
from ..flower.cli import FlowerCLI, FlowerError
from ..flower.runs import look, read_all
from ..ledger import records
from ..ledger.ranges import Book

_SLICE = 30.0  # seconds of one wait for a run

Record = Mapping[str, Any]


def expected(record: Record) -> list[dict[str, str]]:
    """The keys of a site with which a SuperNode must run: C(pool), C(name), C(node_id)."""
    return [
        {"pool": key["pool"], "name": key["name"], "node_id": node}
        for node, key in sorted(
            records.node_ids(record).items(), key=lambda item: (item[1]["pool"], values.natural(item[1]["name"]))
        )
    ]


def exemption(site: str, book: Book, found: Mapping[str, Record]) -> str:
    """Why a site is exempt; empty when it must be asked."""
    record = found.get(site)
    denied = (record or {}).get("access") or (book.get("denied") or {}).get(site)
    if denied:
        return "it is denied access" + (f" since {denied['since']}" if denied.get("since") else "")
    if record is None or not expected(record):
        return "it has no SuperNodes yet"
    return ""


def offline(found: Mapping[str, Record], book: Book, nodes: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Site -> sentence on its SuperNodes that are not online, of those sites that are not excused.

    Args:
        found: site -> its record.
        book: the ledger's book.
        nodes: node id -> its state at Flower.
    """
    reported = {}
    for site, record in sorted(found.items()):
        if exemption(site, book, found):
            continue
        serving = records.stand_ins(record["keys"].values(), nodes)
        away = [
            f"{key['pool']}/{key['name']} is {nodes.get(key['node_id'], {}).get('status', 'unknown to the SuperLink')}"
            for key in expected(record)
            if nodes.get(key["node_id"], {}).get("status") != "online" and (key["pool"], key["name"]) not in serving
        ]
        if away:
            reported[site] = ", ".join(away)
    return reported


def away(
    names: Iterable[str], found: Mapping[str, Record], unreadable: Mapping[str, str], book: Book, nodes: Mapping[str, Mapping[str, Any]]
) -> dict[str, str]:
    """Of some sites, as C(offline); those whose record cannot be read are not known to be online.

    A record of another site that cannot be read, for example of one that has left, is not their fault.

    Args:
        names: the sites.
        found: site -> its record, of those that can be read.
        unreadable: site -> why its record cannot be read.
        book: the ledger's book.
        nodes: node id -> its state at Flower.
    """
    chosen = list(names)
    known = {name: found[name] for name in chosen if name in found}
    return offline(known, book, nodes) | {name: unreadable[name] for name in chosen if name in unreadable}


def active(runs: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Runs that are not finished."""
    return [run for run in runs if not str(run.get("status", "")).startswith("finished")]


def describe(runs: Sequence[Mapping[str, Any]]) -> str:
    """Text with the runs."""
    return ", ".join(f"run {run['run-id']} of {run.get('fab-id') or 'an app'} ({run['status']})" for run in runs)


def wait_no_run(
    cli: FlowerCLI,
    seconds: float,
    say: Callable[[str], None],
    way_out: tuple[str, str] = ("cert_rotation_wait", "cert_rotation_force=true"),
) -> None:
    """Wait until no run is active.

    Args:
        cli: the SuperLink's command line.
        seconds: how long to wait at most.
        say: shows what is waited for.
        way_out: the variable with the limit, and the option without waiting; the latter is empty where there is none.

    Raises:
        FlowerError: timeout; with the run and the remedy.
    """
    deadline = time.monotonic() + seconds
    busy: list[Mapping[str, Any]] = []
    reported = ""
    while True:
        left = deadline - time.monotonic()
        # When those that are known are over, and not before: to list all costs, see C(cli.listing).
        if not busy or left <= 0:
            busy = active(read_all(cli))
            if not busy:
                return
        words = describe(busy)
        if left <= 0:
            remedy = f"with {way_out[1]} to do it nevertheless" if way_out[1] else f"with a longer {way_out[0]}"
            raise FlowerError(
                f"pods must be restarted, which would fail {words}; it is not complete after {seconds:g} s "
                f"({way_out[0]}). Run again later, or {remedy}"
            )
        if words != reported:
            say(f"{cli.cluster.name}: waiting for {words}, up to {left:.0f} s more")
            reported = words
        seen = look(cli, str(busy[0]["run-id"]), min(left, _SLICE), pause=1)
        busy = busy[1:] if seen.finished else [{**busy[0], "status": seen.status}, *busy[1:]]
