# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A site in the namespace of the hub, which alone decides the Pod Security level. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..manifests import namespace
from ..marks.proof import labels_of
from ..spec.site_spec import SiteSpec


def wants_level(spec: SiteSpec) -> bool:
    """Whether the site's variables set a level, or that there is none, instead of leaving it to the collection."""
    return spec.pod_security != namespace.AUTO and bool(namespace.objects(spec))


def fault(spec: SiteSpec, live: Mapping[str, Any], planned: str | None) -> str:
    """Why the site's level would have no effect, with the remedy; empty if it is the level of the hub.

    Args:
        spec: the site, for which C(wants_level) is true.
        live: the Namespace that it shares with the hub.
        planned: the level that the hub is going to set, empty for none; None if it is not known, or someone else sets it.
    """
    wanted = namespace.levels(spec).get("enforce", "")
    enforced = labels_of(live).get(namespace.ENFORCE, "") if planned is None else planned
    if wanted == enforced:
        return ""
    return (
        f'supernode_pod_security: "{wanted}" has no effect: namespace {spec.namespace} is the hub\'s, too, which sets its level '
        f'("{enforced}"). Set superlink_pod_security (flower_pod_security) for the hub, or another supernode_namespace for this site'
    )
