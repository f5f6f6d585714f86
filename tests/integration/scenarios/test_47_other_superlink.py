# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""SuperNodes join a SuperLink that someone else has started by hand: an inventory without a hub, keys registered by its administrator, a training, new keys."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.federated.flower.plugins.plugin_utils.apply.engine import apply_objects
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates
from ansible_collections.federated.flower.tests.integration.scenarios.conftest import APP, CPU
from ansible_collections.federated.flower.tests.integration.scenarios.lane import NAMESPACE
from ansible_collections.federated.flower.tests.integration.scenarios.test_38_takeover import secret

SPACE, NAME, PORT = f"{NAMESPACE}-far", "superlink.consortium.example", 9092
ROTATE = ("rotate_certs", "-e", "flower_rotate=supernode_keys")
# What its administrator has: no label of this collection, no gateway, no certificates of clients.
SUPERLINK = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "by-hand", "namespace": SPACE, "labels": {"app": "by-hand"}},
    "spec": {
        "containers": [
            {
                "name": "superlink",
                "image": "docker.io/flwr/superlink:1.42.0",
                "args": [
                    "--host=0.0.0.0", f"--port={PORT}", "--enable-supernode-auth", "--disable-runtime-dependency-installation",
                    "--ssl-certfile=/tls/tls.crt", "--ssl-keyfile=/tls/tls.key", "--ssl-ca-certfile=/tls/ca.crt",
                ],
                "env": [{"name": "FLWR_TELEMETRY_ENABLED", "value": "0"}],
                "volumeMounts": [{"name": "tls", "mountPath": "/tls"}],
            }
        ],
        "volumes": [{"name": "tls", "secret": {"secretName": "by-hand-tls"}}],
    },
}  # fmt: skip
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "by-hand", "namespace": SPACE},
    "spec": {"type": "NodePort", "selector": {"app": "by-hand"}, "ports": [{"port": PORT}]},
}
# Flower's own CLI beside it, as the administrator uses it. Arguments: of flwr, then the files that it needs.
FLWR = """
import json, os, pathlib, subprocess, sys, tempfile
words, files = json.loads(sys.argv[1])
with tempfile.TemporaryDirectory() as folder:
    for name, text in {**files, "config.toml": '[superlink]\\ndefault = "here"\\n[superlink.here]\\naddress = "127.0.0.1:9092"\\n'
                       'root-certificates = "/tls/ca.crt"\\n'}.items():
        path = pathlib.Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    env = {**os.environ, "FLWR_HOME": folder, "HOME": folder}
    print(subprocess.run(["flwr", *words, "here", "--format", "json"], env=env, cwd=folder, capture_output=True, text=True).stdout)
"""
OWN = [{"hosts": "flower_sites", "gather_facts": False, "roles": ["federated.flower.supernode"]}]

Flwr = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def flwr(federation: Any) -> Iterator[Flwr]:
    """Flower's CLI at a SuperLink that was started by hand in the cluster of the hub."""
    day = datetime.timedelta(days=1)
    ca = certificates.make_ca("consortium", day)
    leaf = certificates.issue(ca, "consortium", [NAME, "localhost", "127.0.0.1"], day)
    tls = secret("by-hand-tls", SPACE, **{"tls.crt": leaf.certificate, "tls.key": leaf.key, "ca.crt": ca.certificate})
    apply_objects(federation.hub, [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}}, tls, SERVICE, SUPERLINK], wait=True)

    def ask(*words: str, **files: str) -> dict[str, Any]:
        return json.loads(federation.python("hub", "by-hand", "superlink", FLWR, json.dumps([words, files]), namespace=SPACE).strip() or "{}")

    federation.wait("the SuperLink by hand", lambda: ask("supernode", "list").get("success"), pause=2)
    yield ask
    federation.hub.delete("v1", "Namespace", SPACE, propagation="Background")
    federation.wait("its end", lambda: federation.gone("hub", SPACE))


def site(federation: Any, folder: Path) -> dict[str, dict[str, Any]]:
    """The inventory: one site, no hub."""
    (node, *_others) = federation.hub.list("v1", "Node")
    host = next(one["address"] for one in node["status"]["addresses"] if one["type"] == "InternalIP")
    port = federation.hub.get("v1", "Service", "by-hand", SPACE)["spec"]["ports"][0]["nodePort"]
    ca = federation.hub.get("v1", "Secret", "by-hand-tls", SPACE)["data"]["ca.crt"]
    apply_objects(
        federation.cluster("site-a"),
        [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}},
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "consortium-ca", "namespace": SPACE}, "data": {"ca.crt": ca}},
        ],
    )
    joins = {"address": f"{host}:{port}", "ca_secret": "consortium-ca", "server_name": NAME, "public_keys": str(folder / "keys")}
    given = {"flower_context": "site-a", "flower_namespace": SPACE, "flower_create_namespace": False, "supernode_pools": [CPU]}
    return {"site-a": {**given, "supernode_superlink": joins}}


def files_of(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted((folder / "keys").glob("*.pub"))}


def online(flwr: Flwr) -> set[str]:
    return {str(node["node-id"]) for node in flwr("supernode", "list").get("nodes", []) if node["status"] == "online"}


def register(flwr: Flwr, folder: Path) -> None:
    for name, line in files_of(folder).items():
        answer = flwr("supernode", "register", name, **{name: line})
        assert answer["success"], answer


def test_supernodes_join_train_and_get_new_keys(federation: Any, flwr: Flwr, tmp_path: Path) -> None:
    fed, hosts = federation, site(federation, tmp_path)
    own = tmp_path / "own.yml"
    own.write_text(yaml.safe_dump(OWN))

    # A wrong value is refused before anything is changed, and so is a playbook that needs a hub.
    wrong = {"site-a": {**hosts["site-a"], "supernode_superlink": {**hosts["site-a"]["supernode_superlink"], "ca_secret": "absent"}}}
    refused = fed.play("site", hosts=wrong, rc=2)
    assert f"Secret {SPACE}/absent (supernode_superlink.ca_secret) does not exist" in refused.messages("site-a", failed=True), refused.details()
    assert "this playbook needs a hub" in fed.play("upgrade", hosts=hosts, rc=2).output

    # The role in a playbook of a user: the keys wait for the administrator of the SuperLink.
    first = fed.play(str(own), hosts=hosts)
    assert "registers these keys" in first.warnings() and "site-a-cpu-0.pub, site-a-cpu-1.pub" in first.warnings(), first.details()
    assert sorted(files_of(tmp_path)) == ["site-a-cpu-0.pub", "site-a-cpu-1.pub"] and not online(flwr)
    register(flwr, tmp_path)
    fed.wait("the SuperNodes", lambda: len(online(flwr)) == 2, 240, pause=3)

    # site.yml of an inventory without a hub has nothing to change, and the status is what the pods report.
    second = fed.play("site", hosts=hosts)
    assert set(second.changed.values()) == {0}, (second.changed, second.log)
    assert "2 of 2 SuperNodes have been running for 20 s" in second.messages("site-a") and "registers these keys" not in second.warnings()
    assert any("2 of 2 SuperNodes of pool cpu are ready" in line for line in fed.play("status", hosts=hosts).table)
    assert sorted(fed.partitions("site-a", SPACE).values()) == [0, 1]

    # A training.
    app = {str(path.relative_to(APP.parent)): path.read_text() for path in APP.rglob("*") if path.suffix in (".py", ".toml", ".md")}
    run = flwr("run", APP.name, **app)
    assert run["success"], run
    fed.wait("the run", lambda: "finished:" in json.dumps(flwr("list")), 300, pause=5)
    assert "finished:completed" in json.dumps(flwr("list"))

    # New keys: they are made, registered by the administrator, and SuperNodes restart with them.
    old, before, lives = online(flwr), files_of(tmp_path), fed.lives("site-a", SPACE)
    made = fed.play(*ROTATE, hosts=hosts)
    assert "new keys were created" in made.warnings() and not set(files_of(tmp_path).values()) & set(before.values()), made.details()
    assert fed.lives("site-a", SPACE) == lives and online(flwr) == old
    register(flwr, tmp_path)
    again = fed.play(*ROTATE, hosts=hosts)
    assert "2 SuperNodes restarted with their new keys" in again.messages("site-a"), again.details()
    fed.wait("the new keys", lambda: len(online(flwr) - old) == 2, 240, pause=3)
    for node in old:
        assert flwr("supernode", "unregister", node)["success"]

    # The role removes them.
    gone = fed.play(str(own), "-e", "supernode_state=absent", hosts=hosts)
    assert "until its administrator unregisters them" in gone.messages("site-a"), gone.details()
    fed.wait("the end of the pods", lambda: not fed.pods("site-a", SPACE))
    assert set(fed.play(str(own), "-e", "supernode_state=absent", hosts=hosts).changed.values()) == {0}
    fed.cluster("site-a").delete("v1", "Namespace", SPACE, propagation="Background")
    fed.wait("its end", lambda: fed.gone("site-a", SPACE))
