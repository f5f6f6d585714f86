# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the hub still delivers to sites that are to be forgotten: their keys are retired only when it does not."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ..base.labels import query
from ..kube.api_errors import Forbidden, NotServed
from ..kube.client import Cluster
from . import addon_objects, api, leaving


def faults(
    hub: Cluster, federation: str, sites: Collection[str], known: Mapping[str, Mapping[str, Any]], unreadable: Collection[str]
) -> dict[str, str]:
    """Site -> why it cannot be forgotten yet.

    Args:
        hub: a connection.
        federation: its name.
        sites: those to forget.
        known: records of the ledger, by site.
        unreadable: sites whose record cannot be read.
    """
    try:
        items = hub.list(api.WORKS, "ManifestWork", labels=query(addon_objects.addon_labels(federation)))
    except NotServed:
        return {}
    except Forbidden as error:
        return {site: leaving.doubt([site], error.message) for site in leaving.doubtful(sites, known, unreadable)}
    return {
        site: f"the hub still delivers to its cluster {', '.join(clusters)}, and its SuperNodes would restart without end. "
        "federated.flower.site ends the delivery before it forgets the site, if --limit, where there is one, has the hub, and "
        "--skip-tags does not name ocm"
        for site, clusters in leaving.delivered(items, sites).items()
    }
