# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a patch or a pod template must leave: the form of an object, its marks of ownership, and what the roles count on. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

RESERVED_ENV = ("FLOWER_INDEX", "FLOWER_NODE_NAME")
_METADATA = ("name", "namespace", "labels", "annotations")
_MARK = re.compile(
    r"app\.kubernetes\.io/(?:name|instance|component|part-of|managed-by|version)|(?:[a-z]+\.)?federated\.flower/.*|applyset\.kubernetes\.io/.*"
)
_WORKLOADS = ("DaemonSet", "Deployment", "StatefulSet")
_COUNTED = ("replicas", "selector", "serviceName", "ordinals")


def losses(before: Mapping[str, Any], after: Any) -> Iterator[str]:
    """What a patched object has lost, a clause each that follows the name of the patch.

    Args:
        before: the rendered object.
        after: the patched one.
    """
    found = list(_misshapen(before, after, ""))
    found += [f"removes {key}" for key, value in before.items() if _is_nested(value) and key != "imagePullSecrets" and key not in (after or {})]
    if found:
        yield from found  # all else reads what these have broken
        return
    yield from _metadata_losses(before["metadata"], after["metadata"], "metadata")
    yield from (f"removes data.{key}" for key in before.get("data") or {} if key not in after["data"])
    if before["kind"] in _WORKLOADS:
        for key in _COUNTED:
            if before["spec"].get(key) != after["spec"].get(key):
                yield f"changes spec.{key}, which the variables of the role decide"
        if "template" not in after["spec"]:
            yield "removes spec.template"
        else:
            yield from template_losses(before["spec"]["template"], after["spec"]["template"], "spec.template.")


def template_losses(before: Mapping[str, Any], after: Any, at: str = "") -> Iterator[str]:
    """The same of a pod template; C(at): the path before it."""
    found = list(_misshapen(before, after, at))
    lost = [f"removes {at}{key}" for key in ("metadata", "spec") if key not in (after or {})]
    lost += [] if found or lost else [f"removes {at}spec.{key}" for key in ("containers", "volumes") if key in before["spec"] and key not in after["spec"]]
    if found or lost:
        yield from (*found, *lost)
        return
    yield from _metadata_losses(before["metadata"], after["metadata"], f"{at}metadata")
    if before["spec"].get("restartPolicy") != after["spec"].get("restartPolicy"):
        yield f"changes {at}spec.restartPolicy: Flower's programs end when they are to be started again"
    for part in ("containers", "initContainers"):
        there = {one.get("name"): one for one in after["spec"].get(part) or []}
        for container in before["spec"].get(part) or []:
            name = container["name"]
            if name not in there:
                yield f"removes the container {name}"
                continue
            if not isinstance(there[name].get("image"), str):
                yield f"removes the image of the container {name}"
            for variable in RESERVED_ENV:
                if _variable(container, variable) != _variable(there[name], variable):
                    yield f"changes {variable} of the container {name}: a SuperNode finds its key by it"


def _metadata_losses(before: Mapping[str, Any], after: Mapping[str, Any], at: str) -> Iterator[str]:
    for key in after:
        if key not in _METADATA:
            yield f"sets {at}.{key}, which only Kubernetes and controllers set"
    for part in ("labels", "annotations"):
        had, has = before.get(part) or {}, after.get(part) or {}
        # An annotation of the collection may be added: it has some for users.
        for key in sorted({*map(str, had), *(map(str, has) if part == "labels" else ())}):
            if _MARK.fullmatch(key) and had.get(key) != has.get(key):
                yield f"changes {at}.{part}[{key}], by which this collection finds its objects"


def _variable(container: Mapping[str, Any], name: str) -> list[Any]:
    return [one for one in container.get("env") or [] if one.get("name") == name]


def _is_nested(value: Any) -> bool:
    return isinstance(value, (Mapping, list))


def _form(value: Any) -> str:
    return "a mapping" if isinstance(value, Mapping) else "a list" if isinstance(value, list) else "null" if value is None else "a single value"


def _misshapen(before: Any, after: Any, at: str) -> Iterator[str]:
    """Parts that are of another form than they were."""
    if _form(before) != _form(after):
        if before is not None:
            yield f"makes {at.rstrip('.') or 'the whole'} {_form(after)}, which is {_form(before)}"
    elif isinstance(before, Mapping):
        for key, value in before.items():
            if key in after:
                yield from _misshapen(value, after[key], f"{at}{key}.")
    elif isinstance(before, list) and any(isinstance(one, Mapping) for one in before):
        for number, one in enumerate(after):
            if not isinstance(one, Mapping):
                yield f"makes {at.rstrip('.')}[{number}] {_form(one)}, which is a mapping"
        yield from _entries(before, [one for one in after if isinstance(one, Mapping)], at)


def _entries(before: Iterable[Any], after: Iterable[Mapping[str, Any]], at: str) -> Iterator[str]:
    """The same of entries that have the same name."""
    named = {one["name"]: one for one in after if isinstance(one.get("name"), str)}
    for one in before:
        if one.get("name") in named:
            yield from _misshapen(one, named[one["name"]], f"{at.rstrip('.')}[{one['name']}].")
