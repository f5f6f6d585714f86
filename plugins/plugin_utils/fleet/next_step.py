# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The next step of an upgrade. Pure: the record on the hub and the facts of this run in, one step out.

The record (C(upgrade_record)) has what ran before the upgrade and how far it is at each place; the facts have what this run of the playbook has
done. Every step can be repeated, so whenever a control node dies, the next run begins with the same question.

The hub comes first, since SuperNodes are never newer than their SuperLink. A wave begins when the one before has ended, and is rolled back if more sites
failed than may fail.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .flower_versions import Pair, Versions, differs
from .rollback import unreadable_since
from .upgrade_record import WAIVED, Record

DEPLOY_HUB = "deploy_hub"
ROLL_BACK_HUB = "roll_back_hub"
PULL = "pull"
DEPLOY = "deploy"
CHECK = "check"
ROLL_BACK = "roll_back"
STOP = "stop"
END = "end"

WORDS = {
    DEPLOY_HUB: "deploy the hub, and wait for it and its SuperNodes",
    ROLL_BACK_HUB: "roll the hub back",
    PULL: "pull the new images",
    DEPLOY: "deploy the sites",
    CHECK: "check the sites",
    ROLL_BACK: "roll the sites back",
}

_AGAIN = "Correct the cause and run federated.flower.upgrade again"


@dataclass(frozen=True)
class Step:
    """The next step.

    Attributes:
        name: one of the names above. C(STOP) ends the upgrade with an error, C(END) without one.
        sites: the sites that it concerns.
        why: for people: how the upgrade ended.
    """

    name: str
    sites: tuple[str, ...] = ()
    why: str = ""

    @property
    def words(self) -> str:
        """What is done, for people."""
        return WORDS[self.name] + (f": {', '.join(self.sites)}" if self.sites else "")


@dataclass(frozen=True)
class Hub:
    """The hub in this run.

    Attributes:
        live: what ran there when this run began.
        wanted: what is to run there.
        release: the release of the SuperLink when this run began; empty if it is not known.
        begun: whether an earlier run began with the hub and its end is open.
        error: why it is not ready with what is wanted; empty if it is, None before it was deployed.
        never_started: whether a SuperLink was never started with the image that is wanted.
        offline: SuperNodes that were online before and are not now.
        rollback_error: why the hub is not ready after it was rolled back; empty if it is, None if it was not rolled back.
    """

    live: Versions
    wanted: Versions
    release: str = ""
    begun: bool = False
    error: str | None = None
    never_started: bool = False
    offline: Sequence[str] = ()
    rollback_error: str | None = None

    @property
    def changes(self) -> bool:
        """Whether its release or its images change."""
        return differs(self.live, self.wanted) or self.begun


@dataclass(frozen=True)
class Facts:
    """This run of the upgrade.

    Attributes:
        hub: the hub.
        waves: the sites, in the order of the upgrade.
        sites: site -> what ran there when this run began, and what is to run.
        by_hand: sites that get files, which their own people apply.
        changes: sites whose release or images change.
        most_failed: how many sites may fail.
        failed: site -> why it failed, or takes no part.
        pulled: sites whose nodes were asked to pull the new images.
        deployed: sites that were deployed.
        checked: sites that were checked after that.
        rolled_back: site -> why it could not be rolled back; empty if it was.
    """

    hub: Hub
    waves: Sequence[Sequence[str]] = ()
    sites: Mapping[str, Pair] = field(default_factory=dict)
    by_hand: frozenset[str] = frozenset()
    changes: frozenset[str] = frozenset()
    most_failed: int = 0
    failed: Mapping[str, str] = field(default_factory=dict)
    pulled: frozenset[str] = frozenset()
    deployed: frozenset[str] = frozenset()
    checked: frozenset[str] = frozenset()
    rolled_back: Mapping[str, str] = field(default_factory=dict)


def next_step(record: Record, facts: Facts) -> Step:
    """The next step.

    Args:
        record: of the upgrade, as on the hub; it has every site of the waves.
        facts: what this run knows besides.
    """
    step = _hub_step(record, facts.hub)
    for number, wave in enumerate(facts.waves, 1):
        step = step or _wave_step(record, facts, number, wave)
    version = facts.hub.wanted["version"]
    end = f"the hub runs {version}; {', '.join(facts.failed)} does not. Correct what is reported of them, and run federated.flower.upgrade again"
    return step or Step(END, why=end if facts.failed else f"the upgrade to {version} is complete")


def _hub_step(record: Record, hub: Hub) -> Step | None:
    """What is left to be done at the hub before the sites: deploy it, and roll it back if its database can still be opened."""
    former, wanted = record["hub"]["was"], hub.wanted["version"]
    release = former["version"]
    if hub.error is None:
        return Step(DEPLOY_HUB)
    if not hub.error and not hub.offline:
        return None
    unreadable = unreadable_since(release, hub.release, wanted, never_started=hub.never_started)
    again = f"{_AGAIN}."
    if not hub.error:
        why = f"the SuperLink runs {wanted}, and these SuperNodes, which were online before, are not online: {', '.join(hub.offline)}"
        again = "Look at federated.flower.status, then run federated.flower.upgrade again: it continues with the sites."
    elif not hub.changes or not former["workloads"]:
        why = f"the hub is not ready: {hub.error}"
    elif unreadable:
        why = (
            f"the hub does not start with {wanted}: {hub.error}. The hub is not rolled back: its SuperLink was started with {unreadable}, or may have "
            f"been, so its database may have the format of {unreadable}, which {release} cannot open"
        )
        lost = "there is no way back: no backup was written (flower_upgrade_backup)"
        rest = f"go back with the backup {record['backup']} and federated.flower.restore; runs since then are lost with it"
        again += f" Otherwise: {lost if record['backup'] in ('', WAIVED) else rest}."
    elif hub.rollback_error is None:
        return Step(ROLL_BACK_HUB)
    elif hub.rollback_error:
        why = f"{hub.error}. It was rolled back to {release}, and is not healthy: {hub.rollback_error}"
    else:
        safe = "The SuperLink was not started with it" if hub.never_started else "Its database has the same format for both"
        why = f"{hub.error}. {safe}, so the hub was rolled back: it runs {release} again, and its SuperNodes are online"
    return Step(STOP, why=f"{why}. No site was upgraded. {again}")


def _wave_step(record: Record, facts: Facts, number: int, wave: Sequence[str]) -> Step | None:
    """What is left to be done for a wave before the next one."""
    if sites := [site for site in wave if site in facts.changes and site not in facts.pulled]:
        return Step(PULL, tuple(sites))
    deployed = [site for site in wave if site in facts.deployed]
    later = {site for one in facts.waves[number:] for site in one}
    too_many = sum(site not in later for site in facts.failed) > facts.most_failed
    if too_many and not deployed:
        return Step(STOP, why=_stopped(record, facts, number))
    if sites := [site for site in wave if site not in facts.failed and site not in facts.deployed]:
        return Step(DEPLOY, tuple(sites))
    if sites := [site for site in deployed if site not in facts.checked]:
        return Step(CHECK, tuple(sites))
    chosen = [site for site in deployed if too_many or site in facts.failed]
    if sites := [site for site in chosen if _can_go_back(record, facts, site) and site not in facts.rolled_back]:
        return Step(ROLL_BACK, tuple(sites))
    return Step(STOP, why=_stopped(record, facts, number)) if too_many else None


def _can_go_back(record: Record, facts: Facts, site: str) -> bool:
    """Whether something else ran there before. A bundle stays: its people may have applied it."""
    former = record["sites"][site]["was"]
    return site not in facts.by_hand and bool(former["workloads"]) and differs(former, facts.sites[site][1])


def site_result(record: Record, facts: Facts, site: str) -> dict[str, Any] | None:
    """The result of a site of a wave that failed or was rolled back; None for others."""
    why, error = facts.failed.get(site, ""), facts.rolled_back.get(site)
    if error is None:
        return {"changed": False, "failed": True, "msg": why} if why else None
    release = record["sites"][site]["was"]["version"]
    end = f"and could not be rolled back to {release}: {error}" if error else f"it runs {release} again"
    return {"changed": True, "failed": bool(why or error), "msg": f"{(why or f'{site}: its wave failed').rstrip('.')}; {end}"}


def _stopped(record: Record, facts: Facts, number: int) -> str:
    """Why a wave stops the upgrade, and what to do."""
    wave = facts.waves[number - 1]
    has_begun = any(site in facts.deployed for site in wave)
    results = [found for site in wave if (found := site_result(record, facts, site))]
    words = " ".join(f"{one['msg'].rstrip('.')}." for one in results)
    untouched = ", ".join(site for later in facts.waves[number if has_begun else number - 1 :] for site in later)
    rest = f" Not touched: {untouched}." if untouched else ""
    return (
        f"wave {number} of {len(facts.waves)} {'failed, and the upgrade stops' if has_begun else 'does not begin'}: {words}{rest} {_AGAIN}: it continues "
        f"with this wave. flower_upgrade_max_failed ({facts.most_failed}) is the number of sites that may fail."
    )
