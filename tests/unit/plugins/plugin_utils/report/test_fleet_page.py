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

from ansible_collections.federated.flower.plugins.plugin_utils.report.fleet_page import fleet_page
from ansible_collections.federated.flower.plugins.plugin_utils.report.picture import SHAPES, WORDS, draw, state_of

NOW = "2026-11-23T10:00:00+00:00"
POOL = {
    "name": "cpu", "kind": "StatefulSet", "desired": 2, "ready": 2, "online": 2, "registered": 2, "version": "1.41.0", "offset": 0,
    "datasets": ["ct"], "last_seen": "now",
}  # fmt: skip
VOID = {"meta", "link", "br", "img", "path", "line", "rect", "text"}
HOSTILE = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "' onmouseover='alert(1)", "</title><svg onload=alert(1)>", "javascript:alert(1)",
    "{{ 7 * 7 }}", "&lt;", "a\u202egnp.exe", "a\x00b\x1b[31m", "]]>", "<!--", "😀" * 300,
]  # fmt: skip


def site(name: str = "lab", region: str | None = "eu", **changes: Any) -> dict[str, Any]:
    pool = {**POOL, **changes.pop("pool", {})}
    certificate = {"not_after": "2027-02-01T10:00:00+00:00"}
    common = {"reachable": True, "access": {}, "certificate": certificate, "pools": [pool], "clientapps": [], "ocm": {}}
    return {"cluster": name, "region": region, **common, **changes}


def report(*sites: dict[str, Any], **changes: Any) -> dict[str, Any]:
    hub = {
        "cluster": "hub", "reachable": True, "address": "hub.example.com:9092", "version": "1.41.0", "partitions": 4, "lease": {}, "outputs": {}, "trust": [],
        "workloads": [{"name": "superlink", "ready": 1, "desired": 1}], "certificate": {"not_after": "2026-12-01T10:00:00+00:00"},
    }  # fmt: skip
    found: dict[str, Any] = {"healthy": True, "hub": hub, "sites": list(sites), "network": {}, "forgotten": [], "unknown_nodes": [], "runs": [], "problems": []}
    return copy.deepcopy({**found, **changes})


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


def test_problems_come_first_and_lead_to_their_site() -> None:
    problems = ["lab-b: https://lab-b:6443 does not answer", "lab-a is denied since Monday (a leak)", "hub hub: no SuperLink is deployed"]
    page = Page(fleet_page(report(site("lab-a", access={"since": "x", "reason": ""}), site("lab-b", reachable=False), problems=problems), NOW))
    assert page.text.index(problems[0]) < page.text.index(problems[2]) < page.text.index("Topology")
    links = {attrs["href"] for tag, attrs in page.tags if tag == "a"}
    anchors = {f"#{attrs['id']}" for tag, attrs in page.tags if tag == "tr" and "id" in attrs}
    assert links == anchors == {"#site-0", "#site-1"}
    assert "3 problems, 4 SuperNodes of 2 sites are online" in page.text


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
    run = {"run-id": name, "fab-id": name, "fab-version": name, "status": name, "elapsed": name}
    hostile = site(name, name, pool={"name": name, "version": name, "last_seen": name, "datasets": [name]})
    given = report(hostile, problems=[f"{name}: {name}"], runs=[run])
    given["hub"] |= {"cluster": name, "address": name, "version": name}
    plain = Page(fleet_page(report(site(), problems=["x"], runs=[run]), NOW))
    page = Page(fleet_page(given, NOW, [name]))
    assert {tag for tag, _attrs in page.tags} <= {tag for tag, _attrs in plain.tags} | {"a", "pre"}
    assert {key for _tag, attrs in page.tags for key in attrs} <= {key for _tag, attrs in plain.tags for key in attrs} | {"href"}
    assert "\x00" not in page.text and "\u202e" not in page.text and "49" not in re.sub(r"\d{3,}", "", page.text.split("Sites")[0][:40])


def test_states() -> None:
    denied, absent = site(access={"since": "x"}), site(pools=[])
    states = [state_of(one) for one in (site(), site(pool={"online": 1}), site(reachable=False), denied, absent)]
    assert states == ["ok", "offline", "unreachable", "denied", "absent"] and set(states) == set(WORDS) == set(SHAPES)
    assert "1 not reachable" in draw([site(reachable=False), site("b", None)])["words"]


def test_marks_stay_in_their_boxes() -> None:
    picture = draw([site(f"s{number}", f"r{number % 3}") for number in range(150)])
    for box in picture["regions"]:
        for mark in box["marks"]:
            assert box["x"] < mark["x"] < box["x"] + box["width"] and box["y"] < mark["y"] < box["y"] + box["height"]
        assert box["x"] + box["width"] <= picture["width"] and box["y"] + box["height"] <= picture["height"]


def test_a_hub_alone_and_a_hub_that_is_down() -> None:
    assert "There are no sites" in fleet_page(report(), NOW)
    down = report(site(reachable=False, pools=[]))
    down["hub"] |= {"reachable": False, "workloads": [], "certificate": {}, "address": "", "version": ""}
    assert "unknown" in Page(fleet_page(down, NOW)).text


def test_a_thousand_sites() -> None:
    names = [site(f"hospital-{number:04}", f"region-{number % 12}") for number in range(1000)]
    problems = [f"hospital-{number:04}: 1 of 2 SuperNodes of pool cpu are online" for number in range(0, 1000, 10)]
    begun = clock.perf_counter()
    text = fleet_page(report(*names, problems=problems), NOW)
    assert clock.perf_counter() - begun < 3
    assert len(text.encode()) < 2**20
    Page(text)
