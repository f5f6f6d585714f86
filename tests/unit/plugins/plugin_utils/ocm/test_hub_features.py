# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of a cluster come at once where the hub knows how to ask for that, and what the cluster gets stays the same."""

from __future__ import annotations

import copy

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.ocm import (
    addon_objects,
    app_versions,
    delivery,
    hub_features,
    nodes_work,
)
from ansible_collections.federated.flower.tests.unit import specs


def work_of(spec):
    return nodes_work.build(spec, delivery.split(specs.supernode_objects(spec))[1], None)


def ways(body):
    return {
        (one["resourceIdentifier"]["resource"], one["resourceIdentifier"]["name"]): one.get(hub_features.FIELD)
        for one in body["manifestConfigs"]
    }


def test_a_small_site_is_watched_whole(parsed_ocm_site):
    body = work_of(parsed_ocm_site())["spec"]
    before, marked = copy.deepcopy(body), hub_features.watched(body)
    asked = {key for key, way in ways(marked).items() if way == hub_features.WATCH}
    assert ("statefulsets", "supernode-default") in asked and "pods" in {kind for kind, _name in asked}
    assert asked == {key for key, one in zip(ways(body), body["manifestConfigs"]) if one.get("feedbackRules")}, (
        "what nothing is asked of needs no watch"
    )
    # Contents, by whose digest pods are told from those of another form, are the same.
    assert marked["workload"] == before["workload"] and body == before


@pytest.mark.parametrize("pools", [3, 20])
def test_an_agents_watches_are_left_for_others(pools, parsed_ocm_site):
    listed = [{"name": f"p{number:02}", "replicas": 8} for number in range(pools)]
    marked = hub_features.watched(work_of(parsed_ocm_site(pools=listed))["spec"])
    asked = [key for key, way in ways(marked).items() if way == hub_features.WATCH]
    assert len(asked) == min(pools, 12) and {kind for kind, _name in asked} == {"statefulsets"}


class Hub:
    """Answers for the schema alone."""

    def __init__(self, document):
        self.document, self.asked = document, 0

    def request(self, method, path):
        self.asked += 1
        return self.document


def test_the_hub_is_asked_once(parsed_ocm_site):
    hub = Hub({})
    assert not hub_features.served(hub, None) and hub.asked == 1
    live = work_of(parsed_ocm_site())
    assert not hub_features.served(hub, live)
    for option in live["spec"]["manifestConfigs"]:
        option[hub_features.FIELD] = "Poll"  # the schema's default
    assert hub_features.served(hub, live) and hub.asked == 1


@pytest.mark.parametrize("pace", ["play", "ocm"])
def test_a_rollout_asks_for_the_content_that_is_meant(pace, parsed_ocm_site):
    """An agent judges the new generation while the cluster still has the former StatefulSet, which is ready."""
    spec = parsed_ocm_site(clientapp="workload", clientapp_pace=pace)
    apps = [item for item in specs.clientapp_objects(spec) if item["kind"] == "StatefulSet"]
    made = app_versions.replica_set(spec, "v", apps, rules=True)["spec"]["manifestWorkTemplate"]
    (item,) = [one for one in made["workload"]["manifests"] if one["kind"] == "StatefulSet"]
    (option,) = [one for one in made["manifestConfigs"] if one.get("conditionRules")]
    ((rule,),) = [one["celExpressions"] for one in option["conditionRules"]]
    asks = f"object.metadata.?annotations[?'federated.flower/content'].orValue('') != '{addon_objects.content_of(item)}' || !("
    assert rule.startswith(asks) is (pace == "ocm") and addon_objects.content_of(item)
    if pace == "play":
        assert rule.startswith("!(object.metadata.generation == "), "a version is never edited, so it stays as it was"
