# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the specifications of all parts have in common."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeVar

from .fields import Flag, Labels, Listed, Parsed, Text

SKUPPER = "skupper"
Self = TypeVar("Self", bound="PartSpec")


@dataclass(frozen=True)
class PartSpec(Parsed):
    """One part of a federation, in one namespace of a cluster.

    The name of a field is that of the role variable without the role's prefix (C(superlink_storage_size) is C(storage_size)), so that a
    fault can name the variable. roles/*/meta/argument_specs.yml describes them.

    Attributes:
        pod_security: Pod Security level of the namespace: C(auto), a level, or empty for none.
        skupper: whether Skupper's routers run in the namespace, as with the C(connectivity) skupper.
        dns: peers that every pod may use for DNS; see manifests/policies.py for the shape of peers.
        monitoring_namespaces: namespaces that may read the metrics, each a name or a mapping of labels.
    """

    federation: Text = ""
    namespace: Text = ""
    cluster: Text = ""
    version: Text = ""
    labels: Labels = field(default_factory=dict)
    annotations: Labels = field(default_factory=dict)
    create_namespace: Flag = True
    pod_security: Text = ""
    connectivity: Text = ""
    skupper: Flag = False
    network_policies: Flag = True
    dns: Listed = field(default_factory=list)
    monitoring_namespaces: Listed = field(default_factory=list)

    @property
    def has_routers(self) -> bool:
        """Whether Skupper's routers run in the namespace."""
        return self.skupper or self.connectivity == SKUPPER

    @property
    def closes_namespace(self) -> bool:
        """Whether a policy isolates all pods of the namespace; not where the namespace is someone else's."""
        return self.network_policies and self.create_namespace

    def beside(self: Self, namespace: str) -> Self:
        """The same for another namespace of its cluster, where no router runs."""
        if namespace == self.namespace:
            return self
        return replace(self, namespace=namespace, skupper=False, connectivity="")
