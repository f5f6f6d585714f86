# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What tools/role_files.py writes from an argument specification."""

from __future__ import annotations

import runpy
from pathlib import Path

from ansible_collections.federated.flower.tests.unit.read import ROOT

SPECIFICATION = """\
argument_specs:
  main:
    options:
      # Toys
      toy_hub:
        type: str
        # default: >-
        #   {{ groups['hubs']
        #      | first }}
        description: The hub.
      toy_wait:
        type: bool
        default: true
        description: [Whether to wait., Defaults to C(flower_wait) if it is set.]

      # Parts
      toy_parts:
        type: list
        elements: dict
        default:
          - size: 1
        description: [Parts.]
        options:
          size: {type: int, required: true, description: [Of O(toy_hub).]}
"""
DEFAULTS = """
# Toys
toy_hub: >-
  {{ groups['hubs']
     | first }}
toy_wait: "{{ flower_wait | default(true) }}"

# Parts
toy_parts:
  - size: 1
"""
ROWS = """\
| `toy_parts` | Parts. | list of dict | no | `[{"size": 1}]` |
| `toy_parts[].size` | Of `toy_hub`. | int | yes | - |

## License
"""


def test_defaults_and_readme_follow_the_specification(tmp_path: Path) -> None:
    program = runpy.run_path(str(ROOT / "tools" / "role_files.py"))
    tail = "\n# Written by hand: rows\ntoy_rows: []\n"
    before = {"meta/argument_specs.yml": SPECIFICATION, "defaults/main.yml": f"old: 1\n{tail}", "README.md": "## Parameters\nOld.\n\n## License\n"}
    paths = {name: tmp_path / "roles" / "toy" / name for name in before}
    for name, path in paths.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(before[name], encoding="utf-8")
    assert program["main"](["--check"], tmp_path) == 1
    assert {name: path.read_text() for name, path in paths.items()} == before
    assert program["main"]([], tmp_path) == 0 and program["main"](["--check"], tmp_path) == 0
    assert paths["defaults/main.yml"].read_text() == program["HEAD"] + DEFAULTS + tail
    assert paths["README.md"].read_text().startswith("## Parameters\n\n`ansible-doc") and paths["README.md"].read_text().endswith(ROWS)
