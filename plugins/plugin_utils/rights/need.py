# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Needs are rows of the table of rights; each becomes rules of Roles, and is compared with rules that are granted. Pure.

Source of the rules: Kubernetes documentation, «Using RBAC Authorization» (rules, resourceNames) and «Authorization»
(verbs of a request).

Source: Kubernetes API reference, PolicyRule (rbac.authorization.k8s.io/v1) and ResourceRule of a SelfSubjectRulesReview
(authorization.k8s.io/v1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Places of a need.
FEDERATION = "federation"  # the namespace of the SuperLink, or of a site's SuperNodes
CA = "ca"  # the namespace of the CA keys, on the hub
CLUSTER = "cluster"  # the whole cluster

# What fails without it.
DEPLOY = "deploy"
ROTATE = "rotate"
UPGRADE = "upgrade"
TEARDOWN = "teardown"
LOGS = "logs"
WORKS = (DEPLOY, ROTATE, UPGRADE, TEARDOWN, LOGS)
SCHEDULE = "schedule"  # only on request: rights to have pods run commands in the SuperLink's pod

OBJECT_VERBS = "get list create patch delete"  # of an object that is applied (server-side), compared and pruned

Rule = dict[str, list[str]]

_VERBS = ("get", "list", "watch", "create", "update", "patch", "delete")


@dataclass(frozen=True)
class Need:
    """Verbs on one resource, and what they are for.

    Attributes:
        place: C(FEDERATION), C(CA) or C(CLUSTER).
        resource: as kubectl spells it, C(statefulsets.apps) or C(pods/exec).
        verbs: words.
        purpose: what it is for, for the cluster's administrators.
        names: words, the only objects that are covered; C({namespace}) is that of the place. Empty for all.
        work: what fails without it, one of C(WORKS), or C(SCHEDULE).
        when: whether the specification of the part needs it.
    """

    place: str
    resource: str
    verbs: str
    purpose: str
    names: str = ""
    work: str = DEPLOY
    when: Callable[[Any], bool] = lambda spec: True


@dataclass(frozen=True)
class Right:
    """One verb on one resource.

    Attributes:
        verb: the verb.
        group: the API group, empty for the core API.
        resource: the resource, with its subresource (C(pods/exec)).
        namespace: empty for the whole cluster.
        name: empty for all objects.
    """

    verb: str
    group: str
    resource: str
    namespace: str
    name: str = ""

    def __str__(self) -> str:
        resource = f"{self.resource}.{self.group}" if self.group else self.resource
        place = f"in namespace {self.namespace}" if self.namespace else "on the whole cluster"
        return f"{self.verb} {resource} {place}" + (f" ({self.name})" if self.name else "")


def rights(need: Need, namespace: str) -> Iterator[Right]:
    """The single rights of a need in a namespace (C("") for the whole cluster)."""
    resource, _dot, group = need.resource.partition(".")
    for name in need.names.format(namespace=namespace).split() or [""]:
        for verb in need.verbs.split():
            yield Right(verb, group, resource, namespace, name)


def policy_rules(needs: Sequence[Need], namespace: str) -> list[Rule]:
    """The fewest rules that cover exactly these needs, in a stable order.

    Resources of one group with the same verbs and names share a rule. A verb on all objects needs none on some.
    """
    granted: dict[tuple[str, str, str], set[str]] = {}
    for need in needs:
        for right in rights(need, namespace):
            granted.setdefault((right.group, right.resource, right.name), set()).add(right.verb)
    merged: dict[tuple[str, tuple[str, ...], str], list[str]] = {}
    for (group, resource, name), verbs in sorted(granted.items()):
        left = verbs - granted.get((group, resource, ""), set()) if name else verbs
        if left:
            merged.setdefault((group, tuple(sorted(left, key=_VERBS.index)), name), []).append(resource)
    return [
        {"apiGroups": [group], "resources": resources, **({"resourceNames": [name]} if name else {}), "verbs": list(verbs)}
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
    def has(key: str, *wanted: str) -> bool:
        values = rule.get(key) or []
        return "*" in values or any(one in values for one in wanted)

    if (names := rule.get("resourceNames")) and right.name not in names:
        return False
    _resource, slash, subresource = right.resource.partition("/")
    resources = [right.resource, *([f"*/{subresource}"] if slash else [])]
    return has("verbs", right.verb) and has("apiGroups", right.group) and has("resources", *resources)
