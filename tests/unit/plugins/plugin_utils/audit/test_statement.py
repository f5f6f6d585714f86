# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a statement on a site that left says, and that it cannot be changed."""

from __future__ import annotations

import datetime
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.audit import signed_files
from ansible_collections.federated.flower.plugins.plugin_utils.audit import statement as leaving
from ansible_collections.federated.flower.plugins.plugin_utils.audit.hash_chain import START, Entry, seal
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates, signatures

KEY = {"pool": "gpu", "name": "supernode-gpu-0", "node_id": "17", "fingerprint": "SHA256:abc"}
JOINED = {
    "objects": [
        {"change": "created", "object": "Namespace flower"},
        {"change": "created", "object": "StatefulSet flower/supernode-gpu"},
        {"change": "created", "object": "ClusterRole flower-nodes"},
    ],
    "keys": [{**KEY, "change": "registered"}],
}
REMOVED = {"objects": [{"change": "deleted", "object": "Namespace flower"}], "words": ["3 objects deleted"]}
FORGOTTEN = {
    "keys": [{**KEY, "change": "retired"}],
    "certificates": [{"change": "revoked", "serial": "4f2a"}],
    "words": ["forgotten"],
}


def trail(*contents: dict[str, Any]) -> list[Entry]:
    entries: list[Entry] = []
    for number, content in enumerate(contents, 1):
        common = {"time": f"2026-11-{number:02}T10:00:00+00:00", "playbook": "teardown", "who": {"user": "jane", "host": "laptop"}}
        entries.append(seal({**common, **content}, number, entries[-1]["hash"] if entries else START))
    return entries


def stated(*contents: dict[str, Any]) -> leaving.Statement:
    return leaving.state(trail(*contents), "lab", federation="flower", hub="hub, namespace flower", time="2026-11-23T10:00:00+00:00")


def test_what_it_says() -> None:
    other = {"sites": {"other": FORGOTTEN}}
    found = stated({"sites": {"lab": JOINED}}, other, {"sites": {"lab": {**REMOVED, **FORGOTTEN, "objects": REMOVED["objects"]}}}, other)
    assert found["unregistered"] == [{**KEY, "change": "retired"}]
    assert found["revoked"] == ["4f2a"] and found["deleted"] == ["Namespace flower"]
    assert found["left"] == ["ClusterRole flower-nodes"], "what was in the namespace is gone with it"
    assert [one["entry"] for one in found["entries"]] == [3] and found["entries"][0]["who"] == "jane@laptop"


def test_several_attempts_belong_to_one_leaving() -> None:
    failed = {"sites": {"other": FORGOTTEN}, "failed": {"lab": "lab: https://lab:6443 does not answer"}}
    found = stated({"sites": {"lab": JOINED}}, failed, {"sites": {"lab": REMOVED}}, {"sites": {"lab": FORGOTTEN}})
    assert [one["entry"] for one in found["entries"]] == [2, 3, 4]
    assert found["out_of_reach"] == [{"entry": 2, "message": "lab: https://lab:6443 does not answer"}]


@pytest.mark.parametrize(
    "contents",
    [
        [],
        [{"sites": {"lab": JOINED}}],
        [{"sites": {"lab": JOINED}}, {"sites": {"lab": FORGOTTEN}}, {"sites": {"lab": JOINED}}],  # it came back
        [{"sites": {"lab": JOINED}}, {"sites": {"lab": {"objects": [{"change": "changed", "object": "ConfigMap a/b"}]}}}],
        [{"sites": {"other": FORGOTTEN}}],
    ],
)
def test_a_site_that_did_not_leave(contents: list[dict[str, Any]]) -> None:
    assert leaving.entries_of(trail(*contents), "lab") == []


def test_volumes_are_kept_or_deleted_by_choice() -> None:
    kept = {"change": "kept", "claim": "flower/a", "storage": "Delete", "choice": "flower_delete_volumes is not set"}
    gone = [{"change": "deleted", "claim": f"flower/{name}", "storage": name, "choice": "x"} for name in ("Delete", "Retain", "unknown")]
    first, second = {**REMOVED, "volumes": [kept]}, {**REMOVED, **FORGOTTEN, "objects": REMOVED["objects"], "volumes": gone}
    found = stated({"sites": {"lab": JOINED}}, {"sites": {"lab": first}}, {"sites": {"lab": second}})
    assert found["volumes"] == [kept, *gone]
    text = leaving.text(found)
    for line in (
        "flower/a: kept with its data, flower_delete_volumes is not set",
        "flower/Delete: deleted, its provisioner deletes the storage (reclaim policy Delete)",
        "flower/Retain: deleted, the storage still has the data (reclaim policy Retain)",
        "flower/unknown: deleted, what became of the storage is not known",
    ):
        assert f"  - {line}\n" in text, text
    later = {**second, "volumes": [{**kept, "change": "deleted"}]}
    assert [one["change"] for one in stated({"sites": {"lab": first}}, {"sites": {"lab": later}})["volumes"]] == ["deleted"], "the last counts"


def test_networks_have_their_own_lists() -> None:
    made = [{"change": "created", "object": f"{kind} flower/x"} for kind in ("Link", "Listener", "ManifestWork", "Secret")]
    went = [{"change": "deleted", "object": f"{kind} flower/x"} for kind in ("Link", "ManifestWork", "Secret")]
    found = stated({"sites": {"lab": {"objects": made}}}, {"sites": {"lab": {**FORGOTTEN, "objects": went}}})
    assert found["skupper"] == {"deleted": ["Link flower/x"], "left": ["Listener flower/x"]}
    assert found["ocm"] == {"deleted": ["ManifestWork flower/x"], "left": []}
    assert "Listener flower/x: created and not deleted" in leaving.text(found)


def test_a_site_that_was_only_forgotten_was_out_of_reach() -> None:
    found = stated({"sites": {"lab": JOINED}}, {"sites": {"lab": FORGOTTEN}})
    assert found["out_of_reach"] == [{"entry": 2, "message": leaving.UNTOUCHED}]
    assert found["left"] == ["ClusterRole flower-nodes", "Namespace flower", "StatefulSet flower/supernode-gpu"]


def test_a_statement_of_an_earlier_release_has_a_text() -> None:
    found = stated({"sites": {"lab": JOINED}}, {"sites": {"lab": FORGOTTEN}})
    earlier = {name: value for name, value in found.items() if name not in ("volumes", "skupper", "ocm")}
    assert "Volume claims:\n  - nothing" in leaving.text(earlier)


def test_the_text_has_all_of_it() -> None:
    found = stated({"sites": {"lab": JOINED}}, {"sites": {"lab": {**FORGOTTEN, "objects": REMOVED["objects"]}}})
    text = leaving.text(found)
    said = ("site lab", "node 17", "SHA256:abc", "4f2a", "Namespace flower", "ClusterRole flower-nodes", "Out of reach:\n  - nothing")
    for part in (*said, found["entries"][0]["hash"]):
        assert part in text, part


def test_entries_are_compared_with_the_trail() -> None:
    contents = [{"sites": {"lab": JOINED}}, {"sites": {"lab": FORGOTTEN}}]
    found = stated(*contents)
    assert leaving.differing(found, trail(*contents)) == ""
    assert "entry 2" in leaving.differing(found, trail(contents[0], {"sites": {"lab": REMOVED}}))
    assert "entry 2" in leaving.differing(found, trail(contents[0]))


@pytest.fixture(scope="module")
def ca() -> certificates.Issued:
    return certificates.make_ca("flower clients", datetime.timedelta(days=2))


def test_a_signature_is_of_exactly_this(ca: certificates.Issued) -> None:
    signature = signatures.sign(b"a statement", ca.key)
    assert signatures.is_valid(b"a statement", signature, ca.certificate)
    assert not signatures.is_valid(b"A statement", signature, ca.certificate)
    assert not signatures.is_valid(b"a statement", signature[:-1], ca.certificate)
    other = certificates.make_ca("flower clients", datetime.timedelta(days=2))
    assert not signatures.is_valid(b"a statement", signature, other.certificate)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_openssl_verifies_the_files(ca: certificates.Issued, tmp_path: Path) -> None:
    data = signed_files.content({"site": "Zürich"})
    path = tmp_path / "lab-entry-2.json"
    parts = {".json": data, ".txt": b"text\n", ".sig": signatures.sign(data, ca.key), ".crt": ca.certificate.encode()}
    signed_files.write(path, parts)
    assert sorted(one.name for one in tmp_path.iterdir()) == [f"lab-entry-2{ending}" for ending in (".crt", ".json", ".sig", ".txt")]
    assert signed_files.read(path)[0] == {"site": "Zürich"}

    def verified() -> bool:
        key = tmp_path / "key.pem"
        key.write_bytes(subprocess.run(["openssl", "x509", "-in", path.with_suffix(".crt"), "-pubkey", "-noout"], check=True, capture_output=True).stdout)
        command = ["openssl", "dgst", "-sha256", "-verify", key, "-signature", path.with_suffix(".sig"), path]
        return subprocess.run(command, check=False, capture_output=True).returncode == 0

    assert verified()
    path.write_bytes(data.replace(b"Z", b"X"))
    assert not verified()


@pytest.mark.parametrize("broken", ["", "not JSON", "[]"])
def test_files_that_are_no_statement(tmp_path: Path, broken: str) -> None:
    path = tmp_path / "lab.json"
    with pytest.raises(ClusterError, match=r"lab.json"):
        signed_files.read(path)
    signed_files.write(path, {".json": broken.encode(), ".sig": b"", ".crt": b""})
    with pytest.raises(ClusterError, match=r"lab.json"):
        signed_files.read(path)


def test_the_directory_is_created_but_no_tree_of_them(tmp_path: Path) -> None:
    path = tmp_path / "statements" / "lab.json"
    for _time in range(2):
        signed_files.write(path, {".json": b"{}"})
    assert path.read_bytes() == b"{}"
    with pytest.raises(ClusterError, match="flower_statement_directory"):
        signed_files.write(tmp_path / "statemnets" / "2026" / "lab.json", {".json": b"{}"})
    assert [one.name for one in tmp_path.iterdir()] == ["statements"]


def test_a_directory_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ClusterError, match="flower_statement_directory"):
        signed_files.write(tmp_path / "file" / "lab.json", {".json": b"{}"})
