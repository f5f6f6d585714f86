# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.upgrade): upgrade the hub, then the sites in waves."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.composite_action import CompositeAction
from ansible_collections.federated.flower.plugins.plugin_utils.actions.role_options import (
    hub_hosts,
    role_settings,
    site_hosts,
)
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.formats import named_hosts
from ansible_collections.federated.flower.plugins.plugin_utils.base.object_names import OCM, SUPERLINK, SUPERLINK_POD
from ansible_collections.federated.flower.plugins.plugin_utils.checks import batches
from ansible_collections.federated.flower.plugins.plugin_utils.fleet import flower_versions, upgrade_record
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.upgrade_record import (
    BACK,
    BEGUN,
    DONE,
    WAITING,
    WAIVED,
    with_hub,
    with_sites,
)
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.upgrade_run import Hub, UpgradeRun
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import CONTAINER, FlowerCLI
from ansible_collections.federated.flower.plugins.plugin_utils.flower.runs import COMPLETED
from ansible_collections.federated.flower.plugins.plugin_utils.kube import pod_health, stuck_pods
from ansible_collections.federated.flower.plugins.plugin_utils.marks import proof
from ansible_collections.federated.flower.plugins.plugin_utils.rotation import restart_conditions
from ansible_collections.federated.flower.plugins.plugin_utils.sites.registry import SKUPPER, sites_with
from ansible_collections.federated.flower.plugins.plugin_utils.state import records
from ansible_collections.federated.flower.plugins.plugin_utils.state.ledger import Ledger

# A pull that fails once may succeed with the next attempt. Seconds.
IMAGE_SECONDS = 20
_REMEDY = "flower_upgrade_wait", ""
_OPTIONS = ("app", "app_config", "backup", "max_failed", "verify", "wait", "waves")
_EMPTY: tuple[Any, ...] = (None, "", [], {})  # a controller sends empty ones for questions without an answer
_NOTHING_CHANGED = "Nothing was changed."


class ActionModule(CompositeAction):
    """See the module's documentation."""

    HUB_BY_GROUP = True

    fleet: UpgradeRun
    record: upgrade_record.Record

    def arguments(self) -> dict[str, Any]:
        """See C(ClusterAction); what the task leaves out are the variables C(flower_upgrade_…)."""
        given = super().arguments()
        of_fleet = {name: self.variable(f"flower_upgrade_{name}", None) for name in _OPTIONS}
        seconds = role_settings(self, SUPERLINK, ["wait_timeout"])
        return seconds | {name: value for name, value in of_fleet.items() if value not in _EMPTY} | given

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Upgrade the hub and wave after wave, until all is done or too many sites have failed."""
        self._refuse_parts()
        self.warnings, self.diff = [], list[Any]()
        self.results: dict[str, list[dict[str, Any]]] = {}
        self.namespace, self.hub_changed, self.deployed_hub = params["namespace"], False, dict[str, Any]()
        if params["app"]:  # where it cannot be read, the first wave would be upgraded and rolled back for it
            self.run_action("run", {"app": params["app"], "run_config": params["app_config"]}, check=True)
        with self.connect() as cluster:
            self.cluster, self.cli = cluster, FlowerCLI(cluster, self.namespace)
            self.store = upgrade_record.Store(cluster, self.namespace, params["federation"], check=self.check)
            self.record = self.store.read()
            self.plan = self._prepare(params)
            for line in self.plan:
                self.say(line)
            if not self._has_work:
                return {"changed": False, "plan": self.plan, "sites": {}, "msg": self.plan[0]}
            self._begin(params)
            self._upgrade_hub()
            stopped = self._upgrade_sites()
            if not (stopped or self.fleet.failed) and self.store.delete():
                self.note(words=[self.fleet.end])
        hub, end = self.inventory_host, stopped or self.fleet.end
        words = f"{_NOTHING_CHANGED} This is check mode." if self.check else end
        self.say(named_hosts(hub, words))
        if stopped:
            self.note(words=[end])
            self.results[hub] = [{"failed": True, "msg": named_hosts(hub, end)}]
        return {
            "changed": self.hub_changed or self.check,
            "plan": self.plan,
            "sites": self.results,
            "diff": self.diff,
            "warnings": self.warnings,
            "msg": "\n".join([*self.plan, words]) if self.check else words,
        }

    def _upgrade_sites(self) -> str:
        """Upgrade wave after wave; returns why it stopped before its end.

        Raises:
            ClusterError: it stopped before any site was asked for anything. After that, each site gets its result.
        """
        try:
            stopped = next(filter(None, (self._upgrade_wave(number, wave) for number, wave in enumerate(self.fleet.waves, 1))), "")
        except ClusterError as error:
            stopped = error.message
        if stopped and not self.results:
            raise ClusterError(stopped)
        return stopped

    def _upgrade_wave(self, number: int, wave: Sequence[str]) -> str:
        """Pull, deploy and check the sites of a wave, and roll it back if more sites failed than may; returns why the upgrade stops."""
        fleet = self.fleet
        if (pulling := [site for site in wave if site in fleet.changes]) and not self.check:
            self._announce("pull the new images", pulling)
            self._pull(pulling)
        if stopped := fleet.stopped(self.record, number, has_begun=False):
            return stopped
        if sites := [site for site in wave if site not in fleet.failed]:
            self._announce("deploy the sites", sites)
            self._deploy(sites)
            self._announce("check the sites", sites)
            self._check(sites)
        if back := fleet.to_roll_back(self.record, number, sites):
            self._announce("roll the sites back", back)
            self._roll_back(back)
        return fleet.stopped(self.record, number, has_begun=True)

    def _announce(self, what: str, sites: Sequence[str] = ()) -> None:
        self.say(f"{self.inventory_host}: {what}" + (f": {', '.join(sites)}" if sites else ""))

    @property
    def _has_work(self) -> bool:
        """Whether anything is to be upgraded, or to be continued."""
        return bool(self.fleet.hub.changes or self.fleet.changes or self.record)

    def _refuse_parts(self) -> None:
        """An upgrade is that of the whole fleet."""
        if limit := self.task_vars.get("ansible_limit"):
            raise ClusterError(
                f"--limit {limit}: an upgrade covers the whole fleet. Choose the order of the sites with flower_upgrade_waves; federated.flower.site "
                "deploys single sites."
            )
        if self.variable("flower_plan", "") or self.variable("flower_plan_hash", ""):
            raise ClusterError(
                "flower_plan: only federated.flower.site applies a plan of federated.flower.plan, and an upgrade ignores plans. Remove flower_plan "
                "and flower_plan_hash; --check shows the plan of an upgrade."
            )
        if self.inventory_host != self.hub_host():
            raise ClusterError(f"an upgrade runs on the hub, {self.hub_host()}: put the hub first in the hosts of the play, and set run_once for the task.")

    # ---- the plan ----------------------------------------------------------------------------------------------------

    def _prepare(self, params: dict[str, Any]) -> list[str]:
        """Read what runs and what is wanted; refuse what cannot be upgraded. Returns the plan for people.

        Raises:
            ClusterError: names every fault.
        """
        names, host = site_hosts(self), self.inventory_host
        hub = self.run_action("superlink_info", {"hub": host})
        if not hub["deployed"]:
            there = f"there is no SuperLink in namespace {self.namespace}: run federated.flower.site first."
            raise ClusterError(hub["error"] or there)
        seen = self.run_action("supernode_info", {"sites": names})["sites"]
        checked_hub = self.variable("superlink_checked", None) or self.run_action("superlink", {"state": "checked"})
        found = self._variable_of(self.variables_of(names[0]), "__site_checked") if names else {"sites": {}}
        checked = (found or self.run_action("supernode", {"state": "checked", "sites": names, "hub_checked": checked_hub}))["sites"]
        unusable = {name: named_hosts(name, why) for name in names if (why := _unusable(name, hub, seen.get(name) or {}, checked.get(name) or {}))}
        live, wanted = flower_versions.running(hub["workloads"]), checked_hub["flower"]
        sites = {name: (flower_versions.running_at(seen[name]), checked[name]["flower"]) for name in names if name not in unusable}
        half = {name for name, site in (self.record.get("sites") or {}).items() if site["state"] == BEGUN}
        self.nodes_before = [node for node, facts in hub["nodes"].items() if facts["status"] == "online"]
        fleet = self.fleet = UpgradeRun(
            Hub(
                live,
                wanted,
                release=next((str(one.get("version") or "") for one in hub["workloads"] if one["name"] == SUPERLINK), ""),
                begun=upgrade_record.is_hub_begun(self.record, live, wanted["version"], answers=not hub["error"]),
            ),
            sites=sites,
            by_hand=frozenset(name for name in sites if seen[name].get("bundle")),
            changes=frozenset(name for name, pair in sites.items() if name in half or flower_versions.differs(*pair)),
            most_failed=params["max_failed"],
            failed=unusable,
        )
        can_back_up = bool(self.variable("flower_backup_directory", "")) and self.variable("flower_backup_recipients", None) is not None
        faults = fleet.faults(host, str(hub["error"]), lacks_backup=params["backup"] and not can_back_up)
        faults += self._set_waves(params["waves"], names, hub)
        if faults:
            raise ClusterError("\n".join([*faults, _NOTHING_CHANGED]))
        if not self._has_work:
            return [f"{host}: {live['version']}, and all {len(names)} sites: nothing to upgrade"]
        self.warnings += flower_versions.warnings(wanted["version"], sites)
        lines = [f"continued: {upgrade_record.describe(self.record)}"] if self.record else []
        return lines + flower_versions.table(host, (live, wanted), fleet.waves, sites, fleet.by_hand) + self._check_pulls()

    def _set_waves(self, given: Any, names: list[str], hub: Mapping[str, Any]) -> list[str]:
        """Set the waves, as wanted or as the batches of C(flower_serial); returns what is wrong with them."""
        fleet, serial = self.fleet, self.variable(batches.SERIAL, "") or "100%"
        groups = {name: hosts for name, hosts in (self.task_vars.get("groups") or {}).items() if name not in names}
        denied = [name for name, site in hub["sites"].items() if site["access"]]
        if faults := batches.batch_faults(serial, 100):
            return list(faults)
        try:
            waves = batches.waves(given, serial, names, groups, {*denied, *fleet.failed, *fleet.by_hand})
        except ValueError as error:
            return [str(error)]
        fleet.waves = [wave for one in waves if (wave := [name for name in one if name in fleet.sites])]
        return []

    def _check_pulls(self) -> list[str]:
        """Which nodes have to pull images, in lines for people.

        Raises:
            ClusterError: more sites refuse that than may fail.
        """
        if not self.fleet.changes:
            return []
        found = self.run_action("supernode", {"state": "pulled", "sites": sorted(self.fleet.changes)}, check=True)
        refused = [str(site["msg"]) for site in found["sites"].values() if site.get("failed")]
        if len(refused) + len(self.fleet.failed) > self.fleet.most_failed and refused:
            raise ClusterError("\n".join([*refused, _NOTHING_CHANGED]))
        return list(found["lines"])

    # ---- the hub -----------------------------------------------------------------------------------------------------

    def _begin(self, params: dict[str, Any]) -> None:
        """Record what runs now, and wait for the end of runs."""
        fleet, former = self.fleet, self.record
        now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        pair = fleet.hub.live, fleet.hub.wanted
        self.record = self.store.change(
            lambda old: upgrade_record.begin(old, now, fleet.waves, pair, fleet.sites, hub_begun=fleet.hub.begun)
        )
        if self.record != former and not self.check:
            self.note(words=[f"upgrade to {fleet.hub.wanted['version']}: {'; '.join(self.plan)}"])
        if fleet.hub.changes or self._replaced(fleet.changes):
            self._wait_no_run()
        if fleet.hub.changes and params["backup"] and not fleet.hub.begun and not self.check:
            self._back_up()

    def _replaced(self, sites: Iterable[str]) -> list[str]:
        """Those of some sites whose pods are replaced now. A bundle is only written: its people replace them, whenever they do."""
        return [name for name in sites if name in self.fleet.changes and name not in self.fleet.by_hand]

    def _wait_no_run(self) -> None:
        if self.check:
            return
        if self.record["hub"]["state"] == BEGUN and not self.deployed_hub:
            # An earlier run was interrupted while it replaced the SuperLink, which may be starting, or may not be able to.
            try:
                self.cli.wait_for_superlink(IMAGE_SECONDS)
            except ClusterError as error:
                self.say(f"{self.inventory_host}: the upgrade of the hub is completed without asking for runs: {error.message}")
                return
        restart_conditions.wait_no_run(self.cli, self.params["wait"], self.say, _REMEDY)

    def _back_up(self) -> None:
        recipients = self.variable("flower_backup_recipients", [])
        options = {
            "namespace": self.namespace,
            "ca_namespace": role_settings(self, SUPERLINK, ["ca_namespace"])["ca_namespace"],
            "directory": os.path.realpath(os.path.expanduser(self.variable("flower_backup_directory", ""))),
            "recipients": recipients if isinstance(recipients, list) else [recipients],
            "identity": self.variable("flower_backup_identity", None),
            "keep": self.variable("flower_backup_keep", None),
            "hosts": [*hub_hosts(self), *site_hosts(self)],
        }
        done = self.run_action("superlink_backup", {name: value for name, value in options.items() if value not in _EMPTY})
        self.say(f"{self.inventory_host}: {done['msg']}")
        self.record = self.store.change(lambda old: {**old, "backup": str(done["path"])})

    def _upgrade_hub(self) -> None:
        """Deploy the hub with what connects it to its sites; roll it back if it does not start and its database can still be opened.

        Raises:
            ClusterError: it is not as it should be, so no site is upgraded.
        """
        hub = self.fleet.hub
        self._announce("deploy the hub, and wait for it and its SuperNodes")
        if hub.changes:
            self._wait_no_run()  # one may have been submitted during the backup
            self.record = self.store.change(lambda old: with_hub({**old, "backup": old["backup"] or WAIVED}, state=BEGUN))
        else:  # other changes of the inventory must not fail runs either; those of images have been waited for
            self.run_action("superlink", {"state": "checked"})
        self.deployed_hub = self._deploy_superlink()
        hub.error = str(self.deployed_hub["msg"]) if self.deployed_hub.get("failed") else ""
        if not hub.error:
            sites, hosts = site_hosts(self), self.task_vars["hostvars"]
            if sites_with(hosts, sites, delivery=OCM):
                self._add_change(self.run_action("ocm_addon"))
            if sites_with(hosts, sites, connectivity=SKUPPER):
                self._add_change(self.run_action("skupper_site"))
                self._add_change(self.run_action("skupper_listener"))
            hub.offline = self._await_nodes()
            self.record = self.store.change(lambda old: with_hub(old, state=DONE))
        hub.never_started = bool(hub.error) and self._has_never_started()
        former, rollback_error = self.record["hub"]["was"], ""
        if hub.can_go_back(former):
            self._announce("roll the hub back")
            done = self._deploy_superlink(flower_versions.former_hub(former))
            rollback_error = str(done["msg"]) if done.get("failed") else ""
            if not rollback_error and (offline := self._await_nodes()):
                rollback_error = f"SuperNodes are offline: {', '.join(offline)}"
            if not rollback_error:
                self.record = self.store.change(lambda old: with_hub(old, state=WAITING))
                self.note(words=[f"the hub was rolled back to {former['version']}: {hub.error}"])
        if stopped := hub.stopped(self.record, rollback_error):
            raise ClusterError(stopped)

    def _deploy_superlink(self, variables: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Deploy it with what it needs, and wait until all of it is ready; returns the result, which may be that of a failure."""
        done = self.run_action("superlink", {}, {"superlink_wait": True, **(variables or {})}, may_fail=True)
        self._add_change(done)
        return done

    def _add_change(self, done: Mapping[str, Any]) -> None:
        """Count the change of an action at the hub for the result of this task."""
        self.hub_changed |= bool(done.get("changed"))
        diff = done.get("diff") or []
        self.diff += diff if isinstance(diff, list) else [diff]

    def _has_never_started(self) -> bool:
        """Whether the SuperLink's pod has the images that are wanted, and its container was never started with them."""
        images = flower_versions.images_by_workload(self.fleet.hub.wanted)[SUPERLINK].items()
        pods = self.cluster.list("v1", "Pod", self.namespace, labels=proof.pods_query(self.params["federation"], SUPERLINK))
        own = [pod for pod in pods if pod["metadata"]["name"] == SUPERLINK_POD and images <= pod_health.images_of_pod(pod).items()]
        return bool(own) and stuck_pods.never_started(own[0], CONTAINER)

    def _await_nodes(self) -> list[str]:
        """Wait until the SuperNodes that were online before are online again; returns those that are not."""
        nodes, seconds = self.nodes_before, self.params["wait_timeout"]
        if not nodes or self.check:
            return []
        self.say(f"{self.cluster.name}: waiting until {len(nodes)} SuperNodes are online again, up to {seconds} s")
        found = self.cli.nodes(nodes, seconds)
        return [node for node in nodes if found.get(node, {}).get("status") not in ("online", "unregistered")]

    # ---- waves -------------------------------------------------------------------------------------------------------

    def _add_results(self, results: Mapping[str, dict[str, Any]]) -> None:
        for name, result in results.items():
            self.results.setdefault(name, []).append(result)

    def _pull(self, sites: Sequence[str]) -> None:
        """Have nodes pull the images of a wave. A site whose nodes do not get them takes no part."""
        done = self.run_action("supernode", {"state": "pulled", "sites": list(sites)})
        for line in done["lines"]:
            self.say(line)
        lost = {name: str(done["sites"][name]["msg"]) for name in sites if done["sites"][name].get("failed")}
        self.record = self.store.change(lambda old: with_sites(old, {name: {"why": why} for name, why in lost.items()}))
        self._add_results({name: done["sites"][name] for name in lost})
        self.fleet.failed |= lost

    def _deploy(self, sites: Sequence[str]) -> None:
        """Record that the sites are changed from now on, when no run is active, and deploy them."""
        if self._replaced(sites):
            self._wait_no_run()
        changing = [name for name in sites if name in self.fleet.changes]
        self.record = self.store.change(lambda old: with_sites(old, {name: {"state": BEGUN} for name in changing}))
        options = {"sites": list(sites), "image_seconds": IMAGE_SECONDS}
        self.deployed = self.run_action("supernode", options, {"__superlink_deployed": self.deployed_hub})["sites"]
        self._add_results(self.deployed)

    def _check(self, sites: Sequence[str]) -> None:
        """Find out which sites of a wave failed."""
        failed = {} if self.check else self._failures(sites)
        states = {name: {"state": BEGUN, "why": failed[name]} if name in failed else {"state": DONE} for name in sites}
        self.record = self.store.change(lambda old: with_sites(old, states))
        self.fleet.failed |= failed
        self._add_results({name: result for name in failed if (result := self.fleet.site_result(self.record, name))})

    def _failures(self, sites: Sequence[str]) -> dict[str, str]:
        """Site -> why it failed, of those that did.

        A site that applies a bundle is not asked if it was written: its people apply it whenever they do.
        """
        fleet, asked = self.fleet, [name for name in sites if name not in self.fleet.by_hand or self.deployed[name].get("failed")]
        good = [name for name in sites if not self.deployed[name].get("failed")]
        seen = self.run_action("supernode_info", {"sites": list(sites)})["sites"]
        accepted = {}
        if self.params["verify"] and fleet.changes & {*sites} and good:
            limits = {name: self.variable(f"flower_verify_{name}", None) for name in ("round_trip", "upload")}
            options = {name: value for name, value in limits.items() if value not in _EMPTY}
            accepted = self.run_action("supernode_acceptance", {"sites": good, **options})["sites"]
        run = self._acceptance_run() if self.params["app"] and fleet.changes & {*sites} and len(good) == len(sites) else ""
        ledger = Ledger(self.cluster, self.namespace, self.params["federation"])
        book = ledger.read_book()
        read, unreadable = ledger.read_sites()
        # A node of the cluster that was away before is not waited for, nor was it when the site was deployed.
        expected = {name: records.with_nodes(record, self.nodes_before) for name, record in read.items()}
        exempt = {name for name in asked if restart_conditions.exemption(name, book, read)}
        online = [name for name in asked if name in good]
        nodes = [node for name in online if name in expected and name not in exempt for node in records.node_ids(expected[name])]
        offline = restart_conditions.offline_of(online, expected, unreadable, book, self.cli.nodes(nodes, self.params["wait_timeout"]))
        found = {}
        for name in asked:
            judged = accepted.get(name) if name not in exempt else None  # SuperNodes of a site that is denied are offline, as they should be
            live = flower_versions.running_at(seen.get(name) or {})
            reasons = (
                "" if name in good else str(self.deployed[name]["msg"]),
                offline.get(name, ""),
                flower_versions.other_images(live, fleet.sites[name][1]),
                "" if judged is None or judged["accepted"] else f"it is not accepted: {'; '.join(judged.get('reasons') or [])}",
                f"the acceptance run failed: {run}" if run else "",
            )
            if why := next(filter(None, reasons), ""):
                found[name] = named_hosts(name, why)
        return found

    def _acceptance_run(self) -> str:
        """Run the app that accepts the upgrade; returns why it failed.

        Strategies go on without SuperNodes that answer with errors, so a run completes although the app fails at a site.
        """
        seconds = self.variable("flower_run_timeout", None) or 3600
        options = {"app": self.params["app"], "run_config": self.params["app_config"], "wait_timeout": seconds}
        done = self.run_action("run", options, may_fail=True)
        errors = str(done.get("node_errors") or "")
        if errors or done.get("status") == COMPLETED:
            return errors
        return str(done.get("msg") or done.get("status") or "it has no status")

    def _roll_back(self, sites: Sequence[str]) -> None:
        """Deploy sites with what ran there before."""
        former = {name: self.record["sites"][name]["was"] for name in sites}
        done = self.run_action("supernode", {"sites": list(sites), "before": former, "image_seconds": IMAGE_SECONDS})["sites"]
        errors = {name: str(done[name]["msg"]) if done[name].get("failed") else "" for name in sites}
        states = {
            name: {"state": BEGUN if error else BACK, "why": self.fleet.failed.get(name, "rolled back with its wave")}
            for name, error in errors.items()
        }
        self.record = self.store.change(lambda old: with_sites(old, states))
        self.fleet.rolled_back |= errors
        results = {name: result for name in sites if (result := self.fleet.site_result(self.record, name))}
        self._add_results(results)
        for name, result in results.items():
            self.note(name, words=[result["msg"]])


def _unusable(name: str, hub: Mapping[str, Any], status: Mapping[str, Any], check: Mapping[str, Any]) -> str:
    """Why a site cannot be upgraded; empty if it can."""
    if check.get("failed") or "flower" not in check:
        return str(check.get("msg") or "it was not checked")
    if not status.get("reachable"):
        return str(status.get("error") or "it does not answer")
    return str((hub["sites"].get(name) or {}).get("fault") or "")
