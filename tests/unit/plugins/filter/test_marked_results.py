# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What filters return is never treated as a template, also with ansible-core before 2.19, which templates all text that is not marked.

`make lowest` runs this with ansible-core 2.17.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import ansible.template
import pytest
import yaml

from ansible_collections.federated.flower.plugins.plugin_utils.actions import filters

FILTERS = Path(__file__).parents[4] / "plugins/filter"
MODULES = sorted(path.stem for path in FILTERS.glob("[!_]*.py"))

#: The text of a site, which is to stay text, in the places in which results have it.
EXPRESSIONS = {
    "a list": "hostvars | federated.flower.fleet_drift(['localhost'])",
    "one of it": "(hostvars | federated.flower.fleet_drift(['localhost'])) | first",
    "a text": "(hostvars | federated.flower.fleet_drift(['localhost']))[0].text",
    "texts together": "hostvars | federated.flower.fleet_drift(['localhost']) | map(attribute='text') | join(' ')",
    "within a text": "'found: ' ~ (hostvars | federated.flower.fleet_drift(['localhost']))",
    "sorted": "hostvars | federated.flower.fleet_drift(['localhost']) | sort(attribute='text') | list",
    "a manifest": "[{'kind': hostvars.localhost.hidden.one}] | federated.flower.manifest",
}


@pytest.mark.parametrize("name", MODULES)
def test_all_filters_mark_what_they_return(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(filters, "_ALL_IS_TEMPLATED", True)
    monkeypatch.setattr(filters, "_marked", lambda function: "marked")
    module = importlib.import_module(f"ansible_collections.federated.flower.plugins.filter.{name}")
    found = module.FilterModule().filters()
    assert found and set(found.values()) == {"marked"}


def test_all_filters_are_in_these_files() -> None:
    found = {one for name in MODULES for one in importlib.import_module(f"ansible_collections.federated.flower.plugins.filter.{name}").FilterModule().filters()}
    documented = {path.stem for path in FILTERS.glob("*.yml")}
    assert documented <= found


@pytest.mark.playbook
@pytest.mark.skipif(hasattr(ansible.template, "trust_as_template"), reason="this ansible-core templates only text that is marked as trusted")
def test_text_of_a_site_that_a_filter_returns_is_not_executed(tmp_path: Path) -> None:
    """As a name that an API server made up, which comes with the result of a module."""
    hostile = f"x {{{{ lookup('ansible.builtin.pipe', 'touch {tmp_path}/executed') }}}}"
    hidden = {"one": "{{ told.stdout }}", "changed": True, "objects": [{"kind": "{{ told.stdout }}", "name": "x", "change": "created"}]}
    facts = {f"kept_{number}": f"{{{{ {expression} }}}}" for number, expression in enumerate(EXPRESSIONS.values())}
    tasks = [
        {"ansible.builtin.command": {"argv": ["printf", "%s", "{{ lookup('ansible.builtin.file', folder + '/hostile') }}"]}, "register": "told"},
        {"ansible.builtin.set_fact": {"hidden": hidden, "__superlink_deployed": hidden}},
        {"ansible.builtin.set_fact": facts},
        {"ansible.builtin.copy": {"content": "".join(f"{{{{ {name} }}}}\n=====\n" for name in facts), "dest": "{{ folder }}/seen"}},
    ]
    play = {"hosts": "localhost", "connection": "local", "gather_facts": False, "vars": {"folder": str(tmp_path)}, "tasks": tasks}
    (tmp_path / "hostile").write_text(hostile)
    (tmp_path / "play.yml").write_text(yaml.safe_dump([play]))
    interpreter = f"ansible_python_interpreter={sys.executable}"
    command = [sys.executable, "-m", "ansible", "playbook", "-i", "localhost,", "-e", interpreter, str(tmp_path / "play.yml")]
    environ = {**os.environ, "ANSIBLE_LOCALHOST_WARNING": "false", "ANSIBLE_LOCAL_TEMP": str(tmp_path / "tmp"), "ANSIBLE_HOME": str(tmp_path / "home")}
    done = subprocess.run(command, capture_output=True, text=True, env=environ, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not (tmp_path / "executed").exists()
    shown = dict(zip(EXPRESSIONS, (tmp_path / "seen").read_text().split("=====\n")))
    assert [name for name, text in shown.items() if "touch" not in text] == []


def test_what_is_marked_is_the_same_value() -> None:
    assert filters.unsafe({"a": ["b", 1, None]}) == {"a": ["b", 1, None]}
