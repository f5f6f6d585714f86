# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables of playbooks: whole lines where results are shown as YAML, and a list of lines where they are JSON."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.federated.flower.tests.unit.read import yaml_file

pytestmark = pytest.mark.playbook

LONG = "13164552291825540154  federated-flower/quickstart 1.0.0  pending             2026-11-22 14:20  behind 9915798441516665790: 'x' # y"
TABLE = ["run                   app                                status     elapsed  submitted (UTC)   notes", LONG]
LOG = [LONG, "", "  x"]
#: Playbook, its task, what it shows, and the lines that are expected.
CASES = {
    "runs": ("runs", "Show the runs", {"__runs_found": {"table": TABLE, "msg": "1 of 1 runs"}}, [*TABLE, "1 of 1 runs"]),
    "runs show": ("runs", "Show the runs", {"flower_runs": "show", "flower_run_id": "1", "__runs_found": {"details": [LONG]}}, [LONG]),
    "runs logs": ("runs", "Show the runs", {"flower_runs": "logs", "flower_run_id": "1", "__runs_found": {"runs": [{"log": LOG}]}}, LOG),
    "outputs": ("outputs", "Show the outputs", {"__outputs_found": {"table": TABLE, "inputs_table": [], "msg": LONG}}, [*TABLE, LONG]),
    "run": ("run", "Show the output of the app", {"__run": {"succeeded": True, "output": [], "msg": LONG}}, [LONG]),
    "audit": ("audit", "Show the audit trail", {"__audit": {"table": TABLE, "notes": [], "msg": "whole"}}, [*TABLE, "whole"]),
    "verify": ("verify", "Show the measurements", {"__verify": {"table": TABLE}}, TABLE),
}


def task_of(tasks: list[dict[str, Any]], name: str) -> dict[str, Any] | None:
    """A task by its name, in blocks as well."""
    for task in tasks:
        found = task if task.get("name") == name else task_of(task.get("block", []), name)
        if found:
            return found
    return None


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_lines_are_shown_whole(tmp_path: Path, form: str) -> None:
    plays = []
    for name, title, facts, _lines in CASES.values():
        play, task = next((play, task) for play in yaml_file("playbooks", f"{name}.yml") if (task := task_of(play.get("tasks", []), title)))
        plays.append({"hosts": "localhost", "gather_facts": False, "vars": {**play.get("vars", {}), **facts}, "tasks": [task]})
    playbook = tmp_path / "plays.yml"
    playbook.write_text(yaml.safe_dump(plays), encoding="utf-8")
    env = {**os.environ, "ANSIBLE_CALLBACK_RESULT_FORMAT": form, "ANSIBLE_NOCOLOR": "1", "COLUMNS": "80"}
    done = subprocess.run(["ansible-playbook", playbook], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    parts = [part.partition("\nPLAY ")[0] for part in done.stdout.split("ok: [localhost] =>")[1:]]
    for shown, (case, (_name, _title, _facts, lines)) in zip(parts, CASES.items(), strict=True):
        if form == "yaml":
            assert [line.removeprefix(" " * 8) for line in shown.splitlines()[2:]] == lines, (case, shown)
        else:
            assert json.loads(shown)["msg"] == lines, case
