# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Access: client certificates, revoked certificates, and denied sites."""

from __future__ import annotations

import base64
import datetime
import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.flower import in_pod
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI
from ansible_collections.federated.flower.plugins.plugin_utils.kube import stuck_pods
from ansible_collections.federated.flower.plugins.plugin_utils.manifests.gateway import DENIED
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates, keypairs
from ansible_collections.federated.flower.tests.integration.scenarios import supernodes
from ansible_collections.federated.flower.tests.integration.scenarios.lane import CA_NAMESPACE, NAMESPACE
from ansible_collections.federated.flower.tests.unit.client_certificates import issue_client

DAY = datetime.timedelta(days=1)
SHAKE = {}  # a call without a path only shakes hands
PROBE = {"path": "/probe", "method": "GET"}


def issued(ca, name="site-a", federation="scenario", start=None):
    """A client certificate made by this test, and its key."""
    made = issue_client(ca, name, federation, DAY, start)
    return {"certificate": made.certificate, "key": made.key}


@pytest.fixture
def client_ca(fed):
    """The CA of the client certificates."""
    data = fed.hub.get("v1", "Secret", "flower-client-ca", CA_NAMESPACE)["data"]
    return certificates.Issued(*(base64.b64decode(data[key]).decode() for key in ("tls.crt", "tls.key")))


def serial(pem):
    return certificates.describe(pem)["serial"]


def served(fed):
    """Serial of the gateway's certificate."""
    secret = fed.hub.get("v1", "Secret", "superlink-gateway-tls", fed.namespace)
    return serial(base64.b64decode(secret["data"]["tls.crt"]).decode())


def revoked(fed):
    """Serials in the gateway's list of revoked certificates."""
    data = fed.hub.get("v1", "ConfigMap", "superlink-clients", fed.namespace)["data"]
    return set(certificates.crl_entries(data["crl.pem"], data["ca.crt"]))


def gateway_log(fed):
    """Lines of the gateway about the port for sites."""
    lines = [line for line in fed.log("hub", "superlink-0", "gateway").splitlines() if line.startswith('{"t"')]
    return [line for line in map(json.loads, lines) if line["door"] == "fleet"]


def test_only_certificates_of_this_federation_open_the_door(fed, client_ca):
    good = issued(client_ca)
    stranger = issued(certificates.make_ca("scenario client CA", DAY))
    late = issued(client_ca, start=datetime.datetime.now(datetime.timezone.utc) - 3 * DAY)
    alerts = {
        name: fed.call([SHAKE], identity)[0]["alert"]
        for name, identity in (("none", None), ("stranger", stranger), ("late", late), ("good", good))
    }
    assert alerts == {
        "none": "SSLV3_ALERT_HANDSHAKE_FAILURE",
        "stranger": "TLSV1_ALERT_UNKNOWN_CA",
        "late": "SSLV3_ALERT_CERTIFICATE_EXPIRED",
        "good": None,
    }
    shaken, probe = fed.call([SHAKE, PROBE], good)
    assert shaken["resumed"] is False, "a resumed session would slip past the list of revoked certificates"
    assert fed.probed(probe["text"].split()) == {"serial": served(fed), "cn": "site-a"}
    # By the same CA, as another federation of this hub would have it.
    assert fed.call([PROBE], issued(client_ca, federation="other"))[0]["code"] == 503
    told = {(line["claims"], line["verify"]) for line in gateway_log(fed) if "claims" in line}
    assert {("-", 0), ("site-a", 10), ("site-a", 20)} <= told, told


def test_a_stolen_supernode_key_is_useless_without_the_certificate_of_its_site(fed):
    (key,) = fed.cluster("site-b").get("v1", "Secret", "supernode-gpu-keys", fed.namespace)["data"].values()
    (node,) = fed.keys("site-b").values()
    heartbeat = {
        "path": "/v1/fleet/send-node-heartbeat",
        "signed": {"key": base64.b64decode(key).decode(), "node": node},
    }
    assert fed.call([heartbeat], fed.identity("site-b"))[0]["code"] == 200, (
        "the call itself is wrong: this shows nothing"
    )
    (answer,) = fed.call([heartbeat])
    assert answer["code"] is None and "ssl" in answer["text"].lower(), answer
    assert fed.call([SHAKE])[0]["alert"] == "SSLV3_ALERT_HANDSHAKE_FAILURE"
    assert fed.call([heartbeat], fed.identity("site-a"))[0]["code"] == 503
    assert {"cn": "site-a", "s": 503}.items() <= gateway_log(fed)[-1].items(), "the thief is not named"


def test_the_sidecar_proves_which_certificate_it_takes(fed):
    assert fed.probe("site-a") == (200, {"serial": served(fed), "cn": "site-a"})
    assert fed.probe("site-b")[1]["cn"] == "site-b"
    pod = min(fed.pods("site-a"))
    address = fed.pods("site-a")[pod]["status"]["podIP"]
    assert fed.probe("site-a", f"http://{address}:8404/probe/now") == (503, {})


def test_only_registered_keys_get_an_id(fed):
    """Real SuperNodes, with the site's certificate and a key that is none of the site's own."""
    before = fed.lives("hub", name="superlink"), fed.lives("site-a"), fed.nodes()
    cli = FlowerCLI(fed.hub, fed.namespace)
    known = keypairs.make_supernode_key()
    (registered,) = cli.register([keypairs.supernode_public_key(known)])
    node = str(registered.data["node-id"])

    def start(**keys):
        pod = min(fed.pods("site-a"))
        output = in_pod.run(
            fed.cluster("site-a"), fed.namespace, pod, "supernode", supernodes, {"keys": keys}, seconds=90
        )
        assert output.rc == 0, output.stderr
        return json.loads(output.answers[0])

    told = start(registered=known, foreign=keypairs.make_supernode_key(), none=None)
    assert f"SuperNode ID: {node}" in told["registered"], f"this shows nothing: {told['registered']}"
    (gone,) = cli.unregister([node])
    assert gone.ok, gone.message
    told.update(start(revoked=known))
    for name in ("foreign", "none", "revoked"):
        assert "SuperNode ID" not in told[name], f"{name}: {told[name]}"
    assert "Failed to initialize the connection to the SuperLink" in told["none"], told["none"]
    # Who registers himself does not get past the gateway.
    assert {("/v1/fleet/register-node", 503)} <= {(line.get("u"), line.get("s")) for line in gateway_log(fed)}
    after = fed.nodes()
    assert after.pop(node) == "unregistered"
    assert (fed.lives("hub", name="superlink"), fed.lives("site-a"), after) == before, "someone else took notice"


def test_a_certificate_that_has_ended_and_a_lost_key(fed, client_ca):
    old, lives, keys = fed.identity("site-b"), fed.lives("site-b"), fed.keys("site-b")
    hub = fed.lives("hub", name="superlink")
    site = fed.cluster("site-b")

    # The site's own SuperNodes, with a certificate that has ended.
    now = datetime.datetime.now(datetime.timezone.utc)
    request = certificates.client_request(old["key"], "site-b")
    ended = certificates.sign_client_request(client_ca, request, "site-b", "scenario", DAY, now - 3 * DAY)
    config = site.get("v1", "ConfigMap", "supernode-client", fed.namespace)
    fed.settled = False
    site.replace({**config, "data": {"tls.crt": ended}})
    stuck_pods.touch_pods(site, fed.namespace, "app.kubernetes.io/name=supernode")
    fed.wait("the certificate that has ended", lambda: fed.probe("site-b")[0] != 200, 20)
    assert fed.probe("site-b")[0] in (502, 503), "a SuperNode would not try again"
    told = fed.wait(
        "a refusal", lambda: {line["verify"] for line in gateway_log(fed) if line.get("claims") == "site-b"}, 20
    )
    assert 10 in told, told
    assert fed.probe("site-a")[0] == 200
    fed.wait_online(*fed.keys("site-a").values())

    # A new key and certificate resolve it; the old certificate is revoked.
    site.delete("v1", "Secret", "supernode-client-key", fed.namespace)
    before = len(fed.trail())
    fed.site(None, "--limit", "site-b")
    new = fed.identity("site-b")
    assert serial(new["certificate"]) != serial(old["certificate"]) and revoked(fed) >= {serial(old["certificate"])}
    entry = fed.recorded(before)
    assert [one["serial"] for one in fed.noted(entry, "site-b", "certificates", "issued")] == [
        serial(new["certificate"])
    ]
    assert [one["serial"] for one in fed.noted(entry, "site-b", "certificates", "revoked")] == [
        serial(old["certificate"])
    ]
    fed.wait("the list of revoked certificates", lambda: fed.call([SHAKE], old)[0]["alert"], 20)
    assert fed.call([SHAKE], old)[0]["alert"] == "SSLV3_ALERT_CERTIFICATE_REVOKED"
    assert fed.call([PROBE], new)[0]["code"] == 200
    assert ("site-b", 23) in {(line["claims"], line["verify"]) for line in gateway_log(fed) if "claims" in line}
    fed.wait("the sidecar's new certificate", lambda: fed.probe("site-b")[0] == 200, 20)
    fed.wait_online(*keys.values())
    assert fed.lives("site-b") == lives and fed.keys("site-b") == keys and fed.lives("hub", name="superlink") == hub
    fed.settled = True
    fed.unchanged()


@pytest.fixture
def access(fed):
    """Change the access of site-b; after every test the site is admitted."""

    def change(state, *arguments, rc=0):
        settled = fed.settled
        run = fed.play("site_access", "-e", f"flower_site=site-b flower_access={state}", *arguments, rc=rc)
        fed.settled = settled
        return run

    yield change
    change("admitted")


def refused(fed):
    """Whether site-b gets 503, asked with its own certificate over a new connection."""
    return fed.call([PROBE], fed.identity("site-b"))[0]["code"] == 503


def busy(fed, run):
    """Whether site-b works for a run."""
    return f"[RUN {run}" in fed.log("site-b", min(fed.pods("site-b")), "supernode")


def test_a_site_is_denied_in_the_middle_of_a_run(fed, access):
    lives = fed.lives("site-a"), fed.lives("site-b"), fed.lives("hub", name="serverapp")
    keys, known = fed.keys("site-b"), set(fed.nodes())
    (node,) = keys.values()
    foreseen = access("denied", "--check")
    assert foreseen.changed == {"hub": 1} and "+site-b" in foreseen.output.replace(" ", "")
    assert not refused(fed) and "access" not in fed.ledger().read_records()["site-b"]

    run, finish = fed.begin(**{"num-server-rounds": 2, "min-nodes": 2, "sleep": 4.0})
    fed.wait("work for site-b", lambda: busy(fed, run), 60)
    # Meanwhile someone calls twenty times a second with the site's certificate, over one connection.
    former = len(gateway_log(fed))  # tests before this one called with the same certificate
    with ThreadPoolExecutor(1) as pool:
        watched = pool.submit(fed.call, [{"path": "/probe", "until": 40}], fed.identity("site-b"))
        time.sleep(2)
        changed = access("denied", "-e", json.dumps({"flower_reason": "a scenario"})).changed
        (seen,) = watched.result()
    assert fed.app_runs()[run] == "running", "the run was over: this shows nothing"
    assert changed == {"hub": 1}
    denied = fed.ledger().read_records()["site-b"]["access"]
    assert denied["state"] == "denied" and denied["reason"] == "a scenario"
    since = datetime.datetime.fromisoformat(denied["since"]).timestamp()
    assert seen["code"] == 503 and seen["good"] > 10
    assert seen["at"] - since < 2 + 1, "the date is in whole seconds"
    assert ("site-b", "/probe", 503) in {(line.get("cn"), line.get("u"), line.get("s")) for line in gateway_log(fed)}
    entry = fed.trail()[-1]
    assert entry["sites"]["site-b"] == {"access": [{"change": "denied", "reason": "a scenario"}]}
    assert fed.noted(entry, "hub", "objects", "changed")[0]["object"] == f"ConfigMap {NAMESPACE}/superlink-clients"

    # The file comes, and the gateway loads it: still nothing for site-b, everything for site-a.
    def listed():
        return b"site-b" in fed.hub.exec(fed.namespace, "superlink-0", "gateway", ["cat", DENIED]).stdout

    fed.wait("the file", listed, 20)
    fed.wait("a reload", lambda: "files changed, reloaded" in fed.log("hub", "superlink-0", "gateway"), 20)
    assert refused(fed) and fed.probe("site-a")[0] == 200

    # A run of site.yml neither fails nor waits for it, and reports it.
    told = fed.site()
    assert set(told.changed.values()) == {0}
    assert "site-b has been denied since" in told.warnings() and "a scenario" in told.warnings()
    assert "Denied: site-b." in told.messages()

    fed.wait("site-b to be offline", lambda: fed.nodes()[node] == "offline", since + 60 + 5 - time.time(), pause=3)
    own = {line["u"] for line in gateway_log(fed)[former:] if line.get("cn") == "site-b" and line.get("s") == 503} - {
        "/probe"
    }
    assert own and all(path.startswith("/v1/fleet/") for path in own), f"its SuperNode was not refused: {own}"
    result = finish()
    assert result.rc == 0, result.details()
    last = next(line for line in result.table if line.startswith("round 2: "))
    assert "(2 nodes, " in last and "site-b" not in last, last
    assert (fed.lives("site-a"), fed.lives("site-b"), fed.lives("hub", name="serverapp")) == lives

    # Another hub pod.
    ((uid, _restarts),) = fed.lives("hub", name="superlink").values()
    fed.hub.delete("v1", "Pod", "superlink-0", fed.namespace, propagation="Background")
    fed.wait(
        "another pod",
        lambda: [life for life, _restarts in fed.lives("hub", name="superlink").values()] not in ([], [uid]),
    )
    FlowerCLI(fed.hub, fed.namespace).wait_for_superlink(120)
    fed.wait("the gateway", lambda: fed.call([PROBE], fed.identity("site-a"))[0]["code"] == 200, 60)
    assert refused(fed)
    rows = {line.split()[0]: line for line in fed.play("status").table if line}
    assert rows["site-b"].endswith("denied") and "site-a" in rows
    assert access("denied").changed == {"hub": 0}

    assert access("admitted").changed == {"hub": 1}
    admitted = time.monotonic()
    # Flower's SuperNode waits for up to 20 s between two tries; the first one after the admission must succeed.
    fed.wait_online(node, seconds=20 + 8)
    print(f"online {time.monotonic() - admitted:.1f} s after site-b was admitted")
    assert not refused(fed)
    fed.wait_online(*fed.keys("site-a").values())
    assert (fed.lives("site-a"), fed.lives("site-b"), fed.lives("hub", name="serverapp")) == lives
    assert fed.keys("site-b") == keys and set(fed.nodes()) == known
    assert access("admitted").changed == {"hub": 0}


def test_a_site_that_nobody_knows(fed):
    run = fed.play("site_access", "-e", "flower_site=site-x flower_access=denied", rc=2)
    fed.settled = True
    words = run.messages("hub", failed=True)
    for word in ("hub: site: ", "'site-x'", "site-a, site-b"):
        assert word in words, words
