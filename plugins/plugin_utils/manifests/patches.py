# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Patches change the rendered objects beyond the options; what the roles count on must stay.

A patch is C({target: {kind, name}, patch: ..., type: ...}). Without C(type), a list is a JSON patch (RFC 6902) and a
mapping a strategic merge. C(type: merge) is a JSON merge patch (RFC 7386).

Strategic merge here: mappings are merged, null deletes, lists of the fields in C(MERGE_KEYS) are merged by their key,
all other lists are replaced; C($patch: delete) in a list entry or mapping deletes it, C($patch: replace) replaces it.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..base.values import Object

RESERVED_ENV = ("FLOWER_INDEX", "FLOWER_NODE_NAME")
_METADATA = ("name", "namespace", "labels", "annotations")
#: Keys of labels and annotations that are the collection's own.
OWN_MARKS = re.compile(
    r"app\.kubernetes\.io/(?:name|instance|component|part-of|managed-by|version)|(?:[a-z]+\.)?federated\.flower/.*|applyset\.kubernetes\.io/.*"
)
#: Parts that no object loses.
_REQUIRED = re.compile(r"(?:spec\.template\.)?(?:metadata|spec(?:\.containers|\.volumes)?)|spec\.template|data(?:\..*)?|rules|roleRef|subjects")
_COUNTED = ("replicas", "selector", "serviceName", "ordinals")

# patchMergeKey of the kinds that are rendered here (k8s.io/api: core/v1, networking/v1).
MERGE_KEYS: dict[str, tuple[str, ...]] = {
    "containers": ("name",),
    "env": ("name",),
    "ephemeralContainers": ("name",),
    "hostAliases": ("ip",),
    "imagePullSecrets": ("name",),
    "initContainers": ("name",),
    "ports": ("containerPort", "port"),
    "secrets": ("name",),
    "topologySpreadConstraints": ("topologyKey",),
    "volumeDevices": ("devicePath",),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
}
TYPES = ("strategic", "merge", "json")


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


class PatchError(ValueError):
    """A patch that can't be applied; the text has the patch and the reason."""


def apply(objects: Iterable[Object], patches: Iterable[Mapping[str, Any]] | None, *, partial: bool = False) -> list[Object]:
    """The objects with the patches applied, in the patches' order. An object that no patch fits is returned as it is.

    Args:
        partial: the objects are a part of the whole, so a patch without a target is passed over.

    Raises:
        PatchError: no object has the target's kind and name, or the patch does not fit it.
    """
    patched = list(objects)
    for number, patch in enumerate(patches or []):
        target = patch.get("target") or {}
        kind, name = target.get("kind"), target.get("name")
        where = f"patches[{number}] ({kind}/{name})"
        hits = [i for i, obj in enumerate(patched) if (obj["kind"], obj["metadata"]["name"]) == (kind, name)]
        if not hits and not partial:
            have = ", ".join(sorted(f"{obj['kind']}/{obj['metadata']['name']}" for obj in patched))
            raise PatchError(f"patches[{number}] has target {kind}/{name}, which is not one of: {have}")
        for i in hits:
            try:
                after = apply_one(patched[i], patch)
            except PatchError as exc:
                raise PatchError(f"{where}: {exc}") from None
            if _identity(after) != _identity(patched[i]):
                raise PatchError(f"{where} changes apiVersion, kind, name or namespace")
            if lost := list(losses(patched[i], after)):
                raise PatchError(f"{where} {'; '.join(lost)}")
            patched[i] = after
    return patched


def apply_one(obj: Object, patch: Mapping[str, Any]) -> Object:
    """One object with one patch applied; neither argument is changed."""
    body = patch.get("patch")
    kind = patch.get("type") or ("json" if isinstance(body, list) else "strategic")
    obj = copy.deepcopy(obj)
    if kind == "json":
        if not isinstance(body, list):
            raise PatchError("a JSON patch is a list of operations")
        for operation in body:
            obj = _operate(obj, operation)
        return obj
    if kind not in TYPES:
        raise PatchError(f"type {kind!r} is not one of {', '.join(TYPES)}")
    if not isinstance(body, Mapping):
        raise PatchError("a merge patch is a mapping")
    return _merge(obj, body, strategic=kind == "strategic")


def _identity(obj: Any) -> tuple[Any, ...]:
    meta = obj.get("metadata") if isinstance(obj, Mapping) else None
    return (obj.get("apiVersion"), obj.get("kind"), meta.get("name"), meta.get("namespace")) if isinstance(meta, Mapping) else ()


def _merge(base: Any, patch: Mapping[str, Any], *, strategic: bool) -> Any:
    if strategic and patch.get("$patch") == "replace":
        return {k: copy.deepcopy(v) for k, v in patch.items() if k != "$patch"}
    merged = dict(base) if isinstance(base, Mapping) else {}
    for key, value in patch.items():
        if strategic and str(key).startswith("$"):
            raise PatchError(f"directive {key!r} is not known here ($patch: delete and $patch: replace are)")
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, Mapping):
            if strategic and value.get("$patch") == "delete":
                merged.pop(key, None)
            else:
                merged[key] = _merge(merged.get(key), value, strategic=strategic)
        elif strategic and isinstance(value, list) and key in MERGE_KEYS and isinstance(merged.get(key), list):
            merged[key] = _merge_list(merged[key], value, MERGE_KEYS[key], key)
        elif strategic and isinstance(value, list):
            merged[key] = [copy.deepcopy(v) for v in value if not (isinstance(v, Mapping) and "$patch" in v)]
        else:
            merged[key] = copy.deepcopy(value)
    return merged


def _merge_list(base: list[Any], patch: list[Any], merge_keys: tuple[str, ...], field: str) -> list[Any]:
    if {"$patch": "replace"} in patch:
        return [copy.deepcopy(e) for e in patch if e != {"$patch": "replace"}]
    merged = list(base)
    for entry in patch:
        merge_key = next((k for k in merge_keys if isinstance(entry, Mapping) and k in entry), None)
        if merge_key is None:
            raise PatchError(f"an entry of {field} has no {' or '.join(merge_keys)} to find its counterpart by")
        at = next((i for i, e in enumerate(merged) if isinstance(e, Mapping) and e.get(merge_key) == entry[merge_key]), None)
        if entry.get("$patch") == "delete":
            if at is not None:
                del merged[at]
        elif at is None:
            merged.append(_merge({}, entry, strategic=True))
        else:
            merged[at] = _merge(merged[at], entry, strategic=True)
    return merged


def _operate(document: Any, operation: Any) -> Any:
    """One operation of RFC 6902."""
    if not isinstance(operation, Mapping) or "op" not in operation or "path" not in operation:
        raise PatchError("an operation of a JSON patch has op and path")
    op, path = operation["op"], operation["path"]
    needed = {"add": "value", "replace": "value", "test": "value", "move": "from", "copy": "from", "remove": "path"}.get(str(op))
    if needed is None:
        raise PatchError(f"operation {op!r} is not known")
    if needed not in operation:
        raise PatchError(f"{op} {path} has no {needed}")
    if needed == "from":
        value = copy.deepcopy(_find(document, _tokens(operation["from"]), operation["from"]))
        if op == "move":
            document = _operate(document, {"op": "remove", "path": operation["from"]})
        return _operate(document, {"op": "add", "path": path, "value": value})
    tokens = _tokens(path)
    if op == "test":
        if _find(document, tokens, path) != operation["value"]:
            raise PatchError(f"test of {path} failed")
        return document
    if not tokens:
        if op == "remove":
            raise PatchError("the whole object can't be removed")
        return copy.deepcopy(operation["value"])
    parent = _find(document, tokens[:-1], path)
    at: Any = tokens[-1]
    if isinstance(parent, list):
        at = _position(at, len(parent), path, end=op == "add")
    elif not isinstance(parent, dict) or (op != "add" and at not in parent):
        raise PatchError(f"{op}: there is no {path}")
    if op == "remove":
        del parent[at]
    elif op == "add" and isinstance(parent, list):
        parent.insert(at, copy.deepcopy(operation["value"]))
    else:
        parent[at] = copy.deepcopy(operation["value"])
    return document


def _tokens(path: Any) -> list[str]:
    if not isinstance(path, str) or (path and not path.startswith("/")):
        raise PatchError(f"path {path!r} does not start with /")
    return [token.replace("~1", "/").replace("~0", "~") for token in path.split("/")[1:]]


def _position(token: str, length: int, path: str, *, end: bool) -> int:
    if end and token == "-":
        return length
    if not token.isdecimal() or int(token) > (length if end else length - 1):
        raise PatchError(f"{path}: the list has {length} entries")
    return int(token)


def _find(document: Any, tokens: Iterable[str], path: str) -> Any:
    found = document
    for token in tokens:
        if isinstance(found, list):
            found = found[_position(token, len(found), path, end=False)]
        elif isinstance(found, Mapping) and token in found:
            found = found[token]
        else:
            raise PatchError(f"there is no {path}")
    return found
