# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The action supernode: with what of the hub the sites are deployed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.action import supernode

FOUND = {"address": "flower.example.com:443", "ca_bundle": "CA", "server_name": "flower.example.com", "changed": True}
KNOWN = {key: FOUND[key] for key in ("address", "ca_bundle", "server_name")}


@pytest.mark.parametrize(
    ("check", "rendering", "registered", "foreseen"),
    [(True, False, FOUND, KNOWN), (False, False, FOUND, {}), (True, True, FOUND, {}), (True, False, {"skipped": True}, {}), (True, False, None, {})],
)
def test_check_mode_knows_what_the_hub_would_publish(check: bool, rendering: bool, registered: Any, foreseen: dict[str, str]) -> None:
    variables = {} if registered is None else {"__superlink_deployed": registered}
    asked: Any = SimpleNamespace(check=check, rendering=rendering, value_of=lambda host, name, default: {"hub": variables}[host].get(name, default))
    assert supernode.ActionModule._foreseen(asked, "hub") == foreseen
