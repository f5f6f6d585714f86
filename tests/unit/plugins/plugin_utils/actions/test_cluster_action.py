# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import datetime
import gc
import json
from types import SimpleNamespace
from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.plain_data import to_json_data
from ansible_collections.federated.flower.tests.unit.rows import each_row


class Text(str):
    """Like the tagged strings of ansible-core 2.19."""


def test_plain() -> None:
    given = {
        Text("a"): Text("b"),
        "day": datetime.date(2026, 1, 2),
        "many": (1, 2.5, None, True),
        "keys": {"x": 1}.keys(),
    }
    made = to_json_data(given)
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


@each_row("variables", [{}, {"flower_kubeconfig": "/shared"}, {"flower_auth": {"proxy": "http://p"}}])
@each_row("host", [None, "other"])
def test_a_host_behind_the_hub_is_not_another_cluster(variables: dict[str, Any], host: str | None) -> None:
    assert isinstance(Action({}, {**variables, "flower_delivery": "direct"}).auth_of(host), dict)
    with pytest.raises(ClusterError, match=f"^{host or 'site'}: its objects are delivered through the hub"):
        Action({}, {**variables, "flower_delivery": "ocm"}).auth_of(host)


def test_a_host_behind_the_hub_may_have_access_of_its_own() -> None:
    behind = {"flower_delivery": "ocm", "flower_kubeconfig": "/shared"}
    assert Action({}, {**behind, "flower_context": "site"}).auth_of()["context"] == "site"
    assert Action({}, {**behind, "flower_auth": {"host": "https://site", "api_key": "t"}}).auth_of()["host"] == "https://site"
    assert Action({"kubeconfig": "/own"}, behind).auth_of() == {"kubeconfig": "/own"}


@each_row(
    ("task", "more", "refused"),
    [
        ({}, {}, True),
        ({}, {"flower_context": "site"}, False),
        ({"api_key": "t"}, {}, False),
        ({}, {"flower_auth": {"host": "https://site", "api_key": "t"}}, False),
        ({}, {"flower_kubeconfig": ""}, False),
    ],
)
def test_the_credentials_of_a_shared_kubeconfig_are_not_sent_to_a_host(task: dict[str, Any], more: dict[str, Any], refused: bool) -> None:
    """A host whose token is an empty variable of the environment, in an inventory whose other hosts have contexts."""
    action = Action(task, {"flower_kubeconfig": "/shared", "flower_auth": {"host": "https://site", "api_key": ""}, **more})
    if not refused:
        assert action.auth_of()["host"] == "https://site"
        return
    with pytest.raises(ClusterError, match="they are not sent there. Check that the variable of the token"):
        action.auth_of()


def action_of(host: str, args: dict[str, Any], **variables: dict[str, Any]) -> ClusterAction:
    """An action with the options hub, namespace and federation of a task on a host of a fleet: host -> its variables."""

    class Placed(ClusterAction):
        ARGS = {"hub": {"type": "str"}, "namespace": {"type": "str"}, "federation": {"type": "str"}}

        def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
            raise NotImplementedError

    action = object.__new__(Placed)
    action.inventory_host = host
    action.task_vars = {**variables[host], "groups": {"flower_hub": ["hub"]}, "hostvars": variables}
    action._templar = Templar(loader=DataLoader(), variables={})
    action._task = SimpleNamespace(args=args)
    return action


@each_row("host", ["hub", "site"])
@each_row(
    ("hub", "place"),
    [
        ({}, ("flower", "flower")),
        ({"flower_namespace": "flower-hub", "flower_federation": "trial"}, ("flower-hub", "trial")),
        ({"superlink_namespace": "flower-hub", "flower_namespace": "flower", "superlink_federation": "trial"}, ("flower-hub", "trial")),
    ],
)
def test_the_place_of_the_hub_is_that_of_its_own_variables(host: str, hub: dict[str, Any], place: tuple[str, str]) -> None:
    """A task that runs once runs for a site where the limit leaves out the hub."""
    site = {"flower_namespace": "of-the-site", "flower_federation": "of-the-site"}
    params = action_of(host, {"hub": "hub"}, hub=hub, site=site)._validated()
    assert (params["namespace"], params["federation"]) == place
    given = action_of(host, {"hub": "hub", "namespace": "given", "federation": "given"}, hub=hub, site=site)._validated()
    assert (given["namespace"], given["federation"]) == ("given", "given")


def test_a_task_that_names_no_hub_means_its_own_host_unless_the_hub_is_always_meant() -> None:
    hosts = {"hub": {"flower_namespace": "flower-hub"}, "site": {"flower_namespace": "other"}}
    action = action_of("site", {}, **hosts)
    assert action._validated()["namespace"] == "other"
    action.HUB_BY_GROUP = True
    assert action._validated()["namespace"] == "flower-hub"


@each_row(
    ("variables", "asked", "wait", "timeout", "retry_seconds"),
    [
        ({}, 0, None, 30, 90),
        ({}, 0, 600, 30, 600),
        ({}, 10, 600, 10, 10),
        ({"flower_api_timeout": 120}, 0, 300, 120, 360),
        ({"flower_api_timeout": "120"}, 10, None, 120, 120),
        ({"flower_api_timeout": ""}, 0, None, 30, 90),
    ],
)
def test_how_long_an_answer_of_an_api_server_is_waited_for(
    variables: dict[str, Any], asked: float, wait: int | None, timeout: float, retry_seconds: float
) -> None:
    action = Action({}, {**variables, "flower_auth": {"host": "https://site", "api_key": "t"}})
    action.params = {"wait_timeout": wait}
    for host in (None, "other"):
        cluster = action.connect(host, timeout=asked)
        assert (cluster.timeout, cluster.retry_seconds) == (timeout, retry_seconds)


@each_row("value", ["30s", 0, -5, 3601, True, [30], "nan", "1e9", "inf"])
def test_a_time_for_an_answer_that_is_none_is_refused(value: Any) -> None:
    action = Action({}, {"flower_api_timeout": value, "flower_auth": {"host": "https://site", "api_key": "t"}})
    action.params = {}
    with pytest.raises(ClusterError, match="flower_api_timeout: .* is not a number of seconds from 1 to 3600"):
        action.connect()


def test_forks_do_not_collect_what_an_action_has_loaded() -> None:
    loaded = [[number] for number in range(1000)]
    frozen = gc.get_freeze_count()
    type("Later", (Action,), {})
    assert gc.get_freeze_count() >= frozen + len(loaded)
    gc.unfreeze()
