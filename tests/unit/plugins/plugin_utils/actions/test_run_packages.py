# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action that submits a run: which sites are asked for packages, and as what their inventory says."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from ansible_collections.federated.flower.plugins.action import run
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError

SITES: dict[str, dict[str, Any]] = {
    "hub": {"flower_federation": "trial", "flower_namespace": "flower-hub"},
    "site-a": {"flower_context": "a"},
    "site-b": {"flower_context": "b", "flower_namespace": "shared", "supernode_namespace": "own", "flower_api_timeout": 25},
    "site-c": {"flower_context": "c", "flower_namespace": "shared"},
    "site-o": {"flower_context": "o", "flower_delivery": "ocm"},
    "site-f": {"flower_delivery": "bundle"},
    "site-x": {"flower_delivery": "post"},
}


@pytest.fixture
def action(monkeypatch: pytest.MonkeyPatch) -> Any:
    made: Any = object.__new__(run.ActionModule)
    made.inventory_host = made._site = "hub"
    made.task_vars = {**SITES["hub"], "hostvars": SITES}
    made._auth_params = {"context": "hub"}
    made._templar = Templar(loader=DataLoader(), variables={})
    monkeypatch.setattr(run, "connect", lambda auth, timeout: SimpleNamespace(auth=auth, timeout=timeout))
    return made


@pytest.mark.parametrize(("site", "place"), [("site-a", ("a", 10, "flower")), ("site-b", ("b", 25, "own")), ("site-c", ("c", 10, "shared"))])
def test_a_site_is_asked_by_its_own_variables(action: Any, site: str, place: tuple[str, int, str]) -> None:
    found = action._site_pods(site)
    cluster: Any = found.connect()
    assert (cluster.auth["context"], cluster.timeout, found.namespace, found.federation) == (*place, "trial")
    assert action._site == "hub", "what follows is noted for the hub"


@pytest.mark.parametrize(
    ("site", "why"),
    [
        ("site-o", "delivered through the hub of Open Cluster Management"),
        ("site-f", "delivered through files that the site applies itself"),
        ("site-z", "it is not in the inventory"),
        ("site-x", "flower_delivery: 'post' is not one of"),
    ],
)
def test_other_sites_are_not_asked(action: Any, site: str, why: str) -> None:
    with pytest.raises(ClusterError, match=why):
        action._site_pods(site)
