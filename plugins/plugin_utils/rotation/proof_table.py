# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The handshakes of a rotation as a table: what each SuperNode received before and after, and what it accepted. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from . import site_proof

_HEAD = ("SITE", "POD", "SERVED BEFORE", "SERVED AFTER", "OLD", "NEW")
_DIGITS = 12  # of a serial: enough to distinguish two

Report = Mapping[str, Any]


def handshake_table(before: Sequence[Report], rounds: Sequence[Report] = ()) -> list[str]:
    """Lines of the table.

    Args:
        before: results of sites of M(federated.flower.supernode), C(state=trusted), from before the rotation.
        rounds: those from during and after it, the oldest first.

    Returns:
        A head, a line for each SuperNode, and a line for each site that could not be asked. OLD and NEW show whether the
        SuperNode accepted the previous certificate, and the one that is served at the end; or that it was not tested.
    """
    lines = [_HEAD]
    troubles = []
    last: dict[str, Report] = {}
    for report in [*before, *rounds]:
        if report.get("site"):
            last[report["site"]] = report
    for site, report in sorted(last.items()):
        said = [one for one in (*before, *rounds) if one.get("site") == site]
        for pod in sorted({pod["pod"] for one in said for pod in one["pods"]}):
            lines.append((site, pod, *_row(pod, [one for one in before if one.get("site") == site], said)))
        if report.get("trouble"):
            troubles.append(f"! {site}: {report['trouble']}")
    widths = [max(len(line[column]) for line in lines) for column in range(len(_HEAD))]
    reported = ["  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip() for line in lines]
    return [*reported, *troubles] if len(reported) > 1 or troubles else []


def _row(pod: str, before: Sequence[Report], said: Sequence[Report]) -> tuple[str, str, str, str]:
    shown = [entry["seen"] for report in said for entry in report["pods"] if entry["pod"] == pod]
    first = [entry["seen"] for report in before for entry in report["pods"] if entry["pod"] == pod]
    old, new = _served(first), _served(shown)
    taken = {look.get("serial") for seen in shown for look in seen.values()} - {None}
    return (old or "")[:_DIGITS] or "-", (new or "")[:_DIGITS] or "-", _took(old, taken), _took(new, taken)


def _served(said: Sequence[Mapping[str, Any]]) -> str | None:
    """The serial that was received last; empty where it was not accepted, None where nothing was asked."""
    looks = [seen[site_proof.NOW] for seen in said[-1:] if site_proof.NOW in seen]
    return str(looks[0].get("serial") or "") if looks else None


def _took(serial: str | None, taken: set[str]) -> str:
    if serial is None:
        return "not tested"
    return "yes" if serial and serial in taken else "no"
