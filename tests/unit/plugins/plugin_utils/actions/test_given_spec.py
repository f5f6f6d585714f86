# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A hub whose variables contradict each other is refused before its cluster is contacted."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.actions.given_spec import (
    described,
    given_spec,
    hub_settings,
)
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.tests.unit.rows import each_row
from ansible_collections.federated.flower.tests.unit.test_collection import trusted

TAKEN = {"superlink_namespace": "{{ flower_namespace | default('flower') }}"}  # as in the role's defaults


class Action(ClusterAction):
    """An action of the role superlink on the hub."""

    def __init__(self, spec: dict[str, Any], **variables: Any) -> None:
        self.inventory_host = "hub"
        own = {f"superlink_{name.removeprefix('superlink_')}": value for name, value in spec.items() if name not in ("cluster", "skupper")}
        self.task_vars = {"groups": {"flower_hub": ["hub"]}, **own, **variables}
        self._templar = Templar(loader=DataLoader(), variables={})

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError


def test_what_playbooks_and_sites_would_not_find_is_refused(superlink_spec: Any) -> None:
    assert given_spec(Action(superlink_spec()), None).namespace == "flower"
    shared = {"flower_namespace": "flower-hub", "flower_federation": "trial"}
    spec = superlink_spec(namespace="flower-hub", federation="trial", ca_namespace="flower-hub-ca")
    assert given_spec(Action(spec, **shared), None).namespace == "flower-hub"
    with pytest.raises(ClusterError) as error:
        given_spec(Action(spec), None)
    first, second = error.value.message.splitlines()
    assert first.startswith("hub: superlink_namespace: 'flower-hub' differs from flower_namespace, 'flower', which other roles read")
    assert first.endswith("Set flower_namespace to 'flower-hub' for this host or its group, and remove superlink_namespace.")
    assert second.startswith("hub: superlink_federation: 'trial' differs from flower_federation")
    assert second.endswith("Set flower_federation to 'trial' for the hub and all sites, and remove superlink_federation.")
    with pytest.raises(ClusterError, match="^hub: superlink_namespace: 'flower-hub' differs from flower_namespace, 'other'"):
        given_spec(Action(spec, flower_namespace="other", flower_federation="trial"), None)
    assert given_spec(Action(spec), spec).namespace == "flower-hub", "a task that gives a specification means it"


def test_an_error_names_the_variable_that_people_gave(superlink_spec: Any) -> None:
    action = Action(superlink_spec(namespace="Bad"), **trusted(TAKEN), flower_namespace="Bad")
    action._templar = Templar(loader=DataLoader(), variables=action.task_vars)
    with pytest.raises(ClusterError, match="^hub: superlink_namespace: 'Bad' is not (.|\n)*\nsuperlink_namespace has the value of flower_namespace.$"):
        given_spec(action, None)
    with pytest.raises(ClusterError) as error:
        given_spec(Action(superlink_spec(namespace="Bad"), flower_namespace="Bad"), None)
    assert "has the value of" not in error.value.message, "the hub's own variable says it"


@each_row(
    ("variables", "words"),
    [
        ({"superlink_gateway_source_rate": "10/s"}, ["hub: superlink_gateway_source_rate: '10/s' is not an integer"]),
        ({"superlink_resources": ["x"], "cert_rotation_grace": "1h"}, ["superlink_resources", "cert_rotation_grace"]),
        ({"skupper_site_wait_timeout": "5m", "ocm_addon_wait_timeout": [5]}, ["skupper_site_wait_timeout", "ocm_addon_wait_timeout"]),
        ({"superlink_exposure": "magic", "superlink_outputs": "maybe"}, ["superlink_exposure", "magic", "superlink_outputs"]),
        ({"superlink_metrics": "{{ nowhere }}"}, ["hub: superlink_metrics: ", "'nowhere'"]),
        ({"superlink_labels": {"a": {"b": "{{ none_such }}"}}}, ["hub: superlink_labels", "none_such"]),
        ({"skupper_link_wait_timeout": "{{ nowhere }}"}, ["hub: skupper_link_wait_timeout: ", "'nowhere'"]),
    ],
)
def test_variables_that_cannot_be_read_are_named_with_their_host(superlink_spec: Any, variables: dict[str, Any], words: list[str]) -> None:
    for spec in (None, superlink_spec()):
        with pytest.raises(ClusterError) as error:
            given_spec(Action(superlink_spec(), **trusted(variables)), spec)
        assert all(word in error.value.message for word in words), error.value.message
        assert all(line.startswith("hub: ") for line in error.value.message.splitlines())


@each_row(
    ("given", "names"),
    [
        ({}, []),
        ({"token": "t"}, ["token"]),
        ({"token": ""}, ["token"]),
        ({"username": "jane", "password": ""}, ["password", "username"]),
        ({"username": "jane", "password": "x", "token": None}, ["password", "username"]),
    ],
)
def test_a_specification_has_the_names_of_credentials_alone(superlink_spec: Any, given: dict[str, Any], names: list[str]) -> None:
    """Credentials that turn out empty, such as those of a lookup that found nothing, are a fault and not left out."""
    action = Action(superlink_spec(), superlink_tracking_credentials=given)
    assert described(action)["tracking_credentials"] == names
    assert hub_settings(action)["tracking_credentials"] == given


def test_private_keys_are_in_no_specification(superlink_spec: Any) -> None:
    secret = {"superlink_ca_key": "PRIVATE-ca", "superlink_certificate_key": "PRIVATE-gateway"}
    action = Action(superlink_spec(), **secret)
    assert "PRIVATE" not in str(described(action))
    assert hub_settings(action)["ca_key"] == "PRIVATE-ca"


def test_the_role_without_variables_is_described_with_its_defaults() -> None:
    action = Action({})
    action.task_vars = {"groups": {"flower_hub": ["hub"], "flower_sites": ["a"]}, "superlink_checked": {"platform": "openshift", "skupper": True}}
    found = described(action)
    assert (found["namespace"], found["platform"], found["skupper"], found["cluster"]) == ("flower", "openshift", True, "hub")
    assert hub_settings(action)["sites"] == ["a"]
