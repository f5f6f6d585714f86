# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import copy
import datetime

from ansible_collections.federated.flower.plugins.action.superlink_info import unknown_nodes
from ansible_collections.federated.flower.plugins.plugin_utils.fleet import fleet_report, fleet_table
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Forbidden
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import superlink
from ansible_collections.federated.flower.plugins.plugin_utils.sites.workloads import missing, trouble, workload

NODE = {"status": "online", "offline-at": "N/A"}
HUB = {
    "reachable": True,
    "error": "",
    "deployed": True,
    "trouble": "",
    "address": "hub.example:9092",
    "version": "1.41.0",
    "certificate": {"not_after": "2027-02-19T10:00:00+00:00", "fault": ""},
    "trust": [{"subject": "CN=ca"}],
    "partitions": 2,
    "workloads": [{"name": "superlink", "desired": 1, "ready": 1}],
    "sites": {
        "site-a": {
            "region": "eu",
            "pools": {"cpu": {"offset": 0, "size": 2}},
            "keys": [{"pool": "cpu", "name": "0", "node_id": "10"}, {"pool": "cpu", "name": "1", "node_id": "11"}],
        }
    },
    "nodes": {"10": NODE, "11": NODE},
    "runs": [],
    "unknown_nodes": [],
}
POOL = {"kind": "StatefulSet", "name": "supernode-cpu", "pool": "cpu", "desired": 2, "ready": 2, "version": "1.41.0"}
SITE = {"reachable": True, "error": "", "workloads": [POOL], "trouble": ""}


def hub(**changes):
    return {**copy.deepcopy(HUB), **changes}


def test_a_certificate_that_sites_refuse_is_a_problem():
    report = fleet_report.fleet_report("hub", hub(certificate={"fault": "CN=hub ended on Monday"}), {"site-a": SITE})
    assert not report["healthy"] and "CN=hub ended on Monday" in report["problems"][0]
    assert report["hub"]["trust"] == HUB["trust"]


def test_a_healthy_fleet():
    report = fleet_report.fleet_report("hub", HUB, {"site-a": SITE})
    assert report["healthy"] and report["problems"] == []
    (pool,) = report["sites"][0]["pools"]
    assert (pool["ready"], pool["online"], pool["desired"], pool["offset"], pool["last_seen"]) == (2, 2, 2, 0, "now")
    table = fleet_table.fleet_table(report).splitlines()
    assert table[0].split()[:5] == ["cluster", "region", "pool", "ready", "online"]
    assert table[2].split() == ["site-a", "eu", "cpu", "2/2", "2/2", "1.41.0", "now", "ok"]


def test_datasets_are_shown_by_name():
    site = {**SITE, "workloads": [{**POOL, "datasets": ["ct"]}], "clientapps": [{**POOL, "image": "x", "datasets": ["mri"]}]}
    away = {"reachable": False, "error": "site-b: down", "workloads": [], "trouble": ""}
    known = {"region": None, "pools": {}, "keys": [{"pool": "gpu", "name": "0", "node_id": "12"}], "datasets": {"gpu": ["ct"]}}
    both = hub(sites={**HUB["sites"], "site-b": known})
    report = fleet_report.fleet_report("hub", both, {"site-a": site, "site-b": away})
    assert [pool["datasets"] for entry in report["sites"] for pool in entry["pools"]] == [["ct", "mri"], ["ct"]]
    lines = fleet_table.fleet_table(report).splitlines()
    assert "dataset ct: site-a cpu, site-b gpu" in lines and "dataset mri: site-a cpu" in lines
    assert all("promised" not in pool for entry in report["sites"] for pool in entry["pools"])


def test_datasets_that_a_site_may_not_have_applied_are_shown():
    away = {"reachable": False, "error": "site-b: down", "workloads": [], "trouble": ""}
    keys = [{"pool": "gpu", "name": "0", "node_id": "12"}]
    known = {"region": None, "pools": {}, "keys": keys, "datasets": {}, "promised": {"gpu": {"ct": 5}}}
    site = {**SITE, "workloads": [{**POOL, "datasets": ["ct"]}]}
    report = fleet_report.fleet_report("hub", hub(sites={**HUB["sites"], "site-b": known}), {"site-a": site, "site-b": away})
    assert "dataset ct: site-a cpu, site-b gpu (if bundle version 5 is applied)" in fleet_table.fleet_table(report).splitlines()


def test_the_http_proxy_of_a_site_is_named_and_what_to_ask_when_it_is_in_the_way():
    site = {**SITE, "http_proxy": "proxy:3128", "trouble": "supernode-cpu-0 (Running): tunnel runs but is not ready"}
    report = fleet_report.fleet_report("hub", HUB, {"site-a": site})
    assert report["sites"][0]["http_proxy"] == "proxy:3128"
    assert "HTTP proxy proxy:3128: site-a" in fleet_table.fleet_table(report).splitlines()
    (found,) = report["findings"]
    assert "-c tunnel -- sh /etc/tunnel/tunnel.sh check" in found["remedy"]
    assert "HTTP proxy" not in fleet_table.fleet_table(fleet_report.fleet_report("hub", HUB, {"site-a": SITE}))


def test_room_for_outputs():
    gib = 2**30

    def report(**found):
        return fleet_report.fleet_report("hub", hub(outputs=found), {"site-a": SITE})

    enough = report(size=10 * gib, free=8 * gib, min_free=gib, error="")
    assert "outputs: 8.0 GiB of 10.0 GiB are free" in fleet_table.fleet_table(enough).splitlines()
    assert not any("outputs" in one for one in enough["problems"])
    (problem,) = [one for one in report(size=10 * gib, free=gib // 2, min_free=gib, error="")["problems"] if "outputs" in one]
    assert "has 512 MiB left, less than superlink_outputs_min_free (1.0 GiB), so no run is submitted" in problem
    (problem,) = [one for one in report(error="not running")["problems"] if "outputs" in one]
    assert "is unknown: not running" in problem
    assert "outputs" not in fleet_table.fleet_table(report())
    room = {"size": 10 * gib, "free": 8 * gib, "min_free": gib, "error": ""}
    storage = report(**room, bucket="s3://models/trial", not_uploaded=["1", "2"], bucket_error="")
    assert "outputs: 8.0 GiB of 10.0 GiB are free, uploaded to s3://models/trial" in fleet_table.fleet_table(storage).splitlines()
    assert [one for one in storage["warnings"] if "the outputs of 2 finished runs are not in s3://models/trial" in one]
    assert [one for one in report(**room, bucket="", not_uploaded=[], bucket_error="no such host")["warnings"] if ": no such host" in one]


def test_how_old_the_last_backup_is():
    now = datetime.datetime.now(datetime.timezone.utc)

    def line(**changes):
        report = fleet_report.fleet_report("hub", hub(**changes), {"site-a": SITE})
        return "".join(line for line in fleet_table.fleet_table(report).splitlines() if "backup" in line)

    for hours, words in ((1, "less than a day ago"), (30, "a day ago"), (24 * 40 + 1, "40 days ago")):
        at = (now - datetime.timedelta(hours=hours)).isoformat(timespec="seconds")
        assert line(backup={"at": at}) == f"the last backup of the hub was made on {at[:16]}, {words}"
    assert line(backup={}) == "no backup of the hub is recorded"
    assert line() == line(backup={}, error="busy", nodes={}) == "", "it is not known"


def test_a_pool_without_replicas_has_a_state():
    site = {**SITE, "workloads": [{**POOL, "desired": 0, "ready": 0}]}
    bare = hub(sites={"site-a": {**HUB["sites"]["site-a"], "keys": []}}, nodes={})
    row = fleet_table.fleet_table(fleet_report.fleet_report("hub", bare, {"site-a": site})).splitlines()[2]
    assert row.endswith("no replicas"), row


def test_sites_of_every_kind_are_in_one_report():
    """One that is reached directly, one behind Open Cluster Management, one behind Skupper."""
    record = HUB["sites"]["site-a"]
    ready = {"state": "ready", "ready": True, "why": "", "desired": 2, "online": None}
    here = {"name": "hub", "uid": "1", "ready": True, "trouble": "", "controller": "2.2.1", "endpoints": []}
    link = {"name": "flower-hub", "ready": True, "trouble": "", "remote_uid": "1", "not_after": ""}
    listener = {"name": "flower", "address": "flower-superlink:9092", "ready": True, "trouble": ""}
    around = {
        "site": here,
        "linked": {"site-c": True},
        "listeners": ["site-c"],
        "connector": {"ready": True, "trouble": "", "keys": []},
        "certificates": [],
    }
    joined = {"site": {**here, "name": "site-c", "uid": "2"}, "links": [link], "listeners": [listener]}
    sites = {"site-a": SITE, "site-b": {**SITE, "ocm": ready}, "site-c": {**SITE, "skupper": True, "network": joined}}
    told = fleet_report.fleet_report("hub", hub(sites=dict.fromkeys(sites, record), network=around), sites)
    assert told["problems"] == []
    assert [site["ocm"].get("online") for site in told["sites"]] == [None, 2, None]
    assert list(told["network"]["sites"]) == ["site-c"], "nobody asks the others for a place in the network"
    assert fleet_table.fleet_table(told).count("2/2") == 6


def test_of_a_site_that_gives_no_access_the_superlink_and_its_replies_are_all_that_is_known():
    bundle = {"version": 2, "written": "2026-11-24T10:00:00+00:00", "answered": 1, "waits": False, "next": ""}
    far = {**SITE, "workloads": [], "bundle": bundle}
    report = fleet_report.fleet_report("hub", HUB, {"site-a": far})
    assert report["healthy"] and report["sites"][0]["bundle"] == bundle
    assert fleet_table.fleet_table(report).splitlines()[2].split() == ["site-a", "eu", "cpu", "?", "2/2", "now", "ok"]
    gone = {"status": "offline", "offline-at": "2026-11-21 10:00:00Z"}
    report = fleet_report.fleet_report("hub", hub(nodes={"10": NODE, "11": gone}), {"site-a": far})
    assert report["problems"] == ["site-a: 1 of 2 SuperNodes of pool cpu are online"]
    both = hub(nodes={"10": NODE, "11": NODE, "12": {"status": "registered", "offline-at": "N/A"}})
    both["sites"]["site-a"]["keys"].append({"pool": "cpu", "name": "1", "node_id": "12"})
    assert fleet_report.fleet_report("hub", both, {"site-a": far})["healthy"], "a key and its successor are one SuperNode"
    new = hub(sites={}, nodes={})
    waiting = {**far, "bundle": {**bundle, "version": 1, "answered": 0, "waits": True, "next": "the site applies it"}}
    report = fleet_report.fleet_report("hub", new, {"site-a": waiting})
    assert report["healthy"] and report["warnings"] == ["site-a: bundle version 1 waits for its reply; it has not answered yet. The site applies it"]
    assert "bundle 1, not answered" in fleet_table.fleet_table(report)
    report = fleet_report.fleet_report("hub", new, {"site-a": {**far, "bundle": {**bundle, "version": 0}}})
    assert report["problems"] == ["site-a: no bundle was written for it"]


def test_an_offline_node_shows_since_when():
    gone = {"status": "offline", "offline-at": "2026-11-21 10:00:00Z"}
    report = fleet_report.fleet_report("hub", hub(nodes={"10": NODE, "11": gone}), {"site-a": SITE})
    assert report["sites"][0]["pools"][0]["last_seen"] == "2026-11-21 10:00:00Z"
    assert report["problems"] == ["site-a: 1 of 2 SuperNodes of pool cpu are online"]
    assert "offline" in fleet_table.fleet_table(report)


def test_nodes_that_the_superlink_has_lost_are_not_online():
    report = fleet_report.fleet_report("hub", hub(nodes={}), {"site-a": SITE})
    assert report["problems"] == ["site-a: 0 of 2 SuperNodes of pool cpu are online"]
    far = {**SITE, "workloads": [], "bundle": {"version": 1, "answered": 1, "waits": False, "next": ""}}
    assert fleet_report.fleet_report("hub", hub(nodes={}), {"site-a": far})["problems"] == report["problems"]
    assert fleet_report.fleet_report("hub", hub(nodes={}, sites={}), {"site-a": far})["healthy"], "it has not answered yet"
    assert fleet_report.fleet_report("hub", hub(nodes={}, sites={}), {})["healthy"], "a hub without sites"


def test_where_flower_was_not_asked_nothing_is_said_of_supernodes():
    far = {**SITE, "workloads": [], "bundle": {"version": 2, "answered": 1, "waits": False, "next": ""}}
    sites = {"site-a": SITE, "site-b": {**SITE, "ocm": {"state": "ready", "ready": True, "desired": 2, "online": None}}, "site-c": far}
    silent = hub(nodes={}, error="cannot list the SuperNodes on hub: busy")
    silent["sites"] |= dict.fromkeys(("site-b", "site-c"), silent["sites"]["site-a"])
    for changed in (silent, hub(nodes={}, sites={}, deployed=False)):
        report = fleet_report.fleet_report("hub", changed, sites)
        rows = fleet_table.fleet_table(report).splitlines()[2:5]
        assert all(row.endswith("unknown") for row in rows) and not any("never" in row or "0/2" in row for row in rows), rows
        assert {pool["online"] for site in report["sites"] for pool in site["pools"]} == {None}
        assert [site["asked"] for site in report["sites"]] == [False] * 3
        assert report["sites"][1]["ocm"]["ready"] and report["sites"][1]["ocm"]["online"] is None
    later = fleet_report.fleet_report("hub", hub(error="the log of run 1 cannot be read"), {"site-a": SITE})
    assert later["problems"] == ["hub hub: the log of run 1 cannot be read"], "what was listed before is known"
    assert fleet_table.fleet_table(later).splitlines()[2].endswith("ok")


def test_a_record_that_cannot_be_read_is_the_only_problem_of_its_site():
    damaged = hub()
    damaged["sites"]["site-a"] = {"fault": "its record is not JSON", "region": None, "pools": {}, "keys": []}
    report = fleet_report.fleet_report("hub", damaged, {"site-a": SITE})
    assert report["problems"] == ["site-a: its record is not JSON"]
    assert fleet_table.fleet_table(report).splitlines()[2].endswith("unknown")
    known = {"site-b": {"fault": "", "keys": [{"node_id": "10"}]}}
    nodes = {"10": NODE, "11": NODE, "12": {"status": "unregistered"}}
    assert unknown_nodes(known, nodes) == ["11"]
    assert unknown_nodes({**known, "site-a": damaged["sites"]["site-a"]}, nodes) == []


def test_a_site_whose_record_is_lost_is_not_offline_and_its_supernodes_are_no_strangers():
    lost = hub(sites={}, unknown_nodes=["10", "11"])
    report = fleet_report.fleet_report("hub", lost, {"site-a": SITE})
    (found,) = report["findings"]
    assert "the ledger has no record" in found["text"] and "federated.flower.site creates new keys" in found["remedy"]
    assert fleet_table.fleet_table(report).splitlines()[2].endswith("unknown") and report["unknown_nodes"] == ["10", "11"]


def test_workloads_that_were_deleted_at_a_site_are_a_problem():
    gone = fleet_report.fleet_report("hub", HUB, {"site-a": {**SITE, "workloads": []}})
    (found,) = gone["findings"]
    assert (found["text"], "--limit site-a" in found["remedy"]) == ("site-a: no SuperNodes are deployed", True)
    assert fleet_table.fleet_table(gone).splitlines()[2].endswith("not deployed")
    two = hub()
    two["sites"]["site-a"]["keys"].append({"pool": "gpu", "name": "0", "node_id": None, "dead": True, "leaving": None})
    trouble = {**SITE, "trouble": "supernode-cpu-0 (Pending): no room"}
    report = fleet_report.fleet_report("hub", two, {"site-a": trouble})
    assert report["problems"] == ["site-a: pool gpu is not deployed", "site-a: supernode-cpu-0 (Pending): no room"]
    node_pool = {**SITE, "workloads": [{**POOL, "kind": "DaemonSet", "pool": "gpu", "desired": 0, "ready": 0}, POOL]}
    assert fleet_report.fleet_report("hub", two, {"site-a": node_pool})["healthy"], "no node of the cluster is for this pool"


def test_pools_that_are_removed_and_sites_that_say_why_are_not_missing():
    two = hub()
    two["sites"]["site-a"]["keys"].append({"pool": "gpu", "name": "0", "node_id": "12", "leaving": True})
    assert fleet_report.fleet_report("hub", two, {"site-a": SITE})["healthy"]
    away = {**SITE, "workloads": [], "trouble": "no Placement selects it", "ocm": {"state": "not chosen", "ready": False}}
    assert fleet_report.fleet_report("hub", HUB, {"site-a": away})["problems"] == ["site-a: no Placement selects it"]
    lost = {**away, "trouble": "", "ocm": {"state": "ready", "ready": True, "desired": 0}}
    assert fleet_report.fleet_report("hub", HUB, {"site-a": lost})["problems"] == ["site-a: no SuperNodes are deployed"]
    denied = hub(nodes={})
    denied["sites"]["site-a"]["access"] = {"since": "2026-11-21T10:00:00+00:00", "reason": "audit"}
    (problem,) = fleet_report.fleet_report("hub", denied, {"site-a": {**SITE, "workloads": []}})["problems"]
    assert problem.startswith("site-a has been denied since")


def test_a_denied_site_is_shown_as_denied_and_not_as_broken():
    gone = {"status": "offline", "offline-at": "2026-11-21 10:00:00Z"}
    changed = hub(nodes={"10": gone, "11": gone})
    access = {"state": "denied", "since": "2026-11-21T10:00:00+00:00", "reason": "audit"}
    changed["sites"]["site-a"] |= {"access": access, "client": {"not_after": "2027-02-01T10:00:00+00:00"}}
    report = fleet_report.fleet_report("hub", changed, {"site-a": SITE})
    assert report["problems"] == ["site-a has been denied since 2026-11-21T10:00:00+00:00 (audit)"]
    assert report["sites"][0]["access"] == access
    row = fleet_table.fleet_table(report).splitlines()[2]
    assert row.endswith("denied") and "2027-02-01" in row


def test_a_denied_site_that_is_online_nevertheless_is_a_problem_of_its_own():
    def problems(since: str):
        changed = hub()
        changed["sites"]["site-a"]["access"] = {"state": "denied", "since": since, "reason": "audit"}
        return fleet_report.fleet_report("hub", changed, {"site-a": SITE})["problems"]

    words = "site-a is denied, and SuperNodes of it are online: the gateway does not refuse them"
    assert problems("2026-11-21T10:00:00+00:00")[1:] == [words]
    now = datetime.datetime.now(datetime.timezone.utc).isoformat()
    assert problems(now) == [f"site-a has been denied since {now} (audit)"], "they count as online for a minute"


def test_a_site_that_is_down_still_shows_what_the_hub_sees():
    down = {"reachable": False, "error": "site-a: refused", "workloads": [], "trouble": ""}
    report = fleet_report.fleet_report("hub", HUB, {"site-a": down})
    assert report["problems"] == ["site-a: refused"]
    assert "unreachable" in fleet_table.fleet_table(report)
    assert report["sites"][0]["pools"][0]["online"] == 2


def test_a_site_that_is_in_the_ledger_only_is_named():
    report = fleet_report.fleet_report("hub", HUB, {}, [])
    assert report["forgotten"] == ["site-a"]
    assert "flower_forget_sites" in report["problems"][0]
    assert "not in the inventory" in fleet_table.fleet_table(report)


def test_a_hub_that_is_down_or_empty_is_a_problem():
    empty = {"workloads": [], "sites": {}, "nodes": {}, "certificate": {}}
    down = fleet_report.fleet_report("hub", hub(reachable=False, error="refused", **empty), {"site-a": SITE})
    assert down["problems"][0] == "hub hub: refused"
    assert "unreachable" in fleet_table.fleet_table(down) and "active runs unknown" in fleet_table.fleet_table(down)
    assert "2 partitions, 0 active runs" in fleet_table.fleet_table(fleet_report.fleet_report("hub", HUB, {"site-a": SITE}))
    none = fleet_report.fleet_report("hub", hub(deployed=False, **empty), {})
    assert none["problems"] == ["hub hub: no SuperLink is deployed"]


def test_workloads_in_few_words():
    template = {"spec": {"containers": [{"name": "c", "image": "x"}]}}
    daemon = {
        "kind": "DaemonSet",
        "metadata": {"name": "d", "labels": {"federated.flower/pool": "edge"}},
        "spec": {"template": template},
        "status": {"desiredNumberScheduled": 3, "numberReady": 2},
    }
    assert (workload(daemon)["desired"], workload(daemon)["ready"], workload(daemon)["pool"]) == (3, 2, "edge")
    stateful = {"kind": "StatefulSet", "metadata": {"name": "s"}, "spec": {"replicas": 2, "template": template}}
    assert (workload(stateful)["desired"], workload(stateful)["ready"], workload(stateful)["pool"]) == (2, 0, None)


def finding(report, level):
    (one,) = [one for one in report["findings"] if one["level"] == level]
    return one


def test_every_problem_has_a_remedy():
    away = {"reachable": False, "error": "site-c: no connection", "workloads": [], "trouble": ""}
    pods = {**SITE, "trouble": "supernode-cpu-0 (Pending): supernode ErrImagePull: no such host"}
    changed = hub(nodes={"10": NODE}, unknown_nodes=["99"], trouble="superlink-0 waits", outputs={"error": "not running"})
    changed["sites"]["site-d"] = {"region": None, "pools": {}, "keys": []}
    report = fleet_report.fleet_report("hub", changed, {"site-a": pods, "site-c": away}, ["site-a", "site-c"])
    assert len(report["problems"]) == len(report["findings"]) == 7 and report["warnings"] == []
    assert all(one["remedy"] for one in report["findings"])
    told = {one["cluster"]: one["remedy"] for one in report["findings"] if "ErrImagePull" in one["text"]}
    assert "credentials of its registry" in told["site-a"]
    assert {one["cluster"] for one in report["findings"]} == {"hub", "site-a", "site-c", "site-d", ""}


def test_another_release_than_the_hubs_is_a_warning_but_during_an_upgrade():
    old = {**SITE, "workloads": [{**POOL, "version": "1.40.0"}]}
    report = fleet_report.fleet_report("hub", HUB, {"site-a": old})
    assert report["healthy"] and "pool cpu runs Flower 1.40.0, the hub 1.41.0" in finding(report, "warning")["text"]
    assert any(line.startswith("~ site-a: pool cpu runs Flower 1.40.0") for line in fleet_table.fleet_table(report).splitlines())
    assert fleet_report.fleet_report("hub", hub(upgrade="an upgrade is not complete"), {"site-a": old})["warnings"] == []


def test_a_certificate_with_a_tenth_of_its_lifetime_left_is_a_warning():
    now = datetime.datetime.now(datetime.timezone.utc)

    def lasting(past, future):
        day = datetime.timedelta(days=1)
        return {"not_before": (now - past * day).isoformat(), "not_after": (now + future * day).isoformat()}

    changed = hub(certificate={**lasting(85, 5), "fault": ""})
    assert finding(fleet_report.fleet_report("hub", changed, {"site-a": SITE}), "warning")["text"].startswith("hub hub: the gateway's certificate ends on")
    changed = hub(certificate={**lasting(1, 4), "fault": "", "ca": {**lasting(340, 20), "subject": "CN=corp"}})
    told = finding(fleet_report.fleet_report("hub", changed, {"site-a": SITE}), "warning")
    assert told["text"].startswith("hub hub: the CA of the gateway's certificate, CN=corp, ends on"), "its certificates are renewed until then"
    changed = hub()
    changed["sites"]["site-a"]["client"] = lasting(85, 5)
    assert finding(fleet_report.fleet_report("hub", changed, {"site-a": SITE}), "warning")["cluster"] == "site-a"
    for past, future in ((60, 30), (0.1, 0.4)):
        changed["sites"]["site-a"]["client"] = lasting(past, future)
        assert fleet_report.fleet_report("hub", changed, {"site-a": SITE})["warnings"] == []
    changed["sites"]["site-a"]["client"] = {"not_after": (now + datetime.timedelta(days=1)).isoformat()}
    assert fleet_report.fleet_report("hub", changed, {"site-a": SITE})["warnings"] == [], "since when it is valid is not known"


def test_a_client_certificate_that_has_ended_is_named():
    """What is connected stays so; the next connection is refused, and then nothing else says why."""
    ended = hub()
    ended["sites"]["site-a"]["client"] = {"not_before": "2026-01-01T10:00:00+00:00", "not_after": "2026-04-01T10:00:00+00:00"}
    told = finding(fleet_report.fleet_report("hub", ended, {"site-a": SITE}), "warning")
    assert "site-a: its client certificate ended on 2026-04-01T10:00" in told["text"] and "--limit site-a renews it" in told["remedy"]
    ended["nodes"] = {}
    assert "its client certificate ended" in fleet_report.fleet_report("hub", ended, {"site-a": SITE})["problems"][1]


def test_a_pool_that_was_scaled_by_hand_is_a_problem():
    away = {"status": "offline", "offline-at": "2026-11-21 10:00:00Z"}
    for wanted, nodes, state in ((0, {"10": away, "11": away}, "no replicas"), (1, {"10": NODE, "11": away}, "offline")):
        site = {**SITE, "workloads": [{**POOL, "desired": wanted, "ready": wanted}]}
        report = fleet_report.fleet_report("hub", hub(nodes=nodes), {"site-a": site})
        (found,) = report["findings"]
        assert found["text"] == f"site-a: {wanted} of 2 SuperNodes of pool cpu are online, and its StatefulSet has {wanted} replicas"
        assert "scaled manually" in found["remedy"]
        row = fleet_table.fleet_table(report).splitlines()[2]
        assert row.endswith(state) and f"{wanted}/{wanted}  " in row and f"{wanted}/2" in row
    fewer = hub(nodes={"10": NODE, "11": away})
    daemon = {**SITE, "workloads": [{**POOL, "kind": "DaemonSet", "desired": 1, "ready": 1}]}
    report = fleet_report.fleet_report("hub", fewer, {"site-a": daemon})
    assert report["healthy"] and "2 SuperNodes in the ledger, and its cluster has nodes for 1" in finding(report, "warning")["text"]
    for gone in ({"leaving": True}, {"dead": True}):
        fewer["sites"]["site-a"]["keys"][1] = {"pool": "cpu", "name": "1", "node_id": "11", **gone}
        assert fleet_report.fleet_report("hub", fewer, {"site-a": {**SITE, "workloads": [{**POOL, "desired": 1, "ready": 1}]}})["findings"] == [], gone


def test_a_supernode_that_leaves_does_not_stand_in_for_another_one():
    leaving = hub(nodes={"10": {"status": "offline", "offline-at": "N/A"}, "11": NODE, "12": NODE})
    leaving["sites"]["site-a"]["keys"].append({"pool": "cpu", "name": "2", "node_id": "12", "leaving": True})
    assert fleet_report.fleet_report("hub", leaving, {"site-a": SITE})["problems"] == ["site-a: 1 of 2 SuperNodes of pool cpu are online"]
    leaving["sites"]["site-a"]["keys"][-1]["name"] = "0"
    assert fleet_report.fleet_report("hub", leaving, {"site-a": SITE})["healthy"], "its pod has not been restarted with its new key"


def test_supernodes_without_keys_are_counted_and_blamed_on_no_site():
    """With flower_insecure, SuperNodes register themselves."""
    lab = hub(insecure=True)
    lab["sites"]["site-a"]["keys"] = []
    report = fleet_report.fleet_report("hub", lab, {"site-a": SITE})
    assert report["healthy"] and "2 SuperNodes are online; without node authentication" in finding(report, "warning")["text"]
    assert fleet_table.fleet_table(report).splitlines()[2].endswith("unknown")
    lab["nodes"] = {"10": NODE, "11": {"status": "offline", "offline-at": "N/A"}}
    (problem,) = fleet_report.fleet_report("hub", lab, {"site-a": SITE})["problems"]
    assert "1 SuperNodes are online;" in problem and "these sites have 2" in problem


def test_what_is_online_and_not_ready_is_not_ok():
    """For example where the container in which apps compute fails, or waits for its image."""
    site = {**SITE, "workloads": [{**POOL, "ready": 1}], "trouble": "supernode-cpu-1 (Running): superexec CrashLoopBackOff"}
    assert fleet_table.fleet_table(fleet_report.fleet_report("hub", HUB, {"site-a": site})).splitlines()[2].endswith("not ready")


def test_remedies_for_sites_that_are_not_reached_name_nothing_that_cannot_help():
    """Neither their kubeconfig, which there is not, nor reconcile and verify, which have no way to their pods."""
    row = {"state": "not heard", "ready": False, "why": "", "desired": 2, "online": None}
    silent = {"reachable": False, "error": "site-a: the ManagedCluster lab does not report", "workloads": [], "trouble": "", "ocm": row}
    (found,) = fleet_report.fleet_report("hub", HUB, {"site-a": silent})["findings"]
    assert "klusterlet" in found["remedy"] and "flower_kubeconfig" not in found["remedy"]
    far = {**SITE, "workloads": [], "bundle": {"version": 1, "answered": 1, "waits": False, "next": ""}}
    for site in (far, {**SITE, "ocm": {**row, "state": "ready", "ready": True}}):
        (found,) = fleet_report.fleet_report("hub", hub(nodes={}), {"site-a": site})["findings"]
        assert "federated.flower.reconcile" not in found["remedy"] and "An administrator of the cluster" in found["remedy"]


def test_a_cluster_that_refuses_is_not_said_to_be_gone():
    said = 'hub: GET statefulsets: statefulsets.apps is forbidden: User "ci" cannot list resource "statefulsets" in API group "apps"'
    refused = {"reachable": False, "error": said, "workloads": [], "trouble": ""}
    report = fleet_report.fleet_report("hub", hub(reachable=False, error=said, workloads=[], sites={}, nodes={}), {"site-a": refused})
    remedies = {one["remedy"] for one in report["findings"]}
    assert len(report["findings"]) == 2 and len(remedies) == 1 and "federated.flower.rbac" in remedies.pop()


def live(name, replicas=1, isolation="process", ready=None):
    template = {"spec": {"containers": [{"name": name, "image": "x", "args": ["--isolation", isolation]}]}}
    status = {"readyReplicas": replicas if ready is None else ready}
    return {"kind": "StatefulSet", "metadata": {"name": name}, "spec": {"replicas": replicas, "template": template}, "status": status}


def test_a_hub_as_it_is_deployed_misses_nothing(parsed_hub):
    def workloads(**changes):
        found = superlink.objects(parsed_hub(**changes))
        return [item for item in found if item["metadata"]["name"] in ("superlink", "serverapp") and item["kind"] in ("StatefulSet", "Deployment")]

    both = workloads()
    assert len(both) == 2 and missing(both) == ""
    assert "no ServerApp" in missing([item for item in both if item["metadata"]["name"] == "superlink"])
    one = workloads(isolation="subprocess")
    assert len(one) == 1 and missing(one) == ""


def test_what_a_hub_does_not_have_is_not_ready():
    both = [live("superlink"), live("serverapp")]
    assert missing(both) == missing([live("superlink", isolation="subprocess")]) == ""
    assert missing(both[:1]) == "there is no ServerApp, so no run starts: its workload was deleted"
    assert missing(both[1:]) == missing([]) == "there is no SuperLink: its StatefulSet was deleted"
    assert missing([both[0], live("serverapp", 0)]) == "serverapp is scaled to 0"
    bare = hub(workloads=[workload(live("superlink", 0))], trouble="superlink is scaled to 0")
    report = fleet_report.fleet_report("hub", bare, {"site-a": SITE})
    assert fleet_table.fleet_table(report).splitlines()[1].endswith("not ready") and not report["hub"]["well"] and not report["healthy"]


def test_supernodes_without_clientapps_are_not_ok():
    """Their ClientApps are in pods of their own, and were deleted, or scaled to fewer."""
    args = ["--isolation", "process"]
    own = {"kind": "StatefulSet", "metadata": {"name": "supernode-cpu", "labels": {"federated.flower/pool": "cpu"}}, "spec": {"replicas": 2}}
    containers = [{"name": "supernode", "image": "x", "args": args}]
    own["spec"]["template"] = {"spec": {"containers": containers}}
    own["status"] = {"readyReplicas": 2}
    site = {**SITE, "workloads": [{**workload(own), "version": "1.41.0"}]}
    app = {**POOL, "image": "app:1", "desired": 1, "ready": 1}
    for apps, number in (([], 0), ([app], 1)):
        report = fleet_report.fleet_report("hub", HUB, {"site-a": {**site, "clientapps": apps}})
        assert report["problems"] == [f"site-a: {number} of 2 ClientApps of pool cpu are ready"]
    assert fleet_report.fleet_report("hub", HUB, {"site-a": {**site, "clientapps": [{**app, "desired": 2, "ready": 2}]}})["healthy"]
    containers.append({"name": "superexec", "image": "x"})
    assert fleet_report.fleet_report("hub", HUB, {"site-a": {**SITE, "workloads": [{**workload(own), "version": "1.41.0"}]}})["healthy"]


def test_why_pods_are_not_ready():
    found = [workload(live("supernode-cpu", 2, ready=1))]
    ready = {"metadata": {"name": "p"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    waits = {"metadata": {"name": "q"}, "status": {"phase": "Pending", "conditions": []}}
    assert trouble([workload(live("superlink"))], "flower", list, list) == ""
    assert trouble(found, "flower", lambda: [ready, waits], list).startswith("q (Pending)")
    assert trouble(found, "flower", lambda: [ready, ready], list) == "", "it became ready in between"
    assert "kubectl -n flower describe statefulset/supernode-cpu shows the cause" in trouble(found, "flower", lambda: [ready], list)
    assert trouble(found, "flower", lambda: [ready], lambda: ["", "a quota"]) == "a quota"
    assert trouble(found, "flower", lambda: [waits], lambda: ["a quota"]).startswith("a quota; q (Pending)")

    def refused():
        raise Forbidden("lab", "list pods", 403, {"message": "pods is forbidden"})

    assert trouble(found, "flower", refused, list) == "supernode-cpu: not all pods are ready, and the cause cannot be read: pods is forbidden"


def test_a_run_that_no_serverapp_takes_is_a_warning():
    def warnings(*runs):
        listed = [{"run-id": str(number), **run} for number, run in enumerate(runs)]
        return fleet_report.fleet_report("hub", hub(runs=listed), {"site-a": SITE})["warnings"]

    now = datetime.datetime.now(datetime.timezone.utc)
    soon, late = ({"status": "pending", "pending-at": str(now - datetime.timedelta(minutes=minutes))} for minutes in (10, 20))
    (told,) = warnings(late, soon, {**late, "status": "starting"})
    assert told.startswith("run 0 has been pending since ") and "ServerApp" in told
    assert warnings(soon) == warnings({"status": "pending", "pending-at": "N/A"}) == []
    assert warnings(late, {**late, "status": "running"}) == [], "one after the other"


def test_the_last_run_that_ended_may_have_failed():
    runs = [
        {"run-id": "1", "status": "finished:failed", "fab-id": "a/b", "finished-at": "2026-11-21 10:00:00Z", "status-details": "no\n memory"},
        {"run-id": "2", "status": "running", "finished-at": "N/A"},
    ]
    report = fleet_report.fleet_report("hub", hub(runs=runs), {"site-a": SITE})
    assert report["healthy"] and finding(report, "warning")["text"] == "run 1 of a/b failed: no memory"
    runs[1] |= {"status": "finished:completed", "finished-at": "2026-11-21 11:00:00Z"}
    assert fleet_report.fleet_report("hub", hub(runs=runs), {"site-a": SITE})["warnings"] == []


def test_a_lease_that_was_not_returned_is_a_warning():
    report = fleet_report.fleet_report("hub", hub(lease={"ended": "jane@laptop, federated.flower.site"}), {"site-a": SITE})
    assert report["warnings"][0].startswith("hub hub: jane@laptop, federated.flower.site did not return the lease")
    assert "changing the fleet" not in fleet_table.fleet_table(report)


def certificate(name, begun, ends):
    return {"subject": f"CN={name}", "not_before": f"{begun}+00:00", "not_after": f"{ends}+00:00"}


OLD, NEW = certificate("old", "2026-11-01T00:00:00", "2027-11-01T00:00:00"), certificate("new", "2026-11-20T00:00:00", "2027-11-20T00:00:00")


def rotating(signs, trust, secret="superlink-gateway-tls"):
    found = hub(certificate={**HUB["certificate"], "secret": secret, "ca": signs}, trust=trust)
    report = fleet_report.fleet_report("hub", found, {"site-a": SITE})
    assert (report["hub"]["rotation"] in fleet_table.fleet_table(report).splitlines()) == bool(report["hub"]["rotation"])
    return report["hub"]["rotation"]


def test_a_rotation_that_waits_is_shown_with_what_ends_it():
    assert "has switched, and sites still trust the previous one, which ends on 2027-11-01: after cert_rotation_grace" in rotating(NEW, [NEW, OLD])
    assert rotating(NEW, [OLD, NEW]) == rotating(NEW, [NEW, OLD])
    assert "is adding the one that ends on 2027-11-20: federated.flower.rotate_certs continues it" in rotating(OLD, [OLD, NEW])


def test_no_rotation_is_shown_where_there_is_none():
    assert rotating(NEW, [NEW]) == rotating({}, []) == rotating({}, [OLD, NEW]) == ""
    # A bundle of someone's own, and a certificate that cert-manager makes.
    assert rotating(NEW, [NEW, OLD], "our-own") == rotating(NEW, [NEW, OLD], "superlink-gateway-issued") == rotating(NEW, [NEW, OLD, OLD]) == ""


def test_the_federation_is_named():
    report = fleet_report.fleet_report("hub", hub(federation="oncology"), {"site-a": SITE})
    assert report["hub"]["federation"] == "oncology"
    assert "federation oncology, address hub.example:9092, 2 partitions, 0 active runs" in fleet_table.fleet_table(report).splitlines()
    away = fleet_report.fleet_report("hub", hub(federation="oncology", reachable=False, error="down"), {"site-a": SITE})
    assert any(line.startswith("federation oncology, address") for line in fleet_table.fleet_table(away).splitlines())


def test_certificates_of_a_day_differ_by_the_minute():
    brief = certificate("hub", "2026-11-27T08:00:00", "2026-11-28T08:30:59")
    both = hub(certificate={**HUB["certificate"], **brief}, sites={"site-a": {**HUB["sites"]["site-a"], "client": OLD}})
    table = fleet_table.fleet_table(fleet_report.fleet_report("hub", both, {"site-a": SITE})).splitlines()
    assert "  2026-11-28 08:30  " in table[1] and "  2027-11-01  " in table[2]
    assert fleet_report.end_of({"not_after": "2027-02-19T10:00:00+00:00"}) == "2027-02-19" and fleet_report.end_of({}) == ""
    for odd in ({"not_after": "soon"}, {**brief, "not_before": "x"}, {**brief, "not_before": "2020-01-01T00:00:00+00:00"}):
        assert len(fleet_report.end_of(odd)) <= 10
