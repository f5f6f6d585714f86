# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.federated.flower.plugins.plugin_utils.ledger import records

KEY = {"pool": "cpu", "name": "0", "fingerprint": "SHA256:a", "public_key": "ecdsa a"}
OTHER = {"pool": "cpu", "name": "1", "fingerprint": "SHA256:b", "public_key": "ecdsa b"}


def registered(*keys):
    record = records.merge_keys(records.empty_record("site-a"), keys, "eu")
    for number, key in enumerate(keys):
        record["keys"][key["fingerprint"]]["node_id"] = str(10 + number)
    return record


def test_new_keys_are_to_be_registered_in_the_order_of_their_numbers():
    keys = [dict(KEY, name=str(n), fingerprint=f"SHA256:{n}") for n in (10, 2, 0)]
    record = records.merge_keys(records.empty_record("a"), keys, None)
    assert records.unregistered(record, {}) == ["SHA256:0", "SHA256:2", "SHA256:10"]


def test_a_known_key_keeps_its_node_id_when_its_number_moves():
    record = records.merge_keys(registered(KEY), [dict(KEY, name="7")], "eu")
    assert record["keys"]["SHA256:a"]["node_id"] == "10"
    assert record["keys"]["SHA256:a"]["name"] == "7"


def test_a_key_that_the_site_no_longer_holds_is_leaving_and_comes_back():
    record = records.merge_keys(registered(KEY, OTHER), [KEY], "eu")
    assert list(records.leaving(record)) == ["SHA256:b"]
    assert list(records.node_ids(record)) == ["10"]
    assert records.leaving(records.merge_keys(record, [KEY, OTHER], "eu")) == {}


def test_a_retired_key_is_remembered_with_its_node():
    record = records.retire(records.merge_keys(registered(KEY, OTHER), [KEY], "eu"), ["SHA256:b", "SHA256:never"])
    assert record["retired"] == {"SHA256:b": {"pool": "cpu", "name": "1", "node_id": "11"}}
    assert list(record["keys"]) == ["SHA256:a"]


def test_keys_that_the_superlink_lost_with_its_database_are_registered_again():
    assert records.unregistered(registered(KEY), {}) == ["SHA256:a"]
    assert records.unregistered(registered(KEY), {"10": {"status": "offline"}}) == []


def test_a_key_that_was_unregistered_by_other_hands_is_dead():
    record = registered(KEY, OTHER)
    nodes = {"10": {"status": "unregistered"}, "11": {"status": "online"}}
    assert records.mark_dead(record, nodes) == ["SHA256:a"]
    assert records.dead_keys(record) == ["SHA256:a"]
    assert records.unregistered(record, nodes) == []
    assert list(records.node_ids(record)) == ["11"]
    replaced = records.merge_keys(record, [OTHER], "eu")
    assert records.dead_keys(replaced) == [] and list(records.leaving(replaced)) == ["SHA256:a"]


def test_merging_changes_nothing_when_nothing_changed():
    record = registered(KEY)
    assert records.merge_keys(record, [KEY], "eu") == record
