# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lease of a fleet: a Lease on the hub that says who is changing the fleet now. Pure.

The object exists while someone holds it; who returns it deletes it. Its holder renews it, and a holder that was killed loses it C(SECONDS) after the
last time, by the hub's clock: the holder writes the time that the hub's API server states in every answer, and so does who compares.

All tasks of one playbook are one holder: the end of its identity is the name of the temporary folder of the run (C(DEFAULT_LOCAL_TMP)), which Ansible
makes of its process and random letters before it forks.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from ..base.formats import user_at_host
from ..base.labels import record_labels

Object = Mapping[str, Any]

API, KIND = "coordination.k8s.io/v1", "Lease"
NAME = "flower-lease"
COMPONENT = "lease"

SECONDS = 60  # after the last renewal
RENEW = 15.0  # seconds between renewals: three of them can fail
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
    return ", ".join(filter(None, (user_at_host(who), job, " ".join([facts["playbook"], *options]), run)))


def holder(lease: Object | None) -> str:
    """Identity of the holder; empty if there is none."""
    return ((lease or {}).get("spec") or {}).get("holderIdentity") or ""


def run_of(lease: Object | None) -> str:
    """The run that holds it, see C(identity); empty if there is none."""
    return holder(lease).rpartition(", ")[2]


def describe_holder(lease: Object) -> str:
    """Who holds it: C(jane@laptop, job 12, federated.flower.site)."""
    shown, _comma, run = holder(lease).rpartition(", ")
    return shown or run or "nobody"


def name(lease: Object) -> str:
    """Name of the holder, without what it runs: C(jane@laptop)."""
    return describe_holder(lease).partition(", ")[0]


def since(lease: Object) -> str:
    """Since when it is held: ISO 8601, UTC, in seconds; empty if the lease does not say it."""
    time = _time(lease, "acquireTime")
    return time.isoformat(timespec="seconds") if time else ""


def taken(
    live: Object | None, namespace: str, federation: str, identity: str, now: datetime.datetime
) -> dict[str, Any]:
    """The lease as a new holder writes it at C(now), the hub's time. C(live): the one that has ended; None if there is none."""
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
    """The lease as its holder writes it again at C(now), the hub's time."""
    time = now.astimezone(datetime.timezone.utc).strftime(_TIME)
    return {**live, "apiVersion": API, "kind": KIND, "spec": {**live["spec"], "renewTime": time}}


def seconds_left(lease: Object, now: datetime.datetime) -> float:
    """Seconds until a lease ends unless it is renewed, by the hub's clock; not above 0 when it has ended, or has no holder.

    Args:
        now: the hub's time.
    """
    time = _time(lease, "renewTime") or _time(lease, "acquireTime")
    if time is None or not holder(lease):
        return 0.0
    return (time - now).total_seconds() + int((lease.get("spec") or {}).get("leaseDurationSeconds") or SECONDS) + _SLACK


def _time(lease: Object, field: str) -> datetime.datetime | None:
    text = (lease.get("spec") or {}).get(field)
    try:
        return datetime.datetime.strptime(str(text), _TIME).replace(tzinfo=datetime.timezone.utc)
    except ValueError:  # someone else wrote it
        return None
