# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PEM that YAML or an editor changed: it is written anew where the collection writes it, and refused where others do."""

from __future__ import annotations

import datetime
import ssl
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base import secret_data
from ansible_collections.federated.flower.plugins.plugin_utils.base.secret_data import entries
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates, chain
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.certificate_plan import Wanted
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.certificate_sources import (
    existing_secret,
    existing_values,
    handed_in,
)
from ansible_collections.federated.flower.tests.unit import specs
from ansible_collections.federated.flower.tests.unit.hub_objects import live_objects
from ansible_collections.federated.flower.tests.unit.rows import each_row
from ansible_collections.federated.flower.tests.unit.specs import superlink_faults, supernode_faults

CA = certificates.make_ca("root", datetime.timedelta(days=9))
LEAF = certificates.issue(CA, "hub", ["hub.example.com"], datetime.timedelta(days=3))


def unwrapped(pem: str) -> str:
    """Each block on a line of its own between its boundaries."""
    return "".join(
        f"-----BEGIN {label}-----\n{''.join(block.splitlines()[1:-1])}\n-----END {label}-----\n" for label, block in certificates.blocks(pem)
    )


FORMS = {
    "folded": lambda pem: pem.replace("\n", " "),
    "indented": lambda pem: "".join(f"    {line}\n" for line in pem.splitlines()),
    "indented by tabs": lambda pem: "".join(f"\t{line}\n" for line in pem.splitlines()),
    "no line ends at all": lambda pem: pem.replace("\n", ""),
    "of one line": unwrapped,
    "Windows": lambda pem: pem.replace("\n", "\r\n"),
    "old Macintosh": lambda pem: pem.replace("\n", "\r"),
    "blank lines": lambda pem: pem.replace("\n", "\n\n"),
    "blanks at line ends": lambda pem: pem.replace("\n", " \n"),
    "first line indented": lambda pem: "  " + pem,
    "with comments": lambda pem: f"# Soci\u00e9t\u00e9\n{pem}# the end",
}
AS_IT_IS = ("Windows", "blanks at line ends")  # OpenSSL reads these


def loads(folder: Path, certificate: str, key: str) -> bool:
    """Whether OpenSSL reads a certificate and its key."""
    (folder / "tls.crt").write_text(certificate, encoding="utf-8", newline="")
    (folder / "tls.key").write_text(key, encoding="utf-8", newline="")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(folder / "tls.crt", folder / "tls.key")
    except ssl.SSLError:
        return False
    return True


def trusts(bundle: str) -> int:
    """How many certificates OpenSSL reads of a bundle."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=bundle)
    return context.cert_store_stats()["x509"]


@pytest.fixture
def wanted() -> Wanted:
    year = datetime.timedelta(days=365)
    return Wanted(federation="flower", namespace="flower", ca_namespace="flower-ca", names=["hub.example.com"], ca_lifetime=year, lifetime=year)


@pytest.mark.parametrize("form", FORMS)
def test_what_is_written_here_is_read_by_openssl(form: str, tmp_path: Path, wanted: Wanted) -> None:
    change = FORMS[form]
    plan = existing_values(change(LEAF.certificate), change(LEAF.key), change(CA.certificate), wanted, live_objects())
    assert plan.faults == []
    written = entries(plan.secrets[0])
    assert written == {"tls.crt": LEAF.certificate, "tls.key": LEAF.key, "ca.crt": CA.certificate}
    assert loads(tmp_path, written["tls.crt"], written["tls.key"]) and trusts(written["ca.crt"]) == 1
    own = handed_in(change(CA.certificate), change(CA.key))
    assert (own.certificate, own.key) == (CA.certificate, CA.key)


@each_row("form", FORMS)
def test_bundles_of_sites_hubs_and_tracking_servers_are_written_anew(form: str, parsed_site: Any, parsed_hub: Any, superlink_spec: Any) -> None:
    both = FORMS[form](CA.certificate + specs.CA)
    tracking = {"uri": "https://mlflow.example.com", "ca": both}
    assert superlink_faults(superlink_spec(ca_bundle=both, tracking=tracking)) == []
    hub = parsed_hub(ca_bundle=both, tracking=tracking)
    for found in (parsed_site(ca_bundle=both).ca_bundle, hub.ca_bundle, hub.tracking.ca):
        assert found == CA.certificate + specs.CA and trusts(found) == 2


@pytest.mark.parametrize("form", FORMS)
def test_a_secret_of_others_is_used_only_if_openssl_reads_it(form: str, tmp_path: Path, wanted: Wanted) -> None:
    for certificate, key in ((FORMS[form](LEAF.certificate), LEAF.key), (LEAF.certificate, FORMS[form](LEAF.key))):
        if not certificate.isascii() or not key.isascii():
            continue  # an entry that is no ASCII text is reported as missing
        data = {"tls.crt": certificate, "tls.key": key, "ca.crt": FORMS[form](CA.certificate).replace("\u00e9", "e")}
        mine = secret_data.secret("flower", "flower", "mine", data, application="superlink")
        plan = existing_secret("mine", "", wanted, live_objects(mine))
        good = loads(tmp_path, certificate, key)
        assert good == (plan.faults == []), (form, plan.faults)
        assert good == certificates.is_readable(certificate + "\n" + key)
        assert good == (chain.unusable(certificate, key) is None), "and one of our own that someone changed is replaced"
        assert plan.trust == CA.certificate
        if form in AS_IT_IS:
            assert good
        else:
            assert good or "superlink_certificate_secret: tls." in plan.faults[0]


@each_row(
    ("pem", "words"),
    [
        ("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n", "cannot be read"),
        (CA.certificate.replace("MII", "AII", 1), "cannot be read"),
        (CA.certificate.replace("-----END CERTIFICATE-----", ""), "complete blocks"),
        (CA.certificate.replace("\n", "\\n"), "complete blocks"),
        (CA.certificate.replace("CERTIFICATE-----", "TRUSTED CERTIFICATE-----"), "complete blocks"),
        (CA.certificate + CA.certificate.replace("CERTIFICATE-----", "X509 CERTIFICATE-----"), "complete blocks"),
        (CA.certificate + CA.key, "contains a private key"),
        ("/etc/ssl/ca.crt", "is not a PEM certificate"),
        ({"a": 1}, "is not a text"),
    ],
)  # fmt: skip
def test_what_is_no_certificate_is_refused_by_its_variable(pem: Any, words: str, superlink_spec: Any, supernode_spec: Any) -> None:
    found = superlink_faults(superlink_spec(ca_bundle=pem)) + supernode_faults(supernode_spec(ca_bundle=pem))
    assert [one.partition(": ")[2].partition(":")[0] for one in found] == ["superlink_ca_bundle", "supernode_ca_bundle"]
    assert all(words in one and CA.key[40:80] not in one for one in found)
