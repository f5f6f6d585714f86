# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One federation through its first weeks, in the order in which an operator meets each capability.

The tests build on each other: a deployment costs a minute of CPU, so all of them share one.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

import pyrage
import pytest
import yaml

from ansible_collections.federated.flower.plugins.plugin_utils.kube.pod_health import images_of_pod
from ansible_collections.federated.flower.tests.integration.scenarios import certificates_of, identities
from ansible_collections.federated.flower.tests.integration.scenarios.conftest import APP
from ansible_collections.federated.flower.tests.integration.scenarios.lane import CA_NAMESPACE, NAMESPACE
from ansible_collections.federated.flower.tests.integration.scenarios.published_app import NUMPY

FORMER, CURRENT = "1.41.0", "1.42.0"
SITES = ("site-a", "site-b")
JOINING = "site-c"
ROLES = "rbac.authorization.k8s.io/v1"


def versions(fed: Any) -> dict[str, set[str]]:
    """Cluster -> releases of Flower that its pods run."""
    found = {}
    for context, name in (("hub", "superlink"), *((site, "supernode") for site in SITES)):
        images = [image for pod in fed.pods(context, name=name).values() for image in images_of_pod(pod).values()]
        found[context] = {image.rpartition(":")[2] for image in images if "flwr/" in image}
    return found


def keys(fed: Any) -> dict[str, Any]:
    """Site -> its keys with their node ids."""
    return {site: fed.keys(site) for site in SITES}


def all_online(fed: Any) -> None:
    """Wait until all SuperNodes of the base inventory are online."""
    fed.wait_online(*(node for found in keys(fed).values() for node in found.values()))


def joining(fed: Any) -> dict[str, Any]:
    """The base inventory and one more site, which shares the cluster of site-a."""
    pool = {"name": "late", "replicas": 1, "node_config": {"partition-id": "{partition}"}}
    site = {"flower_context": "site-a", "supernode_namespace": f"{NAMESPACE}-c", "supernode_pools": [pool]}
    return {**fed.base(), JOINING: site}


def test_a_wrong_inventory_is_refused_before_anything_is_changed(federation):
    hosts = federation.base()
    hosts["site-a"]["supernode_pools"][0]["node_config"] = {"partition-id": "{partitoin}"}
    hosts["site-b"]["supernode_pools"][0]["replicas"] = -1
    run = federation.play("site", hosts=hosts, rc=2)
    for host, words in (("site-a", ("node_config", "{partitoin}", "did you mean {partition}")), ("site-b", ("replicas", "-1", "between 0 and"))):
        message = run.messages(host, failed=True)
        assert message.startswith(f"{host}: ") and all(word in message for word in words), message
    for context in federation.contexts:
        assert federation.gone(context, NAMESPACE, CA_NAMESPACE), f"something was created on {context}"


def test_deploy(federation, fleet_image):
    """The former release of Flower, so that there is something to upgrade."""
    fleet_image(f"flower-{FORMER}")
    run = federation.site(flower_version=FORMER)
    assert "3 SuperNodes of 2 sites are online" in run.messages(), run.messages("hub")
    assert versions(federation) == dict.fromkeys(("hub", *SITES), {FORMER})
    partitions = {**federation.partitions("site-a"), **federation.partitions("site-b")}
    assert partitions == {"supernode-cpu-0": 0, "supernode-cpu-1": 1, "supernode-gpu-2": 2}
    assert sorted(federation.nodes().values()) == ["online"] * 3


def test_upgrade(federation, tmp_path):
    """The hub, then the sites in waves; keys stay, and a run of the app accepts each wave."""
    fed, before = federation, keys(federation)
    given = {
        "flower_backup_directory": str(tmp_path),
        "flower_backup_recipients": [str(pyrage.x25519.Identity.generate().to_public())],
        "flower_upgrade_app": str(APP),
        "flower_upgrade_app_config": {"num-server-rounds": 1},
    }
    run = fed.play("upgrade", "-e", json.dumps(given))
    assert "is complete" in run.messages() and len(list(tmp_path.glob("*.tar"))) == 1, run.messages("hub")
    assert versions(fed) == dict.fromkeys(("hub", *SITES), {CURRENT})
    assert keys(fed) == before and set(fed.app_runs().values()) == {"finished:completed"}
    started = [{pod["metadata"]["creationTimestamp"] for pod in fed.pods(site).values()} for site in SITES]
    assert max(started[0]) <= min(started[1]), f"the waves overlapped: {started}"
    all_online(fed)
    fed.settled = True


@pytest.fixture(scope="module")
def controllers(federation: Any) -> dict[str, Any]:
    """Hosts with identities that have the generated rights and no others."""
    federation.settle()
    federation.play("rbac", "-e", "flower_rbac_apply=true")
    federation.settled = True
    config = yaml.safe_load(federation.kubeconfig.read_text(encoding="utf-8"))
    hosts = federation.base()
    for context, host in hosts.items():
        home = CA_NAMESPACE if context == "hub" else NAMESPACE
        token = identities.token(federation, context, home, "flower-controller")
        path = federation.folder / f"controller-{context}.kubeconfig"
        path.write_text(json.dumps(identities.kubeconfig({context: identities.entry(config, context)}, {context: {"token": token}})))
        host["flower_kubeconfig"] = str(path)
    return hosts


def test_a_second_run_with_the_generated_rights_changes_nothing(fed, controllers):
    before = fed.everything()
    fed.unchanged(controllers)
    assert fed.everything() == before
    fed.settled = True


def test_a_missing_right_is_named_before_anything_is_changed(fed, controllers):
    site = fed.cluster("site-b")
    (role,) = (one for one in site.list(ROLES, "Role", NAMESPACE) if one["metadata"]["name"].endswith("-controller"))
    kept = [rule for rule in role["rules"] if "statefulsets" not in rule["resources"]]
    assert len(kept) < len(role["rules"])
    reduced = site.replace({**role, "rules": kept})
    run = fed.play("site", hosts=controllers, rc=2, flower_annotations={"core/right": "missing"})
    message = run.messages("site-b", failed=True)
    assert message.startswith("site-b: ") and "statefulsets" in message and "federated.flower.rbac" in message, message
    trust = site.get("v1", "ConfigMap", "supernode-trust", NAMESPACE)
    assert "core/right" not in trust["metadata"].get("annotations", {}), "site-b was changed"
    site.replace({**reduced, "rules": role["rules"]})
    # Revoked, since the tests that follow act as administrators of the clusters.
    fed.play("rbac", "-e", "flower_rbac_apply=true", "-e", "flower_rbac_state=absent")
    assert not [one for one in site.list(ROLES, "Role", NAMESPACE) if one["metadata"]["name"].endswith("-controller")]
    fed.settled = False


def test_check_and_diff_show_a_change_and_make_none(fed):
    before = fed.everything()
    run = fed.play("site", "--check", flower_annotations={"core/check": "shown"})
    assert all(run.changed.values()) and re.search(r"^\+ +core/check: shown", run.output, re.M), run.changed
    trust = fed.cluster("site-a").get("v1", "ConfigMap", "supernode-trust", NAMESPACE)
    assert "core/check" not in trust["metadata"].get("annotations", {})
    assert fed.everything() == before


def test_an_app_runs_with_progress_and_its_model_comes_home(fed, tmp_path):
    given = {"flower_app": str(APP), "flower_run_config": {"num-server-rounds": 2, "min-nodes": 3}, "flower_outputs_directory": str(tmp_path)}
    run = fed.play("run", "-e", json.dumps(given))
    rounds = re.findall(r"round (\d): accuracy 0\.\d+, loss [\d.]+ \(3 nodes, 1800 examples; site-a 2, site-b 1\)", run.messages())
    assert set(rounds) == {"1", "2"} and "completed in" in run.messages(), run.messages()
    (folder,) = tmp_path.iterdir()
    assert fed.app_runs()[folder.name] == "finished:completed"
    files = json.loads((folder / "flower-outputs.json").read_text())["files"]
    assert {"model.json", "metrics.json"} <= set(files)
    assert all(hashlib.sha256((folder / name).read_bytes()).hexdigest() == facts["sha256"] for name, facts in files.items())


def test_a_published_example_ends_with_its_model_on_the_users_disk(fed, tmp_path):
    """It saves its model into the working directory, as Flower's examples do."""
    app, outputs = NUMPY.write(tmp_path), tmp_path / "outputs"
    run = fed.play("run", "-e", json.dumps({"flower_app": str(app), "flower_outputs_directory": str(outputs)}))
    (folder,) = outputs.iterdir()
    assert "completed in" in run.messages() and fed.app_runs()[folder.name] == "finished:completed", run.messages()
    files = json.loads((folder / "flower-outputs.json").read_text())["files"]
    assert set(files) == {NUMPY.model} and (folder / NUMPY.model).stat().st_size


def test_the_status_page_shows_the_federation_and_its_runs(fed, tmp_path):
    page, data = tmp_path / "fleet.html", tmp_path / "fleet.json"
    table = fed.play("status", "-e", f"flower_status_page={page}", "-e", f"flower_status_file={data}").table
    rows = {line.split()[0]: line for line in table if line}
    assert "2/2" in rows["site-a"] and "1/1" in rows["site-b"] and "!" not in rows, table
    report, text = json.loads(data.read_text()), page.read_text()
    assert report["healthy"], report["problems"]
    assert "3 SuperNodes of 2 sites are online" in text and "federated-flower/quickstart" in text and "accuracy" in text
    assert all(site in text for site in SITES) and "<script src" not in text


def test_a_site_that_is_down_fails_alone_while_another_one_joins(fed, dead):
    hosts = joining(fed)
    hosts["site-a"]["flower_kubeconfig"] = dead
    before = fed.everything()
    run = fed.play("site", hosts=hosts, rc=None, flower_annotations={"core/outage": "yes"})
    assert run.rc != 0 and {host: numbers["failed"] for host, numbers in run.recap.items()} == {"hub": 0, "site-a": 1, "site-b": 0, JOINING: 0}
    message = run.messages("site-a", failed=True)
    assert message.startswith("site-a: ") and "127.0.0.1:1" in message, message
    report = fed.play("status", "-e", "flower_status_format=json", hosts=hosts).report
    assert {site["cluster"]: site["reachable"] for site in report["sites"]} == {"site-a": False, "site-b": True, JOINING: True}
    assert not report["healthy"] and any(problem.startswith("site-a: ") for problem in report["problems"])
    (node,) = fed.keys(JOINING).values()
    assert fed.nodes()[node] == "online" and fed.pools(JOINING)["late"]["offset"] == 3
    assert {place: uid for place, uid in fed.everything().items() if place in before} == before, "a pod was restarted"


def test_the_site_comes_back_and_the_other_one_leaves(federation):
    fed, hosts = federation, joining(federation)
    (node,) = fed.keys(JOINING).values()
    before = fed.everything()
    run = fed.site(hosts, flower_annotations={"core/outage": "yes"})
    assert run.changed["site-a"] and not run.changed["site-b"] and not run.changed[JOINING], run.changed
    fed.play("teardown", "--limit", JOINING, "-e", "flower_teardown=true", hosts=hosts)
    assert fed.gone("site-a", f"{NAMESPACE}-c")
    assert fed.nodes()[node] == "unregistered" and fed.pools(JOINING) == {} == fed.keys(JOINING)
    assert fed.everything() == before, "a pod was restarted"
    all_online(fed)


def test_certificates_and_the_ca_are_rotated_during_a_run(fed):
    number, finish = fed.hold(**{"num-server-rounds": 2, "min-nodes": 3})
    before, leaf, authority = fed.everything(), certificates_of.leaf(fed), certificates_of.signer(fed)
    fed.play("rotate_certs", "-e", "flower_rotate=leaf")
    assert certificates_of.leaf(fed) != leaf and certificates_of.served(fed) == certificates_of.leaf(fed)
    fed.play("rotate_certs", "-e", "flower_rotate=ca", "-e", "cert_rotation_grace=0")
    assert certificates_of.signer(fed) != authority and certificates_of.served(fed) == certificates_of.leaf(fed)
    assert set(certificates_of.trusts(fed)) == {certificates_of.signer(fed).strip()}
    assert fed.app_runs()[number] == "running"
    result = finish()
    assert result.rc == 0 and f"run {number} of federated-flower/quickstart completed" in result.messages(), result.details()
    assert fed.everything() == before, "a pod was restarted"
    all_online(fed)
    fed.settled = True


def test_a_lost_hub_is_restored_from_its_backup(fed, tmp_path):
    identity = pyrage.x25519.Identity.generate()
    secret = tmp_path / "identity.json"
    secret.write_text(json.dumps({"flower_backup_identity": str(identity)}))
    home = tmp_path / "backups"
    home.mkdir()
    given = json.dumps({"flower_backup_directory": str(home), "flower_backup_recipients": [str(identity.to_public())]})
    fed.play("backup", "-e", given, "-e", f"@{secret}")
    (archive,) = home.glob("*.tar")
    before, lives, trail = keys(fed), {site: set(fed.pods(site)) for site in SITES}, fed.trail()
    fed.settled = False
    for space in (NAMESPACE, CA_NAMESPACE):
        fed.hub.delete("v1", "Namespace", space, propagation="Background")
    fed.wait("the end of the hub's namespaces", lambda: fed.gone("hub", NAMESPACE, CA_NAMESPACE))
    fed.play("restore", "-e", f"flower_restore=true flower_restore_archive={archive}", "-e", f"@{secret}")
    fed.site()
    all_online(fed)
    assert keys(fed) == before and {site: set(fed.pods(site)) for site in SITES} == lives
    assert fed.trail()[: len(trail)] == trail, "the audit trail was cut"


def test_teardown_leaves_nothing(fed):
    fed.play("teardown", "--limit", "site-b", rc=2)  # it asks first
    assert fed.pods("site-b")
    fed.play("teardown", "-e", "flower_teardown=true", "-e", "flower_delete_volumes=true")
    for context in fed.contexts:
        assert fed.gone(context, NAMESPACE, CA_NAMESPACE), f"something is left on {context}"
        for kind in ("ClusterRole", "ClusterRoleBinding"):
            left = [one["metadata"]["name"] for one in fed.cluster(context).list(ROLES, kind, labels="app.kubernetes.io/instance=scenario")]
            assert not left, f"{context}: {kind} {left}"
    volumes = [one["metadata"]["name"] for one in fed.hub.list("v1", "PersistentVolume") if one["spec"].get("claimRef", {}).get("namespace") == NAMESPACE]
    fed.wait("the end of its volumes", lambda: not [one for one in volumes if fed.hub.get("v1", "PersistentVolume", one)], 60)
    assert fed.secrets, "there was no secret to look for"
    fed.judge()
