# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""Sites that join through a Skupper network, with a stand-in for Skupper's controller and router (tests/skupper_standin).

The federation of the other scenarios, with site-a linked directly and site-b by a token. Most of it runs the plays on
Skupper alone (--tags skupper); a test that breaks something lets the next run repair it.
"""

from __future__ import annotations

import base64
import datetime
import json
import os
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from ansible_collections.federated.flower.tests.skupper_standin.turn import turn

API = "skupper.io/v2alpha1"
ROOT = Path(__file__).parents[3]
SITES = ("site-a", "site-b")
OURS = "app.kubernetes.io/managed-by=federated.flower"
MADE = (
    "Site",
    "Link",
    "Listener",
    "Connector",
    "AccessGrant",
    "AccessToken",
    "Certificate",
    "RouterAccess",
    "SecuredAccess",
)
SKUPPER = ("--tags", "skupper")
FAILED = "Controller got failed response: "


class Network:
    """The Skupper network of the federation, and methods to read the real state."""

    def __init__(self, fed: Any) -> None:
        self.fed = fed
        self.space = fed.namespace

    # Running

    def hosts(self, **changes: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """Hosts, with what some of them have besides (site_a={...})."""
        found = self.fed.base()
        for site in SITES:
            found[site]["flower_connectivity"] = "skupper"
        found["site-b"]["skupper_link_mode"] = "token"
        (cpu,) = found["site-a"]["supernode_pools"]
        found["site-b"]["supernode_pools"] = [{**cpu, "replicas": 1}]  # the few GPUs of a node are for others
        for host, more in changes.items():
            found[host.replace("_", "-")].update(more)
        return found

    def join(
        self, *arguments: str, rc: int | None = 0, common: dict[str, Any] | None = None, **changes: dict[str, Any]
    ) -> Any:
        """Run the plays on Skupper."""
        self.fed.settled = False
        return self.fed.play("site", *SKUPPER, *arguments, hosts=self.hosts(**changes), rc=rc, **(common or {}))

    def play(self, playbook: str, *arguments: str, rc: int | None = 0) -> Any:
        """Run another playbook."""
        self.fed.settled = False
        return self.fed.play(playbook, *arguments, hosts=self.hosts(), rc=rc)

    # Looking

    def all(self, context: str, kind: str, labels: str | None = None) -> dict[str, dict[str, Any]]:
        """Name -> object of one of Skupper's kinds."""
        found = self.fed.cluster(context).list(API, kind, self.space, labels=labels)
        return {one["metadata"]["name"]: one for one in found}

    def get(self, context: str, kind: str, name: str, version: str = API) -> dict[str, Any] | None:
        """One object."""
        return self.fed.cluster(context).get(version, kind, name, self.space)

    def entries(self, context: str, name: str) -> dict[str, str]:
        """Decoded entries of a Secret."""
        found = self.get(context, "Secret", name, "v1") or {}
        return {key: base64.b64decode(value).decode() for key, value in (found.get("data") or {}).items()}

    def serials(self) -> dict[str, str]:
        """What -> serial of its certificate."""
        places = {"ca": ("hub", "skupper-site-ca"), "server": ("hub", "skupper-site-server")}
        places |= {site: (site, "flower-hub") for site in SITES}
        return {what: serial(self.entries(*place)["tls.crt"]) for what, place in places.items()}

    def trusts(self) -> dict[str, int]:
        """Who -> number of CAs that it trusts."""
        places = {"hub": "skupper-site-server", **dict.fromkeys(SITES, "flower-hub")}
        return {where: self.entries(where, name)["ca.crt"].count("BEGIN CERTIFICATE") for where, name in places.items()}

    def links(self, *sites: str) -> dict[str, set[str]]:
        """Site -> uids of its Links."""
        return {site: {one["metadata"]["uid"] for one in self.all(site, "Link").values()} for site in sites or SITES}

    def is_linked(self, site: str) -> bool:
        """Whether a Link of the site is up and leads to the hub."""
        (hub,) = self.all("hub", "Site").values()
        return any(
            one.get("status", {}).get("remoteSiteId") == hub["metadata"]["uid"] and is_true(one, "Ready")
            for one in self.all(site, "Link").values()
        )

    def wait_linked(self, site: str) -> bool:
        """Wait until a site is linked; conditions lag behind, and are false for a moment when a router gets another certificate."""
        return bool(self.fed.wait(f"the link of {site}", lambda: self.is_linked(site), 30))

    def wait_joined(self) -> None:
        """Wait until both sites are linked, and all SuperNodes are online."""
        for site in SITES:
            self.wait_linked(site)
        nodes = [node for site in SITES for node in self.fed.keys(site).values()]
        assert len(nodes) == 3
        self.fed.wait_online(*nodes)

    def wires(self) -> list[dict[str, Any]]:
        """Connections between routers as the hub's router sees them: what its sockets really negotiated."""
        found = self.fed.hub.list("v1", "ConfigMap", self.space, labels="internal.skupper.io/standin=state")
        states = [json.loads(one["data"]["state.json"]) for one in found]
        return [wire for state in states for wire in state["connections"]]

    def shown_on_the_wire(self) -> tuple[set[str], set[str]]:
        """Serials that the hub's router shows, and is shown, over its connections."""
        wires = self.wires()
        return {wire["localSerial"] for wire in wires}, {wire["peerSerial"] for wire in wires}

    def wait_wires(self, local: str, *peers: str) -> None:
        """Wait until the hub's router has connections with this certificate of its own and these of others."""

        def there() -> bool:
            pairs = {(wire["localSerial"], wire["peerSerial"]) for wire in self.wires()}
            return {(local, peer) for peer in peers} <= pairs

        self.fed.wait(f"connections of {local} with {peers}, there are {self.wires()}", there, 60)

    def served(self) -> str:
        """Serial of the certificate that the hub's router shows to someone who comes now."""
        (site,) = self.all("hub", "Site").values()
        host = site["status"]["endpoints"][0]["host"]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.minimum_version = ssl.TLSVersion.TLSv1_3  # it is shown before the router asks who we are
        with socket.create_connection((host, 55671), 5) as raw, context.wrap_socket(raw) as channel:
            shown = channel.getpeercert(True)
        return format(x509.load_der_x509_certificate(shown).serial_number, "x")

    def stand_in(self, context: str, **settings: str) -> None:
        """Have the stand-in of a cluster behave in another way; none sets it right again."""
        cluster = self.fed.cluster(context)
        cluster.delete("v1", "ConfigMap", "skupper-standin", "skupper")
        if settings:
            metadata = {"name": "skupper-standin", "namespace": "skupper"}
            cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": settings})

    def make(self, context: str, kind: str, name: str, spec: dict[str, Any], version: str = API, **labels: str) -> None:
        """Make an object by hand."""
        metadata = {"name": name, "namespace": self.space, "labels": labels}
        self.fed.cluster(context).create({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec})

    def drop(self, context: str, kind: str, name: str, version: str = API) -> None:
        """Delete an object, and wait until it is gone; the controller may have made another one by then."""
        uid = self.get(context, kind, name, version)["metadata"]["uid"]
        self.fed.cluster(context).delete(version, kind, name, self.space, propagation="Background")

        def gone() -> bool:
            live = self.get(context, kind, name, version)
            return live is None or live["metadata"]["uid"] != uid

        self.fed.wait(f"the end of {kind} {name}", gone)

    def unlink(self, site: str, *kinds: str) -> None:
        """Delete the objects of a site's link, of some kinds only."""
        versions = {"AccessToken": API, "Link": API, "Secret": "v1"}
        for kind in kinds or versions:
            for name in ("flower-hub", "flower-hub-skupper-router"):  # of a token, and of ours
                if self.get(site, kind, name, versions[kind]):
                    self.drop(site, kind, name, versions[kind])


def serial(pem: str) -> str:
    """Serial of the first certificate, as the routers report it."""
    return format(x509.load_pem_x509_certificate(pem.encode()).serial_number, "x")


def is_true(item: dict[str, Any], kind: str) -> bool:
    """Whether a condition is true."""
    return any(one["type"] == kind and one["status"] == "True" for one in item.get("status", {}).get("conditions", []))


LEVEL = "pod-security.kubernetes.io/"


def levels(net: Network, context: str, name: str = "") -> dict[str, str]:
    """Mode of Pod Security admission -> level of a namespace."""
    labels = net.fed.cluster(context).get("v1", "Namespace", name or net.space)["metadata"]["labels"]
    return {key.removeprefix(LEVEL): value for key, value in labels.items() if key.startswith(LEVEL)}


def fleet(*words: str) -> str:
    """A command of the local fleet; returns what it printed."""
    environment = {key: value for key, value in os.environ.items() if key != "FLOWER_FLEET_KUBECONFIG"}
    command = [sys.executable, str(ROOT / "tests" / "fleet"), *words]
    run = subprocess.run(command, env=environment, text=True, capture_output=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout.strip()


@pytest.fixture(scope="module")
def bare(federation: Any) -> Iterator[Network]:
    """The federation, before Skupper's API is in its clusters."""
    if os.geteuid() != 0 or fleet("kubeconfig") != str(federation.kubeconfig):
        pytest.skip("these are not the local fleet's clusters: the stand-in has no business in others")
    with turn(federation.kubeconfig):
        fleet("addon", "skupper", "down")
        yield Network(federation)
        federation.settled = False
        fleet("addon", "skupper", "down")


@pytest.fixture(scope="module")
def net(bare: Network) -> Network:
    """The same with the stand-in, at a pace of 5 s; Skupper's is 30."""
    fleet("addon", "skupper", "up", "--resync", "5")
    return bare


@pytest.fixture
def joined(net: Network) -> Network:
    """Both sites are linked, and their SuperNodes come that way."""
    if net.fed.settled or not all(net.all(site, "Link") for site in SITES):
        net.fed.site(net.hosts())
    return net


def test_missing_definitions(bare):
    run = bare.join(rc=None)
    assert run.rc and "Skupper's CustomResourceDefinitions are not in the cluster" in run.messages(
        "site-a", failed=True
    )
    assert "skupper_site_install" in run.messages("hub", failed=True)
    assert set(run.changed.values()) == {0}


def test_a_controller_goes_with_the_namespace_that_was_made_for_it(bare):
    """By the stand-in's manifests: its controller only sleeps, so the Site reports that no controller has processed it."""
    file = bare.fed.folder / "controller.yml"
    command = [sys.executable, str(ROOT / "tests" / "skupper_standin"), "manifests"]
    file.write_text(subprocess.run(command, text=True, capture_output=True, check=True).stdout)
    space = {"flower_namespace": f"{bare.space}-c", "skupper_site_wait_timeout": 60}
    install = ("--limit", "hub", "-e", "skupper_site_install=manifests", "-e", f"skupper_site_manifests={file}")
    bare.join(*install, "-e", "skupper_site_wait=false", common=space)
    home = bare.fed.hub.get("v1", "Namespace", "skupper")
    assert home["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "federated.flower"
    uninstall = ("-e", "flower_teardown=true", "-e", "skupper_site_uninstall=true")
    bare.fed.play("teardown", *install, *uninstall, hosts=bare.hosts(), **space)
    assert bare.fed.gone("hub", "skupper")
    bare.fed.hub.delete("v1", "Namespace", space["flower_namespace"], propagation="Background")


def test_bad_input(net):
    """All faults are reported by one run, of all sites, before anything is changed."""
    run = net.join(
        rc=None,
        site_a={"skupper_listener_host": "Flower_Superlink", "skupper_listener_port": 70000},
        site_b={"skupper_listener_host": "a" * 64, "skupper_link_mode": "direct,token"},
    )
    told = {site: run.messages(site, failed=True) for site in SITES}
    assert run.rc and set(run.changed.values()) == {0} and not net.all("hub", "Site")
    assert "skupper_listener_host: 'Flower_Superlink' is not a DNS-1123 label" in told["site-a"], told
    assert "skupper_listener_port: 70000 is not between 1 and 65535" in told["site-a"], told
    assert "has 64 characters, at most 63 are possible" in told["site-b"], told
    assert "value of skupper_link_mode must be one of: direct, token, got: direct,token" in told["site-b"], told
    wrong = net.hosts(site_a={"skupper_listener_port": 70000})
    run = net.fed.play("site", "--tags", "preflight", rc=None, hosts=wrong)
    failed = {host for host, numbers in run.recap.items() if numbers["failed"]}
    assert failed == {"site-a"}, "a wrong site stops others"


def test_check_mode_without_a_network(net):
    run = net.fed.play("site", "--check", hosts=net.hosts())
    assert all(run.changed[host] > 0 and not run.recap[host]["failed"] for host in ("hub", *SITES)), run.recap
    assert not net.all("hub", "Site") and not net.all("site-a", "Site") and not net.all("site-b", "Link")


def test_join(net):
    net.fed.site(net.hosts())
    net.wait_joined()
    # One link by a certificate of the hub, one by a token, which has gone when it had done its work.
    assert set(net.all("hub", "Certificate", OURS)) == {"flower-link-site-a"}
    net.fed.wait("the end of the token", lambda: not net.all("hub", "AccessGrant") and not net.all("site-b", "AccessToken"), 30)
    # The routers would be refused at restricted; what is audited and warned of is still that.
    for context in ("hub", *SITES):
        assert levels(net, context) == {"enforce": "baseline", "audit": "restricted", "warn": "restricted"}
    assert levels(net, "hub", f"{net.space}-ca")["enforce"] == "restricted"
    for site in SITES:
        config = net.get(site, "ConfigMap", "supernode-sidecar", "v1")["data"]["haproxy.cfg"]
        assert f"server hub flower-superlink.{net.space}.svc.cluster.local:9092" in config


def test_second_run_and_check_mode_change_nothing(joined):
    lives = {site: joined.fed.lives(site) for site in SITES}
    joined.fed.unchanged(joined.hosts())
    run = joined.fed.play("site", "--check", hosts=joined.hosts())
    assert set(run.changed.values()) == {0}, run.changed
    assert {site: joined.fed.lives(site) for site in SITES} == lives


def test_drift_of_the_network_is_reported_and_repaired(joined):
    def drift(*arguments: str) -> set[tuple[str, str]]:
        run = joined.play("reconcile", *arguments)
        published = [one["result"]["ansible_stats"]["data"] for one in run.results if "ansible_stats" in one.get("result", {})]
        return {(one["host"], one["object"]) for one in published[-1]["flower_reconcile_result"]["drift"]}

    assert drift() == set()
    (name,) = joined.all("site-a", "Listener")
    joined.fed.cluster("site-a").delete(API, "Listener", name, joined.space)
    assert drift() == {("site-a", f"Listener {joined.space}/{name}")}
    assert drift("-e", "flower_reconcile=repair") and name in joined.all("site-a", "Listener")
    assert drift() == set()


def test_a_site_in_the_namespace_of_the_hub_is_refused(joined):
    """There is one Site in a namespace: the hub's would go, and with it all links."""
    before = joined.all("hub", "Site")
    hosts = joined.hosts()
    hosts["site-c"] = {**hosts["site-a"], "flower_context": "hub"}
    run = joined.fed.play("site", "--tags", "preflight", rc=None, hosts=hosts)
    assert {host for host, numbers in run.recap.items() if numbers["failed"]} == {"site-c"}, run.recap
    assert "flower_connectivity" in run.messages("site-c", failed=True), run.messages("site-c", failed=True)
    assert joined.all("hub", "Site").keys() == before.keys() and joined.serials()


def test_name_of_a_service_that_is_there(joined):
    joined.make("site-a", "Service", "taken", {"ports": [{"port": 1}]}, "v1")
    run = joined.join("--check", rc=None, site_a={"skupper_listener_host": "taken"})
    said = f"Service {joined.space}/taken exists already, and was not created by Skupper"
    assert run.rc and said in run.messages("site-a", failed=True), run.details()
    assert run.recap["site-b"]["failed"] == 0, "one site held up the other"
    joined.drop("site-a", "Service", "taken", "v1")


def test_supernodes_come_through_the_network_and_show_the_gateway_who_they_are(joined):
    streams = {wire["peerSerial"] for wire in joined.wires() if wire["kind"] == "flow"}
    assert {joined.serials()[site] for site in SITES} <= streams, "not every site has a stream to the hub"
    # The gateway logs what it refuses: it names the site by its certificate, at the address of the hub's router.
    door = {"host": f"flower-superlink.{joined.space}.svc.cluster.local", "port": 9092, "path": "/nothing"}
    for site in SITES:
        where = (site, min(joined.fed.pods(site)), "supernode")
        assert joined.fed.call([door], joined.fed.identity(site), where=where)[0]["code"] in (403, 404, 503)
    (router,) = joined.fed.hub.list("v1", "Pod", joined.space, labels="application=skupper-router")
    lines = joined.fed.log("hub", "superlink-0", "gateway").splitlines()
    calls = [
        line for line in map(json.loads, (one for one in lines if one.startswith("{"))) if line.get("u") == door["path"]
    ]
    assert {line["cn"]: line["src"] for line in calls} == dict.fromkeys(SITES, router["status"]["podIP"])


def test_a_run_completes_over_the_listener(joined):
    _run, finish = joined.fed.begin(**{"num-server-rounds": 2})
    assert finish().rc == 0


def test_status(joined):
    run = joined.play("status", "-e", "flower_status_format=json")
    assert run.report["healthy"], run.report["problems"]
    network = run.report["network"]
    assert network["hub"]["linked"] == {"site-a": True, "site-b": True}
    assert network["hub"]["listeners"] == ["site-a", "site-b"]
    assert [one["kind"] for one in network["hub"]["certificates"]] == ["ca", "server", "link"]
    assert all(site["links"][0]["not_after"] > "2031" for site in network["sites"].values())
    table = joined.play("status").table
    assert any("linked: site-a (up), site-b (up)" in line for line in table), table


# Tokens that are of no use: each recognised, and the sites linked in the same run.

NO_CLAIM, NO_ACCESS = FAILED + "404 (Not Found) No such claim", FAILED + "404 (Not Found) No such access granted"
NAMES = {"app.kubernetes.io/managed-by": "federated.flower", "app.kubernetes.io/instance": "scenario"}


def begun(net: Network, site: str, **grant: Any) -> dict[str, str]:
    """A grant and what a token takes of it, as a run leaves them that breaks off in between."""
    net.unlink(site)
    name = f"flower-{site}"
    spec = {"redemptionsAllowed": 1, "expirationWindow": "600s", **grant}
    net.make("hub", "AccessGrant", name, spec, **NAMES, **{"federated.flower/site": site})

    def ready() -> Any:
        status = net.get("hub", "AccessGrant", name).get("status") or {}
        return status if status.get("url") else None

    status = net.fed.wait("the grant", ready)
    net.fed.secrets[status["code"]] = "code of an AccessGrant"
    return {key: status[key] for key in ("url", "code", "ca")}


def used_up(net: Network, site: str) -> None:
    """Have a grant no redemption left."""
    path = f"/apis/{API}/namespaces/{net.space}/accessgrants/flower-{site}/status"
    patch = {"status": {"redemptions": 1}}
    net.fed.hub.request("PATCH", path, body=patch, content_type="application/merge-patch+json")


def token(net: Network, site: str, spec: dict[str, str]) -> None:
    """A token of ours in a site."""
    net.make(site, "AccessToken", "flower-hub", spec, **NAMES)


def refused(net: Network, site: str, said: str) -> None:
    """Wait until the controller says of the token what it is to say."""
    net.fed.wait(
        said, lambda: said in (net.get(site, "AccessToken", "flower-hub").get("status") or {}).get("message", "")
    )


def mended(net: Network, **why: str) -> None:
    """One run links both sites, and says what was wrong with their tokens."""
    run = net.join(site_a={"skupper_link_mode": "token"})
    for site, reason in ((key.replace("_", "-"), text) for key, text in why.items()):
        assert f"its token was recreated: {reason}" in run.messages(site), run.messages(site)
        assert net.wait_linked(site) and not net.all(site, "AccessToken")
    assert not net.all("hub", "AccessGrant")


@pytest.mark.soak
def test_an_upgrade_leaves_the_network_alone(joined):
    links, hosts = joined.links(), joined.hosts()
    for site in SITES:
        hosts[site]["supernode_image"] = "flwr/supernode:1.42.0"
    run = joined.fed.play("upgrade", "-e", "flower_upgrade_backup=false", hosts=hosts)
    assert "is complete" in run.messages() and joined.links() == links, run.details()
    for site in SITES:
        pods = joined.fed.pods(site).values()
        assert {one["image"] for pod in pods for one in pod["spec"]["containers"] if one["name"] == "supernode"} == {"flwr/supernode:1.42.0"}
    joined.wait_joined()


def test_tokens_expired_and_exhausted(joined):
    late, spent = begun(joined, "site-a", expirationWindow="1s"), begun(joined, "site-b")
    used_up(joined, "site-b")
    end = joined.get("hub", "AccessGrant", "flower-site-a")["status"]["expirationTime"]
    joined.fed.wait("its end", lambda: datetime.datetime.now(datetime.timezone.utc).isoformat() > end)
    token(joined, "site-a", late)
    token(joined, "site-b", spent)
    refused(joined, "site-a", NO_CLAIM)
    refused(joined, "site-b", NO_ACCESS)
    mended(joined, site_a="the hub no longer has its grant (expired", site_b="its grant was used up")


def test_tokens_with_a_wrong_code_and_without_their_grant(joined):
    token(joined, "site-a", {**begun(joined, "site-a"), "code": "wrong"})
    spec = begun(joined, "site-b")
    joined.drop("hub", "AccessGrant", "flower-site-b")
    token(joined, "site-b", spec)
    refused(joined, "site-a", FAILED + "403 (Forbidden)")
    refused(joined, "site-b", NO_CLAIM)
    mended(joined, site_a="its code is not that of the grant", site_b="the hub no longer has its grant (deleted)")


def test_tokens_with_a_secret_that_is_still_there_and_one_of_someone_else(joined):
    """That of an earlier token is replaced; for one of someone else no redemption is wasted, and only its site waits."""
    joined.unlink("site-a", "Link", "AccessToken")
    joined.unlink("site-b")
    assert joined.get("site-a", "Secret", "flower-hub", "v1")
    joined.make("site-b", "Secret", "flower-hub", {}, "v1")
    run = joined.join(rc=None, site_a={"skupper_link_mode": "token"})
    said = f"Secret {joined.space}/flower-hub exists already, and was not created by this collection"
    assert run.rc and said in run.messages("site-b", failed=True), run.details()
    assert not joined.all("hub", "AccessGrant") and joined.wait_linked("site-a")
    joined.drop("site-b", "Secret", "flower-hub", "v1")
    joined.join("--limit", "hub,site-b")
    assert joined.wait_linked("site-b")


def test_hub_of_someone_else_without_link_access(joined):
    cluster, space = joined.fed.hub, f"{joined.space}-d"
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
    site = {"apiVersion": API, "kind": "Site", "metadata": {"name": "theirs", "namespace": space}, "spec": {}}
    cluster.create(site)
    joined.fed.wait("the Site", lambda: cluster.get(API, "Site", "theirs", space).get("status"))
    run = joined.join("--limit", "hub", rc=None, common={"flower_namespace": space})
    assert (
        run.rc
        and f"Site {space}/theirs was created by someone else and lets no other site link to it"
        in run.messages("hub", True)
    )
    assert f"kubectl -n {space} patch site theirs" in run.messages("hub", True)
    cluster.delete("v1", "Namespace", space, propagation="Background")


# What changes around the network


def test_hub_address_changed(joined):
    links = joined.links()
    (site,) = joined.all("hub", "Site").values()
    was = {one["host"] for one in site["status"]["endpoints"]}
    service = joined.get("hub", "Service", "skupper-router", "v1")
    used = service["status"]["loadBalancer"]["ingress"][0]["ip"]
    head, _dot, last = used.rpartition(".")
    taken = {
        entry["ip"]
        for item in joined.fed.hub.list("v1", "Service")
        for entry in (item["status"].get("loadBalancer") or {}).get("ingress") or []
    }
    # The hub's are eight, from .38 on (load_balancer_ips in the fleet's settings); other workers use some of them.
    assert 38 <= int(last) < 46
    wanted = next(one for one in (f"{head}.{number}" for number in range(45, 37, -1)) if one not in taken)
    joined.fed.hub.patch(
        API, "Site", "hub", joined.space, {"metadata": {"annotations": {"standin.skupper.io/address": wanted}}}
    )
    joined.drop("hub", "Service", "skupper-router", "v1")

    def moved() -> bool:
        (now,) = joined.all("hub", "Site").values()
        return (
            bool(now["status"].get("endpoints"))
            and {one["host"] for one in now["status"]["endpoints"]} == {wanted} != was
        )

    joined.fed.wait("another address", moved)
    joined.join()
    assert joined.links() == links, "a Link was recreated"
    for site in SITES:
        for link in joined.all(site, "Link").values():
            assert {one["host"] for one in link["spec"]["endpoints"]} == {wanted}
        assert joined.wait_linked(site)


def test_site_renamed_and_a_second_site(joined):
    (before,) = joined.all("site-a", "Site").values()
    links = joined.links("site-a")
    run = joined.join("--limit", "hub,site-a", site_a={"skupper_site_name": "renamed"})
    assert "is replaced by a Site named renamed" in run.warnings()
    (after,) = joined.all("site-a", "Site").values()
    assert (after["metadata"]["name"], joined.wait_linked("site-a")) == ("renamed", True)
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    # Its router does not use the previous Site's Link, which stays Ready all the same: it is recreated.
    config = joined.get("site-a", "ConfigMap", "skupper-router", "v1")["data"]["router.json"]
    assert [one["name"] for one in json.loads(config)["links"]] == ["flower-hub-skupper-router"]
    assert not links["site-a"] & joined.links("site-a")["site-a"]
    joined.make("site-a", "Site", "second", {})
    run = joined.join("--limit", "hub,site-a", rc=None, site_a={"skupper_site_name": "renamed"})
    assert (
        run.rc
        and f"namespace {joined.space} has 2 Sites: renamed (ours, the one that Skupper serves), second"
        in run.messages("site-a", True)
    )
    joined.drop("site-a", "Site", "second")
    joined.join("--limit", "hub,site-a")
    assert set(joined.all("site-a", "Site")) == {"site-a"} and joined.wait_linked("site-a")


def test_controller_too_old(joined):
    joined.stand_in("site-a", version="2.1.4")
    try:
        joined.fed.wait(
            "the version", lambda: joined.all("site-a", "Site")["site-a"]["status"]["controller"]["version"] == "2.1.4"
        )
        run = joined.join("--limit", "hub,site-a", rc=None)
        assert run.rc and "is Skupper 2.1.4: before 2.2.1" in run.messages("site-a", True)
    finally:
        joined.stand_in("site-a")
    joined.fed.wait(
        "the version", lambda: joined.all("site-a", "Site")["site-a"]["status"]["controller"]["version"] == "2.2.1"
    )


def test_waits_say_what_is_missing(joined):
    cluster, space = joined.fed.hub, f"{joined.space}-c"
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
    annotations = {"standin.skupper.io/no-address": "true"}
    run = joined.join(
        "--limit", "hub", rc=None,
        common={"flower_namespace": space, "skupper_site_annotations": annotations, "skupper_site_wait_timeout": 12},
    )  # fmt: skip
    assert run.rc and "the load balancer of Service skupper-router has none" in run.messages("hub", True), (
        run.details()
    )
    cluster.delete("v1", "Namespace", space, propagation="Background")


def test_a_namespace_that_refuses_routers(joined):
    """One of someone else's is left alone, with the reason and the remedy; one of ours is lowered for them, with a message."""
    cluster, space = joined.fed.hub, f"{joined.space}-d"
    meta = {"name": space, "labels": {f"{LEVEL}enforce": "restricted"}}
    joined.fed.wait("the end of the namespace", lambda: joined.fed.gone("hub", space))
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": meta})
    run = joined.join("--limit", "hub", rc=None, common={"flower_namespace": space})
    told = run.messages("hub", True)
    assert run.rc and 'Deployment skupper-router: pods "skupper-router-' in told, told
    assert 'violates PodSecurity "restricted:latest": seccompProfile' in told and "kubectl label namespace" in told
    assert levels(joined, "hub", space) == {"enforce": "restricted"}
    cluster.delete("v1", "Namespace", space, propagation="Background")
    site = joined.fed.cluster("site-a")
    site.patch("v1", "Namespace", joined.space, None, {"metadata": {"labels": {f"{LEVEL}enforce": "restricted"}}})
    check = joined.join("--check", "--limit", "hub,site-a")
    assert check.changed["site-a"] and levels(joined, "site-a")["enforce"] == "restricted"
    run = joined.join("--limit", "hub,site-a")
    assert "From now on it enforces baseline" in run.warnings() and levels(joined, "site-a")["enforce"] == "baseline"
    assert joined.join("--limit", "hub,site-a").changed["site-a"] == 0


# Rotation


def test_rotation_of_links_and_of_the_server(joined):
    """First what is asked for, by certificates that last 15 minutes; then what is due, since those end soon."""
    links, before = joined.links(), joined.serials()
    # The hub keeps another certificate for the site than the site has, which is not a new one either.
    kept = "flower-link-site-a"
    joined.drop("hub", "Secret", kept, "v1")
    joined.fed.wait("the hub's certificate for site-a", lambda: "tls.crt" in joined.entries("hub", kept), 30)
    older = serial(joined.entries("hub", kept)["tls.crt"])
    joined.stand_in("hub", **{"certificate-seconds": "900"})
    joined.play("skupper_rotate", "-e", "flower_skupper_rotate=link")
    after = joined.serials()
    assert older not in (before["site-a"], after["site-a"])
    assert {what for what in before if before[what] != after[what]} == set(SITES)
    joined.wait_wires(before["server"], after["site-a"], after["site-b"])
    joined.play("skupper_rotate", "-e", "flower_skupper_rotate=server")
    last = joined.serials()
    assert {what for what in after if after[what] != last[what]} == {"server"}
    # Connections stay, with the previous certificate; new ones get the new one.
    joined.fed.wait("the new certificate", lambda: joined.served() == last["server"], 30)
    assert joined.wait_linked("site-a") and joined.wait_linked("site-b")
    joined.stand_in("hub")
    run = joined.fed.play("rotate_certs", hosts=joined.hosts(), skupper_link_renew_before="899s")
    assert "link: those of site-a, site-b expire" in run.messages(), run.messages()
    now = joined.serials()
    assert {what for what in last if last[what] != now[what]} == {"server", *SITES}
    joined.wait_wires(now["server"], now["site-a"], now["site-b"])
    assert joined.links() == links, "a Link was recreated"


def test_rotation_of_the_ca_that_breaks_off(joined):
    links, before = joined.links(), joined.serials()
    run = joined.play("skupper_rotate", "-e", "flower_skupper_rotate=ca", "--limit", "hub,site-a", rc=None)
    assert run.rc and "site-b: this run did not reach it" in run.messages(failed=True), run.details()
    assert joined.serials()["ca"] != before["ca"] and joined.serials()["server"] == before["server"]
    assert joined.trusts()["hub"] == 2 and joined.wait_linked("site-a") and joined.wait_linked("site-b")
    _run, finish = joined.fed.begin(**{"num-server-rounds": 2})
    joined.play("skupper_rotate")  # it was started, so it is due
    assert finish().rc == 0, "a run of an app did not survive the rotation of the CA"
    after = joined.serials()
    assert not set(before.values()) & set(after.values())
    assert joined.trusts() == {"hub": 1, "site-a": 1, "site-b": 1}
    assert joined.links() == links, "a Link was recreated"
    joined.wait_wires(after["server"], after["site-a"], after["site-b"])


# Revocation


def test_revoke_a_site_that_does_not_cooperate(joined):
    held = joined.entries("site-b", "flower-hub")
    lives = joined.fed.lives("site-a")
    hosts = joined.hosts(site_b={"flower_context": "nowhere"})
    run = joined.fed.play("skupper_revoke", "-e", "flower_site=site-b", hosts=hosts)
    assert "The link of site-b was not removed: " in run.messages()
    assert joined.entries("site-b", "flower-hub") == held, "it was to keep what it has"
    assert not joined.all("hub", "AccessGrant"), "there is a grant for which it could get another link"
    joined.fed.wait("the end of the link", lambda: not joined.is_linked("site-b"), 60)
    after = joined.serials()
    joined.wait_wires(after["server"], after["site-a"])
    joined.fed.wait("the end of its connections", lambda: after["site-b"] not in joined.shown_on_the_wire()[1], 30)
    assert joined.wait_linked("site-a") and joined.fed.lives("site-a") == lives
    joined.fed.wait_online(*joined.fed.keys("site-a").values())


def test_a_revoked_site_stays_out_until_it_is_admitted(joined):
    run = joined.join()
    assert "site-b: the site is denied" in run.warnings() and not joined.is_linked("site-b")
    joined.play("site_access", "-e", "flower_site=site-b", "-e", "flower_access=admitted")
    joined.fed.site(joined.hosts())
    joined.wait_joined()


# What others made


@pytest.fixture
def theirs(joined):
    """A namespace on site-a that the test makes as someone else would; it goes also after a failure, since it stops all that follows."""
    yield
    joined.drop("hub", "Certificate", "link-hub")
    joined.fed.cluster("site-a").delete("v1", "Namespace", joined.space, propagation="Background")
    joined.fed.wait("the end of the namespace", lambda: joined.fed.gone("site-a", joined.space))


def test_sites_again_after_their_namespaces_were_deleted_and_what_others_made(joined, theirs):
    """site-b as it was; site-a as someone made it by hand, with the objects of the command `skupper`: used and left alone."""
    for site in SITES:
        joined.fed.cluster(site).delete("v1", "Namespace", joined.space, propagation="Background")
    cluster = joined.fed.cluster("site-a")
    joined.make("hub", "Certificate", "link-hub", {"ca": "skupper-site-ca", "client": True, "subject": "x"})
    made = joined.fed.wait("the Secret", lambda: joined.get("hub", "Secret", "link-hub", "v1"))
    joined.fed.wait("the end of the namespace", lambda: joined.fed.gone("site-a", joined.space))
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": joined.space}})
    joined.make("site-a", "Site", "theirs", {})
    secret = {"apiVersion": "v1", "kind": "Secret", "type": made["type"], "data": made["data"]}
    cluster.create({**secret, "metadata": {"name": "link-hub", "namespace": joined.space}})
    (hub,) = joined.all("hub", "Site").values()
    joined.make(
        "site-a",
        "Link",
        "link-hub-skupper-router",
        {"endpoints": hub["status"]["endpoints"], "tlsCredentials": "link-hub"},
    )
    listener = {"routingKey": "scenario-fleet", "host": "flower-superlink", "port": 9092}
    joined.make("site-a", "Listener", "fleet-api", listener)
    kinds = ("Site", "Link", "Listener")
    before = {kind: joined.all("site-a", kind) for kind in kinds}
    # site-a's namespace is somebody else's: the inventory says that it is to be used as it is.
    hosts = joined.hosts(site_a={"flower_create_namespace": False})
    run = joined.fed.site(hosts)  # waits for the end of site-b's namespace
    assert "3 SuperNodes of 2 sites are online" in run.messages()
    assert joined.wait_linked("site-a") and joined.wait_linked("site-b")
    for kind in kinds:
        after = joined.all("site-a", kind)
        assert set(after) == set(before[kind]), f"a {kind} was made beside that of someone else"
        assert all(after[name]["spec"] == before[kind][name]["spec"] for name in after)
        assert all(after[name]["metadata"]["uid"] == before[kind][name]["metadata"]["uid"] for name in after)
    joined.fed.unchanged(hosts)
    run = joined.fed.play("teardown", "--limit", "site-a", "-e", "flower_teardown=true", hosts=hosts)
    assert f"Site {joined.space}/theirs, created by someone else, stays" in run.messages("site-a")
    assert {kind: set(joined.all("site-a", kind)) for kind in kinds} == {kind: set(before[kind]) for kind in kinds}


def test_mixed_fleet_and_teardown(net):
    """One site direct, one through Skupper again; then the network goes, with what was made of it."""
    hosts = net.hosts()
    hosts["site-b"]["flower_connectivity"] = "direct"
    theirs = ("hub", "Listener", "theirs")
    net.make(*theirs, {"routingKey": "db", "host": "db", "port": 5432})
    # The only site behind Skupper cannot join: the other one is deployed all the same.
    hosts["site-a"] |= {"skupper_listener_routing_key": "nowhere", "skupper_listener_wait_timeout": 5}
    run = net.fed.play("site", hosts=hosts, rc=None)
    assert run.rc and run.recap["site-a"]["failed"] == 1 and run.recap["site-b"]["failed"] == 0, run.details()
    assert run.changed["site-b"], run.details()
    config = net.get("site-b", "ConfigMap", "supernode-sidecar", "v1")["data"]["haproxy.cfg"]
    assert "flower-superlink" not in config, "site-b still goes through the network"
    del hosts["site-a"]["skupper_listener_routing_key"]
    run = net.fed.site(hosts)
    assert "3 SuperNodes of 2 sites are online" in run.messages()
    net.fed.play("skupper_leave", "-e", "flower_site=site-b", hosts=hosts)
    assert not net.all("site-b", "Site") and not net.all("site-b", "Listener") and net.wait_linked("site-a")
    # A switch of the command line is a string.
    uninstall = ("-e", "skupper_site_install=manifests", "-e", "skupper_site_uninstall=true")
    net.fed.play("teardown", "-e", "flower_teardown=true", *uninstall, hosts=net.hosts())
    assert net.fed.cluster("site-a").get("v1", "Namespace", "skupper"), "it was not the collection's"
    for context in ("hub", *SITES):
        assert not any(net.all(context, kind, OURS) for kind in MADE), f"what we made is left on {context}"
    # What Skupper made of it goes with the Sites, when Kubernetes' garbage collector comes by.
    net.fed.wait("an empty hub", lambda: {name for kind in MADE for name in net.all("hub", kind)} == {"theirs"}, 30)
    assert net.get(*theirs), "what someone else made was deleted"


def test_no_secret_and_no_code_was_shown(net):
    assert "code of an AccessGrant" in net.fed.secrets.values()
    assert net.fed.shown(net.fed.logs, net.fed.home, net.fed.tmp) == {}
