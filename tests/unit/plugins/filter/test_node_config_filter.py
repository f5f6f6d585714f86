# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter node_config, and that all of its descriptions agree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleFilterError

from ansible_collections.federated.flower.plugins.filter.node_config import FilterModule
from ansible_collections.federated.flower.plugins.module_utils.node_config import ARGUMENT_SPEC, expand
from ansible_collections.federated.flower.plugins.modules import node_config as module
from ansible_collections.federated.flower.tests.unit.rows import each_row

node_config = FilterModule().filters()["node_config"]
FILTER_DOC = Path(__file__).parents[4] / "plugins" / "filter" / "node_config.yml"


def test_is_the_pure_function() -> None:
    config = {"id": "{index}", "n": 7, "f": 0.5, "s": {"string": "7"}}
    got = node_config(config, mode="StatefulSet", pool="gpu", replicas=3)
    want = expand(config, mode="StatefulSet", pool="gpu", replicas=3)
    assert got == {"argument": want.argument, "env": want.env, "preview": want.preview}


def test_numbers_may_be_text() -> None:
    assert len(node_config({}, mode="StatefulSet", pool="gpu", replicas="3")["preview"]) == 3


def test_every_fault_has_a_line_with_its_code() -> None:
    with pytest.raises(AnsibleFilterError) as caught:
        node_config({"a": "{indx}", "b": None}, mode="StatefulSet", pool="gpu", replicas=3)
    lines = str(caught.value).splitlines()
    assert "unknown-placeholder: pool 'gpu': node_config key 'a'" in lines[0]
    assert "unsupported-value: pool 'gpu': node_config key 'b'" in lines[1]


@each_row("options", [{"pool": "p"}, {"mode": "Job", "pool": "p"}, {"mode": "DaemonSet", "pol": "p"}])
def test_wrong_options(options: dict[str, Any]) -> None:
    with pytest.raises(AnsibleFilterError, match="federated.flower.node_config: "):
        node_config({}, **options)


def test_documentation_has_the_parameters() -> None:
    checked = ("type", "elements", "required", "choices")
    spec = {name: {k: v for k, v in option.items() if k in checked} for name, option in ARGUMENT_SPEC.items()}
    for text, renamed in (
        (module.DOCUMENTATION, {}),
        (FILTER_DOC.read_text(encoding="utf-8"), {"_input": "node_config"}),
    ):
        doc = yaml.safe_load(text)
        options = doc.get("DOCUMENTATION", doc)["options"]
        documented = {
            renamed.get(name, name): {k: v for k, v in option.items() if k in checked}
            for name, option in options.items()
        }
        assert documented == spec
