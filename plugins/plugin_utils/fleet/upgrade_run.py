# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One run of an upgrade: what it knows of the hub and the sites, when it must stop, and how it reports that. Pure.

The record on the hub (C(upgrade_record)) has what ran before the upgrade and how far it is at each place. Every step can be repeated, so whenever a
control node dies, the next run begins with the hub again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import flower_versions
from .flower_versions import Pair, Versions, differs, unreadable_since
from .upgrade_record import WAIVED, Record

_AGAIN = "Correct the cause and run federated.flower.upgrade again"


@dataclass
class Hub:
    """The hub in this run.

    Attributes:
        live: what ran there when this run began.
        wanted: what is to run there.
        release: the release of the SuperLink when this run began; empty if it is not known.
        begun: whether an earlier run began with the hub and its end is open.
        error: why it is not ready with what is wanted; empty if it is.
        never_started: whether a SuperLink was never started with the image that is wanted.
        offline: SuperNodes that were online before and are not now.
    """

    live: Versions
    wanted: Versions
    release: str = ""
    begun: bool = False
    error: str = ""
    never_started: bool = False
    offline: Sequence[str] = ()

    @property
    def changes(self) -> bool:
        """Whether its release or its images change."""
        return differs(self.live, self.wanted) or self.begun

    def unreadable_since(self, former: Versions) -> str:
        """See C(flower_versions.unreadable_since)."""
        return unreadable_since(former["version"], self.release, self.wanted["version"], never_started=self.never_started)

    def can_go_back(self, former: Versions) -> bool:
        """Whether it can be rolled back to what ran before: only if its database can still be opened."""
        return bool(self.error and self.changes and former["workloads"] and not self.unreadable_since(former))

    def stopped(self, record: Record, rollback_error: str = "") -> str:
        """Why the upgrade stops before the sites, and what to do; empty if it does not.

        Args:
            record: of the upgrade.
            rollback_error: why the hub is not ready after it was rolled back, if it was and it is not.
        """
        if not self.error and not self.offline:
            return ""
        former, wanted, again = record["hub"]["was"], self.wanted["version"], f"{_AGAIN}."
        release = former["version"]
        if not self.error:
            why = f"the SuperLink runs {wanted}, and these SuperNodes, which were online before, are not online: {', '.join(self.offline)}"
            again = "Check federated.flower.status, then run federated.flower.upgrade again: it continues with the sites."
        elif not self.changes or not former["workloads"]:
            why = f"the hub is not ready: {self.error}"
        elif unreadable := self.unreadable_since(former):
            why = (
                f"the hub does not start with {wanted}: {self.error}. The hub is not rolled back: its SuperLink was started with {unreadable}, or may have "
                f"been, so its database may have the format of {unreadable}, which {release} cannot open"
            )
            lost = "this cannot be undone: no backup was written (flower_upgrade_backup)"
            rest = f"restore the backup {record['backup']} (federated.flower.restore); later runs are lost"
            again += f" Otherwise: {lost if record['backup'] in ('', WAIVED) else rest}."
        elif rollback_error:
            why = f"{self.error}. It was rolled back to {release}, and is not healthy: {rollback_error}"
        else:
            safe = "The SuperLink was not started with it" if self.never_started else "Its database has the same format for both"
            why = f"{self.error}. {safe}, so the hub was rolled back: it runs {release} again, and its SuperNodes are online"
        return f"{why}. No site was upgraded. {again}"


@dataclass
class UpgradeRun:
    """The fleet in this run.

    Attributes:
        hub: the hub.
        waves: the sites, in the order of the upgrade.
        sites: site -> what ran there when this run began, and what is to run.
        by_hand: sites that get files, which their own people apply.
        changes: sites whose release or images change.
        most_failed: how many sites may fail.
        failed: site -> why it failed, or takes no part.
        rolled_back: site -> why it could not be rolled back; empty if it was.
    """

    hub: Hub
    waves: Sequence[Sequence[str]] = ()
    sites: Mapping[str, Pair] = field(default_factory=dict)
    by_hand: frozenset[str] = frozenset()
    changes: frozenset[str] = frozenset()
    most_failed: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    rolled_back: dict[str, str] = field(default_factory=dict)

    def faults(self, host: str, error: str, *, lacks_backup: bool) -> list[str]:
        """Why the upgrade must not begin: sentences that name host, variable and remedy.

        Args:
            host: inventory name of the hub.
            error: why nothing is known of runs, if that is so.
            lacks_backup: whether a backup is wanted and cannot be written.
        """
        hub, failed = self.hub, self.failed
        found = flower_versions.faults(host, (hub.live, hub.wanted), self.sites, self.by_hand)
        if len(failed) > self.most_failed:
            found.append(
                f"{len(failed)} of {len(self.sites) + len(failed)} sites cannot be upgraded: {'; '.join(failed.values())}. Repair them, or "
                f"upgrade the others with -e flower_upgrade_max_failed={len(failed)}"
            )
        if hub.changes and not hub.begun and lacks_backup:
            found.append(
                f"{host}: flower_upgrade_backup: an upgrade of the SuperLink changes its database, and only a backup can undo that. Set "
                "flower_backup_directory and flower_backup_recipients, or upgrade without one: -e flower_upgrade_backup=false"
            )
        if error and not hub.begun:
            found.append(f"{host}: the SuperLink does not answer, so runs cannot be listed: {error} Repair it with federated.flower.site first")
        return found

    def too_many_failed(self, number: int) -> bool:
        """Whether more sites have failed than may, up to a wave; the first has number 1."""
        later = {site for wave in self.waves[number:] for site in wave}
        return sum(site not in later for site in self.failed) > self.most_failed

    def to_roll_back(self, record: Record, number: int, deployed: Sequence[str]) -> list[str]:
        """Those of the deployed sites of a wave that go back: all if too many failed, and only where something else ran before.

        A bundle stays: its people may have applied it.
        """
        chosen = [site for site in deployed if site not in self.by_hand and (self.too_many_failed(number) or site in self.failed)]
        former = {site: record["sites"][site]["was"] for site in chosen}
        return [site for site in chosen if former[site]["workloads"] and differs(former[site], self.sites[site][1])]

    def site_result(self, record: Record, site: str) -> dict[str, Any] | None:
        """The result of a site of a wave that failed or was rolled back; None for others."""
        why, error = self.failed.get(site, ""), self.rolled_back.get(site)
        if error is None:
            return {"changed": False, "failed": True, "msg": why} if why else None
        release = record["sites"][site]["was"]["version"]
        end = f"and could not be rolled back to {release}: {error}" if error else f"it runs {release} again"
        return {"changed": True, "failed": bool(why or error), "msg": f"{(why or f'{site}: its wave failed').rstrip('.')}; {end}"}

    def stopped(self, record: Record, number: int, *, has_begun: bool) -> str:
        """Why a wave stops the upgrade, and what to do; empty if it does not."""
        if not self.too_many_failed(number):
            return ""
        results = [found for site in self.waves[number - 1] if (found := self.site_result(record, site))]
        words = " ".join(f"{one['msg'].rstrip('.')}." for one in results)
        untouched = ", ".join(site for later in self.waves[number if has_begun else number - 1 :] for site in later)
        rest = f" Not touched: {untouched}." if untouched else ""
        return (
            f"wave {number} of {len(self.waves)} {'failed, and the upgrade stops' if has_begun else 'does not start'}: {words}{rest} {_AGAIN}: it continues "
            f"with this wave. flower_upgrade_max_failed ({self.most_failed}) is the number of sites that may fail."
        )

    @property
    def end(self) -> str:
        """How an upgrade of all waves ended."""
        version = self.hub.wanted["version"]
        if not self.failed:
            return f"the upgrade to {version} is complete"
        return f"the hub runs {version}; {', '.join(self.failed)} does not. Correct the reported faults, and run federated.flower.upgrade again"
