# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is refused of the datasets of a site and its pools. Whether they can be mounted is checked in the site's cluster (checks/dataset_checks.py)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..base import object_names
from ..base.values import boolean, text
from ..manifests import datasets
from ..spec.pods_spec import (
    CLAIM,
    CONFIG_MAP,
    CSI,
    KINDS,
    NEW_CLAIM,
    ONE_POD,
    SECRET,
    VOLUME,
    VOLUME_KINDS,
    Dataset,
)
from ..spec.site_spec import PoolSpec
from .pod_rules import normal_path
from .value_checks import UNSET, Check, Problems, Rule, Shape, Spec, given

# The volume of a pod is named after it.
MAX_NAME = 63 - len(object_names.DATASET_VOLUME_PREFIX)
_NEEDED = {"nfs": ("server", "path"), "local": ("path",), "csi": ("driver", "volumeHandle")}


def check_datasets(found: Problems, spec: Spec) -> bool:
    """Check the form of each dataset of a site and its pools, as they are given; returns whether all are right."""
    before = len(found.found)
    for at, part in (("", spec), *((f"pools[{number}].", pool) for number, pool in enumerate(spec.get("pools") or []))):
        _list(found, f"{at}datasets", part.get("datasets") or [])
    return len(found.found) == before


def dataset_problems(found: Problems, given: Sequence[Spec], pools: Sequence[PoolSpec]) -> None:
    """Datasets with what else their pools have. C(given): the pools without the settings of their site, to name what is wrong."""
    reported: set[tuple[str, str]] = set()
    for number, (own, pool) in enumerate(zip(given, pools)):
        _collisions(found, own, pool, f"pools[{number}].", reported)
    _shared_claims(found, pools)


def _list(found: Problems, variable: str, listed: Sequence[Spec]) -> None:
    """A list as it is given, for a site or a pool."""
    found.unique(variable, listed, "is the name of {}, too. Only an entry of a pool replaces that of its site")
    for number, entry in enumerate(listed):
        at = f"{variable}[{number}]"
        if not found.label(f"{at}.name", entry.get("name", ""), MAX_NAME):
            continue
        kinds = [kind for kind in KINDS if entry.get(kind) not in (None, "", {})]
        if len(kinds) != 1:
            words = f"has {' and '.join(kinds)}; a dataset has one of them" if kinds else f"has none of {', '.join(KINDS)}"
            found.add(at, Shape(entry), words)
            continue
        found.check({kinds[0]: _KINDS[kinds[0]]}, entry, f"{at}.")
        found.apply(_RULES, {"read_only": True, **entry}, f"{at}.")


def _new_claim(found: Problems, variable: str, value: Spec) -> None:
    _size(found, f"{variable}.size", value.get("size"))
    given(Problems.subdomain)(found, f"{variable}.storage_class", value.get("storage_class"))
    found.apply(_MODES, value, f"{variable}.")


def _volume(found: Problems, variable: str, value: Spec) -> None:
    sources = [kind for kind in VOLUME_KINDS if value.get(kind)]
    if len(sources) != 1:
        which = ", ".join(VOLUME_KINDS)
        found.add(variable, Shape(value), f"has {' and '.join(sources) or 'none'} of {which}; a volume has one of them")
        return
    (source,) = sources
    for needed in _NEEDED.get(source, ()):
        if not value[source].get(needed):
            found.add(f"{variable}.{source}", Shape(value[source]), f"has no {needed}")
    if source == "local" and not value.get("node"):
        found.add(f"{variable}.node", value.get("node"), "is missing: a local volume is on one node (its label kubernetes.io/hostname)")
    if value.get("size") is not None:
        _size(found, f"{variable}.size", value["size"])
    found.apply(_MODES, value, f"{variable}.")


def _csi(found: Problems, variable: str, value: Spec) -> None:
    found.subdomain(f"{variable}.driver", value.get("driver"))
    if "readOnly" in value:
        found.add(f"{variable}.readOnly", value["readOnly"], "is set by read_only of the dataset")


def _size(found: Problems, variable: str, value: Any) -> None:
    if value in UNSET:
        found.add(variable, value, 'is missing: a claim needs a size like "100Gi"')
    elif found.quantity(variable, value) and not text(value).strip("0.+KMGTPEinumk"):
        found.add(variable, value, "is not above 0")


_KINDS: Mapping[str, Check] = {
    CLAIM: Problems.subdomain, NEW_CLAIM: _new_claim, VOLUME: _volume, CSI: _csi, SECRET: Problems.subdomain, CONFIG_MAP: Problems.subdomain,
}  # fmt: skip
_MODES = (Rule("access_modes", lambda claim: claim.get("access_modes") == [], "is empty; remove it to use the default"),)
_READ_ONLY = "is not possible: Kubernetes mounts a {} read-only"
_RULES = (
    Rule("read_only", lambda entry: entry.get(SECRET) and not boolean(entry["read_only"]), _READ_ONLY.format(SECRET)),
    Rule("read_only", lambda entry: entry.get(CONFIG_MAP) and not boolean(entry["read_only"]), _READ_ONLY.format(CONFIG_MAP)),
)


def _collisions(found: Problems, own: Spec, pool: PoolSpec, at: str, reported: set[tuple[str, str]]) -> None:
    """Datasets that need what env, volumes or mounts of the pool use. What is the site's is reported once."""
    names = [one.name for one in pool.datasets]
    variables = {datasets.variable_of(name) for name in names} | ({datasets.LIST_VARIABLE} if names else set())
    volumes = {object_names.DATASET_VOLUME_PREFIX + name for name in names}

    def report(option: str, value: str, reason: str) -> None:
        if own.get(option) is not None:
            found.add(f"{at}{option}", value, reason)
        elif (option, value) not in reported:
            reported.add((option, value))
            found.add(option, value, reason)

    for value in _texts(pool.env, "name"):
        if value in variables:
            report("env", value, "is set by this collection for the datasets of the pool; use another name")
    for value in _texts(pool.volumes, "name"):
        if value in volumes:
            report("volumes", value, "is the name of a dataset's volume; use another name")
    for value in _texts(pool.volume_mounts, "mountPath"):
        path = normal_path(value)
        if other := next((one for one in map(object_names.dataset_path, names) if _overlap(path, one)), ""):
            reason = f"overlaps {other}, where a dataset is mounted; use a path outside {object_names.DATASETS_ROOT}"
            report("volume_mounts", value, reason)


def _texts(entries: Iterable[Spec], key: str) -> Iterator[str]:
    return (entry[key] for entry in entries if isinstance(entry.get(key), str))


def _overlap(one: str, other: str) -> bool:
    return one == other or one == "/" or one.startswith(other + "/") or other.startswith(one + "/")


def _shared_claims(found: Problems, pools: Sequence[PoolSpec]) -> None:
    """Claims that are created: the same for all pools of a site, and none that fewer pods may use than there are."""
    first: dict[str, tuple[str, Dataset]] = {}
    pods: dict[str, int] = {}
    for pool in pools:
        for one in (one for one in pool.datasets if one.is_created):
            before, same = first.setdefault(one.name, (pool.name, one))
            if (one.new_claim, one.volume, one.access_modes) != (same.new_claim, same.volume, same.access_modes):
                found.sentence(
                    f"{found.prefix}pools: the pools {before} and {pool.name} describe the claim {one.claim_name} of the dataset {one.name} "
                    "in different ways: use another name for one of the datasets"
                )
            pods[one.name] = pods.get(one.name, 0) + pool.least_pods
    for name, (_pool, one) in first.items():
        if one.access_modes == [ONE_POD] and pods[name] > 1:
            found.sentence(
                f"{found.prefix}datasets: the claim of the dataset {name} has the access mode {ONE_POD}, and more than one pod needs it: "
                "use ReadWriteMany or ReadOnlyMany, or a single SuperNode"
            )
