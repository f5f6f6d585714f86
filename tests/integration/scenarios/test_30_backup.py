# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""The hub's namespaces are lost; a backup that was made during a run brings the hub back, and the sites need nothing new."""

from __future__ import annotations

import datetime
import io
import json
import subprocess
import tarfile
import time
from pathlib import Path
from typing import Any

import pyrage
import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.backup import archive as archives
from ansible_collections.federated.flower.plugins.plugin_utils.backup import restore_mark
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI
from ansible_collections.federated.flower.plugins.plugin_utils.state.audit_trail import Trail
from ansible_collections.federated.flower.plugins.plugin_utils.state.hash_chain import verify
from ansible_collections.federated.flower.plugins.plugin_utils.state.ledger import Ledger
from ansible_collections.federated.flower.tests.integration.scenarios.conftest import APP
from ansible_collections.federated.flower.tests.integration.scenarios.lane import CA_NAMESPACE, NAMESPACE

SITES = ("site-a", "site-b")


def identity(folder: Path) -> tuple[str, str]:
    """A public key, and the argument that gives the private one."""
    made = pyrage.x25519.Identity.generate()
    path = folder / f"{made.to_public()}.json"
    path.write_text(json.dumps({"flower_backup_identity": str(made)}))
    return str(made.to_public()), f"@{path}"


def key_of(private: str) -> pyrage.x25519.Identity:
    """The key that an argument gives."""
    return pyrage.x25519.Identity.from_str(json.loads(Path(private[1:]).read_text())["flower_backup_identity"])


@pytest.fixture(scope="module")
def backup(federation: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path, str, list[Any]]:
    """The federation, an archive that was made during a run, the argument with the key that opens it, and the audit trail of then."""
    fed = federation
    fed.settle()
    public, private = identity(tmp_path_factory.mktemp("keys"))
    home = tmp_path_factory.mktemp("backups")
    given = json.dumps({"flower_backup_directory": str(home), "flower_backup_recipients": [public]})
    would = fed.play("backup", "--check", "-e", given, "-e", private).messages()
    assert "would write" in would and not list(home.iterdir()), would
    said = fed.play("backup", "-e", given, "-e", private, "-e", "flower_backup_outputs=true", rc=2).messages(failed=True)
    assert "flower_backup_outputs was removed" in said and not list(home.iterdir()), said
    trail = fed.trail()
    run, finish = fed.hold(**{"num-server-rounds": 2})
    made = fed.play("backup", "-e", given, "-e", private)
    assert fed.app_runs()[run] == "running"
    assert "decrypted and read it completely" in made.messages(), made.messages()
    assert not finish().rc and fed.app_runs()[run] == "finished:completed"
    (archive,) = home.glob("*.tar")
    said = subprocess.run(["tar", "-xOf", archive, "archive.age"], capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(pyrage.decrypt(said, [key_of(private)]))) as inner:
        kept = json.loads(inner.extractfile("inventory.json").read())
    assert set(kept["hosts"]) == {"hub", *SITES} and kept["hosts"]["site-a"]["variables"]["flower_context"] == "site-a", kept
    assert "flower_sites" in kept["hosts"]["site-a"]["groups"] and not any("not_known" in one for one in kept["hosts"].values()), kept
    assert "AGE-SECRET" not in json.dumps(kept) and set(kept["versions"]) == {"ansible-core", "python"}
    assert fed.python("hub", "superlink-0", "superlink", "import os; print(os.listdir('/data'))").count("backup") == 0
    fed._collect()
    assert not fed.shown(home, fed.logs), fed.shown(home, fed.logs)
    return fed, archive, private, trail


def of_earlier_release(archive: Path, private: str, folder: Path) -> Path:
    """The archive as an earlier release wrote it, with outputs of runs."""
    members, key = [], key_of(private)
    about = archives.read(archive, key, lambda name, size, data: members.append(archives.member_of(name, data.read(size))))
    members += [archives.member_of("outputs/77/model.bin", b"model"), archives.member_of("outputs.json", b"{}")]
    return archives.write(folder, about, members, [key.to_public()])


def state(fed: Any) -> list[tuple[str, str, str]]:
    """Version of everything in the hub's namespaces that a restore could change."""
    return sorted(
        (kind, one["metadata"]["name"], one["metadata"]["uid"])
        for space in (NAMESPACE, CA_NAMESPACE)
        for kind in ("Secret", "ConfigMap", "PersistentVolumeClaim")
        for one in fed.hub.list("v1", kind, space)
    )


def refused(fed: Any, archive: Path, private: str, words: str) -> None:
    """A restore that changes nothing and says why."""
    before = state(fed)
    given = f"flower_restore=true flower_restore_archive={archive}"
    said = fed.play("restore", "-e", given, "-e", private, rc=2).messages("hub", failed=True)
    assert words in said, said
    assert state(fed) == before


def serves_since(fed: Any) -> float:
    """When the SuperLink's pod became ready, in seconds since 1970."""
    pod = fed.cluster("hub").get("v1", "Pod", "superlink-0", NAMESPACE)
    (ready,) = (one for one in pod["status"]["conditions"] if one["type"] == "Ready")
    assert ready["status"] == "True", ready
    return datetime.datetime.fromisoformat(ready["lastTransitionTime"]).timestamp()


def test_a_hub_that_stands_is_not_replaced(backup):
    fed, archive, private, _trail = backup
    refused(fed, archive, private, "has a SuperLink, which is not replaced")


def test_a_lost_hub_comes_back(backup, tmp_path):
    fed, archive, private, trail = backup
    (tmp_path / "earlier").mkdir()
    earlier = of_earlier_release(archive, private, tmp_path / "earlier")
    keys = {site: fed.keys(site) for site in SITES}
    nodes = {node for found in keys.values() for node in found.values()}
    known = set(fed.nodes())  # also those that were unregistered before
    lives = {site: {pod: life[0] for pod, life in fed.lives(site).items()} for site in SITES}
    fed.settled = False
    for space in (NAMESPACE, CA_NAMESPACE):
        fed.hub.delete("v1", "Namespace", space, propagation="Background")
    fed.wait("the end of the hub's namespaces", lambda: fed.gone("hub", NAMESPACE, CA_NAMESPACE))

    # Refused, with nothing of a hub there.
    changed, cut = tmp_path / archive.name, tmp_path / f"cut-{archive.name}"
    whole = archive.read_bytes()
    changed.write_bytes(whole[:-20000] + bytes([whole[-20000] ^ 1]) + whole[-19999:])
    cut.write_bytes(whole[: len(whole) // 2])
    _public, other = identity(tmp_path)
    for path, key, words in ((changed, private, "cannot be opened"), (cut, private, "Choose another"), (archive, other, "cannot be opened")):
        given = f"flower_restore=true flower_restore_archive={path}"
        said = fed.play("restore", "-e", given, "-e", key, rc=2).messages("hub", failed=True)
        assert words in said, said
        assert fed.gone("hub", NAMESPACE, CA_NAMESPACE)

    # Interrupted: the pod that gets the database has no time to start. A hub on what is there would begin with an empty database.
    fed.play("restore", "-e", f"flower_restore=true flower_restore_archive={archive} superlink_wait_timeout=1", "-e", private, rc=2)
    mark = restore_mark.read(fed.hub, NAMESPACE)
    assert mark is not None and mark.archive == archive.name
    said = fed.play("site", "--limit", "hub", rc=2).messages("hub", failed=True)
    assert f"the restore of {archive.name}" in said and "is not complete" in said, said
    assert fed.hub.get("apps/v1", "StatefulSet", "superlink", NAMESPACE) is None

    restored = fed.play("restore", "-e", f"flower_restore=true flower_restore_archive={earlier}", "-e", private)
    assert restore_mark.read(fed.hub, NAMESPACE) is None
    assert "has 1 files of outputs of runs, which are not restored" in restored.output, restored.output
    begun = time.monotonic()
    again = fed.play("restore", "-e", f"flower_restore=true flower_restore_archive={archive}", "-e", private)
    assert "restored 0 objects" in again.messages() and "outputs of runs" not in again.output, again.output
    # The hub alone: sites are not touched, and come back by themselves.
    fed.play("site", "--limit", "hub")
    fed.wait_online(*nodes, seconds=90)
    took = time.time() - serves_since(fed)
    print(f"online {took:.0f} s after the SuperLink was ready, {time.monotonic() - begun:.0f} s after the restore")
    assert took < 60
    fed.site()
    assert {site: fed.keys(site) for site in SITES} == keys
    assert set(fed.nodes()) == known
    assert {site: {pod: life[0] for pod, life in fed.lives(site).items()} for site in SITES} == lives
    after = fed.trail()
    assert after[: len(trail)] == trail and len(after) > len(trail)
    fed.unchanged()
    given = {"flower_app": str(APP), "flower_run_config": {"num-server-rounds": 1}}
    fed.play("run", "-e", json.dumps(given))
    assert {fed.nodes()[node] for node in nodes} == {"online"}


def test_a_hub_comes_back_in_another_cluster(federation, tmp_path):
    """A federation of its own loses the cluster of its hub. Its site keeps keys, ids and pods, and goes to the new address."""
    fed, space = federation, f"{NAMESPACE}-uid"
    spaces = (space, f"{space}-ca")
    common = {"flower_federation": "moving", "flower_namespace": spaces[0], "flower_ca_namespace": spaces[1]}
    hosts = {name: facts for name, facts in fed.base().items() if name != "site-b"}
    settled = fed.settled
    fed.site(hosts, **common)
    record = Ledger(fed.hub, space, "moving").read_records()["site-a"]
    moved = {key["node_id"] for key in record["keys"].values()}
    lives = fed.lives("site-a", space)
    public, private = identity(tmp_path)
    given = json.dumps({"flower_backup_directory": str(tmp_path), "flower_backup_recipients": [public]})
    trail = verify(*Trail(fed.hub, space, "moving").read()).entries
    fed.play("backup", "-e", given, "-e", private, hosts=hosts, **common)
    (archive,) = tmp_path.glob("*.tar")
    for name in spaces:
        fed.hub.delete("v1", "Namespace", name, propagation="Background")

    hosts["hub"]["flower_context"] = "site-b"
    fed.play("restore", "-e", f"flower_restore=true flower_restore_archive={archive}", "-e", private, hosts=hosts, **common)
    run = fed.site(hosts, **common)
    assert "2 SuperNodes of 1 site" in run.messages(), run.messages()
    known = FlowerCLI(fed.cluster("site-b"), space).nodes()
    assert {node: facts["status"] for node, facts in known.items()} == dict.fromkeys(moved, "online")
    assert fed.lives("site-a", space) == lives
    verdict = verify(*Trail(fed.cluster("site-b"), space, "moving").read())
    assert not verdict.fault and verdict.entries[: len(trail)] == trail, verdict.fault
    fed.unchanged(hosts, **common)
    fed.play("run", "-e", json.dumps({"flower_app": str(APP), "flower_run_config": {"num-server-rounds": 1}}), hosts=hosts, **common)
    fed.play("teardown", "-e", "flower_teardown=true", hosts=hosts, **common)
    fed.settled = settled
