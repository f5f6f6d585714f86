# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wrong inputs: a clear error that names host, variable, value and the remedy, before anything is touched.

All of them would deploy into namespaces that are not there yet; so any change is easy to see.
"""

from __future__ import annotations

import copy
import re

import pytest
import yaml

from ansible_collections.federated.flower.tests.integration.scenarios.lane import NAMESPACE

WRONG = {"flower_namespace": f"{NAMESPACE}-wrong", "flower_ca_namespace": f"{NAMESPACE}-wrong-ca"}
RIGHTS = f"{NAMESPACE}-c"  # the namespace of an identity with few rights


def pool(**changes):
    """A list of one pool."""
    return [{"name": "cpu", "replicas": 1, "node_config": {"partition-id": "{partition}"}, **changes}]


# Host -> its variables, and words of the message.
VARIABLES = {
    "unknown-placeholder": (
        {"supernode_pools": pool(node_config={"partition-id": "{partitoin}"})},
        ["partition-id", "{partitoin}", "{partition}"],
    ),
    "pool-twice": ({"supernode_pools": pool() + pool()}, ["supernode_pools[1].name", "'cpu'", "pools[0]"]),
    "pool-name": (
        {"supernode_pools": pool(name="GPU_1")},
        ["supernode_pools[0].name", "'GPU_1'", "lower case letters, digits and -"],
    ),
    "mixed": (
        {"supernode_pools": pool(node_config={"a": "{index}", "b": "{partition}"})},
        ["{index}", "{partition}", "cpu"],
    ),
    "between": ({"flower_version": "1.36.0"}, ["supernode_version", "'1.36.0'", "use 1.40 or later"]),
    "too-old": ({"flower_version": "1.30.0"}, ["supernode_version", "'1.30.0'", "use 1.40 or later"]),
    "negative": ({"supernode_pools": pool(replicas=-1)}, ["supernode_pools[0].replicas", "-1", "between 0 and 1000"]),
    "elsewhere": ({"supernode_hub_namespace": "elsewhere"}, ["the hub is in namespace", "elsewhere", "supernode_hub_namespace"]),
    "Capital_1": ({}, ["'Capital_1'", "the name of this host", "Rename the host"]),
    "many": ({"supernode_pools": pool(replicas=10**9)}, ["supernode_pools[0].replicas", "between 0 and 1000"]),
    "other-digits": ({"supernode_pools": pool(replicas="1_0")}, ["supernode_pools[0].replicas", "'1_0'"]),
    "unknown": (
        {"supernode_pool": pool(), "superlink_exposre": "route"},
        ["supernode_pool: ", "supernode_pools", "superlink_exposre: ", "superlink_exposure", "flower_own_variables"],
    ),
    "undefined": (
        {"supernode_env": [{"name": "A", "value": "{{ there_is_no_such_variable }}"}]},
        ["supernode_env: its template cannot be evaluated", "there_is_no_such_variable"],
    ),
    # The hub reads these as well: its certificate must cover the names that sites verify.
    "no-port": (
        {"supernode_superlink_address": "gw.site", "supernode_sidecar": False, "supernode_mtls": False},
        ["supernode_superlink_address: 'gw.site'", "host:port"],
    ),
    "no-dns-name": ({"supernode_server_name": "höpital.example"}, ["supernode_server_name: 'höpital.example'"]),
    "undefined-address": (
        {"supernode_superlink_address": "{{ {'eu': 'gw.eu:9092'}[there_is_no_such_region] }}"},
        ["supernode_superlink_address: its template cannot be evaluated", "there_is_no_such_region"],
    ),
    "one-delivery": (
        {"supernode_delivery": "ocm", "supernode_key_source": "site"},
        ["supernode_delivery: 'ocm' contradicts flower_delivery: 'direct'", "set flower_delivery to 'ocm'"],
    ),
    "one-connectivity": (
        {"supernode_connectivity": "skupper"},
        ["supernode_connectivity: 'skupper' contradicts flower_connectivity: 'direct'"],
    ),
    "misspelt-env": ({"supernode_env": [{"name": "A", "vlaue": "s3cr3t"}]}, ["supernode_env[0]", "keys name, vlaue"]),
    "large-env": (
        {"supernode_env": [{"name": "A", "value": "x" * 2**20}]},
        ["supernode_env[0].value", "131071"],
    ),
    "misspelt-reference": (
        {"supernode_env": [{"name": "A", "valueFrom": {"secretKeyReff": {"name": "a", "key": "b"}}}]},
        ["StatefulSet", "secretKeyReff", "supernode_env"],
    ),
    "misspelt-volume": (
        {"supernode_volumes": [{"name": "data", "emptyDirr": {}}]},
        ["StatefulSet", "emptyDirr", "supernode_volumes"],
    ),
    "above-limit": (
        {"supernode_pools": pool(superexec_resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}})},
        ["StatefulSet", "must be less than or equal to cpu limit", "supernode_resources"],
    ),
    "namespace": ({"supernode_namespace": "Not A Name"}, ["supernode_namespace", "'Not A Name'", "lower case"]),
}


@pytest.fixture(scope="module")
def untouched(federation):
    """Says that no cluster got anything of a wrong input."""

    def check():
        for context in federation.contexts:
            assert federation.gone(context, *WRONG.values()), f"something was made on {context}"

    return check


@pytest.fixture(scope="module")
def play(federation, untouched):
    """Run site.yml for hosts with wrong inputs; the federation of the other scenarios has other namespaces."""

    def run(hosts, *arguments, rc=2, **common):
        settled = federation.settled
        result = federation.play("site", *arguments, hosts=hosts, rc=rc, **{**WRONG, **common})
        federation.settled = settled
        untouched()
        return result

    return run


@pytest.fixture(scope="module")
def variables(federation, play):
    """One run with a site for each wrong variable."""
    sites = {
        name: {"flower_context": "site-a", "supernode_namespace": f"{NAMESPACE}-wrong-{number}", **wrong}
        for number, (name, (wrong, _words)) in enumerate(VARIABLES.items())
    }
    return play({"hub": federation.base()["hub"], **copy.deepcopy(sites)})


@pytest.mark.parametrize("host", VARIABLES)
def test_wrong_variable(variables, host):
    words = variables.messages(host, failed=True)
    assert host in words, f"the host is not named: {words!r}"
    missing = [word for word in VARIABLES[host][1] if word not in words]
    assert not missing, f"{missing} not in {words!r}"
    assert "s3cr3t" not in variables.output
    assert "Task failed" not in words


def test_wrong_variable_of_one_site_stops_that_site_alone(federation, play):
    hosts = {**federation.base(), "bad": {"flower_context": "site-b", **VARIABLES["pool-name"][0]}}
    run = play(hosts, "--tags", "preflight")
    assert "GPU_1" in run.messages("bad", failed=True)
    assert [host for host, numbers in run.recap.items() if numbers["failed"]] == ["bad"]


def test_groups_that_are_no_fleet(federation, play):
    base = federation.base()
    sites = {name: found for name, found in base.items() if name != "hub"}
    for hosts, word in ((sites, "flower_hub has no host"), ({"hub": base["hub"]}, "flower_sites has no host")):
        assert word in play(hosts).messages("localhost", failed=True)


def test_wrong_version_of_the_hub(federation, play):
    hosts = federation.base()
    hosts["hub"]["flower_version"] = "1.36.0"
    words = play(hosts).messages("hub", failed=True)
    for word in ("hub: superlink_version", "'1.36.0'", "use 1.40 or later"):
        assert word in words


@pytest.fixture(scope="module")
def few_rights(federation):
    """A kubeconfig of a ServiceAccount that may read the ConfigMaps of its own namespace on site-b and nothing else."""
    cluster = federation.cluster("site-b")
    where = {"name": "few", "namespace": RIGHTS}
    api = "rbac.authorization.k8s.io"
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}
    for made in (
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": RIGHTS}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": where},
        {"apiVersion": f"{api}/v1", "kind": "Role", "metadata": where, "rules": [rule]},
        {
            "apiVersion": f"{api}/v1",
            "kind": "RoleBinding",
            "metadata": where,
            "roleRef": {"apiGroup": api, "kind": "Role", "name": "few"},
            "subjects": [{"kind": "ServiceAccount", **where}],
        },
    ):
        cluster.apply(made)
    answer = cluster.request(
        "POST",
        f"/api/v1/namespaces/{RIGHTS}/serviceaccounts/few/token",
        body={"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}},
    )
    token = answer["status"]["token"]
    federation.secrets[token] = "token of the ServiceAccount few"
    config = yaml.safe_load(federation.kubeconfig.read_text())
    (context,) = (one for one in config["contexts"] if one["name"] == "site-b")
    context["context"]["user"] = "few"
    config.update(
        contexts=[context], users=[{"name": "few", "user": {"token": token}}], **{"current-context": "site-b"}
    )
    path = federation.folder / "few.kubeconfig"
    path.write_text(yaml.safe_dump(config))
    yield str(path)
    cluster.delete("v1", "Namespace", RIGHTS, propagation="Background")


@pytest.fixture(scope="module")
def clusters(federation, play, few_rights):
    """One run with a site for each way in which a cluster cannot be used."""
    closed = yaml.safe_load(federation.kubeconfig.read_text())
    for cluster in closed["clusters"]:
        cluster["cluster"]["server"] = "https://127.0.0.1:1"
    (federation.folder / "closed.kubeconfig").write_text(yaml.safe_dump(closed))
    (federation.folder / "broken.kubeconfig").write_text("apiVersion: [")
    anonymous = yaml.safe_load(federation.kubeconfig.read_text())
    for one in anonymous["users"]:
        one["user"] = {}
    nobody = federation.folder / "nobody.kubeconfig"
    nobody.write_text(yaml.safe_dump(anonymous))
    hosts = {
        "hub": federation.base()["hub"],
        "no-file": {"flower_kubeconfig": "/nowhere/kubeconfig", "flower_context": "site-a"},
        "broken-file": {"flower_kubeconfig": str(federation.folder / "broken.kubeconfig"), "flower_context": "site-a"},
        "no-context": {"flower_context": "site-q"},
        "unreachable": {"flower_kubeconfig": str(federation.folder / "closed.kubeconfig"), "flower_context": "site-a"},
        "few-rights": {"flower_kubeconfig": few_rights, "flower_context": "site-b"},
        "server-type": {"flower_kubeconfig": entry(server=5, user={"token": "t"})},
        "user-type": {"flower_kubeconfig": entry(user="s3cr3t")},
        "auth-type": {"flower_auth": "s3cr3t"},
        "no-credentials": {"flower_kubeconfig": str(nobody), "flower_context": "site-a"},
        "proxy-scheme": {"flower_context": "site-a", "flower_auth": {"proxy": "ftp://u:s3cr3t@127.0.0.1"}},
        "split-token": {"flower_auth": {"host": "https://127.0.0.1:1", "api_key": "s3cr3t\nrest"}},
        "server-password": {"flower_auth": {"host": "https://u:s3cr3t@127.0.0.1:1", "api_key": "x"}},
    }
    return play(hosts, "--limit", "flower_sites")


def entry(server="https://127.0.0.1:1", user=None):
    """A kubeconfig as a mapping."""
    return {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": user}],
    }


CLUSTERS = {
    "server-type": ["'server' in cluster 'k' of the kubeconfig is not text"],
    "user-type": ["the kubeconfig"],
    "auth-type": ["flower_auth is not a mapping"],
    "no-credentials": ["no usable credentials", "system:anonymous", "flower_auth"],
    "proxy-scheme": ["option proxy", "socks5"],
    "split-token": ["the option api_key", "not shown"],
    "server-password": ["the option host", "user name or password"],
    "no-file": ["/nowhere/kubeconfig"],
    "broken-file": ["broken.kubeconfig"],
    "no-context": ["site-q", "site-a"],  # what there is instead, too
    "unreachable": ["127.0.0.1:1"],
    "few-rights": [
        f"create secrets in namespace {NAMESPACE}-wrong",
        f"create statefulsets.apps in namespace {NAMESPACE}-wrong",
        "create namespaces on the whole cluster",
        "flower_kubeconfig",
    ],
}


@pytest.mark.parametrize("host", CLUSTERS)
def test_wrong_cluster(clusters, host):
    words = clusters.messages(host, failed=True)
    assert words.startswith(f"{host}: "), f"the host is not named: {words!r}"
    assert "s3cr3t" not in words
    missing = [word for word in CLUSTERS[host] if word not in words]
    assert not missing, f"{missing} not in {words!r}"


def test_rights_that_are_there_are_not_missed(clusters):
    assert f"get configmaps in namespace {NAMESPACE}-wrong" in clusters.messages("few-rights", failed=True)
    assert RIGHTS not in clusters.messages("few-rights", failed=True)


@pytest.fixture
def clinic(federation):
    """Two of the four GPUs of site-b are used by a pod of others."""
    cluster, name = federation.cluster("site-b"), f"{NAMESPACE}-clinic"
    federation.wait("the end of the previous one", lambda: federation.gone("site-b", name), 60)
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    container = {"name": "train", "image": "none", "resources": {"limits": {"nvidia.com/gpu": "2"}}}
    meta = {"name": "train", "namespace": name}
    spec = {"nodeName": "site-b", "containers": [container], "automountServiceAccountToken": False}
    federation.wait("the account of pods", lambda: cluster.get("v1", "ServiceAccount", "default", name), 30)
    cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
    yield name
    cluster.delete("v1", "Namespace", name, propagation="Background")


def test_pools_that_would_wait_for_gpus_are_warnings(federation, play, clinic):
    hosts = federation.base()
    hosts["site-a"]["supernode_pools"] = copy.deepcopy(hosts["site-b"]["supernode_pools"])
    hosts["site-b"]["supernode_pools"][0]["replicas"] = 4
    run = play(hosts, "--tags", "preflight", rc=0)
    for word in ("site-a: pool gpu", "1 x nvidia.com/gpu", "site-a has no extended resources"):
        assert word in run.warnings(), run.warnings()
    # Four GPUs for four SuperNodes: as many wait as others use.
    (waiting,) = re.findall(r"(\d) of 4 SuperNodes of pool gpu would wait for GPUs", run.warnings())
    assert int(waiting) == sum(map(int, re.findall(r"(\d) used in namespace", run.warnings()))), run.warnings()
    assert f"2 used in namespace {clinic}" in run.warnings(), run.warnings()


def test_what_waits_is_what_the_preflight_said(fed, clinic):
    """The scheduler of the fleet has the same opinion."""
    hosts = fed.base()
    hosts["site-b"]["supernode_pools"][0]["replicas"] = 4
    hosts["site-b"]["supernode_wait_timeout"] = 20
    run = fed.play("site", "--limit", "hub,site-b", hosts=hosts, rc=None)
    (warned,) = re.findall(r"(\d) of 4 SuperNodes of pool gpu would wait for GPUs", run.warnings())
    assert run.rc and int(warned) >= 2, run.warnings()  # those that the clinic uses, and perhaps one of another lane
    found = [one for pod in fed.pods("site-b").values() for one in pod["status"]["conditions"] if one["type"] == "PodScheduled"]
    waiting = [one["message"] for one in found if one["status"] == "False"]
    assert len(found) == 4 and len(waiting) >= 2 and all("Insufficient nvidia.com/gpu" in one for one in waiting), found
    fed.site()


GROUPED = """\
- import_playbook: federated.flower.node_facts
- hosts: flower_sites
  gather_facts: false
  tasks:
    - ansible.builtin.debug:
        msg: >-
          {{ inventory_hostname }} has {{ flower_gpus['nvidia.com/gpu'] | default(0) }} GPUs of {{ flower_gpu_products | first | default('nothing') }},
          and the variable {{ words | default('none') }}
"""


def test_sites_are_grouped_by_their_nodes(federation, tmp_path):
    """Group variables of a product apply in what comes after node_facts.yml."""
    fed, cluster = federation, federation.cluster("site-b")
    (tmp_path / "hosts.json").write_text(fed.inventory(fed.base()).read_text())
    (tmp_path / "group_vars").mkdir()
    (tmp_path / "group_vars" / "gpu_test_gpu_40gb.yml").write_text("words: forty\n")
    (tmp_path / "grouped.yml").write_text(GROUPED)

    def label(product):
        cluster.patch("v1", "Node", "site-b", None, {"metadata": {"labels": {"nvidia.com/gpu.product": product}}})

    label("Test-GPU-40GB")
    try:
        run = fed.play(str(tmp_path / "grouped.yml"), hosts=tmp_path / "hosts.json")
    finally:
        label(None)
    assert "site-b has 4 GPUs of Test-GPU-40GB, and the variable forty" in run.messages("site-b"), run.messages()
    assert "site-a has 0 GPUs of nothing, and the variable none" in run.messages("site-a"), run.messages()


def test_nothing_is_rehearsed_where_nothing_changes(fed):
    fed.site()
    run = fed.play("site", "--tags", "preflight")
    checked = [one for task in run.results for one in (task["result"], *task["result"].get("sites", {}).values())]
    rehearsed = [one["rehearsed"] for one in checked if "rehearsed" in one]
    assert rehearsed == [False] * 3, rehearsed


def test_a_change_that_the_api_server_refuses_is_found_before_anything_is_changed(fed):
    hosts = fed.base()
    hosts["site-a"]["supernode_volumes"] = [{"name": "data", "emptyDirr": {}}]
    before = fed.lives("site-a"), fed.lives("site-b"), fed.lives("hub", name="superlink")
    run = fed.play("site", hosts=hosts, rc=2)
    words = run.messages("site-a", failed=True)
    assert all(word in words for word in ("site-a: ", "emptyDirr", "supernode_volumes")), words
    assert set(run.changed.values()) == {0}, run.changed
    assert [host for host, numbers in run.recap.items() if numbers["failed"]] == ["site-a"], "the other site continues"
    assert "site-b" in run.recap
    assert (fed.lives("site-a"), fed.lives("site-b"), fed.lives("hub", name="superlink")) == before
    fed.settled = True  # nothing was changed
