# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every field of flower-operator's Federation is converted or refused by name; what is converted reaches the rendered objects."""

from __future__ import annotations

import copy
import itertools
import json
from pathlib import Path
from typing import Any, Callable

import pytest
import yaml

from ansible_collections.federated.flower.plugins.plugin_utils.migration.conversion import (
    REFUSED,
    VARIABLE,
    Row,
    converted_report,
    converted_text,
)
from ansible_collections.federated.flower.plugins.plugin_utils.migration.federation_resource import from_federation
from ansible_collections.federated.flower.plugins.plugin_utils.migration.federation_table import FIELDS
from ansible_collections.federated.flower.tests.unit.rows import each_row
from ansible_collections.federated.flower.tests.unit.specs import superlink_objects, supernode_objects

ROOT = Path(__file__).resolve().parents[5]
GIVEN = yaml.safe_load((ROOT / "tests/unit/cases/federation-fields.yaml").read_text(encoding="utf-8"))
EXAMPLES = ROOT / "tests/integration/scenarios/federation"
TABLES = ROOT / "docs/converted_parameters.md"
IN_POOL = "supernodes.pools[]."
NAMES = [
    *GIVEN["spec"],
    *(f"superlink.{name}" for name in GIVEN["superlink"]),
    *(f"supernodes.{name}" for name in GIVEN["supernodes"]),
    *(f"{IN_POOL}{name}" for name in GIVEN["pool"]),
    *(f"{prefix}podTemplate.{name}" for prefix in ("superlink.", IN_POOL) for name in GIVEN["podTemplate"]),
]
VOLUME, MOUNT = {"name": "probe", "emptyDir": {}}, {"name": "probe", "mountPath": "/probe"}
# Values that a field accepts, for those whose type is not a mapping of labels.
VALUES: dict[str, Any] = {
    "image": "registry.example.com/probe:1",
    "superexecImage": "registry.example.com/probe:1",
    "supernode": "registry.example.com/probe:1",
    "superexecClientApp": "registry.example.com/probe:1",
    "resources": {"limits": {"probe.example.com/x": "1"}},
    "superexecResources": {"limits": {"probe.example.com/x": "1"}},
    "supernodeResources": {"limits": {"probe.example.com/x": "1"}},
    "env": [{"name": "PROBE", "value": "probe"}],
    "extraArgs": ["--max-wait-time=9"],
    "superlink.extraArgs": ["--log-file=/tmp/probe"],
    "type": "NodePort",
    "grpc": 19443,
    "volumes": [VOLUME],
    "volumeMounts": [MOUNT],
    "superexecVolumeMounts": [{**MOUNT, "mountPath": "/probe-exec"}],
    "replicas": 7,
    "enabled": True,
    "vendor": "amd",
    "resourceName": "probe.example.com/x",
    "count": 3,
    "mountAll": True,
    "nodeConfig": {"probe": "7777"},
    "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": []}]}}},
    "tolerations": [{"key": "probe", "operator": "Exists"}],
    "priorityClassName": "probe",
    "runtimeClassName": "probe",
    "securityContext": {"runAsUser": 50123},
    "dnsPolicy": "None",
    "dnsConfig": {"nameservers": ["192.0.2.7"]},
    "hostAliases": [{"ip": "192.0.2.7", "hostnames": ["probe"]}],
    "schedulerName": "probe",
    "imagePullSecrets": [{"name": "probe"}],
    "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "probe", "whenUnsatisfiable": "ScheduleAnyway"}],
    "terminationGracePeriodSeconds": 77,
    "containers": [{"name": "probe", "image": "probe:1"}],
    "initContainers": [{"name": "probe", "image": "probe:1"}],
}


def resource(mode: str = "StatefulSet", isolation: str = "process", **pool: Any) -> dict[str, Any]:
    """A small Federation."""
    return {
        "apiVersion": "flwr.exalsius.ai/v1",
        "kind": "Federation",
        "metadata": {"name": "lab"},
        "spec": {
            "mode": mode,
            "isolationMode": isolation,
            "superlink": {},
            "supernodes": {"pools": [{"name": "cpu", **({"replicas": 2} if mode == "StatefulSet" else {}), **pool}]},
        },
    }


def with_field(name: str, value: Any) -> dict[str, Any]:
    """A Federation with this field, and with what it needs to have an effect."""
    found = resource()
    place = found["spec"]["supernodes"]["pools"][0] if name.startswith(IN_POOL) else found["spec"]
    *path, last = name.removeprefix(IN_POOL).split(".")
    owner = place if name.startswith(IN_POOL) else place.setdefault("superlink", {}) if path[:1] == ["superlink"] else place
    if "Mounts" in last:
        owner["volumes"] = [VOLUME]
    if "gpu" in path:
        place["gpu"] = {"enabled": True, "vendor": "nvidia"}
    for key in path:
        place = place.setdefault(key, {})
    place[last] = value
    return found


def value_of(row: Row) -> Any:
    return VALUES.get(row.name) or VALUES.get(row.name.rpartition(".")[2], {"example.com/probe": "probe"})


Render = Callable[[list[dict[str, Any]]], str]


@pytest.fixture
def rendered(superlink_spec: Callable[..., Any], supernode_spec: Callable[..., Any]) -> Render:
    """Function: all objects of the hub and of a site."""

    def objects(parts: list[dict[str, Any]]) -> str:
        common, hub, site = (copy.deepcopy(part["variables"]) for part in parts)
        both = {"version": common["flower_version"]} if "flower_version" in common else {}
        hub_spec = superlink_spec(**both, **{key.removeprefix("superlink_"): value for key, value in hub.items()})
        site_spec = supernode_spec(**both, **{key.removeprefix("supernode_"): value for key, value in site.items()})
        return json.dumps([superlink_objects(hub_spec), supernode_objects(site_spec)], sort_keys=True)

    return objects


def entries(parts: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {entry["parameter"]: entry for part in parts for entry in part["report"]}


def test_every_field_has_a_row_and_no_other() -> None:
    assert [row.name for row in FIELDS if row.name not in NAMES] == []
    assert [name for name in NAMES if name not in {row.name for row in FIELDS}] == []
    assert len(FIELDS) == len(set(NAMES)) == len(NAMES)


@each_row("row", FIELDS)
def test_each_field_is_in_the_report(row: Row) -> None:
    if row.how == "later":
        return
    name = row.name.replace("[]", "[cpu]")
    found = entries(from_federation(with_field(row.name, value_of(row))))[name]
    assert found["result"] == ("mapped" if row.fate == VARIABLE else "refused"), found
    assert found["to"] == row.destination if row.fate == VARIABLE else found["why"] == row.why


@each_row(
    "row", [row for row in FIELDS if row.fate == VARIABLE and row.how not in ("later", "part_of_gpu")]
)
def test_reaches_the_objects(row: Row, rendered: Render) -> None:
    without = with_field(row.name, value_of(row))
    changed = rendered(from_federation(without))
    place = without["spec"]["supernodes"]["pools"][0] if row.name.startswith(IN_POOL) else without["spec"]
    *path, last = row.name.removeprefix(IN_POOL).split(".")
    for key in path:
        place = place[key]
    del place[last]
    assert changed != rendered(from_federation(without))


@each_row("row", [row for row in FIELDS if row.fate == REFUSED])
def test_values_of_refused_fields_are_nowhere(row: Row) -> None:
    parts = from_federation(with_field(row.name, "s3cr3t"))
    assert "s3cr3t" not in json.dumps(parts)


@each_row("name", ["statefulset", "daemonset", "statefulset-subprocess", "daemonset-process"])
def test_examples(name: str, rendered: Render) -> None:
    parts = from_federation(yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text()))
    assert [part["group"] for part in parts] == ["all", "flower_hub", "flower_sites"]
    assert {entry["result"] for part in parts for entry in part["report"]} <= {"mapped", "default"}, "nothing is refused"
    assert parts[0]["variables"] == {"flower_federation": "hospital", "flower_version": "1.42.0"}
    assert rendered(parts)
    for part in parts:
        assert converted_report(part)
    assert "!unsafe '{{ cpu }}'" in converted_text(parts[2]) or name != "statefulset"


KINDS = yaml.safe_load((ROOT / "tests/unit/cases/federation-kinds.yaml").read_text(encoding="utf-8"))


def of_kind(kind: dict[str, Any]) -> dict[str, Any]:
    """The Federation of a kind, with all that its CRD demands."""
    mode, isolation = kind.get("mode", "StatefulSet"), kind.get("isolationMode", "process")
    image = {"image": "flwr/superlink:1.41.0", **({"superexecImage": "flwr/superexec:1.41.0"} if isolation == "process" else {})}
    images = {"superexecClientApp": "flwr/superexec:1.41.0"} if isolation == "process" else {}
    own = {} if mode == "DaemonSet" else {"replicas": 1}
    return {
        "apiVersion": "flwr.exalsius.ai/v1",
        "kind": "Federation",
        "metadata": {"name": kind["name"]},
        "spec": {
            "mode": mode,
            "isolationMode": isolation,
            "superlink": {**image, "resources": {"requests": {"cpu": "100m"}}, "service": {"type": "ClusterIP"}, **kind.get("superlink", {})},
            "supernodes": {
                "image": "flwr/supernode:1.41.0",
                "pools": [{**own, "images": images, **pool} for pool in kind.get("pools", [{"name": "default"}])],
            },
        },
    }


@each_row("kind", KINDS)
def test_every_kind_of_example_converts_and_renders(kind: dict[str, Any], rendered: Render) -> None:
    """Only what is named in the file is refused, and each pool has its workload of the wanted kind, device and containers."""
    found = of_kind(kind)
    parts = from_federation(found)
    refused = {line["parameter"].rpartition(".")[2]: line["why"] for part in parts for line in part["report"] if line["result"] == "refused"}
    assert set(refused) == set(kind.get("refused", {}))
    assert all(words in refused[name] for name, words in kind.get("refused", {}).items()), refused
    _hub, site = json.loads(rendered(parts))
    workloads = {one["metadata"]["name"]: one for one in site if one["kind"] in ("StatefulSet", "DaemonSet")}
    spec = found["spec"]
    assert set(workloads) == {f"supernode-{pool['name']}" for pool in spec["supernodes"]["pools"]}
    for pool in spec["supernodes"]["pools"]:
        one = workloads[f"supernode-{pool['name']}"]
        boxes = {box["name"]: box for box in one["spec"]["template"]["spec"]["containers"]}
        computes = "superexec" if spec["isolationMode"] == "process" else "supernode"
        assert one["kind"] == spec["mode"] and ("superexec" in boxes) == (computes == "superexec")
        assert one["spec"].get("replicas") == pool.get("replicas")
        gpu = pool.get("gpu")
        if gpu:
            device = gpu.get("resourceName") or f"{gpu['vendor']}.com/gpu"
            assert boxes[computes]["resources"]["limits"][device] == str(gpu.get("count", 1))
        assert ("--node-config=" in json.dumps(boxes["supernode"]["args"])) == bool(pool.get("nodeConfig"))


def test_volumes_with_names_and_paths_of_the_collection() -> None:
    parts = from_federation(of_kind(next(kind for kind in KINDS if kind["name"] == "volumes")))
    hub, pool, report = parts[1]["variables"], parts[2]["variables"]["supernode_pools"][0], entries(parts)
    assert [one["name"] for one in hub["superlink_volumes"]] == ["models", "user-data"]
    assert [(one["name"], one["mountPath"]) for one in hub["superlink_volume_mounts"]] == [("models", "/models"), ("user-data", "/more")]
    assert "/data is a path of the collection's own files" in report["superlink.volumeMounts"]["to"]
    assert [one["name"] for one in pool["volumes"]] == ["datasets", "user-tmp", "conf"]
    taken = entries(from_federation(resource(volumes=[VOLUME], volumeMounts=[{**MOUNT, "mountPath": "/keys/"}])))
    assert "/keys is a path of the collection's own files" in taken["supernodes.pools[cpu].volumeMounts"]["why"]


def pool_of(**pool: Any) -> dict[str, Any]:
    mode, isolation = pool.pop("mode", "StatefulSet"), pool.pop("isolation", "process")
    found: dict[str, Any] = from_federation(resource(mode, isolation, **pool))[2]["variables"]["supernode_pools"][0]
    return found


@each_row(
    ("gpu", "wanted"),
    [
        ({"enabled": True}, {"resource": "nvidia.com/gpu", "count": 1}),
        ({"enabled": True, "vendor": "amd", "count": 2}, {"resource": "amd.com/gpu", "count": 2}),
        ({"enabled": True, "vendor": "nvidia", "resourceName": "nvidia.com/mig-1g.5gb"}, {"resource": "nvidia.com/mig-1g.5gb", "count": 1}),
        ({"enabled": False, "vendor": "amd"}, None),
        ({"enabled": True, "vendor": "intel"}, None),
        ({"enabled": True, "count": "two"}, None),
        ({"mountAll": True, "vendor": "nvidia"}, {"mount_all": True, "runtime_class": "nvidia"}),
        ({"enabled": True, "mountAll": True, "vendor": "nvidia", "count": 2}, {"mount_all": True, "runtime_class": "nvidia"}),
        ({"enabled": True, "mountAll": False}, {"resource": "nvidia.com/gpu", "count": 1}),
        ({"mountAll": True, "vendor": "amd"}, None),
        ({"enabled": True, "mountAll": True, "vendor": "amd"}, {"resource": "amd.com/gpu", "count": 1}),
        ({"mountAll": "yes", "vendor": "nvidia"}, None),
    ],
)
def test_gpus(gpu: dict[str, Any], wanted: dict[str, Any] | None) -> None:
    assert pool_of(gpu=gpu).get("gpu") == wanted


def test_what_all_devices_of_a_node_become_is_reported() -> None:
    found = entries(from_federation(resource(gpu={"mountAll": True, "vendor": "nvidia", "count": 2})))
    gpu = {name.rpartition(".")[2]: line for name, line in found.items() if ".gpu." in name}
    assert {name: line["result"] for name, line in gpu.items()} == {"mountAll": "mapped", "vendor": "mapped", "count": "refused"}
    assert "nothing is requested" in gpu["count"]["why"]
    others = entries(from_federation(resource(gpu={"mountAll": True, "vendor": "amd"})))
    assert "request them with gpu.count" in others["supernodes.pools[cpu].gpu.mountAll"]["why"]


def test_a_runtime_class_belongs_to_the_gpu() -> None:
    template = {"spec": {"containers": [], "runtimeClassName": "nvidia"}}
    assert pool_of(gpu={"enabled": True}, podTemplate=template)["gpu"]["runtime_class"] == "nvidia"
    other = {"spec": {"containers": [], "runtimeClassName": "nvidia-legacy"}}
    shown = pool_of(gpu={"mountAll": True, "vendor": "nvidia"}, podTemplate=other)["gpu"]
    assert shown == {"mount_all": True, "runtime_class": "nvidia-legacy"}, "the template's replaces the operator's"
    assert pool_of(podTemplate=template)["pod_template"] == {"spec": {"runtimeClassName": "nvidia"}}


def test_a_pod_template_becomes_one() -> None:
    """Fields of a template, and mounts of a container that has no option for them, are merged."""
    template = {"spec": {"containers": [{"name": "logs", "image": "x"}], "initContainers": [{"name": "fetch", "image": "x"}], "dnsPolicy": "None"}}
    pool = pool_of(podTemplate=template, volumes=[VOLUME], volumeMounts=[MOUNT], superexecVolumeMounts=[{**MOUNT, "mountPath": "/exec"}])
    assert pool["pod_template"] == {"spec": {"containers": [{"name": "supernode", "volumeMounts": [MOUNT]}], "dnsPolicy": "None"}}
    assert pool["init_containers"] == [{"name": "fetch", "image": "x"}] and pool["extra_containers"] == [{"name": "logs", "image": "x"}]


@pytest.mark.parametrize("name", ["supernode", "superexec-clientapp"])
def test_containers_of_the_operator_are_not_taken_from_a_template(name: str) -> None:
    found = entries(from_federation(resource(podTemplate={"spec": {"containers": [{"name": name, "image": "x"}]}})))
    assert "the operator creates itself" in found["supernodes.pools[cpu].podTemplate.spec.containers"]["why"]


def test_mounts_go_where_the_operator_mounts_them() -> None:
    volumes, mounts, own = [VOLUME], [MOUNT], [{**MOUNT, "mountPath": "/exec"}]
    assert pool_of(isolation="subprocess", volumes=volumes, volumeMounts=mounts)["volume_mounts"] == mounts
    assert pool_of(volumes=volumes, volumeMounts=mounts)["volume_mounts"] == mounts, "a SuperExec without mounts has those of the SuperNode"
    assert pool_of(volumes=volumes, volumeMounts=mounts, superexecVolumeMounts=own)["volume_mounts"] == own
    report = entries(from_federation(resource(volumeMounts=mounts)))
    assert "probe, which is not among the volumes" in report["supernodes.pools[cpu].volumeMounts"]["why"]


@each_row(
    ("mode", "config", "word"),
    [
        ("StatefulSet", {"a": "{index}_of_{replicas}"}, ""),
        ("StatefulSet", {"a": "{indx}"}, "braces"),
        ("StatefulSet", {"a": "{region}"}, "braces"),
        ("StatefulSet", {"api-token": "x"}, "secret"),
        ("StatefulSet", {"data": "https://user:pass@data.example.com/"}, "secret"),
        ("DaemonSet", {"a": "{node}-{pool}"}, ""),
        ("DaemonSet", {"a": "{index}"}, "DaemonSet"),
        ("StatefulSet", ["a"], "not a dict"),
    ],
)
def test_node_config(mode: str, config: Any, word: str) -> None:
    parts = from_federation(resource(mode, nodeConfig=config))
    found = entries(parts)["supernodes.pools[cpu].nodeConfig"]
    assert (word in found["why"]) if word else found["result"] == "mapped", found
    assert parts[2]["variables"]["supernode_pools"][0]["node_config"] == ({} if word else config)


@each_row(
    ("image", "version", "own", "word"),
    [
        ("flwr/supernode:1.41.0", "1.41.0", None, ""),
        ("docker.io/flwr/supernode:1.40.0", "1.40.0", None, ""),
        ("flwr/supernode:1.26.1", None, None, "older than Flower 1.40"),
        ("flwr/supernode:1.36.0", None, None, "older than Flower 1.40"),
        ("flwr/supernode:1.26.1-py3.13-ubuntu24.04", None, None, "older than Flower 1.40"),
        ("registry.example.com:5000/flwr/supernode:1.26.1", None, None, "older than Flower 1.40"),
        ("flwr/supernode:1.40.0-py3.13", "1.40.0", "flwr/supernode:1.40.0-py3.13", ""),
        ("flwr/supernode:1.40.0@sha256:ab", "1.40.0", "flwr/supernode:1.40.0@sha256:ab", ""),
        ("ghcr.io/lab/flwr/supernode:1.40.0", "1.40.0", "ghcr.io/lab/flwr/supernode:1.40.0", ""),
        ("ghcr.io/lab/own:1.26.1", None, "ghcr.io/lab/own:1.26.1", ""),
        ("ghcr.io/lab/flwr/supernode:0.3.1", None, "ghcr.io/lab/flwr/supernode:0.3.1", ""),
        ("registry.example.com:15000/flwr/supernode:2026.11.3", None, "registry.example.com:15000/flwr/supernode:2026.11.3", ""),
        ("flwr/supernode:latest", None, "flwr/supernode:latest", ""),
        ("registry.example.com/own:7", None, "registry.example.com/own:7", ""),
        ("", None, None, "is empty"),
        (7, None, None, "not a str"),
    ],
)
def test_images(image: Any, version: str | None, own: str | None, word: str) -> None:
    found = resource()
    found["spec"]["supernodes"]["image"] = image
    parts = from_federation(found)
    assert parts[0]["variables"].get("flower_version") == version and parts[2]["variables"].get("supernode_image") == own
    assert word in entries(parts)["supernodes.image"]["why"]


def test_images_of_other_versions_stay_images() -> None:
    found = resource(images={"supernode": "flwr/supernode:1.40.0", "superexecClientApp": "flwr/superexec:1.26.0"})
    found["spec"]["superlink"]["image"] = "flwr/superlink:1.41.0"
    parts = from_federation(found)
    assert parts[0]["variables"]["flower_version"] == "1.41.0"
    assert parts[2]["variables"]["supernode_pools"][0]["image"] == "flwr/supernode:1.40.0"
    assert "older than Flower 1.40" in entries(parts)["supernodes.pools[cpu].images.superexecClientApp"]["why"]


def test_arguments_that_the_collection_sets() -> None:
    found = resource(extraArgs=["--max-wait-time=9", "--max-retries=3"])
    found["spec"]["superlink"]["extraArgs"] = ["--host=0.0.0.0", "--port=9092"]
    parts = from_federation(found)
    assert "--host is set by the collection" in entries(parts)["superlink.extraArgs"]["why"]
    assert parts[2]["variables"]["supernode_pools"][0]["extra_args"] == ["--max-wait-time=9", "--max-retries=3"]


def test_the_keys_of_supernodes_are_left_out_with_their_volume() -> None:
    """They are the collection's own here, and takeover.yml brings them along."""
    volumes = [{"name": "keys", "secret": {"secretName": "node-keys"}}, VOLUME]
    mounts = [{"name": "keys", "mountPath": "/keys"}, MOUNT]
    arguments = ["--max-retries", "3", "--auth-supernode-private-key", "/keys/a", "--root-certificates=/keys/ca.crt", "--max-wait-time=9"]
    for isolation in ("process", "subprocess"):
        parts = from_federation(resource(isolation=isolation, extraArgs=arguments, volumes=volumes, volumeMounts=mounts))
        (pool,) = parts[2]["variables"]["supernode_pools"]
        assert (pool["extra_args"], pool["volumes"], pool["volume_mounts"]) == (["--max-retries", "3", "--max-wait-time=9"], [VOLUME], [MOUNT])
        report = entries(parts)
        assert "without what the collection sets: --auth-supernode-private-key" in report["supernodes.pools[cpu].extraArgs"]["to"]
        assert "without keys: the collection creates these files itself" in report["supernodes.pools[cpu].volumes"]["to"]
    alone = entries(from_federation(resource(extraArgs=arguments[2:4], volumes=volumes[:1], volumeMounts=mounts[:1])))
    assert {alone[f"supernodes.pools[cpu].{name}"]["result"] for name in ("volumes", "volumeMounts")} == {"refused"}


def test_a_pool_that_is_there_twice() -> None:
    found = resource()
    pools = found["spec"]["supernodes"]["pools"]
    found["spec"]["supernodes"]["pools"] = [*pools, {**pools[0], "replicas": 5}]
    parts = from_federation(found)
    assert [pool["replicas"] for pool in parts[2]["variables"]["supernode_pools"]] == [5]
    assert any("the same name" in entry["why"] for part in parts for entry in part["report"])


def test_unknown_fields_are_named() -> None:
    found = resource(replica=3)
    found["spec"]["superlnk"] = {}
    report = entries(from_federation(found))
    assert "did you mean supernodes.pools[].replicas" in report["supernodes.pools[cpu].replica"]["why"]
    assert report["superlnk"]["result"] == "refused"


@each_row("wrong", [{"superlink": "text"}, {"superlink": {"service": 7}}, {"superlink": {"env": "text"}}, {"superlink": {"podTemplate": []}}])
def test_wrong_types_are_refused_by_name(wrong: dict[str, Any]) -> None:
    found = resource()
    found["spec"] |= wrong
    assert "refused" in {entry["result"] for entry in entries(from_federation(found)).values()}


@each_row(
    "wrong",
    [None, [], "text", {}, {"kind": "Federation"}, {**resource(), "kind": "List"}, {**resource(), "apiVersion": "v1"}, {**resource(), "spec": None}],
)
def test_what_is_not_a_federation(wrong: Any) -> None:
    with pytest.raises(ValueError, match="Federation"):
        from_federation(wrong)


@pytest.mark.parametrize("key", ["mode", "isolationMode"])
def test_a_mode_that_is_none(key: str) -> None:
    found = resource()
    found["spec"][key] = "Deployment"
    with pytest.raises(ValueError, match=f"spec.{key} of the Federation is 'Deployment'"):
        from_federation(found)


@each_row("pools", [None, [], "text", [{}], [7], [{"name": 7}]])
def test_pools_that_are_none(pools: Any) -> None:
    found = resource()
    found["spec"]["supernodes"]["pools"] = pools
    with pytest.raises(ValueError, match="pools"):
        from_federation(found)


def test_secrets_are_nowhere() -> None:
    found = resource(env=[{"name": "API_TOKEN", "value": "s3cr3t"}])
    found["spec"]["superlink"]["env"] = [{"name": "A", "value": "-----BEGIN PRIVATE KEY-----s3cr3t"}]
    parts = from_federation(found)
    assert "s3cr3t" not in json.dumps(parts)
    assert "looks like a secret" in entries(parts)["supernodes.pools[cpu].env"]["why"]


@each_row("field", ["containers", "initContainers"])
@each_row("variable", [{"name": "AWS_SECRET_ACCESS_KEY", "value": "s3cr3t"}, {"name": "FROM", "value": "https://user:s3cr3t@data.example.com/"}])
def test_secrets_of_further_containers_are_nowhere(field: str, variable: dict[str, str]) -> None:
    one = {"name": "fetch", "image": "example.com/fetch:1", "env": [variable]}
    found = resource(podTemplate={"spec": {field: [one]}})
    found["spec"]["superlink"]["podTemplate"] = {"spec": {field: [one]}}
    parts = from_federation(found)
    assert "s3cr3t" not in json.dumps(parts)
    for where in ("supernodes.pools[cpu]", "superlink"):
        entry = entries(parts)[f"{where}.podTemplate.spec.{field}"]
        assert entry["result"] == "refused" and variable["name"] in entry["why"]


def test_the_documentation_has_every_row() -> None:
    text = TABLES.read_text(encoding="utf-8")
    for row in FIELDS:
        assert f"\n| `{row.name}` | {row.destination} |\n" in text, row.name


@each_row("line_break", ["\n", "\r", "\x85", "\u2028"])
def test_a_name_with_a_line_break_adds_no_variable(line_break: str) -> None:
    pool = {"name": f"a{line_break}injected: true{line_break}#", "podTemplate": {"spec": {"schedulerName": "other"}}}
    spec = {"mode": "StatefulSet", "isolationMode": "process", "supernodes": {"pools": [pool]}}
    resource = {"apiVersion": "flwr.exalsius.ai/v1", "kind": "Federation", "metadata": {"name": "x"}, "spec": spec}
    for part in from_federation(resource):
        assert set(yaml.safe_load(converted_text(part))) == set(part["variables"])
        assert not [line for line in converted_report(part).splitlines() if line.startswith("injected")]


WRONG: tuple[Any, ...] = (7, -1, True, "x", "", [], ["x"], [7], [[]], [{}], [{"name": 7}], [{"name": []}], [None], {}, {"a": 7}, {"a": []}, {7: "a"}, 1.5)


@each_row("field", [one.name for one in FIELDS if one.name not in ("mode", "isolationMode", "supernodes.pools[].name")])
def test_a_value_of_a_wrong_type_is_reported_with_its_field(field: str) -> None:
    """Whatever is in one field, the others are converted, and each has its line in the report."""
    for mode, value in itertools.product(("StatefulSet", "DaemonSet"), WRONG):
        found = resource(mode)
        place, *path = found["spec"], *field.split(".")
        for key in path[:-1]:
            place = place["pools"][0] if key == "pools[]" else place.setdefault(key, {})
        place[path[-1]] = copy.deepcopy(value)
        parts = from_federation(found)
        names = [line["parameter"] for part in parts for line in part["report"]]
        assert any(name.replace("pools[cpu]", "pools[]").startswith(field) or field.startswith(name) for name in names), (value, names)


@each_row("argument", ["--serverappio-api-address=0.0.0.0:9091", "--executor=x", "--max-retries=1"])
def test_options_that_the_superlink_does_not_take_are_left_out(argument: str) -> None:
    given = resource()
    given["spec"]["superlink"]["extraArgs"] = [argument, "--log-file=/tmp/log"]
    hub = from_federation(given)[1]
    assert hub["variables"]["superlink_extra_args"] == ["--log-file=/tmp/log"]
    (line,) = [one for one in hub["report"] if one["parameter"] == "superlink.extraArgs"]
    assert f"{argument.partition('=')[0]} is refused by Flower 1.40 and later" in line["to"]


def test_a_node_config_of_a_pool_keeps_what_is_no_secret() -> None:
    config = {"max-token-length": "512", "num-secret-shares": "3", "token": "s3cr3t", "x": "{region}"}
    sites = from_federation(resource(nodeConfig=config))[2]
    assert sites["variables"]["supernode_pools"][0]["node_config"] == {"max-token-length": "512", "num-secret-shares": "3"}
    (line,) = [one for one in sites["report"] if one["parameter"].endswith(".nodeConfig")]
    assert "without token:" in line["to"] and "without x:" in line["to"] and "s3cr3t" not in line["to"]
