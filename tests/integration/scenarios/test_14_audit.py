# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every run that changes something is on record, with its facts and without a secret; what is altered afterwards is found."""

from __future__ import annotations

import json
import os
import pwd
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.plain_data import canonical
from ansible_collections.federated.flower.plugins.plugin_utils.base.secret_data import entries
from ansible_collections.federated.flower.plugins.plugin_utils.flower import in_pod
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import connect
from ansible_collections.federated.flower.plugins.plugin_utils.manifests.gateway import SECRET
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates
from ansible_collections.federated.flower.plugins.plugin_utils.state.audit_trail import FULL, NAME, Trail, log_name
from ansible_collections.federated.flower.plugins.plugin_utils.state.hash_chain import parse, verify
from ansible_collections.federated.flower.plugins.plugin_utils.state.lease_object import NAME as LEASE
from ansible_collections.federated.flower.tests.integration.scenarios import supernodes
from ansible_collections.federated.flower.tests.integration.scenarios.lane import NAMESPACE

POOL = {"name": "late", "replicas": 1, "node_config": {"partition-id": "{partition}", "num-partitions": "{partitions}"}}
SPACE = f"{NAMESPACE}-race"


def objects(fed, entry, site, change):
    return {one["object"] for one in fed.noted(entry, site, "objects", change)}


def keys(fed, entry, site, change):
    return {one["fingerprint"] for one in fed.noted(entry, site, "keys", change)}


@pytest.fixture
def news(fed):
    """Function: the entries that were added since the test began."""
    before = len(fed.trail())
    return lambda: fed.trail()[before:]


def test_a_deployment_is_recorded(federation):
    """The first entry is that of the hub, and the last one that of the sites."""
    fed = federation
    fed.clear()  # that of other scenarios may have been another one
    fed.settled = False
    fed.settle()
    trail = fed.trail()
    entry, last = fed.recorded(0), trail[-1]
    assert "hub" in trail[0]["sites"] and set(last["sites"]) >= {"site-a", "site-b"}
    for one in trail:
        assert one["playbook"] == "federated.flower.site" and one["options"] == {} and "failed" not in one
    assert last["who"]["user"] == pwd.getpwuid(os.getuid()).pw_name and last["who"]["host"] == socket.gethostname()
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    answer = fed.hub.request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", body=review)
    assert last["who"]["kubernetes"] == answer["status"]["userInfo"]["username"]
    assert set(entry["sites"]) == {"hub", "site-a", "site-b"}
    made = {site: objects(fed, entry, site, "created") for site in entry["sites"]}
    assert {f"Namespace {NAMESPACE}", f"StatefulSet {NAMESPACE}/superlink", f"Secret {NAMESPACE}-ca/flower-ca"} <= made[
        "hub"
    ]
    assert {f"NetworkPolicy {NAMESPACE}-ca/superlink-default-deny", f"ConfigMap {NAMESPACE}/superlink-clients"} <= made[
        "hub"
    ]
    assert {f"StatefulSet {NAMESPACE}/supernode-cpu", f"Secret {NAMESPACE}/supernode-cpu-keys"} <= made["site-a"]
    for facts in entry["sites"].values():
        hashed = {one["object"].split()[0] for one in facts["objects"] if len(one.get("sha256", "")) == 64}
        assert "StatefulSet" in hashed and "Secret" not in hashed
    # What is in force now was issued by one of the runs.
    served = certificates.describe(entries(fed.hub.get("v1", "Secret", SECRET, fed.namespace))["tls.crt"])
    issued = [one for told in trail for one in fed.noted(told, "hub", "certificates", "issued")]
    assert {one["name"] for one in issued} >= {"flower-ca", "flower-client-ca", "flower-internal-ca", SECRET}
    assert (served["serial"], served["fingerprint"]) in {(one["serial"], one["fingerprint"]) for one in issued}
    for site, record in fed.ledger().read_records().items():
        held = keys(fed, entry, site, "registered")
        assert held and held <= set(record["keys"]) | set(record["retired"])
        given = [one["serial"] for told in trail for one in fed.noted(told, site, "certificates", "issued")]
        assert record["client"]["serial"] == given[-1]
    assert {"pool": "cpu", "offset": 0, "size": 2} in entry["sites"]["site-a"]["partitions"]


def test_no_change_no_entry(fed, news):
    fed.unchanged()
    fed.play("site", "--check", flower_annotations={"scenario/audit": "yes"})
    fed.play("status")
    fed.play("audit")
    assert news() == []


@pytest.fixture(scope="module")
def taken():
    """What somebody at site-c kept when it left: its client certificate with the key, and the key of its SuperNode."""
    return {}


def test_a_site_joins_and_leaves(fed, news, taken):
    hosts = {
        **fed.base(),
        "site-c": {"flower_context": "site-a", "supernode_namespace": f"{NAMESPACE}-c", "supernode_pools": [POOL]},
    }
    before = len(fed.trail())
    fed.site(hosts)
    joined = fed.recorded(before)
    # At the hub only what the gateway knows of the sites' keys.
    assert set(joined["sites"]) == {"hub", "site-c"} and set(joined["sites"]["hub"]) == {"objects"}
    assert {one.rpartition("/")[2] for one in objects(fed, joined, "hub", "changed")} == {"superlink-clients"}
    assert fed.noted(joined, "site-c", "certificates", "issued")
    assert f"StatefulSet {NAMESPACE}-c/supernode-late" in objects(fed, joined, "site-c", "created")
    held = keys(fed, joined, "site-c", "registered")
    assert held == set(fed.ledger().read_records()["site-c"]["keys"])
    taken["identity"] = fed.identity("site-a", f"{NAMESPACE}-c")
    secret = fed.cluster("site-a").get("v1", "Secret", "supernode-late-keys", f"{NAMESPACE}-c")
    (taken["key"],) = (text for text in entries(secret).values() if "PRIVATE KEY" in text)
    assert fed.call([{}], taken["identity"])[0]["alert"] is None, "it cannot be refused later if it is refused now"
    before = len(fed.trail())
    fed.play("teardown", "--limit", "site-c", "-e", "flower_teardown=true", hosts=hosts)
    left = fed.recorded(before)
    for entry in fed.trail()[before:]:
        assert entry["playbook"] == "federated.flower.teardown" and entry["options"] == {"limit": "site-c"}
    assert set(left["sites"]) == {"hub", "site-c"} and left["sites"]["site-c"]["words"] == ["forgotten"]
    assert fed.noted(left, "site-c", "certificates", "revoked")
    assert keys(fed, left, "site-c", "retired") == held and f"Namespace {NAMESPACE}-c" in objects(
        fed, left, "site-c", "deleted"
    )


def test_who_left_is_refused_with_all_that_was_kept(fed, taken):
    """The site of the test before: its certificate at the gateway; its key at the SuperLink, over the connection of a site that is a member."""
    assert fed.call([{}], taken["identity"])[0]["alert"] == "SSLV3_ALERT_CERTIFICATE_REVOKED"
    assert fed.call([{}], fed.identity("site-a"))[0]["alert"] is None
    before = fed.nodes()
    pod = min(fed.pods("site-a"))
    request = {"keys": {"old": taken["key"]}}
    output = in_pod.run(fed.cluster("site-a"), fed.namespace, pod, "supernode", supernodes, request, seconds=90)
    assert output.rc == 0, output.stderr
    told = json.loads(output.answers[0])["old"]
    assert "SuperNode ID" not in told, told
    assert fed.nodes() == before, "it has changed something"


def test_the_leaving_record_of_a_site(fed, news, tmp_path):
    """The site of the test before. A record that was changed is refused."""
    folder = ("-e", f"flower_statement_directory={tmp_path}/records")
    for site in ("site-a", "site-x"):
        refused = fed.play("leaving_statement", "-e", f"flower_site={site}", *folder, rc=2)
        assert f"no entry for the removal of '{site}'" in refused.messages("hub", failed=True)
    made = fed.play("leaving_statement", "-e", "flower_site=site-c", *folder)
    assert made.changed["hub"] == 1
    (path,) = tmp_path.glob("records/*")
    entries = [entry for entry in fed.trail() if entry["playbook"] == "federated.flower.teardown" and "site-c" in entry["sites"]]
    assert path.name == f"site-c-entry-{entries[-1]['seq']}.txt"
    text = path.read_text()
    assert f"deleted Namespace {NAMESPACE}-c\n" in text and entries[-1]["hash"] in text
    assert all(f"fingerprint {one}" in text for left in entries for one in keys(fed, left, "site-c", "retired"))
    assert all(f", serial {one['serial']}\n" in text for left in entries for one in fed.noted(left, "site-c", "certificates", "revoked"))
    assert text.endswith("as far as the audit trail says:\n    nothing\n")
    again = fed.play("leaving_statement", "-e", "flower_site=site-c", *folder)
    assert again.changed["hub"] == 0 and path.read_text() == text
    verified = fed.play("leaving_statement", "-e", f"flower_statement_file={path}")
    assert "matches" in verified.messages("hub")
    path.write_text(text.replace(", serial ", ", serial 0"))
    changed = fed.play("leaving_statement", "-e", f"flower_statement_file={path}", rc=2)
    assert "differs from the audit trail" in changed.messages("hub", failed=True)
    assert news() == [], "nothing in a cluster is changed"


def test_hosts_that_fail_are_named(fed, news):
    """In the entry of the task in which they fail; the other hosts are deployed."""
    hosts = fed.base()
    hosts["hub"]["superlink_annotations"] = hosts["site-b"]["supernode_annotations"] = {"scenario/audit": "yes"}
    hosts["site-a"] |= {"supernode_image": "docker.io/flwr/not-there:1", "supernode_wait_timeout": 20}
    before = len(fed.trail())
    fed.play("site", hosts=hosts, rc=2)
    entry = fed.recorded(before)
    assert list(entry["failed"]) == ["site-a"] and "not-there" in entry["failed"]["site-a"]
    assert set(entry["sites"]) == {"hub", "site-a", "site-b"}


def test_a_playbook_that_ends_early_is_recorded(fed, news):
    """All hosts of the run fail after something was changed: no later play is reached. The lease is returned all the same."""
    before = len(fed.trail())
    run = fed.play(
        "site", "--limit", "site-a", rc=2, supernode_image="docker.io/flwr/no-such-image:1", supernode_wait_timeout=20
    )
    assert "no-such-image" in run.messages("site-a", failed=True)
    assert fed.hub.get("coordination.k8s.io/v1", "Lease", LEASE, fed.namespace) is None
    entry = fed.recorded(before)
    assert objects(fed, entry, "site-a", "changed") == {f"StatefulSet {NAMESPACE}/supernode-cpu"}
    assert list(entry["failed"]) == ["site-a"]


def test_it_is_shown_and_exported(fed):
    whole = fed.trail()
    rows = fed.play("audit", "-e", "flower_audit_last=2").table
    assert rows[0].split()[:2] == ["entry", "time"] and rows[1].split()[0] == str(whole[-2]["seq"])
    file = fed.folder / "audit.jsonl"
    fed.play("audit", "-e", f"flower_audit_file={file}", "-e", f"flower_audit_anchor={whole[1]['hash']}")
    assert [parse(line) for line in file.read_text().splitlines()[:-1]] == whole
    command = ["ansible", "localhost", "-m", "federated.flower.audit_info", "-a", f"file={file}"]
    told = subprocess.run(
        command, capture_output=True, text=True, check=True, env=fed.environment(fed.folder / "adhoc.jsonl")
    ).stdout
    assert f"{len(whole)} entries, none altered" in " ".join(told.split())
    year = whole[0]["time"][:4]
    file.write_text(file.read_text().replace(year, "1999", 1))
    told = subprocess.run(
        command, capture_output=True, text=True, check=True, env=fed.environment(fed.folder / "adhoc.jsonl")
    ).stdout
    assert "entry 1 (" in " ".join(told.split()) and "was altered" in " ".join(told.split())
    run = fed.play("audit", "-e", f"flower_audit_anchor={'0' * 64}", rc=2)
    assert "no entry has the anchor hash 000" in run.messages("hub", failed=True)


@pytest.fixture
def tampered(fed):
    """Function: change the lines of a ConfigMap of the trail and put them back; returns what is wrong meanwhile."""

    def write(item, text):
        # A full one is immutable, but can be deleted and recreated.
        meta = {name: item["metadata"][name] for name in ("name", "namespace", "labels")}
        fed.hub.delete("v1", "ConfigMap", meta["name"], fed.namespace, propagation="Background")
        fed.hub.create({**item, "metadata": meta, "data": {"log.jsonl": text}})

    def alter(change, number=1, look=lambda: verify(*Trail(fed.hub, fed.namespace, "scenario").read()).fault):
        item = fed.hub.get("v1", "ConfigMap", log_name(number), fed.namespace)
        text = item["data"]["log.jsonl"]
        write(item, "".join(change(text.splitlines(keepends=True))))
        try:
            return look()
        finally:
            write(item, text)

    return alter


def test_tampering_is_found_and_named(fed, tampered):
    settled = fed.settled
    whole = fed.trail()
    logs = fed.hub.list("v1", "ConfigMap", fed.namespace, labels="app.kubernetes.io/component=audit")
    newest = len(logs) - 1  # one is the head record
    where = f"ConfigMap {NAMESPACE}/{log_name(1)}"
    altered = tampered(
        lambda lines: [lines[0], lines[1].replace("federated.flower.", "federated.flowers.", 1), *lines[2:]],
        look=lambda: fed.play("audit", rc=2).messages("hub", failed=True),
    )
    assert f"entry 2 ({where}, line 2) was altered" in altered
    missing = tampered(lambda lines: [lines[0], *lines[2:]])
    assert f"entry 2 is missing: entry 3 is in its place ({where}, line 2)" in missing
    cut = tampered(lambda lines: lines[:-1], newest)
    assert f"entry {len(whole)} is missing: the head record names {len(whole)}" in cut
    assert "was altered" in tampered(lambda lines: [*lines, "rubbish\n"], newest)
    head = fed.hub.get("v1", "ConfigMap", NAME, fed.namespace)
    fed.hub.delete("v1", "ConfigMap", NAME, fed.namespace, propagation="Background")
    assert "no valid head record" in verify(*Trail(fed.hub, fed.namespace, "scenario").read()).fault
    fed.hub.create({**head, "metadata": {name: head["metadata"][name] for name in ("name", "namespace", "labels")}})
    assert fed.trail() == whole
    fed.settled = settled


def test_rivals_do_not_fork_it(federation):
    """Four writers at once, with entries so large that they come to the end of a ConfigMap every now and then."""
    rivals, times, size = 4, 8, 60_000
    hub = federation.hub
    if hub.get("v1", "Namespace", SPACE) is None:
        hub.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})
    for item in hub.list("v1", "ConfigMap", SPACE, labels="app.kubernetes.io/component=audit"):
        hub.delete("v1", "ConfigMap", item["metadata"]["name"], SPACE)
    barrier = Barrier(rivals)

    def rival(side):
        with connect({"kubeconfig": str(federation.kubeconfig), "context": "hub"}) as own:
            mine = Trail(own, SPACE, "race")
            for count in range(times):
                barrier.wait(120)
                mine.append([{"id": f"{side}-{count}", "time": "now", "sites": {"a": {"words": ["x" * size]}}}])
            return own.requests

    with ThreadPoolExecutor(rivals) as pool:
        requests = sum(pool.map(rival, range(rivals)))
    lines, head = Trail(hub, SPACE, "race").read()
    verdict = verify(lines, head)
    assert not verdict.fault and not verdict.notes, verdict.fault
    assert sorted(entry["id"] for entry in verdict.entries) == sorted(
        f"{side}-{count}" for side in range(rivals) for count in range(times)
    )
    assert requests > rivals * times * 5, "they never met: this shows nothing"
    logs = [
        item
        for item in hub.list("v1", "ConfigMap", SPACE, labels="app.kubernetes.io/component=audit")
        if item["metadata"]["name"] != NAME
    ]
    sizes = [len(json.dumps(item["data"])) for item in logs]
    assert len(logs) > 5 and max(sizes) < 512 * 1024
    assert [item.get("immutable", False) for item in logs] == [len(item["data"]["log.jsonl"]) >= FULL for item in logs]


def test_no_secret_is_in_it(fed):
    text = "\n".join(canonical(entry) for entry in fed.trail())
    assert fed.secrets and "PRIVATE KEY" not in text
    assert [place for secret, place in fed.secrets.items() if secret in text] == []
