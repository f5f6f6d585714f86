# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One run of a rotation: what is due, then the steps on the hub, and between them the tests and restarts at the sites.

All state is in the clusters (C(ca_state), C(secrets_rotation)), so the next run completes what was interrupted.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from ..base.formats import duration
from ..base.object_names import BUILTIN, GATEWAY_SECRET, SUPERLINK
from ..base.secret_data import entries
from ..flower.cli import FlowerCLI
from ..rights import ask
from ..rights.need import ROTATE
from ..state.ledger import Ledger, LedgerError
from . import clocks, gateway_certificates, machine, restart_conditions, site_proof, targets
from .ca_state import IDLE, State
from .hub_steps import Hub, RotationError
from .secrets_rotation import SecretsRotation
from .site_proof import NOW, Object, Proof, Report

_OFFLINE_GRACE = 30  # seconds in which a SuperNode that is offline may come back before it stops the rotation
_TESTS = 3  # of the sites: before the next CA signs, when it does, and after the previous one is dropped


class Sites(Protocol):
    """The sites of this run. One that fails takes no part in what follows."""

    def require_playbook(self) -> None:
        """Called before each step on the hub; raises C(ClusterError) if the playbook has ended."""

    def good(self) -> list[str]:
        """Names of the sites that have not failed."""

    def faults(self) -> dict[str, str]:
        """Site -> its error, of those that have failed."""

    def prove(self, proof: Proof, expected: Mapping[str, Sequence[Object]], because: Mapping[str, Report], *, required: bool) -> dict[str, Report]:
        """Deploy the CA bundle to sites, and have their SuperNodes tested; returns their reports.

        Args:
            expected: site -> keys of SuperNodes that must answer.
            because: reports of restarts before, whose faults are reported together.
            required: whether a site fails that is down, or whose SuperNodes refuse.
        """

    def restart(self, names: Collection[str], files: Sequence[str], mark: str = "") -> dict[str, Report]:
        """Restart SuperNodes that run with older files, one site after the other.

        C(mark): the shared secret is replaced first, unless it carries it. Site -> C(site), C(restarted) (names of pods), C(renewed) (whether all
        run with the secret of the mark) and C(trouble).
        """

    def renew(self, kinds: Sequence[str]) -> None:
        """Check the sites and deploy them, with C(kinds), C(keys) or C(client), replaced although they are valid."""


class Rotation:
    """A rotation of one federation. C(options) are those of the role cert_rotation, without their prefix and validated.

    Attributes:
        changed: whether anything was changed on the hub.
        done: what was done there, and what is waited for, sentences.
        handshakes: a table of what the SuperNodes were shown before and after; empty where nothing was tested.
    """

    def __init__(self, hub: Hub, ledger: Ledger, cli: FlowerCLI, options: Mapping[str, Any], say: Callable[[str], None]) -> None:
        self.hub, self.ledger, self.cli, self.options, self.say = hub, ledger, cli, options, say
        self.changed = False
        self.done: list[str] = []
        self.handshakes: list[str] = []
        self._internal = SecretsRotation(hub)

    @property
    def _now(self) -> datetime.datetime:
        return datetime.datetime.now(datetime.timezone.utc)

    # ---- what is due -------------------------------------------------------------------------------------------------

    def due(self, names: Collection[str], *, check: bool) -> dict[str, Any]:
        """What is to be rotated at the hub and at some sites, and what that means; with C(check), nothing may be deployed yet.

        Returns:
            C(todo): kind -> why, in the order in which they are done; C(plan): what would happen, sentences; C(msg): the plan, or why nothing is done.

        Raises:
            RotationError: what was requested cannot be done; the text has the remedy.
            LedgerError: the record of a site cannot be read.
            ClusterError: the hub does not answer, or rights are missing for what is to be done.
        """
        nothing: dict[str, Any] = {"todo": {}, "plan": [], "msg": "nothing is due"}
        asked, settings = self.options["rotate"], self.hub.settings
        self.book, (self.records, unreadable) = self.ledger.read_book(), self.ledger.read_sites()
        if unreadable:  # nothing is rotated before all sites can be asked
            raise LedgerError("; ".join(unreadable.values()))
        if check and not self.hub.is_deployed():
            return {**nothing, "msg": "nothing is deployed yet"}
        published = self.hub.publication()["data"]
        if published.get("insecure") == "true":
            if asked == targets.DUE:
                return {**nothing, "msg": "nothing is due: the federation has no TLS"}
            raise RotationError(f"the federation on {self.hub.cluster.name} has no TLS (flower_insecure is true), so there is nothing to rotate.")
        state = self._state()
        inputs = targets.RotationInputs(
            now=self._now,
            source=self.options["certificates_source"],
            handed_in=settings.handed_in,
            secret=self.hub.gateway.secret(),
            leaf=entries(self.hub.gateway_secret()),
            names=gateway_certificates.needed_names(published),
            state=state,
            facts=self._facts(state),
            records={name: record for name, record in self.records.items() if name in names},
            renew_before=duration(self.options["renew_before"]),
            ca_renew_before=duration(self.options["ca_renew_before"]),
            internal=self._internal.started() is not None,
        )
        todo, refused = targets.decide(asked, inputs)
        if refused:
            raise RotationError(f"{refused}.")
        if not todo:
            return nothing
        ask.require(self.hub.cluster, ask.rights_of_work(SUPERLINK, ROTATE, settings.namespace, settings.ca_namespace))
        plan = targets.outlook(todo, inputs, site_proof.site_facts(site_proof.members(self.book, self.records, names), {}))
        return {"todo": todo, "plan": plan, "msg": " ".join(plan)}

    # ---- the parts ---------------------------------------------------------------------------------------------------

    def run(self, todo: Mapping[str, str], sites: Sites) -> None:
        """Do what is due: kind -> why.

        Raises:
            ClusterError: it cannot continue; the text has the fault and the remedy. The next run completes it.
        """
        clocks.require_clock(self.hub.cluster)  # before sites get new keys, whose certificates could not be signed
        self.sites, self._todo = sites, todo
        self._parts = list(dict.fromkeys(targets.TARGETS[kind].part for kind in todo))
        self._before: dict[str, Report] = {}
        self._reports: list[Report] = []
        parts = {
            targets.LEAF: self._replace_leaf,
            targets.CA: self._replace_ca,
            targets.SITES: self._renew_sites,
            targets.SECRETS: self._replace_secrets,
        }
        try:
            self._before = self._prove({NOW: ""}, first=True)
            faults = sites.faults()
            # All sites depend on the gateway's certificate, which needs nothing of any of them.
            if faults and self._parts != [targets.LEAF]:
                raise RotationError("; ".join(faults.values()))
            for part in self._parts:
                sites.require_playbook()
                parts[part]()
        finally:
            if {targets.LEAF, targets.CA} & {*self._parts}:
                self.handshakes = site_proof.handshake_table(list(self._before.values()), self._reports)

    def _read(self) -> None:
        """What the ledger has now; another run may have changed it."""
        self.book, (self.records, unreadable) = self.ledger.read_book(), self.ledger.read_sites()
        if unreadable:
            raise LedgerError("; ".join(unreadable.values()))

    def _state(self) -> State | None:
        """The CA; None where it is not ours, or where the gateway does not serve what it signs yet."""
        source = self.options["certificates_source"]
        if self.hub.settings.handed_in or source != BUILTIN or self.hub.gateway.secret() != GATEWAY_SECRET:
            return None
        return self.hub.ca()[1]

    def _facts(self, state: State | None) -> machine.Facts:
        grace = datetime.timedelta(seconds=self.options["grace"])
        return replace(self.hub.facts(state, self._now), grace=grace, force=self.options["force"])

    def _members(self) -> dict[str, dict[str, Any]]:
        return site_proof.members(self.book, self.records, self.sites.good())

    def _prove(
        self,
        wanted: Mapping[str, str],
        names: Collection[str] = (),
        because: Mapping[str, Report] | None = None,
        *,
        required: bool = False,
        **more: Any,
    ) -> dict[str, Report]:
        """Site -> its report, of C(names), or of all sites that must report. C(more): C(bundle) and C(first) of C(Proof)."""
        proof = Proof(self.hub.publication()["data"]["server_name"], wanted, seconds=self.options["proof_timeout"], **more)
        members = self._members()
        expected = {name: members[name]["expected"] for name in names or self.sites.good() if not members[name]["exempt"]}
        return self.sites.prove(proof, expected, because or {}, required=required)

    def _replace_leaf(self) -> None:
        """A new certificate of the gateway, served at once."""
        self.changed = True
        before = self.hub.facts(self._state(), self._now).leaf.served
        if self._todo[targets.LEAF] != targets.UNSERVED:
            self.hub.issue()
        self.hub.serve()
        state = self._state()
        facts = self._facts(state)
        self.done.append(f"the gateway serves certificate {facts.leaf.serial}, before that it served {before}")
        serial = site_proof.wanted_serials(state, facts)[NOW] if state else facts.leaf.serial
        # The rotation of the CA has it proved as well, after the sites have its CA bundle, and says what holds it up.
        required = not self.options["force"] and targets.CA not in self._parts
        self._reports += self._prove({NOW: serial}, required=required).values()

    def _replace_ca(self) -> None:
        """Step after step, until something must be waited for or all is done."""
        self._read()
        _live, state = self.hub.ca()
        requested, tests = state.phase == IDLE, 0
        reports: dict[str, Report] = {}
        while True:
            facts = replace(self._facts(state), requested=requested, sites=site_proof.site_facts(self._members(), reports))
            step = machine.next_step(state, facts)
            # Every SuperNode is online before the next CA signs; unless none can be, because their CA has expired.
            if step.name == machine.SWITCH and facts.current_valid and not facts.force and (away := self._offline(_OFFLINE_GRACE)):
                step = machine.Step(machine.WAIT, _sentence(away), tuple(away))
            if step.name in (machine.WAIT, machine.DONE):
                break
            if step.name != machine.TEST_SITES:
                self.sites.require_playbook()
                self.hub.do(step, self._now)
                self.changed = True
                self.done.append(step.why)
                requested = requested and step.name != machine.BEGIN
            elif tests == _TESTS:
                raise RotationError("the CA, or the SuperNodes, were changed by another run during this rotation: run again when that is complete")
            else:
                tests += 1
                wanted, bundle = site_proof.wanted_serials(state, facts), state.bundle
                reports = self._prove(wanted, bundle=bundle)
                self._reports += reports.values()
                if stale := [name for name, report in reports.items() if report["stale"]]:
                    # SuperNodes that read the CA bundle only once are restarted, and prove it again.
                    again = self._prove(wanted, stale, self.sites.restart(stale, ["trust"]), bundle=bundle)
                    self._reports += again.values()
                    reports |= again
                self._read()
            _live, state = self.hub.ca()
        if step.is_blocked:
            raise RotationError(f"the rotation of the CA stays {state.phase} until this is resolved: {step.why}")
        if step.name == machine.WAIT:
            self.done.append(step.why)

    def _offline(self, seconds: float) -> dict[str, str]:
        """Site -> which of its SuperNodes do not serve, also after a while; those that wait for their restart with a new key do."""
        wanted = [
            key["node_id"]
            for site, record in self.records.items()
            if not restart_conditions.exemption(site, self.book, self.records)
            for key in restart_conditions.expected_keys(record)
        ]
        away = restart_conditions.offline(self.records, self.book, self.cli.nodes(wanted))
        return away and restart_conditions.offline(self.records, self.book, self.cli.nodes(wanted, seconds))

    def _require_restarts_allowed(self) -> None:
        """Wait until pods may be restarted: every SuperNode is online, and no run is active."""
        self._read()
        if self.options["force"]:
            return
        if away := self._offline(_OFFLINE_GRACE):
            absent = any(not entry["here"] for site, entry in self._members().items() if site in away)
            raise RotationError(
                f"every site must be online before pods are restarted; {_sentence(away)}{' (not in this run)' if absent else ''}. Start them and "
                "run again, deny them (federated.flower.site_access), or continue without them and despite active runs: -e cert_rotation_force=true"
            )
        restart_conditions.wait_no_run(self.cli, self.options["wait"], self.say)
        self.sites.require_playbook()

    def _renew_sites(self) -> None:
        """As for a site that joins: make, register, apply, wait, retire what is old."""
        if any(targets.TARGETS[kind].restarts for kind in self._todo):
            self._require_restarts_allowed()
        rotate = self.options["rotate"]
        self.sites.renew([] if rotate == targets.DUE else targets.TARGETS[rotate].renew)

    def _replace_secrets(self) -> None:
        """New secrets for the hub's own pods, which are restarted for them, then for the sites."""
        self._require_restarts_allowed()
        mark = self._internal.begin(self._now)
        renewed, seconds = self._internal.make(mark), self.options["wait_timeout"]
        restarted = self._internal.restart(seconds)
        self.changed |= bool(renewed or restarted)
        self.done.append(f"{len(renewed)} Secrets recreated, {len(restarted)} pods of the hub restarted")
        away = self._offline(seconds) if restarted else {}
        if away and not self.options["force"]:
            raise RotationError(f"the hub's pods were restarted, but not every SuperNode came back: {_sentence(away)}")
        needed = [name for name, entry in self._members().items() if not entry["exempt"]]
        reports = self.sites.restart([name for name in self.sites.good() if name in needed], ["superexec"], mark)
        self._read()
        missing = {
            site: reports.get(site, {}).get("trouble") or "not in this run"
            for site, entry in self._members().items()
            if not entry["exempt"] and not reports.get(site, {}).get("renewed")
        }
        if missing and not self.options["force"]:
            raise RotationError(f"not every site has its new secrets yet: {_sentence(missing)}")
        words = "all shared secrets and internal certificates are new"
        if missing:
            words = f"shared secrets and internal certificates are new, but not those of excluded sites: {_sentence(missing)}"
            self.hub.warnings.append(f"{words}. To replace them as well, rotate superexec again when these sites are available")
        self.changed |= self._internal.complete(words)
        self.done.append(words)


def _sentence(sites: Mapping[str, str]) -> str:
    return "; ".join(f"{site}: {words}" for site, words in sites.items())
