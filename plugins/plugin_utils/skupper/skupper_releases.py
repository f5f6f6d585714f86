# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Releases of Skupper. Pure."""

from __future__ import annotations

import re
from typing import Any

from ..base.values import text

# The one oldest release whose controller does what is counted on here.
OLDEST = (2, 2, 1)
_VERSION = re.compile(r"v?([0-9]+)\.([0-9]+)\.([0-9]+)(?:[-+.].*)?")


def parse_version(value: Any) -> tuple[int, int, int] | None:
    """The numbers of a release; None for what is none, such as a build from a branch."""
    match = _VERSION.fullmatch(text(value))
    return (int(match[1]), int(match[2]), int(match[3])) if match else None


def version_fault(value: Any) -> str:
    """Why a controller of this release is not usable; empty if it is, or if it is not known."""
    found = parse_version(value)
    if found is None or found >= OLDEST:
        return ""
    wanted = ".".join(map(str, OLDEST))
    if found < (2, 0, 0):
        return f"is Skupper {text(value)}, of another generation; Skupper {wanted} or later is needed"
    return (
        f"is Skupper {text(value)}: before {wanted} a Listener takes over a Service of the same name that someone else created, and "
        f"an upgrade from 2.1 stops unfinished. Upgrade Skupper to {wanted} or later"
    )
