# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.state import parent
from ansible_collections.federated.flower.tests.unit.rows import each_row


@each_row(
    ("name", "pid"), [("ansible-local-6759qnjcijaa", 6759), ("ansible-local-19a8b7c6d_", 19), ("ansible-local-12345678901", 123), ("mine", None)]
)
def test_the_playbook_is_that_of_its_folder(name: str, pid: int | None) -> None:
    """A fork whose playbook was killed a moment ago has another parent, such as process 1, which never ends."""
    assert parent.playbook(Path("/tmp") / name) == (os.getppid() if pid is None else pid)


def test_a_fork_goes_on_only_while_its_playbook_is_there() -> None:
    parent.require_playbook(os.getppid(), "the playbook")
    with pytest.raises(parent.Abandoned, match="the playbook has ended, so nothing more is changed"):
        parent.require_playbook(os.getpid(), "the playbook")
