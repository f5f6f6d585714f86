# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The machine in a world of plain values: what it does, and what it does after it was killed at any point."""

from __future__ import annotations

import copy
import datetime
from dataclasses import dataclass, field, replace

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates as pki
from ansible_collections.federated.flower.plugins.plugin_utils.rotation import ca_state as ca
from ansible_collections.federated.flower.plugins.plugin_utils.rotation import machine
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.authority import Authority
from ansible_collections.federated.flower.tests.unit.rows import each_row

NOW = datetime.datetime(2026, 11, 21, 12, tzinfo=datetime.timezone.utc)
HOUR = datetime.timedelta(hours=1)
CAS = [pki.make_ca(f"CA {number}", 24 * HOUR) for number in range(3)]
FIRST, SECOND = (made.certificate for made in CAS[:2])
ANY = CAS[2]


class Killed(BaseException):
    """kill -9 of the controller."""


@dataclass
class World:
    """What is in the clusters. A certificate is written (serial, PEM of its issuer)."""

    state: ca.State = field(default_factory=lambda: ca.State(Authority(CAS[0])))
    published: str = FIRST
    leaf: tuple[str, str] = ("1", FIRST)
    served: tuple[str, str] = ("1", FIRST)
    extra: tuple[str, str] | None = None
    extra_served: tuple[str, str] | None = None
    trust: dict[str, str] = field(default_factory=lambda: {"a": FIRST, "b": FIRST})
    down: set[str] = field(default_factory=set)
    serials: int = 1
    authorities: int = 1

    def serial(self) -> str:
        self.serials += 1
        return str(self.serials)

    def reachable(self) -> list[str]:
        """Sites that accept what the gateway serves."""
        return [site for site, trust in self.trust.items() if self.served[1] in trust]


@dataclass
class Controller:
    """One run of the playbook: it does step after step, and forgets what sites said when it dies."""

    world: World
    lives: int = 10**6  # writes until it is killed
    asked: bool = True
    grace: datetime.timedelta = datetime.timedelta()
    now: datetime.datetime = NOW
    force: bool = False
    said: dict[str, machine.Site] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)

    def wrote(self) -> None:
        """Called after every write of one object."""
        world = self.world
        missing = [site for site in world.trust if site not in world.reachable() and site not in world.down]
        assert not missing or self.force, f"{missing} do not trust what is served, after {self.steps}"
        self.lives -= 1
        if self.lives < 0:
            raise Killed

    def facts(self) -> machine.Facts:
        world = self.world

        def leaf(found, served):
            if found is None:
                return machine.Leaf()
            issuers = {world.state.authority.current.certificate: machine.BY_CURRENT}
            if world.state.authority.next:
                issuers[world.state.authority.next.certificate] = machine.BY_NEXT
            return machine.Leaf(found[0], issuers.get(found[1], machine.BY_OTHER), True, served[0] if served else "")

        sites = {site: self.said.get(site, machine.Site()) for site in world.trust}
        return machine.Facts(
            now=self.now,
            requested=self.asked,
            grace=self.grace,
            published=world.published,
            leaf=leaf(world.leaf, world.served),
            test_leaf=leaf(world.extra, world.extra_served),
            sites=sites,
            force=self.force,
        )

    def run(self) -> machine.Step:
        """Until the end or a wait."""
        for _turn in range(100):
            step = machine.next_step(self.world.state, self.facts())
            self.steps.append(step.name)
            if step.name in (machine.DONE, machine.WAIT):
                return step
            self.do(step)
        raise AssertionError(f"no end: {self.steps}")

    def do(self, step: machine.Step) -> None:
        world = self.world
        if step.name == machine.TEST_SITES:
            return self.ask(step)
        if step.name == machine.BEGIN:
            world.state = ca.begin(world.state, CAS[world.authorities], self.now)
            world.authorities += 1
            self.asked = False
        elif step.name == machine.SWITCH:
            world.state = ca.switch(world.state, self.now)
        elif step.name == machine.DROP:
            world.state = ca.drop(world.state)
        elif step.name == machine.FINISH:
            world.state = ca.finish(world.state)
        elif step.name == machine.PUBLISH:
            world.published = world.state.bundle
        elif step.name == machine.ISSUE:
            world.leaf = (world.serial(), world.state.authority.current.certificate)
        elif step.name == machine.SERVE:
            world.served = world.leaf
        elif step.name == machine.ISSUE_NEXT:
            world.extra = (world.serial(), world.state.authority.next.certificate)
        elif step.name == machine.SERVE_NEXT:
            world.extra_served = world.extra
        elif step.name == machine.REMOVE_NEXT:
            world.extra = world.extra_served = None
        self.wrote()

    def ask(self, step: machine.Step) -> None:
        world = self.world
        wanted = machine.needed_serials(world.state, self.facts())
        certificates = {found[0]: found[1] for found in (world.served, world.extra_served) if found}
        for site in step.sites:
            if site in world.down:
                self.said[site] = machine.Site(trouble="no route to host")
                continue
            if world.trust[site] != world.state.bundle:
                world.trust[site] = world.state.bundle
                self.wrote()
            accepts = frozenset(serial for serial in wanted if certificates.get(serial, "-") in world.trust[site])
            self.said[site] = machine.Site(world.trust[site], accepts, "" if accepts == wanted else "refused")


def site_yml(world: World) -> None:
    """What a run of site.yml does with the same objects."""
    world.published = world.state.bundle
    if world.leaf[1] != world.state.authority.current.certificate:
        world.leaf = world.served = (world.serial(), world.state.authority.current.certificate)
    for site in world.trust:
        if site not in world.down:
            world.trust[site] = world.published


FULL = [
    "begin", "publish", "issue_next", "serve_next", "test_sites", "switch", "issue", "serve", "test_sites", "drop", "publish",
    "test_sites", "remove_next", "finish", "done",
]  # fmt: skip


def ended(world: World) -> None:
    """Is the rotation over, once?"""
    assert world.state.phase == ca.IDLE
    assert world.authorities == 2, "more than one CA was made"
    assert world.state.authority.current.certificate == world.published == SECOND
    assert set(world.trust.values()) == {SECOND}
    assert world.served == world.leaf and world.leaf[1] == SECOND
    assert world.extra is None and world.extra_served is None


def test_the_whole_way():
    controller = Controller(World())
    assert controller.run().name == machine.DONE
    assert controller.steps == FULL
    ended(controller.world)


def test_nothing_is_done_that_nobody_asked_for():
    controller = Controller(World(), asked=False)
    assert controller.run().name == machine.DONE
    assert controller.steps == ["done"]


def points() -> int:
    """Number of writes of an undisturbed rotation."""
    controller = Controller(World())
    controller.run()
    return 10**6 - controller.lives


@each_row("lives", range(points() + 1))
def test_killed_after_any_write_the_next_run_comes_to_the_same_end(lives):
    world = World()
    try:
        Controller(world, lives).run()
    except Killed:
        # Whoever comes next may ask for a rotation or only go on with what is open: the open one is finished, no other begun.
        Controller(world, asked=world.state.phase == ca.IDLE and world.authorities == 1).run()
    ended(world)


@each_row("lives", range(points() + 1))
def test_site_yml_between_any_two_writes_disturbs_nothing(lives):
    world = World()
    try:
        Controller(world, lives).run()
    except Killed:
        before = copy.deepcopy(world.state)
        site_yml(world)
        assert world.state == before
        assert world.reachable() == ["a", "b"]
        Controller(world, asked=world.state.phase == ca.IDLE and world.authorities == 1).run()
    ended(world)


@each_row("lives", range(points() + 1))
def test_a_site_that_is_down_holds_the_machine_and_is_named(lives):
    """Wherever it goes down, what is served stays what it trusts; when it is back, the next run ends."""
    world = World()
    try:
        Controller(world, lives).run()
    except Killed:
        world.down = {"b"}
        waiting = Controller(world, asked=world.state.phase == ca.IDLE and world.authorities == 1)
        step = waiting.run()
        if step.name == machine.WAIT:
            assert step.is_blocked and step.sites == ("b",) and "b: no route to host" in step.why
            assert "b" in world.reachable(), "it would not find its way back"
            assert "finish" not in waiting.steps
        else:
            assert lives >= points() - 2, f"it went on without b: {waiting.steps}"  # b had said everything before
        world.down = set()
        Controller(world, asked=False).run()
    ended(world)


def test_the_step_at_which_a_site_holds_it():
    world = World(down={"b"})
    controller = Controller(world)
    step = controller.run()
    assert controller.steps == ["begin", "publish", "issue_next", "serve_next", "test_sites", "wait"]
    assert step.sites == ("b",)
    assert world.trust["a"] == FIRST + SECOND and world.trust["b"] == FIRST


def test_force_leaves_it_behind():
    world = World(down={"b"})
    controller = Controller(world, force=True)
    assert controller.run().name == machine.DONE
    assert world.trust == {"a": SECOND, "b": FIRST}


def test_an_exempt_site_is_not_asked():
    state = ca.begin(ca.State(Authority(CAS[0])), CAS[1], NOW)
    facts = machine.Facts(
        NOW,
        published=state.bundle,
        leaf=machine.Leaf("1", machine.BY_CURRENT, True, "1"),
        test_leaf=machine.Leaf("2", machine.BY_NEXT, True, "2"),
        sites={"a": machine.Site(exempt="it is denied")},
    )
    assert machine.next_step(state, facts).name == machine.SWITCH
    said = machine.Site(state.bundle, frozenset({"1"}), "supernode-0 refused 2")
    step = machine.next_step(state, replace(facts, sites={"a": said}))
    assert step.is_blocked and step.why == "a: supernode-0 refused 2"


def test_the_previous_ca_is_trusted_for_the_time_of_grace():
    world = World()
    step = Controller(world, grace=HOUR).run()
    assert step.name == machine.WAIT and not step.is_blocked
    assert step.until == NOW + HOUR and "2026-11-21T13:00:00+00:00" in step.why
    assert world.state.phase == ca.SWITCHED and set(world.trust.values()) == {FIRST + SECOND}
    assert Controller(world, asked=False, grace=HOUR, now=NOW + HOUR / 2).run().name == machine.WAIT
    assert Controller(world, asked=False, grace=HOUR, now=NOW + HOUR).run().name == machine.DONE
    ended(world)


def test_an_ended_ca_is_replaced_without_its_acceptance():
    world = World()
    controller = Controller(world)
    facts = replace(controller.facts(), current_valid=False)
    controller.facts = lambda facts=controller.facts: replace(
        facts(), current_valid=world.state.authority.current.certificate != FIRST
    )
    assert facts.requested
    assert controller.run().name == machine.DONE
    assert "issue" not in controller.steps[: controller.steps.index("switch")]
    ended(world)


def test_a_wrong_certificate_is_replaced_before_anything_is_proved():
    """Somebody put a certificate of a foreign CA into the gateway's Secret."""
    world = World(leaf=("66", "strange\n"))
    controller = Controller(world)
    assert controller.run().name == machine.DONE
    assert controller.steps[:4] == ["begin", "publish", "issue", "serve"]
    ended(world)


def test_with_a_lost_key_the_old_certificate_stays_until_the_next_ca_signs():
    world = World(state=ca.State(Authority(pki.Issued(FIRST, ""))))
    controller = Controller(world)
    assert controller.run().name == machine.DONE
    assert controller.steps == FULL
    ended(world)


def test_the_outlook_is_what_happens():
    world = World()
    said = {site: machine.Site() for site in world.trust}
    facts = replace(Controller(world).facts(), sites=said)
    steps = machine.outlook(world.state, facts, ANY)
    assert [step.name for step in steps] == FULL[:-1]
    assert all(step.why for step in steps)
    waits = machine.outlook(world.state, replace(facts, grace=HOUR), ANY)
    assert [step.name for step in waits] == FULL[: FULL.index("drop")] + ["wait"]


@each_row("lives", range(points()))
def test_the_outlook_from_anywhere_is_what_happens(lives):
    world = World()
    with pytest.raises(Killed):
        Controller(world, lives).run()
    controller = Controller(world, asked=world.state.phase == ca.IDLE and world.authorities == 1)
    steps = machine.outlook(world.state, controller.facts(), ANY)
    controller.run()
    assert [step.name for step in steps] == controller.steps[:-1]


def test_without_the_time_of_the_switch_the_grace_is_over():
    """Someone took the annotation away."""
    state = ca.State(Authority(CAS[1], None, FIRST), NOW - HOUR, None)
    leaf = machine.Leaf("2", machine.BY_CURRENT, True, "2")
    sites = {"a": machine.Site(state.bundle, frozenset({"2"}))}
    facts = machine.Facts(NOW, grace=HOUR, published=state.bundle, leaf=leaf, sites=sites)
    assert machine.next_step(state, facts).name == machine.DROP


OLD, NEW = (certificates.make_ca(name, datetime.timedelta(days=1)) for name in ("old", "new"))
old, new = OLD.certificate, NEW.certificate


def kept(state):
    """What the API server gives back after the Secret was written."""
    return ca.read(state.authority.entries(), {name: text for name, text in state.notes().items() if text})


def test_a_rotation_from_end_to_end_survives_its_secret():
    state = ca.State(Authority(OLD))
    seen = [(state.phase, state.bundle)]
    for change in (
        lambda state: ca.begin(state, NEW, NOW),
        lambda state: ca.switch(state, NOW),
        ca.drop,
        ca.finish,
    ):
        state = change(state)
        assert kept(state) == state
        seen.append((state.phase, state.bundle))
    assert seen == [
        ("idle", old),
        ("adding", old + new),
        ("switched", old + new),
        ("dropping", new),
        ("idle", new),
    ]
    assert state == ca.State(Authority(NEW))


def test_the_key_of_the_old_ca_goes_with_its_office():
    state = ca.switch(ca.begin(ca.State(Authority(OLD)), NEW, NOW), NOW)
    assert OLD.key not in state.authority.entries().values()
    assert state.switched == NOW and state.started == NOW


@each_row("change", [lambda s: ca.begin(s, NEW, NOW), lambda s: ca.switch(s, NOW), ca.drop, ca.finish])
def test_a_step_out_of_its_phase_is_refused(change):
    phases = [ca.State(Authority(OLD))]
    for step in (lambda s: ca.begin(s, NEW, NOW), lambda s: ca.switch(s, NOW), ca.drop):
        phases.append(step(phases[-1]))
    refused = 0
    for state in phases:
        try:
            change(state)
        except ca.StateError as error:
            refused += 1
            assert state.phase in str(error) and "run again" in str(error)
    assert refused == 3


@each_row(
    ("data", "words"),
    [
        ({}, "no tls.crt"),
        ({"tls.crt": "c"}, "no tls.crt and tls.key"),
        ({"tls.crt": "c", "tls.key": "k", "next.crt": "n"}, "remove next.crt and next.key"),
        ({"tls.crt": "c", "tls.key": "k", "next.key": "n"}, "remove next.crt and next.key"),
        ({"tls.crt": "c", "tls.key": "k", "next.crt": "n", "next.key": "k", "previous.crt": "p"}, "first rotation"),
    ],
)
def test_what_no_rotation_leaves_is_told(data, words):
    with pytest.raises(ca.StateError, match=words):
        ca.read(data, {})


@pytest.mark.parametrize("when", ["yesterday", "2026-11-21T12:00:00"])
def test_a_wrong_time_is_told(when):
    with pytest.raises(ca.StateError, match="rotation-started"):
        ca.read({"tls.crt": "c", "tls.key": "k"}, {ca.STARTED: when})


def test_a_lost_key_is_no_fault():
    state = ca.read({"tls.crt": old, "tls.key": ""}, {})
    assert state.phase == ca.IDLE and state.authority.current.key == ""
    assert ca.switch(ca.begin(state, NEW, NOW), NOW).authority.current == NEW
