# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fleet as an inventory lists it, read in a process of its own: what events may act on, and what changed since it was read before."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..base.addresses import SUBDOMAIN
from ..base.labels import CLIENTAPP_LABEL
from ..base.plain_data import digest
from .event_request import shown_request

# Labels that change by themselves: by which Open Cluster Management reports the health of add-ons, and by which playbooks deploy ClientApps.
_NOT_THE_USERS = ("feature.open-cluster-management.io/", CLIENTAPP_LABEL)
# Variables of the plugin federated.flower.ocm that change how a site is deployed. Others report conditions and resources.
_OCM_KEPT = {"ocm_joined", "ocm_name"}
_RESERVED = {"all", "ungrouped", "localhost"}
_NAMESPACE = "flower"  # where the inventory sets none

_SECONDS = 120
_SHOWN = 400  # characters of its errors
# A source that cannot be read is an error: without it all of its sites would seem to have left.
_STRICT = {"ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "true", "ANSIBLE_INVENTORY_UNPARSED_FAILED": "true"}


@dataclass(frozen=True)
class Fleet:
    """What may be acted on.

    Attributes:
        whole: the limit for the whole fleet, as a list of groups.
        sites: name of a site -> digest of its variables.
        groups: names of all groups. A site with the name of one cannot be limited to.
        namespaces: those of hub and sites, sorted.
    """

    whole: list[str]
    sites: Mapping[str, str] = field(default_factory=dict)
    groups: frozenset[str] = frozenset()
    namespaces: tuple[str, ...] = (_NAMESPACE,)

    def fault(self, name: str) -> str:
        """Why a name that came from outside must not become a limit; empty if it may.

        Ansible reads patterns in limits (C(a:!b), C(~regex), C(@file)) and options (C(-e)), so only a plain name of a host of the inventory passes.
        """
        if len(name) > 63 or not SUBDOMAIN.fullmatch(name):
            return f"site {shown_request(name)} is not a name of a site"
        if name in _RESERVED or name in self.groups:
            return f"site {shown_request(name)} has the name of a group, which a limit would mean"
        if name not in self.sites:
            return f"site {shown_request(name)} is not a site of the inventory"
        return ""


def from_inventory(listed: Mapping[str, Any], hub_group: str, sites_group: str) -> Fleet:
    """The fleet of the output of C(ansible-inventory --list), which has variables as they are written: templates are not evaluated."""
    variables = listed.get("_meta", {}).get("hostvars", {})
    hubs, sites = _hosts(listed, hub_group, set()), _hosts(listed, sites_group, set())
    found = set()
    for names, own in ((hubs, "superlink_namespace"), (sites, "supernode_namespace")):  # as the roles find the namespace of a host
        for given in (variables.get(name, {}) for name in names):
            found.add(str(given.get(own) or given.get("flower_namespace") or _NAMESPACE))
    return Fleet(
        [hub_group, sites_group],
        {name: _digest(variables.get(name, {})) for name in sites},
        frozenset(listed) - {"_meta"},
        tuple(sorted(found)),
    )


def from_names(names: Iterable[str], hub_group: str, sites_group: str) -> Fleet:
    """The fleet where the inventory is elsewhere, such as on a controller: the names of its sites are given."""
    return Fleet([hub_group, sites_group], dict.fromkeys(names, ""), frozenset({hub_group, sites_group}))


def changes(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[list[str], list[str], list[str]]:
    """Sites that are new, whose variables have changed, and that are missing, between two readings."""
    changed = sorted(name for name in after.keys() & before.keys() if after[name] != before[name])
    return sorted(after.keys() - before.keys()), changed, sorted(before.keys() - after.keys())


def _hosts(listed: Mapping[str, Any], group: str, seen: set[str]) -> list[str]:
    """Hosts of a group and of its children, which can refer to each other."""
    if group in seen or group not in listed:
        return []
    seen.add(group)
    below = [host for child in listed[group].get("children", []) for host in _hosts(listed, child, seen)]
    return [*listed[group].get("hosts", []), *below]


def _digest(variables: Mapping[str, Any]) -> str:
    kept = {key: value for key, value in variables.items() if not key.startswith("ocm_") or key in _OCM_KEPT}
    labels = variables.get("ocm_labels") or {}
    kept["ocm_labels"] = {key: value for key, value in labels.items() if not key.startswith(_NOT_THE_USERS)}
    return digest(kept)


class ListingError(Exception):
    """The inventory could not be read. The text names it, and says what C(ansible-inventory) said last."""


async def list_inventory(path: str) -> dict[str, Any]:
    """The output of C(ansible-inventory --list).

    Raises:
        ListingError: it cannot be read, or not within two minutes.
    """
    try:
        command, pipe = ["ansible-inventory", "-i", path, "--list"], asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*command, env={**os.environ, **_STRICT}, stdout=pipe, stderr=pipe)
    except OSError as error:
        raise ListingError(f"inventory {path}: ansible-inventory cannot be started: {error}") from error
    try:
        output, errors = await asyncio.wait_for(process.communicate(), _SECONDS)
    except asyncio.TimeoutError as error:
        raise ListingError(f"inventory {path}: not read within {_SECONDS} s") from error
    finally:
        if process.returncode is None:
            process.kill()
    if process.returncode:
        raise ListingError(f"inventory {path}: {errors.decode('utf-8', 'replace').strip()[-_SHOWN:]}")
    found: dict[str, Any] = json.loads(output)
    return found
