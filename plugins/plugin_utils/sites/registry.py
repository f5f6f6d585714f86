# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""All deliveries. A new one is a module or package beside this file, and an entry here.

An entry names its module, which is loaded when a site is reached that way: direct delivery loads nothing else.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..base.names import CONTROLLER, SITE
from ..base.object_names import BUNDLE, DIRECT, OCM

if TYPE_CHECKING:  # they are loaded by name, so that mypy would not compare them with the protocols
    from . import bundle, direct, ocm
    from .site import Facts, Reach, Run, Site, Statuses

    _WAYS: tuple[Callable[[Run, Site], Reach], ...] = (bundle.Way, direct.Way, ocm.Way)
    _STATUSES: tuple[Statuses, ...] = (bundle.statuses, direct.statuses, ocm.statuses)


@dataclass(frozen=True)
class Delivery:
    """What must be known of a delivery before a site is reached.

    Attributes:
        module: in this package; has a class C(Way), which is a C(site.Reach), and a function C(statuses) (C(site.Statuses)).
        key_sources: where keys can be created, the default first.
        own_access: whether the variables of a host lead to its own API server.
        why: for a host without such access, what delivers its objects.
    """

    module: str
    key_sources: tuple[str, ...]
    own_access: bool = True
    why: str = ""

    def reach(self, run: Run, site: Site) -> Reach:
        """The way to one site."""
        way: Reach = self._module.Way(run, site)
        return way

    def statuses(self, run: Run, sites: Sequence[Site], seconds: int, workers: int) -> dict[str, Facts]:
        """What runs at some sites that are reached so."""
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
