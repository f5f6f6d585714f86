# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""flower-operator's resource Federation -> variables of this collection and a report, without I/O.

Where the operator's behaviour is a defect, the result does what was meant: see the guide on converting.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..checks import program_options
from ..checks.pod_rules import HUB_PATHS, HUB_VOLUMES, SITE_PATHS, SITE_VOLUMES
from . import conversion
from .conversion import Refused, Row, shaped
from .federation_table import FIELDS

HUB, SITES, ALL = "flower_hub", "flower_sites", "all"
API = "flwr.exalsius.ai/"
_ROWS = {one.name: one for one in FIELDS}
_HOME = r"(?:docker\.io/|registry\.hub\.docker\.com/)?"
# Flower's images; the version of their arguments is at the beginning of the tag. Elsewhere it is a mirror if the tag can be a release of
# Flower, all of which are 1.x so far: other tags are of someone's own image.
_FLOWER = re.compile(rf"(?:{_HOME}|.+/(?=.*:1\.))flwr/(?:superlink|supernode|superexec):(\d+\.\d+\.\d+)[^/]*")
_OFFICIAL = re.compile(rf"{_HOME}flwr/[a-z]+:\d+\.\d+\.\d+")
_KNOWN = ("{index}", "{replicas}", "{node}", "{pool}")
_OWN_CONTAINERS = {"superlink", "superexec-serverapp", "supernode", "superexec-clientapp"}
_GPU = "supernodes.pools[].gpu"
_DEVICES = {"nvidia": "nvidia.com/gpu", "amd": "amd.com/gpu"}


@dataclass
class Part:
    """What is converted for one group of the inventory, or for one pool.

    Attributes:
        given: the fields of its part of the resource, by their name in the table.
        name: prefix of its fields in the report, with the pool's name instead of C([]).
        replaced: files that arguments name which the collection sets itself, such as that of a SuperNode's key.
    """

    given: dict[str, Any]
    name: str
    replaced: list[str] = field(default_factory=list)
    variables: dict[str, Any] = field(default_factory=dict)
    sources: dict[str, list[str]] = field(default_factory=dict)

    def put(self, where: str, variable: str, value: Any) -> None:
        """Set a variable; lists and maps are added to what is there."""
        before = self.variables.get(variable)
        if isinstance(before, list) and isinstance(value, list):
            value = before + [one for one in value if one not in before]
        elif isinstance(before, dict) and isinstance(value, dict):
            value = {**before, **value}
        self.variables[variable] = copy.deepcopy(value)
        self.sources.setdefault(variable, []).append(where)


@dataclass
class Draft:
    """What has been converted so far."""

    process: bool
    daemon: bool
    hub: Part
    sites: Part
    common: Part
    report: list[dict[str, Any]] = field(default_factory=list)

    def convert(self, part: Part, name: str, where: str, value: Any) -> None:
        """Convert one field, and report it. C(name): in the table; C(where): in the report."""
        row = _ROWS.get(name)
        if row is None:
            line = conversion.entry(where, conversion.NOT, why=conversion.unknown(name, value, _ROWS, "resource has no such field"))
        elif row.is_default(value):
            line = conversion.entry(where, conversion.DEFAULT)
        elif row.process and not self.process:
            line = conversion.entry(where, conversion.NOT, why="there is a SuperExec only with isolationMode process")
        else:
            line = conversion.outcome(row, where, value, lambda: _CONVERSIONS[row.how](self, part, row, where, value))
        self.report.append(line)

    def template(self, part: Part, where: str, path: tuple[str, ...], value: Any) -> None:
        """Add to the pod template of a part."""
        body = conversion.nested(("spec", *path), value)
        for variable in ("superlink_pod_template", "superlink_serverapp_pod_template") if part is self.hub else ("pod_template",):
            if self.process or "serverapp" not in variable:
                part.put(where, variable, conversion.merged(part.variables.get(variable) or {}, body))


def from_federation(resource: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Variables of all hosts, the hub and the sites out of a Federation.

    Returns:
        For each inventory group a dict as that of C(helm_values.convert).

    Raises:
        ValueError: it is not a Federation.
    """
    spec = _spec_of(resource)
    process, daemon = spec.get("isolationMode") == "process", spec.get("mode") == "DaemonSet"
    hub = Part({}, "superlink")
    draft = Draft(process, daemon, hub, Part({}, "supernodes"), Part({}, "metadata"))
    for group, isolation in ((draft.hub, "superlink_isolation"), (draft.sites, "supernode_isolation")):
        group.put("isolationMode", isolation, "process" if process else "subprocess")
    draft.hub.put("superlink.service.type", "superlink_exposure", "cluster_ip")
    given = dict(conversion.leaves({key: value for key, value in spec.items() if key != "supernodes"}, _ROWS))
    supernodes = spec.get("supernodes") or {}
    given |= dict(conversion.leaves({key: value for key, value in supernodes.items() if key != "pools"}, _ROWS, "supernodes."))
    draft.hub.given = draft.sites.given = given
    _common(draft, resource)
    for name, value in _ordered(given):
        draft.convert(draft.sites if name.startswith("supernodes.") else draft.hub, name, name, value)
    _pools(draft, supernodes.get("pools") or [])
    return [_result(draft, ALL, draft.common), _result(draft, HUB, draft.hub), _result(draft, SITES, draft.sites)]


def _spec_of(resource: Any) -> dict[str, Any]:
    if not isinstance(resource, Mapping) or resource.get("kind") != "Federation" or not str(resource.get("apiVersion")).startswith(API):
        kind = resource.get("kind") if isinstance(resource, Mapping) else type(resource).__name__
        raise ValueError(f"it is not a Federation of {API}v1, but {kind!r}. Give one resource, as kubectl get federation NAME -o yaml writes it.")
    spec = resource.get("spec")
    if not isinstance(spec, dict):
        raise ValueError("the Federation has no spec.")
    for key, known in (("mode", ("StatefulSet", "DaemonSet")), ("isolationMode", ("process", "subprocess"))):
        if spec.get(key) not in known:
            raise ValueError(f"spec.{key} of the Federation is {spec.get(key)!r}, and has to be {' or '.join(known)}.")
    supernodes = spec.get("supernodes")
    pools = supernodes.get("pools") if isinstance(supernodes, dict) else None
    if not isinstance(pools, list) or not pools or not all(isinstance(one, dict) and isinstance(one.get("name"), str) for one in pools):
        raise ValueError("spec.supernodes.pools of the Federation has to be a list of pools, each with a name.")
    return spec


def _result(draft: Draft, group: str, part: Part) -> dict[str, Any]:
    """The report has each line once: those of SuperNodes and of the metadata in their parts, all else in the hub's."""
    own = {SITES: "supernodes", ALL: "metadata"}
    lines = [one for one in draft.report if next((name for name, start in own.items() if one["parameter"].startswith(start)), HUB) == group]
    return {"group": group, "variables": part.variables, "sources": part.sources, "report": lines}


def _common(draft: Draft, resource: Mapping[str, Any]) -> None:
    meta = resource.get("metadata") or {}
    if meta.get("name"):
        draft.common.put("metadata.name", "flower_federation", str(meta["name"]))
        draft.report.append(conversion.entry("metadata.name", conversion.MAPPED, to="flower_federation"))
    if meta.get("namespace"):
        why = "the operator's objects stay in it; this federation gets namespaces of its own, flower_namespace"
        draft.report.append(conversion.entry("metadata.namespace", conversion.NOT, why=why))


def _pools(draft: Draft, pools: list[dict[str, Any]]) -> None:
    last = {one["name"]: number for number, one in enumerate(pools)}
    converted = []
    for number, one in enumerate(pools):
        name = f"supernodes.pools[{one['name']}]"
        if last[one["name"]] != number:
            draft.report.append(conversion.entry(name, conversion.NOT, why="a later pool has the same name; the operator deploys only that one"))
            continue
        kind = "DaemonSet" if draft.daemon else "StatefulSet"
        pool = Part(dict(conversion.leaves(one, _ROWS, "supernodes.pools[].")), name)
        pool.variables = {"name": one["name"], "mode": kind, **({} if draft.daemon else {"replicas": 1}), "node_config": {}}
        for field_name, value in _ordered(pool.given):
            where = field_name.replace("supernodes.pools[]", name)
            draft.convert(pool, field_name, where, value)
        converted.append(pool.variables)
    draft.sites.variables["supernode_pools"] = converted
    draft.sites.sources["supernode_pools"] = ["mode", "supernodes.pools"]


def _ordered(given: Mapping[str, Any]) -> list[tuple[str, Any]]:
    order = {name: number for number, name in enumerate(_ROWS)}
    return sorted(given.items(), key=lambda one: (order.get(one[0], len(order)), one[0]))


# Conversions: (draft, part, row, where, value) -> what the report says besides


def _later(draft: Draft, part: Part, row: Row, where: str, value: Any) -> None:
    """It is in the result already."""


def _copy(draft: Draft, part: Part, row: Row, where: str, value: Any) -> None:
    for variable in row.variables:
        if draft.process or not variable.startswith("superlink_serverapp_"):
            part.put(where, variable, value)


def _template(draft: Draft, part: Part, row: Row, where: str, value: Any) -> None:
    draft.template(part, where, row.path, value)


def _containers(draft: Draft, part: Part, row: Row, where: str, value: Any) -> None:
    """The operator's own are made by the operator, whatever a template says of them."""
    found = [shaped(one, dict) for one in shaped(value, list)]
    own = sorted({str(one.get("name")) for one in found} & _OWN_CONTAINERS)
    if own:
        raise Refused(f"has {', '.join(own)}, which the operator creates itself and ignores here")
    for one in found:
        conversion.env(one.get("env") or [])
    _copy(draft, part, row, where, found)


def _env(draft: Draft, part: Part, row: Row, where: str, value: Any) -> None:
    _copy(draft, part, row, where, conversion.env(value))


def _image(draft: Draft, part: Part, row: Row, where: str, value: Any) -> None:
    text = shaped(value, str)
    if not text:
        raise Refused("is empty")
    flower = _FLOWER.fullmatch(text)
    if flower and conversion.too_old(flower[1]):
        raise Refused(conversion.too_old(flower[1]))
    fits = flower is not None and draft.common.variables.get("flower_version") in (None, flower[1])
    if flower and fits:
        draft.common.put(where, "flower_version", flower[1])
    if not fits or not _OFFICIAL.fullmatch(text):
        part.put(where, row.variables[0], text)


def _arguments(draft: Draft, part: Part, row: Row, where: str, value: Any) -> str:
    """Arguments without those that the collection sets itself, and without their values."""
    kept, values, more = conversion.arguments(value, program_options.SUPERLINK if part is draft.hub else program_options.SUPERNODE)
    part.replaced = [one for one in values if one.startswith("/")]
    if more and not kept:
        raise Refused(more)
    part.put(where, row.variables[0], kept)
    return more


def _exposure(draft: Draft, part: Part, row: Row, where: str, value: Any) -> None:
    if shaped(value, str) not in conversion.EXPOSURES:
        raise Refused(f"is none of: {', '.join(conversion.EXPOSURES)}")
    part.put(where, row.variables[0], conversion.EXPOSURES[value])


def _pull_secrets(draft: Draft, part: Part, row: Row, where: str, value: Any) -> None:
    (draft.hub if part is draft.hub else draft.sites).put(where, row.variables[0], conversion.names_of(value))


def _volumes(draft: Draft, part: Part, row: Row, where: str, value: Any) -> str:
    """For a SuperExec of the hub, which has a pod of its own, only what it mounts."""
    found = _named(value)
    volumes = [one for one in found if not _is_replaced(part, str(one["name"]))]
    if found and not volumes:
        raise Refused("has only files that the collection creates itself")
    part.put(where, row.variables[0], _renamed(draft, part, volumes))
    if part is draft.hub and draft.process:
        mounted = {one.get("name") for one in _mounts_of(part, "superlink", executor=True)}
        own = [one for one in volumes if one.get("name") in mounted]
        if own:
            part.put(where, row.variables[1], _renamed(draft, part, own))
    return _without(found, volumes)


def _renamed(draft: Draft, part: Part, listed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Volumes or mounts; where the collection has a volume of the same name, theirs gets another one."""
    taken = HUB_VOLUMES if part is draft.hub else SITE_VOLUMES
    return [{**one, "name": f"user-{one['name']}"} if one["name"] in taken else one for one in listed]


def _without(found: list[dict[str, Any]], kept: list[dict[str, Any]]) -> str:
    gone = sorted({str(one["name"]) for one in found if one not in kept})
    return f"without {', '.join(gone)}: the collection creates these files itself" if gone else ""


def _holds_replaced(part: Part, mount: Mapping[str, Any]) -> bool:
    path = str(mount.get("mountPath", "")).rstrip("/")
    return bool(path) and any(file == path or file.startswith(f"{path}/") for file in part.replaced)


def _is_replaced(part: Part, volume: str) -> bool:
    """Whether a volume is mounted only where files are that the collection makes itself."""
    prefix = "superlink" if part.name == "superlink" else "supernodes.pools[]"
    both = [*_mounts_of(part, prefix, executor=False), *_mounts_of(part, prefix, executor=True)]
    mounts = [one for one in both if one["name"] == volume]
    return bool(mounts) and all(_holds_replaced(part, one) for one in mounts)


def _mounts_of(part: Part, prefix: str, *, executor: bool) -> list[dict[str, Any]]:
    """Mounts of a container; a SuperExec without any has those of the other container."""
    own = part.given.get(f"{prefix}.superexecVolumeMounts") if executor else None
    found = own or part.given.get(f"{prefix}.volumeMounts") or []
    return [one for one in found if isinstance(one, dict) and isinstance(one.get("name"), str)] if isinstance(found, list) else []


def _named(value: Any) -> list[dict[str, Any]]:
    """Volumes or mounts, each with the name of a volume."""
    found = [shaped(one, dict) for one in shaped(value, list)]
    for one in found:
        shaped(one.get("name"), str)
    return found


def _has_volumes(draft: Draft, part: Part, prefix: str, mounts: Any) -> tuple[list[dict[str, Any]], str]:
    """The mounts, if the volumes are there that they name, and what the report says of those that are left out."""
    names = [part.given.get(f"{prefix}{place}volumes") or [] for place in (".", ".podTemplate.spec.")]
    there = {str(one.get("name")) for found in names if isinstance(found, list) for one in found if isinstance(one, dict)}
    found = _named(mounts)
    lacking = sorted({str(one.get("name")) for one in found if one.get("name") not in there})
    if lacking:
        raise Refused(f"mounts {', '.join(lacking)}, which is not among the volumes that are converted")
    kept = [one for one in found if not _holds_replaced(part, one)]
    more = _without(found, kept)
    if found and not kept:
        raise Refused("mounts only files that the collection creates itself")
    paths = HUB_PATHS if part is draft.hub else SITE_PATHS
    taken = sorted(path for one in kept if (path := str(one.get("mountPath", "")).rstrip("/")) in paths)
    if taken:
        why = f"{', '.join(taken)} is a path of the collection's own files; mount the volume at another one"
        kept = [one for one in kept if str(one.get("mountPath", "")).rstrip("/") not in taken]
        if not kept:
            raise Refused(why)
        more = "; ".join(filter(None, (more, f"without a mount: {why}")))
    return _renamed(draft, part, kept), more


def _mounts(draft: Draft, part: Part, row: Row, where: str, value: Any) -> str:
    prefix = row.name.rpartition(".")[0]
    mounts, more = _has_volumes(draft, part, prefix, value)
    executor = not part.given.get(f"{prefix}.superexecVolumeMounts")
    if part is draft.hub:
        part.put(where, row.variables[0], mounts)
        if draft.process and executor:
            part.put(where, row.variables[1], mounts)
        return more
    if not draft.process or executor:
        part.put(where, row.variables[0], mounts)
    if draft.process:
        draft.template(part, where, ("containers", "name=supernode", "volumeMounts"), mounts)
    return more


def _exec_mounts(draft: Draft, part: Part, row: Row, where: str, value: Any) -> str:
    mounts, more = _has_volumes(draft, part, row.name.rpartition(".")[0], value)
    part.put(where, row.variables[0], mounts)
    return more


def _replicas(draft: Draft, part: Part, row: Row, where: str, value: Any) -> None:
    if draft.daemon:
        raise Refused("a DaemonSet has one SuperNode on each of its nodes")
    if shaped(value, int) < 1:
        raise Refused("is not a number of SuperNodes from 1")
    part.variables["replicas"] = value


def _shows_all(part: Part) -> bool:
    """Whether a pool gets all devices of its nodes, uncounted."""
    return part.given.get(f"{_GPU}.mountAll") is True and part.given.get(f"{_GPU}.vendor") == "nvidia"


def _gpu(draft: Draft, part: Part, row: Row, where: str, value: Any) -> None:
    if _shows_all(part):
        return
    vendor, own = part.given.get(f"{_GPU}.vendor", "nvidia"), part.given.get(f"{_GPU}.resourceName")
    if vendor not in _DEVICES and not own:
        raise Refused(f"the vendor is none of {', '.join(_DEVICES)}, and there is no resourceName")
    count = shaped(part.given.get(f"{_GPU}.count", 1), int)
    part.put(where, "gpu", {"resource": own or _DEVICES[vendor], "count": count})


def _mount_all(draft: Draft, part: Part, row: Row, where: str, value: Any) -> None:
    shaped(value, bool)
    if not _shows_all(part):
        raise Refused("needs the vendor nvidia: devices of others are folders of the node, which Pod Security restricted refuses; request them with gpu.count")
    part.put(where, "gpu", {"mount_all": True, "runtime_class": "nvidia"})


def _part_of_gpu(draft: Draft, part: Part, row: Row, where: str, value: Any) -> None:
    if _shows_all(part):
        if row.name != f"{_GPU}.vendor":
            raise Refused("with gpu.mountAll nothing is requested of the scheduler")
    elif part.given.get(f"{_GPU}.enabled") is not True:
        raise Refused("gpu.enabled is not true")


def _runtime_class(draft: Draft, part: Part, row: Row, where: str, value: Any) -> None:
    if "gpu" in part.variables:
        part.put(where, "gpu", {"runtime_class": shaped(value, str)})
    else:
        draft.template(part, where, ("runtimeClassName",), shaped(value, str))


def _node_config(draft: Draft, part: Part, row: Row, where: str, value: Any) -> str:
    """The operator's placeholders have the same names here, and text that is a number or a boolean becomes one, as there."""

    def fault(_key: str, text: Any) -> str:
        rest = str(text)
        for known in _KNOWN:
            rest = rest.replace(known, "")
        if conversion.PLACEHOLDER.search(rest):
            return "has braces around a name that the operator does not replace; write it into supernode_pools"
        counts = draft.daemon and ("{index}" in str(text) or "{replicas}" in str(text))
        return "counts pods, which a DaemonSet does not do; use {node} or {partition}" if counts else ""

    config, more = conversion.public_config(shaped(value, dict), fault)
    part.variables["node_config"] = {str(key): text for key, text in config.items()}
    return more


_CONVERSIONS = {
    "later": _later, "copy": _copy, "template": _template, "containers": _containers, "env": _env, "image": _image, "exposure": _exposure,
    "arguments": _arguments, "pull_secrets": _pull_secrets,
    "volumes": _volumes, "mounts": _mounts, "exec_mounts": _exec_mounts, "replicas": _replicas, "gpu": _gpu, "part_of_gpu": _part_of_gpu,
    "mount_all": _mount_all,
    "runtime_class": _runtime_class, "node_config": _node_config,
}  # fmt: skip
