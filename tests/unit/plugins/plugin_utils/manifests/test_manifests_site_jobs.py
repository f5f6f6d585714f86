# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs at a site: those that pull images are admitted wherever the pods of the pool are, and next to nothing; those that make keys have few rights."""

from __future__ import annotations

import copy
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.base.kinds import images_of
from ansible_collections.federated.flower.plugins.plugin_utils.base.names import KEY_SOURCE
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import site_jobs, supernode

GPU = {
    "name": "a100",
    "replicas": 2,
    "gpu": {"count": 1},
    "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
    "node_selector": {"gpu": "a100"},
    "resources": {"requests": {"cpu": "4", "memory": "16Gi"}},
}


def workload(spec: Any) -> dict[str, Any]:
    (found,) = (one for one in supernode.objects(spec.complete()) if one["kind"] in ("StatefulSet", "DaemonSet"))
    return found


def with_images(item: dict[str, Any], **images: str) -> dict[str, Any]:
    changed = copy.deepcopy(item)
    pod = changed["spec"]["template"]["spec"]
    for one in [*(pod.get("initContainers") or []), *pod["containers"]]:
        one["image"] = images.get(one["name"], one["image"])
    return changed


def test_golden_of_an_image_pull(parsed_site: Any, golden: Any) -> None:
    spec = parsed_site(pools=[GPU], image_pull_secrets=["registry"])
    wanted = workload(spec)
    golden("supernode-image-pull", [*site_jobs.pull_network_policies(spec), site_jobs.pull_job(spec, wanted, images_of(wanted), "node-1", 960)])


def test_only_new_images_are_pulled_and_each_once(parsed_site: Any) -> None:
    live = workload(parsed_site(pools=[GPU]))
    assert site_jobs.new_images(live, live) == {}
    new = with_images(live, supernode="r/supernode:2", superexec="r/superexec:2")
    assert site_jobs.new_images(new, live) == {"supernode": "r/supernode:2", "superexec": "r/superexec:2"}
    same = with_images(live, supernode="r/app:2", superexec="r/app:2")
    assert site_jobs.new_images(same, live) == {"supernode": "r/app:2"}
    swapped = with_images(live, superexec=images_of(live)["supernode"])
    assert site_jobs.new_images(swapped, live) == {}, "its pods have it"


def test_what_policies_of_the_cluster_demand(parsed_site: Any) -> None:
    spec = parsed_site(pools=[GPU], pod_labels={"cost-center": "42", "sidecar.istio.io/inject": "false"}, pod_annotations={"example.com/scan": "no"})
    wanted = workload(spec)
    job = site_jobs.pull_job(spec, wanted, images_of(wanted), "node-1", 60)
    meta = job["spec"]["template"]["metadata"]
    assert meta["labels"]["cost-center"] == "42" and meta["labels"]["sidecar.istio.io/inject"] == "false"
    assert meta["annotations"]["example.com/scan"] == "no"
    chosen = wanted["spec"]["selector"]["matchLabels"].items()
    assert not set(chosen) <= set(meta["labels"].items()), "the workload would take the pod for one of its own"


def test_one_name_for_one_node_and_its_images(parsed_site: Any) -> None:
    spec = parsed_site(pools=[GPU])
    wanted = workload(spec)

    def name(node: str, **images: str) -> str:
        return str(site_jobs.pull_job(spec, wanted, images, node, 60)["metadata"]["name"])

    assert name("a", supernode="r/s:1") == name("a", supernode="r/s:1")
    assert len({name("a", supernode="r/s:1"), name("b", supernode="r/s:1"), name("a", supernode="r/s:2")}) == 3


def test_its_policy_selects_its_pod_and_nothing_else(parsed_site: Any) -> None:
    spec = parsed_site(pools=[GPU])
    (policy,) = site_jobs.pull_network_policies(spec)
    chosen = policy["spec"]["podSelector"]["matchLabels"].items()
    wanted = workload(spec)
    assert chosen <= site_jobs.pull_job(spec, wanted, images_of(wanted), "a", 60)["spec"]["template"]["metadata"]["labels"].items()
    assert not chosen <= wanted["spec"]["template"]["metadata"]["labels"].items()
    assert not {"ingress", "egress"} & set(policy["spec"]) and policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
    assert site_jobs.pull_network_policies(parsed_site(network_policies=False)) == []


def test_no_workload_and_no_policy_of_the_site_selects_its_pod(parsed_site: Any) -> None:
    spec = parsed_site(pools=[GPU])
    wanted = workload(spec)
    labels = site_jobs.pull_job(spec, wanted, images_of(wanted), "a", 60)["spec"]["template"]["metadata"]["labels"].items()
    for item in supernode.objects(spec.complete()):
        body = item.get("spec") or {}
        chosen = (body.get("selector") or body.get("podSelector") or {}) if item["kind"] != "Service" else {"matchLabels": body["selector"]}
        if chosen.get("matchLabels"):
            assert not chosen["matchLabels"].items() <= labels, item["metadata"]["name"]


PROGRAM = {"plugin_utils/site_keys/maker.py": "print()\n"}
REQUEST = {"secrets": ["supernode-default-keys", "supernode-superexec"], "dead": []}


def everything(spec, given=False):
    """In the order in which it takes effect: the job, made first, is suspended until the others are there."""
    job = site_jobs.key_job(spec, site_jobs.ACCESS if given else site_jobs.own_name("abcde"), "abcde", PROGRAM, 60)
    owner = {"metadata": {"uid": "1-2-3"}}
    return [site_jobs.owner(spec), *site_jobs.belongings(spec, owner, "abcde", PROGRAM, REQUEST, given=given), job]


def test_golden_of_a_key_job(parsed_site, golden):
    golden("supernode-key-job", everything(parsed_site(key_source="site")))


def test_rights_that_were_given_are_not_made_again(parsed_site):
    _owner, *belongings, job = everything(parsed_site(), given=True)
    assert {item["kind"] for item in belongings} == {"ConfigMap", "NetworkPolicy"}
    assert job["spec"]["template"]["spec"]["serviceAccountName"] == "supernode-keys"
    given = site_jobs.given_access(parsed_site(), REQUEST["secrets"])
    assert [(item["kind"], item["metadata"]["name"]) for item in given] == [
        ("ServiceAccount", "supernode-keys"), ("Role", "supernode-keys"), ("RoleBinding", "supernode-keys"),
    ]  # fmt: skip


def test_all_rights_are_confined_to_names():
    for rule in site_jobs.rules(["b", "a"]):
        assert rule["resourceNames"] and "list" not in rule["verbs"] and "*" not in rule["verbs"]
    assert site_jobs.rules(["b", "a"])[0]["resourceNames"] == ["a", "b"]


def test_only_the_job_has_a_token_and_no_workload_selects_its_pod(parsed_site):
    spec = parsed_site(key_source="site", resources={"requests": {"cpu": "1", "nvidia.com/gpu": "1"}})
    job = everything(spec)[-1]
    labels = job["spec"]["template"]["metadata"]["labels"]
    for item in supernode.objects(spec):
        chosen = item.get("spec", {}).get("selector") or {}
        chosen = chosen.get("matchLabels", chosen)
        assert not chosen or not chosen.items() <= labels.items(), item["metadata"]["name"]
        assert "serviceAccountToken" not in repr(item)
    pod = job["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False and "serviceAccountToken" in repr(pod["volumes"])
    assert pod["containers"][0]["resources"] == {"requests": {"cpu": "1"}}


def test_pods_are_replaced_when_the_source_changes_and_else_stay_as_they_are(parsed_site):
    def notes(**changes):
        built = [item for item in supernode.objects(parsed_site(**changes)) if item["kind"] == "StatefulSet"]
        return [item["spec"]["template"]["metadata"].get("annotations") for item in built]

    assert notes() == [None]
    assert notes(key_source="site") == [{KEY_SOURCE: "site"}]
    assert notes(key_source="site", insecure=True) == [None]


def test_what_the_administrators_give_names_no_release(parsed_site):
    one, other = (site_jobs.given_access(parsed_site(version=version), ["a"]) for version in ("1.41.0", "1.42.0"))
    assert one == other


def test_the_way_to_the_api_server_is_by_port_unless_its_address_is_told(parsed_site):
    def egress(**changes):
        (policy,) = (item for item in everything(parsed_site(**changes)) if item["kind"] == "NetworkPolicy")
        assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"] and policy["spec"]["ingress"] == []
        return policy["spec"]["egress"]

    (anywhere,) = egress()
    assert "to" not in anywhere and {443, 6443} <= {port["port"] for port in anywhere["ports"]}
    assert egress(api_server=[{"cidr": "192.0.2.7", "ports": ["6443"]}]) == [
        {"to": [{"ipBlock": {"cidr": "192.0.2.7/32"}}], "ports": [{"port": 6443, "protocol": "TCP"}]}
    ]


def test_without_network_policies_there_is_none(parsed_site):
    assert "NetworkPolicy" not in {item["kind"] for item in everything(parsed_site(network_policies=False))}
