# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a server-side apply would change anything, and what was applied once, decided from the live object alone. Pure.

The rule
--------
An apply is a no-op if, and only if,

1. C(metadata.managedFields) has an entry of our manager (operation Apply, same apiVersion, no subresource) that owns
   exactly the fields of the desired object: a field that we own and no longer want would be removed, a field that we
   want and do not own would be added or taken over; and
2. every desired value is the live one.

Why (1) also shows drift: when someone else changes or removes a field that we own, the API server takes it out of our
entry (https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management; C(Updater.update) in
sigs.k8s.io/structured-merge-diff/v4/merge/update.go). How a desired object becomes a field set is in
typed/tofieldset.go there: scalars and atomic lists and maps are leaves, items of associative lists are addressed by
their keys (C(k:{…})) or value (C(v:…)), a map without entries is a leaf.

The schema says which lists and maps are atomic; we do not have it, but the field set mirrors it: where our entry has a
leaf, the desired list or map is compared as a whole. Inside these the API server may have set defaults.
Only those of C(base.defaults) are known here. An entry there that is a true default can do no harm: removing a field
that has its default value results in the same object.

What is not clearly equal is *not* decided here: the caller sends the PATCH and compares the object before and
after. So an error on the careful side costs one request, never a wrong answer.

C(metadata.managedFields) record which fields we own. An apply of just these,
with one value changed, leaves labels, set membership and everything of other managers as it is, and a later apply of the
whole object has nothing to change.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation, Overflow
from typing import Any

from ..base.kinds import Path, is_default

_MISSING: Any = object()
_NOT_FIELDS = ("apiVersion", "kind")
_NOT_META_FIELDS = ("name", "namespace")
_NOT_CONTENT = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid")

#: Parents whose values are quantities in the kinds of Kubernetes itself, which writes them in a canonical form.
_QUANTITIES_IN = frozenset(
    ("limits", "requests", "capacity", "hard", "default", "defaultRequest", "min", "max", "maxLimitRequestRatio", "overhead", "podFixed")
)
_QUANTITIES = frozenset(("sizeLimit", "divisor", "averageValue"))
_NO_QUANTITIES = frozenset(("ConfigMap", "Secret"))


def content(obj: Mapping[str, Any]) -> dict[str, Any]:
    """The object without what the API server counts and records: what a user would call its content."""
    kept = {key: value for key, value in obj.items() if key != "status"}
    kept["metadata"] = {key: value for key, value in obj["metadata"].items() if key not in _NOT_CONTENT}
    return kept


def owned_fields(live: Mapping[str, Any], manager: str, api_version: str) -> dict[str, Any] | None:
    """The field set (C(fieldsV1)) that C(manager) owns by server-side apply, or None."""
    for entry in live["metadata"].get("managedFields") or []:
        written = entry.get("manager"), entry.get("operation"), entry.get("apiVersion"), entry.get("subresource") or ""
        if written == (manager, "Apply", api_version, ""):
            return entry.get("fieldsV1") or {}
    return None


def has_manager(live: Mapping[str, Any], manager: str) -> bool:
    """Did C(manager) ever write to this object?"""
    return any(entry.get("manager") == manager for entry in live["metadata"].get("managedFields") or [])


def difference(desired: Mapping[str, Any], live: Mapping[str, Any], manager: str) -> str:
    """Why an apply of C(desired) may change C(live): the first field that is not plainly equal. Empty: it would not.

    C(desired) is normalised (see order.prepare); C(live) has its managedFields.
    """
    body = {key: value for key, value in desired.items() if key not in _NOT_FIELDS}
    meta = {key: value for key, value in body.pop("metadata").items() if key not in _NOT_META_FIELDS}
    if meta:
        body["metadata"] = meta
    owned = owned_fields(live, manager, desired["apiVersion"])
    if owned is None:
        # a manager that owns no field has no entry: a Namespace or ServiceAccount that is just a name
        return f"not applied by {manager} yet" if body else ""
    return _Walk(desired["kind"]).compare_map(body, live, owned, ())


def differing_parts(desired: Mapping[str, Any], live: Mapping[str, Any], manager: str) -> list[str]:
    """The fields of C(spec) (or the top level) that differ, to name the one that the API server will not change."""
    owned = owned_fields(live, manager, desired["apiVersion"]) or {}
    parts = []
    for top, value in desired.items():
        if top in (*_NOT_FIELDS, "metadata"):
            continue
        fields = owned.get(f"f:{top}", {})
        if top == "spec" and isinstance(value, Mapping):
            walk = _Walk(desired["kind"])
            now = live.get("spec") or {}
            for key, inner in value.items():
                if walk.compare(inner, now.get(key, _MISSING), fields.get(f"f:{key}", {}), ("spec", key)):
                    parts.append(f"spec.{key}")
        elif value != live.get(top):
            parts.append(top)
    return parts


class _Walk:
    def __init__(self, kind: str) -> None:
        self.kind = kind

    def compare_map(self, desired: Mapping[str, Any], live: Any, owned: Mapping[str, Any], path: Path) -> str:
        if not isinstance(live, Mapping):
            return _say(path, "is not there")
        for key, value in desired.items():
            below = path + (key,)
            fields = owned.get(f"f:{key}")
            if fields is None:
                if value == [] and not live.get(key):
                    continue  # an associative list without items owns nothing
                return _say(below, "is not owned")
            why = self.compare(value, live.get(key, _MISSING), fields, below)
            if why:
                return why
        for key in owned:
            if key != "." and key[2:] not in desired:
                return _say(path + (key[2:],), "is owned, but no longer wanted")
        return ""

    def compare(self, desired: Any, live: Any, fields: Mapping[str, Any], path: Path) -> str:
        if not fields:
            return self._same(desired, live, path)
        if isinstance(desired, Mapping):
            return self.compare_map(desired, live, fields, path)
        if isinstance(desired, list):
            return self._list(desired, live, fields, path)
        return _say(path, "was a list or a map")

    def _list(self, desired: Sequence[Any], live: Any, fields: Mapping[str, Any], path: Path) -> str:
        """An associative list: its items are addressed by keys or by value."""
        if not isinstance(live, list):
            return _say(path, "is not there")
        keyed = {text: json.loads(text[2:]) for text in fields if text.startswith("k:")}
        used: set[str] = set()
        places: list[int] = []
        for item in desired:
            if isinstance(item, Mapping):
                matches = [text for text, keys in keyed.items() if all(item.get(k, v) == v for k, v in keys.items())]
                if len(matches) != 1:
                    return _say(path, "has an item that is not owned")
                keys = keyed[matches[0]]
                found = [n for n, one in enumerate(live) if all(one.get(k, _MISSING) == v for k, v in keys.items())]
                if len(found) != 1:
                    return _say(path, f"has no item {matches[0][2:]}")
                why = self.compare_map(item, live[found[0]], fields[matches[0]], path)
                if why:
                    return why
                used.add(matches[0])
                places.append(found[0])
            else:
                text = "v:" + json.dumps(item, separators=(",", ":"), ensure_ascii=False)
                if text not in fields or item not in live:
                    return _say(path, f"has no item {item}")
                used.add(text)
        if any(text not in used for text in fields if text != "."):
            return _say(path, "has an item that is owned, but no longer wanted")
        if places != sorted(places):
            return _say(path, "is in another order")
        return ""

    def _same(self, desired: Any, live: Any, path: Path) -> str:
        """Equal, except for known defaults inside and zero values that the API server omits."""
        if live is _MISSING or live is None:
            empty = desired in ("", 0, False) or desired == {} or desired == []
            return "" if empty else _say(path, "is not there")
        if isinstance(desired, Mapping):
            if not isinstance(live, Mapping):
                return _say(path, "differs")
            for key, value in desired.items():
                why = self._same(value, live.get(key, _MISSING), path + (key,))
                if why:
                    return why
            if len(live) != len(desired):
                for key, value in live.items():
                    if key not in desired and not is_default(self.kind, path + (key,), value):
                        return _say(path + (key,), "is not wanted, or a default")
            return ""
        if isinstance(desired, list):
            if not isinstance(live, list) or len(desired) != len(live):
                return _say(path, "differs")
            for wanted, one in zip(desired, live):
                why = self._same(wanted, one, path)
                if why:
                    return why
            return ""
        return "" if self._is_equal(desired, live, path) else _say(path, "differs")

    def _is_equal(self, desired: Any, live: Any, path: Path) -> bool:
        """Of scalars: also the same bytes of a Secret, or the same quantity in the API server's form."""
        if isinstance(desired, bool) or isinstance(live, bool):
            return desired is live
        if desired == live or not isinstance(live, str):
            return bool(desired == live)
        if self.kind == "Secret" and path[0] == "data":
            try:
                return base64.b64decode(str(desired)) == base64.b64decode(live)
            except ValueError:
                return False
        if self.kind in _NO_QUANTITIES or len(path) < 2 or path[0] == "metadata" or not (path[-1] in _QUANTITIES or path[-2] in _QUANTITIES_IN):
            return False
        return quantity(str(desired)) is not None and quantity(str(desired)) == quantity(live)


_SUFFIXES = {
    "n": Decimal("1e-9"), "u": Decimal("1e-6"), "m": Decimal("1e-3"), "": Decimal(1),
    "k": Decimal(10) ** 3, "M": Decimal(10) ** 6, "G": Decimal(10) ** 9, "T": Decimal(10) ** 12,
    "P": Decimal(10) ** 15, "E": Decimal(10) ** 18,
    "Ki": Decimal(2) ** 10, "Mi": Decimal(2) ** 20, "Gi": Decimal(2) ** 30, "Ti": Decimal(2) ** 40,
    "Pi": Decimal(2) ** 50, "Ei": Decimal(2) ** 60,
}  # fmt: skip


_QUANTITY = re.compile(r"([+-]?[0-9.]+)(?:([eE][+-]?[0-9]+)|([numkMGTPE]|[KMGTPE]i))?")


def quantity(text: str) -> Decimal | None:
    """The value of a Kubernetes quantity (C(500m), C(1Gi), C(1e3)), or None.

    https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
    """
    match = _QUANTITY.fullmatch(text)
    if match is None:
        return None
    try:
        return Decimal(match[1] + (match[2] or "")) * _SUFFIXES[match[3] or ""]
    except (InvalidOperation, Overflow):  # several dots, or an exponent of many digits
        return None


def _say(path: Path, what: str) -> str:
    return f"{'.'.join(path) or 'the object'} {what}"


def as_applied(live: Mapping[str, Any], manager: str) -> dict[str, Any] | None:
    """The fields of a live object that C(manager) applied, with its resourceVersion; None if it applied none.

    For objects with maps and scalars only (ConfigMap, Secret). The resourceVersion makes an apply fail with a conflict
    when someone changes the object in between.
    """
    owned = owned_fields(live, manager, live["apiVersion"])
    if owned is None:
        return None
    meta = {key: live["metadata"][key] for key in ("name", "namespace", "resourceVersion")}
    chosen = _chosen(live, owned)
    return {
        "apiVersion": live["apiVersion"],
        "kind": live["kind"],
        **chosen,
        "metadata": {**chosen.get("metadata", {}), **meta},
    }


def _chosen(value: Any, fields: Mapping[str, Any]) -> Any:
    names = [field[2:] for field in fields if field.startswith("f:")]
    if not names or not isinstance(value, Mapping):
        return value
    return {name: _chosen(value[name], fields[f"f:{name}"]) for name in names if name in value}
