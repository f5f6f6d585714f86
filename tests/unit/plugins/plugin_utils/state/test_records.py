# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import copy

from ansible_collections.federated.flower.plugins.plugin_utils.state import records
from ansible_collections.federated.flower.tests.unit.rows import each_row

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
    records.mark_dead(record, nodes)
    assert records.dead_keys(record) == ["SHA256:a"]
    assert records.unregistered(record, nodes) == []
    assert list(records.node_ids(record)) == ["11"]
    replaced = records.merge_keys(record, [OTHER], "eu")
    assert records.dead_keys(replaced) == [] and list(records.leaving(replaced)) == ["SHA256:a"]


def test_merging_changes_nothing_when_nothing_changed():
    record = registered(KEY)
    assert records.merge_keys(record, [KEY], "eu") == record


def test_the_keys_of_two_controllers_are_merged_one_by_one():
    seen = registered(KEY)
    ours = records.merge_keys(seen, [KEY, OTHER], "eu")
    ours["keys"]["SHA256:b"]["node_id"] = "12"
    theirs = records.retire(records.merge_keys(seen, [KEY, dict(KEY, fingerprint="SHA256:c")], "eu"), [])
    theirs["keys"]["SHA256:c"]["node_id"] = "13"
    both = records.merged(theirs, ours, seen)
    assert {key: facts["node_id"] for key, facts in both["keys"].items()} == {
        "SHA256:a": "10",
        "SHA256:b": "12",
        "SHA256:c": "13",
    }
    assert records.merged(seen, ours, seen) == ours, "without a rival it is what this run made"


def test_dead_never_overwrites_a_node_id_of_another_controller():
    seen = records.merge_keys(records.empty_record("site-a"), [KEY], "eu")
    alive, dead = copy.deepcopy(seen), copy.deepcopy(seen)
    alive["keys"]["SHA256:a"]["node_id"] = "10"
    dead["keys"]["SHA256:a"]["dead"] = True
    for old, new in ((alive, dead), (dead, alive)):
        (key,) = records.merged(old, new, seen)["keys"].values()
        assert (key["node_id"], key["dead"]) == ("10", False)
        (key,) = records.merged(old, new, {})["keys"].values()
        assert (key["node_id"], key["dead"]) == ("10", False)


def test_a_key_whose_very_node_was_unregistered_is_dead_for_both():
    seen = registered(KEY)
    ours = copy.deepcopy(seen)
    records.mark_dead(ours, {"10": {"status": "unregistered"}})
    assert records.merged(seen, ours, seen)["keys"]["SHA256:a"]["dead"] is True
    again = copy.deepcopy(seen)
    again["keys"]["SHA256:a"]["node_id"] = "77"
    assert records.merged(again, ours, seen)["keys"]["SHA256:a"]["dead"] is False


def test_what_a_rival_retired_stays_retired():
    seen = records.merge_keys(registered(KEY, OTHER), [KEY], "eu")
    theirs = records.retire(seen, ["SHA256:b"], "2026-11-21T10:00:00+00:00")
    ours = dict(copy.deepcopy(seen), region="us")
    both = records.merged(theirs, ours, seen)
    assert list(both["keys"]) == ["SHA256:a"] and list(both["retired"]) == ["SHA256:b"] and both["region"] == "us"


def test_a_denial_and_a_certificate_of_a_rival_stay():
    seen = registered(KEY)
    theirs = {**seen, "access": {"state": "denied"}, "client": {"serial": "2"}, "revoked": [{"serial": "1"}]}
    ours = {**seen, "client": {"serial": "3"}, "superseded": ["1"]}
    both = records.merged(theirs, ours, seen)
    assert both["access"] and both["client"] == {"serial": "2"} and "superseded" not in both


def test_few_retired_keys_are_remembered_and_the_oldest_go_first():
    record = registered(KEY)
    for number in range(records.RETIRED + 5):
        fingerprint = f"SHA256:old-{number}"
        record["keys"][fingerprint] = {
            "pool": "cpu",
            "name": "0",
            "public_key": "-",
            "node_id": str(number),
            "dead": False,
        }
        record = records.retire(record, [fingerprint], f"2026-01-01T00:00:{number:02}+00:00" if number else "")
    assert len(record["retired"]) == records.RETIRED + len(record["keys"])
    assert "SHA256:old-0" not in record["retired"] and f"SHA256:old-{records.RETIRED + 4}" in record["retired"]


def replaced():
    """Key 10 was replaced by key 20, and its pod has not been restarted yet."""
    new = dict(KEY, fingerprint="SHA256:new")
    record = records.merge_keys(registered(KEY), [new], "eu")
    record["keys"]["SHA256:new"]["node_id"] = "20"
    return record


def test_a_key_that_still_serves_is_not_unregistered_before_its_pod_has_the_new_one():
    record = replaced()
    assert records.to_retire(record, {"10": {"status": "online"}, "20": {"status": "registered"}}) == {}
    assert list(records.to_retire(record, {"10": {"status": "offline"}, "20": {"status": "registered"}})) == [
        "SHA256:a"
    ]
    assert list(records.to_retire(record, {"10": {"status": "online"}, "20": {"status": "online"}})) == ["SHA256:a"]
    denied = {**record, "access": {"state": "denied"}}
    assert list(records.to_retire(denied, {"10": {"status": "online"}})) == ["SHA256:a"]
    gone = records.merge_keys(registered(KEY, OTHER), [OTHER], "eu")
    assert list(records.to_retire(gone, {"10": {"status": "online"}})) == ["SHA256:a"], "nothing takes its place"


def test_where_people_replace_pods_a_key_waits_for_its_successor_and_as_long_as_it_serves():
    record = replaced()

    def going(old, new):
        return list(records.to_retire(record, {"10": {"status": old}, "20": {"status": new}}, by_hand=True))

    assert going("online", "registered") == going("offline", "registered") == going("online", "online") == []
    assert going("offline", "online") == ["SHA256:a"]
    gone = records.merge_keys(registered(KEY, OTHER), [OTHER], "eu")
    assert records.to_retire(gone, {"10": {"status": "online"}}, by_hand=True) == {}, "its pod is still there"
    assert list(records.to_retire(gone, {"10": {"status": "offline"}}, by_hand=True)) == ["SHA256:a"]


def test_pods_may_run_with_another_key_when_their_node_is_away_and_they_had_one_before():
    away, back = {"20": {"status": "registered"}}, {"20": {"status": "online"}}
    assert records.runs_with_another_key(replaced(), away)
    assert not records.runs_with_another_key(replaced(), back)
    retired = records.retire(replaced(), ["SHA256:a"])
    assert records.runs_with_another_key(retired, away) and not records.runs_with_another_key(retired, back)
    assert not records.runs_with_another_key(retired, {"20": {"status": "offline"}}), (
        "it has been online with the new key"
    )
    assert not records.runs_with_another_key(registered(KEY), {"10": {"status": "offline"}}), (
        "it has had this key ever since"
    )
    assert records.runs_with_another_key(registered(KEY), {}, claiming=True), "its pods may run with keys of the name that it had"
    assert not records.runs_with_another_key(registered(KEY), {"10": {"status": "online"}}, claiming=True)


def test_numbers_of_a_sites_keys():
    keys = [dict(KEY, name=str(n), fingerprint=f"SHA256:{n}") for n in (4, 3, 5)]
    daemons = dict(KEY, pool="gpu", name="node-1", fingerprint="SHA256:g")
    assert records.numbers(registered(*keys, daemons)) == {"cpu": (3, 3)}


def test_numbers_of_pools_that_do_not_count_across_the_fleet():
    keys = [KEY, dict(KEY, pool="own", name="0", fingerprint="SHA256:o")]
    old = registered(*keys)
    assert "without_range" not in old, "nothing is written where every pool has a range"
    assert set(records.numbers(old)) == {"cpu", "own"}, "a record of an earlier release does not say which count"
    noted = records.merge_keys(old, keys, "eu", ["own"])
    assert set(records.numbers(noted)) == {"cpu"}
    assert set(records.numbers(records.merge_keys(noted, keys, "eu"))) == {"cpu", "own"}


@each_row(
    ("record", "words"),
    [
        ([], "not a mapping"),
        ({"site": "site-b", "keys": {}, "retired": {}}, "record of 'site-b'"),
        ({"site": "site-a", "keys": []}, "keys are not a mapping"),
        ({"site": "site-a", "keys": {"f": {"pool": "cpu"}}, "retired": {}}, "lacks name, node_id, public_key"),
        ({"site": "site-a", "keys": {}, "retired": {}, "access": "denied"}, "access lacks reason, since"),
    ],
)
def test_a_record_of_another_shape_is_told(record, words):
    assert words in records.record_error(record, "site-a")
    assert records.record_error(registered(KEY), "site-a") == ""


def test_keys_that_leave_serve_until_their_pods_are_restarted():
    record = records.merge_keys(registered(KEY, OTHER), [dict(KEY, fingerprint="SHA256:c"), OTHER], "eu")
    record["keys"]["SHA256:c"]["node_id"] = "12"
    assert set(records.serving_ids(record)) == {"10", "11", "12"} and set(records.node_ids(record)) == {"11", "12"}
    keys = record["keys"].values()
    assert records.pods_with_leaving_keys(keys, {"10": {"status": "online"}, "11": {"status": "online"}}) == {("cpu", "0")}
    assert records.pods_with_leaving_keys(keys, {"12": {"status": "online"}}) == set()
    record["keys"]["SHA256:a"]["dead"] = True
    assert set(records.serving_ids(record)) == {"11", "12"}


def test_a_record_has_how_its_site_is_delivered() -> None:
    record = records.merge_keys(registered(KEY), [KEY], "eu", (), "ocm")
    assert record["delivery"] == "ocm" and records.merge_keys(record, [KEY], "eu") == record
    assert records.merge_keys(record, [KEY], "eu", (), "direct")["delivery"] == "direct"


def test_a_record_has_where_its_site_is() -> None:
    record = records.merge_keys(registered(KEY), [KEY], "eu", (), "direct", "lab")
    assert records.former_namespace(record, "direct", "ward") == "lab"
    assert records.former_namespace(record, "direct", "lab") == records.former_namespace(record, "ocm", "ward") == ""
    assert records.former_namespace(records.empty_record("site-a"), "direct", "ward") == "", "a record of an earlier release"
    assert records.former_namespace(records.merge_keys(record, [KEY], "eu", (), "direct", "ward"), "direct", "ward") == ""
