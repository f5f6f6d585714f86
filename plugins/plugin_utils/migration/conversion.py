# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the conversions have in common: results, refusals, what is never taken over; and their result as text of group_vars."""

from __future__ import annotations

import copy
import difflib
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from ...module_utils.node_config_values import BRACES
from ..base.formats import is_secret
from ..checks.program_options import REMOVED, Program, refusal

MAPPED, MET, DEFAULT, NOT = "mapped", "met", "default", "refused"
VARIABLE, PATCH, FIXED, REFUSED = "variable", "patch", "fixed", "refused"
EXPOSURES = {"ClusterIP": "cluster_ip", "NodePort": "node_port", "LoadBalancer": "load_balancer"}
#: A version at the beginning of an image's tag.
VERSION = re.compile(r"(\d+\.\d+\.\d+)")
#: Names of parameters and fields of autoscalers.
_AUTOSCALING = re.compile(r"autoscal|\bhpa\b|scaledobject", re.IGNORECASE)
#: What node_config would read as a placeholder.
PLACEHOLDER = BRACES

#: Text that is a number or a boolean, and so no secret.
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?|true|false", re.IGNORECASE)
_KEY = re.compile(r"PRIVATE KEY-----")

HEADER = "# Written by federated.flower.convert."
_TEMPLATE = re.compile(r"\{\{|\{%|\{#")


class Refused(ValueError):
    """A value that is not converted; the text is the reason, and never the value."""


@dataclass(frozen=True)
class Row:
    """What becomes of one parameter of a chart, or of one field of a resource.

    Attributes:
        name: with C([]) for an entry of a list.
        default: of the chart or the resource; None where it has none.
        fate: C(variable), C(patch), C(fixed) for what is so here without a variable, or C(refused).
        variables: with C(variable), role variables, or for a pool options of it.
        how: name of the conversion; see helm_values.py and federation_resource.py.
        target: C((kind, name)) of the object, with C(patch).
        path: keys to the patched field, in the object or in the pod template's spec. A part C(name=x) is the list entry with that name.
        only: the value that is so here, with C(fixed).
        why: the reason, with C(fixed) and C(refused); else what to know.
        process: whether it concerns SuperExec, which only process isolation has.
    """

    name: str
    default: Any = None
    fate: str = VARIABLE
    variables: tuple[str, ...] = ()
    how: str = "copy"
    target: tuple[str, str] = ("", "")
    path: tuple[str, ...] = ()
    only: Any = None
    why: str = ""
    process: bool = False

    @property
    def destination(self) -> str:
        """For people: where the value goes, or why it does not."""
        if self.fate == VARIABLE:
            return "; ".join(filter(None, (", ".join(self.variables), self.why)))
        if self.fate == PATCH:
            return f"patch of {self.target[0]}/{self.target[1]}: {'.'.join(self.path)}"
        return f"always {self.only}: {self.why}" if self.fate == FIXED else self.why

    def is_default(self, value: Any) -> bool:
        """Whether it is the default, of the same type."""
        return self.default is not None and value == self.default and type(value) is type(self.default)


def refused_row(name: str, default: Any, why: str) -> Row:
    """One that is not taken over."""
    return Row(name, default, REFUSED, why=why)


def entry(name: str, result: str, to: str = "", why: str = "") -> dict[str, str]:
    """A line of the report."""
    return {"parameter": name, "result": result, "to": to, "why": why}


def outcome(row: Row, where: str, value: Any, convert: Callable[[], str | None]) -> dict[str, str]:
    """The line on a value that is not the default. C(convert) sets the variables, and may return what else to report."""
    if row.fate == REFUSED:
        return entry(where, NOT, why=row.why)
    if row.fate == FIXED:
        return entry(where, MET, why=row.why) if value == row.only else entry(where, NOT, why=f"is {row.destination}")
    try:
        without_keys(value)
        more = convert()
    except Refused as reason:
        return entry(where, NOT, why=str(reason))
    return entry(where, MAPPED, to="; ".join(filter(None, (row.destination, more))))


def leaves(values: Mapping[str, Any], names: Collection[str], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The values by their names in the table, and unknown ones by their paths."""
    for key, value in values.items():
        name = f"{prefix}{key}"
        if name not in names and isinstance(value, Mapping) and any(one.startswith(f"{name}.") for one in names):
            yield from leaves(value, names, f"{name}.")
        elif value is not None:
            yield name, value


def unknown(name: str, value: Any, names: Collection[str], source: str) -> str:
    """Why a name is not in the table of a source."""
    if any(one.startswith(f"{name}.") for one in names):
        return f"has a {type(value).__name__}, not a mapping"
    if _AUTOSCALING.search(name):
        return "autoscaling is not possible: each SuperNode has a registered key and a number, and a SuperLink with SQLite is one pod; set replicas"
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.9)
    return f"the {source}{f'; did you mean {near[0]}?' if near else ''}"


def without_keys(value: Any) -> None:
    """Refuse a private key, wherever it is.

    Raises:
        Refused: there is one.
    """
    if isinstance(value, Mapping):
        for key, inner in value.items():
            without_keys(key)
            without_keys(inner)
    elif isinstance(value, list):
        for inner in value:
            without_keys(inner)
    elif isinstance(value, str) and _KEY.search(value):
        raise Refused("has a private key, which does not belong in an inventory; put it into a Secret or a vault")


def shaped(value: Any, kind: type) -> Any:
    """The value, if it is of this kind.

    Raises:
        Refused: it is not.
    """
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise Refused(f"has a {type(value).__name__}, not a {kind.__name__}")
    return value


def public_config(given: Mapping[str, Any], fault: Callable[[str, Any], str]) -> tuple[dict[str, Any], str]:
    """The entries of a node config that can be taken over, and why the others cannot: every app can read them.

    Args:
        given: it.
        fault: what else is wrong with a key and its value; empty if nothing is.

    Raises:
        Refused: nothing is left.
    """
    wrong = {}
    for key, value in given.items():
        counted = isinstance(value, (bool, int, float)) or _NUMBER.fullmatch(str(value))
        secret = "looks like a secret; every app can read a node config" if not counted and is_secret(str(key), value) else ""
        why = fault(str(key), value) or secret
        if why:
            wrong[key] = f"the value of {key} {why}"
    if wrong and len(wrong) == len(given):
        raise Refused("; ".join(wrong.values()))
    return {key: value for key, value in given.items() if key not in wrong}, "; ".join(f"without {key}: {why}" for key, why in wrong.items())


def env(value: Any) -> list[dict[str, Any]]:
    """A list of EnvVar objects.

    Raises:
        Refused: it is none, or a value looks like a secret.
    """
    kept, secret = [], []
    for one in shaped(value, list):
        name = str(shaped(one, Mapping).get("name", ""))
        if "value" in one and is_secret(name, one["value"]):
            secret.append(name)
        else:
            kept.append(dict(one))
    if secret:
        raise Refused(f"the value of {', '.join(secret)} looks like a secret; put it into a Secret, and use valueFrom.secretKeyRef")
    return kept


def arguments(value: Any, program: Program) -> tuple[list[str], list[str], str]:
    """Arguments without those that the collection sets itself or Flower refuses, and without their values.

    Args:
        value: the list.
        program: whose arguments they are.

    Returns:
        What is left, the values of what is not, and what the report says of that.

    Raises:
        Refused: it is not a list.
    """
    kept: list[str] = []
    values: list[str] = []
    own: dict[str, str] = {}
    waiting = False  # for the value of an option that is left out
    for word in map(str, shaped(value, list)):
        name, _equals, text = word.partition("=")
        if why := refusal(name, program):
            own[name], waiting = why, not text
            values.append(text)
        elif waiting and not word.startswith("-"):
            values[-1], waiting = word, False
        else:
            kept.append(word)
            waiting = False
    why = "; ".join(f"{name} {reason}" for name, reason in own.items())
    return kept, values, f"without what the collection sets{' or Flower refuses' if REMOVED in why else ''}: {why}" if why else ""


def names_of(value: Any) -> list[Any]:
    """Names out of a list of names, or of objects with a name."""
    return [one.get("name") if isinstance(one, Mapping) else one for one in shaped(value, list)]


def too_old(version: str) -> str:
    """Why a release of Flower is not deployed; empty if it is."""
    if tuple(map(int, version.split("."))) >= (1, 40, 0):
        return ""
    return "is older than Flower 1.40, the first that this collection deploys; the default version is used"


def nested(path: tuple[str, ...], value: Any) -> Any:
    """A strategic merge patch out of the keys to a field; C(name=x) is the list entry with that name."""
    if not path:
        return copy.deepcopy(value)
    inner = nested(path[1:], value)
    if path[0].startswith("name="):
        return [{"name": path[0].removeprefix("name="), **inner}]
    return {path[0]: inner}


def merged(before: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Both: maps are merged, lists added, else the second wins."""
    result = dict(before)
    for key, value in more.items():
        old = result.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            result[key] = merged(old, value)
        elif isinstance(old, list) and isinstance(value, list):
            result[key] = old + [one for one in value if one not in old]
        else:
            result[key] = value
    return result


class _Unsafe(str):
    """Text that Ansible must not treat as a template."""


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        """Each value stands where it is used."""
        return True


_Dumper.add_representer(_Unsafe, lambda dumper, value: dumper.represent_scalar("!unsafe", str(value), style="'"))


def _marked(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _marked(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_marked(inner) for inner in value]
    return _Unsafe(value) if isinstance(value, str) and _TEMPLATE.search(value) else value


def _one_line(name: str) -> str:
    """A name of the source, which may have any characters: after a line break, the rest would be a variable and no comment."""
    return "".join(one if one.isprintable() else " " for one in name)


def with_texts(converted: Mapping[str, Any]) -> dict[str, Any]:
    """The result of a conversion with what is written of it: C(text), the file of variables, and C(summary), the report for people."""
    return {**converted, "text": converted_text(converted), "summary": converted_report(converted)}


def converted_text(converted: Mapping[str, Any]) -> str:
    """A file of variables out of the result of a conversion, each under a comment with the parameters that it comes from."""
    parts = [f"---\n{HEADER}\n# It is written again by the next conversion: put your own variables into another file of this folder.\n"]
    for name, value in sorted(converted["variables"].items()):
        text = yaml.dump({name: _marked(value)}, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=150)
        parts.append("".join(f"# {_one_line(one)}\n" for one in dict.fromkeys(converted["sources"][name])) + text)
    return "\n".join(parts)


def converted_report(converted: Mapping[str, Any]) -> str:
    """The report for people: what was refused first. It has names and reasons, never a value."""
    rows = converted["report"]
    lines = [f"{converted['group']}: {len(rows)} parameters given"]
    for result in ("refused", "mapped", "met", "default"):
        found = [row for row in rows if row["result"] == result]
        if found:
            lines += ["", f"{result} ({len(found)}):"]
            lines += [f"  {_one_line(row['parameter'])}" + (f": {row['to'] or row['why']}" if row["to"] or row["why"] else "") for row in found]
    return "\n".join(lines) + "\n"
