# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the result of every task as one line of JSON to the file FLOWER_RESULTS, so that tests can read it.

With the name of the task and the time, so that one can see where the seconds of a run went.
"""

from __future__ import annotations

import json
import os
import time

from ansible.plugins.callback import CallbackBase


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "results_json"
    CALLBACK_NEEDS_ENABLED = True

    def _write(self, result, failed):
        data = getattr(result, "result", None) or result._result
        host = getattr(result, "host", None) or result._host
        task = getattr(result, "task", None) or result._task
        facts = {"host": host.get_name(), "failed": failed, "task": task.get_name(), "at": time.time(), "result": data}
        line = json.dumps(facts, default=str)
        with open(os.environ["FLOWER_RESULTS"], "a", encoding="utf-8") as file:
            file.write(line + "\n")

    def v2_runner_on_ok(self, result, *args, **kwargs):
        self._write(result, False)

    def v2_runner_on_failed(self, result, *args, **kwargs):
        self._write(result, True)
