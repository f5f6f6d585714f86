# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports the progress of a playbook to steps.py: appends events to the file FLOWER_PROGRESS, each a JSON object on its own line."""

from __future__ import annotations

import json
import os

from ansible.plugins.callback import CallbackBase


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "demo_progress"
    CALLBACK_NEEDS_ENABLED = True

    _play = ""

    def _write(self, **event):
        with open(os.environ["FLOWER_PROGRESS"], "a", encoding="utf-8") as file:
            file.write(json.dumps(event, default=str) + "\n")

    def v2_playbook_on_play_start(self, play):
        self._play = play.get_name()

    def v2_playbook_on_task_start(self, task, is_conditional):
        self._write(activity=self._play, task=task.get_name())

    def v2_runner_on_ok(self, result, *args, **kwargs):
        task, _host, data = _unpack(result)
        module = task.action.rpartition(".")[2]
        if module == "debug" and "msg" in data:
            self._write(message=data["msg"])
        if module == "node_info" and "sites" in data:
            self._write(nodes=data["sites"])

    def v2_runner_on_failed(self, result, ignore_errors=False):
        _task, host, data = _unpack(result)
        if not ignore_errors:
            self._write(failed=_failure(host, data))

    def v2_runner_on_unreachable(self, result):
        _task, host, data = _unpack(result)
        self._write(failed=_failure(host, data))


def _unpack(result):
    """Return the task, the host's name and the data of a result."""
    if hasattr(result, "result"):
        return result.task, result.host.get_name(), result.result
    # ansible-core before 2.19
    return result._task, result._host.get_name(), result._result


def _failure(host, data):
    """Return the message of a failure, which starts with the host's name."""
    text = str(data.get("msg") or data.get("exception") or "failed without a message").strip()
    return text if text.startswith(host) else f"{host}: {text}"
