# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""The stand-in on the fleet: the contract of README.md, point by point, against real API servers, kubelets, garbage
collectors and load balancers. ``§`` names its paragraph.

One network serves all tests: ``hub`` (load balancer, a web server behind a Connector), ``a`` (site-a, linked directly)
and ``b`` (site-b, linked by token). What must fail is set up beside it at the start, so that nobody waits twice.
"""

from __future__ import annotations

import base64
import datetime
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from skupper_standin import kube, pki
from skupper_standin.kube import ApiError, Client, Object
from turn import turn

HERE = Path(__file__).resolve().parent
FLEET = HERE.parent / "fleet"
API = "skupper.io/v2alpha1"
BARE = "standin-bare"  # on the hub, a Site without link access
IMAGE = "docker.io/flwr/superexec:1.42.0"
PROFILE = "internal.skupper.io/tls-profile-context"
RESYNC = 5.0  # seconds, so that nobody waits for long; Skupper's are 30
LISTENER = {"routingKey": "fleet", "host": "flower-superlink", "port": 9092}
T = TypeVar("T")

pytestmark = [
    pytest.mark.fleet,
    pytest.mark.skipif(
        os.geteuid() != 0 or bool(os.environ.get("FLOWER_FLEET_KUBECONFIG")), reason="needs root and the local fleet"
    ),
]

# answers "hello"; /stream goes on for ever
SERVER = """
import http.server, time
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"hello\\n")
        while self.path == "/stream":
            time.sleep(0.2); self.wfile.write(b"tick\\n"); self.wfile.flush()
http.server.ThreadingHTTPServer(("", 9092), Handler).serve_forever()
"""
CLIENT = """
import sys, urllib.request
for line in urllib.request.urlopen(sys.argv[1]): print(line.decode().strip(), flush=True)
"""


def fleet(*words: str) -> str:
    """Run a command of the fleet."""
    run = subprocess.run([sys.executable, str(FLEET), *words], text=True, capture_output=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def until(step: Callable[[], T | None], seconds: float = 300.0, what: str = "") -> T:
    """Repeat until it returns something true."""
    end = time.monotonic() + seconds
    while True:
        found = step()
        if found:
            return found
        assert time.monotonic() < end, f"not within {seconds:.0f} s: {what or step}"
        time.sleep(0.1)


class Place:
    """A namespace of one cluster."""

    def __init__(self, client: Client, name: str) -> None:
        self.client, self.name = client, name

    def make(self, kind: str, name: str, spec: Object | None = None, **more: Any) -> Object:
        """Create an object."""
        metadata = {"name": name, "namespace": self.name, **more.pop("metadata", {})}
        body = {"apiVersion": kube.KINDS[kind][0], "kind": kind, "metadata": metadata, **more}
        return self.client.create(body if spec is None else {**body, "spec": spec})

    def get(self, kind: str, name: str) -> Object:
        """Read an object that must be there."""
        found = self.client.get(kind, self.name, name)
        assert found is not None, f"no {kind} {name}"
        return found

    def there(self, kind: str, name: str) -> Object | None:
        """Read an object."""
        return self.client.get(kind, self.name, name)

    def patch(self, kind: str, name: str, body: Object) -> Object:
        """Merge patch."""
        path = kube.path_of(kind, self.name, name)
        return self.client.request("PATCH", path, body, "application/merge-patch+json")

    def delete(self, kind: str, name: str) -> None:
        """Delete an object."""
        self.client.delete(kind, self.name, name)

    def condition(self, kind: str, name: str, condition: str = "Ready") -> Object:
        """A condition; empty if there is none."""
        found = self.there(kind, name) or {}
        conditions = found.get("status", {}).get("conditions", [])
        return next((one for one in conditions if one["type"] == condition), {})

    def true(self, kind: str, name: str, condition: str = "Ready", seconds: float = 300.0) -> Object:
        """Wait for a condition; returns the object."""
        until(
            lambda: self.condition(kind, name, condition).get("status") == "True",
            seconds,
            f"{condition} of {kind} {name} in {self.client.host}/{self.name}",
        )
        return self.get(kind, name)

    def says(self, kind: str, name: str, text: str, seconds: float = 20.0) -> Object:
        """Wait until the message of an object contains a text; returns its status."""

        def said() -> Object | None:
            status = (self.there(kind, name) or {}).get("status", {})
            return status if text in status.get("message", "") else None

        return until(said, seconds, f"{text!r} of {kind} {name}")

    def router(self) -> Object:
        """What the router tells of itself."""
        found = self.there("ConfigMap", "skupper-router-state")
        return json.loads(found["data"]["state.json"]) if found else {"connections": [], "links": [], "listeners": []}

    def serials(self, kind: str) -> set[tuple[str, str]]:
        """Serials (own, other's) on the live connections."""
        return {(one["localSerial"], one["peerSerial"]) for one in self.router()["connections"] if one["kind"] == kind}

    def serial(self, secret: str) -> str:
        """Serial of the certificate in a Secret; empty if there is none."""
        return pki.serial(self.there("Secret", secret) or {})

    def log(self, pod: str) -> str:
        """What a pod has printed; nothing before its container runs."""
        try:
            return str(self.client.request("GET", kube.path_of("Pod", self.name, pod, "log")))
        except ValueError as error:  # a log is no JSON
            return str(getattr(error, "doc", ""))
        except ApiError as error:
            if error.status != 400:
                raise
            return ""


class Net:
    """The network of the tests."""

    def __init__(self, clients: dict[str, Client]) -> None:
        self.hub, self.a, self.b = (
            Place(clients[cluster], name)
            for cluster, name in (("hub", "standin-hub"), ("site-a", "standin-a"), ("site-b", "standin-b"))
        )
        self.bare = Place(clients["hub"], BARE)
        self.places = (self.hub, self.a, self.b, self.bare)

    def link(self, place: Place, name: str, secret: str, **more: Any) -> None:
        """§2b: a Link to the hub."""
        endpoints = self.hub.get("Site", "hub")["status"]["endpoints"]
        place.make("Link", name, {"tlsCredentials": secret, "endpoints": endpoints}, **more)

    def copy(self, source: str, target: Place, name: str) -> None:
        """§2b: a Secret of the hub, in a site."""
        data = self.hub.get("Secret", source)["data"]
        target.make("Secret", name, type="kubernetes.io/tls", data=data)

    def token(self, place: Place, name: str, grant: Object, **changes: str) -> None:
        """An AccessToken for a grant."""
        status = grant["status"]
        place.make("AccessToken", name, {"url": status["url"], "code": status["code"], "ca": status["ca"], **changes})


def pod(place: Place, name: str, script: str, *words: str, probe: Object | None = None) -> None:
    """A pod that runs a Python script."""
    container = {
        "name": "c",
        "image": IMAGE,
        "command": ["python", "-I", "-u", "-c", script, *words],
        **({"readinessProbe": probe} if probe else {}),
    }
    spec = {"containers": [container], "terminationGracePeriodSeconds": 0, "automountServiceAccountToken": False}
    place.make("Pod", name, spec, metadata={"labels": {"app": name}})


@pytest.fixture(scope="module")
def net() -> Iterator[Net]:
    """The network, with everything under way."""
    for found in network(before):
        found.bare.make("Site", "bare", {})
        found.b.make("Site", "b", {})
        found.b.make("Listener", "fleet", LISTENER)
        found.hub.make("AccessGrant", "b", {"expirationWindow": "30m"})
        found.token(found.b, "hub-link", found.hub.true("AccessGrant", "b"))
        yield found


def network(first: Callable[[Net], None] = lambda _net: None) -> Iterator[Net]:
    """The hub with something behind its Connector, and site-a linked to it directly; removed in the end."""
    fleet("up")
    kubeconfig = fleet("kubeconfig").strip()
    with turn(kubeconfig):
        ours = "it runs already" not in fleet("addon", "skupper", "up", "--resync", f"{RESYNC:.0f}")
        config = kube.load(Path(kubeconfig))
        found = Net({name: Client(config, name) for name in ("hub", "site-a", "site-b")})
        gone(found)
        for place in found.places:
            place.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": place.name}})
        for place in found.places:
            until(lambda place=place: place.there("ServiceAccount", "default"))
        first(found)
        found.hub.make("Site", "hub", {"linkAccess": "default"})
        found.a.make("Site", "a", {})
        found.a.make("Listener", "fleet", LISTENER)
        pod(found.hub, "server", SERVER)
        found.hub.make("Connector", "fleet", {"routingKey": "fleet", "port": 9092, "selector": "app=server"})
        found.hub.make("Certificate", "link-a", {"ca": "skupper-site-ca", "client": True, "subject": "a"})
        found.hub.true("Site", "hub", "Resolved")
        found.hub.true("Certificate", "link-a")
        found.copy("link-a", found.a, "link-hub")
        found.link(found.a, "link-hub", "link-hub")
        yield found
        going(found)
        if ours:
            fleet("addon", "skupper", "down")
        gone(found)
        if ours:
            for place in found.places:
                named = [one["metadata"]["name"] for one in place.client.list("CustomResourceDefinition")[0]]
                assert not [name for name in named if name.endswith(".skupper.io")]
                assert place.client.get("Namespace", None, "skupper") is None


def before(net: Net) -> None:
    """§1: objects of a namespace without a Site say so, and recover when it comes."""
    spec = {"routingKey": "early", "host": "early", "port": 80}
    net.a.make("Listener", "early", spec)
    net.a.make("Connector", "early", {"routingKey": "early", "host": "nowhere", "port": 80})
    for kind in ("Listener", "Connector"):
        net.a.says(kind, "early", "No active site in namespace")


def going(net: Net) -> None:
    """Start to remove the namespaces."""
    for place in net.places:
        place.client.delete("Namespace", None, place.name)


def gone(net: Net) -> None:
    """Remove the namespaces."""
    going(net)
    for place in net.places:
        until(lambda place=place: place.client.get("Namespace", None, place.name) is None, 60, "removal")


def kinds(item: Object) -> set[str]:
    """Types of an object's conditions."""
    return {one["type"] for one in item["status"]["conditions"]}


def test_everything_becomes_ready_with_the_conditions_of_its_kind(net: Net) -> None:
    """§1, the whole table."""
    link = net.a.true("Link", "link-hub")
    other = net.b.true("Link", "hub-link")
    hub = net.hub.true("Site", "hub")
    assert kinds(hub) == {"Configured", "Running", "Resolved", "Ready"}
    assert kinds(net.a.true("Site", "a")) == {"Configured", "Running", "Ready"}
    assert hub["status"]["status"] == "Ready" and hub["status"]["message"] == "OK"
    assert hub["status"]["controller"] == {"name": "skupper-controller", "namespace": "skupper", "version": "2.2.1"}
    assert hub["status"]["defaultIssuer"] == "skupper-site-ca"
    for one in (link, other):
        assert kinds(one) == {"Configured", "Operational", "Ready"}
        assert one["status"]["remoteSiteId"] == hub["metadata"]["uid"]
        assert one["status"]["remoteSiteName"] == "hub"
    assert kinds(net.a.true("Listener", "fleet")) == {"Configured", "Matched", "Ready"}
    connector = net.hub.true("Connector", "fleet")
    assert kinds(connector) == {"Configured", "Matched", "Ready"}
    assert [one["name"] for one in connector["status"]["selectedPods"]] == ["server"]
    assert (
        connector["status"]["hasMatchingListener"] and net.a.get("Listener", "fleet")["status"]["hasMatchingConnector"]
    )
    for kind in ("RouterAccess", "SecuredAccess"):
        assert kinds(net.hub.true(kind, "skupper-router")) == {"Configured", "Resolved", "Ready"}
    grant = net.hub.true("AccessGrant", "b")
    assert kinds(grant) == {"Processed", "Resolved", "Ready"}
    assert grant["spec"]["redemptionsAllowed"] == 1 and len(grant["status"]["code"]) == 24
    assert grant["status"]["url"].endswith(f"/{grant['metadata']['uid']}") and grant["status"]["redemptions"] == 1
    token = net.b.get("AccessToken", "hub-link")
    assert kinds(token) == {"Redeemed"} and token["status"]["redeemed"] and token["status"]["status"] == "Ready"
    certificate = net.hub.get("Certificate", "link-a")
    assert kinds(certificate) == {"Ready"} and set(certificate["status"]) == {"conditions"}
    for one in hub["status"]["conditions"]:
        assert one["reason"] == "Ready" and one["observedGeneration"] == hub["metadata"]["generation"]


def test_the_hub_sees_its_network(net: Net) -> None:
    """§1: Site.status.network; §7: the ConfigMap that it comes from."""
    status = until(lambda: (s := net.hub.get("Site", "hub")["status"]).get("sitesInNetwork") == 3 and s)
    by_name = {record["name"]: record for record in status["network"]}
    assert set(by_name) == {"hub", "a", "b"}
    uid = net.hub.get("Site", "hub")["metadata"]["uid"]
    link = {"name": "link-hub", "remoteSiteId": uid, "remoteSiteName": "hub", "operational": True}
    assert by_name["a"]["links"] == [link]
    services = {one["routingKey"]: one for one in by_name["hub"]["services"]}
    address = net.hub.get("Pod", "server")["status"]["podIP"]
    assert services["fleet"]["connectors"] == [address]
    config_map = net.hub.get("ConfigMap", "skupper-network-status")["data"]["NetworkStatus"]
    assert len(json.loads(config_map)["siteStatus"]) == 3


def test_objects_of_a_site_have_their_names_and_labels(net: Net) -> None:
    """§3, §4: names of Deployment, Services, Secrets; owners; pod labels; the listener's Service."""
    for kind, name in (
        ("Deployment", "skupper-router"),
        ("ConfigMap", "skupper-router"),
        ("ServiceAccount", "skupper-router"),
        ("Service", "skupper-router-local"),
        ("Secret", "skupper-site-ca"),
        ("Secret", "skupper-site-server"),
        ("Secret", "skupper-local-server"),
    ):
        assert net.hub.get(kind, name)["metadata"]["ownerReferences"]
    labels = net.hub.get("Deployment", "skupper-router")["spec"]["template"]["metadata"]["labels"]
    wanted = {
        "skupper.io/component": "router",
        "skupper.io/type": "site",
        "application": "skupper-router",
        "skupper.io/group": "skupper-router",
    }
    assert wanted.items() <= labels.items()
    service = net.a.get("Service", "flower-superlink")
    assert service["spec"]["type"] == "ClusterIP" and service["spec"]["selector"]["application"] == "skupper-router"
    (port,) = service["spec"]["ports"]
    assert port["port"] == 9092 and 1024 <= port["targetPort"] < 1100
    assert "internal.skupper.io/listener" in service["metadata"]["labels"]
    hosts = pki.hosts_of(pki.certificate(net.hub.get("Secret", "skupper-site-server")))
    address = net.hub.get("Service", "skupper-router")["status"]["loadBalancer"]["ingress"][0]["ip"]
    assert {address, "skupper-router", f"skupper-router.{net.hub.name}"} <= hosts
    leaf = pki.certificate(net.hub.get("Secret", "link-a"))
    assert pki.common_name(leaf) == "a" and (leaf.not_valid_after_utc - leaf.not_valid_before_utc).days == 1825
    token = net.b.get("Secret", "hub-link")
    assert pki.common_name(pki.certificate(token)) == net.b.get("Site", "b")["metadata"]["uid"]
    for kind in ("Link", "Secret"):
        assert net.b.get(kind, "hub-link")["metadata"]["ownerReferences"][0]["kind"] == "Site"
    assert PROFILE in net.a.get("Secret", "link-hub")["metadata"]["annotations"]


def test_what_goes_wrong_is_said_and_nothing_else_happens(net: Net) -> None:
    """§2a traps 1 to 5, §1 and §4: all at once, each by itself."""
    hub, b = net.hub, net.b
    hub.make("Site", "second", {})
    for name, spec in (
        ("spent", {}),
        ("coded", {"redemptionsAllowed": 3, "code": "mine"}),
        ("short", {"expirationWindow": "1s"}),
        ("gone", {}),
        ("taken", {"redemptionsAllowed": 9}),
        ("odd", {"redemptionsAllowed": 1, "expirationWindow": "30m", "issuer": "ignored"}),
    ):
        hub.make("AccessGrant", name, spec)
    net.bare.make("AccessGrant", "bare", {"redemptionsAllowed": 5})
    grants = {name: hub.true("AccessGrant", name) for name in ("spent", "coded", "short", "gone", "taken")}
    net.token(b, "first", grants["spent"])
    net.token(b, "wrong", grants["coded"], code="guess")
    net.token(b, "no-address", net.bare.true("AccessGrant", "bare"))
    b.make("Secret", "taken", type="Opaque", data={"mine": base64.b64encode(b"x").decode()})
    net.token(b, "taken", grants["taken"])
    hub.delete("AccessGrant", "gone")
    net.token(b, "gone", grants["gone"])
    b.make("Service", "mine", {"ports": [{"port": 80}]})
    for name, host, port in (
        ("foreign", "mine", 9092),
        ("twice", "flower-superlink", 9092),
        ("invalid", "Not_A_Host", 9092),
        ("too-big", "too-big", 70000),
    ):
        b.make("Listener", name, {"routingKey": "fleet", "host": host, "port": port})
    b.make("Connector", "nobody", {"routingKey": "x", "selector": "app=nobody", "port": 1})

    assert grants["coded"]["status"]["code"] == "mine"
    active = "An active site already exists in the namespace (hub)"
    assert hub.says("Site", "second", active)["conditions"][0]["status"] == "False"
    b.true("AccessToken", "first", "Redeemed")
    net.token(b, "late", grants["spent"])
    assert b.says("AccessToken", "late", "404 (Not Found) No such access granted")["status"] == "Error"
    b.says("AccessToken", "wrong", "403 (Forbidden)")
    b.says("AccessToken", "gone", "404 (Not Found) No such claim")
    time.sleep(max(0.0, 1.1 - (time.time() - created(grants["short"]))))
    net.token(b, "short", grants["short"])
    b.says("AccessToken", "short", "404 (Not Found) No such claim")
    b.says("AccessToken", "no-address", "500 (Internal Server Error) No valid endpoints found for site")
    b.says("AccessToken", "taken", 'could not create received secret: secrets "taken" already exists')
    b.says("Listener", "foreign", "Service mine already exists in namespace")
    b.says("Listener", "twice", "Listener twice with host flower-superlink and port 9092 already exists in namespace")
    b.says("Connector", "nobody", "No matches for selector")
    for name in ("invalid", "too-big"):
        b.true("Listener", name, "Configured")
    assert not b.there("Service", "too-big")
    assert "labels" not in b.get("Service", "mine")["metadata"]
    # trap 1 and 4: every try of the two above was counted
    counted = [net.bare.get("AccessGrant", "bare"), hub.get("AccessGrant", "taken")]
    assert all(one["status"]["redemptions"] >= 1 for one in counted)
    assert hub.get("AccessGrant", "coded")["status"].get("redemptions", 0) == 0
    # a grant stays Ready whatever happened to it
    for name in ("spent", "short"):
        assert hub.condition("AccessGrant", name)["status"] == "True"
    # trap 2: tried again at each resync, for ever
    first = counted[1]["status"]["redemptions"]
    until(lambda: hub.get("AccessGrant", "taken")["status"]["redemptions"] > first, RESYNC + 3)
    for name in ("first", "late", "wrong", "gone", "short", "no-address", "taken"):
        b.delete("AccessToken", name)
    # deleting a token leaves its Link and Secret
    assert b.get("Link", "first") and b.get("Secret", "first")


def created(item: Object) -> float:
    """When an object was made."""
    return datetime.datetime.fromisoformat(item["metadata"]["creationTimestamp"].replace("Z", "+00:00")).timestamp()


def test_bytes_reach_the_hub_through_the_listener(net: Net) -> None:
    """§4: site pod -> listener's Service -> router -> TLS -> hub's router -> the selected pod. Stays for the next."""
    net.a.true("Listener", "fleet")
    url = f"http://{net.a.get('Service', 'flower-superlink')['spec']['clusterIP']}:9092/stream"
    pod(net.a, "client", CLIENT, url)
    until(lambda: "tick" in net.a.log("client"), what="bytes from the hub")
    client, server = net.a.serial("link-hub"), net.hub.serial("skupper-site-server")
    assert net.a.serials("control") == {(client, server)}
    until(lambda: net.a.serials("flow") == {(client, server)})
    until(lambda: (server, client) in net.hub.serials("flow"))


def test_a_new_client_certificate_is_taken_without_a_cut(net: Net) -> None:
    """§3: hub's Secret deleted -> made anew at a resync -> copied in place; streams go on, the Link stays as it is."""
    old, server, link = net.a.serial("link-hub"), net.hub.serial("skupper-site-server"), net.a.get("Link", "link-hub")
    net.hub.delete("Secret", "link-a")
    until(lambda: net.hub.serial("link-a") not in ("", old), RESYNC + 3)
    new = net.hub.serial("link-a")
    net.a.patch("Secret", "link-hub", {"data": net.hub.get("Secret", "link-a")["data"]})
    until(lambda: (new, server) in net.a.serials("control"), what="a connection with the new certificate")
    assert net.a.serials("flow") == {(old, server)} and net.a.condition("Link", "link-hub")["status"] == "True"
    before = net.a.log("client").count("tick")
    until(lambda: net.a.log("client").count("tick") > before + 2, what="the old stream goes on")
    after = net.a.get("Link", "link-hub")
    assert after["metadata"]["uid"] == link["metadata"]["uid"]
    assert net.a.condition("Link", "link-hub") == next(
        one for one in link["status"]["conditions"] if one["type"] == "Ready"
    )
    profile = json.loads(net.a.get("Secret", "link-hub")["metadata"]["annotations"][PROFILE])
    assert profile == [{"profileName": "link-hub", "ordinal": 1}]


def test_a_new_server_certificate_and_no_prior_revisions_cut_the_old(net: Net) -> None:
    """§3: skupper-site-server deleted -> same CA, new serial; 0 prior revisions -> all connections are made anew."""
    old, ca = net.hub.serial("skupper-site-server"), net.hub.serial("skupper-site-ca")
    revision = net.hub.router()["profiles"]["skupper-site-server"]["ordinal"]
    net.hub.delete("Secret", "skupper-site-server")
    until(lambda: net.hub.serial("skupper-site-server") not in ("", old), RESYNC + 3)
    new, client = net.hub.serial("skupper-site-server"), net.a.serial("link-hub")
    assert net.hub.serial("skupper-site-ca") == ca
    until(lambda: net.hub.router()["profiles"]["skupper-site-server"]["ordinal"] == revision + 1)
    assert {own for own, _other in net.hub.serials("control")} == {old}
    net.hub.patch(
        "Secret",
        "skupper-site-server",
        {"metadata": {"annotations": {"skupper.io/tls-prior-valid-revisions": "0"}}},
    )
    until(lambda: net.a.serials("control") == {(client, new)}, what="reconnect")
    until(lambda: {own for own, _other in net.hub.serials("control")} == {new})
    # The client, whose stream ends, is started again by its kubelet.
    until(lambda: old not in {other for _own, other in net.a.serials("flow")}, what="the old stream is cut")
    net.a.true("Link", "link-hub")


def test_a_missing_secret_holds_up_the_whole_router(net: Net) -> None:
    """§2b: Secret before Link; without it nothing new reaches the router, and what runs goes on."""
    net.link(net.a, "second", "not-there")
    net.a.true("Link", "second", "Configured")
    net.a.make("Listener", "after", {"routingKey": "fleet", "host": "after", "port": 80})
    net.a.true("Listener", "after", "Configured")
    until(lambda: 'secret "not-there" not found' in net.a.router().get("trouble", ""))
    names = [one["name"] for one in net.a.router()["listeners"]]
    assert "after" not in names and "fleet" in names and net.a.condition("Link", "link-hub")["status"] == "True"
    net.copy("link-a", net.a, "not-there")
    net.a.true("Link", "second")
    until(lambda: "after" in [one["name"] for one in net.a.router()["listeners"]])


def test_a_new_link_waits_and_a_redeemed_token_is_final(net: Net) -> None:
    """§2a.8 (here 1 s), §2a.3."""
    net.copy("link-a", net.b, "third")
    begin = time.monotonic()
    net.link(net.b, "third", "third")
    net.b.delete("Link", "hub-link")
    net.b.true("Link", "third", "Configured")
    assert time.monotonic() - begin > 0.9
    net.b.true("Link", "third")
    time.sleep(RESYNC + 1)
    assert not net.b.there("Link", "hub-link")
    assert net.b.get("AccessToken", "hub-link")["status"]["redeemed"]


def test_certificates_are_made_anew_only_for_the_known_reasons(net: Net) -> None:
    """§3: expired, other CN or hosts, gone; not for another signer, and never someone else's Secret."""
    place = net.bare
    seconds = {"annotations": {"standin.skupper.io/seconds": "4"}}
    place.make("Secret", "own", type="Opaque", data={})
    for name, more in (("brief", {"metadata": seconds}), ("lasting", {}), ("own", {})):
        place.make("Certificate", name, {"ca": "skupper-site-ca", "subject": name, "hosts": ["x"]}, **more)
    place.make("Certificate", "orphan", {"ca": "none", "subject": "orphan"})
    brief, lasting = (place.true("Certificate", name) and place.serial(name) for name in ("brief", "lasting"))
    said = {"own": "Secret exists but is not controlled by skupper", "orphan": f'CA "{BARE}/none" not found'}
    for name, text in said.items():
        until(lambda name=name, text=text: place.condition("Certificate", name).get("message") == text, what=text)
    ca = place.serial("skupper-site-ca")
    place.delete("Secret", "skupper-site-ca")
    end = pki.certificate(place.get("Secret", "brief")).not_valid_after_utc.timestamp()
    until(lambda: place.serial("brief") != brief, 4 + RESYNC + 3)
    assert time.time() > end
    until(lambda: place.serial("skupper-site-ca") not in ("", ca), RESYNC + 3)
    assert place.serial("lasting") == lasting
    place.patch("Certificate", "lasting", {"spec": {"hosts": ["x", "10.0.0.1"]}})
    until(lambda: place.serial("lasting") != lasting)
    assert pki.hosts_of(pki.certificate(place.get("Secret", "lasting"))) == {"x", "10.0.0.1"}
    place.delete("Certificate", "lasting")
    until(lambda: not place.there("Secret", "lasting"), what="the Secret goes with its Certificate")


def test_switches_make_it_misbehave(net: Net) -> None:
    """README.md, Misbehaving."""
    hub, a = net.hub, net.a
    switch = {"metadata": {"annotations": {"standin.skupper.io/never-matched": "true"}}}
    a.patch("Listener", "fleet", switch)
    a.patch("Link", "second", {"metadata": {"annotations": {"standin.skupper.io/never-operational": "true"}}})
    hub.make("AccessGrant", "burnt", {}, metadata={"annotations": {"standin.skupper.io/redeem": "500"}})
    net.token(a, "burnt", hub.true("AccessGrant", "burnt"))
    config = Place(hub.client, "skupper")
    config.make("ConfigMap", "skupper-standin", data={"version": "2.1.4"})
    try:
        a.says("Listener", "fleet", "No matching connectors")
        a.says("Link", "second", "Not operational")
        a.says("AccessToken", "burnt", "No such access granted", 2 * RESYNC)
        assert hub.get("AccessGrant", "burnt")["status"]["redemptions"] == 1
        until(lambda: hub.get("Site", "hub")["status"]["controller"]["version"] == "2.1.4")
        hub.delete("Site", "second")
        net.bare.patch("Site", "bare", {"metadata": {"annotations": {"standin.skupper.io/no-address": "true"}}})
        net.bare.patch("Site", "bare", {"spec": {"linkAccess": "loadbalancer"}})
        until(lambda: net.bare.condition("Site", "bare", "Resolved").get("status") == "False")
        status = net.bare.get("Site", "bare")["status"]
        assert status["status"] == "Pending" and net.bare.condition("Site", "bare")["status"] == "False"
        net.bare.patch("Site", "bare", {"spec": {"linkAccess": "nodeport"}})
        net.bare.says("Site", "bare", "Unsupported value for LinkAccess: nodeport")
    finally:
        config.delete("ConfigMap", "skupper-standin")


def test_other_ways_in_and_other_controllers(net: Net) -> None:
    """§4 HA, node ports; §2c a RouterAccess of one's own; §2a by key; §5 a namespace of another controller."""
    bare, config = net.bare, Place(net.hub.client, "skupper")
    data = {"access-types": "local,nodeport", "cluster-host": "hub.fleet.test", "redeem-by-key": "true"}
    config.make("ConfigMap", "skupper-standin", data=data)
    try:
        bare.patch("Site", "bare", {"spec": {"ha": True, "linkAccess": "nodeport"}})
        until(lambda: len(bare.get("Site", "bare")["status"].get("endpoints", [])) == 4, what="two groups")
        endpoints = bare.get("Site", "bare")["status"]["endpoints"]
        assert {one["group"] for one in endpoints} == {"skupper-router", "skupper-router-2"}
        assert {one["host"] for one in endpoints} == {"hub.fleet.test"}
        bare.make("AccessGrant", "key", {"code": "preset"})
        grant = bare.true("AccessGrant", "key")
        net.token(net.a, "ha", grant, url=f"{grant['status']['url'].rsplit('/', 1)[0]}/{BARE}/key")
        net.a.true("AccessToken", "ha", "Redeemed")
        for name in ("ha-1", "ha-2"):
            net.a.true("Link", name)
        bare.patch("Site", "bare", {"spec": {"ha": False}})
        until(lambda: not bare.there("Deployment", "skupper-router-2"))
        bare.make("Certificate", "own-tls", {"ca": "skupper-site-ca", "subject": "own", "hosts": [f"own.{BARE}"]})
        bare.true("Certificate", "own-tls")
        spec = {"roles": [{"name": "inter-router", "port": 55999}], "tlsCredentials": "own-tls", "accessType": "local"}
        bare.make("RouterAccess", "own", spec)
        (endpoint,) = bare.true("RouterAccess", "own")["status"]["endpoints"]
        assert (endpoint["host"], endpoint["port"]) == (f"own.{BARE}", "55999")
    finally:
        config.delete("ConfigMap", "skupper-standin")
    net.b.make("ConfigMap", "skupper", data={"controller": "elsewhere/other"})
    time.sleep(0.5)
    net.b.make("Listener", "ignored", {"routingKey": "x", "host": "ignored", "port": 1})
    time.sleep(1.0)
    assert "status" not in net.b.get("Listener", "ignored")
    net.b.delete("ConfigMap", "skupper")
    net.b.true("Listener", "ignored", "Configured")


def test_a_deleted_site_takes_along_what_was_made_for_it(net: Net) -> None:
    """§2a.6, garbage collection by the Site's owner reference; what someone else made stays."""
    net.b.delete("Site", "b")
    net.b.says("AccessToken", "hub-link", "Already redeemed for a deleted site")
    for kind, name in (("Secret", "hub-link"), ("Link", "first"), ("Service", "flower-superlink")):
        until(lambda kind=kind, name=name: not net.b.there(kind, name), what=f"{kind} {name} is collected")
    until(lambda: not net.b.there("Deployment", "skupper-router"))
    net.b.says("Listener", "fleet", "No active site in namespace")
    assert net.b.get("Link", "third") and net.b.get("Secret", "third")
    until(lambda: "b" not in {one["name"] for one in net.hub.get("Site", "hub")["status"]["network"]}, what="it goes")
    with pytest.raises(ApiError):
        net.b.make("Connector", "both", {"routingKey": "x", "selector": "a=b", "host": "h", "port": 1})
