# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""To which part of a federation an object belongs, the hub or a site: both may be in one namespace. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .proof import labels_of

HUB, SITE = "hub", "site"
# On rights (Roles, bindings and accounts), whose other labels are the same for both parts.
PART = "federated.flower/part"
_NAME = "app.kubernetes.io/name"
_APPLICATIONS = {
    "superlink": HUB,
    "superlink-metrics": HUB,
    "serverapp": HUB,
    "flower-ledger": HUB,
    "flower-audit": HUB,
    "flower-lease": HUB,
    "flower-drill": HUB,
    "flower-upgrade": HUB,
    "flower-standby": HUB,
    "flower-restore": HUB,
    "supernode": SITE,
    "supernode-keys": SITE,
    "clientapp": SITE,
    "skupper": "",  # both may have them; a Link to the hub has a name like those rights below
}
# Names of objects without that label: records of ApplySets, and rights that were created before the label was introduced.
_NAMES = {"applyset-superlink": HUB, "applyset-supernode": SITE}
_PREFIXES = {"flower-hub-": HUB, "flower-site-": SITE}


def part_of(obj: Mapping[str, Any]) -> str:
    """C(HUB), C(SITE), or empty for what both parts may have (a Namespace, objects of Skupper)."""
    labels, name = labels_of(obj), obj["metadata"]["name"]
    if labels.get(PART):
        return labels[PART]
    if labels.get(_NAME) in _APPLICATIONS:
        return _APPLICATIONS[labels[_NAME]]
    return _NAMES.get(name) or next((part for prefix, part in _PREFIXES.items() if name.startswith(prefix)), "")
