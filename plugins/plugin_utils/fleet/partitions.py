# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Partition numbers for the sites of a rollout, and what the hub publishes."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from ...module_utils.node_config import MAX_REPLICAS
from ..base.errors import ClusterError
from ..base.foreign_data import cleaned
from ..base.formats import named_hosts
from ..base.object_names import DIRECT, FEDERATION_CONFIG, UNKNOWN_ADDRESS
from ..kube.client import Cluster
from ..pki import certificates
from ..sites.site import Run, Site
from ..spec.site_spec import PoolSpec
from ..state import access_records, partition_numbers, records
from ..state.ledger import Ledger, site_name_error
from .outcome import Outcomes

KEYS, CLIENT = "keys", "client"


@dataclass
class Numbers:
    """Outcome of C(allocate).

    Attributes:
        allocation: site -> pool -> C(offset) and C(partitions).
        dead: site -> fingerprints of keys that the site must replace.
        identity: of the hub.
    """

    allocation: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)
    dead: dict[str, list[str]] = field(default_factory=dict)
    identity: str = ""


def allocate(
    run: Run,
    outcomes: Outcomes,
    ledger: Ledger,
    pools: Mapping[str, Sequence[PoolSpec]],
    running: Callable[[Sequence[str]], Mapping[str, Mapping[str, tuple[int, int]]]],
    *,
    partitions: int | None,
    repartition: bool,
    renew: Sequence[str] = (),
    places: Mapping[str, str] | None = None,
) -> Numbers:
    """Allocate the ranges of sites. One that can have none fails.

    Args:
        pools: site -> its pools, in the order in which new ranges are allocated.
        running: gives what runs at some sites, see C(SiteBackend.numbers); called with those that the ledger has no record of, since
            they have either joined now or were lost with it. A site that is not in the answer gets no numbers.
        partitions: how many the fleet has; None to follow the pools.
        repartition: whether sites may move.
        renew: C(keys), C(client): what is replaced although it is good.
        places: see C(places).

    Raises:
        ClusterError: there is no room.
    """
    result, chosen = Numbers(), list(pools)
    found, unreadable = ledger.read_sites()
    faults = {site: fault for site in pools if (fault := site_name_error(site))} | {site: unreadable[site] for site in pools if site in unreadable}
    for site, fault in (faults | left_behind(places or {}, found)).items():
        outcomes.fail(site, fault)
    pools = {site: listed for site, listed in pools.items() if not outcomes[site].failed}
    ranges: dict[str, Mapping[str, tuple[int, int]]] = {site: records.numbers(record) for site, record in found.items()}
    unknown = [site for site in pools if site not in found]
    seen = running(unknown)
    pools = {site: listed for site, listed in pools.items() if site in found or site in seen}
    wanted = {site: {pool.name: pool.replicas for pool in listed if pool.has_range} for site, listed in pools.items()}
    outcome = partition_numbers.Allocation(partition_numbers.empty_book())
    before, most = partition_numbers.empty_book(), 0
    known = [sum(number) for listed in ranges.values() for number in listed.values()]
    believed: dict[str, Mapping[str, tuple[int, int]]] = {}

    def change(book: partition_numbers.Book) -> partition_numbers.Book:
        nonlocal outcome, before, most
        before = book
        most = partitions or max([book["partitions"], *known]) + sum(sum(sizes.values()) for sizes in wanted.values()) + MAX_REPLICAS
        believed.update((site, _taken_over(seen[site], wanted[site], most)) for site in seen)
        try:
            outcome = partition_numbers.allocate(book, wanted, partitions=partitions, repartition=repartition, order=list(pools), recorded=ranges | believed)
        except ValueError as error:
            raise ClusterError(f"{error}.") from error
        # Afterwards: a book without sites that has an identity was not lost.
        outcome.book = partition_numbers.identified(outcome.book, "" if book.get("id") else ledger.noted_identity())
        return outcome.book

    changed = ledger.change_book(change)
    if changed:
        was, now = before["sites"], outcome.book["sites"]
        # A change that is not of a single site, such as the number of partitions, is reported with the first.
        for site in [site for site in pools if was.get(site) != now.get(site)] or list(pools)[:1]:
            outcomes[site].changed = True
    for site in set(pools) & set(outcome.book.get("denied", {})):
        denial = outcome.book["denied"][site]
        try:
            differs = ledger.change_record(site, partial(access_records.returning, denial=denial))
        except ClusterError as error:
            outcomes.fail(site, error.message)
            continue
        if differs:
            outcomes[site].changed = True
            run.note(site, access=[{"change": "still denied", "reason": denial["reason"]}])
    for site in pools:  # ranges that are new or differ, and pools that have none any more
        old, new = (book["sites"].get(site, {}).get("pools", {}) for book in (before, outcome.book))
        gone = [{"pool": pool, "change": "freed"} for pool in old if pool not in new]
        run.note(site, partitions=[*({"pool": pool, **new[pool]} for pool in new if new[pool] != old.get(pool)), *gone])
    result.identity = outcome.book["id"]
    for site, fault in ({} if outcome.book["partitions"] else uncounted(pools)).items():
        outcomes.fail(site, fault)
    for site, listed in pools.items():
        result.allocation[site] = _allocation(outcome.book, site, listed)
        result.dead[site] = [*partition_numbers.left_keys(outcome.book, site), *_dead(found.get(site), renew)]
    for site, pool in [(one, pool) for one in seen for pool in wanted[one] if pool in seen[one] and pool not in believed[one]]:
        words = f"the pods of its pool {pool} count from {cleaned(str(seen[site][pool][0]), 40)}, and this fleet only up to {most - 1}: they get new numbers"
        outcomes[site].warnings.append(named_hosts(site, words))
    warnings = outcomes[chosen[0]].warnings
    warnings += outcome.moved
    if outcome.stale:
        verb = "use" if len(outcome.stale) > 1 else "uses"
        warnings.append(
            f"{', '.join(outcome.stale)} still {verb} fewer than the fleet's {outcome.book['partitions']} "
            "partitions, because changing the number restarts their pods; to change it, set -e flower_repartition=true"
        )
    return result


def _taken_over(seen: Mapping[str, tuple[int, int]], sizes: Mapping[str, int], most: int) -> dict[str, tuple[int, int]]:
    """Of the numbers that a site itself reports for its pools, those below C(most): all sites would count with a higher one."""
    numbers = {pool: found for pool, found in seen.items() if isinstance(found[0], int) and not isinstance(found[0], bool)}
    return {pool: found for pool, found in numbers.items() if 0 <= found[0] <= most - sizes.get(pool, 0)}


def uncounted(pools: Mapping[str, Sequence[PoolSpec]]) -> dict[str, str]:
    """Site -> which of its pools want the number of the fleet's partitions; to be reported where the fleet has none."""
    found = {site: [pool.name for pool in listed if pool.needs_others_count] for site, listed in pools.items()}
    return {
        site: f"node_config of pool {', '.join(names)} has {{partitions}}, and the fleet has none yet, since no pool uses {{partition}}: set "
        "flower_partitions to their number, number the SuperNodes of the pool with {partition}, or use {replicas} for the SuperNodes of the pool."
        for site, names in found.items()
        if names
    }


def too_few(pools: Mapping[str, Sequence[PoolSpec]], partitions: int) -> dict[str, str]:
    """Site -> why its pools cannot have their numbers, where C(partitions) is fixed and below the number of SuperNodes that count across the fleet."""
    sizes = {site: sum(pool.replicas for pool in listed if pool.has_range) for site, listed in pools.items()}
    total = sum(sizes.values())
    words = (
        f"flower_partitions is {partitions}, and {total} SuperNodes of the sites of this run have a number ({{partition}}): set it to {total} or more, "
        "or remove it."
    )
    return {site: words for site, size in sizes.items() if size} if total > partitions else {}


def without_range(pools: Sequence[PoolSpec]) -> list[str]:
    """Names of the pools that do not count across the fleet."""
    return [pool.name for pool in pools if not pool.has_range]


def publication(hub: Cluster, host: str, namespace: str, *, check: bool, foreseen: Mapping[str, str] | None = None) -> dict[str, str]:
    """What the hub (inventory name C(host)) publishes for its sites: C(address), C(ca_bundle), C(server_name), C(version) and more.

    In check mode, C(foreseen) is what it would publish after this run, as far as it is known, and a placeholder is good where there is no hub yet.

    Raises:
        ClusterError: there is no federation.
    """
    found = hub.get("v1", "ConfigMap", FEDERATION_CONFIG, namespace)
    if found is not None:
        return {key.replace("ca.crt", "ca_bundle"): value for key, value in found["data"].items()} | dict(foreseen or {})
    if check:
        placeholder = certificates.make_ca("created together with the hub", datetime.timedelta(days=1)).certificate
        return {"address": UNKNOWN_ADDRESS, "ca_bundle": placeholder, "server_name": "", "version": ""}
    raise ClusterError(
        f"there is no federation in namespace {namespace} of the hub {host} ({hub.name}): "
        "deploy the hub first, or correct flower_hub_group and flower_namespace."
    )


def places(sites: Mapping[str, Site], chosen: Iterable[str]) -> dict[str, str]:
    """Site -> its namespace, of those of some sites of which nothing may be left in another one: what else delivers, deletes there as well."""
    return {name: sites[name].namespace for name in chosen if sites[name].access.delivery == DIRECT and not sites[name].claim}


def left_behind(places: Mapping[str, str], found: Mapping[str, records.Record]) -> dict[str, str]:
    """Site -> why it is not deployed: what it has in its former namespace, by the ledger's records, would stay there. C(places): see there."""
    former = {site: records.former_namespace(found.get(site, {}), DIRECT, namespace) for site, namespace in places.items()}
    return {
        site: f"it is currently deployed in namespace {was}. Nothing would be deleted there, and its SuperNodes, which the hub would then refuse, "
        "would restart forever and keep their GPUs. Remove it first: federated.flower.teardown "
        f"--limit {site} -e supernode_namespace={was} -e flower_teardown=true. If that namespace is empty: --limit {site} -e flower_claim_sites=true "
        "deploys it in the new one."
        for site, was in former.items()
        if was
    }


def _dead(record: records.Record | None, renew: Sequence[str]) -> list[str]:
    """Fingerprints of keys that the site must replace."""
    if record is None:
        return []
    chosen = records.dead_keys(record)
    if KEYS in renew:
        chosen += records.to_renew(record)
    if CLIENT in renew and record.get("client"):
        chosen.append(record["client"]["key"])
    return chosen


def _allocation(book: partition_numbers.Book, site: str, pools: Sequence[PoolSpec]) -> dict[str, dict[str, int]]:
    entry = book["sites"].get(site, {"partitions": book["partitions"], "pools": {}})
    return {
        pool.name: {
            "offset": entry["pools"].get(pool.name, {}).get("offset", 0),
            # A fleet whose pools have no SuperNode yet has no partition; of theirs nothing is asked.
            "partitions": entry["partitions"] or book["partitions"] or (0 if pool.replicas else 1),
        }
        for pool in pools
    }
