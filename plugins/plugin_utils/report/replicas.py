# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""SuperNodes by their pool and name, whichever key each serves with: a key and its successor are those of one SuperNode. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Keys = Iterable[Mapping[str, Any]]


def used(keys: Keys) -> set[tuple[str, str]]:
    """Those that a site has. Keys that leave, or that Flower never accepts again, are those of none."""
    return {(key["pool"], key["name"]) for key in keys if key["node_id"] and not key.get("leaving") and not key.get("dead")}


def serving(keys: Keys, nodes: Mapping[str, Mapping[str, Any]]) -> set[tuple[str, str]]:
    """Those that are online at the SuperLink, also with a key that leaves."""
    return {(key["pool"], key["name"]) for key in keys if nodes.get(key["node_id"], {}).get("status") == "online"}
