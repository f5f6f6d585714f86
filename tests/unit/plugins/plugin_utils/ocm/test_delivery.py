# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""OCM's template engine, and values that it would spoil; and values of a cluster that come at once where the hub knows how to ask for that."""

from __future__ import annotations

import copy
import json

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.manifests import supernode
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import (
    addon_objects,
    app_versions,
    delivery,
    hub_reader,
    key_work,
    nodes_work,
)
from ansible_collections.federated.flower.tests.unit import specs
from ansible_collections.federated.flower.tests.unit.rows import each_row

OWNER = {"metadata": {"name": "flower-supernode", "uid": "1-2-3"}}
HOSTILE = {
    "quotes": "a \"quoted\" 'text' with \\ backslashes \\n",
    "lines": "first\nsecond\r\n\tthird",
    "variable": "{{CLUSTER_NAME}} and {{ X }} and {{instance}}",
    "open": "{{ never closed",
    "closed": "}} never opened",
    "many": "{{{{ {{{a}}} }}}}",
    "unicode": "Zürich 東京 🌷 \u2028 \u0000".replace("\u0000", ""),
    "long": "-----BEGIN CERTIFICATE-----\n" + "MIIB" * 500 + "\n-----END CERTIFICATE-----\n",
    "expansion": "$(FLOWER_INDEX) $$ ${HOME}",
}


@each_row("name", HOSTILE)
def test_hostile_values_arrive_byte_for_byte(name, parsed_ocm_site):
    """Wherever a user's text may stand: as the engine leaves the template, and as it stands in the ManifestWork."""
    text = HOSTILE[name]
    spec = parsed_ocm_site(
        ca_bundle=text,
        client_certificate=text,
        annotations={"example.com/note": text},
        env=[{"name": "TEXT", "value": text}],
        pod_annotations={"example.com/pod": text},
        pools=[
            {
                "name": "default",
                "replicas": 2,
                "node_config": {"word": text if "{" not in text and "}" not in text else ""},
            }
        ],
        patches=[
            {"target": {"kind": "Service", "name": "supernode"}, "patch": {"metadata": {"annotations": {"x": text}}}}
        ],
    )
    wanted = supernode.objects(spec)
    common, own = delivery.split(wanted)
    arrived = [item for item in own if item["kind"] == "Namespace"]  # goes with the keys, which come first
    own = [item for item in own if item["kind"] != "Namespace"]
    first = json.loads(json.dumps(key_work.idle_work(spec, [], OWNER, arrived)))["spec"]
    assert first["workload"]["manifests"][: len(arrived)] == arrived and ("deleteOption" in first) == bool(arrived)
    for item in addon_objects.configs(spec, common)[0]["spec"]["agentSpec"]["workload"]["manifests"] if common else []:
        assert "{{" not in json.dumps(item, separators=(",", ":")), "the engine would change it"
        through = json.loads(json.dumps(item))
        through["metadata"].get("annotations", {}).pop("addon.open-cluster-management.io/deletion-orphan", None)
        arrived.append(through)
    work = nodes_work.build(spec, own, OWNER)
    for item in json.loads(json.dumps(work))["spec"]["workload"]["manifests"]:
        if item["kind"] != "Pod":
            item["metadata"].get("annotations", {}).pop(addon_objects.CONTENT_NOTE, None)
            arrived.append(item)
    by_name = {(item["kind"], item["metadata"]["name"]): item for item in arrived}
    assert by_name == {(item["kind"], item["metadata"]["name"]): item for item in wanted}


def test_what_the_engine_would_change_goes_the_other_way(parsed_ocm_site):
    spec = parsed_ocm_site(annotations={"example.com/note": HOSTILE["variable"]})
    common, own = delivery.split(specs.supernode_objects(spec))
    assert common == []
    assert "Namespace" in {item["kind"] for item in own}


def test_numbers_of_a_site_keep_their_type(parsed_ocm_site):
    spec = parsed_ocm_site(
        pools=[{"name": "default", "replicas": 3, "node_config": {"partition-id": "{partition}", "n": "{partitions}"}}]
    )
    work = nodes_work.build(spec, delivery.split(specs.supernode_objects(spec))[1], OWNER)
    (item,) = nodes_work.sets_of(json.loads(json.dumps(work)))
    assert (item["spec"]["replicas"], item["spec"]["ordinals"]) == (3, {"start": 3})


def test_what_a_rotation_changes_is_in_no_template(parsed_ocm_site):
    before = delivery.split(specs.supernode_objects(parsed_ocm_site()))[0]
    after = delivery.split(specs.supernode_objects(parsed_ocm_site(ca_bundle=specs.OTHER_CA, client_certificate=specs.OTHER_CA)))[0]
    assert before == after


def work_of(spec):
    return nodes_work.build(spec, delivery.split(specs.supernode_objects(spec))[1], None)


def ways(body):
    return {
        (one["resourceIdentifier"]["resource"], one["resourceIdentifier"]["name"]): one.get(hub_reader.FIELD)
        for one in body["manifestConfigs"]
    }


def test_a_small_site_is_watched_whole(parsed_ocm_site):
    body = work_of(parsed_ocm_site())["spec"]
    before, marked = copy.deepcopy(body), hub_reader.watched(body)
    asked = {key for key, way in ways(marked).items() if way == hub_reader.WATCH}
    assert ("statefulsets", "supernode-default") in asked and "pods" in {kind for kind, _name in asked}
    assert asked == {key for key, one in zip(ways(body), body["manifestConfigs"]) if one.get("feedbackRules")}, (
        "what nothing is asked of needs no watch"
    )
    # Contents, by whose digest pods are told from those of another form, are the same.
    assert marked["workload"] == before["workload"] and body == before


@pytest.mark.parametrize("pools", [3, 20])
def test_an_agents_watches_are_left_for_others(pools, parsed_ocm_site):
    listed = [{"name": f"p{number:02}", "replicas": 8} for number in range(pools)]
    marked = hub_reader.watched(work_of(parsed_ocm_site(pools=listed))["spec"])
    asked = [key for key, way in ways(marked).items() if way == hub_reader.WATCH]
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
    live = work_of(parsed_ocm_site())
    assert hub_reader.with_watches(hub, live, None) == live and hub.asked == 1
    assert hub_reader.with_watches(hub, live, live) == live
    for option in live["spec"]["manifestConfigs"]:
        option[hub_reader.FIELD] = "Poll"  # the schema's default
    assert hub_reader.with_watches(hub, live, live)["spec"] == hub_reader.watched(live["spec"]) and hub.asked == 1


@pytest.mark.parametrize("pace", ["play", "ocm"])
def test_a_rollout_asks_for_the_content_that_is_meant(pace, parsed_ocm_site):
    """An agent judges the new generation while the cluster still has the former StatefulSet, which is ready."""
    spec = parsed_ocm_site(clientapp="workload", clientapp_pace=pace)
    apps = [item for item in specs.clientapp_objects(spec) if item["kind"] == "StatefulSet"]
    made = app_versions.objects(spec, apps, rules=True)[1]["spec"]["manifestWorkTemplate"]
    (item,) = [one for one in made["workload"]["manifests"] if one["kind"] == "StatefulSet"]
    (option,) = [one for one in made["manifestConfigs"] if one.get("conditionRules")]
    ((rule,),) = [one["celExpressions"] for one in option["conditionRules"]]
    asks = f"object.metadata.?annotations[?'federated.flower/content'].orValue('') != '{addon_objects.content_of(item)}' || !("
    assert rule.startswith(asks) is (pace == "ocm") and addon_objects.content_of(item)
    if pace == "play":
        assert rule.startswith("!(object.metadata.generation == "), "a version is never edited, so it stays as it was"
