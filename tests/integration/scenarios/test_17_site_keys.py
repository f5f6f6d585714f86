# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys that never leave the site: the job that makes them, and a federation of sites of both kinds.

That the control node needs no right on Secrets is shown where its rights are (test_13_rights).
"""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from kubernetes.client import CoreV1Api
from kubernetes.config import new_client_from_config

from ansible_collections.federated.flower.plugins.plugin_utils.apply.engine import apply_objects
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.names import CONTROLLER, PUBLIC_KEYS, SITE
from ansible_collections.federated.flower.plugins.plugin_utils.base.secret_data import entries
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Forbidden
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import connect
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import common_objects, site_jobs
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates, keypairs
from ansible_collections.federated.flower.plugins.plugin_utils.site_keys import job, keys, site_keygen
from ansible_collections.federated.flower.plugins.plugin_utils.spec.site_spec import SiteSpec
from ansible_collections.federated.flower.tests.integration.scenarios.lane import NAMESPACE

HOME = f"{NAMESPACE}-keys"  # for jobs without a federation
SECONDS = 60
POOL = keys.Pool("cpu", ["0", "1"], 0)
APP = Path(__file__).parents[3] / "examples" / "quickstart"
EDGE = {"name": "edge", "mode": "DaemonSet", "node_config": {"site": "{cluster}"}}


def specification(name, **changes):
    """As much of a site's specification as its job needs."""
    given = {
        "cluster": "site-a",
        "federation": "scenario",
        "namespace": name,
        "version": "1.42.0",
        "pod_security": "restricted",
        "run_as_user": 49999,
        "run_as_group": 49999,
        "fs_group": 49999,
        "pools": [{"name": "cpu"}],
        **changes,
    }
    return SiteSpec.parse(given)


def leftovers(site, where):
    """What belongs to jobs: nothing, once they are gone."""
    found = []
    for api_version, kind in (
        ("batch/v1", "Job"), ("v1", "Pod"), ("v1", "ConfigMap"), ("v1", "ServiceAccount"),
        ("rbac.authorization.k8s.io/v1", "Role"), ("rbac.authorization.k8s.io/v1", "RoleBinding"),
        ("networking.k8s.io/v1", "NetworkPolicy"),
    ):  # fmt: skip
        items = site.list(api_version, kind, where, labels=f"app.kubernetes.io/name={site_jobs.KEY_APPLICATION}")
        lasting = (
            (site_jobs.ACCESS, site_jobs.OWNER) if kind in ("ConfigMap", "ServiceAccount", "Role", "RoleBinding") else ()
        )
        found += [f"{kind}/{item['metadata']['name']}" for item in items if item["metadata"]["name"] not in lasting]
    return found


@pytest.fixture(scope="module")
def home(federation):
    """A connection to site-a, where an empty namespace waits for keys."""
    site = federation.cluster("site-a")
    apply_objects(site, common_objects.namespace_objects(specification(HOME)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(job, "_delete", _and_keep_the_log(federation, job._delete))
        yield site
    site.delete("v1", "Namespace", HOME, propagation="Background")


def _and_keep_the_log(federation, delete):
    """The end of a job, whose pod's log is kept with those of the playbooks."""
    client = CoreV1Api(new_client_from_config(str(federation.kubeconfig), "site-a"))

    def end(site, ended):
        for pod in site.list("v1", "Pod", HOME, labels=f"job-name={site_jobs.NAME}", fields="status.phase!=Pending"):
            name = pod["metadata"]["name"]
            (federation.logs / f"{name}.log").write_text(client.read_namespaced_pod_log(name, HOME))
        delete(site, ended)

    return end


def make(site, *pools, dead=(), client="site-a", seconds=SECONDS, **changes):
    """Let the site make what is missing."""
    wanted = keys.Wanted(pools, dead, client)
    spec = specification(HOME, **changes)
    return site_keygen.make(job.AtSite(site, spec), spec, wanted, seconds, lambda: None)


def prints(outcome):
    """(Pool, name) -> fingerprint."""
    return {(key["pool"], key["name"]): key["fingerprint"] for key in outcome.found.keys}


def test_a_job_makes_keys_and_tells_public_halves(federation, home):
    first = make(home, POOL)
    assert [item["change"] for item in first.objects(HOME)] == ["created"] * 4
    held = entries(home.get("v1", "Secret", "supernode-cpu-keys", HOME))
    assert prints(first) == {
        ("cpu", name): keypairs.fingerprint(keypairs.supernode_public_key(held[name])) for name in ("0", "1")
    }
    assert certificates.request_fingerprint(first.found.client_request)
    told = home.get("v1", "ConfigMap", PUBLIC_KEYS, HOME)
    assert "PRIVATE" not in str(told)
    (log,) = federation.logs.glob(f"{site_jobs.NAME}-*.log")
    assert "supernode-cpu-keys: new keys for 0, 1" in log.read_text()
    federation.wait("the end of the job's belongings", lambda: not leftovers(home, HOME), 30)

    requests = home.requests
    again = make(home, POOL)
    assert (prints(again), again.found.reasons, home.requests - requests) == (prints(first), [], 1)


def test_kept_dead_moved_and_extra_keys(home):
    before = prints(make(home, POOL))
    moved = make(home, keys.Pool("cpu", ["5", "6", "7"], 5), dead=[before["cpu", "1"]])
    assert prints(moved)["cpu", "5"] == before["cpu", "0"]
    assert prints(moved)["cpu", "6"] not in before.values()
    shrunk = make(home, keys.Pool("cpu", ["5"], 5))
    assert shrunk.found.reasons == [] and shrunk.found.extra == {"cpu": ["6", "7"]}
    site_keygen.drop(job.AtSite(home, specification(HOME)), specification(HOME), shrunk.found.extra, SECONDS)
    assert list(entries(home.get("v1", "Secret", "supernode-cpu-keys", HOME))) == ["5"]
    left = make(home, keys.Pool("cpu", ["5"], 5))
    assert (left.found.reasons, left.found.extra, prints(left)) == ([], {}, prints(shrunk))
    assert certificates.request_fingerprint(left.found.client_request) == certificates.request_fingerprint(
        shrunk.found.client_request
    )


def test_a_shared_secret_is_made_anew_once_for_each_demand(home):
    keep, shared = job.read(home, HOME).digests, "supernode-superexec"
    changes = site_keygen.renew(job.AtSite(home, specification(HOME)), specification(HOME), [shared], "first", SECONDS)
    assert [name for name, change in changes.items() if change != "unchanged"] == [shared]
    now = job.read(home, HOME).digests
    assert now[shared] != keep[shared] and {**now, shared: ""} == {**keep, shared: ""}
    assert (
        site_keygen.renew(job.AtSite(home, specification(HOME)), specification(HOME), [shared], "first", SECONDS) == {}
    )


def test_a_secret_that_is_gone_is_noticed_without_a_right_on_secrets(federation, home):
    pool = keys.Pool("cpu", ["5"], 5)
    before, wanted = make(home, pool), keys.Wanted([pool], (), "site-a")

    def noticed():
        return site_keygen.foresee(job.AtSite(home, specification(HOME)), specification(HOME), wanted).found.reasons

    for name in ("supernode-superexec", "supernode-cpu-keys"):
        home.delete("v1", "Secret", name, HOME, propagation="Background")
    federation.wait("the owners' end", lambda: len(noticed()) == 2, 20)
    after = make(home, pool)
    assert after.found.reasons == ["supernode-cpu-keys: it does not exist", "supernode-superexec: it does not exist"]
    assert not set(prints(after).values()) & set(prints(before).values())
    requests = (outcome.found.client_request for outcome in (before, after))
    assert len(set(map(certificates.request_fingerprint, requests))) == 1


def test_the_keys_go_with_their_owner(federation, home):
    before = make(home, POOL)
    home.delete("v1", "ConfigMap", site_jobs.OWNER, HOME, propagation="Background")
    federation.wait("the end of the keys", lambda: home.get("v1", "ConfigMap", PUBLIC_KEYS, HOME) is None, 30)
    assert home.list("v1", "Secret", HOME) == []
    after = make(home, POOL)
    assert len(prints(after)) == 2 and not set(prints(after).values()) & set(prints(before).values())


def test_two_controllers_at_once_make_one_set_of_keys(federation, home):
    pool = keys.Pool("race", ["0"], 0)
    outcomes = []

    def one():
        with connect({"kubeconfig": str(federation.kubeconfig), "context": "site-a"}) as site:
            try:
                outcomes.append(prints(make(site, POOL, pool))["race", "0"])
            except ClusterError as error:
                outcomes.append(error.message)

    threads = [threading.Thread(target=one) for _number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(2 * SECONDS)
    final = prints(make(home, POOL, pool))["race", "0"]
    told = [outcome for outcome in outcomes if outcome != final]
    assert len(outcomes) == 2 and len(told) <= 1
    # On a busy machine the job of the one may look to the other like one whose run has died.
    lost = ("another run of the role has just started", "was deleted by someone else; run again")
    assert all(any(words in message for words in lost) for message in told), told


def test_a_job_whose_control_node_died_is_no_hindrance(federation, home, monkeypatch):
    federation.wait("the end of earlier jobs", lambda: not leftovers(home, HOME), 30)
    home.create(site_jobs.key_job(specification(HOME), site_jobs.own_name("lost"), "lost", {}, SECONDS))
    monkeypatch.setattr(job, "_ORPHANED", 1.0)
    assert len(prints(make(home, POOL, keys.Pool("late", ["0"], 0)))) == 3


def test_what_goes_wrong_is_told_and_leaves_nothing(federation, home, monkeypatch):
    other = keys.Pool("other", ["0"], 0)
    monkeypatch.setattr(job, "_NO_POD", 1.0)
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "none", "namespace": HOME},
        "spec": {"hard": {"pods": "0"}},
    }
    home.create(quota)
    federation.wait(
        "the quota", lambda: home.get("v1", "ResourceQuota", "none", HOME).get("status", {}).get("hard"), 20
    )
    with pytest.raises(ClusterError, match="FailedCreate.*exceeded quota: none"):
        make(home, POOL, other)
    home.delete("v1", "ResourceQuota", "none", HOME)
    with pytest.raises(ClusterError, match="FailedCreate.*violates PodSecurity"):
        make(home, POOL, other, run_as_user=0)
    with pytest.raises(ClusterError, match="not done after 2 s.*Unschedulable"):
        make(home, POOL, other, node_selector={"no": "such"}, seconds=2)
    with pytest.raises(ClusterError, match="ErrImageNeverPull"):
        make(home, POOL, other, image="docker.io/flwr/no-such:1", image_pull_policy="Never")
    secret = home.get("v1", "Secret", "supernode-cpu-keys", HOME)
    broken = dict.fromkeys(secret["data"], "bm8ga2V5")  # "no key"
    home.replace({**secret, "data": broken})
    with pytest.raises(ClusterError, match="supernode-cpu-keys contains an entry that is not a SuperNode key"):
        make(home, POOL, other)
    home.delete("v1", "Secret", "supernode-cpu-keys", HOME, propagation="Background")
    federation.wait("the end of the job's belongings", lambda: not leftovers(home, HOME), 30)


def test_all_rights_are_confined_to_names_even_that_to_create(federation, home):
    given = site_jobs.given_access(specification(HOME), site_jobs.secret_names(["cpu"]))
    apply_objects(home, given)
    user = f"system:serviceaccount:{HOME}:{site_jobs.ACCESS}"
    own = keys.build("scenario", HOME, "supernode-cpu-keys", {"0": "nothing"})
    other = keys.build("scenario", HOME, "supernode-other-keys", {"0": "nothing"})
    auth = {"kubeconfig": str(federation.kubeconfig), "context": "site-a", "impersonate_user": user}
    home.delete("v1", "Secret", "supernode-cpu-keys", HOME)
    with connect(auth) as program:
        assert program.apply(own)["metadata"]["name"] == "supernode-cpu-keys"
        assert program.get("v1", "Secret", "supernode-cpu-keys", HOME) is not None
        for forbidden in (
            lambda: program.apply(other),
            lambda: program.create({**own, "metadata": {**own["metadata"], "name": "supernode-local-tls"}}),
            lambda: program.get("v1", "Secret", "supernode-race-keys", HOME),
            lambda: program.list("v1", "Secret", HOME),
            lambda: program.get("v1", "ConfigMap", PUBLIC_KEYS, HOME),
            lambda: program.list("v1", "Pod", HOME),
        ):
            with pytest.raises(Forbidden):
                forbidden()

    # What the administrators gave is enough for the job, and a pool that it no longer knows is let be until the end.
    assert len(prints(make(home, POOL))) == 2
    assert home.get("v1", "Secret", "supernode-race-keys", HOME) is not None
    assert not job.read(home, HOME).lines.keys() - {"cpu"}
    assert made_by(home, HOME) == {SITE}
    apply_objects(home, given, state="absent")


def made_by(site, where):
    """Who made the keys: a set of sources."""
    secrets = site.list("v1", "Secret", where, labels="app.kubernetes.io/name=supernode")
    return {keys.source_of(secret) for secret in secrets}


@pytest.fixture(scope="module")
def hosts(federation):
    """Hosts of which site-a makes its keys itself, and site-b does not."""
    found = federation.base()
    found["site-a"]["flower_key_source"] = SITE
    return found


def test_a_site_begins_to_make_its_keys_and_the_others_notice_nothing(fed, hosts):
    site, before, neighbour = fed.cluster("site-a"), fed.keys("site-a"), (fed.keys("site-b"), fed.lives("site-b"))
    run = fed.site(hosts, "--check")
    assert run.changed["site-a"] > 0 and "(to be made)" in run.output
    assert fed.keys("site-a") == before and not site.list("batch/v1", "Job", fed.namespace)
    assert made_by(site, fed.namespace) == {CONTROLLER}

    fed.site(hosts)
    after, nodes = fed.keys("site-a"), fed.nodes()
    assert set(after) == set(before) and not set(after.values()) & set(before.values())
    assert {nodes[node] for node in after.values()} == {"online"}
    assert {nodes[node] for node in before.values()} == {"unregistered"}
    assert made_by(site, fed.namespace) == {SITE}
    assert (fed.keys("site-b"), fed.lives("site-b")) == neighbour
    fed.unchanged(hosts)
    assert leftovers(site, fed.namespace) == []


def test_a_dead_key_is_replaced_and_numbers_move_with_their_keys(federation, hosts):
    fed = federation
    before, start = fed.keys("site-a"), fed.pools("site-a")["cpu"]["offset"]
    lost, kept = (before["cpu", str(start + count)] for count in range(2))
    crowded = start + 2 in fed.partitions("site-b").values()  # as it is when no scenario moved the pool before
    (answer,) = FlowerCLI(fed.hub, fed.namespace).unregister([lost])
    assert answer.ok, answer.message
    hosts["site-a"]["supernode_pools"] = [{**hosts["site-a"]["supernode_pools"][0], "replicas": 3}, EDGE]
    fed.site(hosts)
    after, nodes, offset = fed.keys("site-a"), fed.nodes(), fed.pools("site-a")["cpu"]["offset"]
    assert (offset != start) == crowded
    assert set(after) == {*(("cpu", str(offset + count)) for count in range(3)), ("edge", "site-a")}
    assert after["cpu", str(offset + 1)] == kept and lost not in after.values()
    assert {nodes[node] for node in after.values()} == {"online"}
    assert {pool: fed.held("site-a", pool) for pool in ("cpu", "edge")} == {
        pool: {name for owner, name in after if owner == pool} for pool in ("cpu", "edge")
    }


def test_a_run_with_sites_of_both_kinds(federation, hosts):
    fed = federation
    config = json.dumps({"flower_app": str(APP), "flower_run_config": {"num-server-rounds": 1, "min-nodes": 5}})
    run = fed.play("run", "-e", config, hosts=hosts)
    assert any("round 1: accuracy" in line for line in run.table), run.table


def test_and_back(federation):
    fed = federation
    site, before, neighbour = fed.cluster("site-a"), fed.keys("site-a"), fed.keys("site-b")
    fed.site()
    after, nodes = fed.keys("site-a"), fed.nodes()
    assert {nodes[node] for node in before.values()} == {"unregistered"}
    assert len(after) == 2 and {nodes[node] for node in after.values()} == {"online"}
    assert fed.keys("site-b") == neighbour
    assert made_by(site, fed.namespace) == {CONTROLLER}
    for name in (PUBLIC_KEYS, site_jobs.OWNER):
        assert site.get("v1", "ConfigMap", name, fed.namespace) is None
    assert fed.held("site-a", "edge") == set() and leftovers(site, fed.namespace) == []


def test_no_key_was_shown(federation):
    federation._collect()
    assert federation.shown(federation.logs, federation.home, federation.tmp) == {}
