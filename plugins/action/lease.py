# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.lease): take the lease of the fleet, or return it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible import constants, context

from ansible_collections.federated.flower.plugins.plugin_utils.actions import serving
from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.actions.run_facts import run_facts
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import (
    Forbidden,
    Unavailable,
    Unreachable,
)
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.lease import block, parent
from ansible_collections.federated.flower.plugins.plugin_utils.lease import lease_object as record
from ansible_collections.federated.flower.plugins.plugin_utils.lease.holding import (
    ABSENT,
    HELD,
    LOST,
    RETURNED,
    Holding,
)
from ansible_collections.federated.flower.plugins.plugin_utils.lease.taking import Lease, Lost

Result = dict[str, Any]


class ActionModule(ClusterAction):
    """See the module's documentation."""

    NEEDS_LEASE = False
    HUB_BY_GROUP = True
    ARGS = {
        "hub": {"type": "str"},
        "hub_namespace": {"type": "str"},
        "federation": {"type": "str"},
        "state": {"type": "str", "choices": ["taken", "returned"], "default": "taken"},
        "wait": {"type": "int", "default": 60},
        "claim": {"type": "bool", "default": False},
        "any_state": {"type": "bool", "default": False},
    }

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> Result:
        """Without a cluster where nothing is to be taken or returned."""
        if self.check:
            return _same("check mode changes nothing, so it needs no lease")
        folder = Path(constants.DEFAULT_LOCAL_TMP)
        holding = Holding.open(folder)
        if params["state"] == "taken":
            if holding is not None:
                with holding:
                    if holding.is_held:
                        return _same("this run holds the lease already", missing=False)
            return self._take(params, folder)
        if holding is None:
            return _same("this run holds no lease")
        with holding:
            return self._return(params, holding)

    def _take(self, params: dict[str, Any], folder: Path) -> Result:
        facts = run_facts(self.task_vars)
        if params["wait"] < 0:
            raise ClusterError(f"wait (flower_lease_wait): {params['wait']} is less than 0 seconds.")
        if context.CLIARGS.get("start_at_task"):
            raise ClusterError("--start-at-task leaves out checks that come before every change, so the lease is not taken. Run the whole playbook.")
        parent.go_on(facts["pid"], "the playbook of this task")  # nothing would return the lease
        with self._hub(params) as hub:
            # Ansible names the folder after its process and random letters.
            lease = self._lease(hub, params, record.identity(facts, folder.name))
            try:
                taken = lease.take(params["wait"], self.say)
            except (Unreachable, Unavailable) as error:
                if not params["claim"]:
                    lost = "If the hub is lost: -e flower_claim_sites=true removes sites without it."
                    remedy = lost if self.variable("__lease_removes", False) else "Run the playbook again when the hub answers."
                    raise ClusterError(f"{error.message} So the lease of the fleet cannot be taken, and nothing was changed. {remedy}") from error
                text = f"the hub is taken for lost (flower_claim_sites), so its lease is not taken: {error.message}"
                with Holding.begin(folder) as holding:
                    holding.note(ABSENT)
                return _same(text, missing=False, warnings=[text])
            if taken is None:
                with Holding.begin(folder) as holding:
                    holding.note(ABSENT)
                return _same(
                    f"there is no namespace {lease.namespace} on {hub.name} yet, so it has no lease", missing=True
                )
            words = [] if params["any_state"] else self._require_serving(hub, lease, params)
            block.begin(lease, folder, facts["pid"])
        text = f"{record.words(taken)} holds the lease of the federation {lease.federation}"
        return _same(text, missing=False, **({"warnings": words} if words else {}))

    def _require_serving(self, hub: Cluster, lease: Lease, params: dict[str, Any]) -> list[str]:
        """Refuse a hub that another one took over from, or that is a standby; what is not known, as warnings."""
        try:
            return serving.require(self, hub, params["hub"] or self.hub_host(), lease.namespace)
        except Forbidden:
            return []  # the checks name the missing rights
        except ClusterError:
            lease.give_back()
            raise

    def _return(self, params: dict[str, Any], holding: Holding) -> Result:
        with holding.locked():
            last = holding.last()
            if last.get("state") == LOST:
                raise ClusterError(last["msg"])
            if last.get("state") != HELD:
                return _same("this run has returned the lease already")
            with self._hub(params) as hub:
                lease = self._lease(hub, params, last["holder"])
                try:
                    there = lease.give_back()
                except Lost as error:
                    holding.note(LOST, msg=error.message)
                    raise
                except (Unreachable, Unavailable) as error:
                    text = f"the lease could not be returned, so it ends by itself within {record.SECONDS + 2} s: {error.message}"
                    return _same(text, warnings=[text])
            holding.note(RETURNED)
        return _same("the lease is returned" if there else "the lease was deleted meanwhile, or the hub's namespace")

    def _hub(self, params: dict[str, Any]) -> Cluster:
        hub = params["hub"] or self.hub_host()
        if not hub:
            raise ClusterError("the inventory has no group flower_hub: set flower_hub_group, or the option hub.")
        return self.connect(hub)

    @staticmethod
    def _lease(hub: Cluster, params: dict[str, Any], identity: str) -> Lease:
        return Lease(hub, params["hub_namespace"], params["federation"], identity)


def _same(msg: str, **more: Any) -> Result:
    """The result. A lease does not count as a change: a playbook that has nothing to change reports none."""
    return {"changed": False, "msg": msg, **more}
