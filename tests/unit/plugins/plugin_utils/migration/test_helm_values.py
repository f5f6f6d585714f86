# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every parameter of Flower's Helm charts is converted or refused by name; what is converted reaches the rendered objects."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any, Callable

import pytest
import yaml

from ansible_collections.federated.flower.plugins.plugin_utils.migration.conversion import (
    FIXED,
    PATCH,
    REFUSED,
    VARIABLE,
    Row,
    converted_report,
    converted_text,
)
from ansible_collections.federated.flower.plugins.plugin_utils.migration.helm_table import TABLE
from ansible_collections.federated.flower.plugins.plugin_utils.migration.helm_values import convert
from ansible_collections.federated.flower.tests.unit.read import role_options, yaml_file
from ansible_collections.federated.flower.tests.unit.rows import each_row
from ansible_collections.federated.flower.tests.unit.specs import superlink_objects, supernode_objects

ROOT = Path(__file__).resolve().parents[5]
PARAMETERS = yaml.safe_load((ROOT / "tests/unit/cases/helm-parameters.yaml").read_text(encoding="utf-8"))
ALL = [(chart, name, default) for chart, rows in PARAMETERS.items() for name, default in rows]
ROWS = [(chart, row) for chart, rows in TABLE.items() for row in rows]
TABLES = ROOT / "docs/converted_parameters.md"

# Values for rows whose type says too little.
EXAMPLES: dict[str, Any] = {
    "global.affinity.nodeAffinity.matchExpressions": [{"key": "example.com/probe", "operator": "Exists"}],
    "global.affinity.podAntiAffinity": "hard",
    "global.affinity.nodeAffinity.type": "soft",
    "global.image.pullPolicy": "Always",
    "superlink.ingress.fleet.hostname": "probe.example.com",
    "superlink.service.type": "NodePort",
    "superlink.service.servicePortFleet": 19443,
    "superlink.service.nodePortFleet": 30777,
    "tls.certificate.duration": "720h",
    "tls.certificate.renewBefore": "77h",
    "tls.certificate.issuerGroup": "probe.example.com",
    "tls.certificate.existingIssuerKind": "ClusterIssuer",
    "tls.certificate.additionalHosts": ["probe.example.com"],
    "global.domain": "probe.example.com",
    "supernode.node.config": {"probe": 7777},
    "supernode.replicas": 7,
    "supernode.updateStrategy.rollingUpdate": {"maxSurge": 0, "maxUnavailable": "25%"},
    "supernode.superlink.address": "probe.example.com",
    "supernode.superlink.port": 17777,
    "superlink.extraArgs": ["--log-file=/probe"],
    "superexec.extraArgs": ["--executor-config=/probe"],
}
ENDS: dict[str, Any] = {
    "isolationMode": "process", "superexec.enabled": True, "pullPolicy": "Never", "image.tag": "1.41.0", "image.digest": "sha256:" + "7" * 64,
    "image.repository": "probe/flower", "image.registry": "probe.example.com",
    "resources": {"requests": {"cpu": "777m"}}, "volumes": [{"name": "probe", "emptyDir": {}}],
    "volumeMounts": [{"name": "probe", "mountPath": "/probe"}], "extraArgs": ["--max-retries=777"], "env": [{"name": "PROBE", "value": "777"}],
    "tolerations": [{"key": "example.com/probe", "operator": "Exists"}], "imagePullSecrets": [{"name": "probe"}],
    "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}, "odeSelector": {"example.com/probe": "yes"},
    "abels": {"example.com/probe": "yes"}, "nnotations": {"example.com/probe": "yes"},
    "lifecycle": {"preStop": {"exec": {"command": ["probe"]}}}, "ecurityContext": {"supplementalGroups": [777]},
    "extraEgress": [{"to": [{"ipBlock": {"cidr": "192.0.2.7/32"}}]}], "extraIngress": [{"from": [{"ipBlock": {"cidr": "192.0.2.7/32"}}]}],
}  # fmt: skip


def example(row: Row) -> Any:
    """A value that is not the chart's."""
    if row.name in EXAMPLES:
        return EXAMPLES[row.name]
    for end, value in ENDS.items():
        if row.name.endswith(end):
            return value
    if isinstance(row.default, bool):
        return not row.default
    if isinstance(row.default, int):
        return 77
    return {str: "q7q7q7", dict: {"q7q7q7": "yes"}, list: ["q7q7q7"]}[type(row.default)]


def values(chart: str, given: dict[str, Any]) -> dict[str, Any]:
    """Dotted names as a values file."""
    made: dict[str, Any] = {}
    for name, value in given.items():
        at = made
        *path, last = name.split(".")
        for part in path:
            at = at.setdefault(part, {})
        at[last] = value
    return made


def needs(chart: str, row: Row) -> dict[str, Any]:
    """What else has to be given for the row to have an effect."""
    more: dict[str, Any] = {}
    if row.process or row.how == "superexec":
        more[f"{chart}.isolationMode"] = "process"
    if row.name == "superlink.service.nodePortFleet":
        more["superlink.service.type"] = "NodePort"
    if row.how == "issuer":
        more["tls.certificate.existingIssuer"] = "probe"
    if row.how == "node_affinity":
        more["global.affinity.nodeAffinity.matchExpressions"] = EXAMPLES["global.affinity.nodeAffinity.matchExpressions"]
    if row.how == "address":
        more["supernode.superlink.address"] = "probe.example.com"
    if row.name.endswith("image.digest"):
        more[row.name.replace("digest", "repository")] = "probe/flower"
    if row.name.endswith(("image.digest", "image.repository")):
        more[f"{row.name.rpartition('.')[0]}.tag"] = "1.42.0"
    if row.name.endswith("volumeMounts"):
        more[row.name.replace("Mounts", "s")] = ENDS["volumes"]
    if row.name.startswith("superlink.ingress.") or row.name == "global.ingressClassName":
        more |= {"superlink.ingress.enabled": True, "superlink.ingress.fleet.enabled": True, "superlink.ingress.fleet.hostname": "probe.example.com"}
    return more


def given_row(chart: str, row: Row) -> tuple[dict[str, Any], dict[str, Any]]:
    """The conversion of a row's example, and the row's entry in the report."""
    result = convert(chart, values(chart, {**needs(chart, row), row.name: example(row)}))
    (entry,) = [one for one in result["report"] if one["parameter"] == row.name]
    return result, entry


@pytest.fixture
def render(superlink_spec: Callable[..., Any], supernode_spec: Callable[..., Any]) -> Callable[..., str]:
    """Function: the objects out of converted variables, as text."""

    def objects(chart: str, variables: dict[str, Any]) -> str:
        given = {name.removeprefix(f"{chart}_"): value for name, value in variables.items()}
        if given.get("insecure"):  # as the roles' defaults say
            given |= {"client_certificates": "none"} if chart == "superlink" else {"mtls": False}
        if chart == "superlink":
            return json.dumps(superlink_objects(superlink_spec(**given)), sort_keys=True)
        return json.dumps(supernode_objects(supernode_spec(**given)), sort_keys=True)

    return objects


def test_each_has_a_row() -> None:
    for chart, name, default in ALL:
        (row,) = [one for one in TABLE[chart] if one.name == name]
        assert row.default == default and type(row.default) is type(default), name
        assert row.fate in (VARIABLE, PATCH, FIXED, REFUSED), name
        assert row.destination, name


def test_has_no_other_rows() -> None:
    assert {(chart, row.name) for chart, row in ROWS} == {(chart, name) for chart, name, _default in ALL}


@each_row(("chart", "row"), ROWS)
def test_each_parameter_is_in_the_report(chart: str, row: Row) -> None:
    result, entry = given_row(chart, row)
    if row.fate == REFUSED:
        assert entry["result"] == "refused" and entry["why"] == row.why
        assert "q7q7q7" not in converted_report(result)
    elif row.fate == FIXED:
        assert entry["result"] in ("refused", "met") and row.why in entry["why"]
    else:
        assert entry["result"] == "mapped", entry
    names = set(role_options(chart))
    assert set(result["variables"]) <= names, "variables of the role"
    assert set(yaml.safe_load(converted_text(result))) == set(result["variables"])


# Where the value is used by another part than the renderer: certificates and the address of the hub.
ELSEWHERE = {"existing", "issuer", "days"} | {
    "tls.certificate.renewBefore", "superlink.service.nodePortFleet", "superlink.ingress.fleet.hostname",
    "global.domain", "tls.certificate.additionalHosts",
}  # fmt: skip
CONVERTED = [(chart, row) for chart, row in ROWS if row.fate in (VARIABLE, PATCH) and not {row.how, row.name} & ELSEWHERE]


@each_row(("chart", "row"), CONVERTED)
def test_reaches_the_objects(chart: str, row: Row, render: Callable[..., str]) -> None:
    result, _entry = given_row(chart, row)
    without = convert(chart, values(chart, {name: value for name, value in needs(chart, row).items() if name != row.name}))
    if result["variables"] == without["variables"]:
        assert row.how in ("superexec", "ingress", "node_affinity", "address"), "another row of the pair sets it"
        return
    assert render(chart, result["variables"]) != render(chart, without["variables"])


# In a file with all rows, what would take the effect from other rows: probes, policies and TLS stay on.
STAY_ON = {"networkPolicy.enabled", "livenessProbe.enabled", "readinessProbe.enabled", "tls.enabled"}
# Ways to publish the gateway, of which a file has one.
INGRESS = {"superlink.ingress.enabled", "superlink.ingress.fleet.enabled"}


def full(chart: str, *, ingress: bool = False, issuer: bool = False) -> dict[str, Any]:
    """Every row of a chart at once, with a value that is not the chart's where the others allow that."""
    given = {row.name: example(row) for row in TABLE[chart]}
    given |= {name: True for name in given if name.endswith(tuple(STAY_ON))}
    given |= {name: False for name in INGRESS if name in given and not ingress}
    if chart == "superlink":
        given[f"tls.{'existingSecret' if issuer else 'certificate.existingIssuer'}"] = ""
        given |= {"tls.certificate.issuerGroup": "cert-manager.io"} if not issuer else {}
    return given


@each_row(("chart", "ingress", "issuer"), [("superlink", False, False), ("superlink", True, True), ("supernode", False, False)])
def test_a_file_with_every_row_renders(chart: str, ingress: bool, issuer: bool, render: Callable[..., str]) -> None:
    given = full(chart, ingress=ingress, issuer=issuer)
    assert set(given) == {row.name for row in TABLE[chart]}, "every row is in it"
    result = convert(chart, values(chart, given))
    assert [entry["parameter"] for entry in result["report"]] == [row.name for row in TABLE[chart]], "and in the report"
    found = {entry["parameter"]: entry["result"] for entry in result["report"]}
    other = {"superlink.service.type", "superlink.service.nodePortFleet"} if ingress else {one for one in found if one.startswith("superlink.ingress.")}
    other |= {"global.ingressClassName"} - ({"global.ingressClassName"} if ingress else set())
    other |= {one for one in found if one.startswith("tls.certificate.") or one == "tls.existingSecret"}
    for row in TABLE[chart]:
        if row.fate in (VARIABLE, PATCH) and row.name not in other:
            assert found[row.name] in ("mapped", "default"), row.name
        elif row.fate == REFUSED:
            assert found[row.name] == "refused", row.name
    kept = [name for name, fate in found.items() if fate == "default"]
    assert all(name.endswith(tuple(STAY_ON)) or name in other or name in INGRESS for name in kept), kept
    assert {name.partition("_")[0] for name in result["variables"]} == {chart}
    assert "StatefulSet" in render(chart, result["variables"])


@pytest.mark.parametrize("chart", TABLE)
def test_the_order_of_a_file_does_not_matter(chart: str) -> None:
    given = [(row.name, example(row)) for row in TABLE[chart]]
    wanted = converted_text(convert(chart, values(chart, dict(given))))
    for seed in range(3):
        random.Random(seed).shuffle(given)
        assert converted_text(convert(chart, values(chart, dict(given)))) == wanted


@pytest.mark.parametrize("chart", TABLE)
def test_defaults_are_left_out(chart: str) -> None:
    result = convert(chart, values(chart, {row.name: row.default for row in TABLE[chart]}))
    assert {entry["result"] for entry in result["report"]} == {"default"}
    assert result["variables"] == convert(chart, {})["variables"]


def test_names_an_unknown_parameter() -> None:
    (entry,) = convert("supernode", {"supernode": {"replica": 3}})["report"]
    assert (entry["parameter"], entry["result"]) == ("supernode.replica", "refused")
    assert entry["why"] == "the chart has no such parameter; did you mean supernode.replicas?"


@each_row(
    ("given", "there"),
    [
        ({"cert-manager.io/cluster-issuer": "own"}, True),
        ({"nginx.ingress.kubernetes.io/ssl-passthrough": "false", "nginx.ingress.kubernetes.io/backend-protocol": "GRPCS"}, True),
        ({"nginx.ingress.kubernetes.io/ssl-passthrough": "true", "nginx.ingress.kubernetes.io/backend-protocol": "GRPCS"}, False),
        ({"haproxy.org/ssl-passthrough": "true"}, False),
    ],
)
def test_an_ingress_passes_tls_through(given: dict[str, str], there: bool) -> None:
    """The charts' documentation ends TLS at the Ingress in its examples; no site would get through to the gateway."""
    defaults = yaml_file("roles/superlink/defaults/main.yml")["superlink_ingress_annotations"]
    ingress = {"enabled": True, "annotations": given, "fleet": {"enabled": True, "hostname": "fleet.example.org"}}
    made = convert("superlink", {"superlink": {"ingress": ingress}})
    assert made["variables"]["superlink_ingress_annotations"] == ({**given, **defaults} if there else given)
    (told,) = [one["to"] for one in made["report"] if one["parameter"] == "superlink.ingress.annotations"]
    assert ("with TLS passthrough" in told) == there


def test_parameters_of_newer_charts_are_not_called_unknown() -> None:
    """The documentation of the charts 1.32.1 has them."""
    executor = {"type": "kubernetes", "configMap": {"create": True}, "kubernetes": {"namespace": "tasks"}}
    given = {"superlink": {"appioTls": {"enabled": True}}, "superexec": {"executor": executor, "rbac": {"create": True}, "rootCertificates": "/ca.crt"}}
    report = {one["parameter"]: one for one in convert("superlink", given)["report"]}
    assert set(report) == {"superlink.appioTls", "superexec.executor", "superexec.rbac", "superexec.rootCertificates"}
    assert {one["result"] for one in report.values()} == {"refused"}
    assert "no pod may create others" in report["superexec.executor"]["why"]
    assert not any("no such parameter" in one["why"] for one in report.values())


@pytest.mark.parametrize("chart", TABLE)
def test_autoscaling_is_refused(chart: str) -> None:
    for given in ({chart: {"autoscaling": {"enabled": True}}}, {"autoscaling": {"maxReplicas": 9}, chart: {}}, {chart: {"hpa": 1}}):
        (entry,) = convert(chart, given)["report"]
        assert entry["result"] == "refused" and "autoscaling is not possible: each SuperNode has a registered key" in entry["why"]


@each_row("given", [-1, True, "2", 1.5])
def test_what_is_no_number_of_supernodes_is_refused(given: Any) -> None:
    (entry,) = convert("supernode", {"supernode": {"replicas": given}})["report"]
    assert entry["result"] == "refused" and "from 0" in entry["why"]


def supernode(**given: Any) -> dict[str, Any]:
    """Values of a file for the supernode chart, converted."""
    return convert("supernode", {"supernode": {"superlink": {"address": "fl.example.com"}, **given}})


def why(found: dict[str, Any], parameter: str) -> str:
    """The end of the report's line on a parameter."""
    (line,) = [one for one in found["report"] if one["parameter"] == parameter]
    return str(line["to"] or line["why"])


def test_a_pool_without_supernodes_stays_one() -> None:
    (pool,) = supernode(replicas=0)["variables"]["supernode_pools"]
    assert pool["replicas"] == 0
    (pool,) = supernode()["variables"]["supernode_pools"]
    assert pool["replicas"] == 1


@each_row(
    ("image", "expected"),
    [
        ({"registry": "", "repository": "images.example.com/fl/supernode", "tag": "1.41.0-torch2.8"}, "images.example.com/fl/supernode:1.41.0-torch2.8"),
        ({"registry": "images.example.com", "repository": "fl/supernode", "tag": "1.41.0"}, "images.example.com/fl/supernode:1.41.0"),
        ({"registry": "images.example.com:5000", "tag": "1.41.0-pytorch"}, "images.example.com:5000/flwr/supernode-ee:1.41.0-pytorch"),
        ({"registry": "images.example.com", "tag": "1.41.0-hospital-7"}, "images.example.com/flwr/supernode-ee:1.41.0-hospital-7"),
        ({"registry": "images.example.com", "tag": "1.41.0-py3.11-cuda12"}, "images.example.com/flwr/supernode-ee:1.41.0-py3.11-cuda12"),
        ({"registry": "images.example.com", "tag": "1.41.0"}, None),
        ({"registry": "images.example.com", "tag": "1.41.0-py3.13-ubuntu24.04"}, None),
        ({"registry": "", "tag": "1.41.0"}, None),
    ],
)
def test_the_image_of_a_site_is_kept_as_a_whole(image: dict[str, str], expected: str | None) -> None:
    found = supernode(image=image)["variables"]
    assert found.get("supernode_image") == expected
    assert all(not str(found.get(name, "x")).startswith("/") and found.get(name) != "" for name in ("supernode_image", "supernode_image_registry"))
    assert found.get("supernode_version") == "1.41.0"


def test_a_build_that_cannot_be_found_again_is_refused() -> None:
    found = supernode(image={"tag": "1.41.0-pytorch"})
    assert "supernode_image" not in found["variables"] and "of the tag 1.41.0-pytorch only the version can be kept" in why(found, "supernode.image.tag")


@each_row(
    ("chart", "given", "kept", "refused"),
    [
        (
            "supernode",
            ["--clientappio-api-address", "0.0.0.0:9094", "--rest", "--flwr-dir=/app/.flwr", "--max-retries=5"],
            ["--max-retries=5"],
            ["--clientappio-api-address", "--rest", "--flwr-dir"],
        ),
        (
            "superlink",
            [
                "--fleet-api-address=0.0.0.0:9092", "--executor=flwr.superexec.deployment:executor", "--auth-list-public-keys", "/keys/clients.csv",
                "--serverappio-api-address", "0.0.0.0:9091",
            ],
            None,
            ["--fleet-api-address", "--auth-list-public-keys", "--serverappio-api-address", "--executor"],
        ),
        ("superlink", ["--max-retris=3", "--log-file", "/tmp/x"], ["--log-file", "/tmp/x"], ["--max-retris"]),
        ("supernode", ["--max-ret", "3", "--server", "h:1"], ["--max-ret", "3"], ["--server"]),
        ("supernode", ["--grpc-adapter"], None, ["--grpc-adapter"]),
        ("supernode", ["--max-wait-time", "9"], ["--max-wait-time", "9"], []),
    ],
)  # fmt: skip
def test_options_that_flower_does_not_take_are_left_out(chart: str, given: list[str], kept: list[str] | None, refused: list[str]) -> None:
    found = convert(chart, {chart: {"extraArgs": given}})
    assert found["variables"].get(f"{chart}_extra_args") == kept
    told = why(found, f"{chart}.extraArgs")
    assert all(re.search(f"{option} (is refused by|has no effect since) Flower", told) for option in refused)
    assert not [word for word in given if not word.startswith("--") and word in told], "values are left out"


@each_row(
    ("given", "kept"),
    [
        ({"partition-id": 0, "num-partitions": 2, "max-token-length": "512", "num-secret-shares": "3"}, None),
        ({"use-secret-aggregation": "true", "token-rate": "1e-3", "password-rounds": 4, "credential-check": False}, None),
        ({"api-key": "abc", "partition-id": 1}, {"partition-id": 1}),
        ({"a": "{region}", "b": [1], "token": "s3cr3t", "site": "x"}, {"site": {"string": "x"}}),
        ({"partition-id": 0, "stale": None}, {"partition-id": 0}),
    ],
)
def test_a_node_config_keeps_what_is_no_secret(given: dict[str, Any], kept: dict[str, Any] | None) -> None:
    found = supernode(node={"config": given})
    (pool,) = found["variables"]["supernode_pools"]
    wanted = {key: {"string": value} if isinstance(value, str) else value for key, value in given.items()}
    assert pool["node_config"] == (wanted if kept is None else kept)
    told = why(found, "supernode.node.config")
    assert [key for key in given if f"without {key}:" in told] == [key for key in given if key not in pool["node_config"] and given[key] is not None]
    assert "s3cr3t" not in told and "abc" not in told


def test_null_takes_a_key_away() -> None:
    values = {"nodeSelector": {"disk": None, "zone": "a"}, "podLabels": {"x": None}, "resources": {"limits": {"cpu": None, "memory": "1Gi"}}, "replicas": None}
    found = supernode(**values, volumes=[{"name": "v", "emptyDir": None}])["variables"]
    assert found["supernode_node_selector"] == {"zone": "a"} and "supernode_pod_labels" not in found
    assert found["supernode_resources"] == {"limits": {"memory": "1Gi"}} and found["supernode_pools"][0]["replicas"] == 1
    assert found["supernode_volumes"] == [{"name": "v", "emptyDir": None}], "entries of lists are as they are"


@pytest.mark.parametrize(
    ("chart", "values", "words"),
    [
        ("supernode", {"superlink": {"service": {}}}, "it has superlink"),
        ("supernode", {"all": {"hosts": {}}}, "it has all"),
        ("supernode", {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {}, "spec": {}}, "It is a Kubernetes object (Deployment)."),
        ("superlink", {"services": {"superlink": {"image": "flwr/superlink:1.21.0"}}}, "It is a compose file."),
        ("supernode", {"flower-client": {"supernode": {"replicas": 3}}}, "give the part below flower-client as a file of its own"),
    ],
)
def test_another_file_is_named_and_gives_no_defaults(chart: str, values: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=f"the file has no parameter of the {chart} chart: ") as raised:
        convert(chart, values)
    assert words in str(raised.value)
    assert convert(chart, {})["variables"], "an empty file means the defaults"


@each_row(
    ("given", "why"),
    [
        ({"maxSurge": 1, "maxUnavailable": 1}, "never doubled"),
        ({"maxSurge": "25%"}, "never doubled"),
        ({"maxUnavailable": 0}, "needs maxUnavailable"),
        ({"partition": 1, "maxUnavailable": 1}, "has no other field here"),
        ("text", "not a dict"),
    ],
)
def test_update_strategies_that_double_a_supernode(given: Any, why: str) -> None:
    (entry,) = convert("supernode", {"supernode": {"updateStrategy": {"rollingUpdate": given}}})["report"]
    assert entry["result"] == "refused" and why in entry["why"]


@each_row("preset", ["none", "soft", "hard", None])
def test_the_preset_of_the_chart_stays(preset: str | None) -> None:
    given = {"global": {"affinity": {"podAntiAffinity": preset}}} if preset else {}
    assert convert("supernode", given)["variables"]["supernode_spread"] == (preset or "soft")


SECRET = "s3cr3t-value"
KEY = f"-----BEGIN EC PRIVATE KEY-----\n{SECRET}\n-----END EC PRIVATE KEY-----\n"


@each_row(
    ("chart", "given"),
    [
        ("supernode", {"global.nodeAuth.authSupernodePrivateKey": KEY}),
        ("superlink", {"global.license.key": SECRET}),
        ("superlink", {"global.accountAuth.config": {"client_secret": SECRET}}),
        ("superlink", {"superlink.env": [{"name": "DB_PASSWORD", "value": SECRET}]}),
        ("supernode", {"supernode.env": [{"name": "MATERIAL", "value": KEY}]}),
        ("supernode", {"supernode.node.config": {"api-token": SECRET}}),
    ],
)
def test_secrets_are_nowhere(chart: str, given: dict[str, Any]) -> None:
    result = convert(chart, values(chart, given))
    assert [entry["result"] for entry in result["report"]] == ["refused"]
    assert SECRET not in json.dumps(result)


def test_a_default_of_a_component_wins_over_the_value_for_all() -> None:
    given = {"global": {"image": {"pullPolicy": "Never"}}, "supernode": {"image": {"pullPolicy": "IfNotPresent"}}}
    result = convert("supernode", given)
    assert result["variables"]["supernode_image_pull_policy"] == "IfNotPresent"
    assert {entry["result"] for entry in result["report"]} == {"mapped"}


def test_templates_stay_text() -> None:
    result = convert("supernode", {"supernode": {"env": [{"name": "A", "value": "{{ lookup('pipe', 'id') }}"}]}})
    assert "!unsafe '{{ lookup(" in converted_text(result)


def test_two_components_may_not_disagree() -> None:
    env = {name: {"env": [{"name": "A", "value": name}]} for name in ("supernode", "superexec")}
    env["supernode"]["isolationMode"] = "process"  # type: ignore[assignment]
    found = {entry["parameter"]: entry for entry in convert("supernode", env)["report"]}
    assert found["supernode.env"]["result"] == "mapped"
    assert "supernode.env gives A another value" in found["superexec.env"]["why"]


def test_two_components_may_not_patch_one_pod_differently() -> None:
    given = {
        "supernode": {"isolationMode": "process", "podSecurityContext": {"supplementalGroups": [7], "fsGroup": 8}, "labels": {"a": "1"}},
        "superexec": {"podSecurityContext": {"supplementalGroups": [9]}, "labels": {"a": "1", "b": "2"}},
    }
    found = {entry["parameter"]: entry for entry in convert("supernode", given)["report"]}
    words = "supernode.podSecurityContext gives supplementalGroups of StatefulSet/supernode-default another value"
    assert words in found["superexec.podSecurityContext"]["why"]
    assert found["superexec.labels"]["result"] == "mapped"


def test_arguments_that_the_collection_sets_are_left_out() -> None:
    given = {"superlink": {"extraArgs": ["--database", "/data/x.db", "--log-rotation-backup-count", "3", "--insecure"]}}
    result = convert("superlink", given)
    assert result["variables"]["superlink_extra_args"] == ["--log-rotation-backup-count", "3"]
    (line,) = result["report"]
    assert line["result"] == "mapped" and "without what the collection sets: --database" in line["to"]
    (line,) = convert("supernode", {"supernode": {"extraArgs": ["--superlink=x:1"]}})["report"]
    assert line["result"] == "refused" and "--superlink is set by the collection" in line["why"]


@each_row(
    ("image", "refused"),
    [
        ({"tag": "1.26.1-ubuntu"}, ["tag"]),
        ({"repository": "own/superlink"}, ["repository"]),
        ({"repository": "own/superlink", "tag": "1.36.0"}, ["repository", "tag"]),
        ({"repository": "own/superlink", "tag": "1.41.0"}, []),
        ({"repository": "own/superlink", "tag": "latest"}, []),
    ],
)
def test_images_of_releases_that_are_not_deployed(image: dict[str, str], refused: list[str]) -> None:
    result = convert("superlink", {"superlink": {"image": image}})
    assert [entry["parameter"].rpartition(".")[2] for entry in result["report"] if "older than Flower 1.40" in entry["why"]] == refused
    assert ("superlink_image" in result["variables"]) == ("repository" in image and not refused)
    assert not refused or "superlink_version" not in result["variables"]


def test_the_documentation_has_every_row() -> None:
    text = TABLES.read_text(encoding="utf-8")
    for chart, row in ROWS:
        assert f"\n| `{row.name}` | {row.destination} |\n" in text, f"{chart}: {row.name}"


@each_row(
    ("name", "value"),
    [("DB_PASS", "x"), ("DB_PWD", "x"), ("KEY_PASSPHRASE", "x"), ("AWS_ACCESS_KEY_ID", "x"), ("HTTPS_PROXY", "http://me:hunter2@proxy:3128")],
)
def test_secrets_in_the_environment_are_refused_by_name_and_by_url(name: str, value: str) -> None:
    result = convert("superlink", {"superlink": {"env": [{"name": name, "value": value}]}})
    assert "superlink_env" not in result["variables"]
    (line,) = result["report"]
    assert line["result"] == "refused"
    assert name in line["why"]
    assert "hunter2" not in json.dumps(result)


def test_an_environment_without_secrets_is_converted() -> None:
    env = [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}, {"name": "PWD", "value": "/app"}, {"name": "BYPASS", "value": "1"}]
    assert convert("superlink", {"superlink": {"env": env}})["variables"]["superlink_env"] == env
