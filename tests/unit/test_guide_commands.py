# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands of the guides that tests/integration/scenarios/test_50_guides.py runs: how they are read, and what they need."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from ansible_collections.federated.flower.tests.integration.scenarios import guide_commands
from ansible_collections.federated.flower.tests.unit import guide_blocks
from ansible_collections.federated.flower.tests.unit.guide_blocks import COMMANDS, Command

TO_RUN = [command for page in guide_commands.SERIES for command in guide_commands.to_run(page)]
FORM = re.compile(r"ansible-playbook (?:-i ([\w./]+) )?federated\.flower\.\w+( |$)")


def test_commands_have_their_output_and_the_lines_that_continue_them() -> None:
    """Output is below the command, or in a block of text that follows at once."""
    text = (
        "Run:\n\n.. code-block:: console\n\n    $ one \\\n        --more\n    shown\n    $ two\n\n.. code-block:: text\n\n    also shown\n\n"
        "But not:\n\n.. code-block:: text\n\n    this\n"
    )
    found = guide_blocks.commands(
        [*guide_blocks.rst_blocks("page.rst", text), *guide_blocks.markdown_blocks("page.md", "```console\n$ three\n...\nmore\n```\n")]
    )
    assert [(one.text.split(), one.output) for one in found] == [(["one", "--more"], ["shown"]), (["two"], ["also shown"]), (["three"], ["...", "more"])]
    assert str(found[0].block) == "page.rst:3"


def test_only_playbooks_of_this_collection_are_run() -> None:
    """Whatever else a page has, such as the deletion of a namespace, needs a row in the table."""
    assert len(TO_RUN) > 35 and {one.block.page for one in TO_RUN} > {"README.md", "guide_start.rst", "guide_run.rst"}
    assert [f"{one.block}: {one.text}" for one in TO_RUN if not FORM.match(one.text)] == []
    assert len([one for one in TO_RUN if guide_commands.LAST in one.text]) == 1


def test_what_is_left_out_is_on_the_pages() -> None:
    ours = [one.text for one in COMMANDS if one.block.page in guide_commands.SERIES]
    shown = [line for one in TO_RUN for line in one.output]
    for table, texts in ((guide_commands.NOT_RUN, ours), (guide_commands.NOT_COMPARED, shown)):
        assert [part for parts in table.values() for part in parts if not any(part in text for text in texts)] == []


def test_output_is_compared_without_what_differs_from_run_to_run() -> None:
    page = [
        "site-a   eu      default    1/1    1/1     1.42.0   2027-02-19        now        ok", "TASK [Show] *****", "msg: 'hub: no ''lr''; it has a,", "    b'",
        "run 16 of me/app completed in 4.7 s", "…", "wrote /home/ann/.flwr/config.toml … now", "! site-c: is not compared",
    ]  # fmt: skip
    printed = (
        "TASK [Show] ***\nsite-a default 2/2 1/2 1.42.0 2027-03-01 now ok\nmsg: 'hub: no ''lr''; it\n  has a, b'\n"
        "run 7 of me/app completed in 31.0 s; outputs\nwrote /tmp/x/.flwr/config.toml for you, now"
    )
    command = Command(TO_RUN[0].block, "", page)
    assert guide_commands.not_shown(command, printed) == []
    assert guide_commands.not_shown(command, printed.replace("now ok", "offline")) == page[:1]


def test_the_folder_has_what_the_commands_name(tmp_path: Path) -> None:
    guide_commands.prepare(tmp_path, tmp_path / "kubeconfig")
    named = {path for one in TO_RUN for path in (FORM.match(one.text)[1], *re.findall(r"flower_app=(?:\$PWD/)?(\S+)", one.text)) if path}  # type: ignore[index]
    assert named and [path for path in named if not (tmp_path / path).exists()] == []
    for path in ("fleet.yml", "fleet/01-fleet.yml", "inventories/demo/01-fleet.yml"):
        assert set(yaml.safe_load((tmp_path / path).read_text())) == {"flower_hub", "flower_sites"}
    assert "num-server-rounds = 1\n" in (tmp_path / "examples" / "quickstart" / "pyproject.toml").read_text()
