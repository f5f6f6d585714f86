# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys that never leave the site: the job that makes them, and a control node that may not see them."""

from __future__ import annotations

import threading

import pytest
import yaml

from ansible_collections.federated.flower.plugins.plugin_utils import pki
from ansible_collections.federated.flower.plugins.plugin_utils.apply.engine import apply_objects
from ansible_collections.federated.flower.plugins.plugin_utils.cluster import Forbidden, connect
from ansible_collections.federated.flower.plugins.plugin_utils.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import key_job, namespace
from ansible_collections.federated.flower.plugins.plugin_utils.manifests.common import PUBLIC_KEYS
from ansible_collections.federated.flower.plugins.plugin_utils.secrets import entries
from ansible_collections.federated.flower.plugins.plugin_utils.site import keys, made_there

HOME = "scenario-keys"  # for jobs without a federation
SECONDS = 60
CPU = keys.Pool("cpu", ["0", "1"], 0)
ON_SITE_B = ("--limit", "site-b")
# What deploying SuperNodes takes beside the objects themselves, and nothing on Secrets.
OBJECTS = {
    "": ["configmaps", "services", "serviceaccounts"],
    "apps": ["statefulsets", "daemonsets"],
    "policy": ["poddisruptionbudgets"],
    "networking.k8s.io": ["networkpolicies"],
    "batch": ["jobs"],
}


def specification(name, **changes):
    """As much of a site's specification as its job needs."""
    return {
        "cluster": "site-a",
        "federation": "scenario",
        "namespace": name,
        "version": "1.41.0",
        "pod_security": "restricted",
        "run_as_user": 49999,
        "run_as_group": 49999,
        "fs_group": 49999,
        "pools": [{"name": "cpu"}],
        **changes,
    }


def leftovers(site, where):
    """What belongs to jobs: nothing, once they are gone."""
    found = []
    for api_version, kind in (
        ("batch/v1", "Job"), ("v1", "Pod"), ("v1", "ConfigMap"), ("v1", "ServiceAccount"),
        ("rbac.authorization.k8s.io/v1", "Role"), ("rbac.authorization.k8s.io/v1", "RoleBinding"),
        ("networking.k8s.io/v1", "NetworkPolicy"),
    ):  # fmt: skip
        items = site.list(api_version, kind, where, labels=f"app.kubernetes.io/name={key_job.APPLICATION}")
        found += [f"{kind}/{item['metadata']['name']}" for item in items if item["metadata"]["name"] != key_job.ACCESS]
    return found


@pytest.fixture(scope="module")
def home(federation):
    """A connection to site-a, where an empty namespace waits for keys."""
    site = federation.cluster("site-a")
    apply_objects(site, namespace.objects(specification(HOME)))
    yield site
    site.delete("v1", "Namespace", HOME, propagation="Background")


def make(site, *pools, dead=(), client="site-a", seconds=SECONDS, **changes):
    """Let the site make what is missing."""
    wanted = keys.Wanted(pools, dead, client)
    return made_there.make(site, specification(HOME, **changes), wanted, seconds, lambda: None)


def prints(outcome):
    """(Pool, name) -> fingerprint."""
    return {(key["pool"], key["name"]): key["fingerprint"] for key in outcome.found.keys}


def test_a_job_makes_keys_and_tells_public_halves(federation, home):
    first = make(home, CPU)
    assert [item["change"] for item in first.objects(HOME)] == ["created"] * 4
    held = entries(home.get("v1", "Secret", "supernode-cpu-keys", HOME))
    assert prints(first) == {
        ("cpu", name): pki.fingerprint(pki.supernode_public_key(held[name])) for name in ("0", "1")
    }
    assert pki.request_fingerprint(first.found.client_request)
    told = home.get("v1", "ConfigMap", PUBLIC_KEYS, HOME)
    assert "PRIVATE" not in str(told)
    federation.wait("the end of the job's belongings", lambda: not leftovers(home, HOME), 30)

    requests = home.requests
    again = make(home, CPU)
    assert (prints(again), again.found.reasons, home.requests - requests) == (prints(first), [], 1)


def test_kept_dead_moved_and_extra_keys(home):
    before = prints(make(home, CPU))
    moved = make(home, keys.Pool("cpu", ["5", "6", "7"], 5), dead=[before["cpu", "1"]])
    assert prints(moved)["cpu", "5"] == before["cpu", "0"]
    assert prints(moved)["cpu", "6"] not in before.values()
    shrunk = make(home, keys.Pool("cpu", ["5"], 5))
    assert shrunk.found.reasons == [] and shrunk.found.extra == {"cpu": ["6", "7"]}
    made_there.drop(home, specification(HOME), shrunk.found.extra, SECONDS)
    assert list(entries(home.get("v1", "Secret", "supernode-cpu-keys", HOME))) == ["5"]
    left = make(home, keys.Pool("cpu", ["5"], 5))
    assert (left.found.reasons, left.found.extra, prints(left)) == ([], {}, prints(shrunk))
    assert pki.request_fingerprint(left.found.client_request) == pki.request_fingerprint(shrunk.found.client_request)


def test_a_secret_that_is_gone_is_noticed_without_a_right_on_secrets(federation, home):
    pool = keys.Pool("cpu", ["5"], 5)
    before, wanted = make(home, pool), keys.Wanted([pool], (), "site-a")

    def noticed():
        return made_there.foresee(home, specification(HOME), wanted).found.reasons

    for name in ("supernode-superexec", "supernode-cpu-keys"):
        home.delete("v1", "Secret", name, HOME, propagation="Background")
        federation.wait("the owner's end", noticed, 20)
        after = make(home, pool)
        assert after.found.reasons == [f"{name}: there is none"]
        assert (prints(after) == prints(before)) == (name != "supernode-cpu-keys")


def test_two_controllers_at_once_make_one_set_of_keys(federation, home):
    pool = keys.Pool("race", ["0"], 0)
    outcomes = []

    def one():
        with connect({"kubeconfig": str(federation.kubeconfig), "context": "site-a"}) as site:
            try:
                outcomes.append(prints(make(site, CPU, pool))["race", "0"])
            except ClusterError as error:
                outcomes.append(error.message)

    threads = [threading.Thread(target=one) for _number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(2 * SECONDS)
    final = prints(make(home, CPU, pool))["race", "0"]
    told = [outcome for outcome in outcomes if outcome != final]
    assert len(outcomes) == 2 and len(told) <= 1
    assert all("another run of the role has just started" in message for message in told), told


def test_what_goes_wrong_is_told_and_leaves_nothing(federation, home):
    other = keys.Pool("other", ["0"], 0)
    with pytest.raises(ClusterError, match="ErrImageNeverPull"):
        make(home, CPU, other, image="docker.io/flwr/no-such:1", image_pull_policy="Never")
    secret = home.get("v1", "Secret", "supernode-cpu-keys", HOME)
    broken = dict.fromkeys(secret["data"], "bm8ga2V5")  # "no key"
    home.replace({**secret, "data": broken})
    with pytest.raises(ClusterError, match="supernode-cpu-keys holds something that is no SuperNode key"):
        make(home, CPU, other)
    home.delete("v1", "Secret", "supernode-cpu-keys", HOME, propagation="Background")
    federation.wait("the end of the job's belongings", lambda: not leftovers(home, HOME), 30)


def test_all_rights_are_confined_to_names_even_that_to_create(federation, home):
    apply_objects(home, key_job.given_access(specification(HOME), ["supernode-own-keys"]))
    user = f"system:serviceaccount:{HOME}:{key_job.ACCESS}"
    own = keys.build("scenario", HOME, "supernode-own-keys", {"0": "nothing"})
    other = keys.build("scenario", HOME, "supernode-other-keys", {"0": "nothing"})
    auth = {"kubeconfig": str(federation.kubeconfig), "context": "site-a", "impersonate_user": user}
    with connect(auth) as job:
        assert job.apply(own)["metadata"]["name"] == "supernode-own-keys"
        assert job.get("v1", "Secret", "supernode-own-keys", HOME) is not None
        for forbidden in (
            lambda: job.apply(other),
            lambda: job.create(other),
            lambda: job.get("v1", "Secret", "supernode-cpu-keys", HOME),
            lambda: job.list("v1", "Secret", HOME),
            lambda: job.get("v1", "ConfigMap", PUBLIC_KEYS, HOME),
            lambda: job.list("v1", "Pod", HOME),
        ):
            with pytest.raises(Forbidden):
                forbidden()
    home.delete("v1", "ServiceAccount", key_job.ACCESS, HOME)
    home.delete("v1", "Secret", "supernode-own-keys", HOME)


def kubeconfig(fed, context, where):
    """A kubeconfig of the service account `controller`, and what it is."""
    site = fed.cluster(context)
    token = site.request(
        "POST",
        f"/api/v1/namespaces/{where}/serviceaccounts/controller/token",
        body={"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}},
    )["status"]["token"]
    config = yaml.safe_load(fed.kubeconfig.read_text(encoding="utf-8"))
    config["users"] = [{"name": "controller", "user": {"token": token}}]
    config["contexts"] = [
        {"name": one["name"], "context": {**one["context"], "user": "controller"}}
        for one in config["contexts"]
        if one["name"] == context
    ]
    path = fed.folder / "controller.kubeconfig"
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return path


@pytest.fixture
def limited(fed):
    """Hosts of which site-b makes its keys itself; the control node may do there what is needed, but see no Secret."""
    site, where = fed.cluster("site-b"), fed.namespace
    group = "rbac.authorization.k8s.io"
    subject = {"kind": "ServiceAccount", "name": "controller", "namespace": where}
    rules = [
        {"apiGroups": [api], "resources": found, "verbs": ["get", "list", "create", "patch", "delete"]}
        for api, found in OBJECTS.items()
    ]
    rules += [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "patch"]},
        {"apiGroups": [""], "resources": ["events"], "verbs": ["get", "list"]},
    ]
    wide = [{"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "create", "patch"]}]
    made = [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "controller", "namespace": where}},
        {"apiVersion": f"{group}/v1", "kind": "Role", "metadata": {"name": "controller", "namespace": where}, "rules": rules},
        {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": {"name": "scenario-controller"}, "rules": wide},
        {
            "apiVersion": f"{group}/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "controller", "namespace": where},
            "roleRef": {"apiGroup": group, "kind": "Role", "name": "controller"},
            "subjects": [subject],
        },
        {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "scenario-controller"},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "scenario-controller"},
            "subjects": [subject],
        },
    ]
    apply_objects(site, made)
    hosts = fed.base()
    hosts["site-b"].update(flower_key_source="site", flower_kubeconfig=str(kubeconfig(fed, "site-b", where)))
    yield hosts
    apply_objects(site, made, state="absent")
    for kind in ("RoleBinding", "Role"):
        site.delete(f"{group}/v1", kind, key_job.ACCESS, where)
    site.delete("v1", "ServiceAccount", key_job.ACCESS, where)


def test_a_control_node_that_sees_no_secret(fed, limited):
    site, where = fed.cluster("site-b"), fed.namespace
    run = fed.play("site", "--tags", "preflight", hosts=limited, rc=2)
    assert "the identity used for site-b may not: get secrets" in run.messages("site-b", failed=True)
    names = made_there.secret_names(["gpu"])
    apply_objects(site, key_job.given_access(specification(where, cluster="site-b"), names))

    before, neighbour, pods = fed.keys("site-b"), fed.keys("site-a"), fed.lives("site-a")
    run = fed.site(limited, *ON_SITE_B, "--check")
    assert run.changed["site-b"] > 0 and fed.keys("site-b") == before
    assert site.get("v1", "ConfigMap", PUBLIC_KEYS, where) is None

    fed.site(limited, *ON_SITE_B)
    after, nodes = fed.keys("site-b"), fed.nodes()
    assert set(after) == set(before) and not set(after.values()) & set(before.values())
    assert {nodes[node] for node in after.values()} == {"online"}
    assert {nodes[node] for node in before.values()} == {"unregistered"}
    assert (fed.keys("site-a"), fed.lives("site-a")) == (neighbour, pods)
    for secret in site.list("v1", "Secret", where, labels="app.kubernetes.io/name=supernode"):
        assert keys.source_of(secret) == "site", secret["metadata"]["name"]
    with connect({"kubeconfig": limited["site-b"]["flower_kubeconfig"], "context": "site-b"}) as seen:
        for name in names:
            with pytest.raises(Forbidden):
                seen.get("v1", "Secret", name, where)
    fed.unchanged(limited, *ON_SITE_B)

    # The administrators know nothing of a pool that is new.
    limited["site-b"]["supernode_pools"] += [{"name": "extra"}]
    run = fed.play("site", *ON_SITE_B, hosts=limited, rc=2)
    words = run.messages("site-b", failed=True)
    assert "supernode-extra-keys" in words and "forbidden" in words, words
    assert fed.keys("site-b") == after and not leftovers(site, where)

    # And back: the controller makes all keys anew.
    fed.site(None, *ON_SITE_B)
    back, nodes = fed.keys("site-b"), fed.nodes()
    assert {nodes[node] for node in after.values()} == {"unregistered"}
    assert {nodes[node] for node in back.values()} == {"online"}
    assert site.get("v1", "ConfigMap", PUBLIC_KEYS, where) is None
    assert (fed.keys("site-a"), fed.lives("site-a")) == (neighbour, pods)
