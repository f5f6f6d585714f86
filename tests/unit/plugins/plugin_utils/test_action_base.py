# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import datetime
import json

from ansible_collections.federated.flower.plugins.plugin_utils.action_base import plain


class Text(str):
    """Like the tagged strings of ansible-core 2.19."""


def test_plain() -> None:
    given = {
        Text("a"): Text("b"),
        "day": datetime.date(2026, 1, 2),
        "many": (1, 2.5, None, True),
        "keys": {"x": 1}.keys(),
    }
    made = plain(given)
    assert made == {"a": "b", "day": "2026-01-02", "many": [1, 2.5, None, True], "keys": ["x"]}
    assert not isinstance(made["a"], Text)
    assert json.loads(json.dumps(made)) == made
