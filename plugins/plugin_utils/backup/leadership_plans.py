# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a copy, or a failover, begins with: the term that follows from the records of both hubs, and why it is refused. Pure."""

from __future__ import annotations

import dataclasses

from .leadership import ACTIVE, FENCED, STANDBY, Term, contradiction, refusal, refusal_by_peer


@dataclasses.dataclass(frozen=True)
class CopyPlan:
    """What a copy does.

    Attributes:
        number: the term.
        fence: the host to fence first; empty for none.
        fault: why nothing is copied; fencing is done nevertheless.
    """

    number: int
    fence: str = ""
    fault: str = ""


def copy_plan(hub: str, standby: str, own: Term | None, other: Term | None) -> CopyPlan:
    """What is to be done before the hub is copied to its standby.

    Args:
        hub: inventory name of the host that is to be copied.
    """
    number = max(own.number if own else 1, other.number if other and other.state != ACTIVE else 1)
    if own is not None and own.state != ACTIVE:
        return CopyPlan(own.number, fault=refusal(hub, own))
    if other is None or other.state != ACTIVE:
        return CopyPlan(number)
    if own is None or own.number < other.number:
        return CopyPlan(other.number, hub, refusal_by_peer(hub, own, standby, other))
    if own.number == other.number:
        return CopyPlan(own.number, fault=contradiction(hub, standby, own.number))
    return CopyPlan(own.number, standby)


@dataclasses.dataclass(frozen=True)
class Failover:
    """What a failover does.

    Attributes:
        number: the new term, or that of a failover that is completed.
        fence: whether the hub is stopped.
        copy: whether the hub is copied once more when it is stopped.
        promote: whether the standby begins to serve; otherwise it does already.
        fault: why it is refused.
    """

    number: int
    fence: bool = False
    copy: bool = False
    promote: bool = False
    fault: str = ""


def failover_plan(hub: str, standby: str, own: Term | None, other: Term | None, *, reached: bool, runs: bool = False) -> Failover:
    """What a failover has to do.

    Args:
        hub: inventory name of the host that has served.
        standby: the one that is to serve.
        own: the record of the hub; None for none, or one that cannot be read.
        reached: whether the hub's cluster answers.
        runs: whether a hub whose record says that it is fenced is not stopped: the fence was interrupted, or someone started it again.
    """
    before, there = own.number if own else 0, other.number if other else 0
    if other is not None and other.state == ACTIVE:
        if own is not None and own.state == ACTIVE and before == there:
            return Failover(there, fault=contradiction(hub, standby, there))
        if own is not None and own.state == ACTIVE and before > there:
            return Failover(there, fault=f"{standby} claims to serve in term {there}, and {hub} serves in a newer one, {before}. Run "
                                         "federated.flower.standby first: it fences and copies")
        return Failover(there, fence=reached and (own is None or own.state == ACTIVE or (own.state == FENCED and runs)))
    if reached:
        if own is not None and own.state == STANDBY:
            return Failover(there, fault=f"{hub} is a standby itself, of {own.serves}: it cannot hand over. Check the groups of the inventory")
        number = max(before, there + 1) if own is not None and own.state == FENCED else max(before, there) + 1
        return Failover(number, fence=True, copy=True, promote=True)
    if other is None or not other.copied:
        return Failover(there, fault=f"{standby} has no complete copy of {hub}, whose cluster does not answer: the failover "
                                     "cannot continue. Restore a backup (federated.flower.restore)")
    if other.state == FENCED:
        return Failover(there, fault=f"{standby} was fenced in term {there}, and has no copy of what {other.serves} did since. Restore a backup "
                                     "(federated.flower.restore)")
    return Failover(there + 1, promote=True)


def recorded_claim(hub: str, *records: Term | None) -> str:
    """The uid that records have; empty where it is not known.

    Args:
        hub: inventory name of the hub that serves.
        records: of both hosts, that of the standby first: it is written when a copy is complete.
    """
    return next((one.hub_claim for one in records if one is not None and one.serves == hub and one.hub_claim), "")


def volume_error(hub: str, standby: str, known: str, live: str, there: Term | None) -> str:
    """Why a hub is not copied over what its standby has: a sentence; empty if it may be.

    Args:
        known: what C(recorded_claim) found.
        live: what C(hub_pair.End.claim_uid) is.
    """
    if not known or known == live:
        return ""
    use = ""
    if there is not None and there.state == STANDBY and there.copied:
        use = f"If the copy of {there.copied} on {standby} is right, use it: fail over with -e flower_failover_hub_lost=true. "
    return (
        f"{hub} has another volume for its database than before, which may be empty or older, so it does not replace the copy on {standby}. {use}If the "
        f"data on {hub} is correct, for example after its volume was moved: -e flower_standby_accept_volumes=true"
    )
