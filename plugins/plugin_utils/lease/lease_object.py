# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lease of a fleet: a Lease on the hub that says who is changing the fleet now. Pure.

The object exists while someone holds it; who returns it deletes it. Its holder renews it, and a holder that was killed loses it
C(SECONDS) after the last time.

When it has ended is judged by one clock, the hub's: the holder writes the hub's time, as its API server states it in every answer, and
so does who compares. Where that time is not known, and besides, a lease has ended that did not move for that long while it was watched, as
with the leader election of Kubernetes' own client (client-go, C(tools/leaderelection)).
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..base.labels import record_labels
from ..base.people import who_where

Object = Mapping[str, Any]

API, KIND = "coordination.k8s.io/v1", "Lease"
NAME = "flower-lease"
COMPONENT = "lease"

SECONDS = 30  # after the last renewal
RENEW = 10.0  # seconds between renewals: two of them can fail
_SLACK = 2  # seconds by which what is known of the hub's clock may be wrong, of two that look at it together
_TIME = "%Y-%m-%dT%H:%M:%S.%fZ"  # MicroTime of Kubernetes, UTC


def identity(facts: Mapping[str, Any], run: str) -> str:
    """What C(spec.holderIdentity) has: who, with what, and a text that no other run has, at the end.

    Args:
        facts: of the run of Ansible, see C(actions/run_facts.py).
        run: what tells this run from all others on its machine.
    """
    who = facts["who"]
    job = f"job {who['awx_job']}" if who.get("awx_job") else ""
    options = [f"--{name} {value}" for name, value in facts["options"].items()]
    return ", ".join(filter(None, (who_where(who), job, " ".join([facts["playbook"], *options]), run)))


def holder(lease: Object | None) -> str:
    """Identity of the holder; empty if there is none."""
    return ((lease or {}).get("spec") or {}).get("holderIdentity") or ""


def words(lease: Object) -> str:
    """Who holds it: C(jane@laptop, job 12, federated.flower.site)."""
    shown, _comma, run = holder(lease).rpartition(", ")
    return shown or run or "nobody"


def since(lease: Object) -> str:
    """Since when it is held: ISO 8601, UTC, in seconds; empty if the lease does not say it."""
    time = _time(lease, "acquireTime")
    return time.isoformat(timespec="seconds") if time else ""


def taken(
    live: Object | None, namespace: str, federation: str, identity: str, now: datetime.datetime
) -> dict[str, Any]:
    """The lease as a new holder writes it.

    Args:
        live: the one that has ended; None if there is none.
        namespace: that of the hub.
        federation: its name.
        identity: the new holder's.
        now: the hub's time.
    """
    time = now.astimezone(datetime.timezone.utc).strftime(_TIME)
    meta = {"name": NAME, "namespace": namespace, "labels": record_labels(federation, NAME, COMPONENT)}
    return {
        "apiVersion": API,
        "kind": KIND,
        "metadata": dict(live["metadata"]) if live else meta,
        "spec": {
            "holderIdentity": identity,
            "leaseDurationSeconds": SECONDS,
            "acquireTime": time,
            "renewTime": time,
            "leaseTransitions": int(((live or {}).get("spec") or {}).get("leaseTransitions") or 0) + bool(live),
        },
    }


def renewed(live: Object, now: datetime.datetime) -> dict[str, Any]:
    """The lease as its holder writes it again.

    Args:
        live: the lease.
        now: the hub's time.
    """
    time = now.astimezone(datetime.timezone.utc).strftime(_TIME)
    return {**live, "apiVersion": API, "kind": KIND, "spec": {**live["spec"], "renewTime": time}}


def left(lease: Object, now: datetime.datetime) -> float:
    """Seconds until a lease ends unless it is renewed, by the hub's clock; negative when it has ended.

    Args:
        lease: the lease.
        now: the hub's time.
    """
    time = _time(lease, "renewTime") or _time(lease, "acquireTime")
    return (time - now).total_seconds() + _seconds(lease) + _SLACK if time else 0.0


def _seconds(lease: Object) -> int:
    return int((lease.get("spec") or {}).get("leaseDurationSeconds") or SECONDS)


def _time(lease: Object, name: str) -> datetime.datetime | None:
    text = (lease.get("spec") or {}).get(name)
    try:
        return datetime.datetime.strptime(str(text), _TIME).replace(tzinfo=datetime.timezone.utc)
    except ValueError:  # someone else wrote it
        return None


@dataclass
class Watch:
    """What is seen of a lease while it is waited for."""

    _version: str = ""
    _since: float = 0.0

    def ended(self, lease: Object, now: datetime.datetime | None, clock: float) -> bool:
        """Whether its holder has lost it. Call it with every look.

        Args:
            lease: the lease as it is.
            now: the hub's time; None if it is not known.
            clock: this machine's monotonic clock, in seconds.
        """
        meta = lease["metadata"]
        version = f"{meta.get('uid')}/{meta.get('resourceVersion')}"
        if version != self._version:
            self._version, self._since = version, clock
        if not holder(lease) or clock - self._since > _seconds(lease) + _SLACK:
            return True
        return now is not None and left(lease, now) <= 0
