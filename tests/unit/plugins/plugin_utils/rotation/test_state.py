# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import datetime

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.hub.authority import Authority
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates
from ansible_collections.federated.flower.plugins.plugin_utils.rotation import ca_state as ca

NOW = datetime.datetime(2026, 11, 21, 12, tzinfo=datetime.timezone.utc)
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


@pytest.mark.parametrize("change", [lambda s: ca.begin(s, NEW, NOW), lambda s: ca.switch(s, NOW), ca.drop, ca.finish])
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


@pytest.mark.parametrize(
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


def test_phase_of_a_secret():
    assert ca.read({"tls.crt": "c", "tls.key": "k", "previous.crt": "p"}, {}).phase == "switched"
    assert ca.read({"tls.crt": "c", "tls.key": "k"}, {ca.STARTED: NOW.isoformat()}).phase == "dropping"
