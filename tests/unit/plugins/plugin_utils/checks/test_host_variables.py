# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Variables of hosts that are read once: always those that Ansible has now."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.vars.hostvars import HostVars
from ansible.vars.manager import VariableManager

from ansible_collections.federated.flower.plugins.plugin_utils.checks.host_variables import variables_of
from ansible_collections.federated.flower.tests.unit.test_collection import trusted

NAMES = ("flower_delivery", "flower_connectivity", "supernode_superlink", "flower_join_verify", "flower_missing", "way", "missing")
HOSTS = {
    "a": {"flower_delivery": "ocm", "flower_connectivity": "{{ way }}", "way": "direct", "flower_join_verify": True},
    "b": {"supernode_superlink": {"address": "{{ inventory_hostname }}"}},
}


class Run:
    """What a run of a playbook knows of its hosts; it counts how often Ansible merges the variables of one."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path, self.merged = path, 0
        self.write(HOSTS)
        loader = DataLoader()
        self.inventory = InventoryManager(loader=loader, sources=[str(path)])
        self.manager = VariableManager(loader=loader, inventory=self.inventory)
        self.loader = loader
        self.begin_play()
        merge = self.manager.get_vars

        def counted(**options: Any) -> Any:
            self.merged += 1
            return merge(**options)

        monkeypatch.setattr(self.manager, "get_vars", counted)

    def begin_play(self) -> None:
        self.hostvars = HostVars(inventory=self.inventory, variable_manager=self.manager, loader=self.loader)

    def write(self, hosts: dict[str, Any]) -> None:
        self.path.write_text(yaml.safe_dump({"all": {"hosts": hosts}}))

    def is_right(self) -> bool:
        """Whether all is as Ansible says."""
        return all(variables_of(self.hostvars, host).get(name) == self.hostvars[host].get(name) for host in HOSTS for name in NAMES)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    return Run(tmp_path / "hosts.yml", monkeypatch)


def test_what_cannot_change_is_read_once(run: Run) -> None:
    for _play in range(3):
        run.begin_play()
        assert variables_of(run.hostvars, "a")["flower_delivery"] == "ocm"
        assert variables_of(run.hostvars, "a").get("flower_missing") is None
    assert run.merged == 1
    assert run.is_right()


def _refresh(run: Run) -> None:
    run.write({**HOSTS, "a": {"flower_delivery": "bundle"}})
    run.inventory.refresh_inventory()


@pytest.mark.parametrize(
    "change",
    [
        lambda run: run.manager.set_nonpersistent_facts("a", {"flower_delivery": "direct"}),
        lambda run: run.manager.set_nonpersistent_facts("a", trusted({"way": "{{ 'skupper' }}"})),
        lambda run: run.manager.set_host_facts("a", {"flower_delivery": "bundle"}),
        lambda run: run.manager.set_host_variable("b", "flower_connectivity", "skupper"),
        lambda run: run.inventory.get_host("a").set_variable("flower_delivery", "bundle"),
        _refresh,
    ],
    ids=["set_fact", "set_fact that a template reads", "facts", "include_vars", "add_host", "refresh_inventory"],
)
def test_what_changed_is_seen(run: Run, change: Callable[[Run], None]) -> None:
    assert run.is_right()
    change(run)
    assert run.is_right()


def test_hosts_that_are_not_there() -> None:
    assert variables_of({}, "a") == {}
    assert variables_of({"a": {"x": 1}}, "a") == {"x": 1}
