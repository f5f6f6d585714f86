# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The class of each drill of C(drill_table.DRILLS)."""

from __future__ import annotations

from collections.abc import Callable

from ..bench import Bench
from .base_break import Break
from .certificate_ended import CertificateEnded, ClockWrong
from .database_lost import DatabaseLost
from .disk_full import DiskFull
from .site_cut import SiteCut
from .superlink_killed import SuperlinkKilled
from .supernode_killed import SupernodeKilled

BREAKS: dict[str, Callable[[Bench], Break]] = {
    "superlink_killed": SuperlinkKilled,
    "supernode_killed": SupernodeKilled,
    "site_cut": SiteCut,
    "disk_full": DiskFull,
    "certificate_ended": CertificateEnded,
    "clock_wrong": ClockWrong,
    "database_lost": DatabaseLost,
}
