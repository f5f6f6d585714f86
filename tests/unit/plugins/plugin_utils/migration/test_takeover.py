# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a move from flower-operator keeps: its objects are those that its code makes, see tests/unit/operator_objects.py."""

from __future__ import annotations

import base64
import copy
import json
import re
from types import SimpleNamespace
from typing import Any, Callable

import pytest

from ansible_collections.federated.flower.plugins.action import takeover
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.flower import in_pod
from ansible_collections.federated.flower.plugins.plugin_utils.migration import (
    key_import,
    migration_report,
    operator_federation,
)
from ansible_collections.federated.flower.plugins.plugin_utils.migration.federation_resource import from_federation
from ansible_collections.federated.flower.plugins.plugin_utils.migration.operator_federation import OperatorFederation
from ansible_collections.federated.flower.plugins.plugin_utils.pki import keypairs
from ansible_collections.federated.flower.plugins.plugin_utils.site_keys import keys
from ansible_collections.federated.flower.tests.unit import operator_objects, strange_crypto
from ansible_collections.federated.flower.tests.unit.rows import each_row
from ansible_collections.federated.flower.tests.unit.specs import site_of

KEYS = [keypairs.make_supernode_key() for _number in range(4)]
OPTION = "--auth-supernode-private-key"
VOLUME = {"name": "keys", "secret": {"secretName": "node-keys"}}
ITEMS = {"name": "keys", "secret": {"secretName": "node-keys", "items": [{"key": "k", "path": "a/b"}]}}
PROJECTED = {"name": "keys", "projected": {"sources": [{"secret": {"name": "node-keys"}}]}}
MOUNT = {"name": "keys", "mountPath": "/keys"}
DATABASE = {"extraArgs": ["--database=/db/state.db"], "volumeMounts": [{"name": "db", "mountPath": "/db"}]}
POD_NAME = {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}


def federation(*pools: dict[str, Any], mode: str = "StatefulSet", **superlink: Any) -> dict[str, Any]:
    """A Federation."""
    common = {"images": {"supernode": "flwr/supernode:1.41.0"}, **({"replicas": 2} if mode == "StatefulSet" else {})}
    return {
        **operator_objects.FEDERATION,
        "metadata": {"name": "lab", "namespace": "flower-operator", "uid": "fed"},
        "spec": {
            "mode": mode,
            "isolationMode": "subprocess",
            "superlink": {"image": "flwr/superlink:1.41.0", "extraArgs": ["--host=0.0.0.0", "--port=9092"], **superlink},
            "supernodes": {"image": "flwr/supernode:1.41.0", "pools": [{"name": "cpu", **common, **pool} for pool in pools or [{}]]},
        },
    }


def seen_of(resource: dict[str, Any], claims: tuple[str, ...] = ()) -> OperatorFederation:
    """What would be read of it in a cluster."""
    _service, superlink, *pools = operator_objects.objects(resource)
    for number, one in enumerate([superlink, *pools]):
        one["metadata"]["uid"] = f"workload-{number}"
    found = [pod for one in [superlink, *pools] for pod in operator_objects.pods(one, ("node-1", "node-2"))]
    by_name = {one["metadata"]["labels"][operator_federation.POOL]: one for one in pools}
    return OperatorFederation(resource, superlink, by_name, found, list(claims))


def secret(**entries: str) -> dict[str, Any]:
    return {"data": {name: base64.b64encode(value.encode()).decode() for name, value in entries.items()}}


@pytest.fixture
def site(supernode_spec: Callable[..., Any]) -> Callable[..., Any]:
    """Function: the site of the inventory that a Federation converts to, with changes."""

    def make(resource: dict[str, Any], **changes: Any) -> Any:
        found = {key.removeprefix("supernode_"): value for key, value in from_federation(resource)[2]["variables"].items()}
        return site_of(supernode_spec(**{**found, **changes}))

    return make


def shared(*, arguments: list[str], **more: Any) -> dict[str, Any]:
    return {"extraArgs": arguments, "volumes": [VOLUME], "volumeMounts": [MOUNT], **more}


COUNTED = {"partition-id": "{index}"}


@each_row(
    ("pool", "entries"),
    [
        (shared(arguments=[f"{OPTION}=/keys/$FLOWER_INDEX"], nodeConfig=COUNTED), ["0", "1"]),
        (shared(arguments=[OPTION, "/keys/${FLOWER_INDEX}"], nodeConfig=COUNTED), ["0", "1"]),
        (shared(arguments=[f"{OPTION}=/keys/$(POD)"], env=[POD_NAME]), ["lab-supernode-cpu-0", "lab-supernode-cpu-1"]),
        (shared(arguments=[f"{OPTION}=/keys/x", f"{OPTION}=/keys/$(POD)"], env=[POD_NAME]), ["lab-supernode-cpu-0", "lab-supernode-cpu-1"]),
        (
            shared(arguments=[f"{OPTION}=/keys/key"], env=[POD_NAME], volumeMounts=[{**MOUNT, "subPathExpr": "$(POD)"}]),
            ["lab-supernode-cpu-0/key", "lab-supernode-cpu-1/key"],
        ),
        (shared(arguments=[f"{OPTION}=/keys/key"], replicas=1), ["key"]),
        (shared(arguments=[f"{OPTION}=/keys/a/b"], replicas=1, volumes=[ITEMS]), ["k"]),
        (shared(arguments=[f"{OPTION}=/keys/k"], replicas=1, volumes=[PROJECTED]), ["k"]),
    ],
)
def test_finds_the_key_of_each_supernode(pool: dict[str, Any], entries: list[str]) -> None:
    seen = seen_of(federation(pool))
    workload = seen.pools["cpu"]
    found = [key_import.entry_of(workload, *one) for one in key_import.names_of(seen, workload)]
    assert found == [("node-keys", entry) for entry in entries]
    assert key_import.secrets_needed(seen) == ["node-keys"]


def test_keys_of_a_daemon_set_have_the_names_of_nodes(site: Callable[..., Any]) -> None:
    pool = shared(arguments=[f"{OPTION}=/keys/$FLOWER_NODE_NAME"], nodeConfig={"camera": "{node}"})
    resource = federation(pool, mode="DaemonSet")
    held = {"node-keys": secret(**{"node-1": KEYS[0], "node-2": KEYS[1]})}
    outcome = key_import.import_keys(seen_of(resource), held, site(resource), {})
    assert [(one.name, one.result) for one in outcome.found] == [("node-1", "kept"), ("node-2", "kept")]
    (made,) = outcome.secrets
    assert list(made["stringData"] if "stringData" in made else made["data"]) == ["node-1", "node-2"]
    assert keys.OFFSET not in made["metadata"].get("annotations", {})


@pytest.mark.parametrize(
    ("pool", "why"),
    [
        ({}, "it has none"),
        (shared(arguments=[f"{OPTION}=/keys/$(NOWHERE)"]), "cannot be resolved"),
        ({"extraArgs": [f"{OPTION}=keys"]}, "cannot be resolved"),
        ({"extraArgs": [f"{OPTION}=/else/key"]}, "on no volume"),
        (shared(arguments=[f"{OPTION}=/keys/key"], volumes=[{"name": "keys", "hostPath": {"path": "/k"}}]), "of the kind hostPath"),
        (shared(arguments=[f"{OPTION}=/keys/key"]), "2 SuperNodes share it"),
        (shared(arguments=[f"{OPTION}=/keys/other"]), "no entry other"),
        (shared(arguments=[f"{OPTION}=/keys/$(POD)"], env=[POD_NAME], volumes=[{"name": "keys", "secret": {"secretName": "gone"}}]), "there is no Secret gone"),
        (shared(arguments=[f"{OPTION}=/keys/text"], replicas=1), "not a key that Flower accepts"),
        (shared(arguments=[f"{OPTION}=/keys/strange"], replicas=1), "not a key that Flower accepts"),
    ],
)
def test_says_why_a_key_is_not_kept(pool: dict[str, Any], why: str, site: Callable[..., Any]) -> None:
    resource = federation(pool)
    there = {"node-keys": secret(key=KEYS[0], text="no key", strange=strange_crypto.supernode_key())}
    outcome = key_import.import_keys(seen_of(resource), there, site(resource), {})
    assert all(one.result == "new" and why in one.why for one in outcome.found), outcome.found
    assert not outcome.secrets and not outcome.sources


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"insecure": True, "mtls": False}, "flower_insecure"),
        ({"key_source": "site"}, "flower_key_source is site"),
        ({"pools": [{"name": "other", "node_config": {}}]}, "no pool of this name"),
        ({"pools": [{"name": "cpu", "mode": "DaemonSet", "node_config": {}}]}, "is a DaemonSet"),
    ],
)
def test_keeps_no_key_where_the_site_takes_none(changes: dict[str, Any], why: str, site: Callable[..., Any]) -> None:
    resource = federation(shared(arguments=[f"{OPTION}=/keys/$FLOWER_INDEX"], nodeConfig=COUNTED))
    outcome = key_import.import_keys(seen_of(resource), {"node-keys": secret(**{"0": KEYS[0], "1": KEYS[1]})}, site(resource, **changes), {})
    assert all(why in one.why for one in outcome.found) and not outcome.secrets


def two(site: Callable[..., Any], live: dict[str, Any] | None = None, **changes: Any) -> key_import.ImportedKeys:
    resource = federation(shared(arguments=[f"{OPTION}=/keys/$FLOWER_INDEX"], nodeConfig=COUNTED))
    return key_import.import_keys(seen_of(resource), {"node-keys": secret(**{"0": KEYS[0], "1": KEYS[1]})}, site(resource, **changes), live or {})


def written(made: dict[str, Any], **annotations: str) -> dict[str, Any]:
    """The Secret, as it would be read again."""
    there = copy.deepcopy(made)
    there["metadata"].setdefault("annotations", {}).update(annotations)
    return there


def test_the_role_finds_the_kept_keys_and_makes_no_others(site: Callable[..., Any]) -> None:
    (made,) = two(site).secrets
    for offset in (0, 5):  # numbers of the fleet are given later
        pools = [keys.Pool("cpu", [str(offset), str(offset + 1)], offset)]
        plan = keys.plan("flower", "flower", pools, {made["metadata"]["name"]: made})
        wanted = [keypairs.fingerprint(keypairs.supernode_public_key(key)) for key in KEYS[:2]]
        assert [key["fingerprint"] for key in plan.keys] == wanted
        assert not any("new keys" in reason for reason in plan.reasons)


def test_a_second_time_writes_nothing(site: Callable[..., Any]) -> None:
    (made,) = two(site).secrets
    again = two(site, {made["metadata"]["name"]: made})
    assert not again.secrets and [one.why for one in again.found] == [key_import.HERE] * 2
    moved = keys.build("flower", "flower", "supernode-cpu-keys", {"5": KEYS[0], "6": KEYS[1]}, pool=keys.Pool("cpu", ["5", "6"], 5))
    assert not two(site, {"supernode-cpu-keys": moved}).secrets


def test_a_key_that_is_there_is_not_replaced(site: Callable[..., Any]) -> None:
    own = keys.build("flower", "flower", "supernode-cpu-keys", {"0": KEYS[3]}, pool=keys.Pool("cpu", ["0"], 0))
    outcome = two(site, {"supernode-cpu-keys": own})
    assert [(one.result, "another key" in one.why) for one in outcome.found] == [("new", True), ("kept", False)]
    (made,) = outcome.secrets
    assert key_import.entries(made) == {"0": KEYS[3], "1": KEYS[1]}


def test_fewer_replicas_keep_the_first_keys(site: Callable[..., Any]) -> None:
    outcome = two(site, pools=[{"name": "cpu", "replicas": 1, "node_config": {}}])
    assert [one.result for one in outcome.found] == ["kept", "new"] and "no successor" in outcome.found[1].why


def test_a_key_that_the_hub_refuses_is_not_kept(site: Callable[..., Any]) -> None:
    resource = federation(shared(arguments=[f"{OPTION}=/keys/$FLOWER_INDEX"], nodeConfig=COUNTED))
    refused = {keypairs.fingerprint(keypairs.supernode_public_key(KEYS[0])): "its SuperNode was unregistered there"}
    held = {"node-keys": secret(**{"0": KEYS[0], "1": KEYS[1]})}
    outcome = key_import.import_keys(seen_of(resource), held, site(resource), {}, refused)
    assert [(one.result, one.why) for one in outcome.found] == [("new", "its SuperNode was unregistered there"), ("kept", "")]
    (made,) = outcome.secrets
    assert key_import.entries(made) == {"1": KEYS[1]}
    text = "\n".join(migration_report.report(seen_of(resource), outcome, site(resource), {"why": "x"}, []).lines)
    # The Secret has a key that stays the operator's.
    assert "delete the entries 1 of Secret node-keys, and not the Secret" in text and "delete secret" not in text


def test_keys_go_to_one_site_only(site: Callable[..., Any]) -> None:
    kept = two(site)
    found = key_import.shared_key_errors({"site-a": kept, "site-b": kept, "site-c": key_import.ImportedKeys()})
    assert set(found) == {"site-a", "site-b"} and "that of site-b, or is the same" in found["site-a"]
    assert key_import.shared_key_errors({"site-a": kept}) == {}


def test_claims_of_another_federation_are_none_of_this_one(site: Callable[..., Any]) -> None:
    resource = federation(**{**DATABASE, "volumeClaimTemplates": [{"metadata": {"name": "db"}, "spec": {}}]})
    workload = seen_of(resource).superlink
    assert workload is not None
    names = ("db-lab-superlink-0", "db-lab-superlink-2-superlink-0", "db-lab-superlink-x", "db-lab-superlink-")
    assert [name for name in names if operator_federation.is_claim_of(name, workload)] == ["db-lab-superlink-0"]


def test_no_private_key_is_told(site: Callable[..., Any]) -> None:
    resource = federation(shared(arguments=[f"{OPTION}=/keys/$FLOWER_INDEX"], nodeConfig=COUNTED))
    seen, spec = seen_of(resource), site(resource)
    outcome = key_import.import_keys(seen, {"node-keys": secret(**{"0": KEYS[0], "1": "PRIVATE-s3cr3t"})}, spec, {})
    text = json.dumps([migration_report.report(seen, outcome, spec, {"why": "x"}, []).lines, [one.facts() for one in outcome.found]])
    assert "s3cr3t" not in text and not any(line in text for key in KEYS for line in key.splitlines()[1:-1])


@pytest.mark.parametrize(
    ("superlink", "claims", "words"),
    [
        ({}, (), "in memory"),
        ({"extraArgs": ["--database=/db/state.db"]}, (), "on no volume that outlives"),
        ({**DATABASE, "volumes": [{"name": "db", "emptyDir": {}}]}, (), "on no volume that outlives"),
        (
            {**DATABASE, "extraArgs": ["--database", "sqlite:////db/x.db"], "volumeClaimTemplates": [{"metadata": {"name": "db"}, "spec": {}}]},
            ("db-lab-superlink-0",),
            "PersistentVolumeClaim db-lab-superlink-0, which stays",
        ),
        ({**DATABASE, "volumes": [{"name": "db", "persistentVolumeClaim": {"claimName": "mine"}}]}, (), "PersistentVolumeClaim mine, which stays"),
    ],
)
def test_says_what_becomes_of_the_database(superlink: dict[str, Any], claims: tuple[str, ...], words: str, site: Callable[..., Any]) -> None:
    resource = federation(**superlink)
    lines = migration_report.report(seen_of(resource, claims), key_import.ImportedKeys(), site(resource), {"why": "x"}, []).lines
    assert any(words in line and "empty database" in line for line in lines), lines


@each_row(
    ("arguments", "asked"),
    [(["--port=9092"], (9092, "")), ([], (8000, "")), (["--port", "9092", "--ssl-ca-certfile=/tls/ca.crt"], (9092, "/tls/ca.crt"))],
)
def test_how_the_old_superlink_is_asked(arguments: list[str], asked: tuple[int, str]) -> None:
    assert migration_report.superlink_access(seen_of(federation(image="flwr/superlink:1.41.0", extraArgs=arguments))) == asked


@pytest.mark.parametrize(("image", "why"), [("flwr/superlink:1.26.1", "older than 1.40"), ("flwr/superlink:latest", "unknown version")])
def test_an_old_superlink_is_not_asked(image: str, why: str) -> None:
    with pytest.raises(ClusterError, match=why):
        migration_report.superlink_access(seen_of(federation(image=image, extraArgs=[])))


def test_tls_without_a_known_ca_is_not_asked() -> None:
    resource = federation()
    resource["spec"]["insecure"] = False
    with pytest.raises(ClusterError, match="it has TLS"):
        migration_report.superlink_access(seen_of(resource))


def test_the_report(site: Callable[..., Any]) -> None:
    cpu = shared(arguments=[f"{OPTION}=/keys/$FLOWER_INDEX"], nodeConfig={"partition-id": "{index}", "name": "{index}_of_{replicas}", "rate": "0.1"})
    gpu = {"name": "gpu", "replicas": 1, "gpu": {"enabled": True, "count": 2}}
    resource = federation(cpu, gpu)
    seen, spec = seen_of(resource, ("db-lab-superlink-0",)), site(resource, pools=[{"name": "cpu", "replicas": 3, "node_config": {"rate": 0.1, "x": 1}}])
    outcome = key_import.import_keys(seen, {"node-keys": secret(**{"0": KEYS[0]})}, spec, {})
    found = migration_report.report(
        seen,
        outcome,
        spec,
        {"runs": [{"run-id": 7, "status": "running"}, {"run-id": 8, "status": "finished:completed"}]},
        ["Secret token"],
    )
    text = "\n".join(found.lines)
    for words in (
        "Federation flower-operator/lab of flower-operator, Flower 1.41.0",
        "cpu/0: kept (goes to Secret flower/supernode-cpu-keys), SHA256:",
        "cpu/1: gets a new key: Secret node-keys has no entry 1",
        "gpu/0: gets a new key: supernode_pools of this site has no pool of this name",
        "cpu: partition-id is another one in supernode_pools",
        "cpu: x is added in supernode_pools",
        "cpu: has 3 replicas in supernode_pools, and had 2",
        "cpu: kept: rate",
        "gpu: supernode_pools of this site has no such pool",
        "active runs: 7: they end with the old SuperLink",
        "now: none. Nothing of the operator is changed",
        "2 nvidia.com/gpu of the old pods are taken",
        "Secret token",
        "kubectl -n flower-operator delete federation lab",
        "delete secret node-keys",
        "PersistentVolumeClaims stay until you delete them: db-lab-superlink-0",
    ):
        assert words in text, (words, text)
    assert found.active == ["7"] and found.missing == ["Secret token"]


def test_a_node_config_of_the_shell_arrives_otherwise(site: Callable[..., Any]) -> None:
    resource = federation({"nodeConfig": {"name": "{index}_of_{replicas}", "n": "3", "t": "true"}})
    text = "\n".join(migration_report.report(seen_of(resource), key_import.ImportedKeys(), site(resource), {"why": "no"}, []).lines)
    assert "cpu: name arrives as it is written; the operator passes it through a shell" in text
    assert "cpu: kept: n, t" in text and "(no)" in text


def test_references() -> None:
    env = [
        {"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k", "optional": True}}},
    ]
    volumes = [
        {"name": "v", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "w", "projected": {"sources": [{"configMap": {"name": "more"}}]}},
        {"name": "x", "secret": {"secretName": "t", "optional": True}},
        {"name": "y", "emptyDir": {}},
    ]
    added = [{"envFrom": [{"secretRef": {"name": "e"}}, {"configMapRef": {"name": "o", "optional": True}}]}, {}]
    assert sorted(operator_federation.references([{"env": env}, *added], volumes)) == [
        ("ConfigMap", "more"), ("PersistentVolumeClaim", "data"), ("Secret", "e"), ("Secret", "s"),
    ]  # fmt: skip


ENTRY = {"run-id": 1, "status": "running"}


@pytest.mark.parametrize(
    ("printed", "rc", "known"),
    [
        ({"rc": 0, "out": {"success": True, "runs": [ENTRY, {"run-id": 2, "status": "finished:failed"}]}}, 0, ["1"]),
        ({"rc": 0, "out": {"success": False, "error-message": "no\x1b[31m way"}}, 0, "no?[31m way"),
        ({}, 1, "hub: pod x: a program ended with code 1: No module named flwr"),
    ],
)
def test_runs_are_listed_by_the_command_line_of_the_pod(monkeypatch: pytest.MonkeyPatch, printed: Any, rc: int, known: Any) -> None:
    requests: list[Any] = []

    def run(*place: Any, **_more: Any) -> in_pod.Output:
        requests.append(place[5])
        return in_pod.Output([json.dumps(printed)], rc, "No module named flwr", "hub: pod x")

    monkeypatch.setattr(in_pod, "run", run)
    monkeypatch.setattr(migration_report, "superlink_access", lambda _seen: (9092, "/tls/ca.crt"))
    seen = SimpleNamespace(superlink={}, namespace="flower", pods_of=lambda _one: [{"metadata": {"name": "x"}, "status": {"phase": "Running"}}])
    answer = takeover.ActionModule._runs(None, None, seen)
    assert (migration_report.active_of(answer) or answer.get("why")) == known
    assert 'address = "127.0.0.1:9092"\nroot-certificates = "/tls/ca.crt"' in requests[0]["files"]["config.toml"]
    assert requests[0]["steps"][0]["command"][-3:] == ["here", "--format", "json"]


def test_the_variables_name_a_federation() -> None:
    assert operator_federation.selected_federation(None, "", "scenario") is None
    assert operator_federation.selected_federation("lab", None, "scenario") == ("lab", "scenario")
    assert operator_federation.selected_federation("lab", "my.federation", "scenario") == ("lab", "my.federation")


@each_row(
    ("given", "words"),
    [
        ((None, "lab"), "flower_takeover_federation is 'lab', and flower_takeover_namespace is not set"),
        (("..", None), "flower_takeover_namespace: '..' is not a DNS-1123 label"),
        (("lab/hospital", None), "flower_takeover_namespace: 'lab/hospital' is not"),
        ((["lab"], None), "flower_takeover_namespace: ['lab'] is not"),
        ((7, None), "flower_takeover_namespace: 7 is not"),
        (("lab", "x/../y"), "flower_takeover_federation: 'x/../y' is not a DNS name"),
        (("lab", True), "flower_takeover_federation: True is not"),
    ],
)
def test_what_is_no_name_is_refused(given: tuple[Any, Any], words: str) -> None:
    with pytest.raises(ClusterError, match=re.escape(words)):
        operator_federation.selected_federation(*given, "scenario")
