# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The order of plugin_utils. Its floors are a contract in pyproject.toml, which import-linter keeps."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

from ansible_collections.federated.flower.plugins.plugin_utils.site_keys import shipped

PLUGIN_UTILS = Path(__file__).resolve().parents[2] / "plugins" / "plugin_utils"


def test_a_file_name_means_one_thing():
    places = defaultdict(list)
    for path in PLUGIN_UTILS.rglob("*.py"):
        places[path.name].append(path.relative_to(PLUGIN_UTILS).as_posix())
    assert [found for name, found in sorted(places.items()) if len(found) > 1 and name != "__init__.py"] == []


def test_imports_inside_are_relative():
    """The program that runs at sites is made of these files, and there is no collection there."""
    own = "ansible_collections.federated"
    found = []
    for path in PLUGIN_UTILS.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if own in text else ():  # parsing is slow
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(own):
                found.append(f"{path.relative_to(PLUGIN_UTILS)}:{node.lineno}")
    assert found == []


def test_what_is_sent_to_sites_renders_nothing():
    packages = {path.split("/")[1] for path in shipped.files()}
    assert packages == {"base", "marks", "pki", "site_keys"}
