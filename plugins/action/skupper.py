# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.skupper): the part of a host in the Skupper network."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.skupper_link import SkupperLink
from ansible_collections.federated.flower.plugins.plugin_utils.actions.skupper_listener import LISTENER, SkupperListener
from ansible_collections.federated.flower.plugins.plugin_utils.actions.skupper_site import SkupperSite

SITE, LINK = "site", "link"
PARTS = (SITE, LINK, LISTENER)


class ActionModule(SkupperSite, SkupperLink, SkupperListener):
    """See the module's documentation."""

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
