# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""A federation as flower-operator makes it moves to the collection: keys are kept, and nothing of the operator is touched.

The operator does not run here: its objects are applied as its code makes them, on the real API server. What runs in its pods is Flower.
"""

from __future__ import annotations

import base64
import datetime
import json
from typing import Any

import pytest
import yaml

from ansible_collections.federated.flower.plugins.plugin_utils.apply.engine import apply_objects
from ansible_collections.federated.flower.plugins.plugin_utils.migration import operator_federation
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates, keypairs
from ansible_collections.federated.flower.plugins.plugin_utils.state.ledger import Ledger
from ansible_collections.federated.flower.tests.integration.scenarios.conftest import APP
from ansible_collections.federated.flower.tests.integration.scenarios.lane import NAMESPACE
from ansible_collections.federated.flower.tests.integration.scenarios.test_31_convert import read
from ansible_collections.federated.flower.tests.unit import operator_objects

OLD, NEW = f"{NAMESPACE}-operator", f"{NAMESPACE}-taken"
COMMON = {"flower_namespace": NEW, "flower_ca_namespace": f"{NEW}-ca", "flower_takeover_namespace": OLD, "flower_takeover_federation": "lab"}
KEYS = {f"lab-supernode-cpu-{index}": keypairs.make_supernode_key() for index in range(2)}
PUBLIC = {name: keypairs.supernode_public_key(key) for name, key in KEYS.items()}
TLS = {"name": "tls", "mountPath": "/tls"}
# What an administrator of the operator does by hand: SuperLink with TLS and keys, on the one port of Flower's present releases.
FEDERATION = {
    **operator_objects.FEDERATION,
    "metadata": {"name": "lab", "namespace": OLD},
    "spec": {
        "mode": "StatefulSet",
        "isolationMode": "subprocess",
        "insecure": False,
        "superlink": {
            "image": "docker.io/flwr/superlink:1.42.0",
            "extraArgs": [
                "--host=0.0.0.0", "--port=9092", "--enable-supernode-auth",
                *(f"--ssl-{name}=/tls/{file}" for name, file in (("certfile", "tls.crt"), ("keyfile", "tls.key"), ("ca-certfile", "ca.crt"))),
            ],
            "volumes": [{"name": "tls", "secret": {"secretName": "lab-tls"}}],
            "volumeMounts": [TLS],
            "service": {"type": "ClusterIP"},
        },
        "supernodes": {
            "image": "docker.io/flwr/supernode:1.42.0",
            "pools": [
                {
                    "name": "cpu",
                    "replicas": 2,
                    "images": {"supernode": "docker.io/flwr/supernode:1.42.0"},
                    "env": [
                        {"name": "ME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                        {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "data-token", "key": "token"}}},
                    ],
                    "extraArgs": ["--root-certificates=/tls/ca.crt", "--auth-supernode-private-key=/keys/$(ME)"],
                    "volumes": [{"name": "keys", "secret": {"secretName": "node-keys"}}, {"name": "tls", "secret": {"secretName": "lab-tls"}}],
                    "volumeMounts": [{"name": "keys", "mountPath": "/keys"}, TLS],
                    "nodeConfig": {"partition-id": "0", "num-partitions": "1", "where": "{pool}"},
                }
            ],
        },
    },
}  # fmt: skip
ASK = """
import json, os, subprocess, sys, tempfile
with tempfile.TemporaryDirectory() as folder:
    with open(folder + "/config.toml", "w") as file:
        file.write('[superlink]\\ndefault = "old"\\n[superlink.old]\\naddress = "127.0.0.1:9092"\\nroot-certificates = "/tls/ca.crt"\\n')
    def flwr(*words):
        env = {**os.environ, "FLWR_HOME": folder, "HOME": folder, "FLWR_TELEMETRY_ENABLED": "0"}
        return subprocess.run(["flwr", *words, "old", "--format", "json"], env=env, capture_output=True, text=True).stdout
    for number, line in enumerate(sys.argv[1:]):
        with open(f"{folder}/{number}.pub", "w") as file:
            file.write(line + "\\n")
        flwr("supernode", "register", f"{folder}/{number}.pub")
    print(flwr("supernode", "list"))
"""


def secret(name: str, namespace: str, **entries: str) -> dict[str, Any]:
    data = {key: base64.b64encode(value.encode()).decode() for key, value in entries.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace}, "data": data}


@pytest.fixture(scope="module")
def operator(federation):
    """The cluster with the operator's federation, both SuperNodes online at its SuperLink. The operator itself is not there."""
    fed = federation
    cluster = fed.cluster("site-a")
    day = datetime.timedelta(days=1)
    ca = certificates.make_ca("lab", day)
    leaf = certificates.issue(ca, "lab", ["lab-superlink", "localhost", "127.0.0.1"], day)
    definition = operator_objects.definition()
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": OLD}}
    apply_objects(
        cluster,
        [
            definition,
            space,
            secret("lab-tls", OLD, **{"tls.crt": leaf.certificate, "tls.key": leaf.key, "ca.crt": ca.certificate}),
            secret("node-keys", OLD, **KEYS),
            secret("data-token", OLD, token="s3cr3t-token-of-the-data"),
        ],
        wait=True,
    )
    apply_objects(cluster, [FEDERATION])
    resource = cluster.get(operator_federation.API, operator_federation.KIND, "lab", OLD)
    apply_objects(cluster, operator_objects.objects(resource))
    fed.wait("the old SuperLink", lambda: running(cluster, "lab-superlink-0"))

    def online() -> bool:
        answer = json.loads(fed.python("site-a", "lab-superlink-0", "superlink", ASK, *PUBLIC.values(), namespace=OLD) or "{}")
        return [node["status"] for node in answer.get("nodes", [])] == ["online"] * 2

    fed.wait("the old SuperNodes", online, 120, pause=2)
    yield cluster
    cluster.delete("v1", "Namespace", OLD, propagation="Background")
    apply_objects(cluster, [definition], state="absent", wait=True)


def running(cluster: Any, name: str) -> bool:
    pod = cluster.get("v1", "Pod", name, OLD)
    return bool(pod) and any(one.get("started") for one in pod["status"].get("containerStatuses", []))


def theirs(cluster: Any) -> dict[tuple[str, str], str]:
    """What the operator and its users made, by its version; of workloads and pods, which have a status, uid and generation, or restarts."""
    found = {
        (kind, one["metadata"]["name"]): one["metadata"]["resourceVersion"]
        for api, kind in (
            ("v1", "Secret"),
            ("v1", "ConfigMap"),
            ("v1", "Service"),
            ("v1", "ServiceAccount"),
            (operator_federation.API, operator_federation.KIND),
        )
        for one in cluster.list(api, kind, OLD)
    }
    for one in cluster.list("apps/v1", "StatefulSet", OLD):
        found["StatefulSet", one["metadata"]["name"]] = f"{one['metadata']['uid']} {one['metadata']['generation']}"
    found["Namespace", OLD] = cluster.get("v1", "Namespace", OLD)["metadata"]["resourceVersion"]
    for pod in cluster.list("v1", "Pod", OLD):
        restarts = [box["restartCount"] for box in pod["status"].get("containerStatuses", [])]
        found["Pod", pod["metadata"]["name"]] = f"{pod['metadata']['uid']} {restarts}"
    return found


@pytest.mark.soak
def test_a_federation_of_the_operator_moves(federation, operator, tmp_path):
    fed = federation
    live = operator.get(operator_federation.API, operator_federation.KIND, "lab", OLD)
    (tmp_path / "federation.yaml").write_text(yaml.safe_dump(live))
    given = (f"flower_convert_federation={tmp_path}/federation.yaml", f"flower_convert_directory={tmp_path}/fleet")
    fed.play("convert", *(word for one in given for word in ("-e", one)))
    hub = {"flower_context": "hub", "superlink_storage_size": "256Mi", **read(tmp_path / "fleet", "flower_hub")}
    # The hub is moved to another cluster, so that sites elsewhere reach it.
    hosts = {"hub": {**hub, "superlink_exposure": "node_port"}, "site-a": {"flower_context": "site-a", **read(tmp_path / "fleet", "flower_sites")}}
    before = theirs(operator)

    # Labels of both are alike, so they never share a namespace.
    taken = {**COMMON, "flower_namespace": OLD}
    assert "the namespace of the Federation" in fed.play("takeover", hosts=hosts, rc=2, **taken).messages("site-a", failed=True)
    absent = fed.play("takeover", hosts=hosts, rc=2, **{**COMMON, "flower_takeover_federation": "other"})
    assert f"there is no Federation {OLD}/other" in absent.messages("site-a", failed=True)

    # A host that is written twice would get the same keys twice.
    twin = {**hosts, "site-c": {**hosts["site-a"], "supernode_namespace": f"{NEW}-c"}}
    twice = fed.play("takeover", "-e", "flower_takeover=true", hosts=twin, rc=2, **COMMON)
    for name, other in (("site-a", "site-c"), ("site-c", "site-a")):
        assert f"its Federation has SuperNode keys of that of {other}, or is the same" in twice.messages(name, failed=True), twice.details()
    mistyped = fed.play("takeover", hosts=hosts, rc=2, **{**COMMON, "flower_takeover_namespace": "Lab/lab"})
    assert "flower_takeover_namespace: 'Lab/lab' is not a DNS-1123 label" in mistyped.messages("site-a", failed=True)

    # Report first: nothing is changed.
    told = fed.play("takeover", hosts=hosts, rc=2, **COMMON)
    fingerprints = {name: keypairs.fingerprint(line) for name, line in PUBLIC.items()}
    for words in (
        "nothing was changed. To keep the keys as reported, add -e flower_takeover=true",
        *(f"cpu/{index}: kept (goes to Secret {NEW}/supernode-cpu-keys), {fingerprints[name]}" for index, name in enumerate(KEYS)),
        "cpu: kept: num-partitions, partition-id, where",
        "in memory: the list of runs ends with the old SuperLink",
        "no run is active",
        "with the last steps these end: the SuperLink, cpu 2",
        "Secret data-token",
        f"kubectl -n {OLD} delete federation lab",
    ):
        assert words in " ".join(told.output.split()), (words, told.details())
    assert fed.gone("site-a", NEW) and fed.gone("hub", NEW)

    # Without a hub nothing could be recorded.
    confirmed = ("-e", "flower_takeover=true")
    early = fed.play("takeover", *confirmed, hosts=hosts, rc=2, **COMMON)
    assert "the hub is not deployed yet, and nothing was changed" in early.messages("site-a", failed=True) and fed.gone("site-a", NEW)

    # Keep the keys; a second time there is nothing to do.
    fed.site(hosts, "--limit", "hub", **COMMON)
    foreseen = fed.play("takeover", "--check", *confirmed, hosts=hosts, **COMMON)
    assert foreseen.changed["site-a"] > 0 and fed.gone("site-a", NEW)
    assert fed.play("takeover", *confirmed, hosts=hosts, **COMMON).changed["site-a"] > 0
    assert set(fed.play("takeover", *confirmed, hosts=hosts, **COMMON).changed.values()) == {0}
    held = operator.get("v1", "Secret", "supernode-cpu-keys", NEW)["data"]
    assert [base64.b64decode(held[str(index)]).decode() for index in range(2)] == list(KEYS.values())
    apply_objects(operator, [secret("data-token", NEW, token="s3cr3t-token-of-the-data")])
    assert "Missing in namespace" not in fed.play("takeover", "--check", *confirmed, hosts=hosts, **COMMON).output

    # The role registers the kept keys. Old and new SuperNodes run beside each other.
    done = fed.site(hosts, **COMMON)
    assert "2 SuperNodes of 1 site are online" in done.messages(), done.messages()
    record = Ledger(fed.hub, NEW, "lab").read_records()["site-a"]
    assert set(record["keys"]) == set(fingerprints.values())
    assert theirs(operator) == before
    given = {"flower_app": str(APP), "flower_run_config": {"num-server-rounds": 1}}
    assert "completed" in fed.play("run", "-e", json.dumps(given), hosts=hosts, **COMMON).messages("hub")
    fed.unchanged(hosts, **COMMON)

    # The last step, which is the user's. What the operator made goes with the Federation, by Kubernetes itself.
    lives = fed.lives("site-a", NEW)
    operator.delete(operator_federation.API, operator_federation.KIND, "lab", OLD, propagation="Background")
    fed.wait("the end of the old pods", lambda: not operator.list("v1", "Pod", OLD), 120)
    assert fed.lives("site-a", NEW) == lives
    fed.play("teardown", "-e", "flower_teardown=true", "-e", "flower_delete_volumes=true", hosts=hosts, **COMMON)
    # It is in the environment of the processes that the Federation names, as users want it, and nowhere else.
    assert not fed.shown(fed.logs, fed.home, fed.tmp)
    for text in [text for text, place in fed.secrets.items() if "data-token" in place]:
        del fed.secrets[text]
