# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with the variables of the role cert_rotation. Pure."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from ..base.times import duration
from ..base.values import integer
from .faults import Faults

_SECONDS = ("grace", "wait", "wait_timeout", "proof_timeout")
# How long before the expiry -> lifetime than which it must be shorter.
_RENEWALS = {"renew_before": "certificate_days", "ca_renew_before": "ca_days"}


def faults(options: Mapping[str, Any], host: str) -> list[str]:
    """Sentences that name host, variable and value; empty when there are none.

    Args:
        options: those of the role cert_rotation, without their prefix.
        host: inventory name of the hub.
    """
    found = Faults({"cluster": host}, "cert_rotation_")
    for name in _SECONDS:
        found.number(name, options[name], 0, 30 * 86400)
    for name in _RENEWALS.values():
        found.number(name, options[name], 1, 36500)
    for name, lifetime in _RENEWALS.items():
        value, days = options[name], integer(options[lifetime]) or 1
        try:
            before = duration(value)
        except ValueError:
            found.add(name, value, "is not a duration like 30d, 12h, 10m or 40s")
            continue
        if before is not None and not datetime.timedelta() < before < datetime.timedelta(days=days):
            found.add(name, value, f"is not between 0 and the {days} days of cert_rotation_{lifetime}")
    return found.found
