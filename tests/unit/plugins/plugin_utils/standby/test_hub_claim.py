# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A hub that has another volume than at the last copy: what the records know of it, and when it is refused."""

from __future__ import annotations

import json

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.standby import hub_claim, leadership
from ansible_collections.federated.flower.plugins.plugin_utils.standby.leadership import ACTIVE, FENCED, STANDBY, Term
from ansible_collections.federated.flower.tests.unit.plugins.plugin_utils.standby.two_hubs import SPACE, Kept

COPY = Term(STANDBY, 1, "a", "b", "2026-11-24T20:00:00Z", "uid", "data")


def test_records_of_earlier_releases_are_read():
    """Those of one had no volumes of the hub, those of another one that with the outputs, too."""
    first = {name: value for name, value in json.loads(COPY.text()).items() if not name.startswith("hub_")}
    term = leadership.parse(json.dumps(first), "here")
    assert hub_claim.recorded("a", term, None) == ""
    assert not hub_claim.fault("a", "b", "", "data", term), "the next copy notes it"
    second = json.dumps({**json.loads(COPY.text()), "hub_outputs": "not copied"})
    assert hub_claim.recorded("a", leadership.parse(second, "here"), None) == "data"


@pytest.mark.parametrize(("own", "there", "known"), [
    (Term(ACTIVE, 1, "a", "b"), COPY, "data"),
    (None, COPY, "data"),  # restored from a backup
    (Term(ACTIVE, 1, "a", "b", hub_claim="new"), COPY, "data"),  # a copy of what was accepted was not completed
    (Term(ACTIVE, 3, "a", "b", hub_claim="data"), Term(FENCED, 3, "a"), "data"),  # a failover, and no copy since
    (Term(ACTIVE, 2, "a", "b"), Term(ACTIVE, 1, "b", "a", hub_claim="of b"), ""),  # the former hub came back
    (Term(FENCED, 2, "b"), COPY, "data"),  # a failover that was interrupted
    (None, None, ""),
])  # fmt: skip
def test_what_is_known(own, there, known):
    assert hub_claim.recorded("a", there, own) == known


def test_a_hub_with_another_volume_is_not_copied():
    def fault(live, there=COPY):
        return hub_claim.fault("a", "b", "data", live, there)

    assert not fault("data")
    other = fault("new")
    assert "a has another volume for its database than before" in other and "over what b has" in other
    assert "-e flower_failover_hub_lost=true" in other and "copy of 2026-11-24T20:00:00Z on b" in other and "flower_standby_accept_volumes=true" in other
    assert "another volume" in fault("")
    assert "hub_lost" not in fault("", Term(FENCED, 2, "a")), "such a standby cannot serve without the hub"


def test_the_claim_of_a_hub():
    cluster = Kept("a")
    assert hub_claim.uid(cluster, SPACE) == ""
    cluster.put_hub()
    assert hub_claim.uid(cluster, SPACE) == "a-data-superlink-0"
