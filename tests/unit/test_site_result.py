# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""M(federated.flower.site_result): each host has its own result of a task that worked on all."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ansible_collections.federated.flower.tests.unit.ansible_run import inventory, play, written

pytestmark = pytest.mark.playbook

PLAY = """
- hosts: flower_sites
  gather_facts: false
  tasks:
    - ansible.builtin.set_fact:
        done:
          sites:
            a: {changed: true, msg: "{% raw %}a: {{ 1 + 1 }} objects{% endraw %}", objects: [{name: x}]}
            b: {failed: true, msg: "b: refused"}
            c: [{changed: true, msg: first}, {changed: false, msg: "c: last"}]
        broken: {failed: true, msg: the hub does not answer}
    - ansible.builtin.command: never
      run_once: true
      when: false
      register: skipped
    - federated.flower.site_result:
        registered: done
      ignore_errors: true  # the next task shows that it failed for b
      register: own
    - ansible.builtin.debug:
        msg: "{{ inventory_hostname }} own={{ own.msg }} failed={{ own is failed }} changed={{ own is changed }}"
    - federated.flower.site_result:
        registered: "{{ {'a': 'skipped', 'b': 'broken'}[inventory_hostname] | default(omit) }}"
"""


def test_each_host_has_its_own_result(tmp_path: Path) -> None:
    (tmp_path / "play.yml").write_text(PLAY)
    run = play(written(tmp_path, inventory({}, {name: {} for name in "abcd"})), str(tmp_path / "play.yml"))
    output = run.stdout
    found = dict(re.findall(r"\b([a-d]) own=(.*?)[\"']?\n", output))
    assert found == {
        "a": "a: {{ 1 + 1 }} objects failed=False changed=True",
        "b": "b: refused failed=True changed=False",
        "c": "c: last failed=False changed=True",
        "d": "nothing to do failed=False changed=False",
    }
    assert run.returncode == 2 and "a condition of this role or task is false for the first host" in output
    assert "the hub does not answer" in output
    assert "one of the following is required: registered, results" in output
