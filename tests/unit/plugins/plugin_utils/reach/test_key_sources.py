# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys of pools that are dropped: which Secrets are changed or deleted."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Conflict
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.reach.key_sources import AtController
from ansible_collections.federated.flower.plugins.plugin_utils.site_keys import keys


class Secrets(Cluster):
    """A cluster with the Secret of one pool, which may have been replaced since it was read."""

    def __init__(self, federation: str = "demo", manager: str = "federated.flower", *, replaced: bool = False) -> None:
        self.name = "site-a"
        secret = keys.build(federation, "lab", "supernode-cpu-keys", {"0": "a", "1": "b"}, pool=keys.Pool("cpu", ["0", "1"], 0))
        secret["metadata"] |= {"uid": "1", "resourceVersion": "7", "managedFields": [{"manager": manager, "operation": "Apply"}]}
        self.secret, self.replaced = secret, replaced
        self.sent: list[tuple[str, Any]] = []

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Any:
        return self.secret if name == "supernode-cpu-keys" else None

    def request(self, method: str, path: str, *, query: Any = None, body: Any = None, content_type: str = "") -> Any:
        self.sent.append((method, body.get("preconditions") or body["metadata"]["resourceVersion"]))
        if self.replaced:
            raise Conflict("site-a", f"{method} {path}", 409, {"message": "the precondition differs"})
        return {}


@pytest.fixture
def noted() -> list[dict[str, str]]:
    return []


def drop(cluster: Secrets, names: list[str], noted: list[dict[str, str]]) -> None:
    run = SimpleNamespace(note=lambda _site, objects: noted.extend(objects))
    site = SimpleNamespace(name="site-a", namespace="lab", federation="demo")
    AtController(run, site, cluster).drop({"cpu": names, "gone": ["0"]})


def test_exactly_the_secret_that_was_read_is_deleted(noted: list[dict[str, str]]) -> None:
    cluster = Secrets()
    drop(cluster, ["0", "1"], noted)
    assert cluster.sent == [("DELETE", {"uid": "1", "resourceVersion": "7"})]
    assert noted == [{"change": "deleted", "object": "Secret lab/supernode-cpu-keys"}]


def test_keys_that_are_needed_stay(noted: list[dict[str, str]]) -> None:
    cluster = Secrets()
    drop(cluster, ["1"], noted)
    assert cluster.sent == [("PUT", "7")] and noted[0]["change"] == "changed"


@pytest.mark.parametrize("whose", [{"federation": "other"}, {"manager": "kubectl-create"}])
def test_a_secret_of_someone_else_is_refused(noted: list[dict[str, str]], whose: dict[str, str]) -> None:
    cluster = Secrets(**whose)
    with pytest.raises(ClusterError, match="Secret lab/supernode-cpu-keys on site-a was not created by this collection"):
        drop(cluster, ["0", "1"], noted)
    assert not cluster.sent and not noted


@pytest.mark.parametrize("names", [["0"], ["0", "1"]])
def test_a_secret_that_another_run_replaced_stays(noted: list[dict[str, str]], names: list[str]) -> None:
    cluster = Secrets(replaced=True)
    with pytest.raises(ClusterError, match="was changed by another run meanwhile. Run again"):
        drop(cluster, names, noted)
    assert len(cluster.sent) == 1 and not noted
