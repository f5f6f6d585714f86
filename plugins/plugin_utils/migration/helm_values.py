# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A values file of a Helm chart -> variables of this collection and a report, without I/O."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..checks import program_options
from ..spec.site_spec import SPREADS
from . import conversion
from .conversion import EXPOSURES, PATCH, PLACEHOLDER, VERSION, Refused, Row, merged, nested, shaped, too_old
from .helm_table import NEWER, SUPERLINK, SUPERNODE, TABLE

GROUPS = {SUPERLINK: "flower_hub", SUPERNODE: "flower_sites"}


@dataclass
class Draft:
    """What has been converted so far."""

    chart: str
    given: dict[str, Any]
    variables: dict[str, Any] = field(default_factory=dict)
    sources: dict[str, list[str]] = field(default_factory=dict)
    patches: list[dict[str, Any]] = field(default_factory=list)
    patched: dict[tuple[Any, ...], tuple[str, Any]] = field(default_factory=dict)

    def value(self, name: str) -> Any:
        """The value of a parameter, or the chart's default."""
        return self.given.get(name, _DEFAULTS[self.chart][name])

    @property
    def process(self) -> bool:
        """Whether apps run in SuperExecs."""
        return bool(self.value(f"{self.chart}.isolationMode") == "process")

    def put(self, row: Row, variable: str, value: Any) -> None:
        """Set a variable: maps and lists are added to what is there; else the component's value wins over the global one."""
        before = self.variables.get(variable)
        if isinstance(before, dict) and isinstance(value, dict):
            value = merged(before, value)
        elif isinstance(before, list) and isinstance(value, list):
            value = before + [one for one in value if one not in before]
        elif before is not None and before != value and not all(one.startswith("global.") for one in self.sources[variable]):
            raise Refused(f"{', '.join(self.sources[variable])} gives {variable} another value")
        self.variables[variable] = copy.deepcopy(value)
        self.sources.setdefault(variable, []).append(row.name)

    def patch(self, row: Row, body: Any) -> None:
        """Add a patch of the row's object. Lists that are appended to do not contradict each other."""
        kind, name = row.target
        for path, value in _ends(body) if isinstance(body, Mapping) else ():
            before = self.patched.setdefault((kind, name, path), (row.name, value))
            if before[1] != value:
                raise Refused(f"{before[0]} gives {path[-1]} of {kind}/{name} another value")
        self.patches.append({"target": {"kind": kind, "name": name}, "patch": body})
        self.sources.setdefault(f"{self.chart}_patches", []).append(row.name)


_DEFAULTS = {chart: {row.name: row.default for row in rows} for chart, rows in TABLE.items()}


def convert(chart: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Variables of the hub or of a site out of the values of Flower's Helm chart for SuperLink or SuperNode.

    Returns:
        C(variables), C(sources) (variable -> parameters), C(report) (a list of C({parameter, result, to, why}), one for each parameter
        that was given) and C(group), the inventory group.

    Raises:
        ValueError: it is not a mapping, or has no parameter of the chart.
    """
    if not isinstance(values, Mapping):
        raise ValueError(f"the values of the {chart} chart are not a mapping. Give the content of a values file.")
    rows = {row.name: row for row in TABLE[chart]}
    if values and not {str(key) for key in values} & {name.partition(".")[0] for name in rows}:
        names = ", ".join(sorted(map(str, values))[:5])
        raise ValueError(f"the file has no parameter of the {chart} chart: it has {names}. {_what_it_is(values, rows)}")
    given = dict(conversion.leaves(_without_nulls(values), rows))
    draft = Draft(chart, {name: value for name, value in given.items() if name in rows})
    _always(draft)
    report = [
        conversion.entry(name, conversion.NOT, why=NEWER.get(name) or conversion.unknown(name, value, rows, "chart has no such parameter"))
        for name, value in sorted(given.items())
        if name not in rows
    ]
    report += [_convert(draft, row, given[row.name]) for row in TABLE[chart] if row.name in given]
    if draft.patches:
        draft.variables[f"{chart}_patches"] = draft.patches
    return {"group": GROUPS[chart], "variables": draft.variables, "sources": draft.sources, "report": report}


def _what_it_is(values: Mapping[str, Any], rows: Collection[str]) -> str:
    """What a file without a parameter of the chart may be: a sentence with what to give instead."""
    if {"apiVersion", "kind"} <= values.keys():
        return f"It is a Kubernetes object ({values['kind']}). Give the values with which the chart was installed (helm get values)."
    if isinstance(values.get("services"), Mapping):
        return "It is a compose file. Give the values of a chart, or write an inventory."
    parts = {name.partition(".")[0] for name in rows}
    below = [str(key) for key, part in values.items() if isinstance(part, Mapping) and parts & {str(name) for name in part}]
    if below:
        return f"It is of a chart that contains this one: give the part below {below[0]} as a file of its own."
    return "It may be a file of another chart."


def _without_nulls(values: Mapping[str, Any]) -> dict[str, Any]:
    """Without keys whose value is null, at every depth of maps: in Helm, null takes a key away."""
    return {key: _without_nulls(one) if isinstance(one, Mapping) else one for key, one in values.items() if one is not None}


def _always(draft: Draft) -> None:
    """What the chart does and the collection would do otherwise by default is written out, whether it was given or not."""
    chart = draft.chart
    draft.variables[f"{chart}_isolation"] = "process" if draft.process else "subprocess"
    draft.sources[f"{chart}_isolation"] = [f"{chart}.isolationMode"]
    if chart == SUPERLINK:
        ingress = draft.value("superlink.ingress.enabled") and draft.value("superlink.ingress.fleet.enabled")
        exposure = "ingress" if ingress else EXPOSURES.get(draft.value("superlink.service.type"), "cluster_ip")
        draft.variables["superlink_exposure"] = exposure
        draft.sources["superlink_exposure"] = ["superlink.ingress.fleet.enabled" if ingress else "superlink.service.type"]
    else:
        draft.variables["supernode_pools"] = [{"name": "default", "replicas": 1, "node_config": {}}]
        draft.sources["supernode_pools"] = ["supernode.replicas", "supernode.node.config"]
        draft.variables["supernode_spread"] = "soft"
        draft.sources["supernode_spread"] = ["global.affinity.podAntiAffinity"]


def _ends(body: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Path and value of each field that a merge patch sets. Containers are distinguished by their names."""
    for key, value in body.items():
        if isinstance(value, Mapping) and value:
            yield from _ends(value, (*path, str(key)))
        elif isinstance(value, list) and key == "containers":
            for one in value:
                yield from _ends({inner: it for inner, it in one.items() if inner != "name"}, (*path, str(one["name"])))
        else:
            yield (*path, str(key)), value


def _overrides(draft: Draft, row: Row, value: Any) -> bool:
    """Whether a component is given its default because the value for all components is another one."""
    common = f"global.{row.name.partition('.')[2]}"
    if not value or row.name.startswith("global.") or common not in draft.given:
        return False
    return draft.given[common] not in (value, _DEFAULTS[draft.chart][common])


def _convert(draft: Draft, row: Row, value: Any) -> dict[str, Any]:
    if row.is_default(value) and not _overrides(draft, row, value):
        return conversion.entry(row.name, conversion.DEFAULT)
    if row.process and not draft.process and row.fate in (conversion.VARIABLE, PATCH):
        return conversion.entry(row.name, conversion.NOT, why=f"there is a SuperExec only with {draft.chart}.isolationMode process")
    return conversion.outcome(row, row.name, value, lambda: _CONVERSIONS[row.how](draft, row, value))


def _copy(draft: Draft, row: Row, value: Any) -> None:
    if isinstance(row.default, (dict, list)):
        shaped(value, type(row.default))
    if row.fate == PATCH:
        draft.patch(row, nested(row.path, value))
    elif row.name == "supernode.volumeMounts" and draft.process:
        draft.patch(Row(row.name, fate=PATCH, target=("StatefulSet", "supernode-default")), nested(_SUPERNODE_MOUNTS, value))
    else:
        for variable in row.variables:
            needed = _NEEDS_EXPOSURE.get(variable)
            if needed and draft.variables["superlink_exposure"] != needed:
                raise Refused(f"has no effect: the port for sites is not published by {needed.replace('_', ' ')}")
            draft.put(row, variable, value)


#: By default of the role, which a value replaces as a whole.
PASSTHROUGH = {"nginx.ingress.kubernetes.io/backend-protocol": "HTTPS", "nginx.ingress.kubernetes.io/ssl-passthrough": "true"}
_NEEDS_EXPOSURE = {
    "superlink_node_port": "node_port", "superlink_ingress_class": "ingress", "superlink_ingress_annotations": "ingress", "superlink_host": "ingress",
}  # fmt: skip
_PROGRAMS = {
    "superlink_extra_args": program_options.SUPERLINK, "superlink_serverapp_extra_args": program_options.SERVERAPP,
    "supernode_extra_args": program_options.SUPERNODE, "supernode_superexec_extra_args": program_options.CLIENTAPP,
}  # fmt: skip
_SUPERNODE_MOUNTS = ("spec", "template", "spec", "containers", "name=supernode", "volumeMounts")


def _not(draft: Draft, row: Row, value: Any) -> None:
    draft.put(row, row.variables[0], not shaped(value, bool))


def _one(draft: Draft, row: Row, value: Any) -> None:
    draft.put(row, row.variables[0], [shaped(value, str)])


def _names(draft: Draft, row: Row, value: Any) -> None:
    draft.put(row, row.variables[0], conversion.names_of(value))


def _arguments(draft: Draft, row: Row, value: Any) -> str:
    kept, _values, more = conversion.arguments(value, _PROGRAMS[row.variables[0]])
    if more and not kept:
        raise Refused(more)
    draft.put(row, row.variables[0], kept)
    return more


def _env(draft: Draft, row: Row, value: Any) -> None:
    kept = conversion.env(value)
    for variable in row.variables:
        before = {one.get("name"): one for one in draft.variables.get(variable, [])}
        changed = sorted(str(one.get("name")) for one in kept if before.get(one.get("name"), one) != one)
        if changed and not all(source.startswith("global.") for source in draft.sources[variable]):
            raise Refused(f"{', '.join(draft.sources[variable])} gives {', '.join(changed)} another value, and both go to {variable}")
        draft.variables[variable] = list({**before, **{one.get("name"): one for one in kept}}.values())
        draft.sources.setdefault(variable, []).append(row.name)


def _spread(draft: Draft, row: Row, value: Any) -> None:
    if value not in SPREADS:
        raise Refused(f"is none of: {', '.join(SPREADS)}")
    draft.variables[row.variables[0]] = value  # the chart's default stands there
    draft.sources[row.variables[0]] = [row.name]


def _rolling(draft: Draft, row: Row, value: Any) -> None:
    given = dict(shaped(value, dict))
    at_once = given.pop("maxUnavailable", None)
    if given.pop("maxSurge", 0) not in (0, "0", "0%"):
        raise Refused("a SuperNode is never doubled: its key admits one session; give maxUnavailable without maxSurge")
    if given or at_once in (None, 0, "0", "0%"):
        raise Refused("needs maxUnavailable, from 1, and has no other field here")
    draft.put(row, row.variables[0], str(at_once))


def _node_affinity(draft: Draft, row: Row, value: Any) -> None:
    kind = draft.value("global.affinity.nodeAffinity.type")
    if kind not in ("none", "soft", "hard"):
        raise Refused("global.affinity.nodeAffinity.type is none of: none, soft, hard")
    expressions = shaped(draft.value("global.affinity.nodeAffinity.matchExpressions"), list)
    if row.name.endswith(".type") or kind == "none" or not expressions:
        return  # the other row sets it
    term: dict[str, Any] = {"matchExpressions": expressions}
    rule: dict[str, Any] = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    if kind == "soft":
        rule = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": term}]}
    for variable in row.variables:
        draft.put(row, variable, {"nodeAffinity": rule})


#: Tags of Flower's own images: a release, and its Python and distribution.
_RELEASED = re.compile(r"\d+\.\d+\.\d+(-py\d+(\.\d+)*)?(-(ubuntu|alpine|debian|ubi)[\d.]*)?")


def _image(draft: Draft, row: Row, value: Any) -> None:
    prefix, _dot, part = row.name.rpartition(".")
    tag, digest = draft.value(f"{prefix}.tag"), draft.value(f"{prefix}.digest")
    own_repository = f"{prefix}.repository" in draft.given and draft.value(f"{prefix}.repository") != _DEFAULTS[draft.chart][f"{prefix}.repository"]
    registry = str(draft.value(f"{prefix}.registry") or "")
    own_build = VERSION.match(str(tag)) and not _RELEASED.fullmatch(str(tag))  # marked by more than Flower's own tags have
    if own_build and not own_repository and f"{prefix}.registry" not in draft.given:
        raise Refused(f"of the tag {tag} only the version can be kept: give the registry or the repository of this build as well")
    own_repository = own_repository or bool(own_build)
    if part == "tag":
        version = VERSION.match(str(value))
        if version and too_old(version[1]):
            raise Refused(too_old(version[1]))
        if version:
            draft.put(row, row.variables[1], version[1])
        elif not own_repository:
            raise Refused("begins with no version; set flower_version, or give the repository as well")
    if own_repository:
        version = VERSION.match(str(tag))
        if version and too_old(version[1]):
            raise Refused(f"the tag {version[1]} {too_old(version[1])}")
        name = "/".join(filter(None, ("docker.io" if registry == "registry.hub.docker.com" else registry, str(draft.value(f"{prefix}.repository")))))
        draft.put(row, row.variables[0], f"{name}:{tag}" + (f"@{digest}" if digest else ""))
    elif part == "registry":
        draft.put(row, row.variables[1], registry or "docker.io")
    elif part == "digest":
        raise Refused("is the digest of an image of Flower Enterprise; give the repository of an open image as well")


def _issuer(draft: Draft, row: Row, value: Any) -> None:
    if not draft.value("tls.certificate.existingIssuer"):
        raise Refused("is of no use without tls.certificate.existingIssuer")
    key = {"issuerGroup": "group", "existingIssuer": "name", "existingIssuerKind": "kind"}[row.name.rpartition(".")[2]]
    draft.put(row, "superlink_issuer", {key: value})
    if key == "name":
        draft.put(row, "superlink_certificates_source", "cert_manager")


def _existing(draft: Draft, row: Row, value: Any) -> None:
    draft.put(row, "superlink_certificates_source", "existing")
    draft.put(row, "superlink_certificate_secret", value)


def _days(draft: Draft, row: Row, value: Any) -> None:
    hours = re.fullmatch(r"(\d+)h(0m)?(0s)?", str(value))
    if not hours or int(hours[1]) < 24 or int(hours[1]) % 24:
        raise Refused("is not a whole number of days; set superlink_certificate_days")
    draft.put(row, row.variables[0], int(hours[1]) // 24)


def _exposure(draft: Draft, row: Row, value: Any) -> None:
    if value not in EXPOSURES:
        raise Refused(f"is none of: {', '.join(EXPOSURES)}")
    if draft.variables["superlink_exposure"] == "ingress":
        raise Refused("the ingress publishes the gateway, with its own type of Service")


def _ingress(draft: Draft, row: Row, value: Any) -> None:
    shaped(value, bool)
    if draft.variables["superlink_exposure"] != "ingress":
        raise Refused("only superlink.ingress.enabled and superlink.ingress.fleet.enabled together publish the port for sites")


def _ingress_annotations(draft: Draft, row: Row, value: Any) -> str:
    """The charts' own examples end TLS at the Ingress; here it would keep every site out."""
    given = shaped(value, dict)
    if any("passthrough" in str(key) and str(one).lower() == "true" for key, one in given.items()):
        _copy(draft, row, given)
        return ""
    _copy(draft, row, {**given, **PASSTHROUGH})
    return "with TLS passthrough, which the gateway needs, for ingress-nginx"


def _superexec(draft: Draft, row: Row, value: Any) -> None:
    if value is not draft.process:
        raise Refused(f"whether there is a SuperExec follows from {draft.chart}.isolationMode")


def _probe(draft: Draft, row: Row, value: Any) -> None:
    """Switched off, or a field of one that is not."""
    if row.name.endswith(".enabled"):
        if shaped(value, bool) is False:
            draft.patch(row, nested(row.path, None))
    elif draft.value(row.name.rpartition(".")[0] + ".enabled") is False:
        raise Refused("the probe is not enabled")
    else:
        draft.patch(row, nested(row.path, value))


def _rules(draft: Draft, row: Row, value: Any) -> None:
    """Of a network policy: added to those that are there, or all of them where there are none."""
    if draft.value(f"{draft.chart}.networkPolicy.enabled") is False:
        raise Refused(f"there is no policy with {draft.chart}.networkPolicy.enabled false")
    rules = shaped(value, list)
    path = "/" + "/".join(row.path)
    draft.patch(row, [{"op": "add", "path": path, "value": one} for one in (rules if row.path[-1] == "-" else [rules])])


def _pool(draft: Draft) -> dict[str, Any]:
    pool: dict[str, Any] = draft.variables["supernode_pools"][0]
    return pool


def _replicas(draft: Draft, row: Row, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise Refused("is not a number of SuperNodes from 0")
    _pool(draft)["replicas"] = value


def _node_config(draft: Draft, row: Row, value: Any) -> str:
    def fault(_key: str, one: Any) -> str:
        if isinstance(one, str):
            return "has braces around a name, which is a placeholder here; write it into supernode_pools" if PLACEHOLDER.search(one) else ""
        return "" if isinstance(one, (bool, int, float)) else "is neither text, a number nor a boolean"

    config, more = conversion.public_config(shaped(value, dict), fault)
    # The chart keeps YAML's types: text that looks like a number stays text.
    _pool(draft)["node_config"] = {key: {"string": one} if isinstance(one, str) else one for key, one in config.items()}
    return more


def _address(draft: Draft, row: Row, value: Any) -> None:
    host, port = draft.value("supernode.superlink.address"), draft.value("supernode.superlink.port")
    if "supernode.superlink.address" not in draft.given:
        raise Refused("is of no use without supernode.superlink.address")
    draft.put(row, row.variables[0], f"[{host}]:{port}" if ":" in str(host) and not str(host).startswith("[") else f"{host}:{port}")


_CONVERSIONS: dict[str, Callable[[Draft, Row, Any], str | None]] = {
    "arguments": _arguments,
    "copy": _copy, "not": _not, "one": _one, "names": _names, "env": _env, "spread": _spread, "rolling": _rolling, "node_affinity": _node_affinity,
    "image": _image, "issuer": _issuer, "existing": _existing, "days": _days, "exposure": _exposure, "ingress": _ingress,
    "ingress_annotations": _ingress_annotations,
    "superexec": _superexec, "probe": _probe, "rules": _rules, "replicas": _replicas,
    "node_config": _node_config, "address": _address,
}  # fmt: skip
