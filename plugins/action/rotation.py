# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.rotation): rotate certificates, keys and secrets of the hub and all sites."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.actions.role_options import (
    role_options,
    role_settings,
    site_hosts,
)
from ansible_collections.federated.flower.plugins.plugin_utils.actions.site_check import SiteCheck
from ansible_collections.federated.flower.plugins.plugin_utils.actions.site_deployment import SiteDeployment
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.formats import named_hosts
from ansible_collections.federated.flower.plugins.plugin_utils.base.object_names import BUILTIN
from ansible_collections.federated.flower.plugins.plugin_utils.base.problems import require
from ansible_collections.federated.flower.plugins.plugin_utils.base.values import text
from ansible_collections.federated.flower.plugins.plugin_utils.checks.certificate_rules import rotation_problems
from ansible_collections.federated.flower.plugins.plugin_utils.fleet import deploy
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.outcome import Outcomes
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.register import Registry
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates, chain, library
from ansible_collections.federated.flower.plugins.plugin_utils.rights import ask
from ansible_collections.federated.flower.plugins.plugin_utils.rotation import certificate_sources
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.hub_steps import Hub, Settings
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.rotation_run import Rotation
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.site_proof import Object, Proof, Report
from ansible_collections.federated.flower.plugins.plugin_utils.sites import namespaces
from ansible_collections.federated.flower.plugins.plugin_utils.sites.site import (
    DATA_FAULTS,
    Site,
    SiteBackend,
    unexpected,
)
from ansible_collections.federated.flower.plugins.plugin_utils.state.ledger import Ledger, LedgerError

ROLE = "cert_rotation"
DUE, ROTATED = "due", "rotated"
SUPERNODE_KEYS = "supernode_keys"


class ActionModule(SiteCheck, SiteDeployment):
    """See the module's documentation. It is also the C(Sites) of C(rotation_run)."""

    #: None without a hub.
    _rotation: Rotation | None = None

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Find out what is due; rotate it."""
        library.require()
        self.reset()
        if not self.hub_host() and self.variable("supernode_superlink", {}):
            return self._rotate_without_hub(params, task_vars)
        options = role_settings(self, ROLE, [name.removeprefix(f"{ROLE}_") for name in role_options(ROLE)])
        require(rotation_problems(options, options["hub"]))
        self.params, self._options = params | options, options
        playing = self.task_vars["ansible_play_hosts"]
        names = site_hosts(self) or [name for name in playing if name != options["hub"]]
        if params["state"] == ROTATED:
            names = [name for name in names if name in playing]
        with self.connect(options["hub"]) as cluster:
            place = namespaces.resolve_ca_namespace(cluster, options["hub_namespace"], options["ca_namespace"])
            hub = Hub(cluster, self._settings(place), partial(self.note, options["hub"]))
            ledger = Ledger(cluster, options["hub_namespace"], options["federation"])
            self._rotation = rotation = Rotation(hub, ledger, FlowerCLI(cluster, options["hub_namespace"]), options, self.say)
            try:
                due = rotation.due(names, check=self.check)
            except LedgerError as error:
                if params["state"] == ROTATED:
                    raise
                words = f"nothing is rotated: {error.message}"  # the deployment, which asks here, has a result of its own for each site
                return {"changed": False, "todo": [], "reasons": {}, "plan": [], "msg": words, "warnings": [words]}
            found = {**due, "changed": False, "todo": list(due["todo"]), "reasons": due["todo"]}
            if params["state"] == DUE:
                return found
            for line in due["plan"] or [due["msg"]]:
                self.say(line)
            if self.check or not due["todo"]:
                return {**found, "changed": bool(due["todo"])}
            self._todo = due["todo"]
            return {**found, **self._with_hub(super().execute({"sites": names}, task_vars))}

    def _rotate_without_hub(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Replace keys of sites that join a SuperLink which is not in the inventory. Nothing else of theirs is rotated here."""
        wanted = role_settings(self, ROLE, ["rotate"])["rotate"]
        if wanted not in (DUE, SUPERNODE_KEYS):
            raise ClusterError(
                f"cert_rotation_rotate: {wanted} is of a hub, and the inventory has none (supernode_superlink): only supernode_keys can be rotated. For "
                "a new CA of the SuperLink, set supernode_superlink.ca to the former and the new one, and run federated.flower.site."
            )
        found: dict[str, Any] = {"changed": False, "todo": [], "reasons": [], "msg": "cannot determine what is due: the SuperLink is not in the inventory"}
        if wanted == DUE or params["state"] == DUE:
            self.say(str(found["msg"]))
            return found
        playing = self.task_vars["ansible_play_hosts"]
        names = [name for name in site_hosts(self) if name in playing] or playing
        return {**found, **super().execute({"sites": names}, task_vars)}

    def _with_hub(self, result: dict[str, Any]) -> dict[str, Any]:
        """Report a rotation that cannot go on as the result of the hub: a task that fails would end the play before the sites report theirs."""
        hub = self._options["hub"]
        if self._fault and hub in self.task_vars["ansible_play_hosts"]:
            result["sites"][hub] = self.public({"changed": False, "failed": True, "msg": self._fault})
        elif self._fault:
            result["failed"] = True
        return result

    def _settings(self, place: str) -> Settings:
        """What the hub's steps need; C(place): the namespace of the CA keys."""
        options = self._options
        variables = ClusterAction.variables_of(self, options["hub"])
        given = [text(self._variable_of(variables, name)) for name in ("superlink_ca_certificate", "superlink_ca_key")]
        handed_in: certificates.Issued | None = None
        if any(given) and options["certificates_source"] == BUILTIN:
            try:
                handed_in = certificate_sources.handed_in(*given)
            except chain.ChainError as error:
                raise ClusterError(f"{error}.") from error
        lifetime, ca_lifetime = (datetime.timedelta(days=options[name]) for name in ("certificate_days", "ca_days"))
        return Settings(options["federation"], options["hub_namespace"], place, lifetime, ca_lifetime, handed_in)

    def work(self, params: dict[str, Any], sites: dict[str, Site], outcomes: Outcomes) -> dict[str, Any]:
        """Rotate. Where it cannot go on, what became of each site until then is in the result nevertheless."""
        self._sites, self._outcomes, rotation, self._fault = sites, outcomes, self._rotation, ""
        if rotation is None:
            self.check_sites({}, {}, sites, outcomes)
            self.deploy_sites(sites, outcomes, renew=[deploy.KEYS])
            return {}
        try:
            rotation.run(self._todo, self)
        except ClusterError as error:
            self._fault = named_hosts(self._options["hub"], error.message)
        for line in [*rotation.handshakes, *rotation.done]:
            self.say(line)
        for outcome in outcomes.sites.values():
            outcome.msg = outcome.msg or "it was not asked"
        return {
            "changed": rotation.changed,
            "msg": self._fault or "; ".join(rotation.done) or "nothing to change on the hub",
            "handshakes": rotation.handshakes,
            "warnings": rotation.hub.warnings,
        }

    # ---- the sites, see C(rotation_run.Sites) ---------------------------------------------------------------------

    def require_playbook(self) -> None:
        """Raise an error if the playbook has ended: this process is a fork of it, which nothing ends."""
        self._outcomes.require_playbook()

    def good(self) -> list[str]:
        """Names of the sites that have not failed."""
        return self._outcomes.good()

    def faults(self) -> dict[str, str]:
        """Site -> its error, of those that have failed."""
        return {name: outcome.msg for name, outcome in self._outcomes.sites.items() if outcome.failed}

    def prove(self, proof: Proof, expected: Mapping[str, Sequence[Object]], because: Mapping[str, Report], *, required: bool) -> dict[str, Report]:
        """Deploy the CA bundle to sites, and have their SuperNodes tested. A site that is down or refuses is a report with C(trouble)."""
        unasked = {"trust": None, "stale": False, "trouble": "", "changed": False, "msg": ""}
        found: dict[str, dict[str, Any]] = {name: {**unasked, "site": name, "pods": [], "accepts": []} for name in expected}
        with self._reached(self._copies(expected)) as backends:

            def one(name: str) -> None:
                report, outcome = found[name], self._outcomes[name]
                wanted = replace(proof, own_bundle=bool(self._sites[name].spec.ca_bundle), expected=expected[name])
                try:
                    backends[name].trust(wanted, report)
                except ask.MissingRights:
                    raise
                except ClusterError as error:
                    report["trouble"] = error.message
                except DATA_FAULTS as error:
                    report["trouble"] = unexpected(error)
                if report["trouble"] and name in because and because[name]["trouble"]:
                    report["trouble"] = f"{because[name]['trouble']}; {report['trouble']}"
                outcome.changed |= report["changed"]
                outcome.msg = report["trouble"] or report["msg"] or f"{len(report['pods'])} SuperNodes accept the served certificates"
                if required and report["trouble"]:
                    raise ClusterError(report["trouble"])

            self._outcomes.each(one, expected)
        for name, fault in self.faults().items():
            if name in found and not found[name]["trouble"]:
                found[name]["trouble"] = fault
        return dict(found)

    def restart(self, names: Collection[str], files: Sequence[str], mark: str = "") -> dict[str, Report]:
        """Restart SuperNodes that run with older files, site by site, pool by pool, and each only while every SuperNode is online and no run is active.

        What keeps a site from going on is a report with C(trouble). After a wait for runs that was in vain, no further site is restarted.
        """
        found: dict[str, Report] = {}
        if not names:
            return found
        options = deploy.Options(wait=self._options["wait"], force=self._options["force"])
        sites = {name: replace(site, seconds=self._options["wait_timeout"]) for name, site in self._copies(names).items()}
        first = next(iter(sites.values()))
        with self.connect(first.hub) as hub, self._reached(sites) as backends:
            registry = Registry(self, hub, first.hub, first.hub_namespace, first.federation, first.seconds)
            rollout = deploy.Rollout(self, registry, first.hub, sites, backends, self._outcomes, options)
            for name, backend in backends.items():
                self._outcomes.require_playbook()
                report: dict[str, Any] = {"changed": False, "site": name, "trouble": rollout.wait_error, "renewed": False, "restarted": []}
                try:
                    if not rollout.wait_error:
                        backend.detect_platform()
                        backend.restart(rollout.restart_of(name, files, mark), report)
                except ClusterError as error:
                    report["trouble"] = error.message.rstrip(".")
                except DATA_FAULTS as error:
                    report["trouble"] = unexpected(error)
                found[name] = report
                self._outcomes[name].changed |= report["changed"]
                self._outcomes[name].msg = report["trouble"] or f"{len(report['restarted'])} SuperNodes restarted"
                backend.close()
        return found

    def renew(self, kinds: Sequence[str]) -> None:
        """Check the sites and deploy them, with C(kinds) replaced although they are valid."""
        sites = self._copies(self.good())
        self.check_sites({}, {}, sites, self._outcomes)
        sites = {name: sites[name] for name in self.good()}
        self.deploy_sites(sites, self._outcomes, renew=kinds, wait=self._options["wait"], force=self._options["force"])

    def _copies(self, names: Collection[str]) -> dict[str, Site]:
        """Some sites as their variables say: a step fills in what the hub publishes, which the next one must not see."""
        return {name: replace(self._sites[name]) for name in names}

    @contextmanager
    def _reached(self, sites: dict[str, Site]) -> Iterator[dict[str, SiteBackend]]:
        """The backends of some sites; their connections are closed at the end."""
        backends = self.reach(sites)
        try:
            yield backends
        finally:
            for backend in backends.values():
                backend.close()
