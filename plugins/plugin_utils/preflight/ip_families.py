# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether what is deployed can be reached in a cluster. Pure.

HAProxy and Flower's health servers listen on IPv4 addresses (C(bind :PORT), C(0.0.0.0)).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def families_of(service: Mapping[str, Any]) -> list[str]:
    """The address families that an API server has given a Service; none where it does not say."""
    return list((service.get("spec") or {}).get("ipFamilies") or [])


def family_fault(families: Sequence[str]) -> str:
    """Why nothing would be reached, a sentence; empty where IPv4 is among the families, or they are not known."""
    if not families or "IPv4" in families:
        return ""
    return (
        f"the cluster gives Services only addresses of {', '.join(families)}, and what is deployed listens on IPv4 addresses: its pods would "
        "never be ready. Use a cluster with IPv4, or with IPv4 and IPv6 (dual stack) and IPv4 first"
    )
