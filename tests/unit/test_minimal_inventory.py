# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The inventories of two lines: the documentation shows them, and they work, since no task uses a connection of Ansible."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.federated.flower.tests.unit import ansible_run
from ansible_collections.federated.flower.tests.unit.read import ROOT, yaml_file
from ansible_collections.federated.flower.tests.unit.rows import each_row

GUIDE = "docs/docsite/rst/guide_start.rst"
# Their action plugins need no connection. So do those of this collection: each of its modules is an action.
WITHOUT = {
    f"ansible.builtin.{name}"
    for name in (
        "add_host", "assert", "debug", "fail", "group_by", "import_role", "import_tasks", "include_role", "include_tasks", "meta", "set_fact", "set_stats",
    )
}  # fmt: skip
LISTS = ("tasks", "pre_tasks", "post_tasks", "handlers", "block", "rescue", "always")


def tasks(entries: Any, is_local: bool = False) -> Iterator[tuple[str, bool]]:
    """The actions of plays, blocks and tasks, and whether they run on localhost or with the connection C(local)."""
    for entry in entries or []:
        here = is_local or "localhost" in (entry.get("delegate_to"), entry.get("hosts")) or entry.get("connection") == "local"
        yield from ((key, here) for key in entry if key.count(".") == 2)
        for key in LISTS:
            yield from tasks(entry.get(key), here)


FILES = sorted(path.relative_to(ROOT).as_posix() for place in ("playbooks", "roles/*/tasks") for path in ROOT.glob(f"{place}/**/*.yml"))


@each_row("file", [one for one in FILES if not one.startswith("roles/awx/")])  # awx.yml runs on localhost
def test_no_task_needs_a_connection_to_a_host(file: str) -> None:
    found = list(tasks(yaml_file(file)))
    assert {name for name, is_local in found if not is_local} - WITHOUT - {name for name, _is_local in found if name.startswith("federated.flower.")} == set()


def test_each_module_is_an_action() -> None:
    modules, actions = ({path.stem for path in ROOT.glob(f"plugins/{kind}/*.py")} for kind in ("modules", "action"))
    assert modules - actions == set()


@pytest.mark.parametrize(("name", "pages"), [("minimal", ("README.md", GUIDE)), ("one-cluster", (GUIDE,))])
def test_pages_show_the_inventory(name: str, pages: tuple[str, ...]) -> None:
    lines = (ROOT / "inventories" / f"{name}.yml").read_text(encoding="utf-8").splitlines()
    shown = [line for line in lines if line.startswith("flower_")]
    assert len(shown) == 2
    for page in pages:
        text = (ROOT / page).read_text(encoding="utf-8")
        assert f"\n{shown[0]}\n{shown[1]}\n" in text.replace("\n    flower_", "\nflower_"), page


def kubeconfig(server: str) -> dict[str, Any]:
    """Contexts of three clusters with one API server."""
    names = ("hub", "site-a", "site-b")
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": name, "context": {"cluster": "c", "user": "u"}} for name in names],
        "current-context": "hub",
    }


@pytest.mark.playbook
def test_two_lines_reach_the_clusters_without_ssh(tmp_path: Path) -> None:
    """The API servers are asked, and have nothing; a connection of Ansible would fail, since nothing has these names."""
    fleet = ansible_run.written(tmp_path, (ROOT / "inventories/minimal.yml").read_text(encoding="utf-8"))
    with ansible_run.api_server() as (server, seen):
        (tmp_path / ".kube").mkdir()
        (tmp_path / ".kube" / "config").write_text(yaml.safe_dump(kubeconfig(server)))
        done = ansible_run.play(fleet, "status", "-e", "flower_status_file=status.json")
    assert done.returncode == 0 and "ssh" not in done.stdout.lower(), done.stdout
    assert [site["cluster"] for site in json.loads((tmp_path / "status.json").read_text())["sites"]] == ["site-a", "site-b"]
    assert {one["Authorization"] for one in seen} == {"Bearer t"}
