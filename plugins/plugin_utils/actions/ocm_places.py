# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the sites of an inventory are, for actions on the hub of Open Cluster Management."""

from __future__ import annotations

from collections.abc import Iterable

from ..base.choices import OCM
from ..base.errors import ClusterError
from ..reach.site_access import access_of
from .cluster_action import ClusterAction

# As the defaults of the role supernode have it, which the hub's tasks do not see.
_VARIABLES = ("supernode_ocm_cluster", "ocm_name")


def places(action: ClusterAction, sites: Iterable[str]) -> dict[str, str]:
    """Site -> its ManagedCluster; empty for one that is delivered in another way. A site whose variables are wrong is not among them."""
    found = {}
    for site in sites:
        try:
            variables = action.variables_of(site)
            way = access_of(variables)
            named = [name for name in (action._variable_of(variables, one) for one in _VARIABLES) if name]
        except ClusterError:
            continue  # the checks of the sites report it
        found[site] = str([*named, site][0]) if way.delivery == OCM else ""
    return found
