# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The inventory plugin federated.flower.ocm on a real API server with a thousand ManagedClusters, read by Ansible as a user would.

The last cluster of the fleet plays the hub: its API server has the kinds, the tests write what OCM's controllers would write.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster, connect
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import api
from ansible_collections.federated.flower.plugins.plugin_utils.ocm.managed_clusters import Question, ask
from ansible_collections.federated.flower.tests.integration import ocm_hub

ROOT = Path(__file__).parents[2]
COUNT = 1000
NAMES = [item["metadata"]["name"] for item in ocm_hub.fleet(COUNT)]
LABELS = {item["metadata"]["name"]: item["metadata"]["labels"] for item in ocm_hub.fleet(COUNT)}
MINE = f"{ocm_hub.MARK}=true"
Auth = dict[str, Any]


class Listing(NamedTuple):
    """What ansible-inventory --list said."""

    groups: dict[str, list[str]]
    hosts: dict[str, dict[str, Any]]
    warnings: str


class Inventory:
    """A folder with inventory files, and what Ansible reads from them."""

    def __init__(self, folder: Path, auth: Auth) -> None:
        self.folder = folder
        self.auth = auth
        self.env: dict[str, str] = {}

    def write(self, *, name: str = "fleet.ocm.yml", **options: Any) -> None:
        config = {"plugin": "federated.flower.ocm", **self.auth, "label_selector": MINE, **options}
        (self.folder / name).write_text(yaml.safe_dump(config), encoding="utf-8")

    def run(self, command: str, *words: str) -> subprocess.CompletedProcess[str]:
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("K8S_AUTH_", "ANSIBLE_INVENTORY"))}
        done = subprocess.run(
            [str(Path(sys.executable).parent / command), *words],
            cwd=self.folder,
            env={**inherited, "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "true", "COLUMNS": "10000", **self.env},
            capture_output=True,
            text=True,
            check=False,
        )
        print(done.stdout[-5000:], done.stderr)
        return done

    def read(self, *flags: str, name: str = "fleet.ocm.yml", **options: Any) -> Listing:
        """Write the file, unless there are no options, and read it."""
        if options:
            self.write(name=name, **options)
        done = self.run("ansible-inventory", "-i", name, "--list", *flags)
        assert done.returncode == 0
        data = json.loads(done.stdout)
        hosts = {host: _plain(found) for host, found in data.pop("_meta")["hostvars"].items()}
        groups = {group: sorted(found.get("hosts", [])) for group, found in data.items()}
        return Listing(groups, hosts, " ".join(done.stderr.split()))

    def fault(self, name: str = "fleet.ocm.yml", **options: Any) -> str:
        """Write the file; the reason why it cannot be read."""
        self.write(name=name, **options)
        done = self.run("ansible-inventory", "-i", name, "--list")
        assert done.returncode != 0
        return " ".join(done.stderr.split())


def _plain(value: Any) -> Any:
    """Without the marks that ansible-inventory puts on text that is not a template."""
    if isinstance(value, dict):
        if set(value) == {"__ansible_unsafe"}:
            return value["__ansible_unsafe"]
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


@pytest.fixture(scope="module")
def auth(fleet_kubeconfig: Path, fleet_contexts: list[str]) -> Auth:
    return {"kubeconfig": str(fleet_kubeconfig), "context": fleet_contexts[-1]}


@pytest.fixture(scope="module")
def hub(auth: Auth) -> Iterator[Cluster]:
    """A thousand clusters, and a namespace for Placements."""
    with connect(auth) as one:
        made = ocm_hub.install(one)
        ocm_hub.remove(one, [])
        ocm_hub.put_all(auth, ocm_hub.fleet(COUNT))
        yield one
        ocm_hub.remove(one, made)


@pytest.fixture(scope="module")
def namespace(hub: Cluster) -> Iterator[str]:
    name = f"ocm-test-{uuid.uuid4().hex[:8]}"
    hub.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    yield name
    hub.delete("v1", "Namespace", name, propagation="Background")


@pytest.fixture
def inventory(hub: Cluster, tmp_path: Path, auth: Auth) -> Inventory:
    return Inventory(tmp_path, auth)


@pytest.fixture
def extra(hub: Cluster) -> Iterator[Any]:
    """Function: create clusters with their own label; they are deleted with the test."""
    made: list[str] = []

    def put(*clusters: dict[str, Any]) -> str:
        for cluster in clusters:
            cluster["metadata"]["labels"] = {**cluster["metadata"]["labels"], "extra": "true"}
            ocm_hub.put(hub, cluster)
            made.append(cluster["metadata"]["name"])
        return "extra=true"

    yield put
    for name in made:
        if hub.get(api.CLUSTERS, "ManagedCluster", name) is not None:
            hub.patch(api.CLUSTERS, "ManagedCluster", name, None, {"metadata": {"finalizers": None}})
            hub.delete(api.CLUSTERS, "ManagedCluster", name)


def selected(**labels: str) -> list[str]:
    return [name for name in NAMES if all(LABELS[name].get(key) == value for key, value in labels.items())]


# ---- hosts -----------------------------------------------------------------------------------------------------------


def test_a_thousand_clusters_are_hosts(inventory: Inventory) -> None:
    found = inventory.read(
        hub_host="hub",
        compose={"flower_region": "ocm_labels.region"},
        keyed_groups=[
            {"key": "flower_region", "prefix": "region"},
            {"key": "ocm_labels.gpu | default('')", "prefix": "gpu"},
            {"key": "ocm_addons", "prefix": "addon"},
        ],
        groups={"up": "ocm_available"},
    )
    assert found.groups["flower_sites"] == NAMES
    assert found.groups["flower_hub"] == ["hub"]
    assert found.groups["region_eu"] == selected(region="eu")
    assert found.groups["gpu_a100"] == selected(gpu="a100")
    assert found.groups["addon_flower_supernode_unreachable"] == NAMES[::100]
    assert len(found.groups["up"]) == COUNT - 10
    assert "WARNING" not in found.warnings

    assert found.hosts["hub"] == {
        "flower_kubeconfig": inventory.auth["kubeconfig"],
        "flower_context": inventory.auth["context"],
    }
    host = found.hosts["fleet-0000"]
    assert host["flower_delivery"] == "ocm"
    assert host["flower_region"] == "eu"
    assert host["ocm_name"] == "fleet-0000"
    assert host["ocm_cluster_set"] == "set-0"
    assert host["ocm_addons"] == {"flower-supernode": "unreachable", "work-manager": "available"}
    assert host["ocm_claims"]["id.k8s.io"] == "fleet-0000-id"
    assert host["ocm_kubernetes_version"] == "v1.31.4"
    assert (host["ocm_availability"], host["ocm_available"], host["ocm_joined"]) == ("unknown", False, True)
    assert host["ocm_taints"][0]["effect"] == "NoSelect"
    assert (host["ocm_gpus"], host["ocm_cpus"], host["ocm_memory_bytes"]) == (4, 15.5, 64221184 * 1024)
    assert found.hosts["fleet-0001"]["ocm_gpus"] == 0


def test_pages(hub: Cluster) -> None:
    before = hub.requests
    assert len(ask(hub, Question(label_selector=MINE))["clusters"]) == COUNT
    # two of at most 500, and an empty one or the kinds of the group
    assert 2 <= hub.requests - before <= 4


def test_only_files_of_its_name(inventory: Inventory) -> None:
    assert "federated.flower.ocm" in inventory.fault("fleet.yml")
    assert len(inventory.read(name="fleet.ocm.yaml", label_selector="region=eu,gpu=a100").hosts) > 0


# ---- filters ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("selector", "wanted"),
    [
        ("region=eu,gpu=a100", selected(region="eu", gpu="a100")),
        ("region!=eu,gpu==a100", [name for name in selected(gpu="a100") if LABELS[name]["region"] != "eu"]),
        (
            "region in (eu,us),gpu,vendor notin (OpenShift)",
            [name for name in selected(gpu="a100") if LABELS[name]["region"] != "apac"],
        ),
        (f"!gpu,region=apac,{api.SET_LABEL}=set-1", selected(region="apac", **{api.SET_LABEL: "set-1"})),
        ("region=mars", []),
    ],
)
def test_label_selectors(inventory: Inventory, selector: str, wanted: list[str]) -> None:
    found = inventory.read(label_selector=f"{MINE},{selector}")
    assert sorted(found.hosts) == wanted
    assert found.groups.get("flower_sites", []) == wanted


def test_a_selector_that_is_none(inventory: Inventory) -> None:
    assert "does not accept the label_selector 'region in eu'" in inventory.fault(label_selector="region in eu")


def test_cluster_sets(inventory: Inventory, hub: Cluster) -> None:
    ocm_hub.put(hub, ocm_hub.cluster_set("set-3"))
    expression = {"key": "region", "operator": "NotIn", "values": ["apac", "us"]}
    ocm_hub.put(hub, ocm_hub.cluster_set("gpus-eu", {"matchLabels": {"gpu": "a100"}, "matchExpressions": [expression]}))
    of_label = selected(**{api.SET_LABEL: "set-3"})
    of_selector = selected(gpu="a100", region="eu")
    assert sorted(inventory.read(cluster_sets=["set-3"]).hosts) == of_label
    assert sorted(inventory.read(cluster_sets=["gpus-eu"]).hosts) == of_selector
    both = inventory.read(cluster_sets=["set-3", "gpus-eu"], label_selector=f"{MINE},vendor=OpenShift")
    assert sorted(both.hosts) == [
        name for name in sorted({*of_label, *of_selector}) if LABELS[name]["vendor"] == "OpenShift"
    ]
    assert "there is no ManagedClusterSet elsewhere" in inventory.fault(cluster_sets=["elsewhere"])


def test_placement_with_all_its_slices(inventory: Inventory, hub: Cluster, namespace: str) -> None:
    canary, others = NAMES[:7], NAMES[7:257]
    ocm_hub.put(hub, ocm_hub.placement("sites", namespace, 257))
    ocm_hub.put(hub, ocm_hub.placement("other", namespace, 1))
    slices = ocm_hub.decisions("sites", namespace, [("canary", canary), ("", [*others, "gone-for-ever"])])
    assert [len(item["status"]["decisions"]) for item in slices] == [7, 100, 100, 51]
    for item in [*slices, *ocm_hub.decisions("other", namespace, [("", NAMES[500:501])])]:
        ocm_hub.put(hub, item)
    found = inventory.read(
        placement="sites",
        placement_namespace=namespace,
        keyed_groups=[{"key": "ocm_decision_group", "prefix": "decision", "default_value": "rest"}],
    )
    assert sorted(found.hosts) == NAMES[:257]
    assert found.groups["decision_canary"] == canary
    assert found.groups["decision_rest"] == others
    assert {found.hosts[name]["ocm_decision_group_index"] for name in others} == {1}
    assert "WARNING" not in found.warnings

    few = inventory.read(placement="sites", placement_namespace=namespace, label_selector=f"{MINE},gpu")
    assert sorted(few.hosts) == NAMES[0:257:4]


def test_placements_that_choose_nothing(inventory: Inventory, hub: Cluster, namespace: str) -> None:
    reason = "No valid ManagedClusterSetBindings found in placement namespace"
    ocm_hub.put(hub, ocm_hub.placement("unbound", namespace, 0, "NoManagedClusterSetBindings", reason))
    ocm_hub.put(hub, ocm_hub.placement("busy", namespace, 150))
    ocm_hub.put(hub, ocm_hub.decisions("busy", namespace, [("", NAMES[:100])])[0])

    found = inventory.read(placement="unbound", placement_namespace=namespace)
    assert found.hosts == {}
    assert f"the Placement unbound in the namespace {namespace} has selected no cluster: {reason}. A" in found.warnings

    assert "has selected 150 clusters, but" in inventory.read(placement="busy", placement_namespace=namespace).warnings
    assert f"there is no Placement gone in the namespace {namespace}" in inventory.fault(
        placement="gone", placement_namespace=namespace
    )
    assert "placement and placement_namespace are needed together" in inventory.fault(placement="gone")


def test_not_accepted_and_leaving(inventory: Inventory, hub: Cluster, extra: Any) -> None:
    selector = extra(
        ocm_hub.managed_cluster("x-good"),
        ocm_hub.managed_cluster("x-stranger", accepted=False),
        ocm_hub.managed_cluster("x-leaving", finalizers=["cluster.open-cluster-management.io/api-resource-cleanup"]),
    )
    hub.delete(api.CLUSTERS, "ManagedCluster", "x-leaving", propagation="Background")
    found = inventory.read(label_selector=selector)
    assert list(found.hosts) == ["x-good"]
    assert "being detached, so they are not hosts: x-leaving." in found.warnings
    assert "not accepted by the hub, so they are not hosts: x-stranger. Accept clusters that are yours with" in found.warnings

    both = inventory.read(label_selector=selector, accepted_only=False)
    assert sorted(both.hosts) == ["x-good", "x-stranger"]
    assert both.hosts["x-stranger"]["ocm_accepted"] is False


# ---- names, groups, hub ----------------------------------------------------------------------------------------------


def test_names_that_mean_something_else(inventory: Inventory, extra: Any) -> None:
    long = "c" * 63 + "." + "d" * 63
    selector = extra(*(ocm_hub.managed_cluster(name) for name in ("all", "localhost", "a.b-c", long)))
    found = inventory.read(label_selector=selector)
    assert sorted(found.hosts) == ["a.b-c", long]
    assert "'localhost' is the control node itself. Set host_prefix to rename it." in found.warnings
    assert "'all' is the name of a group" in found.warnings
    assert "'all' is the name of a group" in inventory.fault(label_selector=selector, strict=True)

    prefixed = inventory.read(label_selector=selector, strict=True, host_prefix="two-")
    assert sorted(prefixed.hosts) == sorted(["two-a.b-c", "two-all", f"two-{long}", "two-localhost"])
    assert prefixed.hosts["two-all"]["ocm_name"] == "all"


def test_no_cluster_makes_itself_the_hub(inventory: Inventory, extra: Any) -> None:
    selector = extra(ocm_hub.managed_cluster("x-usurper", {"role": "hub"}, claims={"kind.example.com": "flower_hub"}))
    keys = [{"key": "ocm_claims['kind.example.com']", "separator": ""}]
    found = inventory.read(label_selector=selector, hub_host="hub", keyed_groups=keys)
    assert found.groups["flower_hub"] == ["hub"]
    assert found.groups["flower_sites"] == ["x-usurper"]
    assert "keyed_groups would put the cluster 'x-usurper' into flower_hub" in found.warnings
    assert "set a prefix for each key" in inventory.fault(label_selector=selector, keyed_groups=keys, strict=True)
    # what the user says in so many words is another thing
    asked = inventory.read(label_selector=selector, groups={"flower_hub": "ocm_labels.role == 'hub'"})
    assert asked.groups["flower_hub"] == ["x-usurper"]


def test_the_hub_that_manages_itself(inventory: Inventory, extra: Any) -> None:
    selector = extra(
        ocm_hub.managed_cluster("local-cluster", {"local-cluster": "true"}), ocm_hub.managed_cluster("x-1")
    )
    found = inventory.read(
        label_selector=selector,
        hub_host="local-cluster",
        hub_group="servers",
        sites_group="clients",
        hub_vars={"superlink_exposure": "node_port", "flower_context": "of-my-own", "late": "{{ 6 * 7 }}"},
    )
    assert (found.groups["servers"], found.groups["clients"]) == (["local-cluster"], ["x-1"])
    host = found.hosts["local-cluster"]
    assert host["ocm_name"] == "local-cluster"
    assert (host["flower_context"], host["superlink_exposure"]) == ("of-my-own", "node_port")
    assert not {"flower_delivery", "flower_kubeconfig"} & set(host)
    # what the user writes is a template
    told = inventory.run("ansible", "-i", "fleet.ocm.yml", "servers", "-m", "ansible.builtin.debug", "-a", "var=late")
    assert re.search(r'"?late"?: "?42"?', told.stdout)


def test_credentials_are_not_copied(inventory: Inventory, hub: Cluster) -> None:
    inventory.auth = {"host": hub.server, "api_key": "s3cret", "validate_certs": False}
    told = inventory.fault(hub_host="hub")
    assert (
        "hub_host: api_key, host, validate_certs would be shown in the inventory if it were copied: set the hub's authentication in hub_vars"
        in told
    )
    assert "s3cret" not in told
    told = inventory.fault(hub_host="hub", hub_vars={"flower_context": "hub"})
    assert "does not accept the credentials" in told
    assert "s3cret" not in told


# ---- values of others ------------------------------------------------------------------------------------------------

HOSTILE = {
    "sum.example.com": "{{ 7*7 }}",
    "command.example.com": "{{ lookup('ansible.builtin.pipe', 'touch OWNED') }}",
    "statement.example.com": "{% for x in range(3) %}x{% endfor %}{# no #}",
    "unicode.example.com": "Zürich ☃ 東京 \u202e\u0007 \"'\\ \n---\n- !unsafe {a: b}",
    "long.example.com": "{{ x }}" + "l" * 1017,
    "{{ 6*7 }}": "a key",
}


def test_hostile_values_arrive_as_they_are(inventory: Inventory, extra: Any) -> None:
    amounts = {"nvidia.com/gpu": "1e999999999", "cpu": "0.5", "{{ 5*5 }}": "1"}
    selector = extra(ocm_hub.managed_cluster("x-evil", {"region": "eu"}, claims=HOSTILE, allocatable=amounts))
    inventory.write(
        label_selector=selector,
        compose={"composed": "ocm_claims['sum.example.com']", "joined": "'a-' ~ ocm_claims['sum.example.com'] ~ '-b'"},
        keyed_groups=[
            {"key": "ocm_claims['command.example.com']", "prefix": "claim"},
            {"key": "ocm_allocatable", "prefix": "has"},
        ],
        cache=True,
        cache_plugin="ansible.builtin.jsonfile",
        cache_connection=str(inventory.folder / "cache"),
    )
    seen = {
        "claims": "{{ ocm_claims }}",
        "composed": "{{ composed }}",
        "joined": "{{ joined }}",
        "again": "{{ again }}",
        "gpus": "{{ ocm_gpus }}",
        "allocatable": "{{ ocm_allocatable }}",
    }
    tasks = [
        {"ansible.builtin.set_fact": {"again": "{{ ocm_claims['sum.example.com'] }}"}},
        {"ansible.builtin.copy": {"content": "{{ seen | to_json }}", "dest": "{{ playbook_dir }}/seen.json", "mode": "0600"}},
        {"ansible.builtin.debug": {"msg": "{{ ocm_claims['command.example.com'] }}"}},
    ]  # fmt: skip
    common = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, "seen": seen}
    play = {"hosts": "flower_sites", "gather_facts": False, "vars": common, "tasks": tasks}
    (inventory.folder / "play.yml").write_text(json.dumps([play]), encoding="utf-8")
    # from the hub, from the cache, and by way of what AWX does: ansible-inventory's own output is the inventory
    script = inventory.folder / "listed.sh"
    script.write_text("#!/bin/sh\ncat listed.json\n", encoding="utf-8")
    script.chmod(0o755)
    for source in ("fleet.ocm.yml", "fleet.ocm.yml", "listed.sh"):
        done = inventory.run("ansible-playbook", "-i", source, "play.yml")
        assert done.returncode == 0, source
        found = json.loads((inventory.folder / "seen.json").read_text(encoding="utf-8"))
        assert {key: found["claims"].get(key) for key in HOSTILE} == HOSTILE
        assert found["composed"] == found["again"] == "{{ 7*7 }}"
        assert found["joined"] == "a-{{ 7*7 }}-b"
        assert int(found["gpus"]) == 0
        assert found["allocatable"]["{{ 5*5 }}"] == "1"
        assert not (inventory.folder / "OWNED").exists()
        listed = inventory.run("ansible-inventory", "-i", source, "--list").stdout
        assert "claim" in listed
        (inventory.folder / "listed.json").write_text(listed, encoding="utf-8")


def test_group_vars_compose_and_precedence(inventory: Inventory) -> None:
    """An inventory folder as it is meant: the file, group_vars for groups that come from labels."""
    inventory.write(
        label_selector=f"{MINE},region=eu,gpu,{api.SET_LABEL}=set-0",
        compose={"flower_delivery": "'bundle' if ocm_labels.vendor == 'OpenShift' else flower_delivery"},
        keyed_groups=[{"key": "ocm_labels.region", "prefix": "region"}],
    )
    for group, value in (("region_eu", "mirror.eu.example.com"), ("all", "docker.io")):
        (inventory.folder / "group_vars").mkdir(exist_ok=True)
        (inventory.folder / "group_vars" / f"{group}.yml").write_text(
            yaml.safe_dump({"flower_image_registry": value}), encoding="utf-8"
        )
    found = inventory.read()
    assert found.hosts
    assert {host["flower_image_registry"] for host in found.hosts.values()} == {"mirror.eu.example.com"}
    assert {host["flower_delivery"] for host in found.hosts.values()} == {"ocm"}


def test_strict(inventory: Inventory) -> None:
    selector = f"{MINE},region=eu,!gpu,{api.SET_LABEL}=set-3"
    options = {"label_selector": selector, "compose": {"card": "ocm_labels.gpu.product"}}
    lax = inventory.read(**options)
    assert lax.hosts and not any("card" in host for host in lax.hosts.values())
    assert "Could not set card" in inventory.fault(**options, strict=True)


# ---- cache -----------------------------------------------------------------------------------------------------------


def test_cache(inventory: Inventory, extra: Any, tmp_path: Path) -> None:
    selector = extra(ocm_hub.managed_cluster("x-first"))
    kept = {
        "label_selector": selector,
        "cache": True,
        "cache_plugin": "ansible.builtin.jsonfile",
        "cache_connection": str(tmp_path / "cache"),
    }
    assert list(inventory.read(**kept).hosts) == ["x-first"]
    extra(ocm_hub.managed_cluster("x-second"))
    assert list(inventory.read().hosts) == ["x-first"]
    assert list(inventory.read(host_prefix="p-", **kept).hosts) == ["p-x-first"]
    # another question is asked
    assert sorted(inventory.read(**{**kept, "label_selector": f"{selector},{MINE}"}).hosts) == ["x-first", "x-second"]
    # no connection is opened
    closed = Path(inventory.auth["kubeconfig"])
    inventory.auth = {**inventory.auth, "kubeconfig": str(tmp_path / "kubeconfig")}
    (tmp_path / "kubeconfig").write_bytes(closed.read_bytes())
    assert sorted(inventory.read(**kept).hosts) == ["x-first", "x-second"]
    (tmp_path / "kubeconfig").write_text("no kubeconfig", encoding="utf-8")
    assert sorted(inventory.read().hosts) == ["x-first", "x-second"]
    done = inventory.run("ansible-inventory", "-i", "fleet.ocm.yml", "--list", "--flush-cache")
    assert done.returncode != 0
    (tmp_path / "kubeconfig").write_bytes(closed.read_bytes())
    extra(ocm_hub.managed_cluster("x-third"))
    assert len(inventory.read().hosts) == 2
    assert len(inventory.read("--flush-cache").hosts) == 3


# ---- what can be wrong -----------------------------------------------------------------------------------------------


def test_a_hub_that_is_down(inventory: Inventory) -> None:
    inventory.auth = {"host": "https://127.0.0.1:1", "api_key": "s3cret", "validate_certs": False}
    told = inventory.fault(timeout=2)
    assert "https://127.0.0.1:1" in told
    assert "onnection refused" in told or "no connection" in told
    assert "s3cret" not in told


def test_a_cluster_that_is_no_hub(inventory: Inventory, fleet_contexts: list[str], fleet_kubeconfig: Path) -> None:
    context = fleet_contexts[1]
    with connect({"kubeconfig": str(fleet_kubeconfig), "context": context}) as cluster:
        if cluster.get(*ocm_hub.CRD, f"managedclusters.{api.GROUP}") is not None:
            pytest.skip(f"{context} is a hub")
    inventory.auth = {**inventory.auth, "context": context}
    told = inventory.fault()
    assert f"{context}: the API server does not serve ManagedCluster ({api.CLUSTERS})" in told
    assert "an Open Cluster Management" in told


# ---- a real hub ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real_hub(ocm_turn: None, fleet_addon: Any, fleet_kubeconfig: Path) -> Iterator[Cluster]:
    """The fleet as Open Cluster Management's own controllers and agents make it. It stays: others may use it now."""
    fleet_addon("ocm", "up")
    with connect({"kubeconfig": str(fleet_kubeconfig), "context": "hub"}) as one:
        yield one


def test_a_real_hub_and_a_real_placement(
    real_hub: Cluster, tmp_path: Path, fleet_kubeconfig: Path, fleet_contexts: list[str]
) -> None:
    inventory = Inventory(tmp_path, {"kubeconfig": str(fleet_kubeconfig), "context": "hub"})
    sites = [name for name in fleet_contexts if name != "hub"]
    everybody = {"label_selector": "", "cluster_sets": ["default"]}
    regions = [{"key": "ocm_labels.region", "prefix": "region"}]
    found = inventory.read(hub_host="hub", keyed_groups=regions, **everybody)
    assert found.groups["flower_sites"] == sites
    assert found.groups["flower_hub"] == ["hub"]
    assert found.groups["region_us"] == ["site-b"]
    for name in sites:
        host = found.hosts[name]
        assert (host["ocm_availability"], host["ocm_joined"], host["ocm_cluster_set"]) == ("available", True, "default")
        assert host["ocm_kubernetes_version"].startswith("v1.") and host["ocm_cpus"] > 0
    assert (found.hosts["site-a"]["ocm_gpus"], found.hosts["site-b"]["ocm_gpus"]) == (0, 4)

    namespace = f"ocm-test-{uuid.uuid4().hex[:8]}"
    predicate = {"requiredClusterSelector": {"labelSelector": {"matchLabels": {"region": "us"}}}}
    items = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
        {
            "apiVersion": api.PLACEMENTS,
            "kind": "Placement",
            "metadata": {"name": "us", "namespace": namespace},
            "spec": {"predicates": [predicate]},
        },
        {
            "apiVersion": api.SETS,
            "kind": "ManagedClusterSetBinding",
            "metadata": {"name": "default", "namespace": namespace},
            "spec": {"clusterSet": "default"},
        },
    ]
    try:
        for item in items[:2]:
            real_hub.create(item)
        placed = {"placement": "us", "placement_namespace": namespace, **everybody}
        ocm_hub.wait(lambda: "has selected no cluster" in (read := inventory.read(**placed)).warnings and not read.hosts)
        real_hub.create(items[2])
        ocm_hub.wait(lambda: list(inventory.read(**placed).hosts) == ["site-b"])
    finally:
        real_hub.delete("v1", "Namespace", namespace, propagation="Background")


# ---- the guide and its example ---------------------------------------------------------------------------------------

GUIDE = ROOT / "docs" / "docsite" / "rst" / "guide_ocm_inventory.rst"


def shown(text: str) -> str:
    """A part of the guide's text, as it stands in a block of it."""
    return "\n".join(f"    {line}".rstrip() for line in text.strip("\n").splitlines())


def test_the_example_is_what_the_guide_shows(inventory: Inventory, hub: Cluster, auth: Auth, tmp_path: Path) -> None:
    config = yaml.safe_load(Path(auth["kubeconfig"]).read_text(encoding="utf-8"))
    context = next(one["context"] for one in config["contexts"] if one["name"] == auth["context"])
    config["contexts"] = [{"name": "hub-fra", "context": context}]
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    path.chmod(0o600)
    inventory.env = {"FLOWER_FLEET_KUBECONFIG": str(path)}
    inventory.folder = ROOT / "inventories"
    items = ocm_hub.example()
    for item in items:
        ocm_hub.put(hub, item)
    try:
        graph = inventory.run("ansible-inventory", "-i", "example-ocm", "--graph")
        host = inventory.run("ansible-inventory", "-i", "example-ocm", "--host", "institute-zurich", "--yaml")
        listing = inventory.read(name="example-ocm")
    finally:
        for item in items:
            hub.delete(item["apiVersion"], item["kind"], item["metadata"]["name"])
    assert listing.hosts["hub-fra"]["flower_kubeconfig"] == str(path)
    assert listing.hosts["lab-denver"]["supernode_pools"][0]["name"] == "a100"
    assert listing.hosts["clinic-lyon"]["flower_image_registry"] == "mirror.eu.example.com/docker"
    guide = GUIDE.read_text(encoding="utf-8")
    warning = " ".join(graph.stderr.split()).partition("fleet.ocm.yml: ")[2]
    told = f"[WARNING]: fleet/fleet.ocm.yml: {warning}"
    assert shown(told) in guide
    assert shown(graph.stdout) in guide
    facts = {
        key: value
        for key, value in yaml.safe_load(host.stdout).items()
        if key.startswith(("ocm_", "flower_d", "flower_r"))
    }
    facts["ocm_labels"].pop(ocm_hub.MARK)
    (part,) = re.findall(r"\n    flower_delivery: ocm\n(?:    .*\n)+", guide)
    assert set(part.strip("\n").splitlines()) - {"    ..."} <= set(shown(yaml.safe_dump(facts, sort_keys=True, width=120)).splitlines())


def guide_rights() -> list[dict[str, Any]]:
    """The Roles of the guide."""
    blocks = re.findall(r"\.\. code-block:: yaml\n\n((?:    .*\n|\n)+)", GUIDE.read_text(encoding="utf-8"))
    found = [yaml.safe_load(textwrap.dedent(block)) for block in blocks]
    return [one for one in found if one.get("kind") in ("ClusterRole", "Role")]


def test_rights(inventory: Inventory, hub: Cluster, auth: Auth, namespace: str) -> None:
    """For a service account without rights, the error has the missing one, until it has those of the guide."""
    hub.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "reader", "namespace": namespace}})
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/reader/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = hub.request("POST", path, body=body)["status"]["token"]
    ocm_hub.put(hub, ocm_hub.cluster_set("set-7"))
    ocm_hub.put(hub, ocm_hub.placement("rights", namespace, 1))
    ocm_hub.put(hub, ocm_hub.decisions("rights", namespace, [("", selected(**{api.SET_LABEL: "set-7"})[:1])])[0])
    inventory.auth = {"host": hub.server, "api_key": token, "validate_certs": False}
    asked = {"cluster_sets": ["set-7"], "placement": "rights", "placement_namespace": namespace}
    who = f"(system:serviceaccount:{namespace}:reader)"
    roles = {role["kind"]: role for role in guide_rights()}
    assert set(roles) == {"ClusterRole", "Role"}
    for role in roles.values():
        role["metadata"]["name"] = f"{namespace}-{role['metadata']['name']}"
    roles["Role"]["metadata"]["namespace"] = namespace
    subject = {"kind": "ServiceAccount", "name": "reader", "namespace": namespace}
    try:
        for kind, missing in (
            ("Role", f"may not get placements.{api.GROUP} in the namespace {namespace}"),
            ("ClusterRole", f"may not get managedclustersets.{api.GROUP} on the whole cluster"),
        ):
            assert f"the identity in use {who} {missing}" in inventory.fault(**asked)
            role = roles[kind]
            hub.create(role)
            hub.create(
                {
                    "apiVersion": role["apiVersion"],
                    "kind": f"{kind}Binding",
                    "metadata": role["metadata"],
                    "roleRef": {
                        "apiGroup": "rbac.authorization.k8s.io",
                        "kind": kind,
                        "name": role["metadata"]["name"],
                    },
                    "subjects": [subject],
                }
            )
        assert list(inventory.read(**asked).hosts) == selected(**{api.SET_LABEL: "set-7"})[:1]
    finally:
        for kind in ("ClusterRoleBinding", "ClusterRole"):
            hub.delete("rbac.authorization.k8s.io/v1", kind, roles["ClusterRole"]["metadata"]["name"])
