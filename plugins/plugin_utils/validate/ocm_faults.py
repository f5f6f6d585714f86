# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of what is delivered through Open Cluster Management: of the add-on's spec, and of a site's (see ocm/addon_objects.py).

OCM's own schema accepts more than its controllers support, and a wrong Placement silently selects nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..base.choices import OCM
from ..base.values import text
from ..spec.addon_spec import INSTALLS, PLACEMENTS
from ..spec.pool_spec import DAEMON_SET
from .faults import POD_SECURITY_LEVELS, Faults, Spec

# A ManifestWork of the add-on is called addon-NAME-deploy-0, and a Namespace of the hub is called as its cluster.
MAX_ADDON_NAME = 50
ROLLOUTS = {"All": "all", "Progressive": "progressive", "ProgressivePerGroup": "progressivePerGroup"}
# Patterns of the ClusterManagementAddOn's schema (open-cluster-management.io/api, cluster/v1alpha1, RolloutStrategy).
_SHARE = re.compile(r"(100|[0-9]{1,2})%|[0-9]+")
_DEADLINE = re.compile(r"([0-9]+[hms])|None")
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_BUILT_IN = ("Balance", "Steady", "ResourceAllocatableCPU", "ResourceAllocatableMemory", "Spread")


def ocm_addon_faults(spec: Spec) -> list[str]:
    """All faults of an add-on's spec, each a sentence; an empty list if there is none."""
    faults = Faults(spec, "ocm_addon_")
    faults.label("name", spec.get("name"), MAX_ADDON_NAME)
    faults.label("federation", spec.get("federation"))
    faults.label("namespace", spec.get("namespace"))
    if spec.get("pod_security"):
        faults.choice("pod_security", spec["pod_security"], POD_SECURITY_LEVELS)
    faults.labels("labels", spec.get("labels"))
    faults.labels("annotations", spec.get("annotations"), values=False)
    if not faults.choice("install", spec.get("install"), INSTALLS):
        return faults.found
    if spec["install"] == PLACEMENTS:
        _placement_faults(spec, faults)
        rollout_faults("rollout", spec.get("rollout"), faults)
    elif spec.get("rollout"):
        faults.add("rollout", spec["rollout"], "has no meaning without a Placement: ocm_addon_install is Manual")
    return faults.found


def _placement_faults(spec: Spec, faults: Faults) -> None:
    faults.subdomain("placement", spec.get("placement"))
    if faults.sequence("cluster_sets", spec.get("cluster_sets")):
        if not spec.get("cluster_sets"):
            faults.add(
                "cluster_sets",
                spec.get("cluster_sets"),
                "is empty, so no cluster can be selected; OCM's own set is global",
            )
        for number, name in enumerate(spec.get("cluster_sets") or []):
            faults.subdomain(f"cluster_sets[{number}]", name)
    faults.number("number_of_clusters", spec.get("number_of_clusters") or None, 1)  # 0: no limit
    if faults.sequence("predicates", spec.get("predicates")):
        for number, one in enumerate(spec.get("predicates") or []):
            predicate_faults(f"predicates[{number}]", one, faults)
    if faults.sequence("prioritizers", spec.get("prioritizers")):
        for number, one in enumerate(spec.get("prioritizers") or []):
            _prioritizer_faults(f"prioritizers[{number}]", one, faults)
    if faults.sequence("spread", spec.get("spread")):
        for number, one in enumerate(spec.get("spread") or []):
            at = f"spread[{number}]"
            if not isinstance(one, Mapping) or not one.get("topologyKey"):
                faults.add(at, one, "has no topologyKey")
                continue
            faults.choice(f"{at}.topologyKeyType", one.get("topologyKeyType"), ("Label", "Claim"))
            faults.choice(
                f"{at}.whenUnsatisfiable",
                one.get("whenUnsatisfiable", "ScheduleAnyway"),
                ("DoNotSchedule", "ScheduleAnyway"),
            )
            faults.number(f"{at}.maxSkew", one.get("maxSkew"), 1)
    if faults.sequence("tolerations", spec.get("tolerations")):
        for number, one in enumerate(spec.get("tolerations") or []):
            if not isinstance(one, Mapping):
                faults.add(f"tolerations[{number}]", one, "is not a mapping")
    faults.mapping("decision_groups", spec.get("decision_groups"))


def predicate_faults(at: str, one: Any, faults: Faults) -> None:
    """Rules for an entry of a Placement's predicates."""
    chosen = one.get("requiredClusterSelector") if isinstance(one, Mapping) else None
    if not isinstance(chosen, Mapping) or not chosen:
        faults.add(at, one, "has no requiredClusterSelector, which is what a Placement's predicate is")
        return
    for part in ("labelSelector", "claimSelector"):
        selector = chosen.get(part) or {}
        if not isinstance(selector, Mapping):
            faults.add(f"{at}.{part}", selector, "is not a mapping")
            continue
        if selector.get("matchLabels") and part == "claimSelector":
            faults.add(f"{at}.{part}", selector, "supports matchExpressions only")
        wanted = selector.get("matchLabels")
        faults.labels(f"{at}.{part}.matchLabels", wanted, own=True)
        for key, value in wanted.items() if isinstance(wanted, Mapping) else ():
            if value is None:
                faults.add(f"{at}.{part}.matchLabels[{key}]", value, "is dropped by Kubernetes, and more clusters would be selected: give it a value")
        if not faults.sequence(f"{at}.{part}.matchExpressions", selector.get("matchExpressions")):
            continue
        for number, expression in enumerate(selector.get("matchExpressions") or []):
            where = f"{at}.{part}.matchExpressions[{number}]"
            if not isinstance(expression, Mapping) or not expression.get("key"):
                faults.add(where, expression, "has no key")
                continue
            faults.choice(f"{where}.operator", expression.get("operator"), _OPERATORS)
            faults.sequence(f"{where}.values", expression.get("values"))


def _prioritizer_faults(at: str, one: Any, faults: Faults) -> None:
    coordinate = one.get("scoreCoordinate") if isinstance(one, Mapping) else None
    if not isinstance(coordinate, Mapping):
        faults.add(at, one, "has no scoreCoordinate")
        return
    kind = coordinate.get("type", "BuiltIn")
    if faults.choice(f"{at}.scoreCoordinate.type", kind, ("BuiltIn", "AddOn")) and kind == "BuiltIn":
        faults.choice(f"{at}.scoreCoordinate.builtIn", coordinate.get("builtIn"), _BUILT_IN)
    faults.number(f"{at}.weight", one.get("weight"), -10, 10)


def rollout_faults(at: str, given: Any, faults: Faults) -> None:
    """Rules for a rolloutStrategy."""
    if not faults.mapping(at, given) or not given:
        return
    kind = given.get("type")
    if not faults.choice(f"{at}.type", kind, ROLLOUTS):
        return
    for key in given:
        if key not in ("type", ROLLOUTS[kind]):
            faults.add(f"{at}.{key}", given[key], f"does not go together with type {kind}; write {ROLLOUTS[kind]}")
    options = given.get(ROLLOUTS[kind]) or {}
    for key in ("maxConcurrency", "maxFailures"):
        if options.get(key) is not None and not _SHARE.fullmatch(text(options[key])):
            faults.add(f"{at}.{key}", options[key], "is neither a number nor a percentage like 25%")
        elif key == "maxConcurrency" and options.get(key) is not None and not int(text(options[key]).rstrip("%")):
            faults.add(f"{at}.{key}", options[key], "stands for all clusters at once; write type: All for that")
    if options.get("progressDeadline") and not _DEADLINE.fullmatch(text(options["progressDeadline"])):
        faults.add(f"{at}.progressDeadline", options["progressDeadline"], 'is not a duration like "10m", nor "None"')


def delivery_faults(spec: Spec, faults: Faults) -> None:
    """Rules for a site's way of delivery."""
    delivery = spec.get("delivery")
    if delivery != OCM:
        return
    faults.label("ocm_addon", spec.get("ocm_addon"), MAX_ADDON_NAME)
    faults.subdomain("ocm_cluster", spec.get("ocm_cluster"))
    faults.choice("ocm_install", spec.get("ocm_install"), INSTALLS)
    if spec.get("connectivity") == "skupper":
        faults.sentence(
            f"{text(spec.get('cluster'))}: flower_delivery: {delivery!r} does not go together with flower_connectivity: skupper: a site's "
            "part of a Skupper network is created through its own API server. Set flower_connectivity to direct, so that its SuperNodes connect to "
            "the hub, or flower_delivery to direct"
        )
    for number, pool in enumerate(spec.get("pools") or []):
        if isinstance(pool, Mapping) and text(pool.get("mode")) == DAEMON_SET:
            faults.add(
                f"pools[{number}].mode",
                DAEMON_SET,
                "needs a key for each node, and Open Cluster Management does not list the nodes of a cluster: use a StatefulSet with "
                "topology_spread_constraints, or flower_delivery: direct",
            )
