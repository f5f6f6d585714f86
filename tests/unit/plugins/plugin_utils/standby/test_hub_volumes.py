# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A hub that has other volumes than at the last copy: what is noted of them, and when it is refused."""

from __future__ import annotations

import json

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.standby import hub_volumes, terms
from ansible_collections.federated.flower.plugins.plugin_utils.standby.hub_volumes import Volumes
from ansible_collections.federated.flower.plugins.plugin_utils.standby.terms import ACTIVE, FENCED, STANDBY, Term
from ansible_collections.federated.flower.tests.unit.plugins.plugin_utils.standby.two_hubs import Kept

COPY = Term(STANDBY, 1, "a", "b", "2026-11-24T20:00:00Z", "uid", "data", "outputs")
KNOWN = Volumes("data", "outputs")


def test_records_of_earlier_releases_know_nothing():
    former = {name: value for name, value in json.loads(COPY.text()).items() if not name.startswith("hub_")}
    term = terms.parse(json.dumps(former), "here")
    assert hub_volumes.noted("a", term, None) == Volumes()
    assert not hub_volumes.fault("a", "b", Volumes(), KNOWN, term), "the next copy notes them"
    assert hub_volumes.noted("a", terms.parse(KNOWN.in_record(term).text(), "here"), None) == KNOWN


@pytest.mark.parametrize(("own", "there", "known"), [
    (Term(ACTIVE, 1, "a", "b"), COPY, KNOWN),
    (None, COPY, KNOWN),  # restored from a backup
    (Term(ACTIVE, 1, "a", "b", hub_claim="new"), COPY, KNOWN),  # a copy of what was accepted was not completed
    (Term(ACTIVE, 3, "a", "b", hub_claim="data"), Term(FENCED, 3, "a"), Volumes("data")),  # a failover, and no copy since
    (Term(ACTIVE, 2, "a", "b"), Term(ACTIVE, 1, "b", "a", hub_claim="of b"), Volumes()),  # the former hub came back
    (Term(FENCED, 2, "b"), COPY, KNOWN),  # a failover that was interrupted
    (None, None, Volumes()),
])  # fmt: skip
def test_what_is_known(own, there, known):
    assert hub_volumes.noted("a", there, own) == known


def test_a_hub_with_other_volumes_is_not_copied():
    def fault(live, there=COPY):
        return hub_volumes.fault("a", "b", KNOWN, live, there)

    assert not fault(KNOWN)
    empty = fault(Volumes("new", "outputs"))
    assert "a has another volume for its database than before" in empty and "over what b has" in empty
    assert "-e flower_failover_hub_lost=true" in empty and "copy of 2026-11-24T20:00:00Z on b" in empty and "flower_standby_accept_volumes=true" in empty
    assert "another volume for its outputs of runs" in fault(Volumes("data", ""))
    assert "database and its outputs of runs" in fault(Volumes())
    assert "hub_lost" not in fault(Volumes(), Term(FENCED, 2, "a")), "such a standby cannot serve without the hub"


def test_outputs_that_are_not_copied_count_as_unchanged(parsed_hub):
    cluster = Kept("a")
    cluster.put_hub()
    assert hub_volumes.read(cluster, parsed_hub(outputs_enabled=True), KNOWN, with_outputs=True) == Volumes("a-data-superlink-0", "a-superlink-outputs")
    assert hub_volumes.read(cluster, parsed_hub(outputs_enabled=True), KNOWN, with_outputs=False) == Volumes("a-data-superlink-0", "outputs")
    assert hub_volumes.read(cluster, parsed_hub(outputs_enabled=False), KNOWN, with_outputs=True) == Volumes("a-data-superlink-0", "outputs")
    cluster.objects.clear()
    assert hub_volumes.read(cluster, parsed_hub(outputs_enabled=True), KNOWN, with_outputs=True) == Volumes()
