# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""People in messages. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def who_where(who: Mapping[str, Any]) -> str:
    """The user, and where: C(jane@laptop).

    AWX runs everything as one user: the user who launched the job is more useful.

    Args:
        who: C(who) of the facts of a run, see C(actions/run_facts.py).
    """
    return f"{who.get('awx_user') or who.get('user', '')}@{who.get('host', '')}"
