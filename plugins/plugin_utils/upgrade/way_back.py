# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether a hub can go back to the release that ran before. Pure.

A SuperLink changes the format of its database when it starts, and an earlier release then refuses it. What counts is every release that may
have opened the database since: the one that is wanted, unless it was never started, and the one that an earlier run of the upgrade deployed.
"""

from __future__ import annotations

from . import releases


def other_format(was: str, live: str, want: str, *, never_started: bool) -> str:
    """The release in whose format the database may be, and which the one that ran before cannot open; empty if it can.

    Args:
        was: release that ran before the upgrade.
        live: release of the SuperLink when this run of the upgrade began; empty if it is not known.
        want: release that it was to run.
        never_started: whether a SuperLink was never started with it in this run.
    """
    opened = [live] if never_started else [want, live]
    return next((one or "a release that is not known" for one in opened if not releases.same_database(was, one)), "")
