# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tasks of a role take what they leave out from the role's variables."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from ansible_collections.federated.flower.plugins.action import ocm_addon, skupper
from ansible_collections.federated.flower.plugins.plugin_utils.actions.role_options import variable_faults
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.spec.hub_spec import AddonSpec
from ansible_collections.federated.flower.plugins.plugin_utils.spec.network_spec import LinkSpec, NetworkSiteSpec
from ansible_collections.federated.flower.tests.unit.rows import each_row
from ansible_collections.federated.flower.tests.unit.test_collection import trusted

GROUPS = {"flower_hub": ["hub"], "flower_sites": ["site-a"]}
SITE = {"part": "site"}


def prepared(module: Any, host: str = "site-a", args: dict[str, Any] | None = None, **variables: Any) -> Any:
    """An action of a task."""
    action: Any = object.__new__(module.ActionModule)
    action.inventory_host = host
    hostvars: dict[str, Any] = {"hub": {"flower_namespace": "fed"}, "site-a": {}}
    action.task_vars = {"inventory_hostname": host, "groups": GROUPS, "hostvars": hostvars, **trusted(variables)}
    action._templar = Templar(loader=DataLoader(), variables=action.task_vars)
    action._task = SimpleNamespace(args=args or {})
    return action


def task(module: Any, host: str = "site-a", args: dict[str, Any] | None = None, **variables: Any) -> dict[str, Any]:
    """The options with which an action works."""
    action = prepared(module, host, args, **variables)
    given: dict[str, Any] = action._checked(action.ARGS, {}, action.arguments(), "")
    return given


def test_a_task_without_arguments_has_the_variables_and_defaults_of_its_role() -> None:
    found = task(skupper, args=SITE, flower_namespace="shared", skupper_site_wait_timeout="17", skupper_site_edge=True)
    assert (found["state"], found["wait"], found["wait_timeout"]) == ("present", True, 17)
    spec = NetworkSiteSpec.parse(found["spec"])
    assert (spec.namespace, spec.cluster, spec.edge, spec.hub, spec.link_access) == ("shared", "site-a", True, False, "none")
    assert task(skupper, "hub", SITE)["spec"]["hub"] is True


def test_an_empty_specification_is_that_of_the_role() -> None:
    assert task(skupper, args={**SITE, "spec": None}, flower_namespace="shared")["spec"]["namespace"] == "shared"


def test_an_argument_of_the_task_wins() -> None:
    found = task(skupper, args={"part": "link", "state": "absent", "renew": True}, skupper_link_state="present", skupper_link_name="far")
    assert (found["state"], found["renew"], found["hub"], found["spec"]["hub_namespace"]) == ("absent", True, "hub", "fed")
    assert LinkSpec.parse(found["spec"]).name == "far"


def test_the_check_knows_all_three_roles_and_the_hub_has_no_link(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[Any] = []
    monkeypatch.setattr(skupper.ActionModule, "check_parts", lambda _self, *parts: checked.append(parts))
    action = prepared(skupper, args=SITE, skupper_site_namespace="net", skupper_listener_port=9443)
    action.check_site(action.spec())
    ((site, listener, link, wrong),) = checked
    assert wrong == []
    assert (site["namespace"], listener["namespace"], link["namespace"]) == ("net", "net", "net")
    assert (listener["port"], link["hub_namespace"]) == (9443, "fed")
    hub = prepared(skupper, "hub", SITE)
    hub.check_site(hub.spec())
    assert checked[1][2] == {}
    wrong = prepared(skupper, args=SITE, skupper_link_mode="direct,token")
    wrong.check_site(wrong.spec())
    assert "value of skupper_link_mode must be one of: direct, token, got: direct,token" in checked[2][3][0].message


def test_a_variable_that_cannot_be_evaluated_is_named() -> None:
    with pytest.raises(ClusterError, match="^skupper_site_labels: its template cannot be evaluated: .*'nowhere'"):
        task(skupper, args=SITE, skupper_site_labels="{{ nowhere }}")
    with pytest.raises(ClusterError, match="skupper_site_wait_timeout"):
        task(skupper, args=SITE, skupper_site_wait_timeout="soon")


@each_row(("number", "limit"), [(0, None), ("0", None), (3, 3)])
def test_no_number_of_clusters_is_no_limit(number: Any, limit: int | None) -> None:
    found = task(ocm_addon, "hub", ocm_addon_number_of_clusters=number, ocm_addon_clientapps=False)
    assert AddonSpec.parse(found["spec"]).number_of_clusters == limit


@each_row(
    ("variable", "value", "words"),
    [
        ("supernode_pools", [{"name": "a", "replica": 2}], "supernode_pools.replica is not supported. Supported parameters include: "),
        ("supernode_clientapp", "pods", "value of supernode_clientapp must be one of: "),
    ],
)
def test_an_unknown_option_of_a_variable_is_called_that(variable: str, value: Any, words: str) -> None:
    (found,) = variable_faults({variable: value}.__getitem__, {variable}, ("supernode",))
    assert found.startswith(words), found


def test_an_unknown_option_of_a_task_is_called_that() -> None:
    action = prepared(skupper, flower_auth={"hots": "https://x"})
    action._auth_params = {}
    with pytest.raises(ClusterError, match="^flower_auth: hots is not supported. Supported parameters include: "):
        action.auth_of()
    with pytest.raises(ClusterError, match="^forced is not supported. Supported parameters include: "):
        task(skupper, args={**SITE, "forced": True})
