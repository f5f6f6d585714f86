# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What SuperNodes measured becomes checks, a score and a verdict."""

from __future__ import annotations

import json
import socket
import struct
import threading
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.checks import acceptance
from ansible_collections.federated.flower.plugins.plugin_utils.checks.acceptance import (
    BAD,
    GOOD,
    OPEN,
    WEAK,
    Check,
    Limits,
)
from ansible_collections.federated.flower.plugins.plugin_utils.programs import way_program
from ansible_collections.federated.flower.plugins.plugin_utils.state import site_indexes
from ansible_collections.federated.flower.tests.unit.rows import each_row

WELL: dict[str, Any] = {
    "way": {
        "name": {"addresses": ["10.0.0.1"]},
        "port": {"milliseconds": 1.5},
        "call": {"seconds": 0.02, "status": 401},
        "upload": {"seconds": 0.5, "status": 401},
    },
    "trust": {"serial": "ab"},
    "clock": 0.5,
    "apps": {"paths": {"ct": {"entries": 3}}, "devices": ["nvidia0"]},
    "resource": "nvidia.com/gpu",
}


def checks(hub_clock: float | None = 0.0, **changes: Any) -> dict[str, Check]:
    """The checks of a pool by name, where some of what was measured differs; C(way__name) is a key of the way."""
    measured = {**WELL, "way": {**WELL["way"]}}
    for key, value in changes.items():
        first, _between, second = key.partition("__")
        if second:
            measured[first][second] = value
        else:
            measured[first] = value
    return {one.name: one for one in acceptance.of_pool("cpu", measured, Limits(), hub_clock, signed=True)}


def test_all_is_well() -> None:
    found = checks()
    assert {one.verdict for one in found.values()} == {GOOD} and len(found) == 8
    entry = acceptance.entry(list(found.values()), "now")
    assert (entry["accepted"], entry["score"], entry["reasons"]) == (True, 100, [])


@each_row(
    ("name", "verdict", "words", "changes"),
    [
        ("name", BAD, "Name or service not known", {"way__name": {"error": "Name or service not known"}}),
        ("port", BAD, "timed out; check firewalls", {"way__port": {"error": "timed out"}}),
        ("certificate", BAD, "a proxy that intercepts TLS", {"trust": {"error": "self-signed certificate"}}),
        ("clock", BAD, "its clock is 40 s ahead of the hub's", {"clock": 40.0}),
        ("clock", WEAK, "its clock is 10 s ahead of the hub's", {"clock": 10.0}),
        ("clock", OPEN, "is unknown", {"hub_clock": None}),
        ("round trip", WEAK, "more than 500 ms", {"way__call": {"seconds": 0.6, "status": 401}}),
        ("round trip", BAD, "answered with 503", {"way__call": {"seconds": 0.6, "status": 503}}),
        ("upload", BAD, "must accept bodies of that size", {"way__upload": {"seconds": 0.1, "status": 413}}),
        ("upload", WEAK, "4 Mbit/s, less than 8", {"way__upload": {"seconds": 10.0, "status": 401}}),
        ("idle", WEAK, "increase its idle timeout", {"way__idle": {"error": "Connection reset by peer"}}),
        ("dataset ct", BAD, "Permission denied", {"apps": {"paths": {"ct": {"error": "Permission denied"}}}}),
        ("dataset ct", WEAK, "is empty", {"apps": {"paths": {"ct": {"entries": 0}}}}),
        ("GPU", BAD, "nvidia.com/gpu is granted", {"apps": {"devices": []}}),
    ],
)
def test_what_is_wrong_is_said(name: str, verdict: str, words: str, changes: dict[str, Any]) -> None:
    one = checks(**changes)[name]
    assert one.verdict == verdict and words in one.text, one
    entry = acceptance.entry([one], "now")
    assert entry["accepted"] is (verdict == WEAK)
    assert entry["reasons"] == ([] if verdict == OPEN else [f"cpu: {name}: {one.text}"])


def test_the_way_through_an_http_proxy() -> None:
    said = {"good": False, "ours": True, "text": "the HTTP proxy proxy:3128 refuses CONNECT to hub:9092 (Forbidden)"}
    found = checks(proxy=said, way__name={"error": "unknown"})
    assert found["HTTP proxy"] == Check("HTTP proxy", BAD, said["text"], "cpu")
    assert "supernode_http_proxy.address" in found["name"].text and found["port"].text.startswith("of the HTTP proxy is open")
    assert checks(proxy={**said, "good": True})["HTTP proxy"].verdict == GOOD
    assert "HTTP proxy" not in checks() and checks()["port"].text.startswith("is open")


def test_a_pool_that_cannot_be_asked_is_bad() -> None:
    (one,) = acceptance.of_pool("cpu", {"error": "none of its SuperNodes runs"}, Limits(), 0.0, signed=True)
    assert (one.verdict, one.pool) == (BAD, "cpu")


@each_row(
    ("states", "wanted", "verdict"),
    [(["online", "online"], 2, GOOD), (["online", "offline"], 2, BAD), ([], None, BAD), (["online"], 2, BAD)],
)
def test_supernodes_that_are_online(states: list[str], wanted: int | None, verdict: str) -> None:
    keys = [{"pool": "cpu", "name": str(number), "node_id": str(number)} for number in range(len(states))]
    nodes = {str(number): {"status": state} for number, state in enumerate(states)}
    assert acceptance.online(keys, nodes, wanted).verdict == verdict


def test_a_key_that_leaves_counts_in_the_place_of_its_successor() -> None:
    keys = [
        {"pool": "cpu", "name": "0", "node_id": "7"}, {"pool": "cpu", "name": "1", "node_id": None},
        *({"pool": "cpu", "name": name, "node_id": name, "leaving": True} for name in ("0", "1", "2")),
    ]  # fmt: skip
    nodes = {name: {"status": "online"} for name in ("0", "1", "2")} | {"7": {"status": "registered"}}
    one = acceptance.online(keys, nodes)
    assert (one.verdict, one.text) == (GOOD, "2 of 2 are online")
    assert acceptance.online(keys, {**nodes, "1": {"status": "offline"}}).text.startswith("1 of 2 are online")


def test_sites_whose_supernodes_have_come() -> None:
    nodes = {"1": {"status": "registered"}, "2": {"status": "offline"}}
    assert not acceptance.was_online([], nodes) and not acceptance.was_online([{"node_id": "1"}, {"node_id": None}, {"node_id": "9"}], nodes)
    assert acceptance.was_online([{"node_id": "1"}, {"node_id": "2"}], nodes)


@pytest.mark.parametrize("good", [True, False])
def test_the_results_of_1000_sites_fit_into_a_config_map(good: bool) -> None:
    wrong = {} if good else {name: {"error": "x" * 500} for name in ("way__name", "way__port", "way__upload", "trust")}
    listed = [Check(one.name, one.verdict, one.text, f"pool-{number}") for number in range(2) for one in checks(**wrong).values()]
    found = acceptance.entry(listed, "2026-11-24T10:00:00+00:00")
    assert len(found["checks"]) == 16 and len(found["reasons"]) == (0 if good else 8)
    short = acceptance.kept(found)
    assert acceptance.kept(short) == short and set(short) == {"at", "score", "accepted", "reasons"}
    assert short["reasons"][3:] == ([] if good else ["and 5 more"])
    index = site_indexes.updated_sites({}, {f"site-{number:04}": short for number in range(1000)})
    assert len(json.dumps(index, indent=1)) < 1024 * 1024 and not site_indexes.site_index_error(index)


def test_what_was_not_checked_counts_neither_way() -> None:
    good, weak, left = Check("a", GOOD, ""), Check("b", WEAK, "slow"), Check("c", OPEN, "no access")
    assert acceptance.entry([good, weak, left], "now")["score"] == 75
    assert (acceptance.entry([left], "now")["accepted"], acceptance.entry([left], "now")["score"]) == (False, None)
    lines = acceptance.table({"site-a": acceptance.entry([good, weak, left], "now")})
    assert lines[0].split() == ["site-a", "75", "accepted"] and lines[1:] == ["    b: slow", "    not checked: c"]


def test_a_clock_is_compared_in_the_middle_of_the_call() -> None:
    assert acceptance.offset({"begun": 107.0, "ended": 109.0}, 100.0, 106.0) == 5.0


@each_row("size", [0, 1, 127, 128, 300, 70_000])
def test_a_filled_message_is_one_of_protobuf(size: int) -> None:
    """Key and length in front of the content: Protocol Buffers documentation, «Encoding»."""
    made = way_program.filled(size)
    length, shift, at = 0, 0, 1
    while True:
        length |= (made[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if made[at - 1] < 128:
            break
    assert (made[0] >> 3, made[0] & 7, length, len(made) - at) == (15, 2, size, size)


class Between(threading.Thread):
    """A server that answers, or that forgets a connection on which nothing was said for a while."""

    def __init__(self, patience: float) -> None:
        super().__init__(daemon=True)
        self.patience = patience
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.start()

    def run(self) -> None:
        made, _peer = self.listener.accept()
        made.settimeout(self.patience)
        try:
            made.recv(100)
            made.sendall(b"HTTP/1.0 503\r\n\r\n")
        except TimeoutError:  # it is closed with a reset
            made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        made.close()

    def silence(self, _seconds: float) -> None:
        """What is waited for instead of the time: that the connection is forgotten, if it is."""
        if self.patience < 1:
            self.join()


@pytest.mark.parametrize(("patience", "lives"), [(60.0, True), (0.05, False)])
def test_a_silent_connection(monkeypatch: pytest.MonkeyPatch, patience: float, lives: bool) -> None:
    between = Between(patience)
    monkeypatch.setattr(way_program.time, "sleep", between.silence)
    found = way_program.waited("127.0.0.1", between.listener.getsockname()[1], 0.4, False)
    assert ("seconds" in found) is lives, found


def test_an_answer_that_is_no_tls_is_one() -> None:
    found = way_program.waited("127.0.0.1", Between(60.0).listener.getsockname()[1], 0.1, True)
    assert found == {"seconds": 0.1}


def test_a_site_whose_people_apply_its_files_is_judged_while_it_is_online() -> None:
    keys = [{"node_id": "1", "pool": "cpu", "name": "0"}, {"node_id": "2", "pool": "cpu", "name": "1"}]
    for by_hand in (False, True):
        assert not acceptance.was_online(keys, {}, by_hand=by_hand)
        assert not acceptance.was_online(keys, {"1": {"status": "registered"}}, by_hand=by_hand)
        assert acceptance.was_online(keys, {"1": {"status": "offline"}, "2": {"status": "online"}}, by_hand=by_hand)
    away = {"1": {"status": "offline"}, "2": {"status": "offline"}}
    assert acceptance.was_online(keys, away) and not acceptance.was_online(keys, away, by_hand=True), "it may not be back since it was admitted again"


def test_what_is_kept() -> None:
    index = site_indexes.updated_sites({}, {"b": {"at": "1"}, "a": {"at": "1"}})
    index = site_indexes.updated_sites(index, {"a": {"at": "2"}})
    assert index == {"sites": {"a": {"at": "2"}, "b": {"at": "1"}}} and not site_indexes.site_index_error(index)
    assert site_indexes.without_site(index, ["b", "c"]) == {"sites": {"a": {"at": "2"}}} and site_indexes.without_site({}, ["a"]) == {}
    assert site_indexes.site_index_error({"sites": []}) and site_indexes.site_index_error({"sites": {"a": {}}})
