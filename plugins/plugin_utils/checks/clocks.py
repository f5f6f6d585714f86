# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Clocks of control node, hub and sites that differ. Pure.

Source of the rules: flwr 1.41 takes a SuperNode's signed request from 5 s before to 305 s after its own time
(superlink/routers/fleet/node_auth.py); certificates that are issued here are dated back by 5 minutes (pki.py). What is measured is the clock of
an API server (C(Cluster.skew)), good to a second; the nodes of its cluster should have the same.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping

from ..base.problems import Problem, warning
from ..pki.chain import CLOCK_ACCURACY

WARN = 30.0
AHEAD_WARN, AHEAD_FAIL = 6.0, WARN
BEHIND_FAIL = 300.0


def clocks(skew: float | None, hub: float | None, *, signed: bool) -> Iterator[Problem]:
    """What is wrong with a site's clock.

    Args:
        skew: seconds by which the site's clock is ahead of the control node's, None when it is not known.
        hub: the same of the hub; None when it was not checked.
        signed: whether SuperNodes sign their requests with the time (not with C(flower_insecure)).
    """
    if skew is None:
        return
    ahead = skew - (hub or 0.0)
    word = _word(ahead, "control node" if hub is None else "hub")
    is_judged = signed and hub is not None
    if is_judged and ahead > AHEAD_FAIL:
        yield Problem(f"{word}; Flower refuses what a SuperNode signs more than 5 s ahead of the hub. Set the clocks")
    elif is_judged and ahead < -BEHIND_FAIL:
        yield Problem(f"{word}; Flower refuses what a SuperNode signed more than 305 s ago by the hub's clock. Set the clocks")
    elif is_judged and ahead > AHEAD_WARN:
        yield warning(f"{word}; Flower refuses what a SuperNode signs more than 5 s ahead of the hub")
    elif abs(ahead) > WARN:
        yield warning(word)


def hub_clock(skew: float | None) -> Iterator[Problem]:
    """Whether the hub's clock is the control node's."""
    if skew is not None and abs(skew) > WARN:
        yield warning(_word(skew, "control node"))


def validity(certificate: Mapping[str, str], skew: float | None, now: datetime.datetime) -> Iterator[Problem]:
    """Why the gateway's certificate is not valid by a site's clock. One that begins within the next two seconds is.

    Args:
        certificate: C(not_before) and C(not_after), ISO 8601; may be empty.
        skew: seconds by which the site's clock is ahead of the control node's.
        now: the control node's time.
    """
    if not certificate or skew is None:
        return
    there = now + datetime.timedelta(seconds=skew)
    start, end = (datetime.datetime.fromisoformat(certificate[key]) for key in ("not_before", "not_after"))
    shown = f"{there.replace(microsecond=0).isoformat()} by its clock ({_word(skew, 'control node')})"
    if there < start - CLOCK_ACCURACY:
        yield Problem(f"the gateway's certificate is not valid before {start.isoformat()}, and it is {shown}; set the clock")
    elif there > end:
        yield Problem(f"the gateway's certificate expires on {end.isoformat()}, and it is {shown}; set the clock, or renew it")


def _word(ahead: float, other: str) -> str:
    return f"its clock is {abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} the {other}'s"
