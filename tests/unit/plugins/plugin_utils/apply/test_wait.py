# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A SuperLink pod that was never ready is created again by the task that corrects its template, also where no site is deployed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.apply import wait
from ansible_collections.federated.flower.plugins.plugin_utils.apply.engine import apply_objects
from ansible_collections.federated.flower.plugins.plugin_utils.apply.results import ApplyFailed
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Forbidden
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.tests.unit.plugins.plugin_utils.kube.test_outdated import (
    CRASHED,
    OURS,
    RUNS,
    STARTS,
    pod,
    stateful_set,
)
from ansible_collections.federated.flower.tests.unit.rows import each_row

MEANT = {"namespace": "flower", "uid": "old"}
WANTED = {
    "apiVersion": "apps/v1",
    "kind": "StatefulSet",
    "metadata": {"name": "superlink", "namespace": "flower", "labels": OURS},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"app.kubernetes.io/name": "superlink"}},
        "template": {"spec": {"containers": [{"name": "superlink", "image": "right"}]}},
    },
}


def live(observed: int = 2, ready: int = 0, **more: Any) -> dict[str, Any]:
    """The StatefulSet as the API server has it."""
    found = stateful_set(observed)
    spec = {**WANTED["spec"], **found["spec"], **more}
    status = {**found["status"], "readyReplicas": ready, "updatedReplicas": ready}
    return {**WANTED, "metadata": {**WANTED["metadata"], **found["metadata"]}, "spec": spec, "status": status}


class Hub(Cluster):
    """A hub whose StatefulSet and pod change with each look."""

    def __init__(self, *looks: tuple[dict[str, Any], dict[str, Any]], refused: bool = False) -> None:
        self.name = "hub"
        self.requests, self.warnings = 0, []
        self.looks, self.refused = list(looks), refused
        self.deleted: list[str] = []

    def resource(self, api_version: str, kind: str) -> Any:
        return SimpleNamespace(namespaced=True)

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Any:
        return self.looks[0][0]

    def apply(self, obj: Any, *, dry_run: bool = False, force: bool = True) -> Any:
        return {**live(observed=1), "spec": {**live()["spec"], "template": {"spec": {"containers": [{"name": "superlink", "image": "changed"}]}}}}

    def list(self, api_version: str, kind: str, namespace: str | None = None, **chosen: Any) -> Any:
        if self.refused:
            raise Forbidden("hub", "GET", 403, {"message": "pods is forbidden"})
        _owner, one = self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]
        return [one]

    def delete(self, api_version: str, kind: str, name: str, namespace: str | None = None, **how: Any) -> Any:
        self.deleted.append(how["uid"])
        return {}


@each_row(
    ("looks", "deleted"),
    [
        ([(live(), pod(CRASHED, **MEANT))], ["old"]),
        # The controller sees the new template a moment later, and a container that starts may end.
        ([(live(observed=1), pod(CRASHED, **MEANT)), (live(), pod(STARTS, **MEANT)), (live(), pod(CRASHED, **MEANT))], ["old"]),
        ([(live(observed=1), pod(RUNS, ready=True, **MEANT))], []),  # its StatefulSet replaces it
        ([(live(), pod(CRASHED, revision="superlink-2", **MEANT))], []),
    ],
)
def test_the_pod_goes_with_the_template_that_was_wrong(looks: list[Any], deleted: list[str]) -> None:
    hub = Hub(*looks)
    result = apply_objects(hub, [WANTED])
    assert hub.deleted == deleted
    assert [(one["kind"], one["name"]) for one in result.objects if one["change"] == "deleted"] == [("Pod", "superlink-0")] * len(deleted)
    assert bool(result.warnings) is bool(deleted)


def test_check_mode_tells_of_the_pod() -> None:
    hub = Hub((live(), pod(CRASHED, **MEANT)))
    result = apply_objects(hub, [WANTED], check=True)
    assert hub.deleted == [] and [one["name"] for one in result.objects if one["change"] == "deleted"] == ["superlink-0"]
    assert any("would be deleted" in text for text in result.warnings), result.warnings


def test_what_may_not_be_seen_is_no_failure() -> None:
    result = apply_objects(Hub((live(), pod(CRASHED, **MEANT)), refused=True), [WANTED])
    assert "cannot check or replace its pods that may still have the former template" in result.warnings[0]


@pytest.mark.parametrize(
    ("item", "looked"),
    [
        (live(), True),
        (live(ready=1), False),
        (live(observed=1, ready=1), True),
        (live(replicas=0), False),
        (live(podManagementPolicy="Parallel"), False),  # such pods are replaced in any state
        ({**live(), "kind": "Deployment"}, False),
        ({**live(), "metadata": {**live()["metadata"], "labels": {}}}, False),  # someone else's
    ],
)
def test_where_nothing_is_wrong_no_pod_is_read(monkeypatch: pytest.MonkeyPatch, item: dict[str, Any], looked: bool) -> None:
    hub = Hub((item, pod(RUNS, ready=True, **MEANT)))
    hub.listed = False
    monkeypatch.setattr(hub, "list", lambda *_place, **_chosen: setattr(hub, "listed", True) or [])
    assert wait.outdated_pods(hub, item, item, check=True) == [] and hub.listed is looked


@each_row(("kind", "labels", "deleted"), [("Pod", OURS, ["u1"]), ("Pod", {}, []), ("Service", OURS, [])])
def test_a_listed_pod_of_ours_goes_although_its_controller_made_it(kind: str, labels: dict[str, str], deleted: list[str]) -> None:
    meta = {"name": "superlink-0", "namespace": "flower"}
    made = {**meta, "uid": "u1", "labels": labels, "managedFields": [{"manager": "kube-controller-manager", "operation": "Update"}]}
    listed, there = ({"apiVersion": "v1", "kind": kind, "metadata": one} for one in (meta, made))
    hub = Hub((there, there))
    if deleted:
        apply_objects(hub, [listed], state="absent", own_only=True)
    else:
        with pytest.raises(ApplyFailed, match="this collection did not create it"):
            apply_objects(hub, [listed], state="absent", own_only=True)
    assert hub.deleted == deleted
