# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page on the fleet: what was broken on purpose comes first, each with the remedy that helps, on a phone and on a desk."""

from __future__ import annotations

import base64
import datetime
import json
import struct

from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates, keypairs
from ansible_collections.federated.flower.plugins.plugin_utils.state import lease_object
from ansible_collections.federated.flower.tests.integration.scenarios.conftest import APP
from ansible_collections.federated.flower.tests.integration.scenarios.lane import CA_NAMESPACE, NAMESPACE
from ansible_collections.federated.flower.tests.page import browser
from ansible_collections.federated.flower.tests.unit.client_certificates import issue_client

DAY = datetime.timedelta(days=1)
IMAGE = "127.0.0.1:1/not-there:1"


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


def test_what_is_broken_comes_first_with_its_remedy(fed, dead, tmp_path):
    _run, finish = fed.begin(**{"num-server-rounds": 4})
    assert finish().rc == 0
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
        "site-a is denied since": ("site-a", "flower_access=admitted"),
        f"node {node} is registered": ("", "flwr supernode unregister"),
        "its client certificate ends": ("site-b", "--limit site-b renews it"),
        "told to fail": ("", "flower_runs=logs"),
        "jane@laptop": ("hub", "The lease is free"),
    }
    found = report["findings"]
    levels = [one["level"] for one in found]
    assert levels == sorted(levels) and levels.count("problem") >= 4, found
    for words, (cluster, remedy) in broken.items():
        (one,) = [one for one in found if words in one["text"]]
        assert (one["cluster"], remedy in one["remedy"]) == (cluster, True), one
    script = """return {
        first: document.querySelector('main section').getAttribute('aria-labelledby'),
        listed: [...document.querySelectorAll('.problems li')].map(one => one.innerText),
        curves: [...document.querySelectorAll('figcaption')].map(one => one.innerText),
        wide: document.documentElement.scrollWidth,
    }"""
    for width in (browser.PHONE, browser.DESK):
        shown = browser.evaluate(page, script, width)
        assert shown["first"] == "problems" and shown["wide"] == width
        assert len(shown["listed"]) == len(found) >= len(broken)
        for text, one in zip(shown["listed"], found):
            assert one["remedy"] in " ".join(text.split()) and " ".join(one["text"].split()) in " ".join(text.split()), text
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
    assert [one["remedy"].partition(":")[0] for one in report["findings"]] == ["Its log says why"], report["findings"]
    assert "no problems, 1 warning, 3 SuperNodes of 2 sites are online" in page.read_text()
