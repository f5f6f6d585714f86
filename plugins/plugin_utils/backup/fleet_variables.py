# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The inventory as it was in effect when a backup was made: what each host's variables come to. Pure, apart from what computes them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..base.plain_data import canonical, to_json_data

#: Variables of the collection's roles and playbooks.
_OURS = re.compile(r"(flower|superlink|supernode|skupper_(site|link|listener)|ocm_addon|clientapp|cert_rotation|awx)_\w+")
# What opens the archive, and what a command line says of it.
_NEVER = re.compile(r"flower_(backup_identity|restore\w*)")


def is_ours(name: str) -> bool:
    """Whether an archive has a variable."""
    return _OURS.fullmatch(name) is not None and _NEVER.fullmatch(name) is None


def described(
    hosts: Iterable[str],
    groups: Mapping[str, Iterable[str]],
    names: Callable[[str], Iterable[str]],
    value: Callable[[str, str], Any],
    versions: Mapping[str, str],
) -> bytes:
    """The content of C(hub_archive.INVENTORY).

    Args:
        hosts: the hub and the sites.
        groups: group -> its hosts.
        names: host -> names of its variables.
        value: host and name -> what the variable comes to; it may raise an error of any kind, for example of a lookup.
        versions: of what made the backup.
    """
    found = {}
    for host in hosts:
        variables: dict[str, Any] = {}
        faults: dict[str, str] = {}
        for name in sorted(filter(is_ours, names(host))):
            try:
                variables[name] = json.loads(json.dumps(to_json_data(value(host, name)), allow_nan=False))
            except Exception as error:  # of any lookup or template: the variable is named, and the others are kept
                faults[name] = type(error).__name__
        member = sorted(group for group, members in groups.items() if host in members and group != "all")
        found[host] = {"groups": member, "variables": variables, **({"not_known": faults} if faults else {})}
    return canonical({"hosts": found, "versions": dict(versions)}).encode("ascii")
