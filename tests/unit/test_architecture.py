# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The architecture page describes the packages and files that there are."""

from __future__ import annotations

import re

import tomllib

from ansible_collections.federated.flower.tests.unit.read import ROOT

PAGE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
PACKAGES = {path.parent.name for path in ROOT.glob("plugins/plugin_utils/*/*.py")}


def test_each_package_has_one_paragraph() -> None:
    described = re.findall(r"^- `(\w+)`: ", PAGE, re.MULTILINE)
    assert sorted(described) == sorted(PACKAGES)


def test_the_picture_has_the_floors_of_the_contracts() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    (floors,) = [one["layers"] for one in contracts if one["name"] == "Packages of plugin_utils lie on floors"]
    (picture,) = re.findall(r"flowchart TB\n(.*?)```", PAGE, re.DOTALL)
    arrows = [part.strip() for line in picture.splitlines() for part in line.split("-->")]
    drawn = list(dict.fromkeys(frozenset(part.split(" & ")) for part in arrows if part))
    assert drawn == [frozenset(floor.split(" | ")) for floor in floors]


def test_each_file_that_it_names_is_there() -> None:
    named = set(re.findall(r"`([\w/]+\.(?:py|yml))`", PAGE))
    assert named
    places = ("", "plugins/plugin_utils/", "plugins/plugin_utils/sites/", "plugins/plugin_utils/actions/", "plugins/plugin_utils/rotation/")
    missing = [name for name in named if not any((ROOT / place / name).exists() for place in places) and "NAME" not in name and "ROLE" not in name]
    assert missing == []
