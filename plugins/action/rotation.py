# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.rotation): the hub's part of a rotation."""

from __future__ import annotations

import datetime
from dataclasses import replace
from typing import Any

from ansible.utils.display import Display

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.object_names import GATEWAY_SECRET, SUPERLINK
from ansible_collections.federated.flower.plugins.plugin_utils.base.problems import require
from ansible_collections.federated.flower.plugins.plugin_utils.base.secret_data import entries
from ansible_collections.federated.flower.plugins.plugin_utils.base.times import duration
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI
from ansible_collections.federated.flower.plugins.plugin_utils.hub.sources import builtin
from ansible_collections.federated.flower.plugins.plugin_utils.hub.sources.interface import BUILTIN, SOURCES
from ansible_collections.federated.flower.plugins.plugin_utils.ledger.store import Ledger, LedgerError
from ansible_collections.federated.flower.plugins.plugin_utils.ownership import ca_namespace
from ansible_collections.federated.flower.plugins.plugin_utils.pki import chain, library
from ansible_collections.federated.flower.plugins.plugin_utils.rights import ask, fixed_rights
from ansible_collections.federated.flower.plugins.plugin_utils.rights.need import ROTATE
from ansible_collections.federated.flower.plugins.plugin_utils.rotation import conditions, machine, roster, site_proof
from ansible_collections.federated.flower.plugins.plugin_utils.rotation import plan as plans
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.ca_state import IDLE, State
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.hub_steps import Hub, RotationError, Settings
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.internal import Internal
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.source import LEAF
from ansible_collections.federated.flower.plugins.plugin_utils.validate.certificate_rules import rotation_problems

display = Display()

OFFLINE_GRACE = 30  # seconds in which a SuperNode that is offline may come back before it stops the rotation

# Result of a look that finds nothing to do.
_NOTHING: dict[str, Any] = {
    "changed": False, "todo": [], "parts": [], "renew": [], "restarts": False, "reasons": {}, "plan": [], "fleet": {},
}  # fmt: skip


class ActionModule(ClusterAction):
    """See the module's documentation."""

    ARGS = {
        "hub": {"type": "str", "required": True},
        "hub_namespace": {"type": "str"},
        "ca_namespace": {"type": "str", "default": "flower-ca"},
        "federation": {"type": "str"},
        "step": {"type": "str", "required": True, "choices": ["look", "leaf", "ca", "gate", "secrets", "settle"]},
        "source": {"type": "str", "default": BUILTIN, "choices": list(SOURCES)},
        "rotate": {"type": "str", "default": plans.DUE, "choices": list(plans.CHOICES)},
        "sites": {"type": "list", "elements": "str", "default": []},
        "reports": {"type": "list", "elements": "dict", "default": []},
        "begin": {"type": "bool", "default": False},
        "force": {"type": "bool", "default": False},
        "grace": {"type": "int", "default": 3600},
        "wait": {"type": "int", "default": 3600},
        "wait_timeout": {"type": "int", "default": 300},
        "days": {"type": "int", "default": 90},
        "ca_days": {"type": "int", "default": 3650},
        "renew_before": {"type": "str", "default": ""},
        "ca_renew_before": {"type": "str", "default": ""},
        "ca_certificate": {"type": "str", "default": ""},
        "ca_key": {"type": "str", "default": "", "no_log": True},
    }
    SPEC = {"required_together": [("ca_certificate", "ca_key")]}

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Do one part, depending on the state of the hub and the reports of sites."""
        library.require()
        require(rotation_problems(params, params["hub"]))
        with self.connect(params["hub"]) as cluster:
            place = ca_namespace.resolve(cluster, params["hub_namespace"], params["ca_namespace"])
            self.params = params = {**params, "ca_namespace": place}
            self.hub = Hub(cluster, self._settings(params), self.note)
            self.ledger = Ledger(cluster, params["hub_namespace"], params["federation"], check=self.check)
            self.book, (self.records, unreadable) = self.ledger.read_book(), self.ledger.read_sites()
            if unreadable and params["step"] == "look" and params["rotate"] == plans.DUE:
                # The site itself has failed with this. Nothing is rotated before all sites can be asked.
                words = "nothing is rotated: " + "; ".join(unreadable.values())
                return {
                    **_NOTHING,
                    "warnings": [words],
                    "msg": words,
                }
            if unreadable:
                raise LedgerError("; ".join(unreadable.values()))
            self.cli = FlowerCLI(cluster, params["hub_namespace"])
            result = getattr(self, f"_{params['step']}")(params)
        return {"warnings": self.hub.warnings, **result}

    @staticmethod
    def _settings(params: dict[str, Any]) -> Settings:
        is_given = params["ca_key"] and params["source"] == BUILTIN
        try:
            given = builtin.handed_in(params["ca_certificate"], params["ca_key"]) if is_given else None
        except chain.ChainError as error:
            raise ClusterError(f"{error}.") from error
        return Settings(
            params["federation"],
            params["hub_namespace"],
            params["ca_namespace"],
            datetime.timedelta(days=params["days"]),
            datetime.timedelta(days=params["ca_days"]),
            given,
        )

    @property
    def _now(self) -> datetime.datetime:
        return datetime.datetime.now(datetime.timezone.utc)

    def _members(self, params: dict[str, Any]) -> dict[str, dict[str, Any]]:
        return roster.members(self.book, self.records, params["sites"])

    def _state(self) -> State | None:
        """The CA; None where it is not ours, or where the gateway does not serve what it signs yet."""
        other = self.hub.settings.handed_in or self.params["source"] != BUILTIN or self.hub.gateway.secret() != GATEWAY_SECRET
        if other:
            return None
        return self.hub.ca()[1]

    def _facts(self, state: State | None, facts: machine.Facts) -> dict[str, Any]:
        """What sites are asked next, and facts for the user."""
        return {
            "phase": state.phase if state else IDLE,
            "bundle": state.bundle if state else facts.published,
            "server_name": self.hub.publication()["data"]["server_name"],
            "wanted": site_proof.wanted(state, facts) if state else {site_proof.NOW: facts.leaf.serial},
        }

    # ---- look --------------------------------------------------------------------------------------------------------

    def _look(self, params: dict[str, Any]) -> dict[str, Any]:
        """What is due, and what would be done."""
        none = _NOTHING
        if self.check and not self.hub.is_deployed():
            return none | {"msg": "nothing is deployed yet"}
        if self.hub.is_insecure():
            if params["rotate"] == plans.DUE:
                return none | {"msg": "nothing is due: the federation has no TLS"}
            raise RotationError(
                f"the federation on {self.hub.cluster.name} has no TLS (flower_insecure is true), so there is nothing to rotate."
            )
        state = self._state()
        facts = self.hub.facts(state, self._now)
        inputs = plans.RotationInputs(
            now=self._now,
            source=params["source"],
            handed_in=self.hub.settings.handed_in,
            secret=self.hub.gateway.secret(),
            leaf=entries(self.hub.gateway_secret()),
            names=self.hub.needed_names(),
            state=state,
            facts=replace(facts, grace=datetime.timedelta(seconds=params["grace"]), force=params["force"]),
            records={name: record for name, record in self.records.items() if name in params["sites"]},
            renew_before=duration(params["renew_before"]),
            ca_renew_before=duration(params["ca_renew_before"]),
            internal=Internal(self.hub).started() is not None,
        )
        todo, refused = plans.decide(params["rotate"], inputs)
        if refused:
            raise RotationError(f"{refused}.")
        if todo:
            namespaces = (params["hub_namespace"], params["ca_namespace"])
            ask.require(self.hub.cluster, fixed_rights.rights_of_work(SUPERLINK, ROTATE, *namespaces))
        members = self._members(params)
        sites = roster.heard(members, [])
        words = plans.outlook(todo, inputs, sites)
        return {
            "changed": bool(todo) and self.check,
            "todo": list(todo),
            "parts": plans.parts(todo),
            "renew": plans.renewed(params["rotate"]),
            "restarts": plans.restarts(todo),
            "reasons": todo,
            "issue": todo.get(LEAF) not in (None, plans.UNSERVED),
            "plan": words,
            "fleet": members,
            "msg": " ".join(words) or "nothing is due",
            **self._facts(state, facts),
        }

    # ---- the gateway's certificate -----------------------------------------------------------------------------------

    def _leaf(self, params: dict[str, Any]) -> dict[str, Any]:
        """A new certificate, served at once."""
        before = self.hub.facts(self._state(), self._now).leaf.served
        if self.check:
            return {"changed": True, "msg": "would issue a new certificate for the gateway and serve it"}
        if params["begin"]:
            self.hub.issue(self._now)
        self.hub.serve(self._now)
        state = self._state()
        facts = self.hub.facts(state, self._now)
        return {
            "changed": True,
            "msg": f"the gateway serves certificate {facts.leaf.serial}, before that it served {before}",
            **self._facts(state, facts),
        }

    # ---- the CA ------------------------------------------------------------------------------------------------------

    def _ca(self, params: dict[str, Any]) -> dict[str, Any]:
        """Step after step until sites must report, something must be waited for, or all is done."""
        _live, state = self.hub.ca()
        asked = params["begin"] and state.phase == IDLE
        members = self._members(params)
        done: list[str] = []
        while True:
            facts = replace(
                self.hub.facts(state, self._now),
                asked=asked,
                grace=datetime.timedelta(seconds=params["grace"]),
                sites=roster.heard(members, params["reports"]),
                force=params["force"],
            )
            step = machine.next_step(state, facts)
            if step.name == machine.SWITCH:
                step = self._gate_switch(step, facts)
            if step.name in (machine.ASK, machine.WAIT, machine.DONE) or self.check:
                break
            self.hub.do(step, self._now)
            done.append(step.why)
            asked = asked and step.name != machine.BEGIN
            _live, state = self.hub.ca()
        result = {
            "changed": bool(done),
            "done": done,
            "next": step.name,
            "sites": list(step.sites),
            "waiting": step.why if step.name == machine.WAIT else "",
            "finished": step.name == machine.DONE,
            "fleet": members,
            **self._facts(state, facts),
        }
        if step.held:
            return {
                **{name: result[name] for name in ("changed", "done", "sites")},
                "failed": True,
                "msg": f"{params['hub']}: the rotation of the CA stays {state.phase} until this is resolved: {step.why}",
            }
        return {**result, "msg": "; ".join(done) or step.why}

    def _gate_switch(self, step: machine.Step, facts: machine.Facts) -> machine.Step:
        """Every SuperNode is online; unless none can be, because their CA has expired."""
        if facts.force or not facts.current_good:
            return step
        away = self._offline(OFFLINE_GRACE)
        if not away:
            return step
        return machine.Step(machine.WAIT, "; ".join(f"{site}: {words}" for site, words in away.items()), tuple(away))

    def _offline(self, seconds: float) -> dict[str, str]:
        """Sites whose SuperNodes do not serve, also after a while; those that wait for their restart with a new key do."""
        away = conditions.offline(self.records, self.book, self.cli.nodes())
        if not away:
            return {}
        wanted = [
            key["node_id"]
            for site, record in self.records.items()
            if not conditions.exemption(site, self.book, self.records)
            for key in conditions.expected(record)
        ]
        return conditions.offline(self.records, self.book, self.cli.nodes(wanted, seconds))

    # ---- before pods are restarted -----------------------------------------------------------------------------------

    def _gate(self, params: dict[str, Any]) -> dict[str, Any]:
        """Wait until pods may be restarted."""
        if self.check or params["force"]:
            return {"changed": False, "fleet": self._members(params), "msg": "not waited for"}
        away = self._offline(OFFLINE_GRACE)
        absent = [site for site, entry in self._members(params).items() if site in away and not entry["here"]]
        if away:
            reported = "; ".join(f"{site}: {words}" for site, words in away.items())
            more = " (not in this run)" if absent else ""
            raise RotationError(
                f"every site must be online before pods are restarted; {reported}{more}. Start them and run again, deny them "
                "(federated.flower.site_access), or go on without them, and with runs that are active: -e cert_rotation_force=true"
            )
        conditions.wait_no_run(self.cli, params["wait"], display.display)
        return {"changed": False, "fleet": self._members(params), "msg": "every site is online, no run is active"}

    # ---- shared secrets and internal certificates --------------------------------------------------------------------

    def _secrets(self, params: dict[str, Any]) -> dict[str, Any]:
        """New ones for the hub's own pods, which are restarted for them."""
        internal = Internal(self.hub)
        if self.check:
            return {
                "changed": True,
                "excused": [],
                "mark": "",
                "msg": "would replace the hub's secrets and restart its pods",
            }
        self._gate(params)
        mark = internal.begin(self._now)
        made = internal.make(mark)
        restarted = internal.restart(params["wait_timeout"])
        away = self._offline(params["wait_timeout"]) if restarted else {}
        if away and not params["force"]:
            raise RotationError(
                "the hub's pods were restarted, but not every SuperNode came back: "
                + "; ".join(f"{site}: {words}" for site, words in away.items())
            )
        return {
            "changed": bool(made or restarted),
            "mark": mark,
            "excused": [site for site, entry in self._members(params).items() if entry["excused"]],
            "msg": f"{len(made)} Secrets recreated, {len(restarted)} pods of the hub restarted",
        }

    def _settle(self, params: dict[str, Any]) -> dict[str, Any]:
        """Every site has its new secrets: the rotation is complete."""
        said = {report["site"]: report for report in params["reports"] if report.get("site")}
        missing = {
            site: said.get(site, {}).get("trouble") or "not in this run"
            for site, entry in self._members(params).items()
            if not entry["excused"] and not said.get(site, {}).get("renewed")
        }
        reported = "; ".join(f"{site}: {words}" for site, words in missing.items())
        if missing and not self.check and not params["force"]:
            return {
                "changed": False,
                "failed": True,
                "msg": f"{params['hub']}: not every site has its new secrets yet: {reported}",
            }
        words = "all shared secrets and internal certificates are new"
        if missing and not self.check:
            words = f"shared secrets and internal certificates are new, but not those of sites that were left out: {reported}"
            self.hub.warnings.append(f"{words}. To replace them as well, rotate superexec again when these sites are available")
        changed = self.check or Internal(self.hub).settle(words)
        return {"changed": changed, "msg": words}
