# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A site in the hub's own namespace, where the hub alone decides the Pod Security level.

The namespace of a site that is reached directly can be looked at, and C(apply/engine) leaves it as the hub applied it. Behind Open Cluster
Management, or with a bundle, someone else applies what is written here, so the Namespace there has no level.
"""

from __future__ import annotations

from ..base.errors import ClusterError
from ..base.names import PUBLIC_KEYS
from ..base.problems import require
from ..checks import site_agreement
from ..kube.client import Cluster
from ..manifests import common_objects
from ..marks.proof import labels_of
from ..site_keys import public
from ..spec.site_spec import SiteSpec
from . import namespaces
from .site import Site


def is_possible(site: Site) -> bool:
    """Whether a site would set a level in a namespace that has the name of the hub's."""
    return site.namespace == site.hub_namespace and bool(common_objects.namespace_objects(site.spec)) and bool(common_objects.security_levels(site.spec))


def differs(hub: Cluster, spec: SiteSpec) -> bool:
    """Whether the site's level is not that which the hub's namespace of that name has; False where that is not known, or not there yet."""
    live = namespaces.readable(hub, "v1", "Namespace", spec.namespace)
    return live is not None and any(
        labels_of(live).get(f"{common_objects.SECURITY_LABEL}{mode}") != level
        for mode, level in common_objects.security_levels(spec).items()
    )


def has_published(hub: Cluster, spec: SiteSpec, seen: public.Public) -> bool:
    """Whether the site's job published its keys in the hub's namespace, so that this is where the site is.

    Args:
        hub: a connection to it.
        spec: the site, for which C(is_possible) is true.
        seen: what is known of the site's keys.
    """
    live = namespaces.readable(hub, "v1", "ConfigMap", PUBLIC_KEYS, spec.namespace)
    try:
        return bool(seen.lines) and public.read(live).lines == seen.lines
    except ClusterError:  # someone else wrote it
        return False


def refuse_level(cluster: Cluster, spec: SiteSpec, planned: str | None) -> None:
    """Refuse a level that the variables of a site in the hub's namespace set and the hub does not. Not known where that cannot be read.

    Args:
        cluster: a connection to the hub's cluster.
        spec: the site, as its variables have it.
        planned: see C(site_agreement.shared_namespace).

    Raises:
        ClusterError: the site's level would have no effect.
    """
    if site_agreement.wants_level(spec) and (live := namespaces.readable(cluster, "v1", "Namespace", spec.namespace)):
        require(site_agreement.shared_namespace(spec, live, planned))
