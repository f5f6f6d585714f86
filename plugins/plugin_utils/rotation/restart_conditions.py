# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Conditions for a restart of pods: every SuperNode is online, and no run is active."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from ..base import values
from ..base.errors import ClusterError
from ..flower.cli import FlowerCLI, FlowerError
from ..flower.runs import UnknownRun, read_all, read_run
from ..kube.api_errors import Unavailable, Unreachable
from ..state import records
from ..state.partition_numbers import Book

_SLICE = 30.0  # seconds of one wait for a run
_UNANSWERED = 60.0  # seconds for which the hub may not answer during a wait, for example because its API server is replaced
_PAUSE = 2.0  # seconds before it is asked again

T = TypeVar("T")

Record = Mapping[str, Any]


def expected_keys(record: Record) -> list[dict[str, str]]:
    """The keys of a site with which a SuperNode must run: C(pool), C(name), C(node_id)."""
    return [
        {"pool": key["pool"], "name": key["name"], "node_id": node}
        for node, key in sorted(
            records.node_ids(record).items(), key=lambda item: (item[1]["pool"], values.natural(item[1]["name"]))
        )
    ]


def not_serving(record: Record, nodes: Mapping[str, Mapping[str, Any]]) -> list[dict[str, str]]:
    """Of C(expected_keys), those that are not online, and whose pod does not serve with a key that leaves either.

    C(nodes): node id -> its state at Flower.
    """
    serving = records.pods_with_leaving_keys(record["keys"].values(), nodes)
    return [
        key
        for key in expected_keys(record)
        if nodes.get(key["node_id"], {}).get("status") != "online" and (key["pool"], key["name"]) not in serving
    ]


def exemption(site: str, book: Book, found: Mapping[str, Record]) -> str:
    """Why a site is exempt; empty when it must be asked."""
    record = found.get(site)
    denied = (record or {}).get("access") or (book.get("denied") or {}).get(site)
    if denied:
        return "it is denied access" + (f" since {denied['since']}" if denied.get("since") else "")
    if record is None or not expected_keys(record):
        return "it has no SuperNodes yet"
    return ""


def offline(found: Mapping[str, Record], book: Book, nodes: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Site -> sentence on its SuperNodes that are not online, of those sites that must be online. C(nodes): node id -> its state at Flower."""
    absent = {site: not_serving(record, nodes) for site, record in sorted(found.items()) if not exemption(site, book, found)}
    return {
        site: ", ".join(f"{key['pool']}/{key['name']} is {nodes.get(key['node_id'], {}).get('status', 'unknown to the SuperLink')}" for key in keys)
        for site, keys in absent.items()
        if keys
    }


def offline_of(
    names: Iterable[str], found: Mapping[str, Record], unreadable: Mapping[str, str], book: Book, nodes: Mapping[str, Mapping[str, Any]]
) -> dict[str, str]:
    """Of some sites, as C(offline); those whose record cannot be read (site -> why) are not known to be online.

    A record of another site that cannot be read, for example of one that has left, is not their fault.
    """
    chosen = list(names)
    known = {name: found[name] for name in chosen if name in found}
    return offline(known, book, nodes) | {name: unreadable[name] for name in chosen if name in unreadable}


def active_runs(runs: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Runs that are not finished."""
    return [run for run in runs if not str(run.get("status", "")).startswith("finished")]


def describe_runs(runs: Sequence[Mapping[str, Any]]) -> str:
    """Text with the runs."""
    return ", ".join(f"run {run['run-id']} of {run.get('fab-id') or 'an app'} ({run['status']})" for run in runs)


def wait_no_run(
    cli: FlowerCLI,
    seconds: float,
    say: Callable[[str], None],
    overrides: tuple[str, str] = ("cert_rotation_wait", "cert_rotation_force=true"),
    begun: float | None = None,
) -> None:
    """Wait until no run is active.

    Args:
        overrides: the variable with the limit, and the option without waiting; the latter is empty where there is none.
        begun: when the wait began (C(time.monotonic)), if that was before this call.

    Raises:
        FlowerError: timeout; with the run and the remedy.
        ClusterError: the hub has not answered for a minute, or for C(seconds) if these are less.
    """
    deadline = (time.monotonic() if begun is None else begun) + seconds
    patience = min(_UNANSWERED, seconds)
    busy: list[Mapping[str, Any]] = []
    reported = ""
    while True:
        left = deadline - time.monotonic()
        # When those that are known are over, and not before: to list all costs, see C(cli.listing).
        if not busy or left <= 0:
            busy = active_runs(_ask(partial(read_all, cli), patience))
            if not busy:
                return
        if left <= 0:
            remedy = f"with {overrides[1]} to restart them nevertheless" if overrides[1] else f"with a longer {overrides[0]}"
            raise FlowerError(
                f"pods must be restarted, which would fail {describe_runs(busy)}; it is not complete after {seconds:g} s "
                f"({overrides[0]}). Run again later, or {remedy}"
            )
        # What the others do is known from the last list only.
        words = describe_runs(busy[:1]) + (f" and {len(busy) - 1} more" if len(busy) > 1 else "")
        if words != reported:
            say(f"{cli.cluster.name}: waiting for {words}, up to {left:.0f} s more")
            reported = words
        try:
            seen = _ask(partial(read_run, cli, str(busy[0]["run-id"]), min(left, _SLICE), pause=1), patience)
        except UnknownRun:  # the SuperLink has no such run any more
            seen = None
        busy = [{**busy[0], "status": seen.status}, *busy[1:]] if seen and not seen.finished else busy[1:]


def _ask(question: Callable[[], T], patience: float) -> T:
    """What the hub answers; for some seconds it may fail."""
    until = time.monotonic() + patience
    while True:
        try:
            return question()
        except UnknownRun:
            raise
        except (Unreachable, Unavailable, FlowerError) as error:
            if time.monotonic() + _PAUSE > until:
                raise ClusterError(f"pods are restarted only if no run is active, and active runs cannot be listed: {error.message}") from error
        time.sleep(_PAUSE)  # until it answers, or the time is over
