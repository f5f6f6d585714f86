# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Three sources of the gateway's certificate, one behaviour; and from one source to the next without losing a site.

The federation of these tests has its own namespaces: one site, one SuperNode. cert-manager is the real one (fleet addon
cert-manager), its certificates live for minutes and are renewed every few seconds.
"""

from __future__ import annotations

import datetime
import json
import socket
import ssl
import time

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes

from ansible_collections.federated.flower.plugins.plugin_utils.base.secret_data import entries
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates
from ansible_collections.federated.flower.tests.integration.scenarios.lane import NAMESPACE

SPACE, CA_SPACE = f"{NAMESPACE}-cert", f"{NAMESPACE}-cert-ca"
NAME = "superlink.scenario.flower.internal"  # sites connect to an IP address
DAY = datetime.timedelta(days=1)
API = "cert-manager.io/v1"

# Long enough for a kubelet to bring a new one before the old one ends, short enough to be renewed all the time.
SHORT = {
    "target": {"kind": "Certificate", "name": "superlink-gateway"},
    "patch": {"spec": {"duration": "240s", "renewBefore": "220s"}},
}


def hosts(**hub):
    """The inventory: the hub with some variables, in a namespace that somebody else made for the Issuer, and one site."""
    pool = {"name": "one", "replicas": 1, "node_config": {"site": "{cluster}"}}
    base = {"flower_context": "hub", "superlink_exposure": "node_port", "superlink_storage_size": "256Mi"}
    return {
        "hub": {**base, "superlink_create_namespace": False, **hub},
        "site-a": {"flower_context": "site-a", "supernode_pools": [pool]},
    }


class Small:
    """The federation of these tests."""

    def __init__(self, federation):
        self.of = federation
        self.hub = federation.hub

    def play(self, playbook, *arguments, rc=0, **hub):
        settled = self.of.settled
        where = {"flower_namespace": SPACE, "flower_ca_namespace": CA_SPACE}
        run = self.of.play(playbook, *arguments, hosts=hosts(**hub), rc=rc, **where)
        self.of.settled = settled
        return run

    def lives(self):
        """What would show a restart, on both ends."""
        return self.of.lives("hub", SPACE, "superlink"), self.of.lives("site-a", SPACE)

    def online(self):
        return [node["status"] for node in FlowerCLI(self.hub, SPACE).nodes().values()].count("online")

    def published(self):
        return self.hub.get("v1", "ConfigMap", "flower-federation", SPACE)["data"]

    def served(self):
        """The certificate that the gateway really shows, verified as a site does with what is published."""
        published = self.published()
        host, _colon, port = published["address"].rpartition(":")
        context = ssl.create_default_context(cadata=published["ca.crt"])
        with (
            socket.create_connection((host, int(port)), timeout=5) as plain,
            context.wrap_socket(plain, server_hostname=NAME) as tls,
        ):
            return x509.load_der_x509_certificate(tls.getpeercert(binary_form=True))

    def held(self, secret):
        """The certificate in a Secret of the hub."""
        return x509.load_pem_x509_certificate(entries(self.hub.get("v1", "Secret", secret, SPACE))["tls.crt"].encode())

    def serial(self):
        return format(self.served().serial_number, "x")

    def report(self, **hub):
        return self.play("status", "-e", "flower_status_format=json", **hub).report


@pytest.fixture(scope="module")
def small(federation):
    made = Small(federation)
    words = made.play("site", "--limit", "hub", rc=2).messages("hub", failed=True)
    for space in (SPACE, CA_SPACE):
        assert f"there is no namespace {space}, and flower_create_namespace is false" in words, words
        made.hub.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
    yield made
    for context in federation.contexts:
        for space in (SPACE, CA_SPACE):
            if not federation.gone(context, space):
                federation.cluster(context).delete("v1", "Namespace", space, propagation="Background")


@pytest.fixture(scope="module")
def cert_manager(fleet_addon):
    """The fleet's own cert-manager; one with its webhook would have no certificates of minutes."""
    fleet_addon("cert-manager", "up")
    yield
    fleet_addon("cert-manager", "down")


@pytest.fixture(scope="module")
def issuer(small, cert_manager):
    """A CA Issuer in the hub's namespace, as someone keeps it; and a second CA for later."""
    for name in ("root-one", "root-two"):
        spec = {
            "isCA": True, "commonName": name, "secretName": name, "privateKey": {"algorithm": "ECDSA", "size": 256},
            "issuerRef": {"name": "fleet-self-signed", "kind": "ClusterIssuer"},
        }  # fmt: skip
        small.hub.apply(
            {"apiVersion": API, "kind": "Certificate", "metadata": {"name": name, "namespace": SPACE}, "spec": spec}
        )
    set_ca(small, "root-one")


def set_ca(small, secret):
    """Have the Issuer sign with this CA, and wait until it can."""
    meta = {"name": "scenario", "namespace": SPACE}
    made = small.hub.apply(
        {"apiVersion": API, "kind": "Issuer", "metadata": meta, "spec": {"ca": {"secretName": secret}}}
    )

    def ready():
        conditions = (small.hub.get(API, "Issuer", "scenario", SPACE).get("status") or {}).get("conditions") or []
        return any(
            one["status"] == "True" and one.get("observedGeneration", 1) >= made["metadata"]["generation"]
            for one in conditions
        )

    small.of.wait("the Issuer", ready, 40)


def issuer_of(certificate):
    return certificate.issuer.rfc4514_string()


def told(small, certificate, facts):
    """Are the facts of the report those of the certificate?"""
    assert facts["fingerprint"] == "SHA256:" + certificate.fingerprint(hashes.SHA256()).hex()
    assert facts["serial"] == format(certificate.serial_number, "x")
    assert facts["not_before"] == certificate.not_valid_before_utc.isoformat()
    assert facts["not_after"] == certificate.not_valid_after_utc.isoformat()
    assert facts["issuer"] == issuer_of(certificate)
    assert NAME in facts["names"] and small.published()["address"].rpartition(":")[0] in facts["names"]


def same_for_all(small, **hub):
    """What must hold with every source: online, facts right, a second run changes nothing."""
    assert small.online() == 1
    certificate = small.served()
    for _attempt in range(3):  # cert-manager may have renewed it in between
        report = small.report(**hub)
        facts = report["hub"]["certificate"]
        held = small.held(facts["secret"])
        if facts["serial"] == format(held.serial_number, "x"):
            break
    assert report["healthy"], report["problems"]
    told(small, held, facts)
    for trusted in report["hub"]["trust"]:
        assert {"subject", "issuer", "not_before", "not_after", "fingerprint"} <= set(trusted)
    run = small.play("site", **hub)
    assert set(run.changed.values()) == {0}, f"the second run changed something: {run.changed}, see {run.log}"
    return certificate, report


OF_CERT_MANAGER = {
    "superlink_certificates_source": "cert_manager",
    "superlink_issuer": {"name": "scenario"},
    "superlink_patches": [SHORT],
}


@pytest.fixture(scope="module")
def by_cert_manager(small, issuer):
    """The federation on empty clusters with cert-manager's certificate, and what would show a restart."""
    run = small.play("site", **OF_CERT_MANAGER)
    assert "1 SuperNode of 1 site is online" in run.messages()
    return small.lives()


def test_cert_manager_from_empty_clusters(small, by_cert_manager):
    first = small.served()
    assert (first.not_valid_after_utc - first.not_valid_before_utc).total_seconds() == 240
    same_for_all(small, **OF_CERT_MANAGER)
    assert small.lives() == by_cert_manager


@pytest.fixture(scope="module")
def corporate():
    """A CA of someone's company."""
    return certificates.make_ca("corporate", 300 * DAY)


def expired(ca):
    """A certificate that has ended."""
    lately = certificates._now
    certificates._now = lambda: lately() - 10 * DAY
    try:
        return certificates.issue(ca, "gateway", [NAME], DAY)
    finally:
        certificates._now = lately


@pytest.fixture(scope="module")
def wrong(federation, corporate):
    """One run with a hub for each certificate that sites would refuse; none of them may get as far as a namespace."""
    stranger = certificates.make_ca("stranger", DAY)
    good = certificates.issue(corporate, "gateway", [NAME], 9 * DAY)
    given = {
        "foreign-key": (good.certificate, certificates.issue(corporate, "x", ["x"], DAY).key, corporate),
        "missing-name": (
            *_pair(certificates.issue(corporate, "gateway", ["other.example", "192.0.2.1"], DAY)),
            corporate,
        ),
        "ended": (*_pair(expired(corporate)), corporate),
        "untrusted": (*_pair(certificates.issue(stranger, "gateway", [NAME], DAY)), corporate),
    }
    variables = {
        name: {
            "superlink_certificates_source": "existing", "superlink_certificate": certificate,
            "superlink_certificate_key": key, "superlink_ca_bundle": ca.certificate,
        }
        for name, (certificate, key, ca) in given.items()
    }  # fmt: skip
    variables["no-issuer"] = {"superlink_certificates_source": "cert_manager", "superlink_issuer": {"name": "nobody"}}
    variables["no-secret"] = {"superlink_certificates_source": "existing", "superlink_certificate_secret": "nothing"}
    for name, (_certificate, key, _ca) in given.items():
        federation.secrets[key.splitlines()[1]] = f"key of {name}"
    play = [{"hosts": "all", "gather_facts": False, "roles": ["federated.flower.superlink"], "tasks": [], "pre_tasks": [
        {"ansible.builtin.import_role": {"name": "federated.flower.superlink", "tasks_from": "preflight"}}]}]  # fmt: skip
    path = federation.folder / "wrong-certificates.yml"
    path.write_text(json.dumps(play))
    base = {"flower_context": "hub", "superlink_exposure": "node_port", "flower_sites_group": "none"}
    spaces = {name: f"{NAMESPACE}-wrong-{name}" for name in variables}
    hubs = {
        name: {**base, "flower_namespace": spaces[name], "flower_ca_namespace": f"{spaces[name]}-ca", **one}
        for name, one in variables.items()
    }
    settled = federation.settled
    run = federation.play(str(path), hosts=hubs, rc=2)
    federation.settled = settled
    assert federation.gone("hub", *spaces.values(), *(f"{space}-ca" for space in spaces.values())), "something was made"
    return run


def _pair(issued):
    return issued.certificate, issued.key


WRONG = {
    "foreign-key": ["superlink_certificate_key belongs to another certificate than CN=gateway"],
    "missing-name": [
        f"superlink_certificate does not cover {NAME}",
        "it covers other.example, 192.0.2.1",
        "flower_server_name",
    ],
    "ended": ["CN=gateway expired on", "the clock of the controller shows"],
    "untrusted": [
        "its chain ends in CN=stranger, a root that is not among the trusted ones",
        "Trusted are CN=corporate (superlink_ca_bundle)",
    ],
    "no-issuer": ["superlink_"],  # what it says depends on whether cert-manager is there: below
    "no-secret": [f"there is no Secret 'nothing' in namespace {NAMESPACE}-wrong-no-secret"],
}


@pytest.mark.parametrize("host", WRONG)
def test_wrong_certificate(wrong, host):
    words = wrong.messages(host, failed=True)
    assert words.startswith(f"{host}: "), f"the host is not named: {words!r}"
    missing = [word for word in WRONG[host] if word not in words]
    assert not missing, f"{missing} not in {words!r}"
    assert "PRIVATE KEY" not in wrong.output


def test_an_issuer_that_is_not_there(wrong, federation):
    words = wrong.messages("no-issuer", failed=True)
    served = federation.hub.request("GET", "/apis")["groups"]
    if any(group["name"] == "cert-manager.io" for group in served):
        assert f"superlink_issuer: Issuer 'nobody' does not exist in namespace {NAMESPACE}-wrong-no-issuer" in words
    else:
        assert "does not serve Certificate (cert-manager.io/v1); install cert-manager there" in words


def test_cert_manager_renews_by_itself(small, by_cert_manager):
    """cert-manager, the kubelet and the gateway do it; there was no other change since the last run."""
    began, first = time.monotonic(), small.served()
    small.of.wait("a renewed certificate at the gateway", lambda: small.served() != first, 150)
    print(f"renewed certificate served automatically, seen after {time.monotonic() - began:.0f} s")
    assert small.lives() == by_cert_manager and small.online() == 1


def test_cert_manager_gets_another_ca(small, by_cert_manager):
    """Sites trust the new CA before its first certificate is served, and the old one until someone says it is over."""
    set_ca(small, "root-two")
    small.play("site", **OF_CERT_MANAGER)
    assert certificates.split(small.published()["ca.crt"])[1:], "the new CA is not published"
    issued = "superlink-gateway-issued"
    small.of.wait("a certificate of the new CA", lambda: "CN=root-two" in issuer_of(small.held(issued)), 60)
    # A run asks the kubelet to hurry.
    run = small.play("site", **OF_CERT_MANAGER)
    small.of.wait("it at the gateway", lambda: "CN=root-two" in issuer_of(small.served()), 20)
    subjects = [certificates.describe(part)["subject"] for part in certificates.split(small.published()["ca.crt"])]
    assert sorted(subjects) == ["CN=root-one", "CN=root-two"]
    assert "CN=root-one" in run.warnings() and "flower_forget_cas" in run.warnings()
    small.play("site", "-e", "flower_forget_cas=true", **OF_CERT_MANAGER)
    assert "root-one" not in str(
        [certificates.describe(part)["subject"] for part in certificates.split(small.published()["ca.crt"])]
    )
    assert small.lives() == by_cert_manager and small.online() == 1


def store(small, issued, ca):
    """Put a certificate into the Secret that someone keeps."""
    from ansible_collections.federated.flower.plugins.plugin_utils.base.secret_data import encode

    data = {"tls.crt": issued.certificate, "tls.key": issued.key, "ca.crt": ca.certificate}
    meta = {"name": "mine", "namespace": SPACE}
    data = {key: encode(value) for key, value in data.items()}
    small.hub.apply({"apiVersion": "v1", "kind": "Secret", "metadata": meta, "type": "kubernetes.io/tls", "data": data})


def test_existing_after_cert_manager(small, corporate):
    variables = {"superlink_certificates_source": "existing", "superlink_certificate_secret": "mine"}
    nodes = small.of.lives("site-a", SPACE)
    address = (
        small.published()["address"].rpartition(":")[0]
        if small.hub.get("v1", "ConfigMap", "flower-federation", SPACE)
        else ""
    )
    store(small, certificates.issue(corporate, "gateway", [NAME, address or "192.0.2.1"], 90 * DAY), corporate)
    before = small.serial() if address else ""
    run = small.play("site", **variables)
    if address:
        assert "the gateway keeps the certificate of Secret" in run.warnings()
        assert small.serial() == before or "corporate" not in issuer_of(small.served())
        run = small.play("site", **variables)
        small.of.wait("the new certificate", lambda: "CN=corporate" in issuer_of(small.served()), 60)
    same_for_all(small, **variables)
    # Renewed by its owner: the next run serves it at once, without a restart.
    lives = small.lives()
    host = small.published()["address"].rpartition(":")[0]
    store(small, certificates.issue(corporate, "gateway", [NAME, host], 90 * DAY), corporate)
    before = small.serial()
    small.play("site", **variables)
    small.of.wait("the renewed certificate", lambda: small.serial() != before, 20)
    assert small.lives() == lives and small.online() == 1
    assert small.of.lives("site-a", SPACE) == nodes or not nodes


@pytest.mark.soak  # the way from cert-manager to existing certificates is the same
def test_builtin_after_existing(small):
    nodes = small.of.lives("site-a", SPACE)
    if small.hub.get("v1", "ConfigMap", "flower-federation", SPACE):
        assert "the gateway keeps the certificate of Secret" in small.play("site").warnings()
    small.play("site")
    small.of.wait("a certificate of the own CA", lambda: "scenario federation CA" in issuer_of(small.served()), 60)
    small.play("site")  # now that the own CA's certificate is served, the previous ones are not trusted any longer
    certificate, report = same_for_all(small)
    assert [one["subject"] for one in report["hub"]["trust"]] == ["CN=scenario federation CA"]
    # Renewed because it is due, here for want of a name.
    lives = small.lives()
    more = {"superlink_certificate_names": ["more.example"]}
    assert small.play("site", **more).changed["hub"]
    small.of.wait("the renewed certificate", lambda: small.served() != certificate, 20)
    assert small.lives() == lives and small.online() == 1
    assert small.of.lives("site-a", SPACE) == nodes or not nodes
