# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Text of a node config whose type may surprise is warned of once for each pool, with the form that forces a type."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.module_utils import node_config
from ansible_collections.federated.flower.plugins.plugin_utils.preflight import config_types
from ansible_collections.federated.flower.plugins.plugin_utils.spec.pool_spec import PoolSpec


def said(**given: Any) -> list[str]:
    return config_types.warnings([PoolSpec(name="cpu", node_config=given)])


@pytest.mark.parametrize("text", ["1", "+5", "-0", "true", "false", "9223372036854775807"])
def test_text_that_becomes_a_number_or_a_boolean(text: str) -> None:
    assert said(a=text) == ["node_config of pool cpu: the text of a becomes a number or a boolean (to keep text: {string: TEXT})"]
    (seen,) = node_config.expand({"a": text}, mode="StatefulSet", pool="cpu", replicas=1).preview
    assert not isinstance(seen["config"]["a"], str)


@pytest.mark.parametrize("text", ["1e-4", "0.5", "1E3", "01", ".5", "-2.5e10"])
def test_text_that_looks_like_a_number_and_stays_text(text: str) -> None:
    assert said(lr=text) == ["node_config of pool cpu: lr stays text, though it looks like a number (for a number: without quotes, with a point, as 1.0e-4)"]
    (seen,) = node_config.expand({"lr": text}, mode="StatefulSet", pool="cpu", replicas=1).preview
    assert seen["config"]["lr"] == text


@pytest.mark.parametrize("value", [1, 1.5, True, {"string": "1"}, "x1", "True", "1.41.0", "{partition}", "{index}", "", "1 2", "e4", "2026-01-01"])
def test_what_has_the_type_that_it_seems_to_have(value: Any) -> None:
    assert said(a=value) == []


def test_one_sentence_for_each_pool() -> None:
    (line,) = said(a="1", b="true", lr="1e-4", name="x")
    assert "the text of a, b becomes" in line and "; lr stays text" in line
