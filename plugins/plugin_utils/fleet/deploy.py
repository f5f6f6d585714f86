# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""SuperNodes of many sites, from nothing to online: allocate, create keys, register, apply, wait, confirm.

What concerns the hub is done once for all sites. A key is registered before its SuperNode starts: an unregistered key is refused for a
minute and longer. A site that fails stops there, and does not affect others.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from ..base.errors import ClusterError
from ..base.formats import named_hosts
from ..base.problems import require
from ..checks.site_rules import render_problems
from ..flower.cli import FlowerCLI
from ..manifests import supernode
from ..rotation import restart_conditions
from ..sites.site import KeyResult, Restart, Site, SiteBackend, StepResult
from ..state import records, site_indexes
from ..state.ledger import DATASETS, NODES
from . import online, partitions
from .outcome import Outcomes, RecordedRun
from .register import Registered, Registry

KEYS = partitions.KEYS
_HEAL_OVERRIDES = (
    "rotate_certs.yml waits for it",
    "rotate_certs.yml -e flower_rotate=supernode_keys -e cert_rotation_force=true",
)
_SHARED = ("superexec", "loopback")  # what all pods of a site share, see C(Restart)
_OVERRIDES = "supernode_clientapp_wait", "flower_clientapp_force=true"


@dataclass(frozen=True)
class Options:
    """What is wanted besides the sites' own variables.

    Attributes:
        partitions: how many the fleet has; None to follow the pools.
        repartition: whether sites may move.
        renew: C(keys), C(client): what is replaced although it is good.
        wait: seconds to wait for the end of runs before SuperNodes are restarted.
        force: restart them without waiting.
        foreseen: what the hub would publish after a run in check mode, see C(partitions.publication).
    """

    partitions: int | None = None
    repartition: bool = False
    renew: Sequence[str] = ()
    wait: int = 3600
    force: bool = False
    foreseen: Mapping[str, str] = field(default_factory=dict)


class Rollout:
    """The sites of one run that are served together.

    Args:
        hub: ledger and SuperLink.
        host: inventory name of the hub.
        backends: name -> its delivery.
        outcomes: what becomes of them.

    Attributes:
        wait_error: why the wait for the end of runs failed, after which no further site is restarted; empty while it has not.
    """

    wait_error = ""
    _begun: float | None = None  # when the wait before ClientApps are replaced began, for all sites

    def __init__(
        self, run: RecordedRun, hub: Registry, host: str, sites: Mapping[str, Site], backends: Mapping[str, SiteBackend], outcomes: Outcomes, options: Options
    ) -> None:
        self.run, self.hub, self.host, self.sites, self.backends = run, hub, host, sites, backends
        self.outcomes, self.options = outcomes, options
        self._waiting = threading.Lock()

    def deploy(self) -> None:
        """Deploy all sites that have not failed so far."""
        self.detect_platforms()
        good = self.outcomes.good()
        # With new keys site by site: a key that is registered and whose SuperNode has not restarted yet is not online, and would block the others.
        for chosen in [[name] for name in good] if KEYS in self.options.renew else [good]:
            if chosen and not self.wait_error:
                self._deploy(chosen)
            elif self.wait_error:
                self.outcomes.fail(chosen[0], self.wait_error)

    def detect_platforms(self) -> None:
        """Find out what each site leaves to its platform."""
        self.outcomes.each(lambda name: self.backends[name].detect_platform())

    def _deploy(self, chosen: Sequence[str]) -> None:
        keys = self._keys(chosen)
        registered = self._register(keys)
        again = [name for name in keys if registered.dead.get(name) and not self.outcomes[name].failed]
        if again:
            # Keys that Flower takes no more: they were unregistered, or the ledger has lost their node ids. Or those of another site.
            keys |= self.outcomes.each(lambda name: self._make(name, registered.dead[name]), again)
            second = self._register({name: keys[name] for name in again})
            registered.dead.update(second.dead)
            registered.restart |= second.restart
            registered.changed |= second.changed
        alive = [name for name in keys if not registered.dead.get(name)]
        for name in alive:
            if keys[name].due and KEYS not in self.options.renew:
                # Before anything is applied: a pod whose processes have different secrets may never be ready.
                self.outcomes.each(partial(self._restart, files=_SHARED, online=False), [name])
        # A pod with a dead key would never be ready; the site's last step reports the remedy.
        failed = {name for name in alive if self.outcomes[name].failed}
        self._note_nodes([name for name in alive if name in registered.changed and name not in failed])
        applied = self.outcomes.each(self._apply, alive)
        self.note_datasets([name for name in alive if name not in failed], applied)
        for name in alive:
            renew = KEYS in self.options.renew
            if renew or name in registered.restart or keys[name].renewed:
                files = ["key", *_SHARED] if keys[name].renewed else ["key"]
                self.outcomes.each(partial(self._restart, files=files), [name])
        waiting = {name: keys[name] for name in keys if not self.outcomes[name].failed}
        if not waiting:
            return
        reports = online.wait(self.hub, waiting, self.outcomes)

        def confirm(name: str) -> None:
            self._confirm(name, keys[name], reports.get(name, {}), registered.dead.get(name, []))

        self.outcomes.each(confirm, waiting)
        self._note_nodes([name for name in waiting if not self.outcomes[name].failed])

    def _keys(self, chosen: Sequence[str]) -> dict[str, KeyResult]:
        return self.outcomes.each(lambda name: self._make(name, ()), self._complete(chosen))

    def _complete(self, chosen: Sequence[str]) -> list[str]:
        """Add what only the hub knows to the specifications of sites: its address, CA and the partition numbers. Returns the sites that have them."""
        published = partitions.publication(self.hub.hub, self.host, self.hub.namespace, check=self.run.check, foreseen=self.options.foreseen)
        found = self._numbers = partitions.allocate(
            self.run,
            self.outcomes,
            self.hub.ledger,
            {name: self.sites[name].spec.pools for name in chosen},
            lambda names: self.outcomes.each(lambda name: self.backends[name].numbers(), names),
            partitions=self.options.partitions,
            repartition=self.options.repartition,
            renew=self.options.renew,
            places=partitions.places(self.sites, chosen),
        )
        given = [name for name in chosen if not self.outcomes[name].failed]
        for name in given:
            site = self.sites[name]
            site.spec = replace(
                site.spec,
                superlink_address=site.spec.superlink_address or published.get("address", ""),
                server_name=site.spec.server_name or published.get("server_name", ""),
                ca_bundle=site.spec.ca_bundle or published.get("ca_bundle", ""),
                allocation=found.allocation[name],
            )
            site.identity = found.identity
        return given

    def _make(self, name: str, dead: Sequence[str]) -> KeyResult:
        keys = self.backends[name].make_keys(self._numbers.allocation[name], [*self._numbers.dead[name], *dead])
        self.outcomes.add(name, keys)
        if self.run.check and keys.changed:
            self.run.note(name, words=[f"keys: {keys.msg}"])
        return keys

    def _register(self, keys: Mapping[str, KeyResult]) -> Registered:
        if not keys:
            return Registered()
        specs = {name: self.sites[name].spec for name in keys}
        registered = self.hub.register(
            keys,
            self.outcomes,
            {name: spec.region or None for name, spec in specs.items()},
            {name: partitions.without_range(spec.pools) for name, spec in specs.items()},
            [name for name in keys if self.sites[name].claim],
            places={name: (self.sites[name].access.delivery, self.sites[name].namespace) for name in keys},
            locations={name: spec.location for name, spec in specs.items()},
        )
        for name in keys:
            site = self.sites[name]
            certificate = registered.certificates.get(name, "") or keys[name].certificate
            site.spec = replace(site.spec, client_certificate=certificate)
            self.outcomes[name].changed |= name in registered.changed
            if self.run.check and name in registered.issued:
                self.run.note(name, words=["a client certificate would be issued"])
        return registered

    def note_datasets(self, names: Sequence[str], applied: Mapping[str, StepResult]) -> None:
        """Record at the hub which datasets the sites have that were applied; nothing while no site of the fleet has one.

        A site that failed while it was applied, and so has no outcome in C(applied), may have lost datasets already, and does not have new ones for
        sure. Nor does one whose people apply files.
        """
        deployed = {name: {pool.name: [one.name for one in pool.datasets] for pool in self.sites[name].spec.pools} for name in names}
        if not deployed:
            return
        doubtful = {name for name in names if self.outcomes[name].failed}
        by_hand = {name: done.files for name, done in applied.items() if done.files is not None}
        ledger = self.hub.ledger
        before = ledger.read(DATASETS)
        if not (before or any(listed for pools in deployed.values() for listed in pools.values())):
            return

        def updated(index: site_indexes.DatasetIndex) -> site_indexes.DatasetIndex:
            # Records are read after the index: a site that another controller has added to it has one.
            found, unreadable = ledger.read_sites()
            return site_indexes.updated_datasets(index, deployed, found, by_hand=by_hand, doubtful=doubtful, unreadable=unreadable)

        ledger.change(DATASETS, updated)
        after = updated(before)
        for name in deployed:
            was, now = site_indexes.datasets_of(before, name), site_indexes.datasets_of(after, name)
            self.outcomes[name].changed |= was != now
            self.run.note(name, datasets=site_indexes.changes(was, now))

    def _note_nodes(self, names: Sequence[str]) -> None:
        """Record at the hub which SuperNodes the sites have: data scientists may not read the ledger itself.

        What cannot be recorded is a warning of these sites.
        """
        if not names or self.run.check:
            return
        ledger = self.hub.ledger

        def updated(index: site_indexes.NodeIndex) -> site_indexes.NodeIndex:
            # Records are read after the index: a site that another controller has added to it has one.
            found, unreadable = ledger.read_sites()
            return site_indexes.updated_nodes(index, found, unreadable=unreadable)

        try:
            ledger.change(NODES, updated)
        except ClusterError as error:
            for name in names:
                words = named_hosts(name, f"cannot record its SuperNodes at the hub, so runs with flower_run_regions do not include them: {error.message}")
                if words not in self.outcomes[name].warnings:
                    self.outcomes[name].warnings.append(words)

    def _apply(self, name: str) -> StepResult:
        site = self.sites[name]
        wanted = objects_of(site)
        done = self.backends[name].apply(wanted, lambda: self.wait_no_run(site))
        self.outcomes.add(name, done)
        if done.failed:
            raise ClusterError(done.msg)
        return done

    def wait_no_run(self, site: Site) -> None:
        """Wait until no run is active, before ClientApps in their own pods are replaced.

        One site at a time asks: each question starts a process beside the SuperLink. All of them wait for the same runs, so the time counts from the
        first question.
        """
        if not site.spec.has_separate_clientapps or site.spec.clientapp_force:
            return
        with self._waiting, self.run.connect(site.hub) as hub:
            self._begun = time.monotonic() if self._begun is None else self._begun
            cli = FlowerCLI(hub, site.hub_namespace)
            restart_conditions.wait_no_run(cli, site.spec.clientapp_wait, self.run.say, _OVERRIDES, self._begun)

    def _restart(self, name: str, files: Sequence[str], *, online: bool = True) -> None:
        """Restart what runs with older files; C(online): wait until it is online again, pool by pool."""
        result: dict[str, Any] = {"changed": False, "restarted": [], "renewed": False}
        wanted = self.restart_of(name, files, heal=KEYS not in self.options.renew)
        if not online:
            wanted = replace(wanted, online=lambda _pool: None)
        try:
            self.backends[name].restart(wanted, result)
        finally:
            self.outcomes[name].changed |= result["changed"]
        if self.run.check and result["restarted"]:
            self.run.note(name, words=[f"restart of {one}" for one in result["restarted"]])

    def restart_of(self, name: str, files: Sequence[str], mark: str = "", *, heal: bool = False) -> Restart:
        """The restart of SuperNodes of one site, pool by pool, each while every SuperNode is online and no run is active; see C(Restart).

        C(heal): whether its SuperNodes run with files that are no longer accepted: then others are not waited for.
        """
        return Restart(files, mark, lambda: self._gate(name, heal), lambda pool: self._await_online(name, pool))

    def _gate(self, name: str, heal: bool) -> None:
        if self.options.force:
            return
        cli = FlowerCLI(self.hub.hub, self.hub.namespace)
        if heal:
            record = self.hub.ledger.read_sites()[0].get(name, records.empty_record(name))
            nodes = cli.nodes()
            if any(nodes.get(key["node_id"] or "", {}).get("status") == "online" for key in record["keys"].values()):
                restart_conditions.wait_no_run(cli, 0, self.run.say, _HEAL_OVERRIDES)
            return
        found, unreadable = self.hub.ledger.read_sites()
        away = restart_conditions.offline_of({*found, *self.sites}, found, unreadable, self.hub.ledger.read_book(), cli.nodes())
        # With an unknown certificate, a SuperNode of this site may be offline already; a restart resolves this.
        away.pop(name, None)
        if away:
            absent = "; ".join(f"{site}: {words}" for site, words in away.items())
            raise ClusterError(f"SuperNodes are restarted one site after the other, while all others are online; {absent}.")
        try:
            restart_conditions.wait_no_run(cli, self.options.wait, self.run.say)
        except ClusterError as error:  # the same run keeps all other sites from their restart
            self.wait_error = f"it was not reached, because the restart of a site before it failed: {error.message.rstrip('.')}"
            raise

    def _await_online(self, name: str, pool: str) -> None:
        found = self.hub.ledger.read_sites()[0]
        if restart_conditions.exemption(name, self.hub.ledger.read_book(), found):
            return  # it is denied: do not wait for it
        seconds = self.sites[name].seconds
        nodes = [node for node, key in records.node_ids(found[name]).items() if key["pool"] == pool]
        status = FlowerCLI(self.hub.hub, self.hub.namespace).nodes(nodes, seconds)
        away = [node for node in nodes if status.get(node, {}).get("status") != "online"]
        if away and not self.options.force:
            raise ClusterError(f"SuperNodes of pool {pool} were restarted and are not online after {seconds} s: {', '.join(away)}")

    def _confirm(self, name: str, keys: KeyResult, report: Mapping[str, Any], dead: Sequence[str]) -> None:
        """Fail when a wanted SuperNode is not online; delete keys that Flower has forgotten."""
        outcome = self.outcomes[name]
        denied = report.get("denied")
        missing = [] if denied else report.get("missing", [])
        # Check mode has no report.
        outcome.msg = f"{report['online']} SuperNodes online" if report else "SuperNodes are not counted in check mode"
        if keys.by_hand and not denied:
            if report:
                outcome.msg = f"{report['online']} of {report['expected']} SuperNodes online"
            outcome.msg += f". {self.backends[name].pod_summary()}"
            return
        if denied:  # not a fault, but it should be visible
            outcome.msg = (
                f"{name} has been denied since {denied['since']} ({denied['reason'] or 'no reason given'}): this "
                f"run does not wait for its {report['expected']} SuperNodes. federated.flower.site_access with "
                f"-e flower_site={name} -e flower_access=admitted admits it."
            )
            outcome.warnings.append(outcome.msg)
        if missing:
            names = ", ".join(f"{node['pool']}/{node['name']} is {node['status']}" for node in missing)
            raise ClusterError(
                f"{report['online']} of {report['expected']} SuperNodes are online at the SuperLink ({names}). "
                f"{self.backends[name].pod_summary()}"
            )
        if dead:
            raise ClusterError(
                f"{len(dead)} SuperNode keys ({', '.join(dead)}) were registered before, and Flower "
                "never accepts a key twice. Run again: their SuperNodes get new keys."
            )
        fault, warning = ("", "") if denied else self.backends[name].connectivity_error()
        outcome.warnings += [named_hosts(name, warning)] if warning else []
        if fault:
            raise ClusterError(fault)
        if keys.extra:
            if self.run.check:
                self.run.note(name, words=[f"old keys of pool {pool}: {', '.join(names)}" for pool, names in keys.extra.items()])
            else:
                self.backends[name].drop_keys(keys.extra)
            outcome.changed = True
            outcome.msg += f", {sum(map(len, keys.extra.values()))} old keys deleted"


def objects_of(site: Site) -> list[dict[str, Any]]:
    """All objects of a site.

    Raises:
        ClusterError: address, CA or numbers are not known, or what the hub publishes cannot be used.
    """
    require(render_problems(site.spec))
    return supernode.objects(site.spec)
