# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.upgrade): one step of an upgrade of the fleet."""

from __future__ import annotations

import datetime
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.apply.readiness import state as readiness
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.hosts import named
from ansible_collections.federated.flower.plugins.plugin_utils.base.images import images_of
from ansible_collections.federated.flower.plugins.plugin_utils.base.object_names import (
    SERVERAPP,
    SUPERLINK,
    SUPERLINK_POD,
)
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import CONTAINER, FlowerCLI
from ansible_collections.federated.flower.plugins.plugin_utils.kube import outdated, pod_health, stranded
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.ledger import records
from ansible_collections.federated.flower.plugins.plugin_utils.ledger.store import Ledger
from ansible_collections.federated.flower.plugins.plugin_utils.marks import proof
from ansible_collections.federated.flower.plugins.plugin_utils.rotation import conditions
from ansible_collections.federated.flower.plugins.plugin_utils.upgrade import (
    as_before,
    unfinished,
    verdict,
    wave_list,
    way_back,
    what_runs,
)
from ansible_collections.federated.flower.plugins.plugin_utils.upgrade.unfinished import (
    BACK,
    BEGUN,
    DONE,
    WAITING,
    WAIVED,
    Progress,
)

# A pull that fails once may succeed with the next attempt. Seconds.
IMAGE_SECONDS = 20
_PAUSE = 1.0
_WAY_OUT = "flower_upgrade_wait", ""
_KINDS = ("StatefulSet", "Deployment")


class ActionModule(ClusterAction):
    """See the module's documentation."""

    ARGS = {
        "hub": {"type": "str", "required": True},
        "hub_namespace": {"type": "str"},
        "federation": {"type": "str"},
        "step": {"type": "str", "required": True, "choices": ["plan", "begin", "hub_begin", "hub", "hub_back", "wave", "gate", "settle", "finish"]},
        "superlink": {"type": "dict", "default": {}},
        "supernodes": {"type": "dict", "default": {}},
        "hub_checked": {"type": "dict", "default": {}},
        "sites_checked": {"type": "dict", "default": {}},
        "sites": {"type": "list", "elements": "str", "default": []},
        "waves": {"type": "raw"},
        "max_failed": {"type": "int", "default": 0},
        "wait": {"type": "int", "default": 3600},
        "wait_timeout": {"type": "int", "default": 300},
        "backup": {"type": "bool", "default": True},
        "archive": {"type": "str", "default": ""},
        "can_back_up": {"type": "bool", "default": False},
        "plan": {"type": "dict", "default": {}},
        "pulled": {"type": "dict", "default": {}},
        "deployed": {"type": "dict", "default": {}},
        "gate": {"type": "dict", "default": {}},
        "run": {"type": "dict", "default": {}},
        "accepted": {"type": "dict", "default": {}},
        "failed": {"type": "list", "elements": "str", "default": []},
    }

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Do one step."""
        self.where = params["hub_namespace"]
        if params["step"] == "plan" and not params["superlink"].get("deployed"):
            raise ClusterError(self._not_deployed(params))
        with self.connect(params["hub"]) as cluster:
            self.store = unfinished.Store(cluster, self.where, params["federation"], check=self.check)
            self.cli = FlowerCLI(cluster, self.where)
            step = getattr(self, f"_{params['step']}")
            result: dict[str, Any] = step(params, cluster)
        return {"changed": False, "msg": "", **result}

    @staticmethod
    def _not_deployed(params: dict[str, Any]) -> str:
        error = params["superlink"].get("error")
        return error or f"there is no SuperLink in namespace {params['hub_namespace']}: federated.flower.site deploys one, and this upgrades it."

    # ---- plan --------------------------------------------------------------------------------------------------------

    def _plan(self, params: dict[str, Any], cluster: Cluster) -> dict[str, Any]:
        """What is to be done; nothing is written."""
        known, seen = self.store.read(), params["superlink"]
        hub, names = params["hub"], params["sites"]
        pair = what_runs.running(seen["workloads"]), params["hub_checked"]["flower"]
        out = self._unusable(params)
        live = {name: what_runs.running(self._workloads(params["supernodes"][name])) for name in names if name not in out}
        want = {name: params["sites_checked"][name]["flower"] for name in live}
        by_hand = [name for name in live if params["supernodes"][name].get("bundle")]
        faults = what_runs.faults(hub, *pair, live, want, by_hand)
        denied = [name for name, site in seen["sites"].items() if site["access"]]
        groups = {name: hosts for name, hosts in (self.task_vars.get("groups") or {}).items() if name not in names}
        waves: list[list[str]] = []
        try:
            waves = [
                [name for name in wave if name not in out]
                for wave in wave_list.make(params["waves"], names, groups, [*denied, *out, *by_hand])
            ]
            waves = [wave for wave in waves if wave]
        except ValueError as error:
            faults.append(str(error))
        if len(out) > params["max_failed"]:
            faults.append(
                f"{len(out)} of {len(names)} sites cannot be upgraded: {'; '.join(out.values())}. Repair them, or upgrade the others with "
                f"-e flower_upgrade_max_failed={len(out)}"
            )
        begun = unfinished.is_hub_begun(known, pair[0], pair[1]["version"], answers=not seen.get("error"))
        hub_changes = what_runs.differs(*pair) or begun
        half = {name for name, site in (known.get("sites") or {}).items() if site["state"] == BEGUN}
        changes = [name for name in live if name in half or what_runs.differs(live[name], want[name])]
        if hub_changes and not begun and params["backup"] and not params["can_back_up"]:
            faults.append(
                f"{hub}: flower_upgrade_backup: an upgrade of the SuperLink changes its database, and only a backup leads back. Set "
                "flower_backup_directory and flower_backup_recipients, or do without one: -e flower_upgrade_backup=false"
            )
        if seen.get("error") and not begun:
            faults.append(f"{hub}: the SuperLink does not answer, so nothing is known of runs: {seen['error']} Repair it with federated.flower.site first")
        if faults:
            raise ClusterError("\n".join(faults) + "\nNothing was changed.")
        todo = bool(hub_changes or changes or known)
        lines = what_runs.table(hub, *pair, waves, live, want, by_hand)
        lines = ([f"continued: {unfinished.words(known)}"] if known else []) + lines if todo else []
        return {
            "changed": todo and self.check,
            "todo": todo,
            "waves": waves if todo else [],
            "changes": changes,
            "hub_changes": hub_changes,
            "hub_begun": begun,
            "hub_release": next((str(one.get("version") or "") for one in seen["workloads"] if one["name"] == SUPERLINK), ""),
            "back_up": bool(hub_changes and not begun and params["backup"] and params["can_back_up"]),
            "hub_pair": list(pair),
            "pairs": {name: [live[name], want[name]] for name in live},
            "online": [node for node, facts in seen["nodes"].items() if facts["status"] == "online"],
            "by_hand": by_hand,
            "left_out": out,
            "warnings": what_runs.warnings(pair[1], live, want) if todo else [],
            "lines": lines or [f"{hub}: {pair[0]['version']}, and all {len(names)} sites: nothing to upgrade"],
            "msg": f"{len(changes)} sites to upgrade" if todo else "nothing to upgrade",
        }

    @staticmethod
    def _workloads(facts: Mapping[str, Any]) -> list[dict[str, Any]]:
        """What runs at a site; of one that applies bundles, what its last one has."""
        return [one for key in ("workloads", "clientapps", "bundle_workloads") for one in facts.get(key) or []]

    @staticmethod
    def _unusable(params: dict[str, Any]) -> dict[str, str]:
        """Sites that cannot be upgraded, and why."""
        out = {}
        for name in params["sites"]:
            checked, seen = params["sites_checked"].get(name) or {}, params["supernodes"].get(name) or {}
            if checked.get("failed") or "flower" not in checked:
                out[name] = str(checked.get("msg") or named(name, "it was not checked"))
            elif not seen.get("reachable"):
                out[name] = named(name, str(seen.get("error") or "it does not answer"))
            elif fault := (params["superlink"].get("sites", {}).get(name) or {}).get("fault"):
                out[name] = named(name, str(fault))
        return out

    def _begin(self, params: dict[str, Any], cluster: Cluster) -> dict[str, Any]:
        """Keep what runs now, and wait for the end of runs."""
        plan = params["plan"]
        now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        hub, sites = tuple(plan["hub_pair"]), {name: tuple(pair) for name, pair in plan["pairs"].items()}
        begin = partial(unfinished.begin, now=now, waves=plan["waves"], hub=hub, sites=sites, hub_begun=plan["hub_begun"])
        changed = self.store.change(begin)
        if changed:
            self.note(words=[f"upgrade to {hub[1]['version']}: {'; '.join(plan['lines'])}"])
        if not self.check and (plan["hub_changes"] or self._replaced(plan, plan["changes"])):
            self._wait_no_run(params, self.store.read())
        return {"changed": changed, "msg": "no run is active"}

    @staticmethod
    def _replaced(plan: Mapping[str, Any], sites: list[str]) -> list[str]:
        """Those of some sites whose pods are replaced now. A bundle is only written: its people replace them, whenever they do."""
        return [name for name in sites if name not in plan["by_hand"]]

    def _wait_no_run(self, params: dict[str, Any], progress: Progress) -> None:
        if progress.get("hub", {}).get("state") == BEGUN:
            # An earlier run was interrupted while it replaced the SuperLink, which may be starting, or may not be able to.
            try:
                self.cli.wait_for_superlink(IMAGE_SECONDS)
            except ClusterError as error:
                self.say(f"{params['hub']}: the upgrade of the hub is completed without asking for runs: {error.message}")
                return
        conditions.wait_no_run(self.cli, params["wait"], self.say, _WAY_OUT)

    # ---- hub ---------------------------------------------------------------------------------------------------------

    def _hub_begin(self, params: dict[str, Any], cluster: Cluster) -> dict[str, Any]:
        """Keep that the hub is changed from now on, and the archive that was written before; a run may have started meanwhile."""

        def change(progress: Progress) -> Progress:
            archive = params["archive"] or progress["backup"] or WAIVED
            return {**progress, "backup": archive, "hub": {**progress["hub"], "state": BEGUN}}

        if not params["plan"]["hub_changes"]:
            return {"changed": False}
        if not self.check:
            self._wait_no_run(params, self.store.read())
        return {"changed": self.store.change(change)}

    def _hub(self, params: dict[str, Any], cluster: Cluster) -> dict[str, Any]:
        """Wait until the hub runs what is wanted; if it does not, find out whether there is a way back."""
        if self.check:
            return {"back": {}}
        plan, want = params["plan"], params["plan"]["hub_pair"][1]
        why, never_started = self._await_hub(params, cluster, want)
        progress = self.store.read()
        if not why:
            away = self._await_nodes(plan["online"], params["wait_timeout"])
            changed = self.store.change(lambda old: {**old, "hub": {**old["hub"], "state": DONE}})
            if away:
                raise ClusterError(
                    f"the SuperLink runs {want['version']}, and these SuperNodes, which were online before, are not online after "
                    f"{params['wait_timeout']} s: {', '.join(away)}. No site was upgraded. Look at federated.flower.status, then run "
                    "federated.flower.upgrade again: it continues with the sites."
                )
            return {"changed": changed, "back": {}, "msg": f"the hub runs {want['version']}"}
        was = progress["hub"]["was"]
        if not plan["hub_changes"] or not was["workloads"]:
            raise ClusterError(f"the hub is not ready: {why}. No site was upgraded.")
        other = way_back.other_format(was["version"], plan["hub_release"], want["version"], never_started=never_started)
        if not other:
            safe = "The SuperLink was not started with it" if never_started else "Its database has the same format for both"
            return {"back": as_before.hub_as_before(was), "why": why, "safe": safe}
        archive = progress["backup"]
        rest = (
            f"go back with the backup {archive} and federated.flower.restore; runs since then are lost with it"
            if archive != WAIVED
            else "there is no way back: no backup was written (flower_upgrade_backup)"
        )
        raise ClusterError(
            f"the hub does not start with {want['version']}: {why}. No site was upgraded. The hub is not rolled back: its SuperLink was "
            f"started with {other}, or may have been, so its database may have the format of {other}, which {was['version']} cannot open. Correct "
            f"the cause and run federated.flower.upgrade again. Otherwise: {rest}."
        )

    def _hub_back(self, params: dict[str, Any], cluster: Cluster) -> dict[str, Any]:
        """Wait until the hub runs again what it ran before, and report why the upgrade stopped."""
        was = self.store.read()["hub"]["was"]
        first = params["gate"]["why"]
        why, _never = self._await_hub(params, cluster, was)
        away = [] if why else self._await_nodes(params["plan"]["online"], params["wait_timeout"])
        if why or away:
            raise ClusterError(
                f"{first}. It was rolled back to {was['version']}, and is not healthy: {why or 'SuperNodes are offline: ' + ', '.join(away)}. "
                "No site was upgraded."
            )
        self.store.change(lambda old: {**old, "hub": {**old["hub"], "state": WAITING}})
        self.note(words=[f"the hub was rolled back to {was['version']}: {first}"])
        raise ClusterError(
            f"{first}. {params['gate']['safe']}, so the hub was rolled back: it runs {was['version']} again, and its SuperNodes are online. "
            "No site was upgraded. Correct the cause and run federated.flower.upgrade again."
        )

    def _await_hub(self, params: dict[str, Any], cluster: Cluster, want: what_runs.What) -> tuple[str, bool]:
        """Wait until the hub's workloads are ready with these images.

        Returns:
            Why they are not, empty if they are; and whether the SuperLink was never started with its image.
        """
        deadline = time.monotonic() + params["wait_timeout"]
        images = what_runs.by_name(want)
        ours = proof.pods_query(params["federation"], SUPERLINK, SERVERAPP)
        since, shown = 0.0, ""
        while True:
            items = [{"kind": kind, **one} for kind in _KINDS for one in cluster.list("apps/v1", kind, self.where, labels=ours)]
            pods = cluster.list("v1", "Pod", self.where, labels=ours)
            waiting = [why for item in items if (why := self._unready(item, images))]
            waiting += [f"{name} is not there" for name in images if name not in {item["metadata"]["name"] for item in items}]
            if not waiting:
                return "", False
            if waiting[0] != shown:
                shown = waiting[0]
                self.say(f"{cluster.name}: waiting for {shown}, up to {max(deadline - time.monotonic(), 0):.0f} s more")
            current = [pod for pod in pods if self._is_current(pod, images)]
            unpulled = next(filter(None, map(pod_health.unpulled, current)), "")
            now = time.monotonic()
            since = (since or now) if unpulled else 0.0
            if (unpulled and now - since >= IMAGE_SECONDS) or now >= deadline:
                own = next((pod for pod in current if pod["metadata"]["name"] == SUPERLINK_POD), None)
                never = own is not None and stranded.never_started(own, CONTAINER)
                return unpulled or f"{'; '.join(waiting)} ({pod_health.summary(pods)})", never
            self._replace_outdated(cluster, params["federation"], items, pods)
            time.sleep(_PAUSE)

    @staticmethod
    def _unready(item: Mapping[str, Any], images: Mapping[str, Mapping[str, str]]) -> str:
        name = item["metadata"]["name"]
        if name not in images:
            return ""
        if images_of(item) != images[name]:
            return f"{name} has other images"
        state = readiness({"apiVersion": "apps/v1", **item})
        return "" if state.ready else f"{name}: {state.why}"

    @staticmethod
    def _is_current(pod: Mapping[str, Any], images: Mapping[str, Mapping[str, str]]) -> bool:
        """Whether a pod has images that are wanted."""
        own = pod_health.images_of_pod(pod).items()
        return any(wanted.items() <= own for wanted in images.values())

    def _replace_outdated(
        self, cluster: Cluster, federation: str, items: list[dict[str, Any]], pods: list[dict[str, Any]]
    ) -> None:
        """Delete a SuperLink pod that is not ready and that the StatefulSet would create from another template."""
        sets = [item for item in items if item["kind"] == "StatefulSet"]
        for pod in pods:
            if pod["metadata"]["name"] == SUPERLINK_POD and any(outdated.is_outdated(pod, one, federation, CONTAINER) for one in sets):
                stranded.replace(cluster, pod)
                self.note(words=[f"pod {SUPERLINK_POD} was created again: {outdated.WORDS}"])

    def _await_nodes(self, nodes: list[str], seconds: int) -> list[str]:
        """Wait until SuperNodes are online; returns those that are not."""
        if not nodes:
            return []
        self.say(f"{self.cli.cluster.name}: waiting until {len(nodes)} SuperNodes are online again, up to {seconds} s")
        found = self.cli.nodes(nodes, seconds)
        return [node for node in nodes if found.get(node, {}).get("status") not in ("online", "unregistered")]

    # ---- waves -------------------------------------------------------------------------------------------------------

    @staticmethod
    def _failed(params: dict[str, Any]) -> list[str]:
        """Sites that failed so far: those that could not take part are among those that may."""
        return list(dict.fromkeys([*params["plan"]["left_out"], *params["failed"]]))

    def _wave(self, params: dict[str, Any], cluster: Cluster) -> dict[str, Any]:
        """Before a wave: its nodes have the images, no run is active, and it is kept that its sites are changed from now on."""
        told, wave = params["pulled"], params["sites"]
        lost = {name: str(told[name]["msg"]) for name in wave if (told.get(name) or {}).get("failed")}
        left = verdict.without(wave, lost, self._failed(params), params["plan"]["waves"], params["max_failed"])
        changing = [name for name in left["sites"] if name in params["plan"]["changes"]]
        if self.check:
            return left
        if self._replaced(params["plan"], changing):
            self._wait_no_run(params, {})

        def change(progress: Progress) -> Progress:
            sites = dict(progress["sites"])
            for name in lost:
                sites[name] = {**sites[name], "why": lost[name]}
            return {**progress, "sites": {**sites, **{name: {**sites[name], "state": BEGUN} for name in changing}}}

        return {"changed": self.store.change(change) if changing or lost else False, **left}

    def _gate(self, params: dict[str, Any], cluster: Cluster) -> dict[str, Any]:
        """After a wave: what failed, and what goes back."""
        if self.check:
            return {"back": {}, "why": {}, "stop": False}
        names, plan = params["sites"], params["plan"]
        results = params["deployed"]["sites"]
        # What others apply, whenever they do, is written: their pods cannot be asked, and still run what they ran.
        asked = [name for name in names if name not in plan["by_hand"] or results[name].get("failed")]
        ledger = Ledger(cluster, self.where, params["federation"])
        book = ledger.read_book()
        read, unreadable = ledger.read_sites()
        # Others were waited for when the site was deployed, but for those of nodes of its cluster that are away.
        found = {name: records.only(record, plan["online"]) for name, record in read.items()}
        expected = {
            name: [node for node, _key in records.node_ids(found[name]).items()]
            for name in names
            if name in found and not conditions.exemption(name, book, found)
        }
        deployed = [name for name in asked if not results[name].get("failed")]
        online = self.cli.nodes([node for name in deployed for node in expected.get(name, [])], params["wait_timeout"])
        away = conditions.away(deployed, found, unreadable, book, online)
        seen = {name: what_runs.running(self._workloads(params["supernodes"].get(name) or {})) for name in deployed}
        progress = self.store.read()
        judged = verdict.of_wave(
            asked,
            results=results,
            offline=away,
            other={name: why for name in deployed if (why := verdict.other_images(seen[name], plan["pairs"][name][1]))},
            run=params["run"],
            # The SuperNodes of a site that is denied are offline, as they should be.
            accepted={
                name: params["accepted"][name] for name in deployed if name in params["accepted"] and not conditions.exemption(name, book, read)
            },
            # A bundle stays: its people may have applied it, and one that could not be written is written by the next run.
            was={name: what_runs.NOTHING if name in plan["by_hand"] else progress["sites"][name]["was"] for name in names},
            want={name: plan["pairs"][name][1] for name in names},
            before=self._failed(params),
            allowed=params["max_failed"],
        )
        done = [name for name in names if name not in judged["back"] and name not in judged["why"]]

        def change(old: Progress) -> Progress:
            sites = old["sites"]
            return {**old, "sites": {**sites, **{name: {**sites[name], "state": DONE} for name in done}}}

        return {**judged, "changed": self.store.change(change)}

    def _settle(self, params: dict[str, Any], cluster: Cluster) -> dict[str, Any]:
        """After a wave, and what was rolled back of it: the result of each site."""
        gate, names = params["gate"], params["sites"]
        if self.check:
            return {"sites": {}, "stop": False, "failed_sites": []}
        back = (params["deployed"] or {}).get("sites") or {}
        told = verdict.results(names, gate, back)

        def change(old: Progress) -> Progress:
            sites = dict(old["sites"])
            for name in {*gate["back"], *gate["why"]}:
                good = name in gate["back"] and not back.get(name, {}).get("failed")
                sites[name] = {**sites[name], "state": BACK if good else BEGUN, "why": gate["why"].get(name, "rolled back with its wave")}
            return {**old, "sites": sites}

        self.store.change(change)
        for name in gate["back"]:
            self.note(name, words=[told[name]["msg"]])
        failed = [*self._failed(params), *gate["why"]]
        number = verdict.number_of(names, params["plan"]["waves"])
        return {
            "sites": told,
            "stop": gate["stop"],
            "failed_sites": failed,
            "msg": verdict.stopped(number, params["plan"]["waves"], told, params["max_failed"]) if gate["stop"] else f"wave {number} is done",
        }

    def _finish(self, params: dict[str, Any], cluster: Cluster) -> dict[str, Any]:
        """Nothing is left to be done, but for sites that failed or were left out."""
        open_sites = self._failed(params)
        version = params["plan"]["hub_pair"][1]["version"]
        if open_sites:
            return {
                "msg": f"the hub runs {version}; {', '.join(open_sites)} does not. Correct what is reported of them, and run federated.flower.upgrade again"
            }
        gone = self.store.delete()
        if gone:
            self.note(words=[f"the upgrade to {version} is complete"])
        return {"changed": gone, "msg": f"the upgrade to {version} is complete" if gone else f"the fleet runs {version}"}
