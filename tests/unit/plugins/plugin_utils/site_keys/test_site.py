# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.secret_data import entries
from ansible_collections.federated.flower.plugins.plugin_utils.kube import nodes, pod_health
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates
from ansible_collections.federated.flower.plugins.plugin_utils.site_keys import keys
from ansible_collections.federated.flower.tests.unit.rows import each_row


def plan(pools, live=(), dead=(), client=""):
    return keys.plan("demo", "flower", pools, {item["metadata"]["name"]: item for item in live}, dead, client)


def prints(result):
    return [key["fingerprint"] for key in result.keys]


def test_first_run_makes_a_key_per_replica_and_the_shared_secrets():
    result = plan([keys.Pool("cpu", ["3", "4"], 3)])
    assert [item["metadata"]["name"] for item in result.secrets] == [
        "supernode-cpu-keys", "supernode-superexec", "supernode-local-tls",
    ]  # fmt: skip
    assert sorted(entries(result.secrets[0])) == ["3", "4"]
    assert [key["name"] for key in result.keys] == ["3", "4"]


def test_a_secret_of_someone_else_is_refused():
    for name in ("supernode-cpu-keys", "supernode-local-tls"):
        theirs = {
            "metadata": {"name": name, "labels": {"app.kubernetes.io/managed-by": "Helm"}},
            "data": {"tls.key": "AAAA"},
        }
        with pytest.raises(ClusterError, match=f"Secret flower/{name} exists already and is managed by Helm"):
            plan([keys.Pool("cpu", ["0"], 0)], [theirs])


def test_a_number_that_stays_keeps_its_key_when_the_others_move():
    """Its pod stays with the key that it has read, which no other pod can use meanwhile."""
    first = plan([keys.Pool("cpu", ["0", "1", "2"], 0)])
    second = plan([keys.Pool("cpu", ["2", "3", "4"], 2)], first.secrets)
    zero, one, two = prints(first)
    assert prints(second) == [two, zero, one] and second.extra == {}
    fewer = plan([keys.Pool("cpu", ["2", "3"], 2)], first.secrets)
    assert prints(fewer) == [two, zero] and fewer.extra == {"cpu": ["1"]}
    more = plan([keys.Pool("cpu", ["1", "2", "3", "4"], 1)], first.secrets)
    assert prints(more)[:3] == [one, two, zero] and prints(more)[3] not in prints(first)


def test_a_shrunk_pool_names_the_extra_keys_and_keeps_them_until_they_are_unregistered():
    first = plan([keys.Pool("cpu", ["0", "1"], 0)])
    second = plan([keys.Pool("cpu", ["0"], 0)], first.secrets)
    assert second.extra == {"cpu": ["1"]}
    assert second.secrets == []
    assert keys.without_extra(first.secrets[0], ["1"]) == {"0": first.secrets[0]["data"]["0"]}
    assert keys.without_extra(first.secrets[0], ["0", "1"]) is None


def test_a_removed_pool_is_all_extra():
    first = plan([keys.Pool("cpu", ["0", "10", "2"], 0)])
    assert plan([], first.secrets).extra == {"cpu": ["0", "2", "10"]}


def test_a_daemonset_pool_has_a_key_per_node():
    result = plan([keys.Pool("edge", ["node-a", "node-b"])])
    assert sorted(entries(result.secrets[0])) == ["node-a", "node-b"]


def test_the_key_of_the_client_certificate_is_made_once_and_only_its_request_comes_out():
    first = plan([], client="site-a")
    (secret,) = (item for item in first.secrets if item["metadata"]["name"] == "supernode-client-key")
    assert list(entries(secret)) == ["tls.key"] and "PRIVATE KEY" in entries(secret)["tls.key"]
    assert first.client_request.startswith("-----BEGIN CERTIFICATE REQUEST-----")
    second = plan([], first.secrets, client="site-a")
    assert second.secrets == []
    assert certificates.request_fingerprint(second.client_request) == certificates.request_fingerprint(
        first.client_request
    )
    assert plan([]).client_request == ""


def test_a_client_key_that_is_none_is_told_with_its_place():
    broken = keys.build("demo", "flower", "supernode-client-key", {"tls.key": "x"})
    with pytest.raises(
        ClusterError, match="Secret flower/supernode-client-key of site-a has no private key.*delete it"
    ):
        plan([], [broken], client="site-a")


def test_a_certificate_for_loopback_only_is_replaced_where_client_apps_call():
    door = "*.flower.svc"
    first = plan([])
    (secret,) = (item for item in first.secrets if item["metadata"]["name"] == keys.LOCAL_TLS)
    assert keys.names_of(secret) == sorted(["localhost", "127.0.0.1", door])
    live = {item["metadata"]["name"]: item for item in first.secrets}
    assert keys.plan("demo", "flower", [], live, listener=door).secrets == []
    ca = certificates.make_ca("old", keys.LOCAL_LIFETIME)
    leaf = certificates.issue(ca, "localhost", ["localhost", "127.0.0.1"], keys.LOCAL_LIFETIME)
    data = {"tls.crt": leaf.certificate, "tls.key": leaf.key, "ca.crt": ca.certificate}
    live[keys.LOCAL_TLS] = keys.build("demo", "flower", keys.LOCAL_TLS, data)
    assert keys.plan("demo", "flower", [], live).secrets == []
    again = keys.plan("demo", "flower", [], live, listener=door)
    assert [item["metadata"]["name"] for item in again.secrets] == [keys.LOCAL_TLS]
    assert again.reasons == [f"{keys.LOCAL_TLS}: it is not valid for {door}"]


def node(name, labels=None, taints=(), ready="True"):
    return {
        "metadata": {"name": name, "labels": labels or {}},
        "spec": {"taints": list(taints)},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    }


def test_daemonset_pools_run_on_selected_nodes_whose_taints_they_tolerate():
    gpu = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
    cordoned = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    found = [node("b", {"zone": "x"}), node("a", {"zone": "x"}, [gpu]), node("c"), node("d", {"zone": "x"}, [cordoned])]

    def names(tolerations):
        return [item["metadata"]["name"] for item in nodes.eligible(found, {"zone": "x"}, tolerations, None)]

    assert names([]) == ["b", "d"]
    assert names([{"key": "gpu", "operator": "Equal", "value": "yes"}]) == ["a", "b", "d"]
    assert names([{"key": "gpu", "value": "no"}]) == ["b", "d"]
    assert names([{"operator": "Exists"}]) == ["a", "b", "d"]
    assert names([{"key": "gpu", "operator": "Exists", "effect": "NoExecute"}]) == ["b", "d"]


def test_a_pod_of_a_daemonset_stays_on_a_node_that_is_closed_later():
    closed = {"key": "maintenance", "value": "soon", "effect": "NoSchedule"}
    evicting = {"key": "maintenance", "value": "now", "effect": "NoExecute"}
    found = [node("a", {}, [closed]), node("b", {}, [closed]), node("c", {}, [closed, evicting]), node("d")]
    assert nodes.closed(found, None, None, None) == ["a", "b"]
    chosen = nodes.eligible(found, None, None, None, {"a", "c"})
    assert [item["metadata"]["name"] for item in chosen] == ["a", "d"]
    assert nodes.closed(found, {"zone": "x"}, None, None) == [] and nodes.closed(found, None, [{"operator": "Exists"}], None) == []
    assert nodes.closed(found, None, None, near({"matchExpressions": [{"key": "zone", "operator": "Exists"}]})) == []


def near(*terms):
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


@each_row(
    ("operator", "values", "chosen"),
    [
        ("In", ["x", "y"], "ab"), ("NotIn", ["x"], "bcd"), ("Exists", [], "abd"), ("DoesNotExist", [], "c"),
        ("Gt", ["4"], "d"), ("Lt", ["6"], "d"), ("Gt", ["5"], ""), ("Unknown", [], ""),
    ],
)  # fmt: skip
def test_a_daemonset_has_pods_where_its_affinity_permits_them(operator, values, chosen):
    found = [node("a", {"zone": "x"}), node("b", {"zone": "y"}), node("c"), node("d", {"zone": "5"})]

    def names(affinity):
        return "".join(item["metadata"]["name"] for item in nodes.eligible(found, None, None, affinity))

    rule = {"key": "zone", "operator": operator, "values": values}
    named = {"key": "metadata.name", "operator": "In", "values": ["a"]}
    assert names(near({"matchExpressions": [rule]})) == chosen
    assert names(near({"matchExpressions": [rule]}, {"matchFields": [named]})) == "".join(sorted({*chosen, "a"}))
    assert names(near({"matchExpressions": [rule], "matchFields": [named]})) == ("a" if "a" in chosen else "")
    assert names(near({})) == "" and names({"podAffinity": {}}) == "abcd"


def test_a_pod_says_why_it_does_not_work():
    pod = {
        "metadata": {"name": "supernode-cpu-0"},
        "status": {
            "phase": "Pending",
            "conditions": [{"type": "PodScheduled", "status": "False", "message": "0/1 nodes have nvidia.com/gpu"}],
            "containerStatuses": [
                {
                    "name": "supernode",
                    "ready": False,
                    "restartCount": 3,
                    "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s"}},
                    "lastState": {"terminated": {"exitCode": 1, "reason": "Error", "message": "key unknown"}},
                }
            ],
        },
    }
    text = pod_health.summary([pod])
    for part in (
        "supernode-cpu-0",
        "nvidia.com/gpu",
        "CrashLoopBackOff: back-off 40s",
        "code 1",
        "key unknown",
        "3 restarts",
    ):
        assert part in text
    assert pod_health.summary([]) == "there are no pods"
