# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What tools/role_files.py writes from an argument specification."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from ansible_collections.federated.flower.tests.unit.read import ROOT

SPECIFICATION = """\
---
argument_specs:
  main:
    options: &options
      # Names
      toy_name:
        type: str
        default: "a"
        choices: ["a", ""]
        description: [The name.]
      toy_hub:
        type: str
        # default: >-
        #   {{ groups['hubs']
        #      | first }}
        description: [The hub.]

      # Not in defaults/main.yml
      flower_color: {type: str, description: [A color.]}

      # Switches
      toy_wait:
        type: bool
        default: true
        description: [Whether to wait., Defaults to C(flower_wait) if it is set.]
      toy_parts:
        type: list
        elements: dict
        default:
          - size: 1
        options:
          size: {type: int, required: true, description: [Of O(toy_name).]}
        description: [Parts.]
  other:
    options: *options
"""
DEFAULTS = """
# Names
toy_name: "a"
toy_hub: >-
  {{ groups['hubs']
     | first }}

# Switches
toy_wait: "{{ flower_wait | default(true) }}"
toy_parts:
  - size: 1

# Written by hand: rows
toy_rows: []
"""
ROWS = """\
| `toy_wait` | Whether to wait. Defaults to `flower_wait` if it is set. | bool | no | `true` |
| `toy_parts` | Parts. | list of dict | no | `[{"size": 1}]` |
| `toy_parts[].size` | Of `toy_name`. | int | yes | - |

## License
"""


def test_defaults_and_readme_follow_the_specification(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = importlib.util.spec_from_file_location("role_files", ROOT / "tools" / "role_files.py")
    assert spec is not None and spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    role = tmp_path / "roles" / "toy"
    for path, text in (
        ("meta/argument_specs.yml", SPECIFICATION),
        ("defaults/main.yml", "---\ntoy_name: old\n\n# Written by hand: rows\ntoy_rows: []\n"),
        ("README.md", "# toy\n\n## Parameters\n\nOld.\n\n## License\n"),
    ):
        (role / path).parent.mkdir(parents=True, exist_ok=True)
        (role / path).write_text(text, encoding="utf-8")

    assert program.main(["--check"], tmp_path) == 1
    assert "roles/toy/README.md is not what" in capsys.readouterr().out and "Old." in (role / "README.md").read_text()
    assert program.main([], tmp_path) == 0 and program.main(["--check"], tmp_path) == 0
    assert (role / "defaults" / "main.yml").read_text() == program.HEAD + DEFAULTS
    readme = (role / "README.md").read_text()
    assert readme.startswith("# toy\n\n## Parameters\n\n`ansible-doc") and readme.endswith(ROWS)
    assert "| `toy_name` | The name. Choices: `a`, empty. | str | no | `a` |" in readme
    assert "### Not in defaults/main.yml" in readme
