# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One label of an object of someone else, and nothing else of it."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.apply.label import set_label
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Forbidden
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster

API = "cluster.open-cluster-management.io/v1"
A, B = "clientapp.federated.flower/a", "clientapp.federated.flower/b"


class Hub(Cluster):
    """Takes merge patches of labels."""

    def __init__(self, **labels: str) -> None:
        self.name = "hub"
        self.patches: list[Any] = []
        meta = {"name": "cluster-a", "uid": "1", "labels": dict(labels)}
        self.live: dict[str, Any] = {"apiVersion": API, "kind": "ManagedCluster", "metadata": meta}

    def patch(self, api_version: str, kind: str, name: str, namespace: Any, body: Any, **_more: Any) -> Any:
        assert (api_version, kind, name, namespace) == (API, "ManagedCluster", "cluster-a", None)
        self.patches.append(body)
        for key, value in body["metadata"]["labels"].items():
            if value is None:
                self.live["metadata"]["labels"].pop(key, None)
            else:
                self.live["metadata"]["labels"][key] = value
        return self.live


@pytest.fixture
def hub() -> Hub:
    return Hub(**{A: "1", B: "2"})


def test_the_labels_of_other_federations_stay(hub):
    result = set_label(hub, copy.deepcopy(hub.live), B, "3", show_diff=True)
    assert hub.live["metadata"]["labels"] == {A: "1", B: "3"} and hub.patches == [{"metadata": {"labels": {B: "3"}}}]
    assert result.changed and result.objects[0]["change"] == "changed" and result.objects[0]["name"] == "cluster-a"
    assert f"{A}: '1'" in result.diff[0]["after"] and f"{B}: '3'" in result.diff[0]["after"]
    set_label(hub, copy.deepcopy(hub.live), B, None)
    assert hub.live["metadata"]["labels"] == {A: "1"}


def test_what_is_so_already_is_not_written(hub):
    assert not set_label(hub, hub.live, B, "2").changed
    assert not set_label(hub, hub.live, "other", None).changed
    assert hub.patches == []


def test_check_mode_writes_nothing(hub):
    before = copy.deepcopy(hub.live)
    result = set_label(hub, hub.live, B, None, check=True, show_diff=True)
    assert result.changed and hub.patches == [] and hub.live == before and B not in result.diff[0]["after"]


def test_a_refusal_names_object_and_label(hub, monkeypatch):
    def refuse(*_which: Any, **_more: Any) -> Any:
        raise Forbidden("hub", "PATCH", 403, {"message": "no"})

    monkeypatch.setattr(Hub, "patch", refuse)
    with pytest.raises(ClusterError, match=f"ManagedCluster cluster-a: the label {B} cannot be changed: forbidden: no"):
        set_label(hub, hub.live, B, "3")
