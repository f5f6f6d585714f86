# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The next step of a rotation of the CA. Pure: from facts to a step, or to a wait and its reason.

All state is in the clusters (C(ca_state)); what SuperNodes accepted counts for the present run only. Every step writes one object and
can be repeated, so a rotation that was interrupted continues with the next run.

Sites trust a CA before its certificates are served, and as long as they are. A site that cannot be tested stops the rotation in its phase.
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
TEST_SITES = "test_sites"
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
    TEST_SITES: "deploy the CA bundle to every site and test it with every SuperNode",
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
        valid: whether it may be served: valid by now, with all names.
        served: serial that the gateway serves; empty when it could not be read.
    """

    serial: str = ""
    issuer: str = BY_OTHER
    valid: bool = True
    served: str = ""


@dataclass(frozen=True)
class Site:
    """What a site reported in this run.

    Attributes:
        trust: the CA bundle in its cluster, PEM; None when it was not tested.
        accepts: serials that all of its SuperNodes accepted in a new connection.
        trouble: why it did not accept all; empty when it did, or was not tested.
        exempt: why it need not be tested; empty when it must.
    """

    trust: str | None = None
    accepts: frozenset[str] = frozenset()
    trouble: str = ""
    exempt: str = ""


@dataclass(frozen=True)
class Facts:
    """Everything that the next step depends on, besides the CA.

    Attributes:
        now: the present.
        requested: whether a rotation was requested, or is due.
        grace: how long the previous CA stays trusted.
        published: what the hub publishes for sites to trust, PEM.
        leaf: the gateway's certificate.
        test_leaf: the certificate under the test name.
        current_valid: whether the current CA has not expired. Certificates of an expired one are not accepted.
        sites: name -> what it reported.
        force: whether to go on without sites that cannot be tested.
    """

    now: datetime.datetime
    requested: bool = False
    grace: datetime.timedelta = datetime.timedelta()
    published: str = ""
    leaf: Leaf = field(default_factory=Leaf)
    test_leaf: Leaf = field(default_factory=Leaf)
    current_valid: bool = True
    sites: Mapping[str, Site] = field(default_factory=dict)
    force: bool = False


@dataclass(frozen=True)
class Step:
    """The next step.

    Attributes:
        name: one of the names above.
        why: for people: what the step does, or what is waited for.
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


def needed_serials(state: State, facts: Facts) -> frozenset[str]:
    """Serials that every SuperNode must accept in the current phase."""
    if state.phase != ca.ADDING:
        return frozenset({facts.leaf.serial})
    # An expired certificate is never accepted, and that is why the CA is replaced.
    alive = facts.current_valid and facts.leaf.valid and facts.leaf.issuer == BY_CURRENT
    return frozenset({facts.test_leaf.serial, *([facts.leaf.serial] if alive else [])})


def next_step(state: State, facts: Facts) -> Step:
    """The next step, from the CA as in its Secret and what else is known."""
    if state.phase == ca.IDLE:
        return _step(BEGIN) if facts.requested else _step(DONE)
    return _hub(state, facts) or _sites(state, facts) or _advance(state, facts)


def _hub(state: State, facts: Facts) -> Step | None:
    """What is missing on the hub in this phase. The CA bundle comes first: sites that join now must get all of it."""
    if facts.published != state.bundle:
        return _step(PUBLISH)
    # Certificates of an expired CA are not accepted, and a lost one cannot sign: then the old certificate stays
    # until the next CA signs.
    can_issue = state.phase != ca.ADDING or (facts.current_valid and bool(state.authority.current.key))
    if can_issue and (facts.leaf.issuer != BY_CURRENT or not facts.leaf.valid or not facts.leaf.serial):
        return _step(ISSUE)
    if facts.leaf.serial and facts.leaf.served != facts.leaf.serial:
        return _step(SERVE)
    if state.phase == ca.ADDING:
        if facts.test_leaf.issuer != BY_NEXT or not facts.test_leaf.valid or not facts.test_leaf.serial:
            return _step(ISSUE_NEXT)
        if facts.test_leaf.served != facts.test_leaf.serial:
            return _step(SERVE_NEXT)
    return None


def _sites(state: State, facts: Facts) -> Step | None:
    """What sites must report before the rotation may continue."""
    wanted = needed_serials(state, facts)
    open_sites = [
        (name, site)
        for name, site in sorted(facts.sites.items())
        if not site.exempt and (site.trust != state.bundle or not wanted <= site.accepts)
    ]
    if untested := tuple(name for name, site in open_sites if not site.trouble):
        return _step(TEST_SITES, sites=untested)
    if open_sites and not facts.force:
        why = "; ".join(f"{name}: {site.trouble}" for name, site in open_sites)
        return Step(WAIT, why, tuple(name for name, _site in open_sites))
    return None


def _advance(state: State, facts: Facts) -> Step:
    """The step that ends the phase, after all sites have passed it."""
    if state.phase == ca.ADDING:
        return _step(SWITCH)
    if state.phase == ca.SWITCHED:
        until = state.switched + facts.grace if state.switched else facts.now
        if facts.now < until:
            return Step(WAIT, f"waiting until {until.isoformat(timespec='seconds')}, then the previous CA is dropped", (), until)
        return _step(DROP)
    return _step(REMOVE_NEXT) if facts.test_leaf.serial else _step(FINISH)


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
        state, facts = after_step(step, state, facts, new)


def after_step(step: Step, state: State, facts: Facts, new: certificates.Issued | None = None) -> tuple[State, Facts]:
    """CA and facts after a successful step, as far as this module uses them. C(new): the CA that C(BEGIN) creates."""
    if step.name == BEGIN:
        if new is None:
            raise ValueError("a step that creates a CA needs one")
        return ca.begin(state, new, facts.now), replace(facts, test_leaf=Leaf(), requested=False)
    if step.name == SWITCH:
        return ca.switch(state, facts.now), replace(facts, leaf=replace(facts.leaf, issuer=BY_OTHER), current_valid=True)
    if step.name == DROP:
        return ca.drop(state), facts
    if step.name == FINISH:
        return ca.finish(state), replace(facts, requested=False)
    if step.name == PUBLISH:
        return state, replace(facts, published=state.bundle)
    if step.name == ISSUE:
        return state, replace(facts, leaf=Leaf(f"leaf of {state.started or state.phase}", BY_CURRENT, True, facts.leaf.served))
    if step.name == SERVE:
        return state, replace(facts, leaf=replace(facts.leaf, served=facts.leaf.serial))
    if step.name == ISSUE_NEXT:
        return state, replace(facts, test_leaf=Leaf("next", BY_NEXT, True, facts.test_leaf.served))
    if step.name == SERVE_NEXT:
        return state, replace(facts, test_leaf=replace(facts.test_leaf, served=facts.test_leaf.serial))
    if step.name == REMOVE_NEXT:
        return state, replace(facts, test_leaf=Leaf())
    accepting = Site(state.bundle, needed_serials(state, facts))
    return state, replace(facts, sites={**facts.sites, **dict.fromkeys(step.sites, accepting)})
