# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import datetime
import json
from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.plain import plain


class Text(str):
    """Like the tagged strings of ansible-core 2.19."""


def test_plain() -> None:
    given = {
        Text("a"): Text("b"),
        "day": datetime.date(2026, 1, 2),
        "many": (1, 2.5, None, True),
        "keys": {"x": 1}.keys(),
    }
    made = plain(given)
    assert made == {"a": "b", "day": "2026-01-02", "many": [1, 2.5, None, True], "keys": ["x"]}
    assert not isinstance(made["a"], Text)
    assert json.loads(json.dumps(made)) == made


class Action(ClusterAction):
    """An action of a task on the host ``site``."""

    def __init__(self, given: dict[str, Any], variables: dict[str, Any]) -> None:
        self.inventory_host = "site"
        self.task_vars = {**variables, "hostvars": {"site": variables, "other": variables}}
        self._auth_params = given
        self._templar = Templar(loader=DataLoader(), variables={})

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError


@pytest.mark.parametrize("variables", [{}, {"flower_kubeconfig": "/shared"}, {"flower_auth": {"proxy": "http://p"}}])
@pytest.mark.parametrize("host", [None, "other"])
def test_a_host_behind_the_hub_is_not_another_cluster(variables: dict[str, Any], host: str | None) -> None:
    assert isinstance(Action({}, {**variables, "flower_delivery": "direct"}).auth_of(host), dict)
    with pytest.raises(ClusterError, match=f"^{host or 'site'}: its objects are delivered through the hub"):
        Action({}, {**variables, "flower_delivery": "ocm"}).auth_of(host)


def test_a_host_behind_the_hub_may_have_access_of_its_own() -> None:
    behind = {"flower_delivery": "ocm", "flower_kubeconfig": "/shared"}
    assert Action({}, {**behind, "flower_context": "site"}).auth_of()["context"] == "site"
    assert Action({}, {**behind, "flower_auth": {"host": "https://site"}}).auth_of()["host"] == "https://site"
    assert Action({"kubeconfig": "/own"}, behind).auth_of() == {"kubeconfig": "/own"}
