# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How soon a cluster's agent reports the state of objects.

An agent reads values at its C(--status-sync-interval), which the operator sets to 60 s where the agent has one replica (with jitter
up to 114 s were seen with 1.3.1). With C(feedbackScrapeType: Watch) it reports at once. Source: C(work/v1) of
open-cluster-management.io/api 1.2; the agent has 50 watches, and polls what is beyond them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..kube.api_errors import NotFound
from ..kube.client import Cluster
from . import api, schema

Object = dict[str, Any]

FIELD, WATCH = "feedbackScrapeType", "Watch"
# Of an agent's 50: a site has two or three ManifestWorks, and its cluster may be in other federations.
_MOST = 12


def _knows(options: list[Mapping[str, Any]]) -> bool:
    """Whether options of a live object show the field: a hub that supports it sets its default."""
    return any(FIELD in one for one in options)


def served(hub: Cluster, live: Mapping[str, Any] | None) -> bool:
    """Whether the hub's ManifestWorks have the field.

    Args:
        hub: a connection to it.
        live: a ManifestWork with options, if there is one: then the hub need not be asked.
    """
    options = ((live or {}).get("spec") or {}).get("manifestConfigs") or []
    if options:
        return _knows(options)
    return schema.supports_watch(document(hub, api.WORKS))


def is_watched(live_set: Mapping[str, Any]) -> bool:
    """Whether a ManifestWorkReplicaSet requests watches."""
    options = live_set["spec"]["manifestWorkTemplate"].get("manifestConfigs") or []
    return any(one.get(FIELD) == WATCH for one in options)


def document(hub: Cluster, version: str) -> dict[str, Any]:
    """The schema of an API version; empty where it is not served."""
    try:
        return hub.request("GET", f"/openapi/v3/apis/{version}")
    except NotFound:
        return {}


def watched(spec: Mapping[str, Any]) -> Object:
    """The specification of a ManifestWork whose values are reported at once: those of all objects, or of what is
    written if they are many.

    Nothing that a cluster gets is changed by it.
    """
    asked = [one for one in spec.get("manifestConfigs") or [] if one.get("feedbackRules")]
    written = [one for one in asked if (one.get("updateStrategy") or {}).get("type") != "ReadOnly"]
    chosen = asked if len(asked) <= _MOST else written[:_MOST]
    marked = [
        {**one, FIELD: WATCH} if any(one is other for other in chosen) else one for one in spec["manifestConfigs"]
    ]
    return {**spec, "manifestConfigs": marked}
