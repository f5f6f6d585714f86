# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The end: everything goes, and in all that was printed, run and left on the way there was not one secret."""

from __future__ import annotations

import json

from ansible_collections.federated.flower.tests.integration.scenarios.lane import CA_NAMESPACE, NAMESPACE

# Both sites stay where they are without their hub, which is deployed again.
HUB_ALONE = ("--limit", "hub", "-e", "flower_teardown=true", "-e", "flower_forget_sites=site-a,site-b")
PODS = ("superlink", "serverapp", "supernode")
OPEN = {
    "v1": ["ConfigMap", "Event", "PersistentVolumeClaim", "Pod", "Service", "ServiceAccount"],
    "apps/v1": ["ControllerRevision", "DaemonSet", "Deployment", "StatefulSet"],
    "networking.k8s.io/v1": ["NetworkPolicy"],
}


def test_no_secret_lies_beside_the_secrets(fed):
    """In no other object of the clusters (ledger, gateway's files and audit trail among them), and in no container's log."""
    fed._collect()
    folder = fed.folder / "open"
    folder.mkdir()
    for context in fed.contexts:
        cluster = fed.cluster(context)
        for space in fed.spaces(context):
            objects = [item for api, kinds in OPEN.items() for kind in kinds for item in cluster.list(api, kind, space)]
            (folder / f"{context}-{space}.json").write_text("\n".join(map(json.dumps, objects)))
        for pod, found in {name: one for kind in PODS for name, one in fed.pods(context, name=kind).items()}.items():
            for one in [*found["spec"].get("initContainers", []), *found["spec"]["containers"]]:
                (folder / f"{context}-{pod}-{one['name']}.log").write_text(fed.log(context, pod, one["name"]))
    names = {path.name for path in folder.iterdir() if path.stat().st_size}
    assert {f"hub-{NAMESPACE}.json", "hub-superlink-0-gateway.log", f"site-b-{NAMESPACE}.json"} <= names, names
    assert "flower-audit-00001" in (folder / f"hub-{NAMESPACE}.json").read_text()
    shown = fed.shown(folder)
    assert not shown, f"secrets that lie open, and where: {shown}"


def test_check_mode_of_teardown(fed):
    lives = {context: fed.lives(context) for context in ("site-a", "site-b")}
    run = fed.play("teardown", "--check", "-e", "flower_teardown=true", "-e", "flower_delete_volumes=true")
    assert all(run.changed.values()), run.changed
    assert {context: fed.lives(context) for context in lives} == lives
    known = [node for site in lives for node in fed.keys(site).values()]
    assert len(known) == 3
    fed.wait_online(*known)


def test_teardown_keeps_a_hub_that_others_need(fed):
    """Sites outside of the limit, or of another inventory; also in check mode, and before it is confirmed."""
    lives = fed.lives("hub", name="superlink")
    alone = {name: host for name, host in fed.base().items() if name != "site-b"}
    for arguments in (("--limit", "hub,site-a"), ("--limit", "hub,site-a", "--check")):
        run = fed.play("teardown", *arguments, "-e", "flower_teardown=true", rc=2)
        assert "does not remove: site-b." in run.messages(failed=True), run.details()
        assert not any(run.changed.values()), run.changed
    run = fed.play("teardown", hosts=alone, rc=2)
    assert "not removed and need it: site-b." in run.messages(failed=True), run.details()
    assert fed.lives("hub", name="superlink") == lives
    fed.settled = True


def test_teardown_keeps_the_volume_unless_told(fed):
    before = len(fed.trail())
    fed.play("teardown", *HUB_ALONE)
    claims = {one["metadata"]["name"] for one in fed.hub.list("v1", "PersistentVolumeClaim", fed.namespace)}
    assert claims == {"data-superlink-0", "superlink-outputs"}
    assert fed.pods("hub", name="superlink") == {}
    assert fed.hub.get("v1", "Secret", "flower-ca", CA_NAMESPACE), "the CA is gone"
    nodes = {site: fed.keys(site) for site in ("site-a", "site-b")}
    assert all(nodes.values()), "the ledger is gone"
    gone = {one["object"] for one in fed.noted(fed.recorded(before), "hub", "objects", "deleted")}
    assert f"StatefulSet {NAMESPACE}/superlink" in gone and f"NetworkPolicy {NAMESPACE}/superlink" in gone
    fed.site()
    assert {site: fed.keys(site) for site in nodes} == nodes
    fed.wait_online(*(node for site in nodes.values() for node in site.values()))


def test_teardown_keeps_the_hub_while_a_site_is_left(fed):
    hosts = fed.base()
    hosts["site-b"]["flower_auth"] = {"host": "https://127.0.0.1:9", "api_key": "-"}
    lives = {context: fed.lives(context) for context in ("site-a", "site-b")} | {
        "hub": fed.lives("hub", name="superlink")
    }
    named = ("-e", "flower_forget_sites=site-a")
    run = fed.play("teardown", "--limit", "hub,site-b", "-e", "flower_teardown=true", *named, hosts=hosts, rc=2)
    assert "The hub is kept" in run.messages() and "the SuperNodes of site-b" in run.messages(), run.details()
    assert {c: fed.lives(c) for c in ("site-a", "site-b")} | {"hub": fed.lives("hub", name="superlink")} == lives
    assert not any(run.changed.values()), run.changed
    fed.settled = True


def test_teardown(fed):
    """The SuperLink is gone already, so no SuperNode is unregistered; and one of the namespaces holds something of someone else."""
    fed.play("teardown", *HUB_ALONE)
    site = fed.cluster("site-a")
    theirs = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "theirs", "namespace": NAMESPACE},
        "data": {"a": "1"},
    }
    site.request(
        "POST", f"/api/v1/namespaces/{NAMESPACE}/configmaps", query={"fieldManager": "kubectl-create"}, body=theirs
    )
    before = len(fed.trail())
    run = fed.play("teardown", "-e", "flower_teardown=true")
    assert "the SuperLink is removed already" in run.messages()
    assert f"namespace {NAMESPACE} stays (it contains ConfigMap theirs, not known to be of this collection)" in run.messages("site-a")
    left = {
        kind: {item["metadata"]["name"] for item in site.list("v1", kind, NAMESPACE)}
        for kind in ("ConfigMap", "Secret", "Service")
    }
    assert left == {"ConfigMap": {"kube-root-ca.crt", "theirs"}, "Secret": set(), "Service": set()}
    site.delete("v1", "ConfigMap", "theirs", NAMESPACE, propagation="Background")
    told = {site: facts.get("words") for site, facts in fed.recorded(before)["sites"].items()}
    assert told == {"hub": None, "site-a": ["forgotten"], "site-b": ["forgotten"]}
    run = fed.play("teardown", "-e", "flower_teardown=true", "-e", "flower_delete_volumes=true")
    assert f"The audit trail was deleted together with the hub's namespace {NAMESPACE}" in run.output
    for context in fed.contexts:
        assert fed.gone(context, NAMESPACE, CA_NAMESPACE), f"something is left on {context}"
    run = fed.play("teardown", "-e", "flower_teardown=true", "-e", "flower_delete_volumes=true")
    assert set(run.changed.values()) == {0}


def test_no_secret_was_shown_and_nothing_was_left(federation):
    """In what Ansible printed with -vvv and --diff, in results, in its folders and in lists of processes, until here."""
    assert federation.secrets, "no scenario has run before this one: there are no secrets to look for"
    assert len([path for path in federation.logs.rglob("*") if path.is_file()]) > 1
    lines = list(federation.processes.seen)
    assert any("ansible-playbook\0" in line and "federated.flower.site" in line for line in lines), "nothing was seen"
    federation.judge()
