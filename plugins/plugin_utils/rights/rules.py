# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Needs as rules of Roles, and whether rules grant a right. Pure.

Source: Kubernetes API reference, PolicyRule (rbac.authorization.k8s.io/v1) and ResourceRule of a SelfSubjectRulesReview
(authorization.k8s.io/v1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .need import Need, Right, rights

Rule = dict[str, list[str]]

_VERBS = ("get", "list", "watch", "create", "update", "patch", "delete")


def policy_rules(needs: Sequence[Need], namespace: str) -> list[Rule]:
    """The fewest rules that cover exactly these needs, in a stable order.

    Resources of one group with the same verbs and names share a rule. A verb on all objects needs none on some.
    """
    held: dict[tuple[str, str, str], set[str]] = {}
    for need in needs:
        for right in rights(need, namespace):
            held.setdefault((right.group, right.resource, right.name), set()).add(right.verb)
    merged: dict[tuple[str, tuple[str, ...], str], list[str]] = {}
    for (group, resource, name), verbs in sorted(held.items()):
        left = verbs - held.get((group, resource, ""), set()) if name else verbs
        if left:
            merged.setdefault((group, tuple(sorted(left, key=_VERBS.index)), name), []).append(resource)
    return [
        {
            "apiGroups": [group],
            "resources": resources,
            **({"resourceNames": [name]} if name else {}),
            "verbs": list(verbs),
        }
        for (group, verbs, name), resources in merged.items()
    ]


def missing(wanted: Sequence[Right], rules: Sequence[Mapping[str, Any]]) -> list[Right]:
    """The rights that no rule grants.

    Args:
        wanted: what is needed.
        rules: of a Role, or C(status.resourceRules) of a SelfSubjectRulesReview.
    """
    return [right for right in wanted if not any(_gives(rule, right) for rule in rules)]


def singles(rules: Sequence[Mapping[str, Any]], namespace: str) -> list[Right]:
    """The single rights of a Role's rules."""
    return [
        Right(verb, group, resource, namespace, name)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames") or [""]
    ]


def _gives(rule: Mapping[str, Any], right: Right) -> bool:
    names = rule.get("resourceNames")
    if names and right.name not in names:
        return False
    resources = rule.get("resources") or []
    subresource = right.resource.partition("/")[2]
    return (
        _has(rule.get("verbs"), right.verb)
        and _has(rule.get("apiGroups"), right.group)
        and (_has(resources, right.resource) or bool(subresource and f"*/{subresource}" in resources))
    )


def _has(values: Any, wanted: str) -> bool:
    return bool(values) and ("*" in values or wanted in values)
