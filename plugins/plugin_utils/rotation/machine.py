# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a CA rotation does next. Pure: facts in, one step or a wait with its reason out.

The only state is in the clusters (C(state)), and what sites accepted is valid for one run only. Every
step writes one object, and can be repeated; so whenever a control node dies, the next one starts with
the same question and reaches the same result.

The order is that of the only safe path: trust is widened before anything is served that needs it, and narrowed after
nothing is served that needs it. A site that cannot be asked stops the rotation in its phase.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ..pki import certificates
from . import ca_state as ca
from .ca_state import State

BEGIN = "begin"
PUBLISH = "publish"
ISSUE = "issue"
SERVE = "serve"
ISSUE_NEXT = "issue_next"
SERVE_NEXT = "serve_next"
ASK = "ask"
SWITCH = "switch"
DROP = "drop"
REMOVE_NEXT = "remove_next"
FINISH = "finish"
WAIT = "wait"
DONE = "done"

WORDS = {
    BEGIN: "create the next CA",
    PUBLISH: "publish the CA bundle",
    ISSUE: "issue the gateway's certificate from the current CA",
    SERVE: "serve it",
    ISSUE_NEXT: "issue a certificate of the next CA for the test name",
    SERVE_NEXT: "serve it under that name",
    ASK: "deploy the CA bundle to every site and test it with every SuperNode",
    SWITCH: "let the next CA sign",
    DROP: "remove the previous CA from the CA bundle",
    REMOVE_NEXT: "remove the test certificate",
    FINISH: "end the rotation",
    DONE: "nothing",
}

# Who issued a certificate.
BY_CURRENT, BY_NEXT, BY_OTHER = "current", "next", "other"


@dataclass(frozen=True)
class Leaf:
    """A certificate of the gateway.

    Attributes:
        serial: of the certificate in its Secret, hex; empty when there is none.
        issuer: C(BY_CURRENT), C(BY_NEXT) or C(BY_OTHER).
        good: whether it may be served: not expired, with all names.
        served: serial that the gateway serves; empty when it could not be read.
    """

    serial: str = ""
    issuer: str = BY_OTHER
    good: bool = True
    served: str = ""


@dataclass(frozen=True)
class Site:
    """What a site reported in this run.

    Attributes:
        trust: the certificates in its cluster that its SuperNodes trust, PEM; None when it was not asked.
        accepts: serials that each of its SuperNodes received in a new connection and accepted.
        trouble: why it reported no more than that; empty when there are no faults, or when it was not asked.
        excused: why it need not be asked; empty when it must.
    """

    trust: str | None = None
    accepts: frozenset[str] = frozenset()
    trouble: str = ""
    excused: str = ""


@dataclass(frozen=True)
class Facts:
    """Everything that the next step depends on, besides the CA.

    Attributes:
        now: the present.
        asked: whether a rotation is requested or due.
        grace: how long the previous CA stays trusted.
        published: what the hub publishes for sites to trust, PEM.
        leaf: the gateway's certificate.
        extra: the certificate under the test name.
        current_good: whether the current CA has not expired. Certificates of an expired one are not accepted.
        sites: name -> what it reported.
        force: skip sites that cannot be asked.
    """

    now: datetime.datetime
    asked: bool = False
    grace: datetime.timedelta = datetime.timedelta()
    published: str = ""
    leaf: Leaf = field(default_factory=Leaf)
    extra: Leaf = field(default_factory=Leaf)
    current_good: bool = True
    sites: Mapping[str, Site] = field(default_factory=dict)
    force: bool = False


@dataclass(frozen=True)
class Step:
    """The next step.

    Attributes:
        name: one of the names above.
        why: for people: what it is waiting for, or for what the step is good.
        sites: names of the affected sites.
        until: when waiting ends without a run, or None.
    """

    name: str
    why: str = ""
    sites: tuple[str, ...] = ()
    until: datetime.datetime | None = None

    @property
    def is_blocked(self) -> bool:
        """Whether it is a wait that ends only when someone acts"""
        return self.name == WAIT and self.until is None


def needed(state: State, facts: Facts) -> frozenset[str]:
    """Serials that every SuperNode must accept in the current phase."""
    if state.phase != ca.ADDING:
        return frozenset({facts.leaf.serial})
    # An expired certificate is never accepted, and that is why the CA is replaced.
    alive = facts.current_good and facts.leaf.good and facts.leaf.issuer == BY_CURRENT
    return frozenset({facts.extra.serial, *([facts.leaf.serial] if alive else [])})


def next_step(state: State, facts: Facts) -> Step:
    """The next step, from the CA as in its Secret and what else is known."""
    if state.phase == ca.IDLE:
        return _step(BEGIN) if facts.asked else _step(DONE)
    return _hub(state, facts) or _sites(state, facts) or _advance(state, facts)


def _hub(state: State, facts: Facts) -> Step | None:
    """What is missing on the hub in this phase. The CA bundle comes first: sites that join now must get all of it."""
    if facts.published != state.bundle:
        return _step(PUBLISH)
    # Certificates of an expired CA are not accepted, and a lost one cannot sign: then the old certificate stays
    # until the next CA signs.
    able = state.phase != ca.ADDING or (facts.current_good and bool(state.authority.current.key))
    if able and (facts.leaf.issuer != BY_CURRENT or not facts.leaf.good or not facts.leaf.serial):
        return _step(ISSUE)
    if facts.leaf.serial and facts.leaf.served != facts.leaf.serial:
        return _step(SERVE)
    if state.phase == ca.ADDING:
        if facts.extra.issuer != BY_NEXT or not facts.extra.good or not facts.extra.serial:
            return _step(ISSUE_NEXT)
        if facts.extra.served != facts.extra.serial:
            return _step(SERVE_NEXT)
    return None


def _sites(state: State, facts: Facts) -> Step | None:
    """What sites must report before the rotation may continue."""
    wanted = needed(state, facts)
    open_sites = [
        (name, site)
        for name, site in sorted(facts.sites.items())
        if not site.excused and (site.trust != state.bundle or not wanted <= site.accepts)
    ]
    unasked = tuple(name for name, site in open_sites if not site.trouble)
    if unasked:
        return _step(ASK, sites=unasked)
    if open_sites and not facts.force:
        why = "; ".join(f"{name}: {site.trouble}" for name, site in open_sites)
        return Step(WAIT, why, tuple(name for name, _site in open_sites))
    return None


def _advance(state: State, facts: Facts) -> Step:
    """All have the result of this phase: start the next one."""
    if state.phase == ca.ADDING:
        return _step(SWITCH)
    if state.phase == ca.SWITCHED:
        until = state.switched + facts.grace if state.switched else facts.now
        if facts.now < until:
            return Step(WAIT, f"waiting until {until.isoformat(timespec='seconds')}, then the previous CA is dropped", (), until)
        return _step(DROP)
    return _step(REMOVE_NEXT) if facts.extra.serial else _step(FINISH)


def _step(name: str, sites: tuple[str, ...] = ()) -> Step:
    return Step(name, WORDS[name], sites)


def outlook(state: State, facts: Facts, new: certificates.Issued | None = None) -> list[Step]:
    """All steps from here to the end or to a wait, as if each of them succeeded. For check mode.

    C(new) stands for the CA that would be created; it is not shown.
    """
    steps: list[Step] = []
    while True:
        step = next_step(state, facts)
        if step.name == DONE:
            return steps
        steps.append(step)
        if step.name == WAIT:
            return steps
        state, facts = after(step, state, facts, new)


def after(step: Step, state: State, facts: Facts, new: certificates.Issued | None = None) -> tuple[State, Facts]:
    """CA and facts after a successful step, as far as this module uses them. C(new): the CA that C(BEGIN) creates."""
    if step.name == BEGIN:
        if new is None:
            raise ValueError("a step that creates a CA needs one")
        return ca.begin(state, new, facts.now), replace(facts, extra=Leaf(), asked=False)
    if step.name == SWITCH:
        return ca.switch(state, facts.now), replace(facts, leaf=replace(facts.leaf, issuer=BY_OTHER), current_good=True)
    if step.name == DROP:
        return ca.drop(state), facts
    if step.name == FINISH:
        return ca.finish(state), replace(facts, asked=False)
    if step.name == PUBLISH:
        return state, replace(facts, published=state.bundle)
    if step.name == ISSUE:
        return state, replace(facts, leaf=Leaf(f"leaf of {state.started or state.phase}", BY_CURRENT, True, facts.leaf.served))
    if step.name == SERVE:
        return state, replace(facts, leaf=replace(facts.leaf, served=facts.leaf.serial))
    if step.name == ISSUE_NEXT:
        return state, replace(facts, extra=Leaf("next", BY_NEXT, True, facts.extra.served))
    if step.name == SERVE_NEXT:
        return state, replace(facts, extra=replace(facts.extra, served=facts.extra.serial))
    if step.name == REMOVE_NEXT:
        return state, replace(facts, extra=Leaf())
    accepting = Site(state.bundle, needed(state, facts))
    return state, replace(facts, sites={**facts.sites, **dict.fromkeys(step.sites, accepting)})
