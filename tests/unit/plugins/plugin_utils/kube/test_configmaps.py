# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A record is written over nothing but a record, and once more if the API server did not answer: what Flower has registered must get into the ledger."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.kube import configmaps
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import (
    ERRORS,
    Conflict,
    Unavailable,
    Unreachable,
)
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.kube.configmaps import config_map, write


class Writes(Cluster):
    """Keeps what it is to write."""

    def __init__(self):
        self.name = "hub"
        self.written = []

    def request(self, method, path, *, query=None, body=None, content_type="", **_more):
        """Any request."""
        self.written.append(method)
        return body


def test_a_config_map_of_someone_else_is_refused():
    cluster = Writes()
    item = config_map("demo", "flower", "flower-ledger", {}, application="flower-ledger", component="ledger")
    write(cluster, item)
    item["metadata"]["resourceVersion"] = "1"
    write(cluster, item)
    item["metadata"]["labels"] = {"app.kubernetes.io/managed-by": "Helm"}
    with pytest.raises(
        ClusterError, match="ConfigMap flower/flower-ledger on hub exists already and is managed by Helm"
    ):
        write(cluster, item)
    assert cluster.written == ["POST", "PUT"]


def test_a_record_that_lost_its_label_is_not_to_be_deleted():
    item = config_map("demo", "flower", "flower-ledger", {}, application="flower-ledger", component="ledger")
    item["metadata"] |= {"resourceVersion": "1", "managedFields": [{"manager": "federated.flower"}]}
    del item["metadata"]["labels"]["app.kubernetes.io/managed-by"]
    with pytest.raises(ClusterError, match="kubectl label configmap flower-ledger -n flower app.kubernetes.io/managed-by=federated.flower") as caught:
        write(Writes(), item)
    assert "Delete or rename" not in caught.value.message


def failed(error: Any, *, unsure: bool) -> Any:
    error.unsure = unsure
    return error


def answer(status: int) -> Any:
    return ERRORS[status]("hub", "PUT /", status, {})


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(configmaps.time, "sleep", lambda _seconds: None)


@pytest.mark.parametrize("error", [Unreachable("hub: reset"), answer(503), answer(502), answer(504), answer(500)])
def test_a_write_that_was_not_answered(error: Any) -> None:
    outcomes = [failed(error, unsure=True), Conflict("hub", "POST /", 409, {}), "written"]

    def attempt() -> str:
        one = outcomes.pop(0)
        if isinstance(one, Exception):
            raise one
        return one

    assert configmaps.retry_on_conflict("x", attempt) == "written"


@pytest.mark.parametrize(
    ("error", "unsure", "kind", "times"),
    [
        (failed(answer(503), unsure=False), True, Unavailable, 1),  # a read, which the connection has repeated
        (failed(answer(503), unsure=True), False, Unavailable, 1),  # a lease is renewed in time, or not
        (failed(answer(503), unsure=True), True, Unavailable, configmaps.ATTEMPTS),
        (Conflict("hub", "PUT /", 409, {}), True, ClusterError, configmaps.ATTEMPTS),
    ],
)
def test_what_ends_it(error: Any, unsure: bool, kind: type[Exception], times: int) -> None:
    asked: list[int] = []

    def attempt() -> str:
        asked.append(1)
        raise error

    with pytest.raises(kind):
        configmaps.retry_on_conflict("x", attempt, unsure=unsure)
    assert len(asked) == times
