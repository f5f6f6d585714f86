# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.skupper): the part of a host in the Skupper network."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.skupper_link import SkupperLink
from ansible_collections.federated.flower.plugins.plugin_utils.actions.skupper_listener import (
    CONNECTOR,
    LISTENER,
    SkupperListener,
)
from ansible_collections.federated.flower.plugins.plugin_utils.actions.skupper_rotation import BEGIN, FINISH
from ansible_collections.federated.flower.plugins.plugin_utils.actions.skupper_site import (
    ABSENT,
    CHECKED,
    PRESENT,
    UNINSTALLED,
    SkupperSite,
)
from ansible_collections.federated.flower.plugins.plugin_utils.skupper import rotation_plan

SITE, LINK = "site", "link"
PARTS = (SITE, LINK, LISTENER)


class ActionModule(SkupperSite, SkupperLink, SkupperListener):
    """See the module's documentation."""

    ARGS = {
        "part": {"type": "str", "choices": list(PARTS), "required": True},
        "spec": {"type": "dict", "required": True},
        "state": {"type": "str", "choices": [ABSENT, CHECKED, PRESENT, UNINSTALLED], "default": PRESENT},
        "wait": {"type": "bool", "default": True},
        "wait_timeout": {"type": "int", "default": 300},
        # site
        "upgrade": {"type": "bool", "default": False},
        # listener
        "side": {"type": "str", "choices": [LISTENER, CONNECTOR]},
        # link
        "hub": {"type": "str"},
        "hub_namespace": {"type": "str"},
        "federation": {"type": "str"},
        "renew": {"type": "bool", "default": False},
        "step": {"type": "str", "choices": [BEGIN, FINISH]},
        "rotate": {"type": "str", "default": rotation_plan.DUE, "choices": list(rotation_plan.CHOICES)},
        "sites": {"type": "list", "elements": "str", "default": []},
        "revoke": {"type": "str", "default": ""},
        "reports": {"type": "list", "elements": "dict", "default": []},
        "force": {"type": "bool", "default": False},
        "warn_only": {"type": "bool", "default": False},
        "renew_before": {"type": "str", "default": ""},
    }
    SPEC = {"required_if": [("part", LISTENER, ["side"]), ("part", LINK, ["hub"])]}

    @property
    def role(self) -> str:
        """See C(RoleAction): each part has a role of its own."""
        part = self._task.args.get("part")
        return f"skupper_{part}" if part in PARTS else ""

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Manage the part of the host that C(part) names."""
        self.begin()
        if params["part"] == SITE:
            return self.manage_site(params)
        return self.manage_link(params) if params["part"] == LINK else self.manage_listener(params)
