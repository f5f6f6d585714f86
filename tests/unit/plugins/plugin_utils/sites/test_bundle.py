# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A site that gives no access: bundles, what its job seals, replies, and what is refused. The hub's ledger is in memory."""

from __future__ import annotations

import copy
import datetime
import hashlib
import json
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.names import CLIENT_KEY
from ansible_collections.federated.flower.plugins.plugin_utils.base.object_names import SiteAccess
from ansible_collections.federated.flower.plugins.plugin_utils.base.secret_data import entries
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import gitops as texts
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import supernode
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates, keypairs, signatures
from ansible_collections.federated.flower.plugins.plugin_utils.rotation import clients
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.site_proof import Proof
from ansible_collections.federated.flower.plugins.plugin_utils.site_keys import maker, public, reply
from ansible_collections.federated.flower.plugins.plugin_utils.sites import bundle as reach
from ansible_collections.federated.flower.plugins.plugin_utils.sites import bundle_draft as drafts
from ansible_collections.federated.flower.plugins.plugin_utils.sites import bundle_files
from ansible_collections.federated.flower.plugins.plugin_utils.sites.bundle_keeper import Keeper
from ansible_collections.federated.flower.plugins.plugin_utils.sites.site import Restart, Site
from ansible_collections.federated.flower.plugins.plugin_utils.spec.site_spec import SiteSpec
from ansible_collections.federated.flower.plugins.plugin_utils.state import records
from ansible_collections.federated.flower.tests.unit.specs import supernode_faults

YEAR = datetime.timedelta(days=365)
CA = certificates.make_ca("client CA", YEAR)
TRUST = certificates.make_ca("hub CA", YEAR).certificate
OWNER_UID = "1-2-3"


@cache
def manifest(objects: str) -> str:
    """The text of objects in JSON; PyYAML takes most of the time of these tests for it."""
    return texts.manifest(json.loads(objects))


@pytest.fixture(autouse=True)
def each_text_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle_files, "manifest", lambda objects: manifest(json.dumps(objects)))


class Ledger:
    """The ledger of a hub, in memory."""

    federation = "demo"

    def __init__(self) -> None:
        self.bundles: dict[str, dict[str, Any]] = {}
        self.records: dict[str, records.Record] = {}

    def read_bundle(self, site: str) -> dict[str, Any]:
        return json.loads(json.dumps(self.bundles.get(site, {})))

    def change_bundle(self, site: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> bool:
        self.bundles[site] = json.loads(json.dumps(change(self.read_bundle(site))))
        return True

    def read_record(self, site: str) -> records.Record | None:
        return copy.deepcopy(self.records.get(site))


class Store:
    """The CA of the client certificates."""

    def read(self) -> dict[str, Any] | None:
        return {"data": {"ca.crt": CA.certificate}}

    def settings(self, live: dict[str, Any]) -> clients.Settings:
        return clients.Settings("demo", "flower", "flower-ca", 90)

    def authority(self, settings: clients.Settings) -> certificates.Issued:
        return CA


class NoStore(Store):
    """A hub that is not deployed yet, or that requests no client certificates."""

    def read(self) -> dict[str, Any] | None:
        return None


class Run:
    """A run that notes what it changed."""

    check = False
    show_diff = True
    rendering = False

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, site: str | None = None, **facts: Any) -> None:
        self.notes += facts.get("words", [])


class Scene:
    """A hub, a site's cluster that the hub does not see, and the steps between them."""

    def __init__(self, folder: Path, make: Callable[..., dict[str, Any]]) -> None:
        self.folder, self.make = folder, make
        folder.mkdir(exist_ok=True)
        self.ledger = Ledger()
        self.store = Store()
        self.identity = "hub-1"
        self.run = Run()
        self.live: dict[str, dict[str, Any]] = {}
        self.trust = TRUST
        self.given: dict[str, Any] = {"pools": [{"name": "cpu", "replicas": 2, "node_config": {"p": "{partition}"}}]}

    @property
    def home(self) -> Path:
        return self.folder / "site-a"

    def spec(self) -> SiteSpec:
        given = self.make(
            federation="demo", namespace="lab", cluster="site-a", delivery="bundle", key_source="site", bundle_directory=str(self.folder), **self.given
        )  # fmt: skip
        assert supernode_faults(given) == []
        made = SiteSpec.parse(given)
        pools = {pool.name: {"offset": 4, "partitions": 9} for pool in made.pools}
        return replace(made, superlink_address="10.1.2.3:30992", ca_bundle=self.trust, allocation=pools)

    def way(self, *, check: bool = False) -> reach.Backend:
        self.run.check = check
        site = Site("site-a", self.spec(), SiteAccess("bundle", "site", "direct"), "hub", identity=self.identity)
        way = reach.Backend(self.run, site)
        way.keeper = Keeper("site-a", self.ledger, self.store, check=check)
        return way

    def deploy(self, dead: list[str] | None = None, *, check: bool = False) -> Any:
        """The part of a rollout that concerns the site."""
        way = self.way(check=check)
        made = way.make_keys(way.site.spec.allocation, dead or [])
        record = self.ledger.records.get("site-a") or records.empty_record("site-a")
        record = records.merge_keys(record, made.keys, None)
        if made.client_request:
            record, _why = clients.certify(
                record, made.client_request, site="site-a", settings=Store().settings({}), ca_certificate=CA.certificate, ca=lambda: CA
            )
        if not check:
            self.ledger.records["site-a"] = record
        certificate = (record.get("client") or {}).get("certificate", "") or made.certificate
        way.site.spec = replace(way.site.spec, client_certificate=certificate)
        self.made = made
        return way.apply(supernode.objects(way.site.spec), lambda: None)

    def objects(self) -> dict[tuple[str, str], dict[str, Any]]:
        """What kubectl would apply of the bundle."""
        wanted = yaml.load((self.home / "kustomization.yaml").read_text(), Loader=yaml.CSafeLoader)
        found = [one for path in wanted["resources"] for one in yaml.load_all((self.home / path).read_text(), Loader=yaml.CSafeLoader)]
        for one in wanted["configMapGenerator"]:
            pairs = (entry.split("=") for entry in one["files"])
            meta = {"name": one["name"], "namespace": one["namespace"], "labels": one["options"]["labels"]}
            found.append({"kind": "ConfigMap", "metadata": meta, "data": {key: (self.home / path).read_text() for key, path in pairs}})
        return {(one["kind"], one["metadata"]["name"]): one for one in found}

    def job(self) -> dict[str, Any]:
        """What the job of the bundle does in the site's cluster; returns the ConfigMap that the site sends."""
        objects = self.objects()
        request = json.loads(objects["ConfigMap", drafts.PROGRAM]["data"]["request.json"])
        request["owner"]["uid"] = OWNER_UID
        decision = maker.decide(request, self.live)
        for secret in decision.writes:
            name = secret["metadata"]["name"]
            stored = copy.deepcopy(secret)
            stored["metadata"].update(uid=f"uid of {name}", resourceVersion=str(len(self.live) + 7))
            self.live[name] = stored
        for secret in decision.deletes:
            del self.live[secret["metadata"]["name"]]
        published = public.record("demo", "lab", self.live, request["client"], decision.client_request)
        trust = objects["ConfigMap", "supernode-trust"]["data"]["ca.crt"].encode()
        self.printed = reply.seal(published, request["binding"], trust, self.live)
        return published

    def answer(self, sent: dict[str, Any]) -> str:
        """Take a reply; returns why it is refused."""
        keeper = Keeper("site-a", self.ledger, Store(), check=False)
        answer = reply.opened(json.loads(json.dumps(sent)))
        fault = keeper.fault(answer, answer.fingerprint)
        if not fault:
            keeper.take(answer)
        return fault

    def fingerprints(self) -> list[str]:
        held = entries(self.live["supernode-cpu-keys"])
        return [keypairs.fingerprint(keypairs.supernode_public_key(held[name])) for name in sorted(held)]

    def verify(self, *told: str) -> tuple[int, str]:
        """What the site's check says."""
        words = told or (bundle_files.fingerprint(CA.certificate),)
        done = subprocess.run(["sh", "verify.sh", *words], cwd=self.home, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def contents(self) -> dict[str, bytes]:
        return {path.relative_to(self.folder).as_posix(): path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}


@pytest.fixture
def scene(tmp_path: Path, supernode_spec: Callable[..., dict[str, Any]]) -> Scene:
    return Scene(tmp_path / "here", supernode_spec)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """What there is of a site that has joined, for C(joined)."""
    return SimpleNamespace(folder=tmp_path_factory.mktemp("joined"), state=None)


@pytest.fixture
def joined(kept: SimpleNamespace, supernode_spec: Callable[..., dict[str, Any]]) -> Scene:
    """A site that has joined: it does so once, and each test begins with a copy of that."""
    here, stored = kept.folder / "here", kept.folder / "stored"
    shutil.rmtree(here, ignore_errors=True)
    scene = Scene(here, supernode_spec)
    if kept.state is None:
        scene.deploy()
        assert scene.answer(scene.job()) == ""
        scene.deploy()
        shutil.copytree(here, stored)
        kept.state = scene.ledger.bundles, scene.ledger.records, scene.live, scene.made, scene.printed, scene.run.notes
    else:
        shutil.copytree(stored, here, dirs_exist_ok=True)
    state = copy.deepcopy(kept.state)
    scene.ledger.bundles, scene.ledger.records, scene.live, scene.made, scene.printed, scene.run.notes = state
    return scene


def replicas(scene: Scene) -> int:
    return scene.objects()["StatefulSet", "supernode-cpu"]["spec"]["replicas"]


def test_the_first_version_asks_for_keys_and_starts_nothing(scene: Scene) -> None:
    done = scene.deploy()
    assert done.changed and "bundle version 1" in done.msg and "federated.flower.join" in done.warnings[0]
    assert scene.made.by_hand and scene.made.keys == [] and scene.made.client_request == ""
    objects = scene.objects()
    assert replicas(scene) == 0
    assert ("ConfigMap", "supernode-client") not in objects and ("Job", "supernode-keys-v1") in objects
    assert {kind for kind, _name in objects} >= {"Namespace", "NetworkPolicy", "Role", "ServiceAccount"}
    assert "Secret" not in {kind for kind, _name in objects}
    role = objects["Role", "supernode-keys"]["rules"]
    assert all(rule["resourceNames"] for rule in role)
    assert {"PASSPORT.md", "CHANGES.md", "UNINSTALL.md", "IMAGES.md", "verify.sh", "SHA256SUMS", "SHA256SUMS.sig", "hub-ca.crt"} <= {
        path.name for path in scene.home.iterdir()
    }
    assert (scene.folder / "site-a-v1.tar.gz").exists()
    assert scene.run.notes == [f"bundle version 1 written, SHA256SUMS {scene.ledger.bundles['site-a']['sums']}"]


def test_the_same_again_changes_nothing_here_or_on_another_control_node(scene: Scene, tmp_path: Path) -> None:
    scene.deploy()
    before = scene.contents()
    assert not scene.deploy().changed and scene.contents() == before
    other = Scene(tmp_path / "elsewhere", scene.make)
    other.ledger = scene.ledger
    assert other.deploy().changed  # its files, not its version
    assert other.contents() == before and other.ledger.bundles["site-a"]["version"] == 1
    (scene.home / "PASSPORT.md").unlink()
    assert scene.deploy().changed and not scene.deploy().changed


def test_versions_of_a_site_that_joins_again_go_on(scene: Scene) -> None:
    """An archive of its former life passed for the newest."""
    scene.deploy()
    scene.answer(scene.job())
    scene.deploy()
    assert scene.ledger.bundles["site-a"]["version"] == 2
    former = {path: data for path, data in scene.contents().items() if path.endswith(".gz")}
    scene.ledger.bundles.clear()
    scene.ledger.records.clear()
    (scene.folder / "site-a-v77-copy.tar.gz").write_bytes(b"")
    assert "bundle version 3 to write" in scene.deploy(check=True).msg
    assert "bundle version 3" in scene.deploy().msg
    assert former.items() <= scene.contents().items() and (scene.folder / "site-a-v3.tar.gz").exists()
    assert ("Job", "supernode-keys-v3") in scene.objects()
    assert not scene.deploy().changed


def test_files_for_a_gitops_controller_have_nothing_of_it(scene: Scene) -> None:
    """It would get SuperNodes without the job that makes their keys."""
    rendered: list[str] = []
    scene.run.rendering = True
    scene.run.render = lambda host, *_given: rendered.append(host)  # type: ignore[attr-defined]
    assert not scene.deploy(check=True).changed and rendered == [] and scene.contents() == {}


def test_a_value_that_looks_like_a_secret_is_told(scene: Scene) -> None:
    """The bundle says that nothing in it is secret."""
    scene.given["env"] = [{"name": "HF_TOKEN", "value": "s3cr3t"}]
    warning = scene.deploy().warnings[-1]
    assert warning.startswith("site-a: StatefulSet supernode-cpu, container ") and "HF_TOKEN looks like a secret" in warning and "s3cr3t" not in warning
    assert not [one for one in scene.deploy().warnings if "HF_TOKEN" in one], "once a version"


def test_check_mode_without_a_hub_says_what_would_be_written(scene: Scene) -> None:
    scene.store = NoStore()
    done = scene.deploy(check=True)
    assert done.changed and scene.contents() == {} and scene.ledger.bundles == {}
    assert scene.run.notes == ["bundle version 1 to write"], "what it contains depends on the hub"
    with pytest.raises(ClusterError, match="the hub has no CA of client certificates"):
        scene.deploy()


def test_a_hub_that_requests_no_certificates_is_refused_before_anything_is_changed(scene: Scene) -> None:
    scene.way().preflight({"client_certificates": "none"})  # it did before, and its CA is still there
    scene.store = NoStore()
    scene.way().preflight({"client_certificates": "required"})
    scene.way().preflight({})
    with pytest.raises(ClusterError, match="set superlink_client_certificates to required"):
        scene.way().preflight({"client_certificates": "none"})


def test_a_certificate_that_is_due_does_not_change_what_is_planned(joined: Scene) -> None:
    joined.ledger.records["site-a"]["client"]["certificate"] = TRUST  # of another CA
    joined.run.notes.clear()
    for _number in range(2):
        assert joined.deploy(check=True).changed
    first, second = joined.run.notes
    assert first == second and first.startswith("bundle version 3 to write, content ")
    joined.given["extra_args"] = ["--max-retries=3"]
    joined.deploy(check=True)
    assert joined.run.notes[2] != first, "anything else does"


@pytest.mark.parametrize(("federation", "identity", "whose"), [("cardiology", "hub-2", "the federation demo"), ("demo", "hub-2", "another hub of")])
def test_a_bundle_of_another_federation_is_left_as_it_is(
    joined: Scene, supernode_spec: Callable[..., dict[str, Any]], federation: str, identity: str, whose: str
) -> None:
    other = Scene(joined.folder, lambda **given: supernode_spec(**{**given, "federation": federation}))
    other.identity = identity
    before = joined.contents()
    with pytest.raises(ClusterError, match=f"site-a is of {whose}"):
        other.deploy()
    assert joined.contents() == before and other.ledger.bundles == {}, "not even a version is counted"
    shutil.rmtree(joined.home)
    assert other.deploy().changed and (joined.folder / "site-a-v3.tar.gz").exists(), "archives of the former one stay"
    (joined.folder / "site-a-v4.tar.gz").write_bytes((joined.folder / "site-a-v2.tar.gz").read_bytes())
    other.given["extra_args"] = ["--max-retries=3"]
    with pytest.raises(ClusterError, match=rf"site-a-v4\.tar\.gz is of {whose}"):
        other.deploy()
    joined.ledger.bundles.clear()
    with pytest.raises(ClusterError, match="is not overwritten"):
        joined.deploy()


def test_a_reply_brings_the_certificate_and_the_supernodes(joined: Scene) -> None:
    objects = joined.objects()
    assert replicas(joined) == 2
    certificate = objects["ConfigMap", "supernode-client"]["data"]["tls.crt"]
    assert certificates.describe(certificate)["subject"] == "O=demo,CN=site-a"
    assert [key["fingerprint"] for key in joined.made.keys] == joined.fingerprints()
    before = joined.contents()
    done = joined.deploy()
    assert not done.changed and done.warnings == [] and joined.contents() == before
    assert (joined.folder / "site-a-v1.tar.gz").exists() and (joined.folder / "site-a-v2.tar.gz").exists()
    assert "client certificate is new" in (joined.home / "CHANGES.md").read_text()
    assert not joined.made.certified  # until the site has answered the version with the certificate
    assert joined.answer(joined.job()) == ""
    joined.deploy()
    assert joined.made.certified


def test_nothing_secret_is_in_any_file(joined: Scene) -> None:
    text = b"\n".join(joined.contents().values()) + json.dumps(joined.ledger.bundles).encode()
    assert b"PRIVATE KEY" not in text
    for name, secret in joined.live.items():
        public_halves = set(entries(secret)) & {"tls.crt", "ca.crt"}
        for entry, value in entries(secret).items():
            if entry not in public_halves:
                assert value.strip().encode() not in text, (name, entry)
                assert secret["data"][entry].encode() not in text


TAMPERED = {
    "an object": "a file is not what the hub wrote",
    "an object and its checksum": "was not signed by the hub",
    "everything, signed by another CA": "was given",
    "one more file": "did not write",
    "a missing file": "a file is not what the hub wrote",
    "a link": "not a plain file",
}


def tamper(home: Path, at: str) -> None:
    target, sums = home / "objects" / "60-supernodes.yaml", home / "SHA256SUMS"

    def sum_again(path: Path) -> None:
        wanted, name = hashlib.sha256(path.read_bytes()).hexdigest(), path.relative_to(home).as_posix()
        lines = [f"{wanted}{line[64:]}" if line[66:] == name else line for line in sums.read_text().splitlines()]
        sums.write_text("\n".join(lines) + "\n")

    if at == "a missing file":
        target.unlink()
    elif at == "one more file":
        (home / "objects" / "70-more.yaml").write_text("kind: Secret\n")
    elif at == "a link":
        (home / "objects" / "70-more.yaml").symlink_to("/etc/hostname")
    else:
        target.write_text(target.read_text().replace("flwr/supernode", "evil/supernode"))
    if "checksum" in at or "everything" in at:
        sum_again(target)
    if "everything" in at:
        other = certificates.make_ca("client CA", YEAR)
        (home / "hub-ca.crt").write_text(other.certificate)
        sum_again(home / "hub-ca.crt")
        (home / "SHA256SUMS.sig").write_bytes(signatures.sign(sums.read_bytes(), other.key))


GUIDE = Path(__file__).parents[5] / "docs/docsite/rst/guide_bundle.rst"


def typed(home: Path) -> dict[str, str]:
    """What the commands of the guide print in a folder."""
    block = GUIDE.read_text().partition("guide_bundle.check:\n")[2].partition(".. code-block:: console\n")[2].partition("\n\nThe fingerprint must")[0]
    commands = [line.strip()[2:] for line in block.splitlines() if line.strip().startswith("$ ")]
    found = {}
    for command in commands:
        done = subprocess.run(["sh", "-c", command], cwd=home, capture_output=True, text=True, check=False)
        found[command] = (done.stdout + done.stderr).strip()
    return found


def is_good(found: Mapping[str, str], told: str) -> bool:
    """What people see, by what the guide says that they must see."""
    printed, key, signature, sums, links, more = found.values()
    return printed.partition("=")[2] == told and (key, signature, sums, links, more) == ("", "Verified OK", "", "", "2")


def test_the_commands_of_the_guide_find_what_was_changed_and_run_nothing_of_the_bundle(scene: Scene, tmp_path: Path) -> None:
    scene.deploy()
    told = bundle_files.fingerprint(CA.certificate)
    assert is_good(typed(scene.home), told)
    for number, at in enumerate([*TAMPERED, "the script", "the script and its checksum"]):
        home = tmp_path / str(number) / "site-a"
        shutil.copytree(scene.home, home)
        if at.startswith("the script"):
            for path in home.rglob("*"):
                if path.is_file() and path.name not in ("SHA256SUMS", "SHA256SUMS.sig", "hub-ca.crt"):
                    path.write_text(f"touch {tmp_path}/ran; echo 'Good: bundle version 1'\n")
        tamper(home, at) if at in TAMPERED else None
        assert not is_good(typed(home), told), at
    assert not (tmp_path / "ran").exists()


def changed(sent: dict[str, Any], what: str) -> dict[str, Any]:
    sent = copy.deepcopy(sent)
    sealed, published = json.loads(sent["data"]["reply.json"]), json.loads(sent["data"]["public.json"])
    stranger = keypairs.make_supernode_key()
    line = keypairs.supernode_public_key(stranger)
    if what == "a key":
        published["pools"]["cpu"]["keys"]["5"] = {"public_key": line, "fingerprint": keypairs.fingerprint(line)}
    elif what == "a key more":
        published["pools"]["cpu"]["keys"]["6"] = {"public_key": line, "fingerprint": keypairs.fingerprint(line)}
    elif what == "the request":
        published["client"]["request"] = certificates.client_request(keypairs.make_client_key(), "site-a")
    elif what == "a signature":
        sealed["signatures"]["cpu/4"] = sealed["signatures"]["cpu/5"]
    elif what == "no signature":
        del sealed["signatures"]["client"]
    elif what == "the trust":
        sealed["trust"] = "0" * 64
    elif what == "the kind":
        sent["kind"] = "Secret"
    else:
        sealed["binding"][what] = {"version": 7}.get(what, "other")
    sent["data"] = {"public.json": json.dumps(published, indent=1, sort_keys=True), "reply.json": json.dumps(sealed)}
    return sent


PARTS = ("a key", "a key more", "the request", "a signature", "no signature", "the trust", "the kind", "version", "nonce", "site", "federation", "hub")


def test_a_reply_that_was_changed_is_refused(scene: Scene) -> None:
    scene.deploy()
    sent = scene.job()
    for what in PARTS:
        with pytest.raises(ClusterError, match="not a reply"):
            scene.answer(changed(sent, what))
    assert not scene.ledger.bundles["site-a"]["reply"]
    assert scene.answer(sent) == ""


def test_replies_of_others_and_of_the_past_are_refused(scene: Scene, tmp_path: Path) -> None:
    scene.deploy()
    first = scene.job()
    other = Scene(tmp_path / "other", scene.make)
    other.deploy()
    assert "can still be answered" in scene.answer(other.job())  # the same version of another bundle has another nonce
    other.ledger.federation = "elsewhere"
    assert "another federation" in other.answer(first)
    scene.given["pools"][0]["replicas"] = 3  # asks for one more key
    scene.deploy()
    assert "has other requests" in scene.answer(first)
    assert scene.answer(scene.job()) == ""
    assert scene.answer(first) != ""
    for nonsense in (None, [], {}, {"kind": "ConfigMap"}, {"kind": "ConfigMap", "metadata": {"name": "supernode-public"}, "data": {}}):
        with pytest.raises(ClusterError, match="not a reply"):
            reply.opened(nonsense)


def test_a_later_reply_that_no_key_of_the_site_has_signed_takes_its_fingerprint(joined: Scene) -> None:
    def refusal(sent: dict[str, Any], told: str = "") -> str:
        return Keeper("site-a", joined.ledger, Store(), check=False).fault(reply.opened(sent), told)

    assert refusal(joined.job()) == ""
    request = json.loads(joined.objects()["ConfigMap", drafts.PROGRAM]["data"]["request.json"])
    # Who has read the bundle knows all of its request. A reply may lack the client key: a site without mutual TLS has none.
    for client in ("", "site-a"):
        forged = maker.decide({**request, "client": client, "owner": {"uid": OWNER_UID}}, {})
        live = {one["metadata"]["name"]: one for one in copy.deepcopy(forged.writes)}
        for name, one in live.items():
            one["metadata"].update(uid=name, resourceVersion="1")
        sent = public.record("demo", "lab", live, client, forged.client_request)
        fingerprint = reply.seal(sent, request["binding"], TRUST.encode(), live)
        assert "not signed with the client key" in refusal(sent) and fingerprint in refusal(sent)
        assert refusal(sent, fingerprint) == ""


def test_a_new_client_key_that_was_asked_for_takes_the_fingerprint(joined: Scene) -> None:
    """As after a break-in: whoever has the bundle could answer it with a key of his own."""
    known = joined.ledger.records["site-a"]["client"]["key"]
    for dead in ([known], [known, *joined.fingerprints()]):
        joined.deploy(dead=dead)
        keeper = Keeper("site-a", joined.ledger, Store(), check=False)
        answer = reply.opened(joined.job())
        assert known in keeper.draft.request["dead"]
        assert "not signed with the client key" in keeper.fault(answer, "")
        assert "not the one that was given" in keeper.fault(answer, "0000 " * 8)
        assert keeper.fault(answer, answer.fingerprint) == ""
    joined.ledger.records["site-a"].pop("client")
    assert keeper.fault(answer, "") == "", "a hub that knows no client key"


def test_an_older_version_may_be_answered_while_it_asks_the_same(joined: Scene) -> None:
    sent = joined.job()
    joined.given["log_level"] = "DEBUG"
    joined.deploy()
    assert joined.ledger.bundles["site-a"]["version"] == 3
    assert joined.answer(sent) == ""


def test_a_pool_that_grows_gets_pods_when_their_keys_are_registered(joined: Scene) -> None:
    joined.given["pools"][0]["replicas"] = 3
    done = joined.deploy()
    assert done.warnings and replicas(joined) == 2
    assert joined.answer(joined.job()) == ""
    joined.deploy()
    assert replicas(joined) == 3
    template = joined.objects()["StatefulSet", "supernode-cpu"]["spec"]["template"]["metadata"]
    assert drafts.RESTARTS not in (template.get("annotations") or {}), "no pod restarts for a new one"
    assert not joined.deploy().warnings


def test_keys_are_rotated_in_two_versions(joined: Scene) -> None:
    old = joined.fingerprints()
    done = joined.deploy(dead=old)
    assert done.warnings and [key["fingerprint"] for key in joined.made.keys] == old, "those in use stay until there are others"
    assert "new keys in the place of old ones" in (joined.home / "CHANGES.md").read_text()
    assert not joined.deploy().changed, "a run that demands nothing does not take the demand back"
    sent = joined.job()
    new = joined.fingerprints()
    assert not set(new) & set(old)
    assert joined.answer(sent) == ""
    joined.deploy()
    assert [key["fingerprint"] for key in joined.made.keys] == new
    assert set(records.leaving(joined.ledger.records["site-a"])) == set(old)
    template = joined.objects()["StatefulSet", "supernode-cpu"]["spec"]["template"]["metadata"]
    assert template["annotations"][drafts.RESTARTS] == "1"
    assert not joined.deploy().changed


def test_keys_that_can_never_serve_again_are_not_offered(joined: Scene) -> None:
    old = joined.fingerprints()
    record = joined.ledger.records["site-a"]
    record["keys"][old[0]]["dead"] = True
    joined.deploy(dead=[old[0]])
    assert [key["fingerprint"] for key in joined.made.keys] == [old[1]]
    assert replicas(joined) == 2, "the other SuperNode goes on"
    assert drafts.RESTARTS not in json.dumps(joined.objects()["StatefulSet", "supernode-cpu"])
    assert joined.answer(joined.job()) == ""
    joined.deploy()
    assert len(joined.made.keys) == replicas(joined) == 2 and joined.fingerprints()[0] != old[0]
    assert drafts.RESTARTS in json.dumps(joined.objects()["StatefulSet", "supernode-cpu"]), "the first pod runs with the old key"


def test_a_client_key_is_replaced_and_the_old_certificate_lasts_until_the_site_has_the_new_one(joined: Scene) -> None:
    key = joined.ledger.records["site-a"]["client"]["key"]
    joined.deploy(dead=[key])
    assert joined.made.client_request == "" and joined.ledger.records["site-a"]["client"]["key"] == key
    assert joined.answer(joined.job()) == ""
    joined.deploy()
    record = joined.ledger.records["site-a"]
    assert record["client"]["key"] != key and record["superseded"] and not joined.made.certified
    joined.deploy()
    assert not joined.made.certified
    assert joined.answer(joined.job()) == ""
    joined.deploy()
    assert joined.made.certified


def proof(bundle: str, **more: Any) -> Proof:
    return Proof("hub", {"now": "ab"}, bundle, **more)


def unproven() -> dict[str, Any]:
    return {"changed": False, "trust": None, "accepts": [], "pods": []}


def test_a_ca_is_rotated_with_replies_as_proof(joined: Scene) -> None:
    assert joined.answer(joined.job()) == ""
    both = TRUST + certificates.make_ca("next hub CA", YEAR).certificate
    result = unproven()
    joined.way().trust(proof(""), result)
    assert result["trust"] == TRUST and result["accepts"] == ["ab"]
    result = unproven()
    with pytest.raises(ClusterError, match="not proven: the site checks it"):
        joined.way().trust(proof(both), result)
    assert result["changed"] and result["trust"] is None
    joined.trust = both  # what the hub publishes
    assert not joined.deploy().changed
    again = unproven()
    with pytest.raises(ClusterError, match="not proven"):
        joined.way().trust(proof(both), again)
    assert not again["changed"]
    assert joined.answer(joined.job()) == ""
    joined.way().trust(proof(both), again)
    assert again["trust"] == both
    with pytest.raises(ClusterError, match="supernode_ca_bundle"):
        joined.way().trust(proof(TRUST, own_bundle=True), unproven())


def test_shared_secrets_are_made_anew_and_pods_restart_afterwards(joined: Scene) -> None:
    result = {"changed": False, "restarted": [], "renewed": False}
    wanted = Restart(["superexec"], "mark-1", lambda: None, lambda pool: None)
    with pytest.raises(ClusterError, match="recreates its secrets"):
        joined.way().restart(wanted, result)
    assert result["changed"] and not result["renewed"]
    assert not joined.deploy().changed
    before = entries(joined.live["supernode-superexec"])
    assert joined.answer(joined.job()) == "" and entries(joined.live["supernode-superexec"]) != before
    joined.deploy()
    template = joined.objects()["StatefulSet", "supernode-cpu"]["spec"]["template"]["metadata"]
    assert template["annotations"][drafts.RESTARTS] == "1"
    joined.way().restart(wanted, result)
    assert result["renewed"]
    assert not joined.deploy().changed
    joined.way().restart(Restart(["key"], "", lambda: None, lambda pool: None), result)


def test_a_site_that_leaves_gets_the_list_of_what_to_delete(joined: Scene) -> None:
    done = joined.way().remove(volumes=False)
    assert done.changed and not done.failed and "nothing was deleted in its cluster" in done.msg
    assert {path.name for path in joined.home.iterdir()} == {
        "CHANGES.md", "SHA256SUMS", "SHA256SUMS.sig", "UNINSTALL.md", "VERSION", "hub-ca.crt", "uninstall.txt", "verify.sh",
    }  # fmt: skip
    assert joined.verify()[0] == 0
    words = (joined.home / "UNINSTALL.md").read_text()
    assert "kubectl delete namespace lab" in words and "kubectl delete secret supernode-cpu-keys -n lab" in words
    assert not joined.way().remove(volumes=False).changed
    assert "leaving" in joined.answer(reply_of(joined))
    joined.ledger.bundles.clear()
    assert not joined.way().remove(volumes=False).changed


def test_nothing_that_holds_data_is_pruned_with_a_dataset_or_with_the_site(joined: Scene) -> None:
    """By the annotations of the live objects, which are those of the last version that had them."""
    volume = {"nfs": {"server": "10.1.1.1", "path": "/ct"}, "size": "1Ti"}
    joined.given["datasets"] = [{"name": "ct", "volume": volume}, {"name": "notes", "new_claim": {"size": "1Gi"}}]
    joined.deploy()
    listed = joined.objects()
    staying = [one for (kind, _name), one in listed.items() if kind in ("Namespace", "PersistentVolume", "PersistentVolumeClaim")]
    assert len(staying) == 4
    for one in staying:
        notes = one["metadata"]["annotations"]
        assert set(notes["argocd.argoproj.io/sync-options"].split(",")) == {"Prune=false", "Delete=false"}
        assert notes["kustomize.toolkit.fluxcd.io/prune"] == "disabled"
    others = [one for one in listed.values() if one not in staying]
    assert not any("kustomize.toolkit.fluxcd.io/prune" in (one["metadata"].get("annotations") or {}) for one in others)
    del joined.given["datasets"]
    joined.deploy()
    assert "but nothing that may hold data" in (joined.home / "CHANGES.md").read_text()


def reply_of(scene: Scene) -> dict[str, Any]:
    """A reply to the version before."""
    published = public.record("demo", "lab", scene.live, "site-a", certificates.client_request(entries(scene.live[CLIENT_KEY])["tls.key"], "site-a"))
    asked = scene.ledger.bundles["site-a"]["asked"]["2"]
    reply.seal(published, {"federation": "demo", "site": "site-a", "hub": "hub-1", "version": 2, "nonce": asked["nonce"]}, b"", scene.live)
    return published


def test_what_others_put_into_the_folder_is_not_touched(scene: Scene) -> None:
    scene.home.mkdir()
    (scene.home / "notes.txt").write_text("mine")
    with pytest.raises(ClusterError, match=r"not part of a bundle \(notes.txt\)"):
        scene.deploy()
    assert (scene.home / "notes.txt").read_text() == "mine"
    (scene.home / "notes.txt").unlink()
    assert scene.deploy().changed
    (scene.home / "PASSPORT.md").write_text("edited")  # it is ours
    assert scene.deploy().changed and "Join passport" in (scene.home / "PASSPORT.md").read_text()


def test_a_link_in_the_folder_is_not_followed(scene: Scene) -> None:
    elsewhere = scene.folder / "elsewhere"
    elsewhere.mkdir()
    scene.home.mkdir()
    (scene.home / "objects").symlink_to(elsewhere)
    with pytest.raises(ClusterError, match=r"not part of a bundle \(objects\)"):
        scene.deploy()
    assert list(elsewhere.iterdir()) == []


def test_an_interrupted_run_is_completed(scene: Scene) -> None:
    scene.deploy()
    (scene.home / "SHA256SUMS").unlink()
    (scene.home / "CHANGES.md").unlink()
    (scene.home / ".federated-flower-x1").write_text("half")
    assert scene.deploy().changed and scene.verify()[0] == 0


def test_another_run_that_was_faster_is_not_overwritten(scene: Scene) -> None:
    scene.deploy()
    way = scene.way()
    assert way.keeper.version == 1
    scene.given["log_level"] = "DEBUG"
    scene.deploy()
    made = drafts.with_trust(way.keeper.draft, TRUST + TRUST, restart=False)
    with pytest.raises(ClusterError, match="another run has changed its bundle in the meantime"):
        way.keeper.bring(made, str(scene.folder))


def test_what_a_bundle_cannot_do_is_refused(supernode_spec: Callable[..., dict[str, Any]]) -> None:
    given = supernode_spec(delivery="bundle", connectivity="skupper", insecure=True, pools=[{"name": "all", "mode": "DaemonSet"}])
    text = "\n".join(supernode_faults(given))
    for words in ("bundle_directory", "flower_connectivity: skupper", "DaemonSet", "insecure"):
        assert words in text, text


def test_the_passport_says_what_is_created_and_which_way_leads_out(joined: Scene) -> None:
    words = (joined.home / "PASSPORT.md").read_text()
    for one in joined.objects().values():
        assert f"{one['kind']} " in words and one["metadata"]["name"] in words
    for part in ("10.1.2.3:30992", bundle_files.fingerprint(CA.certificate), "TCP 30992 of 10.1.2.3/32", "supernode-client-key", "kubectl apply -k ."):
        assert part in words, part
    assert words.isascii()
    images = (joined.home / "images.txt").read_text().split()
    assert any("supernode" in name for name in images)
    assert "none given" in (joined.home / "IMAGES.md").read_text()
    mirror = yaml.load((joined.home / "layouts/mirror/kustomization.yaml").read_text(), Loader=yaml.CSafeLoader)
    assert {entry["name"] for entry in mirror["images"]} == {name.rpartition(":")[0] for name in images}
    for path in ("layouts/argocd/application.yaml", "layouts/flux/flux.yaml"):
        assert all(one["kind"] for one in yaml.load_all((joined.home / path).read_text(), Loader=yaml.CSafeLoader))


def test_statuses_say_nothing_about_pods(joined: Scene) -> None:
    keeper = joined.way().keeper
    assert keeper.summary().endswith("the site has answered version 1; the control node cannot see whether it was applied.")
    assert keeper.is_open is False and keeper.next_steps() == ""
    assert joined.way().measure({}, 0.0) is None and joined.way().pods() is None
    assert joined.way().numbers() == {"cpu": (4, 2)}
    (delivered,) = reach.workloads_of(keeper.draft)
    assert (delivered["name"], delivered["version"]) == ("supernode-cpu", "1.42.0") and delivered["images"]["supernode"].endswith(":1.42.0")


def test_the_job_finds_its_owner_and_seals_what_it_publishes(scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.deploy()
    request = json.loads(scene.objects()["ConfigMap", drafts.PROGRAM]["data"]["request.json"])
    assert "uid" not in request["owner"]
    (tmp_path / "ca.crt").write_text(TRUST)
    monkeypatch.setattr(maker, "TRUST", tmp_path / "ca.crt")
    written: dict[str, dict[str, Any]] = {}
    owner: dict[str, Any] = {}

    def call(method: str, path: str, body: dict[str, Any] | None, kind: str) -> tuple[int, dict[str, Any]]:
        name = path.rpartition("/")[2].partition("?")[0]
        if method == "GET":
            return (200, owner) if name == "supernode-keys-owner" and owner else (404, {})
        assert method == "PATCH" and body
        written[name] = {**body, "metadata": {**body["metadata"], "uid": name, "resourceVersion": "1"}}
        return 200, written[name]

    api = maker.Api(call, "lab", pause=lambda _seconds: None)
    with pytest.raises(ClusterError, match="apply the whole bundle"):
        maker.work(request, api)
    assert not written
    owner["metadata"] = {"uid": OWNER_UID}
    said = maker.work(request, api)
    assert all(one["metadata"]["ownerReferences"][0]["uid"] == OWNER_UID for name, one in written.items() if name != "supernode-public")
    sent = {"kind": "ConfigMap", **written["supernode-public"]}
    assert said[-1] == f"fingerprint of the reply: {reply.opened(sent).fingerprint}"
    assert reply.opened(sent).trust == hashlib.sha256(TRUST.encode()).hexdigest() and scene.answer(sent) == ""


def test_what_the_site_has_answered_is_known(scene: Scene) -> None:
    """It shows which datasets it has; objects that nothing can look for there are a warning, once."""
    assert scene.deploy().files == (1, 0)
    assert scene.answer(scene.job()) == ""
    assert scene.deploy().files == (2, 1)
    assert scene.way().preflight({}).warnings == []
    scene.given["datasets"] = [{"name": "ct", "claim": "radiology-ct"}, {"name": "new", "new_claim": {"size": "1Gi"}}]
    (warning,) = scene.way().preflight({}).warnings
    assert "whether namespace lab has PersistentVolumeClaim radiology-ct for its datasets is unknown" in warning and "no access to the site" in warning
    assert scene.deploy().files == (3, 1)
    assert scene.way().preflight({}).warnings == []
