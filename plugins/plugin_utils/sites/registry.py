# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""All deliveries, and how a site is reached, which is read from its variables here and nowhere else.

A new delivery is a module or package beside this file, and an entry here. An entry names its module, which is loaded when a site is reached that
way: direct delivery loads nothing else.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..base.errors import ClusterError
from ..base.names import CONTROLLER, SITE
from ..base.object_names import BUNDLE, DIRECT, OCM, SiteAccess
from ..checks.host_variables import variables_of
from ..checks.variables import FORMER

if TYPE_CHECKING:
    from .site import Facts, Run, Site, SiteBackend


@dataclass(frozen=True)
class Delivery:
    """What must be known of a delivery before a site is reached.

    Attributes:
        module: in this package; has a class C(Backend), which is a C(site.SiteBackend), and a function C(statuses): what runs at some sites that are
            reached so, with the same arguments.
        key_sources: where keys can be created, the default first.
        own_access: whether the variables of a host lead to its own API server.
        why: for a host without such access, what delivers its objects.
    """

    module: str
    key_sources: tuple[str, ...]
    own_access: bool = True
    why: str = ""

    def reach(self, run: Run, site: Site) -> SiteBackend:
        """The backend of one site."""
        backend: SiteBackend = self._module.Backend(run, site)
        return backend

    def statuses(self, run: Run, sites: Sequence[Site], seconds: int, workers: int) -> dict[str, Facts]:
        """Site -> its status, see M(federated.flower.supernode_info). A site that does not answer within C(seconds) is a valid result."""
        found: dict[str, Facts] = self._module.statuses(run, sites, seconds, workers)
        return found

    @property
    def _module(self) -> Any:
        return importlib.import_module(f".{self.module}", __package__)


DELIVERIES: dict[str, Delivery] = {
    DIRECT: Delivery("direct", (CONTROLLER, SITE)),
    OCM: Delivery("ocm", (SITE,), own_access=False, why="the hub of Open Cluster Management"),
    BUNDLE: Delivery("bundle", (SITE,), own_access=False, why="files that the site applies itself"),
}

DELIVERY, KEY_SOURCE, CONNECTIVITY = "flower_delivery", "flower_key_source", "flower_connectivity"
#: What says how a site is reached.
VARIABLES = (DELIVERY, KEY_SOURCE, CONNECTIVITY, *FORMER)
SKUPPER = "skupper"
CONNECTIVITIES = ("direct", SKUPPER)


def access_of(variables: Mapping[str, Any]) -> SiteAccess:
    """How a site is reached.

    Args:
        variables: of the inventory host, templated.

    Raises:
        ClusterError: with variable, value and the remedy.
    """
    delivery = _choice(variables, DELIVERY, DELIVERIES, DIRECT)
    sources = DELIVERIES[delivery].key_sources
    key_source = _choice(variables, KEY_SOURCE, sources, sources[0], f"where {DELIVERY} is {delivery}")
    access = SiteAccess(delivery, key_source, _choice(variables, CONNECTIVITY, CONNECTIVITIES, CONNECTIVITIES[0]))
    found = {DELIVERY: access.delivery, KEY_SOURCE: access.key_source, CONNECTIVITY: access.connectivity}
    faults = [
        f"{former}: {str(variables[former])!r} contradicts {now}: {found[now]!r}, which playbooks read: set {now} to "
        f"{str(variables[former])!r} for this host in the inventory, or remove {former}"
        for former, now in FORMER.items()
        if str(variables.get(former) or found[now]) != found[now]
    ]
    if faults:
        raise ClusterError("; ".join(faults))
    return access


def sites_with(
    hostvars: Mapping[str, Mapping[str, Any]], hosts: Iterable[str], *, delivery: str = "", connectivity: str = "", clientapp: str = ""
) -> list[str]:
    """Those of some hosts that are reached as given; an option that is empty does not count.

    A host whose variables are wrong is not among them: the checks of the sites report the fault.

    Args:
        hostvars: the variables of all hosts; empty where playbooks are only listed, or checked for their syntax.
    """
    found = []
    for host in map(str, hosts):
        variables = variables_of(hostvars, host)
        with contextlib.suppress(ClusterError):
            access = access_of(variables)
            chosen = ((delivery, access.delivery), (connectivity, access.connectivity), (clientapp, str(variables.get("flower_clientapp"))))
            found += [host] if all(wanted in ("", given) for wanted, given in chosen) else []
    return found


def _choice(variables: Mapping[str, Any], name: str, known: Iterable[str], default: str, where: str = "") -> str:
    value = variables.get(name)
    if value in (None, ""):
        return default
    listed = list(known)
    if str(value) not in listed:
        condition = f" {where}" if where else ""
        raise ClusterError(f"{name}: {str(value)!r} is not one of {', '.join(listed)}{condition}")
    return str(value)
