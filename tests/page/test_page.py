# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""The page of federated.flower.status in a real browser: on a phone and a desk, dark and light, printed, and judged by axe-core."""

from __future__ import annotations

import copy
import datetime
import os
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.formats import columns
from ansible_collections.federated.flower.tests.page import browser
from ansible_collections.federated.flower.tests.page.browser import DESK, NARROW, PHONE
from ansible_collections.federated.flower.tests.unit.plugins.plugin_utils.fleet import test_fleet_page as unit

RUN = {"run-id": "42", "fab-id": "example/tabular", "status": "running", "elapsed": "12.3", "curves": {"evaluate accuracy": [[1, 0.5], [2, 0.7], [3, 0.8]]}}
FOUND = [unit.finding("lab-a: a pod waits", "lab-a", "Wait: `flwr list`"), unit.finding("lab-b: its certificate ends", "lab-b", "Renew it.", "warning")]
SITES = [
    unit.site("lab-a", pool={"online": 1}),
    unit.site("lab-b", access={"since": "x"}),
    unit.site("lab-c", "us", reachable=False),
    unit.site("lab-d", "us", pools=[]),
]


CURVES = (
    {"evaluate accuracy": [0.41, 0.58, 0.66, 0.71, 0.74, 0.75], "train loss": [1.92, 1.21, 0.94, 0.83, 0.78, 0.76]},
    {"evaluate accuracy": [0.38, 0.52, 0.61, 0.69], "train loss": [2.05, 1.44, 1.1, 0.97]},
    {"evaluate accuracy": [0.35, 0.5, 0.55, 0.6, 0.62, 0.63], "train loss": [2.2, 1.7, 1.5, 1.42, 1.4, 1.39]},
)


def day(number: int, time: str = "00:00:00") -> str:
    """A time so many days from now."""
    return f"{(datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=number)).date()}T{time}+00:00"


def trail() -> list[str]:
    """Lines as M(federated.flower.audit_info) has them."""
    rows = [
        ("entry", "time", "who", "playbook", "cluster", "what"),
        ("41", day(-2, "16:02:11"), "jane@laptop as oidc:jane@example.org", "federated.flower.site", "hub", "changed ConfigMap supernode-trust"),
        ("", "", "", "", "leeds", "created 12 objects; keys: registered supernode-cpu-0 SHA256:Zk3mW8bq"),
        ("42", day(-1, "08:15:40"), "awx@runner as system:serviceaccount:awx:default", "federated.flower.run", "hub", "submitted: run 17211"),
        ("43", day(-1, "09:40:03"), "joe@desk as oidc:joe@example.org", "federated.flower.site_access --limit toronto", "toronto", "access: denied an audit"),
    ]
    return columns([[cell[:19] if place == 1 else cell for place, cell in enumerate(row)] for row in rows])


def example(number: int, is_ill: bool) -> dict[str, Any]:
    """A report with real remedies: of three sites that are well or not, or of as many as in the unit test."""
    hub, sites = unit.played(number)
    hub |= {"federation": "oncology", "backup": {"at": day(-1, "02:00:00")}, "address": "superlink.example.org:443", "version": "1.42.0"}
    hub["trust"] = [{"subject": "CN=oncology federation CA", "not_before": day(-90), "not_after": day(3560)}]
    hub["certificate"] = {"not_before": day(-50), "not_after": day(39)}
    states = ("running", "finished:completed", "finished:failed" if is_ill else "finished:completed")
    common = {"fab-id": "example/tabular", "fab-version": "1.2.0"}
    hub["runs"] = [
        {
            **common, "run-id": f"{1672508823727159 + 7919 * index}{17211 - index}", "status": status, "elapsed": 312.4 + 3700 * index,
            "pending-at": day(-index, "06:15:40"), "finished-at": day(-index, "10:15:40"),
            "curves": {name: list(enumerate(values, 1)) for name, values in CURVES[index].items()},
        }
        for index, status in enumerate(states)
    ]  # fmt: skip
    for node in hub["nodes"].values():
        away = is_ill and node["status"] == "offline"
        node |= {"status": "offline", "offline-at": day(-1, "21:12:09")} if away else {"status": "online", "offline-at": "N/A"}
    for live in sites.values():
        for workload in live["workloads"]:
            workload["version"] = "1.42.0"
    if number == 3:
        for old, (name, region, end) in zip(list(sites), (("berlin", "eu", 52), ("leeds", "uk", 12), ("toronto", "ca", 130))):
            hub["sites"][name] = {**copy.deepcopy(hub["sites"].pop(old)), "region": region}
            hub["sites"][name]["client"] = {"not_before": day(-120), "not_after": day(end)}
            away = {**sites[old], "error": sites[old]["error"].replace(old, name)}
            sites[name] = away if is_ill and name == "berlin" else copy.deepcopy(sites["hospital-0001"])
        sites = {name: sites[name] for name in ("berlin", "leeds", "toronto")}
        if is_ill:
            sites["leeds"]["trouble"] = "pod supernode-cpu-1: container supernode waits: ImagePullBackOff"
            sites["leeds"]["workloads"][0]["ready"] = 1
            hub["sites"]["toronto"]["access"] = {"since": day(-1, "09:40:03"), "reason": "an audit"}
    return unit.fleet_report("hub", hub, sites)


def write(folder: Path, report: dict[str, Any], time: str = unit.NOW) -> Path:
    page = folder / "fleet.html"
    page.write_text(unit.fleet_page(report, time, trail()), encoding="utf-8")
    return page


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """A page with everything that a page can have."""
    return write(tmp_path, unit.report(*SITES, findings=FOUND, runs=[RUN]))


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm, which fetches axe-core, is not installed")
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [PHONE, DESK])
def test_nothing_hinders_readers(page: Path, width: int, dark: bool) -> None:
    assert browser.hindrances(page, width, dark) == []


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm, which fetches axe-core, is not installed")
@pytest.mark.parametrize("kind", ["ill", "well", "many"])
def test_nothing_hinders_readers_of_any_federation(tmp_path: Path, kind: str) -> None:
    found = [unit.finding(f"lab-{number}: a pod waits", f"lab-{number}") for number in range(45)]  # shown as one; axe-core needs minutes for a thousand rows
    report = unit.report(*(unit.site(f"lab-{number}") for number in range(45)), findings=found) if kind == "many" else example(3, kind == "ill")
    assert browser.hindrances(write(tmp_path, report), PHONE, dark=kind == "ill") == []


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm, which fetches axe-core, is not installed")
def test_a_hindrance_would_be_found(page: Path) -> None:
    page.write_text(page.read_text(encoding="utf-8").replace('<html lang="en">', "<html>").replace("--soft: #57606a", "--soft: #ddd"), encoding="utf-8")
    assert {one.partition(":")[0] for one in browser.hindrances(page)} >= {"html-has-lang", "color-contrast"}


@pytest.mark.parametrize("width", [NARROW, DESK])
def test_the_page_is_not_wider_than_the_window(tmp_path: Path, width: int) -> None:
    script = "return [window.innerWidth, document.documentElement.scrollWidth]"
    long = unit.site("x" * 80, "y" * 80, pool={"name": "z" * 60})
    for report in (example(3, True), unit.report(long, *SITES, findings=FOUND, runs=[{**RUN, "run-id": "1" * 20}])):
        assert browser.evaluate(write(tmp_path, report), script, width) == [width, width]


def test_sites_are_filtered_without_a_script_and_found_and_sorted_with_one(page: Path) -> None:
    rows = "[...document.querySelectorAll('#sites-table tbody tr')]"
    shown = f"{rows}.filter(one => getComputedStyle(one).display !== 'none').map(one => one.cells[0].textContent)"
    script = f"""
        const [find] = document.querySelectorAll('input[type=search]'), [, , state] = document.querySelectorAll('#sites-table thead button')
        const found = []
        document.getElementById('only-offline').checked = true; found.push({shown})
        document.querySelector('input[type=radio]').checked = true; found.push({shown})
        find.value = 'LAB-C'; find.dispatchEvent(new Event('input')); found.push({shown}); find.value = ''; find.dispatchEvent(new Event('input'))
        state.click(); found.push({shown}); state.click(); found.push({shown})
        return [...found, state.parentNode.ariaSort, document.querySelectorAll('.problems .copy').length]"""
    filtered, everything, named, up, down, order, copies = browser.evaluate(page, script)
    assert (filtered, everything, named) == (["lab-a"], ["lab-a", "lab-b", "lab-c", "lab-d"], ["lab-c"])
    assert up == ["lab-b", "lab-d", "lab-a", "lab-c"] and down == up[::-1] and order == "descending"
    assert copies == 1


def test_the_policy_allows_its_own_script_and_no_other(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("</body>", "<script>document.title = 'another script ran'</script></body>"), encoding="utf-8")
    found = browser.text_with_scripts(page)
    assert "<button>Site</button>" in found and "<title>another script ran" not in found
    page.write_text(text.replace("</script>", "; document.title = 'a changed script ran'</script>"), encoding="utf-8")
    found = browser.text_with_scripts(page)
    assert "<button>" not in found and "<title>a changed" not in found and "lab-d" in found


def test_problems_are_on_the_first_screen_of_a_phone(page: Path) -> None:
    top = browser.evaluate(page, "return document.querySelector('.problems li').getBoundingClientRect().bottom", PHONE)
    assert 0 < top < 844


def test_dark_readers_get_a_dark_page(page: Path) -> None:
    script = "return getComputedStyle(document.body).backgroundColor"
    assert browser.evaluate(page, script) == "rgb(255, 255, 255)" and browser.evaluate(page, script, dark=True) == "rgb(13, 17, 23)"


def test_pictures_and_print(tmp_path: Path) -> None:
    """Pictures of three sites with problems, of three that are well, and of a thousand, for people to look at: in build/page where there is a build."""
    folder = Path(os.environ.get("FLOWER_BUILD") or tmp_path) / "page"
    folder.mkdir(parents=True, exist_ok=True)
    forms = {"desk": (DESK, 2400, False), "dark": (DESK, 2400, True), "phone": (PHONE, 1600, False)}
    for name, number, is_ill, wanted in (("problems", 3, True, [*forms]), ("well", 3, False, ["desk"]), ("thousand", 1000, True, ["desk"])):
        page = write(tmp_path, example(number, is_ill), day(0, "10:04:00"))
        for form in wanted:
            width, height, dark = forms[form]
            data = browser.screenshot(page, folder / f"{name}-{form}.png", width, height, dark)
            assert struct.unpack(">II", data[16:24]) == (width, height)
        assert number != 3 or browser.pdf(page, folder / f"{name}.pdf").startswith(b"%PDF")


@pytest.mark.parametrize("name", unit.HOSTILE)
def test_no_name_runs_a_script(tmp_path: Path, name: str) -> None:
    """Also without the policy that forbids scripts."""
    run = {**RUN, "run-id": name, "fab-id": name, "curves": {name: [[1, 0.5], [2, 0.7]]}}
    hostile = unit.site(name, name, pool={"name": name, "version": name})
    page = write(tmp_path, unit.report(hostile, findings=[unit.finding(name, name, name)], runs=[run]))
    page.write_text(page.read_text(encoding="utf-8").replace("<head>", "<head><script>window.alert = () => { window.ran = true }</script>"), encoding="utf-8")
    script = "return [window.ran === true, document.querySelectorAll('script').length, document.querySelectorAll('img,iframe,[onload],[onmouseover]').length]"
    assert browser.evaluate(page, script) == [False, 3, 0]


def test_a_thousand_sites_are_shown(tmp_path: Path) -> None:
    page = write(tmp_path, example(1000, True))
    assert page.stat().st_size < 10**6
    script = """return [
        document.querySelectorAll('tbody tr[id]').length, document.querySelectorAll('.tiles > *').length, document.querySelectorAll('.problems > li').length,
        document.documentElement.scrollWidth]"""
    assert browser.evaluate(page, script, NARROW) == [1000, 1000, 2, NARROW]
