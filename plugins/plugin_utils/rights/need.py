# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A row of the table of rights, and one right out of it. Pure.

Source of the rules: Kubernetes documentation, «Using RBAC Authorization» (rules, resourceNames) and «Authorization»
(verbs of a request).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
WORKS = (DEPLOY, ROTATE, UPGRADE, TEARDOWN)

OBJECT_VERBS = "get list create patch delete"  # of an object that is applied (server-side), compared and pruned


@dataclass(frozen=True)
class Need:
    """Verbs on one resource, and what they are for.

    Attributes:
        place: C(FEDERATION), C(CA) or C(CLUSTER).
        resource: as kubectl spells it, C(statefulsets.apps) or C(pods/exec).
        verbs: words.
        purpose: what it is for, for the cluster's administrators.
        names: words, the only objects that are covered; C({namespace}) is that of the place. Empty for all.
        work: what fails without it, one of C(WORKS).
        when: whether the specification of the part needs it.
    """

    place: str
    resource: str
    verbs: str
    purpose: str
    names: str = ""
    work: str = DEPLOY
    when: Callable[[Any], bool] = lambda spec: True

    def split(self) -> tuple[str, str]:
        """API group and resource, the latter with its subresource."""
        resource, _dot, group = self.resource.partition(".")
        return group, resource


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
    group, resource = need.split()
    for name in need.names.format(namespace=namespace).split() or [""]:
        for verb in need.verbs.split():
            yield Right(verb, group, resource, namespace, name)
