# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Logs of all clusters, a restart, and the page and the archive of a fleet that was broken on purpose: what is wrong comes first, with what helps."""

from __future__ import annotations

import base64
import datetime
import json
import os
import re
import signal
import stat
import struct
import tarfile
import time

from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates, keypairs
from ansible_collections.federated.flower.plugins.plugin_utils.state import lease_object
from ansible_collections.federated.flower.tests.integration.scenarios.conftest import APP
from ansible_collections.federated.flower.tests.integration.scenarios.lane import CA_NAMESPACE, NAMESPACE
from ansible_collections.federated.flower.tests.page import browser
from ansible_collections.federated.flower.tests.unit.client_certificates import issue_client

DAY = datetime.timedelta(days=1)
IMAGE = "127.0.0.1:1/not-there:1"


# A pod that prints lines until it is deleted.
PRINTS = "import itertools, time\nfor n in itertools.count():\n    print('line', n, flush=True)\n    time.sleep(0.1)"
SAYS = "import sys; open('/proc/1/fd/1', 'w').write(sys.argv[1] + chr(10))"


def printing_pods(fed, context, count):
    """Pods with labels of the federation that print lines; they are in the way of nothing."""
    cluster, live = fed.cluster(context), min(fed.pods(context).items())[1]["spec"]
    first = live["containers"][0]
    labels = {"name": "supernode-keys", "instance": fed.common["flower_federation"], "managed-by": "federated.flower"}
    container = {"name": "prints", "image": first["image"], "command": ["python", "-c", PRINTS], "securityContext": first.get("securityContext", {})}
    names = [f"prints-{number}" for number in range(count)]
    for name in names:
        meta = {"name": name, "namespace": NAMESPACE, "labels": {f"app.kubernetes.io/{key}": value for key, value in labels.items()}}
        spec = {"terminationGracePeriodSeconds": 0, "automountServiceAccountToken": False, "securityContext": live.get("securityContext", {})}
        cluster.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {**spec, "containers": [container]}})
    for name in names:
        fed.wait(name, lambda name=name: cluster.get("v1", "Pod", name, NAMESPACE)["status"]["phase"] == "Running", 90)
        fed.wait(f"a line of {name}", lambda name=name: cluster.log(NAMESPACE, name, "prints", lines=1), 30)
    return names


def log_lines(run):
    return next(one["result"]["lines"] for one in run.results if "lines" in one["result"])


def test_logs_of_all_clusters_are_in_order_and_followed(fed):
    names = {context: printing_pods(fed, context, 3) for context in ("site-a", "site-b")}
    try:
        begun = time.monotonic()
        fed.play("logs", "--list-tasks")
        start = time.monotonic() - begun  # what Ansible needs in any case
        begun = time.monotonic()
        run = fed.play("logs", "-e", "flower_logs_lines=5")
        whole = time.monotonic() - begun - start
        lines = log_lines(run)
        assert lines == sorted(lines, key=lambda line: line.partition(" ")[0]) and all(line in run.output for line in lines)
        pods = {tuple(line.split(" ")[1:3]) for line in lines}
        assert {host for host, _container in pods} == {"hub", "site-a", "site-b"}
        assert len({(host, container.partition("/")[0]) for host, container in pods}) >= 10, pods
        (took,) = re.findall(r"lines of 3 clusters in ([0-9.]+) s", run.messages())
        assert float(took) < 3 and whole < 3, (took, whole)
        (fed.logs / "logs-times.txt").write_text(f"{took} s to read {len(lines)} lines, {whole:.1f} s without the start of Ansible ({start:.1f} s)\n")

        found = log_lines(fed.play("logs", "--limit", "site-a", "-e", "flower_logs_grep='line [0-9]*0$' flower_logs_since=1h"))
        assert found and all(re.search(r" site-a \S+: line \d*0$", line) for line in found), found
        assert "no site" not in fed.play("logs", "-e", "flower_logs_previous=true").messages(failed=True)
        assert "is not a regular expression" in fed.play("logs", "-e", "flower_logs_grep=(", rc=2).messages(failed=True)

        # With a filter, so that the lines of the printing pods are not shown.
        follow = fed.start("logs", "-e", "flower_logs_follow=true flower_logs_grep=marker-")
        fed.python("site-b", min(fed.pods("site-b")), "supernode", SAYS, "marker-before")
        fed.wait_for_output(follow, "marker-before")
        for number, context in enumerate(("site-a", "site-b", "site-a")):
            marker = f"marker-{number}"
            fed.python(context, min(fed.pods(context)), "supernode", SAYS, marker)
            fed.wait(marker, lambda marker=marker: marker in follow.log.read_text(encoding="utf-8"), 30, pause=0.05)
            seen = time.time()
            (at,) = re.findall(rf"^(\S+) {context} \S+/supernode: {marker}$", follow.log.read_text(encoding="utf-8"), re.MULTILINE)
            assert seen - datetime.datetime.fromisoformat(at.replace("Z", "+00:00")).timestamp() < 2
        os.killpg(follow.pid, signal.SIGINT)
        assert follow().rc != 0 and not follow.running()
    finally:
        for context, listed in names.items():
            for name in listed:
                fed.cluster(context).delete("v1", "Pod", name, NAMESPACE, propagation="Background")


def test_a_restart_waits_for_runs(fed):
    assert "Set the hosts to restart" in fed.play("restart", rc=2).messages(failed=True)
    places = (("hub", "serverapp"), ("hub", "superlink"), ("site-a", "supernode"), ("site-b", "supernode"))
    before = {(context, name): fed.lives(context, name=name) for context, name in places}
    run, release = fed.hold(**{"num-server-rounds": 1})
    shown = fed.play("restart", "--limit", "hub,site-b", "--check").messages()
    assert "hub: would restart serverapp-0" in shown and "site-b: would restart supernode-gpu-" in shown
    assert "flower_restart_wait" in fed.play("restart", "--limit", "site-b", "-e", "flower_restart_wait=0", rc=2).messages(failed=True)
    restart = fed.start("restart", "--limit", "hub,site-b")
    fed.wait_for_output(restart, f"waiting for run {run}")
    assert release().rc == 0
    done = restart()
    assert done.rc == 0, done.details()
    assert {host for host, changed in done.changed.items() if changed} == {"hub", "site-b"}
    after = {(context, name): fed.lives(context, name=name) for context, name in before}
    restarted = {place for place in before if before[place] != after[place]}
    assert restarted == {("hub", "serverapp"), ("site-b", "supernode")}
    fed.wait_online(*(node for site in ("site-a", "site-b") for node in fed.keys(site).values()))
    shown = [one for one in fed.play("status", "-e", "flower_status_watch=1 flower_status_watch_limit=2").results if isinstance(one["result"].get("msg"), list)]
    assert len(shown) == 3


def a_foreign_node(fed):
    """Register a SuperNode past the ledger; its id."""
    (answer,) = FlowerCLI(fed.hub, NAMESPACE).register([keypairs.supernode_public_key(keypairs.make_supernode_key())])
    assert answer.ok, answer.message
    return str(answer.data["node-id"])


def a_broken_image(fed, context, workload):
    """Have a pool's pod wait for an image that there is not."""
    cluster = fed.cluster(context)
    live = cluster.get("apps/v1", "StatefulSet", workload, NAMESPACE)
    live["spec"]["template"]["spec"]["containers"][0]["image"] = IMAGE
    live["spec"]["template"]["spec"]["containers"][0]["imagePullPolicy"] = "Always"
    cluster.replace(live)

    def waits():
        found = [one for pod in fed.pods(context).values() for one in pod["status"].get("containerStatuses", [])]
        states = [one.get("state", {}).get("waiting", {}).get("reason", "") for one in found]
        return {"ErrImagePull", "ImagePullBackOff"} & set(states)

    fed.wait("a pod that waits for its image", waits, 90)


def a_certificate_near_its_end(fed, site):
    """Let the ledger have a client certificate of three months with two days left, as if site.yml had not been run since."""
    data = fed.hub.get("v1", "Secret", "flower-client-ca", CA_NAMESPACE)["data"]
    ca = certificates.Issued(*(base64.b64decode(data[key]).decode() for key in ("tls.crt", "tls.key")))
    made = issue_client(ca, site, "flower", 90 * DAY, datetime.datetime.now(datetime.timezone.utc) - 88 * DAY)
    facts = certificates.describe(made.certificate)
    live = fed.hub.get("v1", "ConfigMap", f"flower-site-{site}", NAMESPACE)
    record = json.loads(live["data"]["ledger.json"])
    record["client"] |= {name: facts[name] for name in ("serial", "fingerprint", "not_after")} | {"certificate": made.certificate}
    fed.hub.replace({**live, "data": {**live["data"], "ledger.json": json.dumps(record)}})


def a_lease_that_was_not_returned(fed):
    """As after the end of a machine on which a playbook ran."""
    past = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(hours=1)
    who = {"who": {"user": "jane", "host": "laptop"}, "options": {}, "playbook": "federated.flower.site"}
    identity = lease_object.identity(who, "1")
    fed.hub.create(lease_object.taken(None, NAMESPACE, fed.common["flower_federation"], identity, past))


def archive_names_the_faults(fed, hosts, folder, faults):
    """The support archive begins with what is wrong, and has no secret of the federation."""
    secret = "correct-horse-battery-staple"
    fed.python("site-a", min(fed.pods("site-a")), "supernode", SAYS, f"Authorization: Bearer {secret}")
    given = {**hosts, "site-a": {**hosts["site-a"], "supernode_env": [{"name": "DB_PASSWORD", "value": secret}]}}
    fed.play("support", "-e", f"flower_support_file={folder}", hosts=given)
    (path,) = folder.glob("flower-support-scenario-*.tar.gz")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with tarfile.open(path) as archive:
        archive.extractall(folder / "support", filter="data")
    files = {str(one.relative_to(folder / "support")).partition("/")[2]: one.read_text() for one in (folder / "support").rglob("*") if one.is_file()}
    head = files["CONTENTS.txt"].partition("Files:")[0]
    assert [words for words in faults if words not in " ".join(head.split())] == [], head
    assert "site-c: " in files["CONTENTS.txt"].partition("Not in the archive:")[2]
    assert {f"{host}/{name}" for host in ("hub", "site-a", "site-b") for name in ("objects.json", "events.json", "logs.txt")} <= set(files)
    assert IMAGE in files["site-b/events.json"] and '"kind": "Secret"' in files["site-a/objects.json"] and "jane@laptop" in files["status.json"]
    assert len(fed.secrets) > 20 and fed.shown(folder / "support") == {}
    assert [name for name, text in files.items() if "PRIVATE KEY-----" in text or secret in text] == []
    assert "exists, and is not replaced" in fed.play("support", "-e", f"flower_support_file={path}", hosts=given, rc=2).messages(failed=True)


def test_what_is_broken_comes_first_with_its_remedy(fed, dead, tmp_path):
    run, finish = fed.begin(**{"num-server-rounds": 4})
    assert finish().rc == 0
    of_run = log_lines(fed.play("logs", "-e", f"flower_run_id={run}"))
    places = {" ".join(line.split()[1:3]) for line in of_run}
    # Flower sends what a ServerApp prints to the SuperLink.
    assert any(place.startswith("hub superlink-0/") for place in places) and any(place.startswith("site-a supernode-cpu-") for place in places), places
    failed = fed.play("run", "-e", json.dumps({"flower_app": str(APP), "flower_run_config": {"fail": True}}), rc=2)
    assert "told to fail" in failed.messages()
    fed.settled = False
    node = a_foreign_node(fed)
    a_broken_image(fed, "site-b", "supernode-gpu")
    fed.play("site_access", "-e", "flower_site=site-a flower_access=denied flower_reason='an audit'")
    a_certificate_near_its_end(fed, "site-b")
    a_lease_that_was_not_returned(fed)

    page, data = tmp_path / "fleet.html", tmp_path / "fleet.json"
    hosts = {**fed.base(), "site-c": {"flower_kubeconfig": dead, "flower_context": "site-a", "flower_region": "eu"}}
    fed.play("status", "-e", f"flower_status_page={page}", "-e", f"flower_status_file={data}", hosts=hosts)
    report = json.loads(data.read_text())
    broken = {
        "site-c: the API server https://127.0.0.1:1": ("site-c", "flower_forget_sites=site-c"),
        IMAGE: ("site-b", "credentials of its registry"),
        "site-a has been denied since": ("site-a", "flower_access=admitted"),
        f"node {node} is registered": ("", "flwr supernode unregister"),
        "its client certificate ends": ("site-b", "--limit site-b renews it"),
        "told to fail": ("", "flower_runs=logs"),
        "jane@laptop": ("hub", "The lease is free"),
    }
    found = report["findings"]
    levels = [one["level"] for one in found]
    assert levels == sorted(levels) and levels.count("problem") >= 4, found
    archive_names_the_faults(fed, hosts, tmp_path, [*broken])
    for words, (cluster, remedy) in broken.items():
        (one,) = [one for one in found if words in one["text"]]
        assert (one["cluster"], remedy in one["remedy"]) == (cluster, True), one
    script = """return {
        first: document.querySelector('main section').getAttribute('aria-labelledby'),
        listed: [...document.querySelectorAll('.problems li')].map(one => one.innerText),
        curves: [...document.querySelectorAll('figure')].map(one => one.textContent),
        state: document.querySelector('.badge').innerText,
        wide: document.documentElement.scrollWidth,
    }"""
    for width in (browser.PHONE, browser.DESK):
        shown = browser.evaluate(page, script, width)
        assert shown["first"] == "problems" and shown["wide"] == width
        assert len(shown["listed"]) == len(found) >= len(broken) and shown["state"] == "Degraded"
        for text, one in zip(shown["listed"], found):
            assert one["remedy"].replace("`", "") in " ".join(text.split()) and " ".join(one["text"].split()) in " ".join(text.split()), text
        assert any("accuracy" in text and "in round 4" in text for text in shown["curves"]), shown["curves"]
        picture = browser.screenshot(page, tmp_path / f"fleet-{width}.png", width, 1400)
        assert struct.unpack(">II", picture[16:24]) == (width, 1400)


def test_the_remedies_help(federation, tmp_path):
    """Those that the page names: unregister, admit, site.yml; the page then has no problem but the run that failed."""
    fed = federation
    report = fed.play("status", "-e", "flower_status_format=json").report
    fed.play("site_access", "-e", "flower_site=site-a flower_access=admitted")
    assert all(answer.ok for answer in FlowerCLI(fed.hub, NAMESPACE).unregister(report["unknown_nodes"]))
    fed.site()
    fed.wait_online(*(node for site in ("site-a", "site-b") for node in fed.keys(site).values()))
    page = tmp_path / "fleet.html"
    report = fed.play("status", "-e", "flower_status_format=json", "-e", f"flower_status_page={page}").report
    assert report["healthy"], report["problems"]
    assert [one["remedy"].partition(":")[0] for one in report["findings"]] == ["Check its log"], report["findings"]
    assert "no problems, 1 warning, 3 SuperNodes of 2 sites are online" in page.read_text()
