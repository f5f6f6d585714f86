# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is refused of the variables of an add-on of Open Cluster Management (see ocm/addon_objects.py).

OCM's own schema accepts more than its controllers support, and a wrong Placement silently selects nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base.problems import Problem
from ..base.values import text
from ..spec.hub_spec import MANUAL, PLACEMENTS
from .value_checks import Check, Problems, Rule, Spec, choice, each, given, number, pattern

ROLLOUTS = {"All": "all", "Progressive": "progressive", "ProgressivePerGroup": "progressivePerGroup"}


def _each_mapping(needed: str, check: Check = lambda found, variable, value: None) -> Check:
    """The check of a list of mappings that have a key."""

    def entry(found: Problems, variable: str, value: Any) -> None:
        if not isinstance(value, Mapping) or not value.get(needed):
            found.add(variable, value, f"has no {needed}")
        else:
            check(found, variable, value)

    return each(entry)


def addon_name(found: Problems, variable: str, value: Any) -> None:
    """The name of an add-on. A ManifestWork of it is called addon-NAME-deploy-0, and a Namespace of the hub is called as its cluster."""
    found.label(variable, value, 50)


def _expression(found: Problems, variable: str, value: Spec) -> None:
    found.choice(f"{variable}.operator", value.get("operator"), ("In", "NotIn", "Exists", "DoesNotExist"))
    found.sequence(f"{variable}.values", value.get("values"))


def predicate(found: Problems, variable: str, value: Any) -> None:
    """An entry of a Placement's predicates."""
    chosen = value.get("requiredClusterSelector") if isinstance(value, Mapping) else None
    if not isinstance(chosen, Mapping) or not chosen:
        found.add(variable, value, "has no requiredClusterSelector, which is what a Placement's predicate is")
        return
    for part in ("labelSelector", "claimSelector"):
        selector, at = chosen.get(part) or {}, f"{variable}.{part}"
        if not found.mapping(at, selector):
            continue
        labels = selector.get("matchLabels")
        if labels and part == "claimSelector":
            found.add(at, selector, "supports matchExpressions only")
        found.selector(f"{at}.matchLabels", labels)
        for key, entry in labels.items() if isinstance(labels, Mapping) else ():
            if entry is None:
                found.add(f"{at}.matchLabels[{key}]", entry, "is dropped by Kubernetes, and more clusters would be selected: give it a value")
        _each_mapping("key", _expression)(found, f"{at}.matchExpressions", selector.get("matchExpressions"))


def _prioritizer(found: Problems, variable: str, value: Spec) -> None:
    coordinate = value["scoreCoordinate"]
    if found.mapping(f"{variable}.scoreCoordinate", coordinate):
        kind = coordinate.get("type", "BuiltIn")
        if found.choice(f"{variable}.scoreCoordinate.type", kind, ("BuiltIn", "AddOn")) and kind == "BuiltIn":
            names = ("Balance", "Steady", "ResourceAllocatableCPU", "ResourceAllocatableMemory", "Spread")
            found.choice(f"{variable}.scoreCoordinate.builtIn", coordinate.get("builtIn"), names)
    found.number(f"{variable}.weight", value.get("weight"), -10, 10)


def _spread(found: Problems, variable: str, value: Spec) -> None:
    found.choice(f"{variable}.topologyKeyType", value.get("topologyKeyType"), ("Label", "Claim"))
    found.choice(f"{variable}.whenUnsatisfiable", value.get("whenUnsatisfiable", "ScheduleAnyway"), ("DoNotSchedule", "ScheduleAnyway"))
    found.number(f"{variable}.maxSkew", value.get("maxSkew"), 1)


# Patterns of the ClusterManagementAddOn's schema (open-cluster-management.io/api, cluster/v1alpha1, RolloutStrategy).
_share = pattern(r"(100|[0-9]{1,2})%|[0-9]+", "is neither a number nor a percentage like 25%")
_ROLLOUT: Mapping[str, Check] = {
    "maxConcurrency": given(_share),
    "maxFailures": given(_share),
    "progressDeadline": given(pattern(r"([0-9]+[hms])|None", 'is not a duration like "10m", nor "None"')),
}
_ROLLOUT_RULES = (
    Rule("maxConcurrency", lambda options: options.get("maxConcurrency") is not None and not text(options["maxConcurrency"]).strip("0%"),
         "stands for all clusters at once; write type: All for that"),
)


def rollout(found: Problems, variable: str, value: Any) -> None:
    """A rolloutStrategy."""
    if not value or not found.mapping(variable, value):
        return
    kind = value.get("type")
    if not found.choice(f"{variable}.type", kind, ROLLOUTS):
        return
    for key in value:
        if key not in ("type", ROLLOUTS[kind]):
            found.add(f"{variable}.{key}", value[key], f"cannot be combined with type {kind}; write {ROLLOUTS[kind]}")
    options = value.get(ROLLOUTS[kind]) or {}
    if found.mapping(f"{variable}.{ROLLOUTS[kind]}", options):
        found.check(_ROLLOUT, options, f"{variable}.")
        found.apply(_ROLLOUT_RULES, options, f"{variable}.")


_ADDON: Mapping[str, Check] = {
    "name": addon_name,
    "federation": Problems.label,
    "namespace": Problems.label,
    "pod_security": given(choice("auto", "privileged", "baseline", "restricted")),
    "labels": Problems.labels,
    "annotations": Problems.annotations,
    # Of a specification that is given to the module. It decides what is deleted.
    "install": choice(PLACEMENTS, MANUAL),
}
_PLACEMENT: Mapping[str, Check] = {
    "placement": Problems.subdomain,
    "cluster_sets": each(Problems.subdomain),
    "number_of_clusters": given(number(0)),  # 0: no limit
    "predicates": each(predicate),
    "prioritizers": _each_mapping("scoreCoordinate", _prioritizer),
    "spread": _each_mapping("topologyKey", _spread),
    "tolerations": each(Problems.mapping),
    "decision_groups": Problems.mapping,
    "rollout": rollout,
}
_RULES = (
    Rule("cluster_sets", lambda spec: spec.get("install") == PLACEMENTS and not spec.get("cluster_sets"),
         "is empty, so no cluster can be selected; OCM's own set is global"),
    Rule("rollout", lambda spec: spec.get("install") == MANUAL and spec.get("rollout"), "has no effect without a Placement: ocm_addon_install is Manual"),
)


def addon_problems(spec: Spec) -> list[Problem]:
    """All that is wrong with the variables of an add-on."""
    found = Problems(spec, "ocm_addon_")
    found.check(_ADDON, spec)
    found.apply(_RULES, spec)
    if spec.get("install") == PLACEMENTS:
        found.check(_PLACEMENT, spec)
    return found.found
