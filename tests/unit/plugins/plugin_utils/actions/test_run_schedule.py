# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a schedule keeps when it is set again."""

from __future__ import annotations

import base64
import json
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.action.run_schedule import ActionModule
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.labels import own_pods
from ansible_collections.federated.flower.plugins.plugin_utils.flower import schedules
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import schedule

KEPT = {**schedules.DEFAULTS, "cron": "0 2 * * sun", "app": "acme/train", "version": "1.0.0", "run_config": '"rounds" = 50\n'}
SPEC: Any = SimpleNamespace(namespace="flower", federation="demo")


def completed(given: dict[str, Any], defaults: dict[str, Any] | None) -> dict[str, Any]:
    live = {
        "metadata": {"labels": own_pods("demo", "flower-schedule")},
        "data": {schedule.SETTINGS: json.dumps(KEPT)},
        "binaryData": {schedule.ARCHIVE: base64.b64encode(b"old").decode()},
    }
    hub: Any = SimpleNamespace(name="hub", get=lambda *_which: live)
    app: Any = None if defaults is None else SimpleNamespace(name="acme/train 1.1.0", defaults=defaults)
    return ActionModule._complete(hub, SPEC, "weekly", given, b"new" if app else b"", app)[0]


def test_an_app_that_is_given_again_keeps_the_run_config() -> None:
    assert completed({"suspend": True}, None) == {**KEPT, "suspend": True}
    new = {"app": "acme/train", "version": "1.1.0"}
    assert completed(new, {"rounds": 3, "more": 1})["run_config"] == '"rounds" = 50\n'
    assert completed({**new, "run_config": '"more" = 2\n'}, {"rounds": 3, "more": 1})["run_config"] == '"more" = 2\n'
    with pytest.raises(ClusterError, match="the app acme/train 1.1.0 has no run config 'rounds'; it has more"):
        completed(new, {"more": 1})
