# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A SuperLink pod with a former template is created again while site.yml waits for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.fleet import recreate_superlink_pod
from ansible_collections.federated.flower.tests.unit.plugins.plugin_utils.kube.test_outdated import (
    CRASHED,
    RUNS,
    UNPULLED,
    pod,
    stateful_set,
)
from ansible_collections.federated.flower.tests.unit.recorded_run import RecordedRun

MEANT = {"namespace": "flower", "uid": "old"}


class Hub:
    """The StatefulSet, and what is deleted."""

    def __init__(self) -> None:
        self.deleted: list[str] = []

    def get(self, _version: str, kind: str, _name: str, _namespace: str) -> dict[str, Any]:
        assert kind == "StatefulSet"
        return stateful_set()

    def delete(self, *_place: str, uid: str, **_how: str) -> None:
        self.deleted.append(uid)


class Line:
    """The command line: the pods that it finds, one wait after the other."""

    def __init__(self, *waits: list[dict[str, Any]]) -> None:
        self.waits = list(waits)

    def wait_for_superlink(self, _seconds: float, *, waiting: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        *unready, ready = self.waits.pop(0)
        for one in unready:
            waiting(one)
        return ready


NEW = pod(RUNS, ready=True, revision="superlink-2", namespace="flower", uid="new")


@pytest.mark.parametrize(
    ("waits", "deleted"),
    [
        ([[pod(CRASHED, **MEANT), NEW]], ["old"]),
        ([[pod(RUNS, UNPULLED, **MEANT)], [NEW]], ["old"]),  # the SuperLink runs, and its gateway never will
        ([[NEW]], []),
        ([[pod(RUNS, UNPULLED, revision="superlink-2", **MEANT)]], []),
    ],
)
def test_a_pod_with_a_former_template(waits: list[list[dict[str, Any]]], deleted: list[str]) -> None:
    hub, line, run = Hub(), Line(*waits), RecordedRun()
    recreate_superlink_pod.Rescue(run, hub, "hub", "f").wait(line, 1)  # type: ignore[arg-type]
    assert hub.deleted == deleted and not line.waits
    assert bool(run.said) is bool(deleted) and all("hub: pod superlink-0 was created again: it was not ready" in one for one in run.said)
    assert [f"{host}: {words}" for host, words in run.notes] == run.said
