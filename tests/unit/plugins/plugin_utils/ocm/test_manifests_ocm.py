# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects on the hub of Open Cluster Management: golden files, and the rules behind them."""

from __future__ import annotations

import json

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.manifests import site_jobs
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import (
    addon_objects,
    delivery,
    key_work,
    nodes_work,
)
from ansible_collections.federated.flower.plugins.plugin_utils.spec.site_spec import SiteSpec
from ansible_collections.federated.flower.tests.unit import specs
from ansible_collections.federated.flower.tests.unit.specs import ocm_addon_objects

OWNER = {"metadata": {"name": "flower-supernode", "uid": "1-2-3"}}
PROGRESSIVE = {
    "type": "Progressive",
    "progressive": {"maxConcurrency": "10%", "minSuccessTime": "5m", "maxFailures": 1},
}
ADDONS = {
    "default": {},
    "manual": {"install": "Manual", "create_namespace": False},
    "rich": {
        "name": "oncology",
        "placement": "oncology-sites",
        "cluster_sets": ["hospitals", "labs"],
        "bind_cluster_sets": False,
        "number_of_clusters": 100,
        "predicates": [
            {"requiredClusterSelector": {"labelSelector": {"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}}}
        ],
        "prioritizers": [{"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Spread"}, "weight": 3}],
        "spread": [{"topologyKey": "region", "topologyKeyType": "Label", "maxSkew": 1}],
        "decision_groups": {"clustersPerDecisionGroup": "25%"},
        "tolerations": [{"key": "maintenance", "operator": "Exists"}],
        "rollout": PROGRESSIVE,
    },
}


def everything(spec):
    """What a site gets by way of the hub, as far as it is no job."""
    common, own = delivery.split(specs.supernode_objects(spec))
    configs = addon_objects.configs(spec, common)
    references = [addon_objects.config_reference(item) for item in configs]
    secrets = site_jobs.secret_names(pool.name for pool in spec.pools)
    return [
        *configs,
        addon_objects.managed_addon(spec, references),
        key_work.idle_work(spec, secrets, OWNER),
        nodes_work.build(spec, own, OWNER),
    ]


def of_kind(objects, kind):
    return [item for item in objects if item["kind"] == kind]


@pytest.mark.parametrize("name", ADDONS)
def test_golden_addon(name, ocm_addon_spec, golden):
    golden(f"ocm-addon-{name}", ocm_addon_objects(ocm_addon_spec(**ADDONS[name])))


def test_golden_site(parsed_ocm_site, golden):
    golden("ocm-site", everything(parsed_ocm_site()))


def test_golden_job(parsed_ocm_site, golden):
    secrets = site_jobs.secret_names(["default"])
    request = {"secrets": secrets, "pools": [], "owner": {"uid": "7-8-9"}}
    golden(
        "ocm-site-key-job", [key_work.keygen_work(parsed_ocm_site(), request, {"plugin_utils/maker.py": "print()\n"}, 60, OWNER)]
    )


def test_same_input_same_bytes(ocm_site_spec, ocm_addon_spec):
    given = ocm_site_spec()
    spec, other = SiteSpec.parse(given), SiteSpec.parse(dict(reversed(given.items())))
    assert json.dumps(everything(spec)) == json.dumps(everything(other))
    assert spec == other
    addon = ocm_addon_spec()
    assert ocm_addon_objects(addon) == ocm_addon_objects(dict(reversed(addon.items())))


def test_sites_with_the_same_settings_share_template_and_config(parsed_ocm_site):
    one = everything(parsed_ocm_site())
    other = everything(
        parsed_ocm_site(
            cluster="site-b", ocm_cluster="cluster-b", allocation={"default": {"offset": 9, "partitions": 12}}
        )
    )
    for kind in ("AddOnTemplate", "AddOnDeploymentConfig"):
        assert of_kind(one, kind) == of_kind(other, kind)
    third = everything(parsed_ocm_site(cluster="site-c", superlink_cidrs=["192.0.2.0/24"]))
    assert (
        of_kind(one, "AddOnTemplate")[0]["metadata"]["name"] != of_kind(third, "AddOnTemplate")[0]["metadata"]["name"]
    )


def test_a_site_behind_an_http_proxy_has_the_tunnel_and_brings_its_own_login(parsed_ocm_site):
    made = everything(parsed_ocm_site(http_proxy={"address": "proxy:3128", "secret": "office"}))
    (template,) = of_kind(made, "AddOnTemplate")
    listed = template["spec"]["agentSpec"]["workload"]["manifests"]
    assert "supernode-tunnel" in [one["metadata"]["name"] for one in listed]
    own = [one for work in of_kind(made, "ManifestWork") for one in work["spec"]["workload"]["manifests"]]
    (body,) = (one["spec"]["template"]["spec"] for one in [*listed, *own] if one["kind"] == "StatefulSet")
    assert "tunnel" in [one["name"] for one in body["initContainers"]]
    assert [one["secret"]["secretName"] for one in body["volumes"] if one["name"] == "http-proxy"] == ["office"]


def test_a_setting_of_the_pods_leaves_the_template_alone(parsed_ocm_site):
    """So one site after the other gets it, by its own ManifestWork."""
    before, after = everything(parsed_ocm_site()), everything(parsed_ocm_site(image="mirror/supernode:new"))
    assert of_kind(before, "AddOnTemplate") == of_kind(after, "AddOnTemplate")
    assert of_kind(before, "ManifestWork") != of_kind(after, "ManifestWork")


def test_each_manifest_has_its_option_and_no_secret_is_among_them(parsed_ocm_site):
    objects = everything(parsed_ocm_site())
    for work in of_kind(objects, "ManifestWork"):
        manifests, options = work["spec"]["workload"]["manifests"], work["spec"]["manifestConfigs"]
        names = [(option["resourceIdentifier"]["resource"], option["resourceIdentifier"]["name"]) for option in options]
        assert len(names) == len(set(names)) == len(manifests)
        assert "Secret" not in {item["kind"] for item in manifests}
    with pytest.raises(ValueError, match="plain text"):
        addon_objects.manifest_work(
            parsed_ocm_site(), "x", [{"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "key"}}]
        )


def test_a_chosen_cluster_runs_nothing_before_its_site_is_deployed(parsed_addon):
    for changes in ADDONS.values():
        objects = addon_objects.addon_objects(parsed_addon(**changes))
        (base,) = of_kind(objects, "AddOnTemplate")
        assert {item["kind"] for item in base["spec"]["agentSpec"]["workload"]["manifests"]} <= {
            "Namespace",
            "ConfigMap",
        }
        (addon,) = of_kind(objects, "ClusterManagementAddOn")
        named = {one["resource"]: one["defaultConfig"] for one in addon["spec"]["supportedConfigs"]}
        assert named["addontemplates"] == {"name": base["metadata"]["name"]}
        assert set(named["addondeploymentconfigs"]) == {"name", "namespace"}


def test_the_job_is_named_by_its_content_and_starts_at_once(parsed_ocm_site):
    def job(**changes):
        request = {"secrets": ["supernode-superexec"], "dead": [], "owner": {"uid": "1"}, **changes}
        work = key_work.keygen_work(parsed_ocm_site(), request, {"a.py": ""}, 60, OWNER)
        return next(item for item in work["spec"]["workload"]["manifests"] if item["kind"] == "Job")

    assert job()["metadata"]["name"] == job()["metadata"]["name"] != job(dead=["x"])["metadata"]["name"]
    assert not {"suspend", "ttlSecondsAfterFinished"} & set(job()["spec"])
    assert job()["spec"]["template"]["spec"]["serviceAccountName"] == job()["metadata"]["name"]


def test_what_is_told_of_the_job_is_never_newer_than_what_the_job_told(parsed_ocm_site):
    """The agent reads the objects in the order of the list."""
    request = {"secrets": ["supernode-superexec"], "owner": {"uid": "1"}}
    listed = key_work.keygen_work(parsed_ocm_site(), request, {"a.py": ""}, 60, OWNER)["spec"]["workload"]["manifests"]
    kinds = [(item["kind"], item["metadata"]["name"]) for item in listed]
    assert kinds[-1] == ("ConfigMap", "supernode-public") and kinds[-2][0] == "Job"
    assert kinds[0] == ("ConfigMap", site_jobs.OWNER)
