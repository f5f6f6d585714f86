# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.site_result): what became of this host in a task that worked on many."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase

from ansible_collections.federated.flower.plugins.plugin_utils.base.plain_data import to_json_data

ARGS: dict[str, dict[str, Any]] = {"registered": {"type": "str"}, "results": {"type": "list", "elements": "dict"}}
_SKIPPED = (
    "Nothing was done, since a condition of this role or task is false for the first host of the batch. Choose the hosts of the play instead."
)


class ActionModule(ActionBase):
    """See the module's documentation."""

    _requires_connection = False
    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """The results as one: the last one counts, with the changes of all. Empty ones are of a host that was not worked on."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _outcome, params = self.validate_argument_spec(argument_spec=ARGS, required_one_of=[list(ARGS)], mutually_exclusive=[list(ARGS)])
        result.update(changed=False, msg="nothing to do")
        found = params["results"]
        if params["registered"]:
            # Not in a template: each host has a process of its own, which would compile it again.
            variables = task_vars or {}
            registered = variables.get(params["registered"], {"skipped": True})
            if "sites" not in registered and (registered.get("skipped") or registered.get("failed")):
                return result | {"failed": True, "msg": _SKIPPED if registered.get("skipped") else str(registered.get("msg"))}
            own = registered.get("sites", {}).get(variables["inventory_hostname"], [])
            found = own if isinstance(own, list) else [own]
        found = to_json_data(found)
        for one in found:
            result.update(one)
        result["changed"] = any(one.get("changed") for one in found)
        for name in ("objects", "diff", "warnings"):
            listed = [entry for one in found for entry in one.get(name) or []]
            if listed:
                result[name] = listed
        return result
