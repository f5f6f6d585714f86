# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import base64

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from ansible_collections.federated.flower.plugins.plugin_utils.pki import keypairs
from ansible_collections.federated.flower.plugins.plugin_utils.state import key_claims, records
from ansible_collections.federated.flower.tests.unit.rows import each_row

GOOD = keypairs.supernode_public_key(keypairs.make_supernode_key())


def openssh(key):
    return key.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode()


def claim(line, name="0", fingerprint=None):
    return {"pool": "cpu", "name": name, "public_key": line, "fingerprint": fingerprint or keypairs.fingerprint(line)}


def off_the_curve():
    kind, blob = GOOD.split()
    raw = bytearray(base64.b64decode(blob))
    raw[-1] ^= 1
    return f"{kind} {base64.b64encode(bytes(raw)).decode()}"


@each_row("curve", [ec.SECP256R1(), ec.SECP384R1(), ec.SECP521R1()])
def test_keys_on_the_curves_of_openssh_are_taken(curve):
    line = openssh(ec.generate_private_key(curve).public_key())
    assert key_claims.claim_errors({"site-a": [claim(line)]}, {}) == {}
    assert keypairs.check_supernode_key(line + " someone@somewhere") == line


@each_row(
    "line",
    [
        "ecdsa-sha2-nistp384 AAAA",
        GOOD[:-9],
        off_the_curve(),
        openssh(ed25519.Ed25519PrivateKey.generate().public_key()),
        GOOD.replace("nistp384", "nistp256"),
        "ecdsa-sha2-nistp384",
        "",
        "ecdsa-sha2-nistp384 ü",
    ],
)
def test_a_malformed_key_is_refused_for_its_site_alone(line):
    bad = {"pool": "cpu", "name": "1", "public_key": line, "fingerprint": "SHA256:x"}
    found = key_claims.claim_errors({"site-a": [claim(GOOD)], "site-b": [bad]}, {})
    assert list(found) == ["site-b"] and "cpu/1" in found["site-b"] and "Delete this entry" in found["site-b"]


def test_a_fingerprint_of_another_key_is_refused():
    assert "fingerprint" in key_claims.claim_errors({"site-a": [claim(GOOD, fingerprint="SHA256:other")]}, {})["site-a"]


def test_nobody_gets_the_key_of_another_site():
    record = records.merge_keys(records.empty_record("site-a"), [claim(GOOD)], None)
    record["keys"][keypairs.fingerprint(GOOD)]["node_id"] = "7"
    found = key_claims.claim_errors({"site-a": [claim(GOOD)], "site-b": [claim(GOOD)]}, {"site-a": record})
    assert list(found) == ["site-b"] and "it is the key of site-a" in found["site-b"]
    both = key_claims.claim_errors({"site-a": [claim(GOOD)], "site-b": [claim(GOOD)]}, {})
    assert set(both) == {"site-a", "site-b"}, "nobody knows whose it is"


def test_what_the_hub_does_not_take_from_a_site():
    other = records.empty_record("site-b")
    other["keys"] = {"registered": {"node_id": "7", "dead": False}, "planned": {"node_id": None, "dead": False}}
    other["retired"] = {"retired": {}}
    own = records.empty_record("site-a")
    own["keys"] = {"own": {"node_id": "8", "dead": False}, "dead": {"node_id": "9", "dead": True}}
    found = key_claims.rejected_keys("site-a", {"site-a": own, "site-b": other}, ["left"])
    assert set(found) == {"registered", "retired", "dead", "left"}
    assert found["registered"] == "it is the key of site-b at the hub"
    assert all("unregistered" in found[name] for name in ("retired", "dead", "left"))


def test_keys_that_the_hub_has_under_another_name():
    renamed = records.merge_keys(records.empty_record("site-b"), [claim(GOOD), {**claim(GOOD), "fingerprint": "SHA256:planned"}], None)
    renamed["keys"][keypairs.fingerprint(GOOD)]["node_id"] = "7"
    held = [claim(GOOD), {**claim(GOOD), "fingerprint": "SHA256:planned"}]
    assert key_claims.keys_of_others("clinic-b", held, {"site-b": renamed}) == [keypairs.fingerprint(GOOD)]
    assert key_claims.keys_of_others("site-b", held, {"site-b": renamed}) == []
