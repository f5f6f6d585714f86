# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.takeover): what a move from flower-operator keeps, and its keys for the sites."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.fleet_action import FleetAction
from ansible_collections.federated.flower.plugins.plugin_utils.apply.engine import apply_objects
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.foreign_data import cleaned
from ansible_collections.federated.flower.plugins.plugin_utils.base.object_names import SUPERNODE
from ansible_collections.federated.flower.plugins.plugin_utils.base.problems import require
from ansible_collections.federated.flower.plugins.plugin_utils.checks.site_rules import site_problems
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.outcome import Outcomes
from ansible_collections.federated.flower.plugins.plugin_utils.flower import in_pod
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import listing, read_answer
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import supernode
from ansible_collections.federated.flower.plugins.plugin_utils.marks import owners
from ansible_collections.federated.flower.plugins.plugin_utils.migration import (
    key_import,
    migration_report,
    operator_federation,
)
from ansible_collections.federated.flower.plugins.plugin_utils.migration.key_import import ImportedKeys
from ansible_collections.federated.flower.plugins.plugin_utils.migration.operator_federation import OperatorFederation
from ansible_collections.federated.flower.plugins.plugin_utils.programs import pod_program
from ansible_collections.federated.flower.plugins.plugin_utils.site_keys.keys import KEYS_COMPONENT
from ansible_collections.federated.flower.plugins.plugin_utils.sites import namespace_inspection
from ansible_collections.federated.flower.plugins.plugin_utils.sites.namespace_inspection import missing_namespace
from ansible_collections.federated.flower.plugins.plugin_utils.sites.site import Site, StepResult
from ansible_collections.federated.flower.plugins.plugin_utils.spec.site_spec import SiteSpec
from ansible_collections.federated.flower.plugins.plugin_utils.state import key_claims
from ansible_collections.federated.flower.plugins.plugin_utils.state.ledger import Ledger
from ansible_collections.federated.flower.plugins.plugin_utils.state.partition_numbers import left_keys

_SECONDS = 90


class ActionModule(FleetAction):
    """See the module's documentation."""

    def make_lease_namespace(self, hub: Cluster) -> bool:
        """The namespace has the lease and the audit trail."""
        raise ClusterError("the hub is not deployed yet, and nothing was changed. Run federated.flower.site with --limit and the hub first.")

    def work(self, params: dict[str, Any], sites: dict[str, Site], outcomes: Outcomes) -> dict[str, Any]:
        """One site after the other: there are few of them, and each once. Nothing is written before all were looked at."""
        places: dict[str, tuple[str, str]] = {}
        for name, site in sites.items():
            try:
                space, federation = (self.value_of(name, variable, None) for variable in (operator_federation.NAMESPACE, operator_federation.FEDERATION))
                place = operator_federation.selected_federation(space, federation, site.federation)
            except ClusterError as error:
                outcomes.fail(name, error.message)
                continue
            if place:
                places[name] = place
            elif name in (params["sites"] or ()):
                outcomes.fail(name, f"{operator_federation.NAMESPACE} does not name the namespace of its Federation of flower-operator")
        if not places and not any(outcome.failed for outcome in outcomes.sites.values()):
            raise ClusterError(f"no site has {operator_federation.NAMESPACE}: set it for those whose cluster has a Federation of flower-operator.")

        def inspect(name: str) -> ImportedKeys:
            return self._inspect(sites[name], *places[name], outcomes)

        found: dict[str, ImportedKeys] = {}
        for name in places:
            found |= outcomes.each(inspect, [name])
        for name, message in key_import.shared_key_errors(found).items():
            outcomes.fail(name, message)

        def write(name: str) -> None:
            with self.connect(name) as cluster:
                cluster.name = name
                namespaces = missing_namespace(cluster, sites[name].spec) if found[name].secrets else []
                outcomes.add(name, StepResult.of(apply_objects(cluster, [*namespaces, *found[name].secrets], check=self.check, show_diff=self.show_diff)))

        for name in found:
            outcomes.each(write, [name])
        return {}

    def _inspect(self, site: Site, space: str, name: str, outcomes: Outcomes) -> ImportedKeys:
        """What is kept of a Federation, and the report on it."""
        require(site_problems(site.given))
        if site.access.delivery != "direct":
            raise ClusterError(f"flower_delivery is {site.access.delivery}: only a site that is reached directly can keep keys of flower-operator.")
        spec = site.spec
        hub, refused = self._at_hub(site)
        with self.connect(site.name) as cluster:
            cluster.name = site.name
            self._check_places(cluster, site, space)
            # As site.yml does, which comes later: a private key in a namespace of someone else could not be taken back.
            owner = owners.deployment_notes(site.federation, site.name, hub)
            namespace_inspection.inspect_namespace(cluster, SUPERNODE, spec, lambda: supernode.objects(spec.complete()), owner=owner, claim=site.claim)
            seen = operator_federation.read(cluster, space, name)
            old_secrets = {one: cluster.get("v1", "Secret", one, space) for one in key_import.secrets_needed(seen)}
            labels = f"app.kubernetes.io/component={KEYS_COMPONENT}"
            live = {one["metadata"]["name"]: one for one in cluster.list("v1", "Secret", spec.namespace, labels=labels)}
            kept = key_import.import_keys(seen, old_secrets, spec, live, refused)
            found = migration_report.report(seen, kept, spec, self._runs(cluster, seen), self._missing(cluster, spec))
        count = sum(one.result == key_import.KEPT for one in kept.found)
        outcomes[site.name].msg = f"{count} of {len(kept.found)} keys are kept"
        outcomes[site.name].facts = {
            "report": found.lines,
            "keys": [one.facts() for one in kept.found],
            "missing": found.missing,
            "active_runs": found.active or [],
            "runs_known": found.active is not None,
        }
        return kept

    def _at_hub(self, site: Site) -> tuple[str, dict[str, str]]:
        """Identity of the hub, and fingerprint -> why it does not take this key from this site."""
        with self.connect(site.hub) as hub:
            hub.name = site.hub
            ledger = Ledger(hub, site.hub_namespace, site.federation, check=True)
            sites, _unreadable = ledger.read_sites()
            return ledger.identity(), key_claims.rejected_keys(site.name, sites, left_keys(ledger.read_book(), site.name))

    def _check_places(self, cluster: Cluster, site: Site, space: str) -> None:
        """Pods of both in one namespace would be taken for each other: their labels are alike."""
        for variable, taken, host in (
            ("supernode_namespace", site.namespace, site.name), ("the hub's namespace", site.hub_namespace, site.hub),
        ):  # fmt: skip
            if taken != space:
                continue
            with self.connect(host) as other:
                if host != site.name and _cluster_id(other) != _cluster_id(cluster):
                    continue
            raise ClusterError(
                f"{variable} is {space}, the namespace of the Federation: the labels of its pods are like those of this collection. "
                "Set flower_namespace or supernode_namespace to another name."
            )

    def _runs(self, cluster: Cluster, seen: OperatorFederation) -> dict[str, Any]:
        """The old SuperLink's runs, or why they are not known. It is asked by its own command line, in its pod."""
        try:
            port, ca = migration_report.superlink_access(seen)
        except ClusterError as error:
            return {"why": error.message}
        pods = [pod["metadata"]["name"] for pod in seen.pods_of(seen.superlink or {}) if pod.get("status", {}).get("phase") == "Running"]
        if not pods:
            return {"why": "its pod does not run"}
        trust = f'root-certificates = "{ca}"' if ca else "insecure = true"
        request = {
            "files": {"config.toml": f'[superlink]\ndefault = "here"\n\n[superlink.here]\naddress = "127.0.0.1:{port}"\n{trust}\n'},
            "environment": {"FLWR_HOME": "@FOLDER@", "HOME": "@FOLDER@", "FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1"},
            "steps": [{"command": [*listing(), "here", "--format", "json"]}],
        }
        try:
            output = in_pod.run(cluster, seen.namespace, pods[0], operator_federation.SUPERLINK, pod_program, request, seconds=_SECONDS)
            answer = read_answer(output.object())
        except ClusterError as error:
            return {"why": error.message}
        return answer.data if answer.ok else {"why": cleaned(answer.message, 300)}

    @staticmethod
    def _missing(cluster: Cluster, spec: SiteSpec) -> list[str]:
        """What the new pods name and their namespace has not: objects do not move with a Federation."""
        wanted = {("Secret", name) for name in spec.image_pull_secrets}
        for pool in spec.pools:
            wanted.update(operator_federation.references([{"env": pool.env}, *pool.init_containers, *pool.extra_containers], pool.volumes))
        return [f"{kind} {name}" for kind, name in sorted(wanted) if cluster.get("v1", kind, name, spec.namespace) is None]


def _cluster_id(cluster: Cluster) -> str:
    """Unique for each cluster."""
    system = cluster.get("v1", "Namespace", "kube-system")
    return str(system["metadata"]["uid"]) if system else cluster.server
