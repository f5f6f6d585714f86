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
Only those of C(base/kinds.py) are known here. An entry there that is a true default can do no harm: removing a field
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


def differs(desired: Mapping[str, Any], live: Mapping[str, Any], manager: str) -> bool:
    """Whether an apply of C(desired) may change C(live).

    C(desired) is normalised (see order.prepare); C(live) has its managedFields.
    """
    body = {key: value for key, value in desired.items() if key not in _NOT_FIELDS}
    meta = {key: value for key, value in body.pop("metadata").items() if key not in _NOT_META_FIELDS}
    if meta:
        body["metadata"] = meta
    owned = owned_fields(live, manager, desired["apiVersion"])
    if owned is None:
        return bool(body)  # a manager that owns no field has no entry: a Namespace or ServiceAccount that is just a name
    return not _Comparison(desired["kind"]).maps(body, live, owned, ())


def differing_parts(desired: Mapping[str, Any], live: Mapping[str, Any], manager: str) -> list[str]:
    """The fields of C(spec) (or the top level) that differ, to name the one that the API server will not change."""
    owned = owned_fields(live, manager, desired["apiVersion"]) or {}
    parts = []
    for top, value in desired.items():
        if top in (*_NOT_FIELDS, "metadata"):
            continue
        fields = owned.get(f"f:{top}", {})
        if top == "spec" and isinstance(value, Mapping):
            comparison = _Comparison(desired["kind"])
            now = live.get("spec") or {}
            for key, inner in value.items():
                if not comparison.values(inner, now.get(key, _MISSING), fields.get(f"f:{key}", {}), ("spec", key)):
                    parts.append(f"spec.{key}")
        elif value != live.get(top):
            parts.append(top)
    return parts


class _Comparison:
    """Whether what is wanted is what a manager owns, and is live."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def maps(self, desired: Mapping[str, Any], live: Any, owned: Mapping[str, Any], path: Path) -> bool:
        """Of a map whose fields are owned one by one."""
        if not isinstance(live, Mapping):
            return False
        for key, value in desired.items():
            fields = owned.get(f"f:{key}")
            if fields is None and value == [] and not live.get(key):
                continue  # an associative list without items owns nothing
            if fields is None or not self.values(value, live.get(key, _MISSING), fields, (*path, key)):
                return False
        return all(key == "." or key[2:] in desired for key in owned)

    def values(self, desired: Any, live: Any, fields: Mapping[str, Any], path: Path) -> bool:
        """Of a field; C(fields) of a leaf is empty."""
        if not fields:
            return self._leaves(desired, live, path)
        if isinstance(desired, Mapping):
            return self.maps(desired, live, fields, path)
        return isinstance(desired, list) and isinstance(live, list) and self._lists(desired, live, fields, path)

    def _lists(self, desired: Sequence[Any], live: Sequence[Any], fields: Mapping[str, Any], path: Path) -> bool:
        """Of an associative list: its items are addressed by keys or by value."""
        keyed = {text: json.loads(text[2:]) for text in fields if text.startswith("k:")}
        used: set[str] = set()
        places: list[int] = []
        for item in desired:
            if isinstance(item, Mapping):
                matches = [text for text, keys in keyed.items() if all(item.get(k, v) == v for k, v in keys.items())]
                if len(matches) != 1:
                    return False
                keys = keyed[matches[0]]
                found = [n for n, one in enumerate(live) if all(one.get(k, _MISSING) == v for k, v in keys.items())]
                if len(found) != 1 or not self.maps(item, live[found[0]], fields[matches[0]], path):
                    return False
                used.add(matches[0])
                places.append(found[0])
            else:
                text = "v:" + json.dumps(item, separators=(",", ":"), ensure_ascii=False)
                if text not in fields or item not in live:
                    return False
                used.add(text)
        return used >= set(fields) - {"."} and places == sorted(places)

    def _leaves(self, desired: Any, live: Any, path: Path) -> bool:
        """Equal, except for known defaults inside and zero values that the API server omits."""
        if live is _MISSING or live is None:
            return desired in ("", 0, False) or desired == {} or desired == []
        if isinstance(desired, Mapping):
            return (
                isinstance(live, Mapping)
                and all(self._leaves(value, live.get(key, _MISSING), (*path, key)) for key, value in desired.items())
                and all(key in desired or is_default(self.kind, (*path, key), value) for key, value in live.items())
            )
        if isinstance(desired, list):
            same = isinstance(live, list) and len(desired) == len(live)
            return same and all(self._leaves(wanted, one, path) for wanted, one in zip(desired, live))
        return self._is_equal(desired, live, path)

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
