# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A record is written over nothing but a record."""

from __future__ import annotations

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
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
