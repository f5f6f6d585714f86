# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of datasets (see spec/dataset_spec.py for their shape)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from ..base import dataset_mounts
from ..base.values import boolean, text
from ..manifests import datasets
from ..spec.dataset_spec import (
    ACCESS_MODES,
    CONFIG_MAP,
    CSI,
    KINDS,
    NEW_CLAIM,
    ONE_POD,
    SECRET,
    VOLUME,
    VOLUME_KINDS,
    Dataset,
    merge_datasets,
)
from ..spec.pool_spec import pool_of
from .faults import Faults, Shape, Spec, normal_path

# The volume of a pod is named after it.
MAX_NAME = 63 - len(dataset_mounts.PREFIX)

_KEYS = tuple(one.name for one in fields(Dataset))
_NEW_CLAIM_KEYS = ("size", "storage_class", "access_modes")
_VOLUME_KEYS = (*VOLUME_KINDS, "size", "access_modes", "mount_options", "node")
_VARIABLE = "datasets"
_FLAGS = ("true", "yes", "on", "1", "y", "t", "false", "no", "off", "0", "n", "f")


def dataset_faults(spec: Spec, faults: Faults) -> None:
    """Rules for the datasets of a site and its pools."""
    before = len(faults.found)
    _list_faults(spec, faults, "")
    pools = [pool for pool in spec.get("pools") or [] if isinstance(pool, Mapping)]
    for number, pool in enumerate(spec.get("pools") or []):
        if isinstance(pool, Mapping):
            _list_faults(pool, faults, f"pools[{number}].")
    if len(faults.found) > before or not any(names(spec, pool) for pool in pools):
        return
    reported: set[tuple[str, str]] = set()
    for number, pool in enumerate(spec.get("pools") or []):
        if isinstance(pool, Mapping):
            _collisions(spec, pool, faults, f"pools[{number}].", reported)
    _shared_claims(spec, pools, faults)


def names(spec: Spec, pool: Mapping[str, Any]) -> list[str]:
    """Names of a pool's datasets, merged with the site's; of lists with faults those that are names at all."""
    return sorted(
        {
            name
            for keys in (spec, pool)
            for entry in _entries(keys)
            if isinstance(name := entry.get("name"), str) and name
        }
    )


def _entries(keys: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    listed = keys.get(_VARIABLE)
    return [entry for entry in listed if isinstance(entry, Mapping)] if isinstance(listed, list) else []


def _list_faults(keys: Mapping[str, Any], faults: Faults, prefix: str) -> None:
    """A list as it is given, for a site or a pool."""
    listed = keys.get(_VARIABLE)
    if not faults.sequence(f"{prefix}{_VARIABLE}", listed):
        return
    seen: dict[str, int] = {}
    for number, entry in enumerate(listed or []):
        at = f"{prefix}{_VARIABLE}[{number}]"
        if not isinstance(entry, Mapping):
            faults.add(at, Shape(entry), "is not a mapping")
            continue
        for key in entry:
            if key not in _KEYS:
                faults.add(f"{at}.{key}", Shape(entry[key]), f"is not one of {', '.join(_KEYS)}")
        if not faults.label(f"{at}.name", entry.get("name"), MAX_NAME):
            continue
        if entry["name"] in seen:
            faults.add(
                f"{at}.name",
                entry["name"],
                f"is the name of {prefix}{_VARIABLE}[{seen[entry['name']]}], too. Only an entry of a pool replaces that of its site",
            )
        seen.setdefault(entry["name"], number)
        _kind_faults(entry, faults, at)


def _kind_faults(entry: Mapping[str, Any], faults: Faults, at: str) -> None:
    given = [kind for kind in KINDS if entry.get(kind) not in (None, "", {})]
    if len(given) != 1:
        faults.add(
            at,
            Shape(entry),
            f"has {' and '.join(given)}; a dataset has one of them" if given else f"has none of {', '.join(KINDS)}",
        )
        return
    (kind,) = given
    value = entry[kind]
    if kind == NEW_CLAIM:
        _new_claim_faults(value, faults, f"{at}.{kind}")
    elif kind == VOLUME:
        _volume_faults(value, faults, f"{at}.{kind}")
    elif kind == CSI:
        if faults.mapping(f"{at}.{kind}", value):
            faults.subdomain(f"{at}.{kind}.driver", value.get("driver"))
            if "readOnly" in value:
                faults.add(f"{at}.{kind}.readOnly", value["readOnly"], "is set by read_only of the dataset")
    else:
        faults.subdomain(f"{at}.{kind}", value)
    read_only = entry.get("read_only", True)
    if read_only is None or text(read_only).strip().lower() not in _FLAGS:
        # Never taken for false: that would let apps write to the data.
        faults.add(f"{at}.read_only", read_only, "is not true or false")
    elif kind in (SECRET, CONFIG_MAP) and not boolean(read_only):
        faults.add(f"{at}.read_only", entry["read_only"], f"is not possible: Kubernetes mounts a {kind} read-only")


def _new_claim_faults(value: Any, faults: Faults, at: str) -> None:
    if not faults.mapping(at, value):
        return
    for key in value:
        if key not in _NEW_CLAIM_KEYS:
            faults.add(f"{at}.{key}", value[key], f"is not one of {', '.join(_NEW_CLAIM_KEYS)}")
    _size_fault(value.get("size"), faults, f"{at}.size")
    if value.get("storage_class"):
        faults.subdomain(f"{at}.storage_class", value["storage_class"])
    _mode_faults(value.get("access_modes"), faults, f"{at}.access_modes")


def _volume_faults(value: Any, faults: Faults, at: str) -> None:
    if not faults.mapping(at, value):
        return
    for key in value:
        if key in ("hostPath", "host_path"):
            faults.add(
                f"{at}.{key}",
                value[key],
                "would put any folder of a node into pods, which Pod Security exists to prevent. Use local with the name of its node",
            )
        elif key not in _VOLUME_KEYS:
            faults.add(f"{at}.{key}", Shape(value[key]), f"is not one of {', '.join(_VOLUME_KEYS)}")
    sources = [kind for kind in VOLUME_KINDS if value.get(kind)]
    if len(sources) != 1:
        which = ", ".join(VOLUME_KINDS)
        faults.add(at, Shape(value), f"has {' and '.join(sources) or 'none'} of {which}; a volume has one of them")
        return
    (source,) = sources
    if faults.mapping(f"{at}.{source}", value[source]):
        for needed in {"nfs": ("server", "path"), "local": ("path",), "csi": ("driver", "volumeHandle")}.get(
            source, ()
        ):
            if not value[source].get(needed):
                faults.add(f"{at}.{source}", Shape(value[source]), f"has no {needed}")
    if source == "local" and not value.get("node"):
        faults.add(
            f"{at}.node",
            value.get("node"),
            "is missing: a local volume is on one node (its label kubernetes.io/hostname)",
        )
    if value.get("size") is not None:
        _size_fault(value["size"], faults, f"{at}.size")
    _mode_faults(value.get("access_modes"), faults, f"{at}.access_modes")
    faults.sequence(f"{at}.mount_options", value.get("mount_options"))


def _size_fault(value: Any, faults: Faults, at: str) -> None:
    if value in (None, ""):
        faults.add(at, value, 'is missing: a claim needs a size like "100Gi"')
    elif faults.quantity(at, value) and not text(value).strip("0.+KMGTPEinumk"):
        faults.add(at, value, "is not above 0")


def _mode_faults(value: Any, faults: Faults, at: str) -> None:
    if not faults.sequence(at, value):
        return
    if value == []:
        faults.add(at, value, "is empty; leave it out for the default")
    for number, mode in enumerate(value or []):
        faults.choice(f"{at}[{number}]", mode, ACCESS_MODES)


def _collisions(spec: Spec, pool: Mapping[str, Any], faults: Faults, at: str, reported: set[tuple[str, str]]) -> None:
    """Datasets that need what env, volumes or mounts of the pool use. What is the site's is reported once."""
    found = names(spec, pool)
    variables = {datasets.variable_of(name) for name in found} | ({datasets.LIST_VARIABLE} if found else set())
    volumes = {dataset_mounts.PREFIX + name for name in found}

    def report(option: str, value: str, reason: str) -> None:
        own = pool.get(option) is not None
        if own or (option, value) not in reported:
            faults.add(f"{at if own else ''}{option}", value, reason)
        if not own:
            reported.add((option, value))

    for option, value in _used(spec, pool, "env", "name"):
        if value in variables:
            report(option, value, "is set by this collection for the datasets of the pool; use another name")
    for option, value in _used(spec, pool, "volumes", "name"):
        if value in volumes:
            report(option, value, "is the name of a dataset's volume; use another name")
    for option, value in _used(spec, pool, "volume_mounts", "mountPath"):
        path = normal_path(value)
        other = next((own for own in map(dataset_mounts.path_of, found) if _overlap(path, own)), "")
        if other:
            report(option, value, f"overlaps {other}, where a dataset is mounted; use a path outside {dataset_mounts.ROOT}")


def _used(spec: Spec, pool: Mapping[str, Any], option: str, key: str) -> Iterator[tuple[str, str]]:
    """Values of a key in the lists that a pool has in the end: env is merged, others are replaced."""
    lists = [spec.get(option), pool.get(option)] if option == "env" else [pool.get(option) or spec.get(option)]
    for listed in lists:
        for entry in listed if isinstance(listed, list) else ():
            if isinstance(entry, Mapping) and isinstance(entry.get(key), str):
                yield option, entry[key]


def _overlap(one: str, other: str) -> bool:
    return one == other or one == "/" or one.startswith(other + "/") or other.startswith(one + "/")


def _shared_claims(spec: Spec, pools: list[Mapping[str, Any]], faults: Faults) -> None:
    """Claims that are created: the same for all pools of a site, and none that fewer pods may use than there are."""
    first: dict[str, tuple[str, Dataset]] = {}
    pods: dict[str, int] = {}
    for pool in pools:
        try:
            replicas = pool_of({}, {key: pool.get(key) for key in ("mode", "replicas")})
        except (TypeError, ValueError):
            return  # reported elsewhere
        for one in map(Dataset.parse, merge_datasets(_entries(spec), _entries(pool))):
            if not one.is_created:
                continue
            name = text(pool.get("name"))
            other = first.setdefault(one.name, (name, one))
            if (one.new_claim, one.volume, one.access_modes) != (
                other[1].new_claim,
                other[1].volume,
                other[1].access_modes,
            ):
                faults.sentence(
                    f"{faults.prefix}pools: the pools {other[0]} and {name} describe the claim {one.claim_name} of the dataset {one.name} "
                    "in different ways: use another name for one of the datasets"
                )
            pods[one.name] = pods.get(one.name, 0) + (2 if replicas.is_daemon else replicas.replicas)
    for name, (_pool, one) in first.items():
        if one.access_modes == [ONE_POD] and pods[name] > 1:
            faults.sentence(
                f"{faults.prefix}datasets: the claim of the dataset {name} has the access mode {ONE_POD}, and more than one pod needs it: "
                "use ReadWriteMany or ReadOnlyMany, or a single SuperNode"
            )
