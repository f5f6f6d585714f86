# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Evaluate the status of a ManagedClusterAddOn. Pure.

Source: C(pkg/addon/controllers/addonprogressing) of open-cluster-management.io/ocm: C(lastAppliedConfig) becomes
C(desiredConfig) when the add-on's ManifestWork of these configs is applied and its objects are there. It stays so when the
cluster is lost later. C(Completed) means no more than that: pods are not checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .work import condition


class AddOnState(NamedTuple):
    """Attributes: C(done) when the cluster has the content of the configs; else C(why) not, and C(failed) when OCM has given up."""

    done: bool
    why: str = ""
    failed: bool = False


def state(addon: Mapping[str, Any] | None, references: Sequence[Mapping[str, Any]]) -> AddOnState:
    """Whether the cluster has the content of these configs

    Args:
        addon: the live ManagedClusterAddOn.
        references: the wanted template and config.
    """
    if addon is None:
        return AddOnState(False, "there is none")
    if addon["metadata"].get("deletionTimestamp"):
        return AddOnState(False, "it is being deleted")
    progressing = condition(addon, "Progressing")
    if progressing.get("reason") in ("Failed", "ConfigurationUnsupported"):
        return AddOnState(False, str(progressing.get("message") or progressing["reason"]), failed=True)
    reported = {one.get("resource"): one for one in (addon.get("status") or {}).get("configReferences") or []}
    for wanted in references:
        one = reported.get(wanted["resource"]) or {}
        if not _names(one.get("desiredConfig"), wanted):
            return AddOnState(False, f"OCM has not applied {wanted['resource']} {wanted['name']} yet")
    refused = condition(addon, "ManifestApplied")
    if refused.get("status") == "False":
        return AddOnState(False, str(refused.get("message") or refused.get("reason")), failed=True)
    for wanted in references:
        if not _names((reported[wanted["resource"]]).get("lastAppliedConfig"), wanted):
            return AddOnState(False, f"the cluster does not have {wanted['resource']} {wanted['name']} yet")
    return AddOnState(True)


def _names(config: Mapping[str, Any] | None, wanted: Mapping[str, Any]) -> bool:
    given = config or {}
    return given.get("name") == wanted["name"] and (given.get("namespace") or "") == (wanted.get("namespace") or "")


def references(addon: Mapping[str, Any]) -> set[tuple[str, str, str]]:
    """(resource, namespace, name) of every config that an add-on lists, wants or has."""
    spec, status = addon.get("spec") or {}, addon.get("status") or {}
    found = [*(spec.get("configs") or [])]
    for one in status.get("configReferences") or []:
        group = {"resource": one.get("resource")}
        found += [{**group, **(one.get(part) or {})} for part in ("desiredConfig", "lastAppliedConfig")]
        found.append(one)
    return {(one["resource"], one.get("namespace") or "", one["name"]) for one in found if one.get("name")}
