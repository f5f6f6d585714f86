# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""OpenSSL refuses every certificate of a CA whose list of revoked ones is not valid yet (error 11)."""

from __future__ import annotations

import datetime
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.secret_data import secret
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates
from ansible_collections.federated.flower.plugins.plugin_utils.rotation import clients
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.client_store import ClientStore
from ansible_collections.federated.flower.plugins.plugin_utils.state import access_records, partition_numbers, records
from ansible_collections.federated.flower.tests.unit.rows import each_row

DAY = datetime.timedelta(days=1)
CA = certificates.make_ca("client CA", 3650 * DAY)
SETTINGS = clients.Settings("demo", "flower", "flower-ca", 90)
NOW = datetime.datetime.now(datetime.timezone.utc)
AHEAD = r"the clock of the control node is 10 minutes ahead of that of hub, so nothing is signed: .*\(NTP\), then run again"
REVOKED = {"revoked": [{"serial": "5a", "since": (NOW + DAY).isoformat(), "until": (NOW + 9 * DAY).isoformat()}]}


def publish(skew: float | None, record: dict[str, Any]) -> bool:
    """Write the gateway's files for one site, over those in which nothing is revoked and nobody denied; in check mode."""
    nobody = clients.Known(partition_numbers.empty_book(), {"site-a": records.empty_record("site-a")})
    live = clients.config_map(SETTINGS, nobody, None, CA)
    cluster: Any = SimpleNamespace(name="hub", skew=skew, get=lambda *_which: live)
    store = ClientStore(cluster, "flower", SimpleNamespace(), note=lambda **_facts: None, check=True)  # type: ignore[arg-type]
    found = {"site-a": {**records.empty_record("site-a"), **record}}
    return store.publish(SETTINGS, CA, foreseen=(partition_numbers.empty_book(), found))


@each_row("skew", [None, 0.0, -290.0, 4000.0])
def test_a_list_that_is_valid_at_the_hub_is_signed(skew: float | None) -> None:
    assert publish(skew, REVOKED)


def test_none_is_signed_that_the_hub_takes_for_one_of_the_future() -> None:
    with pytest.raises(ClusterError, match=AHEAD):
        publish(-600.0, REVOKED)
    denial = access_records.deny(records.empty_record("site-a"), "stolen keys", NOW.isoformat())
    assert publish(-600.0, denial), "a denial needs no list"


@each_row(("skew", "signs"), [(None, True), (-290.0, True), (4000.0, True), (-600.0, False)])
def test_the_ca_signs_nothing_that_the_hub_takes_for_one_of_the_future(skew: float | None, signs: bool) -> None:
    """Neither certificates of sites, which the gateway would refuse, nor the list."""
    live = secret("demo", "flower-ca", clients.CA, {"tls.crt": CA.certificate, "tls.key": CA.key}, application="superlink")
    cluster: Any = SimpleNamespace(name="hub", skew=skew, get=lambda *_which: live)
    store = ClientStore(cluster, "flower", SimpleNamespace(), note=lambda **_facts: None)  # type: ignore[arg-type]
    if signs:
        assert store.authority(SETTINGS) == CA
        return
    with pytest.raises(ClusterError, match=AHEAD):
        store.authority(SETTINGS)
