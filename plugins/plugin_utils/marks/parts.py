# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""To which part of a federation an object belongs, the hub or a site: both may be in one namespace. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .proof import labels_of

HUB, SITE = "hub", "site"
# On rights (Roles, bindings and accounts), whose other labels are the same for both parts.
PART = "federated.flower/part"
BINDINGS = ("RoleBinding", "ClusterRoleBinding")
_NAME = "app.kubernetes.io/name"
_APPLICATIONS = {
    "superlink": HUB,
    "superlink-metrics": HUB,
    "serverapp": HUB,
    "flower-ledger": HUB,
    "flower-audit": HUB,
    "flower-lease": HUB,
    "flower-upgrade": HUB,
    "flower-standby": HUB,
    "flower-restore": HUB,
    "supernode": SITE,
    "supernode-keys": SITE,
    "clientapp": SITE,
    "skupper": "",  # both may have them; a Link to the hub has a name like those rights below
}
# Names of objects without that label: records of ApplySets, and rights that were created before the label was introduced.
HUB_RECORD = "applyset-superlink"
_NAMES = {HUB_RECORD: HUB, "applyset-supernode": SITE}
_PREFIXES = {"flower-hub-": HUB, "flower-site-": SITE}


def part_of(obj: Mapping[str, Any]) -> str:
    """C(HUB), C(SITE), or empty for what both parts may have (a Namespace, objects of Skupper)."""
    labels, name = labels_of(obj), obj["metadata"]["name"]
    if labels.get(PART):
        return labels[PART]
    if labels.get(_NAME) in _APPLICATIONS:
        return _APPLICATIONS[labels[_NAME]]
    return _NAMES.get(name) or next((part for prefix, part in _PREFIXES.items() if name.startswith(prefix)), "")


def needed_by_others(members: Sequence[dict[str, Any]], part: str, *, all_bindings: bool) -> list[dict[str, Any]]:
    """Those members of a set that the other part of the federation needs: its own objects, and the accounts that its bindings name.

    Args:
        members: live objects of the set.
        part: C(HUB) or C(SITE).
        all_bindings: whether all bindings of the set are among them; if not, accounts of no part are needed.
    """
    own = [one for one in members if part_of(one) not in ("", part)]
    named = {
        (subject.get("namespace"), subject.get("name"))
        for one in own
        for subject in (one.get("subjects") or () if one["kind"] in BINDINGS else ())
        if subject.get("kind") == "ServiceAccount"
    }

    def is_needed(one: Mapping[str, Any]) -> bool:
        if part_of(one) not in ("", part):
            return True
        meta = one["metadata"]
        unknown = not all_bindings and not part_of(one)
        return one["kind"] == "ServiceAccount" and (unknown or (meta.get("namespace"), meta["name"]) in named)

    return [one for one in members if is_needed(one)]
