# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What live objects say of the gateway."""

from __future__ import annotations

import datetime

from ansible_collections.federated.flower.plugins.plugin_utils.base.secret_data import secret
from ansible_collections.federated.flower.plugins.plugin_utils.hub import live_certificates
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates
from ansible_collections.federated.flower.tests.unit import specs

DAY = datetime.timedelta(days=1)
NOW = datetime.datetime.now(datetime.timezone.utc)
CA = certificates.make_ca("ca", 99 * DAY)
LEAF = certificates.issue(CA, "hub", ["hub.example"], 9 * DAY)


def facts(certificate=LEAF.certificate, published=CA.certificate, now=NOW):
    data = {"tls.crt": certificate} if certificate else {}
    return live_certificates.served(
        "mine", secret("demo", "flower", "mine", data, application="superlink"), published, now
    )


def test_mounted_secret(superlink_spec):
    for changes, name in (
        ({}, "superlink-gateway-tls"),
        ({"gateway_secret": "mine"}, "mine"),
        ({"insecure": True, "client_certificates": "none"}, ""),
    ):
        objects = specs.superlink_objects(superlink_spec(**changes))
        (workload,) = (
            one for one in objects if (one["kind"], one["metadata"]["name"]) == ("StatefulSet", "superlink")
        )
        assert live_certificates.mounted_secret(workload) == name
    assert live_certificates.mounted_secret(None) == live_certificates.mounted_secret({"kind": "StatefulSet"}) == ""


def test_served():
    certificate, trust = facts()
    assert certificate["fault"] == "" and certificate["names"] == ["hub.example"] and certificate["secret"] == "mine"
    assert certificate["fingerprint"] == certificates.describe(LEAF.certificate)["fingerprint"]
    assert [one["subject"] for one in trust] == ["CN=ca"]


def test_faults():
    other = certificates.make_ca("other", DAY).certificate
    assert "ends in CN=ca, a root that is not among the trusted" in facts(published=other)[0]["fault"]
    assert "CN=hub expired on" in facts(now=NOW + 10 * DAY)[0]["fault"]
    assert facts(certificate="")[0] == {"secret": "mine", "fault": "tls.crt of Secret mine is empty"}
    assert live_certificates.served("mine", None, CA.certificate, NOW)[0]["fault"]
    assert facts(published="") == ({**facts()[0], "fault": "", "ca": {}}, [])


def test_the_ca_that_ends_first():
    assert facts()[0]["ca"] == {name: certificates.describe(CA.certificate)[name] for name in ("subject", "not_before", "not_after")}
