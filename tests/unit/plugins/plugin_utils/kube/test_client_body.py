# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The body of a request is the same to a reader of JSON and to one of YAML."""

from __future__ import annotations

import json

import pytest
import yaml

from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import encoded

TEXTS = [
    "plain",
    'a "quoted" \\ text with \\u0041',
    "first\nsecond\ttab\r",
    "Zürich 東京",
    "beyond: 🌷 𝔘",
    "ends of lines: \u0085 \u2028 \u2029 \x7f",
    "{{X}} }} {{",
]


@pytest.mark.parametrize("text", TEXTS)
def test_json_and_yaml_read_the_same(text):
    body = encoded({"data": {text: text}})
    assert json.loads(body) == yaml.safe_load(body.decode()) == {"data": {text: text}}


def test_nothing_beyond_ascii_stands_as_it_is_unless_it_has_to():
    assert encoded(["é", "🌷"]) == b'["\\u00e9","\xf0\x9f\x8c\xb7"]'
