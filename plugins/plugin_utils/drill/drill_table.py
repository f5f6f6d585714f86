# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The drills, and how long a recovery may take. Pure.

A target is in seconds. It counts from the end of the fault, or where nothing has to be repaired by a person, from its begin, until the SuperLink has
accepted a heartbeat of every SuperNode concerned. SuperNodes send one about every 25 seconds (flwr 1.41, C(HEARTBEAT_DEFAULT_INTERVAL)), and wait
up to 20 seconds between two attempts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

VARIABLE = "flower_drill"
TARGETS = "flower_drill_targets"
CONFIRM = "flower_drill_confirm"


@dataclass(frozen=True)
class Drill:
    """One drill.

    Attributes:
        name: what C(flower_drill) selects.
        target: seconds of the recovery at most, unless C(flower_drill_targets) has another number.
        breaks: what is broken.
        remedy: what ends it, and from when on the recovery is measured.
    """

    name: str
    target: int
    breaks: str
    remedy: str


DRILLS = {
    one.name: one
    for one in (
        Drill("superlink_killed", 60, "the SuperLink's pod is deleted", "Kubernetes replaces it; measured from the deletion"),
        Drill(
            "supernode_killed",
            60,
            "the pod of one SuperNode is deleted",
            "Kubernetes replaces it; measured from the deletion",
        ),
        Drill(
            "site_cut",
            60,
            "the gateway refuses all calls of one site",
            "the site is admitted again; measured from then on",
        ),
        Drill(
            "disk_full",
            60,
            "the SuperLink cannot write to any file",
            "it can write again; measured from then on",
        ),
        Drill(
            "certificate_ended",
            60,
            "the gateway's certificate ends",
            "a new one is issued and served; measured from the begin of that",
        ),
        Drill(
            "clock_wrong",
            60,
            "the gateway's certificate is not valid yet, as for sites whose clocks are slow",
            "the clocks reach its begin; measured from then on",
        ),
        Drill(
            "database_lost",
            180,
            "the SuperLink's database is set aside after a backup",
            "the backup's is put in its place; measured from the stop of the SuperLink",
        ),
    )
}

# Drills of other playbooks -> how to conduct them. What they change is not undone by itself, so none of them can be one among others here.
ELSEWHERE = {
    "hub_lost": (
        "is a failover: another cluster is the hub afterwards, and only a failover in the other direction leads back. So it has playbooks of its own. With a "
        "current copy (federated.flower.standby) and no active run, federated.flower.failover -e flower_failover=true "
        "-e flower_failover_hub_lost=true does not ask the hub, as if it were lost, and shows the seconds until the standby serves the sites "
        "(flower_failover_result); without the second variable it then fences the hub, and federated.flower.failback -e flower_failover=true leads "
        "back. The guide on drills has the steps. "
        "Nothing was broken"
    ),
}


def chosen(given: Any) -> list[Drill]:
    """The drills that C(flower_drill) selects, in that order.

    Args:
        given: a list, or text with commas, as C(-e) gives it.

    Raises:
        ValueError: names what is wrong, and what could stand there.
    """
    words = given.split(",") if isinstance(given, str) else given
    names = [str(word).strip() for word in words] if isinstance(words, list) else []
    names = [name for name in names if name]
    known = ", ".join(DRILLS)
    if not names:
        raise ValueError(f"{VARIABLE}: name one or more drills, such as -e {VARIABLE}=superlink_killed,site_cut. There are: {known}")
    other = next((name for name in names if name in ELSEWHERE), "")
    if other:
        raise ValueError(f"{VARIABLE}: {other} {ELSEWHERE[other]}")
    wrong = [name for name in names if name not in DRILLS]
    if wrong:
        raise ValueError(f"{VARIABLE}: there is no drill {', '.join(map(repr, wrong))}. There are: {known}")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{VARIABLE}: {', '.join(twice)} is named twice; name each drill once")
    return [DRILLS[name] for name in names]


def targets(given: Any) -> dict[str, int]:
    """Drill -> seconds, of all drills.

    Args:
        given: value of C(flower_drill_targets), which replaces some of the defaults.

    Raises:
        ValueError: names every entry that cannot be used.
    """
    found = {name: drill.target for name, drill in DRILLS.items()}
    if given in (None, "", {}):
        return found
    if not isinstance(given, Mapping):
        raise ValueError(f"{TARGETS}: {given!r} is not a mapping of drills to seconds, such as {{site_cut: 45}}")
    faults = []
    for name, value in given.items():
        if name not in DRILLS:
            faults.append(f"{TARGETS}: there is no drill {name!r}. There are: {', '.join(DRILLS)}")
        elif isinstance(value, bool) or not str(value).isdecimal() or int(value) < 1:
            faults.append(f"{TARGETS}: {name}: {value!r} is not a number of seconds, at least 1")
        else:
            found[name] = int(value)
    if faults:
        raise ValueError("\n".join(faults))
    return found


def confirm_fault(given: Any, federation: str) -> str:
    """Why a drill is not confirmed; empty if it is."""
    if given == federation:
        return ""
    said = f"is {given!r}" if given else "is not set"
    return (
        f"{CONFIRM} {said}, and a drill breaks the federation {federation} on purpose. Confirm it with -e {CONFIRM}={federation}, "
        "or look at the plan with --check"
    )
