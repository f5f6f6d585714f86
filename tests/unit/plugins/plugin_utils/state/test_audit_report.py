# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page on a site that left: what it has, and that a changed one is found."""

from __future__ import annotations

import copy
import json
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.action.leaving_statement import ActionModule
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.state import audit_report
from ansible_collections.federated.flower.plugins.plugin_utils.state.audit_report import trail_table
from ansible_collections.federated.flower.plugins.plugin_utils.state.audit_trail import Trail, log_name
from ansible_collections.federated.flower.plugins.plugin_utils.state.hash_chain import (
    Entry,
    Head,
    head_of,
    seal,
    verify,
)
from ansible_collections.federated.flower.tests.unit.audit_hub import Hub
from ansible_collections.federated.flower.tests.unit.rows import each_row

PREVIOUS = json.loads(Path(__file__).with_name("previous_release.json").read_text(encoding="ascii"))["objects"]
KEY = {"pool": "gpu", "name": "supernode-gpu-0", "node_id": "17", "fingerprint": "SHA256:abc"}
JOINED = {
    "objects": [
        {"change": "created", "object": "Namespace flower"},
        {"change": "created", "object": "StatefulSet flower/supernode-gpu", "sha256": "0" * 64},
        {"change": "created", "object": "ClusterRole flower-nodes"},
    ],
    "keys": [{**KEY, "change": "registered"}],
}
REMOVED = {"objects": [{"change": "deleted", "object": "Namespace flower"}], "words": ["3 objects deleted"]}
FORGOTTEN = {
    "keys": [{**KEY, "change": "retired"}],
    "certificates": [{"change": "revoked", "serial": "4f2a"}],
    "words": ["forgotten"],
}

TOLD = {
    "time": "2026-11-21T12:00:00.123456+00:00",
    "playbook": "federated.flower.site",
    "options": {"limit": "hub,site-a"},
    "who": {"user": "root", "host": "ctl", "kubernetes": "system:admin"},
    "sites": {
        "hub": {
            "objects": [
                {"change": "created", "object": f"ConfigMap flower/x{number}", "sha256": "0" * 64}
                for number in range(5)
            ]
            + [{"change": "deleted", "object": "Secret flower/s"}],
            "certificates": [
                {"name": "gateway", "serial": "1234567890abcdef1234567890abcdef", "not_after": "2027-02-19"}
            ],
        },
        "site-a": {"keys": [{"change": "registered", "fingerprint": "SHA256:" + "a" * 43}], "words": ["denied"]},
    },
    "failed": {"site-a": "site-a: it is down", "site-b": ""},
}


def trail(*contents: dict[str, Any]) -> list[Entry]:
    entries: list[Entry] = []
    for number, content in enumerate(contents, 1):
        common = {
            "time": f"2026-11-{number:02}T10:00:00+00:00",
            "playbook": "teardown",
            "who": {"user": "jane", "host": "laptop"},
        }
        entries.append(seal({**common, **content}, head_of(entries[-1]) if entries else Head()))
    return entries


def page(*contents: dict[str, Any]) -> str:
    return audit_report.leaving_page(trail(*contents), "lab", "heart")


def numbers(*contents: dict[str, Any]) -> list[int]:
    return [entry["seq"] for entry in audit_report.entries_of(trail(*contents), "lab")]


def test_the_page() -> None:
    other = {"sites": {"other": FORGOTTEN}}
    options = {"options": {"limit": "lab"}}
    contents = [
        {"sites": {"lab": JOINED}},
        other,
        {**options, "sites": {"lab": {**FORGOTTEN, "objects": REMOVED["objects"]}}},
        other,
    ]
    assert (
        page(*contents)
        == f"""\
Leaving record of the site lab
Federation heart, entries of the audit trail that name the site since its last deployment

Entry 3, 2026-11-03T10:00:00+00:00: teardown --limit lab by jane@laptop
SHA-256 {trail(*contents)[2]["hash"]}
    keys of SuperNodes; the SuperLink permanently refuses one that is retired:
        retired fingerprint SHA256:abc, name supernode-gpu-0, node_id 17, pool gpu
    client certificates; the gateway refuses one that is revoked:
        revoked serial 4f2a
    words:
        forgotten
    objects:
        deleted Namespace flower

Created for the site and not deleted, as far as the audit trail says:
    ClusterRole flower-nodes
"""
    )


def test_several_attempts_belong_to_one_leaving() -> None:
    failed = {"sites": {"other": FORGOTTEN}, "failed": {"lab": "lab: https://lab:6443\ndoes not answer"}}
    contents = [{"sites": {"lab": JOINED}}, failed, {"sites": {"lab": REMOVED}}, {"sites": {"lab": FORGOTTEN}}]
    assert numbers(*contents) == [2, 3, 4]
    assert "    failed: lab: https://lab:6443 does not answer\n" in page(*contents)


@each_row(
    "contents",
    [
        [],
        [{"sites": {"lab": JOINED}}],
        [{"sites": {"lab": JOINED}}, {"sites": {"lab": FORGOTTEN}}, {"sites": {"lab": JOINED}}],  # it came back
        [{"sites": {"lab": JOINED}}, {"sites": {"lab": {"keys": FORGOTTEN["keys"]}}}],  # it has one SuperNode less
        [{"sites": {"lab": JOINED}}, {"sites": {"lab": REMOVED}}],  # its teardown has not forgotten it yet
        [
            {"sites": {"lab": JOINED}},
            {"sites": {"lab": {"objects": [{"change": "changed", "object": "ConfigMap a/b"}]}}},
        ],
        [{"sites": {"other": FORGOTTEN}}],
    ],
)
def test_a_site_that_did_not_leave(contents: list[dict[str, Any]]) -> None:
    assert numbers(*contents) == []


def test_volumes_have_the_choice_and_the_policy() -> None:
    volume = {"change": "deleted", "choice": "flower_delete_volumes is set", "claim": "flower/a", "storage": "Retain"}
    text = page({"sites": {"lab": JOINED}}, {"sites": {"lab": {**REMOVED, **FORGOTTEN, "volumes": [volume]}}})
    assert "        deleted claim flower/a, storage Retain, choice flower_delete_volumes is set\n" in text


def test_a_site_in_whose_cluster_nothing_was_deleted() -> None:
    text = page({"sites": {"lab": JOINED}}, {"sites": {"lab": FORGOTTEN}})
    assert f"\n{audit_report.UNTOUCHED}\n" in text
    assert text.endswith("    ClusterRole flower-nodes\n    Namespace flower\n    StatefulSet flower/supernode-gpu\n")


def test_what_a_site_reports_adds_no_line() -> None:
    forged = {"words": ["forgotten", "x\nEntry 9, now\u2028Entry 8, \x1b[2J \ud83d"]}
    text = page({"sites": {"lab": JOINED}}, {"sites": {"lab": forged}})
    assert "        x Entry 9, now Entry 8, ?[2J ?\n" in text and text.encode("utf-8")
    assert (
        audit_report.leaving_error(text, trail({"sites": {"lab": JOINED}}, {"sites": {"lab": forged}}), "heart") == ""
    )


def test_a_page_is_compared_with_the_trail() -> None:
    contents = [{"sites": {"lab": JOINED}}, {"sites": {"lab": {**FORGOTTEN, "objects": REMOVED["objects"]}}}]
    text = page(*contents)
    later = trail(*contents, {"sites": {"lab": JOINED}})
    assert audit_report.leaving_error(text, later, "heart") == "", "it is proven when the site has come back"
    for line in filter(None, text.splitlines()):
        assert audit_report.leaving_error(text.replace(line, f"{line}x", 1), later, "heart"), line
    assert audit_report.leaving_error(text.replace("4f2a", "4f2b"), later, "heart").startswith(
        "line 9 differs from the audit trail"
    )
    assert audit_report.leaving_error("\n".join(text.splitlines()[:-1]), later, "heart")
    assert audit_report.leaving_error(text + "    nothing\n", later, "heart")
    assert audit_report.leaving_error(text, trail(contents[0], {"sites": {"lab": FORGOTTEN}}), "heart")
    assert audit_report.leaving_error(text, later[:1], "heart") and audit_report.leaving_error(text, later, "lung")


# ---- the module ------------------------------------------------------------------------------------------------------


class Scene:
    """The module at a hub, whose trail the release before wrote: lab-berlin left, the others are members."""

    def __init__(self) -> None:
        self.hub = Hub(objects=copy.deepcopy(PREVIOUS))
        action: Any = object.__new__(ActionModule)
        action._task = SimpleNamespace(check_mode=False)
        action.connect = lambda _host: nullcontext(self.hub)
        self.action = action

    def act(self, *, check: bool = False, **options: Any) -> dict[str, Any]:
        self.action._task.check_mode = check
        given = {
            "hub": "hub",
            "hub_namespace": "flower",
            "federation": "flower",
            "site": None,
            "directory": None,
            "file": None,
        }
        return self.action.execute({**given, **{name: str(value) for name, value in options.items()}}, {})


@pytest.fixture(name="scene")
def fixture_scene() -> Scene:
    return Scene()


def test_a_record_is_written_once_and_verified(scene: Scene, tmp_path: Path) -> None:
    folder = tmp_path / "records"
    assert scene.act(site="lab-berlin", directory=folder, check=True)["changed"] and not folder.exists()
    made = scene.act(site="lab-berlin", directory=folder)
    path = folder / "lab-berlin-entry-7.txt"
    assert made["changed"] and made["file"] == str(path) and path.read_text().splitlines() == made["text"]
    assert not scene.act(site="lab-berlin", directory=folder)["changed"]
    assert scene.act(file=path)["valid"]
    Trail(scene.hub, "flower", "flower").append([{"id": "x", "sites": {"lab-berlin": JOINED}}])
    assert scene.act(file=path)["valid"]
    path.write_text(path.read_text().replace("revoked", "issued"))
    result = scene.act(file=path)
    assert not result["valid"] and result["text"] == [] and "differs from the audit trail" in result["fault"]


@pytest.mark.parametrize("site", ["lab-oslo", "nowhere"])
def test_a_member_or_an_unknown_site_is_refused(scene: Scene, tmp_path: Path, site: str) -> None:
    with pytest.raises(ClusterError, match=f"no entry for the removal of '{site}'"):
        scene.act(site=site, directory=tmp_path)


def test_nothing_is_written_from_a_trail_that_was_altered(scene: Scene, tmp_path: Path) -> None:
    del scene.hub.found[log_name(3)]
    assert verify(*Trail(scene.hub, "flower", "flower").read()).fault
    with pytest.raises(ClusterError, match="It cannot serve as evidence"):
        scene.act(site="lab-berlin", directory=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_directory_is_created_but_not_the_one_above_it(scene: Scene, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "recrods" / "2026", tmp_path / "file"):
        with pytest.raises(ClusterError, match="flower_statement_directory"):
            scene.act(site="lab-berlin", directory=folder)
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_files_that_are_no_record(scene: Scene, tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="flower_statement_file"):
        scene.act(file=tmp_path / "gone.txt")
    path = tmp_path / "lab-berlin-entry-7.json"
    path.write_text('{"format": "federated.flower/leaving/v1"}')
    assert scene.act(file=path)["fault"] == f"{path}: it is not a leaving record"


def test_one_line_per_cluster():
    lines = trail_table([seal(TOLD, Head())])
    assert lines[0].split() == ["entry", "time", "who", "playbook", "cluster", "what"]
    assert lines[1].split()[:5] == ["1", "2026-11-21T12:00:00", "root@ctl", "as", "system:admin"]
    assert "federated.flower.site --limit hub,site-a" in lines[1]
    assert lines[1].endswith(
        "hub      created 5 objects; deleted Secret s; certificates: gateway 1234567890abcdef123 2027-02-19"
    )
    assert lines[2].split()[0] == "site-a"
    assert lines[2].endswith("keys: registered SHA256:aaaaaaaaaaaa; words: denied; FAILED: site-a: it is down")
    assert lines[3].split() == ["site-b", "FAILED"]


def test_awx_tells_who_launched_the_job():
    who = {**TOLD["who"], "awx_user": "jane"}
    assert "jane@ctl as system:admin" in trail_table([seal({**TOLD, "who": who, "interrupted": "t"}, Head())])[1]
    assert "(interrupted)" in trail_table([seal({**TOLD, "interrupted": "t"}, Head())])[1]


def test_entries_of_a_broken_chain_may_be_anything():
    odd = [
        {"seq": 2, "prev": "", "hash": ""},
        {"seq": 3, "prev": "", "hash": "", "sites": {"a": 1, "b": {"objects": [1], "x": ["y"]}}, "who": "?"},
    ]
    lines = trail_table([seal(TOLD, Head())], odd)
    assert lines[4].startswith("2?") and lines[5].startswith("3?")


def test_no_entries():
    assert len(trail_table([])) == 1
