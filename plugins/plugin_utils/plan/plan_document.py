# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A plan of the whole fleet: its content, its SHA-256, its text for people, and its file. Pure.

The content is what the SHA-256 covers: the same fleet and the same inventory give the same. The file has it as YAML, below the text for people as
comments. A file is accepted only if it is, byte for byte, what its content and its origin are written as.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import yaml

from ..base import foreign_data
from ..base.digests import canonical, digest
from ..base.errors import ClusterError
from ..base.sizes import counted

Content = dict[str, Any]
Origin = dict[str, str]

FORMAT = 1
HEAD = "# Plan of federated.flower."
_BASE = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# What is compared first, since it explains all other differences.
_HEADER = ("format", "collection", "federation", "namespace", "hub", "hosts", "tags", "skip_tags")
_SIGNS = {"created": "+", "changed": "~", "deleted": "-"}
# Parts of a fact for the audit trail that differ each time, or are shown otherwise.
_VOLATILE = ("fingerprint", "node_id", "not_after", "public_key", "serial", "sha256", "change")


class _Dumper(_BASE):  # type: ignore[misc,valid-type]
    """Texts of several lines as blocks."""


def _block(dumper: Any, value: str) -> Any:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(str, _block)


def compose(header: Mapping[str, Any], records: Iterable[Mapping[str, Any]], failed: Iterable[str] = ()) -> Content:
    """The content of a plan.

    Args:
        header: C(collection), C(federation), C(namespace), C(hub), C(hosts), C(tags), C(skip_tags).
        records: what the actions of a run in check mode kept: C(entry) (of C(planned_object)), or C(site) with C(facts), as for the audit trail.
        failed: hosts that could not be looked at; nothing is planned for them.
    """
    entries: dict[tuple[str, str, str], dict[str, Any]] = {}
    noted: dict[str, dict[str, list[Any]]] = {}
    for record in records:
        if "entry" in record:
            _add(entries, record["entry"])
        else:
            for kind, facts in record["facts"].items():
                noted.setdefault(record["site"], {}).setdefault(kind, []).extend(facts)
    clusters: dict[str, dict[str, Any]] = {}
    for found in entries.values():
        home = found["for"][0] if len(found.get("for", ())) == 1 else found["cluster"]
        clusters.setdefault(home, {}).setdefault("objects", []).append(found)
    shown = {found["object"] for found in entries.values()}
    for site, kinds in noted.items():
        steps = _steps(kinds, shown)
        if steps:
            clusters.setdefault(site, {})["steps"] = steps
        if kinds.get("partitions"):
            clusters.setdefault(site, {})["partitions"] = _partitions(kinds["partitions"])
    for one in clusters.values():
        one.get("objects", []).sort(key=lambda found: (found["object"], found["change"]))
    for host in failed:
        clusters[str(host)] = {"failed": True}
    return {"format": FORMAT, **header, "clusters": {name: clusters[name] for name in sorted(clusters)}}


def _add(entries: dict[tuple[str, str, str], dict[str, Any]], found: Mapping[str, Any]) -> None:
    """Each object once: the first change of it, with what is applied last."""
    key = (found["cluster"], found["api"].rpartition("/")[0], found["object"])
    known = entries.get(key)
    if known is None:
        entries[key] = dict(found)
        return
    for name in ("becomes", "sha256", "later", "diff", "pods"):
        known[name] = found[name]
    sites = sorted({*known.get("for", [known["cluster"]]), *found.get("for", [found["cluster"]])})
    if sites != [known["cluster"]]:
        known["for"] = sites


def _steps(kinds: Mapping[str, Sequence[Any]], shown: set[str]) -> list[str]:
    """What is done besides the objects, in words."""
    steps = []
    for kind, facts in kinds.items():
        for fact in facts:
            if kind == "partitions" or (kind == "objects" and fact["object"] in shown):
                continue
            if kind == "objects":
                steps.append(f"{fact['change']} {fact['object']}")
            elif isinstance(fact, Mapping):
                rest = [str(value) for name, value in sorted(fact.items()) if name not in _VOLATILE]
                steps.append(" ".join(filter(None, (kind, " ".join(rest), str(fact.get("change", ""))))))
            else:
                steps.append(str(fact))
    return sorted(dict.fromkeys(steps))


def _partitions(facts: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Pool -> the numbers of its SuperNodes."""
    told = {}
    for fact in facts:
        first, size = fact.get("offset"), fact.get("size")
        if isinstance(first, int) and isinstance(size, int) and size:
            told[str(fact["pool"])] = str(first) if size == 1 else f"{first}-{first + size - 1}"
        else:
            told[str(fact["pool"])] = str(fact.get("change") or "none")
    return dict(sorted(told.items()))


def sha256(content: Mapping[str, Any]) -> str:
    """What identifies a plan."""
    return digest(content)


def is_empty(content: Mapping[str, Any]) -> bool:
    """Whether there is nothing to do."""
    return not any(set(one) - {"failed"} for one in content["clusters"].values())


def lines(entries: Iterable[Mapping[str, Any]]) -> list[str]:
    """What a plan says of its objects, and what was done with them, in the same words: one line each, sorted."""
    return sorted(
        f"{one['cluster']}: {one['change']} {one['object']} {one['sha256'] or '(made when it was applied)' if one['change'] != 'deleted' else ''}".rstrip()
        for one in entries
        if not one.get("apart")
    )


def text(content: Mapping[str, Any], origin: Mapping[str, str] | None = None) -> list[str]:
    """A plan for people, without the differences."""
    told = [f"federation {content['federation']} in namespace {content['namespace']}, hub {content['hub'] or '(left out)'}"]
    if origin:
        told.append(f"made {origin['made']} by {origin['by']}, can be applied until {origin['until']}")
    told.append(f"sha256 {sha256(content)}")
    limits = [f"--{name.replace('_', '-')} {content[name]}" for name in ("tags", "skip_tags") if content[name]]
    told.append(f"for {', '.join(content['hosts'])}{''.join(f' ({one})' for one in limits)}")
    for host in content["hosts"]:
        told.append("")
        told += _cluster(host, content["clusters"].get(host) or {})
    return told


def _cluster(host: str, one: Mapping[str, Any]) -> list[str]:
    if one.get("failed"):
        return [f"{host}: could not be looked at, so nothing is planned for it"]
    if not one:
        return [f"{host}: nothing to do"]
    listed = one.get("objects", [])
    told = [f"{host}: {counted(len(listed), 'object')}"]
    for found in listed:
        words = [f"  {_SIGNS[found['change']]} {found['object']}"]
        if found["cluster"] != host:
            words.append(f"on {found['cluster']}")
        if found["pods"]:
            words.append(f"({'; '.join(found['pods'])})")
        if found["later"]:
            words.append("(in part made when the plan is applied)")
        told.append(" ".join(words))
    told += [f"  partitions of pool {pool}: {numbers}" for pool, numbers in one.get("partitions", {}).items()]
    return told + [f"  {step}" for step in one.get("steps", [])]


def write(content: Mapping[str, Any], origin: Mapping[str, str]) -> str:
    """The text of a plan's file."""
    comments = [HEAD, *(f"# {line}".rstrip() for line in text(content, origin))]
    whole = {"origin": {**origin, "seal": _seal(content, origin)}, "plan": dict(content)}
    body = yaml.dump(whole, Dumper=_Dumper, default_flow_style=False, sort_keys=False, width=160, allow_unicode=True)
    return "\n".join(comments) + "\n---\n" + body


def _seal(content: Mapping[str, Any], origin: Mapping[str, str]) -> str:
    return digest([canonical(content), {name: origin[name] for name in ("made", "by", "until")}])


def read(found: str, name: str) -> tuple[Content, Origin]:
    """The content and the origin of a plan's file.

    Args:
        found: its text.
        name: of the file, for messages.

    Raises:
        ClusterError: it is not a plan, or was edited.
    """
    if not found.startswith(HEAD):
        raise ClusterError(f"{name} is not a plan: federated.flower.plan writes them.")
    edited = ClusterError(f"{name} was edited, so it is not what was planned. Make it again with federated.flower.plan.")
    try:
        if "*" in found and any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(found, _LOADER)):
            raise edited  # a few lines can stand for gigabytes
        whole = yaml.load(found, _LOADER)
        content, origin = dict(whole["plan"]), dict(whole["origin"])
        seal = origin.pop("seal")
        if content["format"] != FORMAT:
            raise ClusterError(f"{name} has format {content['format']}, and this release reads {FORMAT}. Make it again.")
        good = seal == _seal(content, origin) and write(content, origin) == found
    except (yaml.YAMLError, *foreign_data.FAULTS) as error:
        raise edited from error
    if not good:
        raise edited
    return content, origin


def late(origin: Mapping[str, str], now: datetime.datetime) -> str:
    """Why it is too late to apply a plan; empty if it is not."""
    until = datetime.datetime.fromisoformat(origin["until"])
    return "" if now <= until else f"it could be applied until {origin['until']}, and it is {now.isoformat(timespec='seconds')} now"


def header_faults(planned: Mapping[str, Any], present: Mapping[str, Any]) -> list[str]:
    """How a run differs from the one that a plan was made for, before anything is looked at."""
    words = {
        "collection": "release of the collection",
        "hosts": "hosts, by inventory and --limit",
        "skip_tags": "--skip-tags",
        "tags": "--tags",
        "hub": "hub",
    }
    return [
        f"{words.get(name, name)}: {_shown(planned.get(name))} in the plan, {_shown(present.get(name))} now"
        for name in _HEADER
        if planned.get(name) != present.get(name)
    ]


def _shown(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value or "none")
