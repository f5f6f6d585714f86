# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""To find one filter, Ansible imports all files of filters, in the process of each task: none of them may import what takes long."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.federated.flower.plugins.filter import fleet_report

FILTERS = Path(__file__).resolve().parents[4] / "plugins" / "filter"
SLOW = ("cryptography", "kubernetes", "pydantic", "yaml.loader", "ansible_collections.federated.flower.plugins.plugin_utils.fleet")
PROGRAM = """
import importlib, sys
import ansible.template, ansible.utils.display
before = set(sys.modules)
for name in sys.argv[1].split(","):
    importlib.import_module(f"ansible_collections.federated.flower.plugins.filter.{name}")
print("\\n".join(sorted(set(sys.modules) - before)))
"""


def test_files_of_filters_import_nothing_that_takes_long():
    names = sorted(path.stem for path in FILTERS.glob("*.py") if path.stem != "__init__")
    assert len(names) > 3
    run = subprocess.run([sys.executable, "-c", PROGRAM, ",".join(names)], text=True, capture_output=True, check=True)
    loaded = run.stdout.split()
    assert "ansible_collections.federated.flower.plugins.plugin_utils.actions.filters" in loaded
    assert [name for name in loaded if name in SLOW] == []


def test_what_a_filter_imports_when_it_is_called_is_there():
    for name, function in fleet_report.FilterModule.FUNCTIONS.items():
        assert function.__name__ == name  # in the message of an error
        with pytest.raises(TypeError, match=rf"^{name}\(\) missing \d+ required positional argument"):
            function()
