# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a patch or a pod template must leave: the form of an object, its marks of ownership, and what the roles count on. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

RESERVED_ENV = ("FLOWER_INDEX", "FLOWER_NODE_NAME")
_METADATA = ("name", "namespace", "labels", "annotations")
#: Keys of labels and annotations that are the collection's own.
OWN_MARKS = re.compile(
    r"app\.kubernetes\.io/(?:name|instance|component|part-of|managed-by|version)|(?:[a-z]+\.)?federated\.flower/.*|applyset\.kubernetes\.io/.*"
)
#: Parts that no object loses.
_REQUIRED = re.compile(r"(?:spec\.template\.)?(?:metadata|spec(?:\.containers|\.volumes)?)|spec\.template|data(?:\..*)?|rules|roleRef|subjects")
_COUNTED = ("replicas", "selector", "serviceName", "ordinals")


def losses(before: Mapping[str, Any], after: Any) -> Iterator[str]:
    """What a patched object has lost, a clause each that follows the name of the patch.

    Args:
        before: the rendered object.
        after: the patched one.
    """
    if found := list(_broken(before, after)):
        yield from found  # all else reads what these have broken
        return
    yield from _metadata_losses(before["metadata"], after["metadata"], "metadata")
    if "template" in before.get("spec", {}):
        yield from (f"changes spec.{key}, which the variables of the role decide" for key in _COUNTED if before["spec"].get(key) != after["spec"].get(key))
        yield from template_losses(before["spec"]["template"], after["spec"]["template"], "spec.template.")


def template_losses(before: Mapping[str, Any], after: Mapping[str, Any], at: str = "") -> Iterator[str]:
    """The same of a pod template; C(at): the path before it."""
    shape = {**before, "spec": {"initContainers": [], **before["spec"]}}
    if found := list(_broken(shape, after, at)):
        yield from found
        return
    yield from _metadata_losses(before["metadata"], after["metadata"], f"{at}metadata")
    if before["spec"].get("restartPolicy") != after["spec"].get("restartPolicy"):
        yield f"changes {at}spec.restartPolicy: Flower's programs end when they are to be started again"
    for part in ("containers", "initContainers"):
        rendered = {one["name"]: one for one in before["spec"].get(part) or []}
        there = {one.get("name"): one for one in after["spec"].get(part) or []}
        yield from (f"removes the container {name}" for name in rendered if name not in there)
        for name, container in there.items():
            if not isinstance(container.get("image"), str):
                yield f"{part} has {name!r}, which has no image, and is not one of: {', '.join(rendered) or 'none'}"
            for variable in RESERVED_ENV if name in rendered else ():
                if (had := _variable(rendered[name], variable)) and had != _variable(container, variable):
                    yield f"changes {variable} of the container {name}: a SuperNode finds its key by it"


def _metadata_losses(before: Mapping[str, Any], after: Mapping[str, Any], at: str) -> Iterator[str]:
    yield from (f"sets {at}.{key}, which only Kubernetes and controllers set" for key in after if key not in _METADATA)
    for part in ("labels", "annotations"):
        had, has = before.get(part) or {}, after.get(part) or {}
        # An annotation of the collection may be added: it has some for users.
        for key in sorted({*map(str, had), *(map(str, has) if part == "labels" else ())}):
            if OWN_MARKS.fullmatch(key) and had.get(key) != has.get(key):
                yield f"changes {at}.{part}[{key}], by which this collection finds its objects"


def _variable(container: Mapping[str, Any], name: str) -> list[Any]:
    return [one for one in container.get("env") or [] if one.get("name") == name]


def _form(value: Any) -> str:
    return "a mapping" if isinstance(value, Mapping) else "a list" if isinstance(value, list) else "null" if value is None else "a single value"


def _broken(before: Any, after: Any, at: str = "") -> Iterator[str]:
    """Parts that are gone, or of another form than they were; entries of lists by their name."""
    if _form(before) != _form(after):
        yield f"makes {at.rstrip('.') or 'the whole'} {_form(after)}, which is {_form(before)}"
    elif isinstance(before, Mapping):
        yield from (f"removes {at}{key}" for key in before if key not in after and _REQUIRED.fullmatch(f"{at}{key}"))
        for key in (key for key in before if key in after):
            yield from _broken(before[key], after[key], f"{at}{key}.")
    elif isinstance(before, list) and all(isinstance(one, Mapping) for one in before):
        named = {one["name"]: one for one in before if "name" in one}
        for number, one in enumerate(after):
            name = one.get("name") if isinstance(one, Mapping) else None
            yield from _broken(named.get(name, {}) if isinstance(name, (str, type(None))) else {}, one, f"{at.rstrip('.')}[{number}].")
