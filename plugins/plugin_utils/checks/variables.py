# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Variables with this collection's prefixes that it does not have: a misspelt one would be ignored without a word."""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .inventory import HUB, SITES, STANDBY

# Prefixes of the roles' variables and of those that they share.
PREFIXES = ("flower_", "superlink_", "supernode_", "skupper_", "cert_rotation_", "ocm_addon_", "clientapp_")

# Variables of the user's own that have one of the prefixes.
OWN = "flower_own_variables"

# What entry points of roles return.
RESULTS = frozenset((
    "ocm_addon_checked", "ocm_addon_policy", "skupper_link_result", "skupper_link_rotated", "superlink_checked",
    "superlink_described", "superlink_metrics_policy", "superlink_rights",
))  # fmt: skip

# Variables of the role supernode of earlier releases -> the inventory's variable that says the same. They may not contradict it.
FORMER = {
    "supernode_delivery": "flower_delivery",
    "supernode_key_source": "flower_key_source",
    "supernode_connectivity": "flower_connectivity",
}

_OUTPUTS = (
    "a backup and a standby have no outputs of runs. Save outputs with federated.flower.outputs, have apps write them to S3-compatible storage, or back up "
    "the volume claim with VolumeSnapshot, Velero or restic (guide_outputs)"
)
_REPORT = "images are queried when a run is submitted, and pods no longer report packages"
# Variables that earlier releases had -> why there are none any more, and what to do instead.
REMOVED = dict.fromkeys(("flower_backup_outputs", "flower_restore_outputs", "flower_standby_outputs"), _OUTPUTS) | dict.fromkeys(
    ("flower_packages_report", "supernode_packages_report"), _REPORT
) | {"flower_plan_hours": "a plan is compared with the changes that are due, and does not expire"}

# Variables of rulebooks, connections and of plugins alone. Those of playbooks are read from these, those of roles, and those from which roles take
# defaults, from the roles' defaults.
SHARED = frozenset((
    "flower_acm_hub_labels", "flower_api_timeout", "flower_event_alerts", "flower_event_cafile", "flower_event_certfile", "flower_event_gather",
    "flower_event_host", "flower_event_inventory", "flower_event_keyfile", "flower_event_most", "flower_event_namespaces", "flower_event_pause",
    "flower_event_port", "flower_event_repairs", "flower_event_sites", "flower_event_watch", "flower_key_source", "flower_ocm_by_labels", OWN,
    "flower_upgrade_app_config", "flower_upgrade_pull_timeout",
))  # fmt: skip

_ROOT = Path(__file__).resolve().parents[3]
_IN_DEFAULTS = re.compile(r"^[a-z][a-z0-9_]*(?=:)|\bflower_[a-z0-9_]+(?= \| default\()", re.MULTILINE)
_IN_PLAYBOOKS = re.compile(r"\bflower_[a-z0-9_]*[a-z0-9]\b(?![.*])")
_OF_ROLE = re.compile(r"\b(?:superlink|supernode)_[a-z0-9_]+")
_TAKEN = re.compile(r"\s*\{\{ (flower_[a-z0-9_]+) \| default\(")


@functools.cache
def known() -> frozenset[str]:
    """All variables of the collection. A unit test compares them with the roles' argument specifications."""
    found = {*SHARED, *RESULTS, *FORMER}
    for pattern, files in ((_IN_DEFAULTS, "roles/*/defaults/main.yml"), (_IN_PLAYBOOKS, "playbooks/**/*.yml")):
        for path in _ROOT.glob(files):
            found.update(pattern.findall(path.read_text(encoding="utf-8")))
    return frozenset(found - {HUB, SITES, STANDBY})


def faults(host: str, names: Iterable[str], own: Any = ()) -> list[str]:
    """A sentence for each variable of a host that has one of the prefixes and is not known.

    Args:
        names: names of the host's variables.
        own: the value of C(flower_own_variables), in which the user declared some: a list, or a text with commas, as the command line can give it.
    """
    there, names = known(), list(names)
    if not isinstance(own, (str, list, tuple, type(None))):
        return [f"{host}: {OWN} is {own!r}, which is not a list of names"]
    mine = {str(name).strip() for name in (own.split(",") if isinstance(own, str) else own or ())}
    strange = sorted(name for name in names if name.startswith(PREFIXES) and name not in there and name not in mine and name not in REMOVED)
    return removed(host, names) + [f"{host}: {name}: this collection has no such variable. {_hint(name, there)}" for name in strange]


def removed(host: str, names: Iterable[str]) -> list[str]:
    """A sentence for each variable of a host that is in C(REMOVED)."""
    return [f"{host}: {name} was removed: {REMOVED[name]}. Remove it from your variables." for name in sorted(REMOVED.keys() & set(names))]


def _hint(name: str, there: Iterable[str]) -> str:
    nearest = difflib.get_close_matches(name, there, n=1, cutoff=0)
    return f"The most similar one is {nearest[0]}. Correct the name; if it is your own variable, add it to {OWN}."


def with_origins(message: str, raw: Mapping[str, Any]) -> str:
    """A message about variables of a role, with the names of those that people gave instead.

    Args:
        message: names variables of roles.
        raw: the host's variables, not templated, with the defaults of the role.
    """
    taken = {name: _TAKEN.match(str(raw.get(name, ""))) for name in sorted(set(_OF_ROLE.findall(message)))}
    words = [f"{name} has the value of {found[1]}." for name, found in taken.items() if found and found[1] in raw]
    return "\n".join([message, *words])
