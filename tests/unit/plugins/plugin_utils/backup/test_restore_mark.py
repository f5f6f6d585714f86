# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A hub whose restore was interrupted is recognised, until the restore is complete."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.backup import (
    hub_objects,
    restore_mark,
    volume_pod,
)
from ansible_collections.federated.flower.plugins.plugin_utils.backup.restore_mark import Mark
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.marks import owners
from ansible_collections.federated.flower.tests.unit.rows import each_row

ARCHIVE = "flower-backup-heart-20261124T010000Z.tar"
NAME = ("ConfigMap", hub_objects.RESTORE)


class Hub(Cluster):
    """Keeps objects, and what was done, in its order."""

    def __init__(self) -> None:
        self.name = "hub"
        self.there: dict[tuple[str, str], dict[str, Any]] = {}
        self.done: list[tuple[str, str]] = []

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> dict[str, Any] | None:
        return self.there.get((kind, name))

    def create(self, obj: Mapping[str, Any], *, dry_run: bool = False) -> dict[str, Any]:
        meta = {**obj["metadata"], "uid": str(len(self.done)), "managedFields": [{"manager": "federated.flower", "operation": "Update"}]}
        self.there[obj["kind"], meta["name"]] = {**obj, "metadata": meta}
        self.done.append(("create", meta["name"]))
        return {}

    def delete(self, api_version: str, kind: str, name: str, namespace: str | None = None, **more: Any) -> dict[str, Any] | None:
        assert more["uid"] == self.there.pop((kind, name))["metadata"]["uid"]
        self.done.append(("delete", name))
        return {}


def marked(hub: Hub, archive: str = ARCHIVE) -> Any:
    return restore_mark.marked(hub, "flower", "heart", archive)


def written(name: str) -> dict[str, Any]:
    return {"applied": False, "object": {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "flower"}}}


def test_the_mark_is_the_first_to_come_and_the_last_to_go() -> None:
    hub = Hub()
    with marked(hub):
        hub.create(written("superlink-ca")["object"])
        hub.create(written("superlink-internal")["object"])
    assert hub.done == [
        ("create", "flower-restore"), ("create", "superlink-ca"), ("create", "superlink-internal"), ("delete", "flower-restore"),
    ]  # fmt: skip
    assert restore_mark.read(hub, "flower") is None


def test_a_restore_creates_what_is_missing_under_the_mark_and_the_database_last(parsed_hub: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    hub, spec = Hub(), parsed_hub()
    monkeypatch.setattr(hub_objects.common_objects, "namespace_objects", lambda _spec: [])
    monkeypatch.setattr(volume_pod, "running", lambda *_arguments: nullcontext("its volume"))
    entries = [written("superlink-ca"), written("superlink-internal")]
    hub.create(entries[0]["object"])
    hub.done.clear()

    def interrupted(_volume: Any) -> bool:
        raise ClusterError("no answer")

    def restore(put: Callable[[Any], bool]) -> hub_objects.Restored:
        return hub_objects.restore(hub, spec, "flower-ca", entries, put, source=ARCHIVE, seconds=1)

    with pytest.raises(ClusterError, match="no answer"):
        restore(interrupted)
    assert hub.done == [("create", "flower-restore"), ("create", "data-superlink-0"), ("create", "superlink-internal")]
    assert volume_pod.claim_fault(hub.there["PersistentVolumeClaim", "data-superlink-0"], ARCHIVE) == ""
    assert restore_mark.read(hub, "flower") is not None
    done = restore(lambda volume: volume == "its volume")
    assert done.database and not done.objects and hub.done[3:] == [("delete", "flower-restore")]


@pytest.mark.parametrize("error", [ClusterError, KeyboardInterrupt])
def test_it_stays_when_the_restore_is_interrupted_and_the_next_one_completes_it(error: type[BaseException]) -> None:
    hub = Hub()
    with pytest.raises(error), marked(hub):
        hub.create(written("superlink-ca")["object"])
        raise error("the node port is in use")
    found = restore_mark.read(hub, "flower")
    assert found is not None and found.archive == ARCHIVE and found.started.endswith("+00:00")
    with marked(hub):
        assert restore_mark.read(hub, "flower") == found
    assert NAME not in hub.there


def test_why_a_hub_is_not_changed() -> None:
    assert restore_mark.refusal(None, "flower") == ""
    words = restore_mark.refusal(Mark(ARCHIVE, "2026-11-24T02:00:00+00:00"), "flower")
    assert f"the restore of {ARCHIVE}, started at 2026-11-24T02:00:00+00:00, is not complete" in words
    assert "run federated.flower.restore again with this archive" in words and "delete the ConfigMap flower/flower-restore" in words


def test_another_backup_is_not_put_over_half_of_one() -> None:
    mark = Mark(ARCHIVE, "2026-11-24T02:00:00+00:00")
    assert restore_mark.fault(None, ARCHIVE, "flower") == "" == restore_mark.fault(mark, ARCHIVE, "flower")
    words = restore_mark.fault(mark, "flower-backup-heart-20261123T010000Z.tar", "flower")
    assert ARCHIVE in words and "is another backup: choose the first one" in words


def test_a_config_map_of_someone_else_is_no_mark_and_is_not_replaced() -> None:
    hub = Hub()
    hub.there[NAME] = {"metadata": {"name": "flower-restore", "namespace": "flower", "resourceVersion": "1", "uid": "1"}, "data": {}}
    assert restore_mark.read(hub, "flower") is None
    with pytest.raises(ClusterError, match="exists already and"), marked(hub):
        pass
    assert hub.done == []


@each_row("text", ["", "{}", '{"archive": 1, "started": "x"}', "[]"])
def test_a_mark_that_cannot_be_read(text: str) -> None:
    hub = Hub()
    with pytest.raises(ClusterError, match="archive"), marked(hub):
        raise ClusterError("archive")
    hub.there[NAME]["data"] = {"restore.json": text}
    with pytest.raises(ClusterError, match="It marks an incomplete restore of the hub"):
        restore_mark.read(hub, "flower")


def test_it_is_the_hubs_and_in_no_backup_and_on_no_standby() -> None:
    hub = Hub()
    with marked(hub):
        item = hub.there[NAME]
        assert owners.part_of(item) == owners.PART_HUB and not hub_objects.of_hub(item, "heart")
        assert hub_objects.of_hub({**item, "metadata": {**item["metadata"], "name": "flower-ledger"}}, "heart")
