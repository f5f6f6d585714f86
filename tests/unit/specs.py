# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects of a site out of its variables, as a rollout makes them."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.base.plain import plain
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import supernode
from ansible_collections.federated.flower.plugins.plugin_utils.spec.site_spec import SiteSpec
from ansible_collections.federated.flower.plugins.plugin_utils.validate.render import SpecError
from ansible_collections.federated.flower.plugins.plugin_utils.validate.supernode_faults import (
    render_faults,
    supernode_faults,
)


def site_of(given: Mapping[str, Any] | SiteSpec) -> SiteSpec:
    """A site without faults."""
    if isinstance(given, SiteSpec):
        return given
    given = plain(given)
    faults = supernode_faults(given)
    if faults:
        raise SpecError(faults)
    return SiteSpec.parse(given)


def supernode_objects(given: Mapping[str, Any] | SiteSpec) -> list[dict[str, Any]]:
    """All objects of a site."""
    spec = site_of(given)
    faults = render_faults(spec)
    if faults:
        raise SpecError(faults)
    return supernode.objects(spec)


def clientapp_objects(given: Mapping[str, Any] | SiteSpec) -> list[dict[str, Any]]:
    """A site's ClientApps, where they are a workload of their own; else none."""
    return supernode.clientapps(site_of(given))


#: Variables whose entries add up, so that their order has no meaning. That of others has: arguments, variables that refer to others, mounts
#: in mounts, init containers, patches; and Kubernetes restarts pods when that of their volumes or tolerations changes.
UNORDERED = frozenset((
    "pools", "datasets", "dns", "monitoring_namespaces", "superlink_cidrs", "egress", "api_server", "allowed_sources", "serverapp_egress",
    "load_balancer_source_ranges", "certificate_names",
))  # fmt: skip


def shuffled(value: Any, seed: int) -> Any:
    """The same value; the entries of all mappings in it have another order, and those of lists whose order has no meaning."""
    chance = random.Random(seed)

    def turn(one: Any, name: str = "") -> Any:
        if isinstance(one, Mapping):
            return {key: turn(one[key], str(key)) for key in chance.sample(list(one), len(one))}
        if not isinstance(one, (list, tuple)):
            return one
        listed = [turn(entry) for entry in one]
        return chance.sample(listed, len(listed)) if name in UNORDERED else listed

    return turn(value)


def written(objects: list[dict[str, Any]]) -> str:
    """Objects as text; the order of entries of a mapping has no meaning in Kubernetes."""
    return json.dumps(objects, sort_keys=True)
