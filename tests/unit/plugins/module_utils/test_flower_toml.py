# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Flower's reading of --node-config, as flwr does it."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.module_utils import flower_toml
from ansible_collections.federated.flower.tests.unit.rows import each_row


@each_row(
    ("text", "config"),
    [
        (None, {}),
        ("", {}),
        ("justakey", {}),
        ("a = 1", {}),
        ('site="eu west" n=1 f=1e3 b=true h=0x10', {"site": "eu west", "n": 1, "f": 1000.0, "b": True, "h": 16}),
        ("s='x y'", {"s": "x y"}),
        ("a.b=1 t={c=1}", {"a.b": 1, "t.c": 1}),
        ('my key="v"', {"key": "v"}),
        ('v="say "hi" now"', {"v": "say "}),
        (r'v="say \u0022hi\u0022"', {"v": 'say "hi"'}),
    ],
)
def test_read(text: str, config: dict[str, Any]) -> None:
    assert flower_toml.read(text) == config


@each_row("text", ["a=abc", "a=007", "a=True", "a=1 a=2", "a=1 a.b=2", "a=[1]", "a=2026-01-01"])
def test_read_refuses_what_flower_refuses(text: str) -> None:
    with pytest.raises(ValueError):
        flower_toml.read(text)


@each_row(
    "value", [True, False, 0, -1, 2**63 - 1, 0.1, 1e300, 5e-324, -0.0, "", 'a"b', "\\", "\n\x00\u2028"]
)
def test_literal_is_read_back(value: Any) -> None:
    read = flower_toml.read(f"v={flower_toml.literal(value)}")["v"]
    assert (type(read), read) == (type(value), value)
