# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names of clusters as names of inventory hosts. Pure.

A ManagedCluster's name is a DNS subdomain, so Ansible accepts all of them; but some have another meaning.
"""

from __future__ import annotations

import re
from collections.abc import Collection

# Hosts of these names mean the control node (Ansible documentation, «Implicit localhost»).
_CONTROL_NODE = ("localhost", "127.0.0.1", "::1")
_EVERYBODY = ("all", "ungrouped")
# RFC 1123, as the API server checks it; with a prefix, anything that a host pattern reads as one name.
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?")


def fault(name: str, groups: Collection[str]) -> str:
    """Why a cluster cannot be a host of this name; empty when it can.

    Args:
        name: of the host.
        groups: names of the groups of the plays.
    """
    if not _NAME.fullmatch(name):
        return f"{name!r} is not a valid host name"
    if name in _CONTROL_NODE:
        return f"{name!r} is the control node itself"
    if name in _EVERYBODY or name in groups:
        return f"{name!r} is the name of a group"
    return ""
