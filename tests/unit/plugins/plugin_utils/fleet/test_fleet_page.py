# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page on a fleet: complete, safe against any name, small and quick."""

from __future__ import annotations

import copy
import datetime
import hashlib
import re
import time as clock
from base64 import b64encode
from html.parser import HTMLParser
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.fleet.findings import Finding
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.fleet_page import (
    CHART,
    SPARK,
    WORDS,
    by_day,
    charts,
    expiries,
    fleet_page,
    overall,
    regions,
    spelled,
    state_of,
)
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.fleet_report import fleet_report
from ansible_collections.federated.flower.plugins.plugin_utils.state.audit_report import trail_table

NOW = "2026-11-23T10:00:00+00:00"
POOL = {
    "name": "cpu", "kind": "StatefulSet", "desired": 2, "ready": 2, "online": 2, "registered": 2, "keys": 2, "wanted": 2, "version": "1.41.0", "offset": 0,
    "datasets": ["ct"], "last_seen": "now",
}  # fmt: skip
TRAIL = [
    "entry  time                 who                         playbook                                   cluster  what",
    "7      2026-11-22T09:30:00  jane@laptop as system:adm   federated.flower.site --limit hub,lab      hub      created Secret superlink-trust",
    "                                                                                                   lab      FAILED: no connection",
    "8      2026-11-23T08:05:00  joe@desk as system:adm      federated.flower.run                       hub      submitted: run 42",
]
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
        if tag not in {"meta", "input", "br"}:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & {*self.open}:
            self.text += data


def test_problems_come_first_with_remedies_and_lead_to_their_site() -> None:
    found = [
        finding("lab-b: https://lab-b:6443 does not answer", "lab-b", "Check the way."),
        finding("hub hub: no SuperLink is deployed", "hub"),
        finding("lab-a: its client certificate ends", "lab-a", "Renew it.", "warning"),
    ]
    page = Page(fleet_page(report(site("lab-a"), site("lab-b", reachable=False), findings=found), NOW))
    order = [page.text.index(text) for one in found for text in (one["text"], one["remedy"])]
    assert order == sorted(order) and order[-1] < page.text.index("Pools of each site")
    links = {str(attrs["href"]) for tag, attrs in page.tags if tag == "a" and str(attrs["href"]).startswith("#site-")}
    anchors = {f"#{attrs['id']}" for tag, attrs in page.tags if tag == "tr" and "id" in attrs}
    assert links == anchors == {"#site-0", "#site-1"}
    assert "2 problems, 1 warning, 4 SuperNodes of 2 sites are online" in page.text


def test_a_healthy_fleet() -> None:
    page = Page(fleet_page(report(site(pool={"wanted": 1, "online": 1})), NOW, TRAIL))
    words = (
        "Healthy", "2026-11-23 10:00 UTC", "no problems, 1 SuperNode of 1 site is online", "None were found.", "2027-02-01, 70 days left", "eu1 site: 1 online",
        "2026-12-01, 8 days left", "ct", "jane@laptop", "hub.example.com:9092",
    )  # fmt: skip
    assert [part for part in words if part not in page.text] == []
    assert ("p", {"class": "badge ok"}) in page.tags and ("td", {"class": "state"}) in page.tags
    assert ("dd", {"class": "soon"}) in page.tags, "a certificate that ends soon is marked"


def test_nothing_is_loaded_and_only_its_own_script_may_run() -> None:
    text = fleet_page(report(site()), NOW)
    page = Page(text)
    assert not {"img", "link", "iframe", "object", "embed", "form", "base"} & {tag for tag, _attrs in page.tags}
    assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org)", text)
    names = {name for _tag, attrs in page.tags for name in attrs}
    assert not {name for name in names if name.startswith("on")} and "src" not in names
    (policy,) = (attrs["content"] for tag, attrs in page.tags if attrs.get("http-equiv") == "Content-Security-Policy")
    (script,) = re.findall("<script>(.*?)</script>", text, re.DOTALL)
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert not re.search(r"fetch|XMLHttp|WebSocket|import|innerHTML|eval", script)


@pytest.mark.parametrize("name", HOSTILE)
def test_any_name_stays_text(name: str) -> None:
    run = {"run-id": name, "fab-id": name, "fab-version": name, "status": name, "elapsed": name, "curves": {name: [(1, 0.5), (2, 0.25)]}}
    hostile = site(name, name, pool={"name": name, "version": name, "last_seen": name, "datasets": [name]})
    given = report(hostile, findings=[finding(name, name, name)], runs=[run])
    given["hub"] |= {"cluster": name, "address": name, "version": name}
    plain = Page(fleet_page(report(site(), findings=[finding("x", "lab", "`a`")], runs=[run]), NOW, TRAIL))
    page = Page(fleet_page(given, NOW, [name, *TRAIL, f"9      {name}"]))
    assert {tag for tag, _attrs in page.tags} <= {tag for tag, _attrs in plain.tags}
    assert {key for _tag, attrs in page.tags for key in attrs} <= {key for _tag, attrs in plain.tags for key in attrs}
    assert "\x00" not in page.text and "\u202e" not in page.text and "<b>49" not in page.text


def test_no_text_is_too_long() -> None:
    name = "x" * 100_000
    run = {"run-id": name, "fab-id": name, "fab-version": name, "status": name, "elapsed": name, "curves": {name: [(1, 0.5), (2, 0.25)]}}
    hostile = site(name, name, pool={"name": name, "version": name, "last_seen": name, "datasets": [name]})
    assert len(fleet_page(report(hostile, findings=[finding(name, name, name)], runs=[run]), NOW, [name])) < 40_000


def test_states() -> None:
    denied, absent = site(access={"since": "x"}), site(pools=[])
    states = [state_of(one) for one in (site(), site(pool={"online": 1}), site(reachable=False), denied, absent)]
    assert states == ["ok", "offline", "unreachable", "denied", "absent"] and {*states, "unready", "unknown"} == set(WORDS)
    page = fleet_page(report(), NOW)
    assert [name for name in WORDS if f"i.{name} {{ clip-path" not in page or f".{name}" not in page.partition("--c:")[0] + page] == [], "form and colour"
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


def test_what_is_not_known_is_not_said_to_be_offline() -> None:
    unasked = {"asked": False, "pool": {"online": None, "registered": None, "last_seen": ""}}
    page = Page(fleet_page(report(site("a", **unasked), site("b", **unasked), findings=[finding("hub hub: busy", "hub")]), NOW))
    assert "1 problem, the number of online SuperNodes is unknown for 2 sites" in page.text
    assert "offline" not in page.text and "never" not in page.text
    assert "eu2 sites: 2 unknownConnection: 2 direct" in page.text.replace("\n", "")
    page = Page(fleet_page(report(site("a"), site("b", **unasked)), NOW))
    assert "2 SuperNodes of 1 site are online, unknown for 1 more" in page.text


def test_the_state_in_a_word() -> None:
    ill = report(site(), findings=[finding("x")])
    away = report(site(), findings=[finding("x")])
    away["hub"] |= {"reachable": False, "asked": False, "well": False}
    silent = report(site(asked=False, pool={"online": None}), findings=[finding("x")])
    silent["hub"] |= {"asked": False, "well": False}
    warned = report(site(), findings=[finding("x", level="warning")])
    given = (report(), report(site()), warned, ill, report(site(pool={"online": 0})), silent, away)
    assert [overall(one)[0] for one in given] == ["Healthy", "Healthy", "Healthy", "Degraded", "Down", "Down", "Unreachable"]


def test_equal_problems_of_many_sites_are_shown_once() -> None:
    names = ("lab-a", "lab-b", "lab-b-2")
    found = [finding(f"{name}: 1 of 2 SuperNodes are online", name, f"Run verify --limit {name}") for name in names]
    found += [finding("lab-a: another problem", "lab-a"), finding("lab-b: another problem", "lab-b")]
    page = Page(fleet_page(report(*(site(name) for name in names), findings=found), NOW))
    words = " ".join(page.text.split())
    assert "Problem SITE: 1 of 2 SuperNodes are online3 sites lab-a lab-b lab-b-2 Run verify --limit SITE" in words and "5 problems" in words
    assert "Problem lab-a: another problem" in words and "Problem lab-b: another problem" in words
    assert [attrs["href"] for tag, attrs in page.tags if tag == "a" and str(attrs["href"]).startswith("#site-")][:3] == ["#site-0", "#site-1", "#site-2"]


def test_commands_of_remedies_stand_out() -> None:
    remedies = {
        "It renews: ansible-playbook -i INVENTORY federated.flower.site --limit lab-a.": "ansible-playbook -i INVENTORY federated.flower.site --limit lab-a",
        "ansible-playbook -i INVENTORY federated.flower.runs -e flower_runs=logs -e flower_run_id=7": None,
        "`flwr supernode unregister` in the SuperLink's pod removes it": "flwr supernode unregister",
        "What it says: kubectl exec NAME -c tunnel -- sh /x.d/y check. Correct it": "kubectl exec NAME -c tunnel -- sh /x.d/y check",
    }
    page = fleet_page(report(site(), findings=[finding(str(number), "", remedy) for number, remedy in enumerate(remedies)]), NOW)
    assert re.findall("<code>(.*?)</code>", page) == [command or remedy for remedy, command in remedies.items()]


def test_a_hub_alone_and_a_hub_that_is_down() -> None:
    assert "There are no sites" in fleet_page(report(), NOW)
    down = report(site(reachable=False, pools=[], certificate={}))
    down["hub"] |= {"reachable": False, "asked": False, "well": False, "workloads": [], "certificate": {}, "address": "", "version": ""}
    assert "unknown" in Page(fleet_page(down, NOW)).text
    assert "The expiry dates of certificates are unknown." in fleet_page(down, NOW)
    assert "The runs are unknown: the hub did not answer." in fleet_page(down, NOW) and "The SuperLink lists none." in fleet_page(report(), NOW)
    ill = report()
    ill["hub"] |= {"well": False}
    for one, state in ((down, "unreachable"), (ill, "offline"), (report(), "ok")):
        assert next(attrs["class"] for tag, attrs in Page(fleet_page(one, NOW)).tags if tag == "i") == state


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
    assert len(text.encode()) < 10**6, len(text.encode())
    assert len(found["problems"]) == 110 and text.count('class="region"') == 12
    words = Page(text).text
    assert "Degraded" in words and "900 of 1000" in words and "84 sites: 4 unreachable, 13 SuperNodes offline, 67 online" in words, words[:2000]


def test_charts_compare_runs_and_say_in_words_what_they_draw() -> None:
    runs = [
        {"run-id": "8", "fab-id": "a/b", "status": "running", "curves": {"evaluate accuracy": [[1, 0.5], [2, 0.75], [3, 0.7]]}},
        {"run-id": "7", "fab-id": "a/b", "status": "finished:completed", "curves": {"evaluate accuracy": [[1, 0.5], [5, 0.9]], "train loss": [[1, 3], [2, 2]]}},
        {"run-id": "6", "fab-id": "c/d", "status": "finished:completed", "curves": {"evaluate accuracy": [[1, 0.1], [2, 0.2]]}},
    ]
    first, second = charts(runs)
    assert [(one["app"], one["runs"]) for one in (first, second)] == [("a/b", 2), ("c/d", 1)]
    accuracy, loss = first["metrics"]
    assert [line["run"] for line in accuracy["lines"]] == ["8", "7"] and [line["run"] for line in loss["lines"]] == ["7"]
    assert [line["points"] for line in accuracy["lines"]] == ["46,142 122,58.2 198,75", "46,142 350,8"]
    assert [tick["text"] for tick in accuracy["rounds"]] == ["1", "2", "3", "4", "5"]
    assert [tick["text"] for tick in accuracy["values"]] == ["0.5", "0.6", "0.7", "0.8", "0.9"]
    page = Page(fleet_page(report(site(), runs=runs), NOW))
    assert "run 8: 0.7 in round 3, from 0.5 in round 1; lowest 0.5, highest 0.75" in page.text and "Metrics of a/b, the last 2 runs" in page.text
    assert "evaluate accuracy 0.7" in page.text and sum(tag == "figure" for tag, _attrs in page.tags) == 3


@pytest.mark.parametrize(
    "values",
    [(1.0, 1.0), (0.0, -0.0), (-1.7e308, 1.7e308), (5e-324, 0.0), (1e300, 1.0000000000000002e300)],
    ids=["flat", "zero", "largest", "smallest", "close"],
)
def test_a_curve_stays_in_its_box(values: tuple[float, float]) -> None:
    run = {"run-id": "1", "status": "running", "curves": {"x": list(enumerate(values))}}
    ((chart,),) = (group["metrics"] for group in charts([run]))
    assert 1 <= len(chart["values"]) < 8
    places = [(CHART, [point.split(",") for point in chart["lines"][0]["points"].split()])]
    places += [(CHART, [(tick["at"], CHART[1]) for tick in chart["rounds"]]), (CHART, [(CHART[0], tick["at"]) for tick in chart["values"]])]
    page = fleet_page(report(site(), runs=[run]), NOW)
    (spark,) = re.findall(r'class="spark".*?points="(.*?)"', page)
    for (left, top, right, bottom), points in [*places, (SPARK, [point.split(",") for point in spark.split()])]:
        assert all(left <= float(x) <= right and top <= float(y) <= bottom for x, y in points), points


def test_durations_have_units_and_one_thing_is_not_plural() -> None:
    assert [spelled(seconds) for seconds in (0, float("nan"), 12.34, 245, 7380, 1e12)] == ["", "", "12.3 s", "4 min 5 s", "2 h 3 min", ""]
    run = {"run-id": "1", "status": "finished:completed", "elapsed": "88.3", "pending-at": "2026-11-23 09:00:00Z"}
    page = Page(fleet_page(report(site(), runs=[run], findings=[finding("x")]), NOW))
    assert "1 min 28 s" in page.text and "1 problem," in page.text and "2026-11-23 09:00" in page.text
    assert not re.search(r"\b1 (runs|sites|problems|SuperNodes|days)\b", page.text) and "completed" in page.text and "finished:" not in page.text


def test_certificates_of_the_next_days() -> None:
    many = [site(f"lab-{number}", certificate={"not_after": "2026-12-20T00:00:00+00:00"}) for number in range(8)]
    network = {"hub": {"certificates": [{"kind": "ca", "not_after": "2031-01-01T00:00:00Z"}]}, "sites": {"lab-1": {"links": [{"not_after": ""}]}}}
    given = report(site("old", certificate={"not_after": "2026-11-01T00:00:00+00:00"}), *many, network=network)
    backup = "the last backup of the hub was made on 2026-11-22T10:00, a day ago"
    given["hub"] |= {"trust": [{"subject": "CN=x", "not_after": "2036-01-01T00:00:00Z"}], "backup": backup}
    found = expiries(given, datetime.datetime.fromisoformat(NOW))
    facts = [(one["date"], one["days"], one["state"]) for one in found[:3]]
    assert facts == [("2026-11-01", 0, "ended"), ("2026-12-01", 8, "soon"), ("2026-12-20", 26, "soon")]
    assert found[2]["what"].startswith("site lab-0, ") and found[2]["what"].endswith(", 2 more")
    page = Page(fleet_page(given, NOW))
    assert "The next one after that ends on 2031-01-01, in 1499 days: that of Skupper at the hub (ca)." in page.text
    assert "The last backup of the hub was made on 2026-11-22T10:00, a day ago." in page.text
    later = report(site())
    later["hub"] |= {"certificate": {"not_after": "2027-12-01T10:00:00+00:00"}}
    later["sites"][0]["certificate"] = {}
    assert "No certificate ends in the next 90 days." in Page(fleet_page(later, NOW)).text


def test_changes_by_day() -> None:
    days = by_day(["audit trail flower/flower-audit on hub: entry 5 was altered", *TRAIL])
    assert [*days] == ["", "2026-11-23", "2026-11-22"]
    (one,) = days["2026-11-22"]
    assert one["what"] == [["hub", "created Secret superlink-trust"], ["lab", "FAILED: no connection"]]
    assert (one["entry"], one["playbook"], one["who"]) == ("7", "federated.flower.site --limit hub,lab", "jane@laptop as system:adm")
    assert days[""][0]["what"] == [["", "audit trail flower/flower-audit on hub: entry 5 was altered"]] and by_day([]) == {}
    sites = {"hub": {"words": ["submitted: run 42"]}, "a  b": {"words": ["deployed"]}}
    entry = {"seq": 1, "time": "2026-11-23T08:05:00.5+00:00", "who": {"user": "joe", "host": "desk"}, "playbook": "x", "sites": sites}
    (found,) = by_day(trail_table([entry]))["2026-11-23"]  # type: ignore[list-item]
    assert found["what"] == [["hub", "words: submitted: run 42"], ["a  b", "words: deployed"]] and found["playbook"] == "x"


def test_regions_say_how_their_sites_are_connected() -> None:
    network = {"hub": {"linked": {"lab-b": True}}, "sites": {"b": {"site": {"name": "lab-b"}}}}
    both = [site("a", pool={"online": 0}), site("b"), site("c", None, reachable=False), site("d", "asia", ocm={"state": "ready"})]
    found = {one["name"]: (one["states"], one["connections"]) for one in regions(both, network, {})}
    assert found == {
        "asia": ("1 online", "1 Open Cluster Management"),
        "eu": ("1 SuperNodes offline, 1 online", "1 Skupper, link up, 1 direct"),
        "no region": ("1 unreachable", "1 direct"),
    }
    page = Page(fleet_page(report(*both, network=network), NOW))
    assert [attrs["href"] for tag, attrs in page.tags if tag == "a" and attrs.get("title")] == ["#site-3", "#site-0", "#site-1", "#site-2"]
    big = Page(fleet_page(report(*(site(f"s{number}") for number in range(41))), NOW))
    marks = [attrs["title"] for tag, attrs in big.tags if tag == "i" and attrs.get("title")]
    assert marks == [f"s{number}: online" for number in range(41)], "names that are not written out"


def test_what_scrolls_is_reached_by_keyboard_and_all_that_is_named_exists() -> None:
    run = {"run-id": "1", "status": "x", "curves": {"x": [(1, 1), (2, 2)]}}
    page = Page(fleet_page(report(site(), findings=[finding("x", "lab")], runs=[run]), NOW, TRAIL))
    ids = [attrs["id"] for _tag, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    named = {name for _tag, attrs in page.tags for name in (attrs.get("aria-labelledby") or "").split()}
    named |= {str(attrs["href"])[1:] for tag, attrs in page.tags if tag == "a"}
    assert named and named <= set(ids)
    scrolling = [attrs for tag, attrs in page.tags if attrs.get("class") == "scroll"]
    assert scrolling and all(attrs.get("tabindex") == "0" and attrs.get("role") == "group" for attrs in scrolling)
    pictures = [attrs for tag, attrs in page.tags if tag == "svg"]
    assert pictures and all(attrs.get("aria-hidden") or (attrs["role"] == "img" and {"aria-label", "aria-labelledby"} & set(attrs)) for attrs in pictures)
    columns = [attrs for tag, attrs in page.tags if tag == "th"]
    assert columns and all(attrs.get("scope") in ("col", "row") for attrs in columns)
