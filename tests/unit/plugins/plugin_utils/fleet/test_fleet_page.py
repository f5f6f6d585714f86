# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page on a fleet: complete, safe against any name, small and quick."""

from __future__ import annotations

import copy
import re
import time as clock
from html.parser import HTMLParser
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.fleet.findings import Finding
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.fleet_page import (
    HEIGHT,
    SHAPES,
    WIDTH,
    WORDS,
    draw,
    drawn,
    fleet_page,
    state_of,
)
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.fleet_report import fleet_report

NOW = "2026-11-23T10:00:00+00:00"
POOL = {
    "name": "cpu", "kind": "StatefulSet", "desired": 2, "ready": 2, "online": 2, "registered": 2, "keys": 2, "wanted": 2, "version": "1.41.0", "offset": 0,
    "datasets": ["ct"], "last_seen": "now",
}  # fmt: skip
HOSTILE = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "' onmouseover='alert(1)", "</title><svg onload=alert(1)>", "javascript:alert(1)",
    "{{ 7 * 7 }}", "&lt;", "a\u202egnp.exe", "a\x00b\x1b[31m", "]]>", "<!--", "😀" * 300,
]  # fmt: skip


def site(name: str = "lab", region: str | None = "eu", **changes: Any) -> dict[str, Any]:
    pool = {**POOL, **changes.pop("pool", {})}
    certificate = {"not_after": "2027-02-01T10:00:00+00:00"}
    common = {"reachable": True, "asked": True, "access": {}, "certificate": certificate, "pools": [pool], "clientapps": [], "ocm": {}}
    return {"cluster": name, "region": region, **common, **changes}


def report(*sites: dict[str, Any], **changes: Any) -> dict[str, Any]:
    hub = {
        "cluster": "hub", "reachable": True, "asked": True, "well": True, "address": "hub.example.com:9092", "version": "1.41.0", "partitions": 4,
        "lease": {}, "outputs": {}, "backup": "", "trust": [], "federation": "oncology", "rotation": "",
        "workloads": [{"name": "superlink", "ready": 1, "desired": 1}], "certificate": {"not_after": "2026-12-01T10:00:00+00:00"},
    }  # fmt: skip
    found: dict[str, Any] = {"healthy": True, "hub": hub, "sites": list(sites), "network": {}, "forgotten": [], "unknown_nodes": [], "runs": []}
    findings = changes.setdefault("findings", [])
    sentences = {f"{level}s": [one["text"] for one in findings if one["level"] == level] for level in ("problem", "warning")}
    return copy.deepcopy({**found, **sentences, **changes})


def finding(text: str, cluster: str = "", remedy: str = "Deploy it.", level: str = "problem") -> dict[str, str]:
    return Finding(level, cluster, text, remedy)._asdict()


class Page(HTMLParser):
    """Balanced tags, attributes and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in {"meta"}:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data


def test_problems_come_first_with_remedies_and_lead_to_their_site() -> None:
    found = [
        finding("lab-b: https://lab-b:6443 does not answer", "lab-b", "Check the way."),
        finding("hub hub: no SuperLink is deployed", "hub"),
        finding("lab-a: its client certificate ends", "lab-a", "Renew it.", "warning"),
    ]
    page = Page(fleet_page(report(site("lab-a"), site("lab-b", reachable=False), findings=found), NOW))
    order = [page.text.index(text) for one in found for text in (one["text"], one["remedy"])]
    assert order == sorted(order) and order[-1] < page.text.index("Topology")
    links = {attrs["href"] for tag, attrs in page.tags if tag == "a"}
    anchors = {f"#{attrs['id']}" for tag, attrs in page.tags if tag == "tr" and "id" in attrs}
    assert links == anchors == {"#site-0", "#site-1"}
    assert "2 problems, 1 warning, 4 SuperNodes of 2 sites are online" in page.text


def test_a_healthy_fleet() -> None:
    page = Page(fleet_page(report(site()), NOW, ["entry  time  who", "1      now   jane@laptop"]))
    for part in ("no problems", "None were found.", "2027-02-01, 70 days left", "2026-12-01, 8 days left", "hub.example.com:9092", "ct", "jane@laptop"):
        assert part in page.text, part
    assert ("td", {"data-is": "State", "class": "ok"}) in page.tags
    assert ("dd", {"class": "soon"}) in page.tags, "a certificate that ends soon is marked"


def test_nothing_is_loaded_or_run() -> None:
    text = fleet_page(report(site()), NOW)
    page = Page(text)
    assert not {"script", "img", "link", "iframe", "object", "embed", "form", "base"} & {tag for tag, _attrs in page.tags}
    assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org)", text)
    names = {name for _tag, attrs in page.tags for name in attrs}
    assert not {name for name in names if name.startswith("on")} and "src" not in names
    (policy,) = (attrs["content"] for tag, attrs in page.tags if attrs.get("http-equiv") == "Content-Security-Policy")
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"


@pytest.mark.parametrize("name", HOSTILE)
def test_any_name_stays_text(name: str) -> None:
    run = {"run-id": name, "fab-id": name, "fab-version": name, "status": name, "elapsed": name, "curves": {name: [(1, 0.5), (2, 0.25)]}}
    hostile = site(name, name, pool={"name": name, "version": name, "last_seen": name, "datasets": [name]})
    given = report(hostile, findings=[finding(name, name, name)], runs=[run])
    given["hub"] |= {"cluster": name, "address": name, "version": name}
    plain = Page(fleet_page(report(site(), findings=[finding("x")], runs=[run]), NOW))
    page = Page(fleet_page(given, NOW, [name]))
    assert {tag for tag, _attrs in page.tags} <= {tag for tag, _attrs in plain.tags} | {"a", "pre"}
    assert {key for _tag, attrs in page.tags for key in attrs} <= {key for _tag, attrs in plain.tags for key in attrs} | {"href"}
    assert "\x00" not in page.text and "\u202e" not in page.text and "49" not in re.sub(r"\d{3,}", "", page.text.split("Sites")[0][:40])


def test_states() -> None:
    denied, absent = site(access={"since": "x"}), site(pools=[])
    states = [state_of(one) for one in (site(), site(pool={"online": 1}), site(reachable=False), denied, absent)]
    assert states == ["ok", "offline", "unreachable", "denied", "absent"] and {*states, "unready", "unknown"} == set(WORDS) == set(SHAPES)
    nothing = {"desired": None, "ready": None, "online": 0}
    two = site(pools=[POOL, {**POOL, "name": "gpu", **nothing}])
    far = [site(bundle={"version": 1}, pool={**nothing, "online": number}) for number in (2, 1)]
    assert [state_of(one) for one in (site(pool=nothing), two, *far)] == ["absent", "offline", "ok", "offline"]
    apart = site(clientapps=[{"pool": "cpu", "ready": 1, "desired": 2}])
    assert [state_of(one) for one in (site(pool={"ready": 1}), apart)] == ["unready"] * 2, "what is online cannot compute"
    unasked = {"asked": False, "pool": {"online": None, "registered": None, "last_seen": ""}}
    unknown = [site(**unasked), site(asked=False, bundle={"version": 1}, pools=[])]
    assert [state_of(one) for one in unknown] == ["unknown"] * 2
    known = [site(**unasked, reachable=False), site(**unasked, access={"since": "x"}), site(asked=False, pools=[])]
    assert [state_of(one) for one in known] == ["unreachable", "denied", "absent"]
    assert "1 not reachable" in draw([site(reachable=False), site("b", None)])["words"]


def test_what_is_not_known_is_not_said_to_be_offline() -> None:
    unasked = {"asked": False, "pool": {"online": None, "registered": None, "last_seen": ""}}
    page = Page(fleet_page(report(site("a", **unasked), site("b", **unasked), findings=[finding("hub hub: busy", "hub")]), NOW))
    assert "1 problem, it is not known how many SuperNodes of 2 sites are online" in page.text
    assert "offline" not in page.text and "never" not in page.text
    assert "eu: 0 of 2 sites online, 2 not known; 2 direct" in page.text
    assert [attrs["class"] for tag, attrs in page.tags if tag == "line"] == ["link unsure"]
    page = Page(fleet_page(report(site("a"), site("b", **unasked)), NOW))
    assert "2 SuperNodes of 1 sites are online, of 1 more it is not known" in page.text


def test_marks_stay_in_their_boxes() -> None:
    picture = draw([site(f"s{number}", f"r{number % 3}") for number in range(150)])
    for box in picture["regions"]:
        for mark in box["marks"]:
            assert box["x"] < mark["x"] < box["x"] + box["width"] and box["y"] < mark["y"] < box["y"] + box["height"]
        assert box["x"] + box["width"] <= picture["width"] and box["y"] + box["height"] <= picture["height"]


def test_a_hub_alone_and_a_hub_that_is_down() -> None:
    assert "There are no sites" in fleet_page(report(), NOW)
    down = report(site(reachable=False, pools=[]))
    down["hub"] |= {"reachable": False, "asked": False, "well": False, "workloads": [], "certificate": {}, "address": "", "version": ""}
    assert "unknown" in Page(fleet_page(down, NOW)).text
    assert "It is not known whether there are runs." in fleet_page(down, NOW) and "The SuperLink lists none." in fleet_page(report(), NOW)
    ill = report()
    ill["hub"] |= {"well": False}
    for one, state in ((down, "unreachable"), (ill, "offline"), (report(), "ok")):
        assert next(attrs["class"] for tag, attrs in Page(fleet_page(one, NOW)).tags if tag == "path") == state


def played(number: int) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """What the hub and as many sites answer; every tenth site has lost a SuperNode, every hundredth does not answer."""
    ended, names = "2026-12-01T10:00:00+00:00", [f"hospital-{index:04}" for index in range(number)]
    records, nodes, sites = {}, {}, {}
    for index, name in enumerate(names):
        ids = [str(10**18 + 2 * index), str(10**18 + 2 * index + 1)]
        gone = {"status": "offline", "offline-at": ended}
        nodes |= {ids[0]: {"status": "online", "offline-at": "N/A"}, ids[1]: gone if index % 10 == 0 else {"status": "online", "offline-at": "N/A"}}
        keys = [{"pool": "cpu", "name": f"supernode-cpu-{order}", "node_id": node} for order, node in enumerate(ids)]
        client = {"not_before": "2026-09-01T10:00:00+00:00", "not_after": "2027-02-01T10:00:00+00:00"}
        pools = {"cpu": {"offset": 2 * index, "size": 2}}
        records[name] = {"region": f"region-{index % 12}", "pools": pools, "keys": keys, "client": client, "datasets": {"cpu": ["ct"]}}
        live = {"kind": "StatefulSet", "name": "supernode-cpu", "pool": "cpu", "desired": 2, "ready": 2, "version": "1.41.0", "datasets": ["ct"]}
        away = {"reachable": False, "error": f"{name}: no connection from the API server https://{name}:6443: time-out", "workloads": [], "trouble": ""}
        sites[name] = away if index % 100 == 0 else {"reachable": True, "error": "", "workloads": [live], "trouble": ""}
    runs = [{"run-id": str(index), "status": "finished:completed", "fab-id": "a/b", "curves": {"train loss": [(1, 2.0), (2, 1.0)]}} for index in range(200)]
    hub = {
        "reachable": True, "error": "", "deployed": True, "trouble": "", "address": "hub.example:9092", "version": "1.41.0", "certificate": {}, "trust": [],
        "partitions": 2 * number, "workloads": [{"name": "superlink", "desired": 1, "ready": 1}], "sites": records, "nodes": nodes, "runs": runs,
        "unknown_nodes": [],
    }  # fmt: skip
    return hub, sites


def test_a_thousand_sites() -> None:
    def made(number: int) -> tuple[dict[str, Any], str, float]:
        hub, sites = played(number)
        begun = clock.process_time()
        found = fleet_report("hub", hub, sites)
        text = fleet_page(found, NOW, ["an entry of the audit trail"] * 20)
        return found, text, clock.process_time() - begun

    _found, _text, few = made(200)
    found, text, many = made(1000)
    assert many < 15 * few, f"{many:.2f} s for five times what takes {few:.2f} s"
    assert len(text.encode()) < 2**20, len(text.encode())
    assert len(found["problems"]) == 110 and "1000 sites in 12 regions: 10 not reachable, 90 SuperNodes are offline, 900 online" in text
    Page(text)


def test_curves_say_in_words_what_they_draw() -> None:
    run = {"run-id": "7", "status": "running", "curves": {"evaluate accuracy": [[1, 0.5], [2, 0.75], [3, 0.7]]}}
    page = Page(fleet_page(report(site(), runs=[run]), NOW))
    (line,) = (attrs["points"] for tag, attrs in page.tags if tag == "polyline")
    assert line == "4,56 120,4 236,14.4"
    words = "from 0.5 in round 1 to 0.7 in round 3, lowest 0.5, highest 0.75"
    assert words in page.text and f"evaluate accuracy: {words}" in {attrs.get("aria-label") for _tag, attrs in page.tags}


@pytest.mark.parametrize(
    "values", [(1.0, 1.0), (0.0, -0.0), (-1.7e308, 1.7e308), (5e-324, 0.0)], ids=["flat", "zero", "largest", "smallest"]
)
def test_a_curve_stays_in_its_box(values: tuple[float, float]) -> None:
    points = [point.split(",") for point in drawn("x", list(enumerate(values)))["points"].split()]
    assert all(0 <= float(x) <= WIDTH and 0 <= float(y) <= HEIGHT for x, y in points)


def test_the_line_to_a_region_shows_whether_its_sites_are_online() -> None:
    network = {"hub": {"linked": {"lab-b": True}}, "sites": {"b": {"site": {"name": "lab-b"}}}}
    both = [site("a", pool={"online": 0}), site("b"), site("c", "us", reachable=False), site("d", "asia", ocm={"state": "ready"})]
    boxes = {box["name"]: (box["link"], box["connection"]) for box in draw(both, network)["regions"]}
    assert boxes == {
        "asia": ("whole", "1 of 1 sites online; 1 Open Cluster Management"),
        "eu": ("part", "1 of 2 sites online; 1 Skupper, link up, 1 direct"),
        "us": ("none", "0 of 1 sites online; 1 direct"),
    }
    text = Page(fleet_page(report(*both, network=network), NOW)).text
    assert "Skupper, link up" in text and "eu: 1 of 2 sites online" in text


def test_what_scrolls_is_reached_by_keyboard_and_all_that_is_named_exists() -> None:
    page = Page(fleet_page(report(site(), findings=[finding("x", "lab")], runs=[{"run-id": "1", "status": "x"}]), NOW, ["x"]))
    ids = [attrs["id"] for _tag, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    named = {name for _tag, attrs in page.tags for name in (attrs.get("aria-labelledby") or "").split()}
    assert named and named <= set(ids)
    scrolling = [attrs for tag, attrs in page.tags if attrs.get("class") == "scroll" or tag == "pre"]
    assert scrolling and all(attrs.get("tabindex") == "0" and attrs.get("role") == "group" for attrs in scrolling)
    pictures = [attrs for tag, attrs in page.tags if tag == "svg"]
    assert pictures and all(attrs.get("aria-hidden") or (attrs["role"] == "img" and {"aria-label", "aria-labelledby"} & set(attrs)) for attrs in pictures)
    columns = [attrs for tag, attrs in page.tags if tag == "th"]
    assert columns and all(attrs.get("scope") in ("col", "row") for attrs in columns)
