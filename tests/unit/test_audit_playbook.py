# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook audit and its file: an earlier export shows what was taken from the trail since, and is not lost. A file stands in for the hub."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import yaml

from ansible_collections.federated.flower.plugins.plugin_utils.base.plain_data import canonical
from ansible_collections.federated.flower.plugins.plugin_utils.state.hash_chain import Head, Line, export, head_of, seal
from ansible_collections.federated.flower.tests.unit.read import yaml_file

pytestmark = pytest.mark.playbook


def trail(count: int, by: str = "jane") -> tuple[str, str]:
    """Text of an exported trail, and the hash of its last entry."""
    lines, last = [], Head()
    for number in range(1, count + 1):
        entry = seal({"id": str(number), "who": {"user": by}}, last)
        lines.append(Line(canonical(entry), ""))
        last = head_of(entry)
    return "\n".join([*export(lines, last if count else None), ""]), last.hash


class Audit:
    """The playbook, with the trail of a hub in a file."""

    def __init__(self, folder: Path) -> None:
        self.hub, self.file, self.playbook = folder / "hub.jsonl", folder / "export.jsonl", folder / "audit.yml"
        play = yaml_file("playbooks", "audit.yml")[-1]
        play["tasks"][0]["federated.flower.audit_info"]["file"] = str(self.hub)
        self.playbook.write_text(yaml.safe_dump([play]), encoding="utf-8")

    def run(self, found: str, *words: str) -> tuple[int, str]:
        self.hub.write_text(found, encoding="ascii")
        options = ["-e", "flower_hub_group=localhost", "-e", f"flower_audit_file={self.file}"]
        done = subprocess.run(["ansible-playbook", *options, *words, self.playbook], capture_output=True, text=True, check=False)
        return done.returncode, " ".join((done.stdout + done.stderr).split())


@pytest.fixture(name="audit")
def fixture_audit(tmp_path: Path) -> Audit:
    return Audit(tmp_path)


def test_a_file_is_replaced_by_a_trail_that_goes_on(audit: Audit) -> None:
    anchor = f" {trail(1)[1]} "  # copied from the output of a job, with blanks around it
    assert audit.run(trail(2)[0], "-e", f'{{"flower_audit_anchor": "{anchor}"}}')[0] == 0
    assert audit.file.read_text(encoding="ascii") == trail(2)[0]
    assert audit.run(trail(3)[0])[0] == 0 and audit.file.read_text(encoding="ascii") == trail(3)[0]


@pytest.mark.parametrize("left", ["", trail(3)[0].replace("jane", "joan", 1)])
def test_a_trail_that_lacks_what_was_exported_fails_and_does_not_replace_it(audit: Audit, left: str) -> None:
    before, last = trail(3)
    audit.file.write_text(before, encoding="ascii")
    status, said = audit.run(left)
    assert status == 2 and audit.file.read_text(encoding="ascii") == before
    assert "was altered" in said or f"no entry has the anchor hash {last}" in said
    assert f"The file {audit.file} was exported before and is left as it is" in said


def test_an_altered_trail_is_exported_where_there_is_no_file_yet(audit: Audit) -> None:
    altered = trail(3)[0].replace("jane", "joan", 1)
    status, said = audit.run(altered)
    assert status == 2 and audit.file.read_text(encoding="ascii") == altered and "is left as it is" not in said
