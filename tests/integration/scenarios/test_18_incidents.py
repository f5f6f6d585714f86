# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the guide on rotation says to do in an emergency, done: each incident is caused, detected, and resolved with its commands."""

from __future__ import annotations

import datetime

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.secret_data import encode, entries
from ansible_collections.federated.flower.plugins.plugin_utils.kube import stuck_pods
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates

DAY = datetime.timedelta(days=1)
SITES = ("site-a", "site-b")
AT_ONCE = ("-e", "cert_rotation_grace=0")
GATEWAY = "superlink-gateway-tls"
SHAKE = {}  # a call without a path only shakes hands


def secret(fed, name, namespace=None):
    return fed.hub.get("v1", "Secret", name, namespace or fed.namespace)


def write(fed, name, data, namespace=None):
    """Change a Secret on the hub, as someone with a text editor would."""
    live = secret(fed, name, namespace)
    fed.hub.replace({**live, "data": {**live["data"], **{key: encode(text) for key, text in data.items()}}})


def authority(fed):
    held = entries(secret(fed, "flower-ca", fed.common["flower_ca_namespace"]))
    return certificates.Issued(held["tls.crt"], held["tls.key"])


def mended(fed):
    """Every site accepts what the gateway serves, and all SuperNodes are online."""
    serial = certificates.describe(entries(secret(fed, GATEWAY))["tls.crt"])["serial"]
    for site in SITES:
        fed.wait("its proof", lambda site=site: fed.probe(site) == (200, {"serial": serial, "cn": site}), 30)
    fed.wait_online(*(node for site in SITES for node in fed.keys(site).values()))


def serve(fed, issued, trusted=None):
    """Let the gateway serve a certificate that sites cannot accept; returns when they do not."""
    data = {"tls.crt": issued.certificate, "tls.key": issued.key}
    write(fed, GATEWAY, {**data, "ca.crt": trusted} if trusted else data)
    stuck_pods.touch_pods(fed.hub, fed.namespace, "app.kubernetes.io/name=superlink")
    for site in SITES:
        fed.wait(f"{site} shut out", lambda site=site: fed.probe(site)[0] == 503, 60)


def rotate(fed, *arguments, rc=0):
    return fed.play("rotate_certs", *arguments, rc=rc)


def test_the_gateways_certificate_has_ended(fed, monkeypatch):
    ca, names = authority(fed), certificates.describe(entries(secret(fed, GATEWAY))["tls.crt"])["names"]
    past = datetime.datetime.now(datetime.timezone.utc) - 100 * DAY
    with monkeypatch.context() as patch:
        patch.setattr(certificates, "_now", lambda: past)
        ended = certificates.issue(ca, "superlink", names, 90 * DAY)
    lives = [fed.lives(site) for site in SITES]
    serve(fed, ended)
    rotate(fed)
    mended(fed)
    assert [fed.lives(site) for site in SITES] == lives, "a SuperNode was restarted"


def test_a_certificate_of_a_wrong_ca(fed):
    strange = certificates.make_ca("strange", 90 * DAY)
    names = certificates.describe(entries(secret(fed, GATEWAY))["tls.crt"])["names"]
    serve(fed, certificates.issue(strange, "superlink", names, 90 * DAY), strange.certificate)
    told = "\n".join(fed.play("status").table)
    assert "sites refuse the gateway's certificate" in told and "CN=strange" in told, told
    rotate(fed)
    mended(fed)


def test_keys_of_a_site_were_stolen(fed):
    """The old keys and the old certificate are useless; the site itself is back with new ones."""
    before, others = fed.keys("site-a"), (fed.keys("site-b"), fed.lives("site-b"))
    stolen = fed.identity("site-a")
    site = ("-e", "flower_site=site-a")
    fed.play("site_access", *site, "-e", "flower_access=denied", "-e", "flower_reason='stolen keys'")
    rotate(fed, "-e", "flower_rotate=client", "--limit", "site-a")
    rotate(fed, "-e", "flower_rotate=supernode_keys", "--limit", "site-a")
    fed.play("site_access", *site, "-e", "flower_access=admitted")
    mended(fed)
    assert not set(before.values()) & set(fed.keys("site-a").values())
    nodes = fed.nodes()
    assert {nodes[node] for node in before.values()} == {"unregistered"}
    assert fed.call([SHAKE], stolen)[0]["alert"] == "SSLV3_ALERT_CERTIFICATE_REVOKED"
    assert fed.call([SHAKE], fed.identity("site-a"))[0]["alert"] is None
    assert (fed.keys("site-b"), fed.lives("site-b")) == others


def test_the_key_of_the_ca_is_lost(fed):
    """The old certificate is served until the next CA has been proved."""
    old = authority(fed)
    write(fed, "flower-ca", {"tls.key": ""}, fed.common["flower_ca_namespace"])
    told = fed.play("site", rc=2).messages(failed=True)
    assert "rotate_certs" in told, told
    rotate(fed, *AT_ONCE)
    mended(fed)
    assert authority(fed).certificate != old.certificate and authority(fed).key


@pytest.mark.soak  # test_19_lost has the short form: the namespace of all CAs
def test_the_ca_is_lost(fed):
    """The first run of site.yml brings another CA to all sites, beside the lost one, the second has it served, the third drops the lost one."""
    old, ca_namespace = authority(fed), fed.common["flower_ca_namespace"]
    fed.hub.delete("v1", "Secret", "flower-ca", ca_namespace, propagation="Background")
    told = rotate(fed, rc=2).messages(failed=True)
    assert "flower-ca" in told and "site" in told, told
    fed.site()
    assert authority(fed).certificate != old.certificate
    fed.site()
    mended(fed)
    assert certificates.reissue_reason(entries(secret(fed, GATEWAY))["tls.crt"], authority(fed).certificate, []) is None
    fed.site()
    published = fed.hub.get("v1", "ConfigMap", "flower-federation", fed.namespace)["data"]["ca.crt"]
    assert published.strip() == authority(fed).certificate.strip()
    fed.unchanged()
