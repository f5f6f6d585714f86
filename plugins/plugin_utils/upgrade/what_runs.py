# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What runs, what is wanted, and what an upgrade has to do about it. Pure.

What runs in a cluster, or is wanted there, is a dict: C(version), the release of Flower, and C(workloads), a list of dicts with C(name), C(pool) (None for
those of the hub) and C(images) (container -> image).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from ..base.images import images_of
from ..base.labels import POOL_LABEL
from ..base.object_names import SUPERLINK
from . import releases

What = dict[str, Any]

_VERSION = "app.kubernetes.io/version"
_KINDS = ("StatefulSet", "DaemonSet", "Deployment")
NOTHING: What = {"version": "", "workloads": []}
AS_IT_IS = "{}, as it is"


def wanted(version: str, objects: Iterable[Mapping[str, Any]]) -> What:
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


def running(workloads: Iterable[Mapping[str, Any]]) -> What:
    """What runs, from the workloads in the results of superlink_info and supernode_info."""
    listed = list(workloads)
    version = min((str(one.get("version") or "") for one in listed), key=releases.release_of, default="")
    return {"version": version, "workloads": [{name: one.get(name) for name in ("name", "pool", "images")} for one in listed]}


def by_name(what: What) -> dict[str, dict[str, str]]:
    """Workload -> container -> image."""
    return {one["name"]: one["images"] or {} for one in what["workloads"]}


def differs(live: What, want: What) -> bool:
    """Whether workloads that exist would run another release or other images. One that is new is not an upgrade."""
    there, then = by_name(live), by_name(want)
    common = set(there) & set(then)
    return bool(common) and (live["version"] != want["version"] or any(there[name] != then[name] for name in common))


def change(live: What, want: What) -> str:
    """From what to what, for people."""
    if not live["workloads"]:
        return f"new: {want['version']}"
    if not differs(live, want):
        return AS_IT_IS.format(live["version"])
    if live["version"] != want["version"]:
        return f"{live['version']} -> {want['version']}"
    there, then = by_name(live), by_name(want)
    pairs = {
        (there[name].get(container, "none"), image)
        for name in sorted(set(there) & set(then))
        for container, image in then[name].items()
        if there[name].get(container) != image
    }
    return f"{live['version']}, " + "; ".join(f"{before} -> {after}" for before, after in sorted(pairs))


def faults(
    hub: str, hub_live: What, hub_want: What, live: Mapping[str, What], want: Mapping[str, What], by_hand: Collection[str] = ()
) -> list[str]:
    """Why an upgrade must not begin: sentences that name host, variable and remedy.

    Args:
        hub: inventory name of the hub.
        hub_live: what runs there; C(hub_want): what is to run there.
        live: site -> what runs there; C(want): site -> what is to run there.
        by_hand: sites that get files, which their own people apply: of them it is known what the last files have.
    """
    found = []
    if releases.is_older(hub_want["version"], hub_live["version"]):
        found.append(f"{hub}: {_backwards(hub_want['version'], hub_live['version'])}")
    for site, then in want.items():
        version, runs = then["version"], (live.get(site) or NOTHING)["version"]
        if fault := newer_fault(version, hub, hub_want["version"]):
            found.append(f"{site}: {fault}")
        elif releases.is_older(version, runs):
            whose = "which its last bundle has" if site in by_hand else "which its SuperNodes run"
            found.append(f"{site}: flower_version: {version} is older than {runs}, {whose}; an upgrade does not go back. Set {runs} or later")
    return found


def newer_fault(version: str, hub: str, release: str) -> str:
    """Why a site must not get a release; empty if it may.

    Args:
        version: the release.
        hub: inventory name of the hub.
        release: that of its SuperLink.
    """
    if not releases.is_older(release, version):
        return ""
    return (
        f"flower_version: {version} is newer than {release} of the hub {hub}; SuperNodes are never newer than their SuperLink. Set the same release "
        "for the hub, which federated.flower.upgrade upgrades before its sites"
    )


def started_fault(version: str, pods: Iterable[Mapping[str, Any]]) -> str:
    """Why a release must not replace that of the SuperLink; empty if it may.

    A pod that never started, for example since its image cannot be pulled, has changed no database, and is what one goes back from.

    Args:
        version: the release that is wanted.
        pods: of the SuperLink, live.
    """
    for pod in pods:
        runs = str((pod["metadata"].get("labels") or {}).get(_VERSION, ""))
        if releases.is_older(version, runs) and not releases.same_database(version, runs) and _has_started(pod):
            return _backwards(version, runs)
    return ""


def _has_started(pod: Mapping[str, Any]) -> bool:
    listed = (pod.get("status") or {}).get("containerStatuses") or []
    states = [one for one in listed if one["name"] == SUPERLINK]
    return any(set(one.get("state") or {}) & {"running", "terminated"} or one.get("lastState") for one in states)


def _backwards(want: str, runs: str) -> str:
    return (
        f"flower_version: {want} is older than {runs}, which the SuperLink runs, and it could not open the newer database. Set flower_version to "
        f"{runs} or later; the way back is a backup and federated.flower.restore"
    )


def warnings(hub_want: What, live: Mapping[str, What], want: Mapping[str, What]) -> list[str]:
    """Releases that meet for a while, or permanently, and of which nothing shows that they work together."""
    found = []
    for site in want:
        for version in dict.fromkeys([(live.get(site) or NOTHING)["version"], want[site]["version"]]):
            if version and releases.untested(hub_want["version"], version):
                found.append(
                    f"{site}: nothing is known of SuperNodes {version} with a SuperLink {hub_want['version']}; they may be offline until they "
                    "are upgraded"
                )
    return found


def table(
    hub: str,
    hub_live: What,
    hub_want: What,
    waves: Sequence[Sequence[str]],
    live: Mapping[str, What],
    want: Mapping[str, What],
    by_hand: Collection[str] = (),
) -> list[str]:
    """The plan in lines for people. C(by_hand): sites that get files, which their own people apply."""
    lines = [f"hub {hub}: {change(hub_live, hub_want)}"]
    for number, wave in enumerate(waves, 1):
        for site in wave:
            words = change(live.get(site) or NOTHING, want[site])
            if site in by_hand and words != AS_IT_IS.format(want[site]["version"]):
                words = f"a bundle with {want[site]['version']}, which its own people apply"
            lines.append(f"wave {number} of {len(waves)}, {site}: {words}")
    return lines
