# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fields that another field manager keeps setting: both would undo each other's changes, so the apply is refused. Pure.

A GitOps controller is recognized by C(metadata.managedFields). It applies on the server side, so its entries have the operation
Apply; older ones patch or update instead, and are known by their names. A person who changes an object (C(kubectl edit),
C(kubectl scale)) has an entry with the operation Update, and does not come back: such a change is reverted as before.

Which fields would be taken from whom is asked of the API server: an apply without force is refused with a list of them
(Kubernetes documentation, «Server-Side Apply», «Conflicts»).
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ..base.foreign_data import cleaned
from ..kube.api_errors import Conflict
from ..kube.client import FIELD_MANAGER
from ..marks.proof import MANAGED_BY

# On an object, set by its owner: the field managers, separated by commas, whose fields are taken nevertheless.
TAKE_FROM = "federated.flower/take-fields-from"

# Managers of controllers that write with the operation Update unless configured to apply on the server side.
_UPDATING = frozenset(("argocd-application-controller", "argocd-controller", "fleetagent", "gitops-engine", "helm-controller", "kustomize-controller"))
# Managers that apply only what no other manager holds: OpenShift's for the labels of Pod Security admission.
_YIELDING = frozenset(("pod-security-admission-label-synchronization-controller",))
_REASON = "FieldManagerConflict"
_NAMED = re.compile(r'conflict with "(?P<manager>[^"]*)"')
_SHOWN = 5
_LONGEST = 128  # characters of a manager's name (apimachinery, C(ValidateFieldManager))
_MISSING: Any = object()
# A step of such a path: .name; or [key="value",…], [="value"], [3] in a list.
_STEP = re.compile(r'\.(?P<name>(?:[^.\[\]"]|"(?:[^"\\]|\\.)*")+)|\[(?P<item>(?:[^\]"]|"(?:[^"\\]|\\.)*")*)\]')
_KEY = re.compile(r'(?<![^,])(?P<key>[^=,]*)=(?P<value>"(?:[^"\\]|\\.)*"|[^,]*)')


def reconcilers(live: Mapping[str, Any]) -> list[str]:
    """The other field managers that keep setting fields of a live object, and whose fields its owner did not release."""
    meta = live["metadata"]
    released = {name.strip() for name in ((meta.get("annotations") or {}).get(TAKE_FROM) or "").split(",")}
    found = [
        cleaned(str(entry["manager"]), _LONGEST)
        for entry in meta.get("managedFields") or []
        if entry.get("manager") not in (None, FIELD_MANAGER)
        and not entry.get("subresource")
        and (entry.get("operation") == "Apply" or entry["manager"] in _UPDATING)
    ]
    return [name for name in dict.fromkeys(found) if name not in released | _YIELDING]


def conflicting_fields(error: Conflict, managers: Collection[str]) -> dict[str, list[str]]:
    """Of the fields that the API server refused to take: those of these managers.

    Returns:
        manager -> paths of fields, as the API server writes them.
    """
    found: dict[str, list[str]] = {}
    for cause in error.details.get("causes") or []:
        named = _NAMED.search(str(cause.get("message", "")))
        if cause.get("reason") == _REASON and named and named["manager"] in managers:
            found.setdefault(named["manager"], []).append(str(cause.get("field", "")))
    return found


def changed_fields(fields: Mapping[str, Sequence[str]], live: Mapping[str, Any], applied: Mapping[str, Any]) -> dict[str, list[str]]:
    """Of conflicting fields, those whose value would change.

    A list that is one field conflicts as well where it lacks only what the API server adds to it, or writes in another form.

    Args:
        fields: manager -> paths.
        live: the object as it is.
        applied: what an apply with force would make of it.
    """
    found = {name: [path for path in paths if _value(live, path) != _value(applied, path) or _value(live, path) is _MISSING] for name, paths in fields.items()}
    return {name: paths for name, paths in found.items() if paths}


def _value(obj: Any, path: str) -> Any:
    """What is at a path; C(_MISSING) where there is nothing, or the path is not understood."""
    at = 0
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            return _MISSING
        at = step.end()
        if step["name"] is not None:
            obj = obj.get(step["name"], _MISSING) if isinstance(obj, Mapping) else _MISSING
        elif isinstance(obj, list):
            keys = {pair["key"]: _scalar(pair["value"]) for pair in _KEY.finditer(step["item"])}
            chosen = [one for one in obj if isinstance(one, Mapping) and keys and all(one.get(key, value) == value for key, value in keys.items())]
            obj = chosen[0] if len(chosen) == 1 else _MISSING
        else:
            return _MISSING
    return obj


def _scalar(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def conflict_error(fields: Mapping[str, Sequence[str]]) -> str:
    """Who holds which fields, and what to do. Names no value: it may be a secret."""
    clauses = []
    for manager, paths in fields.items():
        more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
        clauses.append(f"field manager {manager} owns {', '.join(cleaned(path, 300) for path in paths[:_SHOWN])}{more}")
    names = ",".join(fields)
    return (
        f"{'; '.join(clauses)} with another value, and would set it again: nothing was changed. Change the value at the source of {' and '.join(fields)}, "
        f"or remove it there. If this field manager is no longer in use: kubectl annotate this object {TAKE_FROM}={names}"
    )


def recreated_by(live: Mapping[str, Any]) -> str:
    """Who would create an object again that is to be deleted, and what to do; empty if it can be deleted.

    A Secret can: cert-manager applies on the server side as well, and stops with its Certificate. So can what others apply some fields of:
    OpenShift's controller of pull secrets adds one to every ServiceAccount (openshift-controller-manager, C(service_account_controller.go)).
    """
    owners = {entry.get("manager") for entry in live["metadata"].get("managedFields") or [] if _has_whole(entry)}
    managers = [name for name in reconcilers(live) if name in owners] if live["kind"] != "Secret" else []
    if not managers:
        return ""
    return (
        f"{' and '.join(managers)} would create it again: nothing was changed. Delete it at its source. "
        f"If this field manager is no longer in use: kubectl annotate this object {TAKE_FROM}={','.join(managers)}"
    )


def _has_whole(entry: Mapping[str, Any]) -> bool:
    """Whether a manager applies the object itself, as the mark of this collection on it tells, and not only fields of its own."""
    fields = entry.get("fieldsV1")
    return fields is None or f"f:{MANAGED_BY}" in ((fields.get("f:metadata") or {}).get("f:labels") or {})
