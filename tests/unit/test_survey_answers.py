# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A controller sends an empty text for a question of a survey that has no answer: it means the same as a variable that is not set."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from ansible_collections.federated.flower.tests.unit.read import yaml_file
from ansible_collections.federated.flower.tests.unit.test_collection import trusted

ROOT = Path(__file__).parents[2]
FILES = sorted([*ROOT.glob("playbooks/**/*.yml"), *(path for part in ("tasks", "defaults", "vars") for path in ROOT.glob(f"roles/*/{part}/*.yml"))])
ROWS = yaml_file("roles", "awx", "defaults", "main.yml")["awx_job_templates"]
ASKED = sorted({question["variable"] for row in ROWS for question in row.get("survey_spec", {}).get("spec", []) if not question["required"]})
#: The module says that an empty value names no site.
REFUSED = {"flower_forget_sites"}
# With an empty value, these give what they give without one.
SAME = (
    r" \| default\((?:[^()']|'[^']*'|\[\])*, true\)",
    r" \| default\(''\)",
    r" \| default\(false\) \| bool",
)


def templates(value: Any) -> Iterator[str]:
    """Texts that Ansible evaluates: of tasks and of variables."""
    if isinstance(value, dict):
        for key, one in value.items():
            if isinstance(one, str) and (key in ("when", "that", "failed_when", "until") and "{{" not in one):
                yield "{{ " + one + " }}"
            elif key in ("when", "that") and isinstance(one, list):
                yield from ("{{ " + str(part) + " }}" for part in one)
            else:
                yield from templates(one)
    elif isinstance(value, list):
        for one in value:
            yield from templates(one)
    elif isinstance(value, str) and "{{" in value:
        yield value


def faults(text: str) -> set[str]:
    """Survey variables whose empty answer a template takes for a value.

    What is in quotes is text of a message. A variable without a default is allowed where the same template looks for an empty answer.
    """
    code = " ".join(" ".join(re.findall(r"\{\{(.*?)\}\}(?!\})", text, re.DOTALL)).split())
    plain = re.sub(r"'[^']*'", lambda quoted: "'x'" if "flower_" in quoted[0] else quoted[0], code)
    found = set()
    for match in re.finditer(r"(?<![.\w'-])(flower_[a-z0-9_]+)\b(?!')", plain):
        name, rest = match[1], plain[match.end() :]
        if name in ASKED and name not in REFUSED and not any(re.match(form, rest) for form in SAME):
            found |= {name} if re.match(r" \| default\(| is (not )?defined", rest) or not re.search(rf"\b{name} \| default\('', true\)", plain) else set()
    return found


#: Read only where a task before has found a value.
FOUND_BEFORE = {
    ("playbooks/backup.yml", "flower_backup_directory"),
    ("playbooks/outputs.yml", "flower_outputs_directory"),
    ("playbooks/standby.yml", "flower_standby_follow"),
    ("playbooks/verify.yml", "flower_verify_app"),
}


def test_an_empty_answer_is_none() -> None:
    places = [path.relative_to(ROOT) for path in FILES if "awx" not in path.parts]
    found = {(place.as_posix(), name) for place in places for text in templates(yaml_file(*place.parts)) for name in faults(text)}
    assert found - FOUND_BEFORE == set()


@pytest.mark.parametrize(
    ("expression", "values"),
    [
        ("x | default('') | string | default(3600, true)", {"": 3600, None: 3600, 0: "0", 60: "60"}),
        ("x | default('') | string | default(true, true) | bool", {"": True, "false": False, False: False, True: True}),
    ],
)
def test_numbers_and_switches_keep_what_is_given(expression: str, values: dict[Any, Any]) -> None:
    for value, made in values.items():
        given = {} if value is None else {"x": value}
        found = Templar(loader=DataLoader(), variables=given).template(trusted("{{ " + expression + " }}"))
        assert found == made or str(found) == str(made)


def test_an_empty_anchor_is_none() -> None:
    play = yaml_file("playbooks", "audit.yml")[-1]
    anchors = play["tasks"][0]["federated.flower.audit_info"]["anchors"]
    for value, made in (("", []), (["", "abc"], ["abc"]), ("abc", ["abc"])):
        found = Templar(loader=DataLoader(), variables={"flower_audit_anchor": value, "__audit_before": []}).template(trusted(anchors))
        assert list(found) == made


def test_a_backup_without_a_folder_is_refused() -> None:
    play = yaml_file("playbooks", "backup.yml")[-1]
    condition = "{{ " + play["tasks"][0]["ansible.builtin.assert"]["that"] + " }}"
    for folder, made in (("", False), (None, False), ("/backups", True)):
        given = {"flower_backup_directory": folder, "flower_backup_recipients": ["age1x"]}
        assert Templar(loader=DataLoader(), variables=given).template(trusted(condition)) is made


def test_what_asks_for_long_waits_has_no_limit_of_time() -> None:
    rows = {row["playbook"]: row for row in ROWS}
    assert {name for name, row in rows.items() if row.get("timeout") == 0} == {"run.yml", "upgrade.yml", "standby.yml"}
