# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""A site that gives no access: its bundle is applied with kubectl, its reply comes back as a file, and the control node has no way to its cluster."""

from __future__ import annotations

import copy
import json
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import connect
from ansible_collections.federated.flower.plugins.plugin_utils.state import records
from ansible_collections.federated.flower.tests.integration.scenarios.administrators import (
    CONTEXT,
    Administrators,
    told_fingerprint,
)
from ansible_collections.federated.flower.tests.integration.scenarios.conftest import APP
from ansible_collections.federated.flower.tests.integration.scenarios.lane import NAMESPACE

SPACE = f"{NAMESPACE}-c"
SITE = "site-c"


@pytest.fixture(scope="module")
def bundled(federation: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, dict[str, Any], Administrators]]:
    """The federation, hosts with a site that gives no access, and its administrators. Its own variables lead nowhere."""
    fed = federation
    folder = tmp_path_factory.mktemp("site-c")
    (folder / "bundles").mkdir()
    hosts = fed.base()
    hosts[SITE] = {
        "flower_delivery": "bundle",
        "flower_kubeconfig": str(folder / "there-is-none"),
        "flower_bundle_directory": str(folder / "bundles"),
        "flower_region": "no",
        "supernode_namespace": SPACE,
        "supernode_pools": [{"name": "far", "replicas": 1, "node_config": {"site": "{cluster}"}}],
    }
    yield fed, hosts, Administrators(fed, folder, SITE, SPACE)
    fed.settled = False


def far_nodes(fed: Any) -> list[str]:
    """Ids of the SuperNodes that the site is to have, without those that are leaving."""
    return list(records.node_ids(fed.ledger().read_records()[SITE]))


def shared_secret(fed: Any) -> dict[str, str]:
    """What the containers of the site's pods share."""
    live: dict[str, Any] = fed.cluster(CONTEXT).get("v1", "Secret", "supernode-superexec", SPACE)
    return dict(live["data"])


@pytest.mark.soak
def test_a_site_joins_trains_rotates_and_leaves_by_files(bundled):
    fed, hosts, site = bundled
    fed.settle()
    lives = fed.lives("site-a"), fed.lives("site-b")

    # The first version: the fleet is well, and the run says what the site has to do.
    run = fed.site(hosts)
    assert "federated.flower.join" in run.warnings() and run.changed[SITE] and not run.changed["site-a"], run.changed
    fed.unchanged(hosts)
    told = told_fingerprint(fed)
    assert told in run.warnings()
    for number, damage in enumerate(("object", "checksum", "more")):
        copied = site.folder / f"damaged-{number}"
        shutil.copytree(site.home, copied)
        target = copied / "objects" / "60-supernodes.yaml"
        if damage == "more":
            (copied / "objects" / "99-more.yaml").write_text(target.read_text())
        else:
            target.write_text(target.read_text().replace("runAsNonRoot: true", "runAsNonRoot: false"))
        if damage == "checksum":
            sums = copied / "SHA256SUMS"
            new = subprocess.run(["sha256sum", "objects/60-supernodes.yaml"], cwd=copied, capture_output=True, text=True, check=True).stdout
            sums.write_text("".join(new if line.endswith("60-supernodes.yaml\n") else line for line in sums.read_text().splitlines(True)))
        rc, words = site.verify(told, copied)
        assert rc == 1 and "NOT GOOD" in words, words
    assert site.apply(told) == "1"
    there = connect({"kubeconfig": str(fed.kubeconfig), "context": CONTEXT})
    assert fed.pods(CONTEXT, SPACE) == {} and there.get("v1", "Secret", "supernode-far-keys", SPACE)

    # The reply: a changed one is refused, the right one joins.
    path, read_out = site.reply("reply.json")
    changed = json.loads(path.read_text())
    public = json.loads(changed["data"]["public.json"])
    public["pools"]["far"]["keys"]["0"]["public_key"] = public["pools"]["far"]["keys"]["0"]["public_key"][:-8] + "AAAAAAA="
    changed["data"]["public.json"] = json.dumps(public)
    bad = site.folder / "changed.json"
    bad.write_text(json.dumps(changed))
    words = fed.play("join", "-e", f"flower_bundle_reply={bad}", hosts=hosts, rc=2).messages(failed=True)
    assert "is not a reply" in words and fed.keys(SITE) == {}, words
    wrong = ["-e", json.dumps({"flower_bundle_reply": str(path), "flower_bundle_fingerprint": "0000 " * 8})]
    assert "and not the one that was given" in fed.play("join", *wrong, hosts=hosts, rc=2).messages(failed=True)
    right = ["-e", json.dumps({"flower_bundle_reply": str(path), "flower_bundle_fingerprint": read_out})]
    joined = fed.play("join", *right, hosts=hosts)
    assert read_out in joined.messages()
    assert site.apply(told) == "2"
    nodes = far_nodes(fed)
    fed.wait_online(*nodes, seconds=150)
    fed.unchanged(hosts)

    # A plan binds what the next version has.
    noted, file = copy.deepcopy(hosts), site.folder / "plan.yml"
    noted[SITE]["supernode_pools"][0]["node_config"]["note"] = "planned"
    fed.play("plan", "-e", f"flower_plan={file}", hosts=noted)
    assert f"{SITE}: bundle version 3 to write, content " in file.read_text()
    other = copy.deepcopy(noted)
    other[SITE]["supernode_pools"][0]["node_config"]["note"] = "another"
    said = fed.play("site", "-e", f"flower_plan={file}", hosts=other, rc=2).messages(failed=True)
    assert f"{SITE}: bundle version 3 to write, content " in said and "is not planned" in said, said
    assert fed.site(noted, "-e", f"flower_plan={file}").changed[SITE]
    assert site.apply(told) == "3"
    hosts = noted
    fed.wait_online(*nodes, seconds=150)
    fed.unchanged(hosts)
    table = fed.play("status", hosts=hosts)
    assert any(line.startswith(SITE) and line.endswith("ok") for line in table.table), table.table
    fed.play("run", "-e", json.dumps({"flower_app": str(APP), "flower_run_config": {"num-server-rounds": 1}}), hosts=hosts)

    # No secret has left the site: not in bundles, replies, the hub's records, output, or processes.
    fed._collect()
    assert any(f"on {CONTEXT}" in place and SPACE in place for place in fed.secrets.values())
    kept = site.folder / "hub.json"
    kept.write_text(json.dumps(fed.hub.get("v1", "ConfigMap", f"flower-bundle-{SITE}", NAMESPACE)))
    assert not fed.shown(site.folder, fed.logs), fed.shown(site.folder, fed.logs)

    # Leaving: the hub forgets it at once, its administrators delete what the list names.
    assert (fed.lives("site-a"), fed.lives("site-b")) == lives
    gone = fed.play("teardown", "--limit", SITE, "-e", "flower_teardown=true", hosts=hosts)
    assert "nothing was deleted in its cluster" in gone.warnings()
    assert {fed.nodes()[node] for node in nodes} == {"unregistered"} and fed.keys(SITE) == {}
    assert fed.hub.get("v1", "ConfigMap", f"flower-bundle-{SITE}", NAMESPACE) is None
    assert site.verify(told)[0] == 0
    site.uninstall()
    assert fed.gone(CONTEXT, SPACE)
    said = fed.play("leaving_statement", "-e", f"flower_site={SITE}", "-e", f"flower_statement_directory={site.folder}", hosts=hosts)
    record = next(one["result"]["text"] for one in said.results if one["result"].get("file"))
    words = [line.strip() for line in record]
    assert any(line.startswith("retired ") for line in words) and any(line.startswith("revoked ") for line in words)
    assert "Nothing was deleted in the site's cluster. Only the hub forgot the site." in words and not any(line.startswith("deleted ") for line in words)


@pytest.mark.soak
def test_certificates_and_keys_are_rotated_by_bundles(bundled):
    """In a fleet of its own, since all sites take part in rotations."""
    fed, hosts, site = bundled
    hosts = {name: hosts[name] for name in ("hub", SITE)}
    # The control node knows no cluster but the hub's.
    config = yaml.safe_load(fed.kubeconfig.read_text())
    config["contexts"] = [one for one in config["contexts"] if one["name"] == "hub"]
    config["clusters"] = [one for one in config["clusters"] if one["name"] == config["contexts"][0]["context"]["cluster"]]
    alone = site.folder / "hub-alone"
    alone.write_text(yaml.safe_dump(config))
    alone.chmod(0o600)
    hosts["hub"] = {**hosts["hub"], "flower_kubeconfig": str(alone)}
    fed.clear()
    shutil.rmtree(site.home.parent)  # bundles of the hub that is gone, which a new one does not overwrite
    site.home.parent.mkdir()
    fed.site(hosts)
    told = told_fingerprint(fed)

    def round_trip(name: str) -> None:
        site.apply(told)
        path, read_out = site.reply(name)
        fed.play("join", "-e", json.dumps({"flower_bundle_reply": str(path), "flower_bundle_fingerprint": read_out}), hosts=hosts)

    def record() -> dict[str, Any]:
        return fed.ledger().read_records()[SITE]

    round_trip("first.json")
    site.apply(told)
    (old,) = far_nodes(fed)
    fed.wait_online(old, seconds=200)
    serial = record()["client"]["serial"]

    # Both keys are asked for in versions, made by the job, and known to the hub with the reply. What was there serves until the site goes on.
    fed.play("rotate_certs", "-e", "flower_rotate=supernode_keys", hosts=hosts)
    fed.play("rotate_certs", "-e", "flower_rotate=client", hosts=hosts)
    round_trip("keys.json")
    assert record()["client"]["serial"] != serial and record()["superseded"]
    assert fed.nodes()[old] == "online", "the old key serves until the site applies the next version"
    site.apply(told)
    (new,) = far_nodes(fed)
    assert new != old
    fed.wait_online(new, seconds=240)
    path, _read_out = site.reply("answer.json")
    fed.play("join", "-e", f"flower_bundle_reply={path}", hosts=hosts)
    assert serial in [one["serial"] for one in record()["revoked"]] and not record().get("superseded")
    assert fed.nodes()[old] == "unregistered" and fed.nodes()[new] == "online"

    # The secret that the containers of a pod share: the job makes another one, and the version after its reply restarts the pods.
    held = shared_secret(fed)
    run = fed.play("rotate_certs", "-e", "flower_rotate=superexec", hosts=hosts, rc=2)
    assert "recreates its secrets" in run.messages(failed=True), run.details()
    lives = fed.lives(CONTEXT, SPACE)
    round_trip("secrets.json")
    assert shared_secret(fed) != held and fed.lives(CONTEXT, SPACE) == lives
    assert not fed.shown(site.folder, fed.logs), "a key of the site is in a bundle, a reply or a log"
    fed.play("rotate_certs", hosts=hosts)
    site.apply(told)
    fed.wait("other pods", lambda: not set(lives.values()) & set(fed.lives(CONTEXT, SPACE).values()))
    fed.wait_online(new, seconds=150)

    # The CA of the gateway: each phase waits for the site's reply.
    for number, more in enumerate((["-e", "flower_rotate=ca"], [], [])):
        run = fed.play("rotate_certs", *more, "-e", "cert_rotation_grace=0", hosts=hosts, rc=0 if number == 2 else 2)
        if number < 2:
            assert "is not proven" in run.messages(failed=True), run.details()
            round_trip(f"ca-{number}.json")
    fed.wait_online(new, seconds=150)
    fed.unchanged(hosts)
