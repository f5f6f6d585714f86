# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.federated.flower.plugins.plugin_utils.base.names import KEY_SOURCE
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import site_jobs, supernode

PROGRAM = {"plugin_utils/site_keys/maker.py": "print()\n"}
REQUEST = {"secrets": ["supernode-default-keys", "supernode-superexec"], "dead": []}


def everything(spec, given=False):
    """In the order in which it takes effect: the job, made first, is suspended until the others are there."""
    job = site_jobs.key_job(spec, site_jobs.ACCESS if given else site_jobs.own_name("abcde"), "abcde", PROGRAM, 60)
    owner = {"metadata": {"uid": "1-2-3"}}
    return [site_jobs.owner(spec), *site_jobs.belongings(spec, owner, "abcde", PROGRAM, REQUEST, given=given), job]


def test_golden(parsed_site, golden):
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
