# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Releases and images that run and that are wanted, what an upgrade refuses of them, and how it rolls them back. Pure.

What runs in a cluster, or is wanted there, is C(Versions), a dict: C(version), the release of Flower, and C(workloads), a list of dicts with C(name), C(pool)
(None for those of the hub) and C(images) (container -> image).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..base.kinds import images_of
from ..base.labels import POOL_LABEL
from ..base.object_names import SUPEREXEC, SUPERLINK, SUPERNODE, TUNNEL
from ..flower import known_releases
from ..spec.site_spec import PoolSpec, SiteSpec

Versions = dict[str, Any]
Pair = tuple[Versions, Versions]  # what runs, and what is wanted

_VERSION = "app.kubernetes.io/version"
_KINDS = ("StatefulSet", "DaemonSet", "Deployment")
NOTHING: Versions = {"version": "", "workloads": []}
AS_IT_IS = "{}, as it is"
# Names of containers.
SIDECAR, GATEWAY = "sidecar", "gateway"


def wanted(version: str, objects: Iterable[Mapping[str, Any]]) -> Versions:
    """What rendered objects would run."""
    found = [
        {
            "name": one["metadata"]["name"],
            "pool": (one["metadata"].get("labels") or {}).get(POOL_LABEL),
            "images": images_of(one),
        }
        for one in objects
        if one["kind"] in _KINDS
    ]
    return {"version": version, "workloads": found}


def running(workloads: Iterable[Mapping[str, Any]]) -> Versions:
    """What runs, from the workloads in the results of superlink_info and supernode_info."""
    listed = list(workloads)
    version = min((str(one.get("version") or "") for one in listed), key=known_releases.release_of, default="")
    return {"version": version, "workloads": [{name: one.get(name) for name in ("name", "pool", "images")} for one in listed]}


def running_at(facts: Mapping[str, Any]) -> Versions:
    """What runs at a site, from its result of supernode_info; of one that applies bundles, what its last one has."""
    return running(one for key in ("workloads", "clientapps", "bundle_workloads") for one in facts.get(key) or [])


def images_by_workload(what: Versions) -> dict[str, dict[str, str]]:
    """Workload -> container -> image."""
    return {one["name"]: one["images"] or {} for one in what["workloads"]}


def differs(live: Versions, want: Versions) -> bool:
    """Whether workloads that exist would run another release or other images. One that is new is not an upgrade."""
    there, then = images_by_workload(live), images_by_workload(want)
    common = set(there) & set(then)
    return bool(common) and (live["version"] != want["version"] or any(there[name] != then[name] for name in common))


def other_images(live: Versions, wanted: Versions) -> str:
    """Which images run although others are wanted; empty if all are as wanted."""
    there = images_by_workload(live)
    return "; ".join(
        f"{name}/{container} runs {there.get(name, {}).get(container, 'nothing')}, not {image}"
        for name, images in images_by_workload(wanted).items()
        for container, image in images.items()
        if there.get(name, {}).get(container) != image
    )


def change(live: Versions, want: Versions) -> str:
    """From what to what, for people."""
    if not live["workloads"]:
        return f"new: {want['version']}"
    if not differs(live, want):
        return AS_IT_IS.format(live["version"])
    if live["version"] != want["version"]:
        return f"{live['version']} -> {want['version']}"
    there, then = images_by_workload(live), images_by_workload(want)
    pairs = {
        (there[name].get(container, "none"), image)
        for name in sorted(set(there) & set(then))
        for container, image in then[name].items()
        if there[name].get(container) != image
    }
    return f"{live['version']}, " + "; ".join(f"{before} -> {after}" for before, after in sorted(pairs))


def faults(hub: str, hub_pair: Pair, sites: Mapping[str, Pair], by_hand: Collection[str] = ()) -> list[str]:
    """Why an upgrade must not begin: sentences that name host, variable and remedy.

    C(hub) is its inventory name; C(by_hand) are sites that get files, which their own people apply: what the last files have is known of them.
    """
    found = []
    release = hub_pair[1]["version"]
    if known_releases.is_older(release, hub_pair[0]["version"]):
        found.append(f"{hub}: {_backwards(release, hub_pair[0]['version'])}")
    for site, (live, want) in sites.items():
        version, runs = want["version"], live["version"]
        if fault := newer_fault(version, hub, release):
            found.append(f"{site}: {fault}")
        elif known_releases.is_older(version, runs):
            whose = "which its last bundle has" if site in by_hand else "which its SuperNodes run"
            found.append(f"{site}: flower_version: {version} is older than {runs}, {whose}; downgrades are not supported. Set {runs} or later")
    return found


def newer_fault(version: str, hub: str, release: str) -> str:
    """Why a site must not get C(version); empty if it may. C(release) is that of the SuperLink of C(hub)."""
    if not known_releases.is_older(release, version):
        return ""
    return (
        f"flower_version: {version} is newer than {release} of the hub {hub}; SuperNodes are never newer than their SuperLink. Set the same release "
        "for the hub, which federated.flower.upgrade upgrades before its sites"
    )


def started_fault(version: str, pods: Iterable[Mapping[str, Any]]) -> str:
    """Why a release must not replace that of the SuperLink with these live pods; empty if it may.

    A pod that never started, for example since its image cannot be pulled, has changed no database, and is what one goes back from.
    """
    for pod in pods:
        runs = str((pod["metadata"].get("labels") or {}).get(_VERSION, ""))
        if known_releases.is_older(version, runs) and not known_releases.same_database(version, runs) and _has_started(pod):
            return _backwards(version, runs)
    return ""


def _has_started(pod: Mapping[str, Any]) -> bool:
    listed = (pod.get("status") or {}).get("containerStatuses") or []
    states = [one for one in listed if one["name"] == SUPERLINK]
    return any(set(one.get("state") or {}) & {"running", "terminated"} or one.get("lastState") for one in states)


def _backwards(want: str, runs: str) -> str:
    return (
        f"flower_version: {want} is older than {runs}, which the SuperLink runs, and it could not open the newer database. Set flower_version to "
        f"{runs} or later; to go back, restore a backup (federated.flower.restore)"
    )


def warnings(release: str, sites: Mapping[str, Pair]) -> list[str]:
    """Releases that meet for a while, or permanently, and of which nothing shows that they work with the SuperLink that is wanted."""
    return [
        f"{site}: SuperNodes {version} were never tested with a SuperLink {release}; they may be offline until they are upgraded"
        for site, pair in sites.items()
        for version in dict.fromkeys(versions["version"] for versions in pair)
        if version and known_releases.untested(release, version)
    ]


def table(hub: str, hub_pair: Pair, waves: Sequence[Sequence[str]], sites: Mapping[str, Pair], by_hand: Collection[str] = ()) -> list[str]:
    """The plan in lines for people; for the arguments see C(faults)."""
    lines = [f"hub {hub}: {change(*hub_pair)}"]
    for number, wave in enumerate(waves, 1):
        for site in wave:
            version, words = sites[site][1]["version"], change(*sites[site])
            if site in by_hand and words != AS_IT_IS.format(version):
                words = f"a bundle with {version}, which the administrators of the site apply"
            lines.append(f"wave {number} of {len(waves)}, {site}: {words}")
    return lines


# ---- back to what ran before an upgrade; everything else stays as the inventory says ---------------------------------


def former_site(spec: SiteSpec, former: Versions) -> SiteSpec:
    """A site with its former release and images; a pool that is new keeps its own images."""
    images: dict[str, dict[str, str]] = {}
    for one in former["workloads"]:
        images.setdefault(str(one["pool"]), {}).update(one["images"] or {})

    def pool(new: PoolSpec) -> PoolSpec:
        old = images.get(new.name, {})
        return replace(new, image=old.get(SUPERNODE, new.image), superexec_image=old.get(SUPEREXEC, new.superexec_image))

    of_all = {container: image for old in images.values() for container, image in old.items()}  # all pools have the same helpers
    return replace(
        spec,
        version=former["version"],
        sidecar_image=of_all.get(SIDECAR, spec.sidecar_image),
        tunnel_image=of_all.get(TUNNEL, spec.tunnel_image),
        pools=[pool(one) for one in spec.pools],
    )


def former_hub(former: Versions) -> dict[str, Any]:
    """Variables of the role superlink with the former release and images."""
    images = {name: image for one in former["workloads"] for name, image in (one["images"] or {}).items()}
    variables = {
        "superlink_version": former["version"],
        "superlink_image": images.get(SUPERLINK),
        "superlink_serverapp_image": images.get(SUPEREXEC),
        "superlink_gateway_image": images.get(GATEWAY),
    }
    return {name: value for name, value in variables.items() if value}


def unreadable_since(former: str, live: str, wanted: str, *, never_started: bool) -> str:
    """The release in whose format the database may be, and which the former release cannot open; empty if it can.

    A SuperLink changes the format of its database when it starts. What counts is every release that may have opened it since.

    Args:
        live: release of the SuperLink when this run of the upgrade began; empty if it is not known.
        wanted: release that it was to run.
        never_started: whether a SuperLink was never started with it in this run.
    """
    opened = [live] if never_started else [wanted, live]
    return next((one or "an unknown release" for one in opened if not known_releases.same_database(former, one)), "")
