# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps on the sites of a batch: pull images, restart or heal SuperNodes, deploy and test the CA bundle."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

from ..base.errors import ClusterError
from ..base.formats import named_hosts
from ..base.names import CLIENTAPP
from ..base.object_names import SERVERAPP, SUPERNODE
from ..base.problems import messages
from ..base.values import boolean, integer
from ..checks.site_rules import site_problems
from ..fleet import upgrade_record
from ..fleet.healing import Healer, Options
from ..fleet.outcome import Outcome, Outcomes
from ..flower.cli import FlowerCLI
from ..kube.client import Cluster
from ..manifests import supernode
from ..marks import proof
from ..rotation import outdated_pods, restart_conditions
from ..sites.site import Site
from ..state.ledger import Ledger
from .fleet_action import FleetAction

# Each site says for itself whether, and for how long.
PULL, SECONDS = "flower_upgrade_pull", "flower_upgrade_pull_timeout"
_SECONDS = 900

# Of a restart: what says how long runs are waited for, and seconds between two looks at the SuperNodes.
_RESTART_WAIT = ("flower_restart_wait", "")
_PAUSE = 2

_WORDS = {"healed": "healed", "due": "to restart", "waiting": "waiting", "given_up": "given up"}


class ImagePull(FleetAction):
    """An action that has the nodes of sites pull images."""

    def pull_images(self, sites: dict[str, Site], outcomes: Outcomes) -> dict[str, Any]:
        """All sites at once; a site of which a node does not get an image fails.

        Returns:
            C(lines), a sentence for each site.
        """
        backends = self.reach(sites)
        seconds: dict[str, int] = {}
        for name, site in sites.items():
            try:
                pulls = boolean(self.value_of(name, PULL, True))
                limit = integer(self.value_of(name, SECONDS, _SECONDS)) or 0
            except (ClusterError, ValueError) as error:
                outcomes.fail(name, str(error))
                continue
            faults = messages(site_problems(site.given))
            if faults:
                outcomes.fail(name, "\n".join(faults))
            elif limit < 1:
                outcomes.fail(name, f"{SECONDS}: {limit} is not a number of seconds from 1")
            elif not pulls:
                outcomes[name].msg = f"images are not pulled in advance: {PULL} is false"
            else:
                seconds[name] = limit

        def one(name: str) -> None:
            backends[name].detect_platform()
            done = backends[name].pull(supernode.objects(sites[name].spec.complete()), seconds[name])
            outcomes[name].msg = done.msg or f"images are not pulled in advance: {done.skipped}"
            if done.images and not self.check:  # no object is another one afterwards
                self.note(name, words=[done.msg])
            outcomes[name].facts = {"images": done.images, "nodes": done.nodes, "skipped": done.skipped}

        outcomes.each(one, seconds)
        return {"lines": [named_hosts(name, outcome.msg) for name, outcome in outcomes.sites.items()]}


class SiteHealing(FleetAction):
    """An action that restarts SuperNodes that are not online."""

    def heal_sites(self, options: Options, sites: dict[str, Site], outcomes: Outcomes) -> dict[str, Any]:
        """A site whose variables are wrong, or that does not answer, is in the result, and the others are healed.

        Returns:
            The results of the module with C(state=healed).
        """
        host = self.hub_host()
        namespace, federation = self.of_hub("namespace", host), self.of_hub("federation", host)
        with self.connect(host) as hub:
            hub.name = host
            kept_back = self._kept_back(upgrade_record.Store(hub, namespace, federation), [host, *sites])
            healer = Healer(self, hub, namespace, federation, options)
            wrong = {name: outcome.msg for name, outcome in outcomes.sites.items() if outcome.failed}
            backends = self.reach(sites)
            try:
                found = healer.heal(sites, backends, outcomes)
            finally:
                for backend in backends.values():
                    backend.close()
        found["unreadable"] |= wrong
        lines = [f"{one['site']} {one['pool']}/{one['name']}: {word}: {one['why']}" for kind, word in _WORDS.items() for one in found[kind]]
        lines += [words if words.startswith(name) else f"{name}: {words}" for name, words in found["unreadable"].items()]
        msg = ", ".join(f"{len(found[kind])} {word}" for kind, word in _WORDS.items())
        changed = healer.restarted > 0 or (self.check and options.restart and bool(found["due"]))
        return {"changed": changed, "msg": msg, **found, **kept_back, "lines": [words for words in (found["fault"], found["pause"]) if words] + lines}

    @staticmethod
    def _kept_back(store: upgrade_record.Store, hosts: list[str]) -> dict[str, Any]:
        """What a repair must leave to an upgrade that is not complete; all of it, if it is not known how far that is."""
        try:
            record = store.read()
        except ClusterError as error:
            return {"held": hosts, "upgrade": error.message}
        return {"held": upgrade_record.hosts_not_done(record, hosts[0]), "upgrade": upgrade_record.describe(record)}


class SiteRestart(FleetAction):
    """An action that restarts the ServerApp and SuperNodes that are well."""

    def restart_pods(self, sites: dict[str, Site], outcomes: Outcomes, *, serverapp: bool, wait: int, seconds: int) -> dict[str, Any]:
        """The ServerApp, then one site after the other, each when no run is active. The first one that fails ends it.

        Args:
            wait: seconds for which active runs are waited for.
            seconds: how long a pod may take to be ready, and a SuperNode to be online.

        Raises:
            ClusterError: something of it cannot be restarted; then nothing is.
        """
        host = self.hub_host()
        backends = self.reach(sites)
        if closed := [named_hosts(name, backend.NO_PODS) for name, backend in backends.items() if backend.NO_PODS]:
            raise ClusterError(f"{'; '.join(closed)}. Restart them there, and leave these sites out (--limit). Nothing was restarted.")
        namespace, federation = self.of_hub("namespace", host), self.of_hub("federation", host)
        with self.connect(host) as hub:
            hub.name = host
            cli, ledger = FlowerCLI(hub, namespace), Ledger(hub, namespace, federation)
            found: list[tuple[str, Cluster, str, list[dict[str, Any]]]] = []
            if serverapp:
                outcomes.sites.setdefault(host, Outcome())  # it may be a site as well
                found.append((host, hub, namespace, hub.list("v1", "Pod", namespace, labels=proof.pods_query(federation, SERVERAPP))))
            labels = proof.pods_query(federation, SUPERNODE, CLIENTAPP)
            listed = outcomes.each(lambda name: backends[name].cluster.list("v1", "Pod", sites[name].namespace, labels=labels), backends)
            found += [(name, backends[name].cluster, sites[name].namespace, pods) for name, pods in listed.items()]
            wrong = [outcome.msg for outcome in outcomes.sites.values() if outcome.failed] + [
                f"{name}: its pods do not exist: run federated.flower.site first" for name, _cluster, _namespace, pods in found if not pods
            ]
            if wrong:
                raise ClusterError(f"{'; '.join(wrong)}. Nothing was restarted.")

            def one(name: str, cluster: Cluster, place: str, pods: list[dict[str, Any]]) -> None:
                if not self.check:
                    restart_conditions.wait_no_run(cli, wait, self.say, _RESTART_WAIT)
                    outdated_pods.replace_pods(cluster, place, federation, pods, seconds, partial(self.note, name))
                    self._await_online(name, cli, ledger, seconds, outcomes)
                outcomes[name].changed = True
                words = f"{'would restart' if self.check else 'restarted'} {', '.join(pod['metadata']['name'] for pod in pods)}"
                outcomes[name].msg = "; ".join(filter(None, (outcomes[name].msg, words)))

            try:
                for name, cluster, place, pods in found:
                    outcomes.each(partial(one, cluster=cluster, place=place, pods=pods), [name])
                    if outcomes[name].failed:
                        break
            finally:
                for backend in backends.values():
                    backend.close()
        return {"lines": [named_hosts(name, outcome.msg or "not restarted") for name, outcome in outcomes.sites.items()]}

    @staticmethod
    def _await_online(name: str, cli: FlowerCLI, ledger: Ledger, seconds: int, outcomes: Outcomes) -> None:
        """Wait for the SuperNodes of a site; the hub has none."""
        deadline = time.monotonic() + seconds
        while away := restart_conditions.offline_of([name], *ledger.read_sites(), ledger.read_book(), cli.nodes()):
            if time.monotonic() > deadline:
                raise ClusterError(f"its SuperNodes were restarted and are not online after {seconds} s: {away[name]}")
            outcomes.require_playbook()
            time.sleep(_PAUSE)
