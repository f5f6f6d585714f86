# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Deploy the ClientApps of sites where they are in their own pods, and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from ..base.errors import ClusterError
from ..base.formats import named_hosts
from ..base.object_names import BUNDLE
from ..manifests import supernode
from ..sites.site import Site, SiteBackend, StepResult
from ..state import records, site_indexes
from ..state.ledger import DATASETS
from .deploy import Rollout
from .outcome import Outcomes

_STAY = "its ClientApps stay as they are: according to the hub, the site"


def apply_apps(backend: SiteBackend, site: Site, gate: Callable[[], None], outcomes: Outcomes) -> StepResult:
    """Deploy those of one site; its outcome says what became of them. C(gate): called before pods are replaced.

    Raises:
        ClusterError: they could not be deployed.
    """
    if not site.spec.has_separate_clientapps:
        outcomes[site.name].msg = "its ClientApps run beside its SuperNodes"
        return StepResult()
    done = backend.apply_apps(supernode.clientapps(site.spec), gate, site.seconds)
    outcomes.add(site.name, done)
    outcomes[site.name].msg = done.msg
    if done.failed:
        raise ClusterError(done.msg)
    return done


def deploy_apps(rollout: Rollout) -> None:
    """Deploy them at the sites of a rollout that have not failed."""
    sites, outcomes = rollout.sites, rollout.outcomes

    def one(name: str) -> StepResult:
        return apply_apps(rollout.backends[name], sites[name], lambda: rollout.wait_no_run(sites[name]), outcomes)

    rollout.detect_platforms()
    _refuse_other_pools(rollout)
    _refuse_new_claims(rollout)
    tried = outcomes.good()
    applied = outcomes.each(one)
    mounting = {name for name in tried if any(pool.datasets for pool in sites[name].spec.pools)}
    # Without datasets this needs nothing of the hub, unless there may have been some until now.
    noted = [name for name in tried if sites[name].spec.has_separate_clientapps and (name in mounting or outcomes[name].changed)]
    try:
        rollout.note_datasets(noted, applied)
    except ClusterError as error:
        for name in noted:
            if name in mounting:
                outcomes.fail(name, error.message)
            else:
                outcomes[name].warnings.append(f"{name}: cannot record at the hub that its ClientApps have no datasets: {error.message}")


def _apart(rollout: Rollout) -> list[str]:
    return [name for name in rollout.outcomes.good() if rollout.sites[name].spec.has_separate_clientapps]


def _refuse_other_pools(rollout: Rollout) -> None:
    """Refuse ClientApps for other SuperNodes than a site has: those without a SuperNode would never be ready, and runs would wait for
    SuperNodes without one. What people apply is not known before they reply.
    """
    chosen = _apart(rollout)
    try:
        found, unreadable = rollout.hub.ledger.read_sites() if chosen else ({}, {})
    except ClusterError as error:  # ClientApps themselves need nothing of the hub
        for name in chosen:
            words = f"cannot determine whether it has the SuperNodes of these ClientApps: {error.message}"
            rollout.outcomes[name].warnings.append(named_hosts(name, words))
        return
    for name in chosen:
        site = rollout.sites[name]
        if site.access.delivery == BUNDLE or name in unreadable:
            continue
        keys = (found.get(name) or records.empty_record(name))["keys"].values()
        has = Counter(key["pool"] for key in keys if not key.get("leaving"))
        wants = Counter({pool.name: pool.replicas for pool in site.spec.pools})
        differs = [f"{has[pool]} in pool {pool}, not {wants[pool]}" for pool in sorted({*has, *wants}) if has[pool] != wants[pool]]
        if differs:
            rollout.outcomes.fail(
                name, f"{_STAY} has other SuperNodes than its variables ({'; '.join(differs)}), and only federated.flower.site changes these. Run that first."
            )


def _refuse_new_claims(rollout: Rollout) -> None:
    """Refuse ClientApps that would wait without end for claims that only the deployment of their site creates."""
    created = {
        name: {one.name for pool in rollout.sites[name].spec.pools for one in pool.datasets if one.is_created} for name in _apart(rollout)
    }
    if not any(created.values()):
        return
    index = rollout.hub.ledger.read(DATASETS)
    for name, wanted in created.items():
        if new := site_indexes.absent_datasets(index, name, wanted):
            rollout.outcomes.fail(
                name, f"{_STAY} does not have the datasets {', '.join(new)} yet, and only federated.flower.site creates their claims. Run that first."
            )
