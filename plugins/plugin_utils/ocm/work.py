# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Evaluate the status of a ManifestWork. Pure.

Source: C(work/v1) of open-cluster-management.io/api: C(status.conditions), and per manifest C(resourceMeta), C(conditions) and
C(statusFeedback). The agent writes values at once or up to two minutes after a change: see scraping.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

# Kind and name of an object in a ManifestWork; all of a site's are in one namespace.
Which = tuple[str, str]
Values = dict[str, Any]

_FIELDS = {"String": "string", "Integer": "integer", "Boolean": "boolean", "JsonRaw": "jsonRaw"}


class Applied(NamedTuple):
    """Whether the cluster has the content of the ManifestWork.

    Attributes:
        done: all of it, in its present form.
        why: what is missing; empty when done.
        failed: the cluster refused some of it; the agent retries.
    """

    done: bool
    why: str = ""
    failed: bool = False


def condition(item: Mapping[str, Any] | None, kind: str) -> Mapping[str, Any]:
    """A condition of an object's status; empty when it has none of this type."""
    for one in ((item or {}).get("status") or {}).get("conditions") or []:
        if one.get("type") == kind:
            return one
    return {}


def manifests(work: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    """The status of each manifest."""
    status = (work or {}).get("status") or {}
    return (status.get("resourceStatus") or {}).get("manifests") or []


def applied(work: Mapping[str, Any] | None) -> Applied:
    """Whether the cluster has applied the current form of a ManifestWork"""
    if work is None:
        return Applied(False, "nothing was delivered yet")
    if work["metadata"].get("deletionTimestamp"):
        return Applied(False, "it is being deleted")
    reported = condition(work, "Applied")
    if not reported or reported.get("observedGeneration", 0) < work["metadata"].get("generation", 0):
        return Applied(False, "the cluster's agent has not applied it yet")
    refused = _refused(work)
    if reported.get("status") == "True" and not refused:
        return Applied(True)
    return Applied(False, "; ".join(refused) or str(reported.get("message") or reported.get("reason")), failed=True)


def _refused(work: Mapping[str, Any]) -> list[str]:
    found = []
    for one in manifests(work):
        reported = condition({"status": one}, "Applied")
        if reported.get("status") == "False":
            meta = one.get("resourceMeta") or {}
            name = "/".join(filter(None, (meta.get("namespace"), meta.get("name"))))
            found.append(f"{meta.get('kind')} {name}: {reported.get('message') or reported.get('reason')}")
    return found


def feedback(work: Mapping[str, Any] | None) -> dict[Which, Values]:
    """Reported values, by object. An object that does not exist, or has none yet, is not among them."""
    found: dict[Which, Values] = {}
    for one in manifests(work):
        meta = one.get("resourceMeta") or {}
        values = {
            value["name"]: value["fieldValue"].get(_FIELDS.get(value["fieldValue"].get("type", ""), ""))
            for value in (one.get("statusFeedback") or {}).get("values") or []
        }
        if values:
            found[meta.get("kind", ""), meta.get("name", "")] = values
    return found


def is_there(work: Mapping[str, Any] | None, which: Which) -> bool:
    """Whether the cluster has an object of the ManifestWork, according to its agent's last report."""
    for one in manifests(work):
        meta = one.get("resourceMeta") or {}
        if (meta.get("kind"), meta.get("name")) == which:
            return condition({"status": one}, "Available").get("status") == "True"
    return False
