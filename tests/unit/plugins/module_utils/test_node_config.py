# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules of node_config: the conformance cases, the types, the refusals, the messages."""

from __future__ import annotations

import datetime
import random
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.federated.flower.plugins.module_utils import flower_toml
from ansible_collections.federated.flower.plugins.module_utils.node_config import (
    Expansion,
    NodeConfigError,
    expand,
)
from ansible_collections.federated.flower.tests.unit.rows import each_row

CASES = yaml.safe_load((Path(__file__).parents[2] / "cases" / "node-config.yaml").read_text(encoding="utf-8"))["cases"]
INT64_MAX = 2**63 - 1
DATASETS = {"ct": "/data/ct", "a-1": "/data/$(X)/\"q\""}


def typed(config: dict[str, Any]) -> dict[str, tuple[type, Any]]:
    """Make True, 1 and 1.0 differ in a comparison."""
    return {key: (type(value), value) for key, value in config.items()}


def pool(config: Any, **options: Any) -> Expansion:
    return expand(config, **{"mode": "StatefulSet", "pool": "gpu", "replicas": 2, **options})


def refused(config: Any, **options: Any) -> NodeConfigError:
    with pytest.raises(NodeConfigError) as caught:
        pool(config, **options)
    return caught.value


def first(value: Any, **options: Any) -> Any:
    """Return what Flower reads in replica 0 for this value."""
    return pool({"v": value}, **options).preview[0]["config"]["v"]


@each_row("case", CASES)
def test_case(case: dict[str, Any]) -> None:
    options = {name: case.get(name) for name in ("mode", "pool", "replicas", "nodes")}
    if "expected_error" in case:
        with pytest.raises(NodeConfigError) as caught:
            expand(case["nodeConfig"], **options)
        assert caught.value.code == case["expected_error"]
        return
    preview = expand(case["nodeConfig"], **options).preview
    assert [(p.get("index"), p.get("node")) for p in preview] == [
        (e.get("index"), e.get("node")) for e in case["expected"]
    ]
    for got, expected in zip(preview, case["expected"]):
        assert typed(got["config"]) == typed(expected["config"])
        # Every case agrees to the letter, not only those where it is demanded.
        assert got["argument"] == expected["arg"]


@each_row(
    ("value", "read"),
    [
        ("-0", 0),
        ("+0", 0),
        ("-9223372036854775808", -(2**63)),
        ("-9223372036854775809", "-9223372036854775809"),
        ("007", "007"),
        ("-01", "-01"),
        ("--1", "--1"),
        (" 32", " 32"),
        ("32\n", "32\n"),
        ("1_000", "1_000"),
        ("1e3", "1e3"),
        ("0x10", "0x10"),
        ("٣", "٣"),
        ("9" * 5000, "9" * 5000),
        ("0.01", "0.01"),
        ("true ", "true "),
        ("inf", "inf"),
        ("", ""),
        ("{index}", 0),
        (" {index}", " 0"),
        ("{index}th", "0th"),
        ("{replicas}", 2),
        ("{pool}", "gpu"),
        ("{}", "{}"),
        ("{0}", "{0}"),
        ("{a-b}", "{a-b}"),
        ('{"a":1}', '{"a":1}'),
        ("{{index}}", "{0}"),
        ("{index", "{index"),
        ("index}", "index}"),
        ("C:\\data", "C:\\data"),
        ("dir\\", "dir\\"),
        ("\\u0022", "\\u0022"),
        ('" x=1 y="', '" x=1 y="'),
        ("file.toml", "file.toml"),
        ("a\r\nb\tc\x00\x7f\x85\u2028", "a\r\nb\tc\x00\x7f\x85\u2028"),
        ("\U0001f338 \ufeff", "\U0001f338 \ufeff"),
        ("$", "$"),
        ("$(FLOWER_INDEX)", "$(FLOWER_INDEX)"),
        ("${index}", "$0"),
        ("$({index})", "$(0)"),
        ("$$$(X)$", "$$$(X)$"),
        (7, 7),
        (INT64_MAX, INT64_MAX),
        (True, True),
        (0.01, 0.01),
        (1.0, 1.0),
        (1e16, 1e16),
        (5e-324, 5e-324),
        (-0.0, -0.0),
        ({"string": "32"}, "32"),
        ({"string": 32}, "32"),
        ({"string": "true"}, "true"),
        ({"string": "{index}"}, "0"),
        ({"string": ""}, ""),
    ],
)
def test_what_flower_reads(value: Any, read: Any) -> None:
    assert typed({"v": first(value)}) == typed({"v": read})


@each_row("text", ["32", "true", "007", "{index}", "$(X)", 'a"b', "{"])
@each_row("name", ["pool", "cluster", "region", "namespace", "federation"])
def test_names_are_strings_and_expanded_once(name: str, text: str) -> None:
    assert first(f"{{{name}}}", **{name: text}) == text
    assert first(f"x{{{name}}}{{index}}", **{name: text}) == f"x{text}0"


def test_numeric_node_name_is_a_string() -> None:
    got = expand({"v": "{node}"}, mode="DaemonSet", pool="p", nodes=["32", "n.example"]).preview
    assert [(entry["node"], entry["config"]) for entry in got] == [
        ("32", {"v": "32"}),
        ("n.example", {"v": "n.example"}),
    ]


def test_fleet_wide_count() -> None:
    got = pool({"id": "{partition}", "n": "{partitions}", "s": "p{partition}"}, first_partition=8, partitions=12)
    assert got.argument == 'id=$(FLOWER_INDEX) n=12 s="p$(FLOWER_INDEX)"'
    assert [(p["index"], p["partition"], p["config"]) for p in got.preview] == [
        (0, 8, {"id": 8, "n": 12, "s": "p8"}),
        (1, 9, {"id": 9, "n": 12, "s": "p9"}),
    ]
    assert got.counts == "fleet"
    assert got.warnings == []


def test_partition_beyond_the_number_of_partitions_is_a_warning() -> None:
    got = pool({"id": "{partition}", "n": "{partitions}"}, first_partition=8, partitions=9)
    assert len(got.warnings) == 1
    assert "up to 9" in got.warnings[0]


def test_partitions_alone_is_a_fixed_number() -> None:
    got = pool({"n": "{partitions}"}, partitions=5)
    assert (got.argument, got.env, got.counts) == ("n=5", [], None)


@each_row("name", ["index", "replicas", "partition", "partitions"])
def test_no_number_is_for_a_daemonset(name: str) -> None:
    """Also where its value is known: what is missing is not the value."""
    error = refused({"n": f"{{{name}}}"}, mode="DaemonSet", replicas=None, first_partition=0, partitions=5)
    assert error.code == "placeholder-not-allowed-in-daemonset"
    assert f"{{{name}}} is not for a DaemonSet, whose pods have no number; use {{node}}" in str(error)
    assert str(error).endswith("Known here: {node}, {pool}")


def test_env_holds_only_what_is_referred_to() -> None:
    index = {
        "name": "FLOWER_INDEX",
        "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['apps.kubernetes.io/pod-index']"}},
    }
    node = {"name": "FLOWER_NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
    assert pool({"a": "{pool}{replicas}", "b": "$(FLOWER_INDEX)"}).env == []
    assert pool({"a": "{index}"}).env == [index]
    assert pool({"a": "{node}"}).env == [node]
    assert pool({"a": "{node}{index}"}).env == [index, node]


def test_nothing_to_pass() -> None:
    for config in ({}, None):
        got = pool(config, replicas=1)
        assert (got.argument, got.env, got.counts) == (None, [], None)
        assert got.preview == [{"index": 0, "argument": None, "config": {}}]


def test_replicas_go_round_the_nodes() -> None:
    got = pool({"v": "{node}"}, replicas=3, nodes=["a", "b"]).preview
    assert [entry["config"]["v"] for entry in got] == ["a", "b", "a"]
    assert pool({"v": "{node}"}).preview[0]["config"] == {"v": "$(FLOWER_NODE_NAME)"}
    assert pool({"v": "{index}"}, replicas=0).preview == []


@each_row(
    ("config", "options", "code"),
    [
        ({"v": "{indx}"}, {}, "unknown-placeholder"),
        ({"v": "{ index }"}, {}, "unknown-placeholder"),
        ({"v": "{größe}"}, {}, "unknown-placeholder"),
        ({"v": {"string": "{indx}"}}, {}, "unknown-placeholder"),
        ({"v": "{region}"}, {"region": ""}, "unknown-placeholder"),
        ({"v": "{cluster}"}, {}, "unknown-placeholder"),
        ({"v": "{namespace}"}, {}, "unknown-placeholder"),
        ({"v": "{federation}"}, {}, "unknown-placeholder"),
        ({"v": "{partition}"}, {"partitions": 4}, "unknown-placeholder"),
        ({"v": "{partitions}"}, {"first_partition": 4}, "unknown-placeholder"),
        ({"v": "x{index}"}, {"mode": "DaemonSet", "replicas": None}, "placeholder-not-allowed-in-daemonset"),
        (
            {"v": "{partition}"},
            {"mode": "DaemonSet", "replicas": None, "first_partition": 0},
            "placeholder-not-allowed-in-daemonset",
        ),
        ({"a": "{index}", "b": "{partition}"}, {"first_partition": 0}, "mixed-counting"),
        ({"a": "{partitions} {replicas}"}, {"partitions": 4}, "mixed-counting"),
        ({"": "x"}, {}, "invalid-key"),
        ({".a": "x"}, {}, "invalid-key"),
        ({"a.": "x"}, {}, "invalid-key"),
        ({"a..b": "x"}, {}, "invalid-key"),
        ({"a\n": "x"}, {}, "invalid-key"),
        ({'"a"': "x"}, {}, "invalid-key"),
        ({"{pool}-id": "x"}, {}, "invalid-key"),
        ({True: "x"}, {}, "invalid-key"),
        ({"data": "x", "data.split": "y"}, {}, "key-conflict"),
        ({"a.b": "x", "a-z": "1", "a.b.c.d": "y"}, {}, "key-conflict"),
        ({9: "x", "9": "y"}, {}, "key-conflict"),
        ({"v": None}, {}, "unsupported-value"),
        ({"v": ["x"]}, {}, "unsupported-value"),
        ({"v": {"split": "x"}}, {}, "unsupported-value"),
        ({"v": {"string": "x", "more": 1}}, {}, "unsupported-value"),
        ({"v": {"string": 1.1}}, {}, "unsupported-value"),
        ({"v": {"string": True}}, {}, "unsupported-value"),
        ({"v": {}}, {}, "unsupported-value"),
        ({"v": float("inf")}, {}, "unsupported-value"),
        ({"v": 2**63}, {}, "unsupported-value"),
        ({"v": 10**5000}, {}, "unsupported-value"),
        ({"v": datetime.date(2026, 1, 1)}, {}, "unsupported-value"),
        ({"v": b"x"}, {}, "unsupported-value"),
        ({"v": "\ud800"}, {}, "unsupported-value"),
        ({"v": "x" * 140000}, {}, "argument-too-long"),
        (["v"], {}, "invalid-parameter"),
        ({}, {"mode": "Deployment"}, "invalid-parameter"),
        ({}, {"replicas": None}, "invalid-parameter"),
        ({}, {"replicas": -1}, "invalid-parameter"),
        ({}, {"replicas": True}, "invalid-parameter"),
        ({}, {"mode": "DaemonSet"}, "invalid-parameter"),
        ({}, {"pool": ""}, "invalid-parameter"),
        ({}, {"region": 7}, "invalid-parameter"),
        ({}, {"nodes": "node-a"}, "invalid-parameter"),
        ({}, {"nodes": ['a"b']}, "invalid-parameter"),
        ({}, {"first_partition": -1}, "invalid-parameter"),
        ({}, {"partitions": 0}, "invalid-parameter"),
        ({"v": "{dataset:ct}"}, {}, "unknown-placeholder"),
        ({"v": "{dataset:mri}"}, {"datasets": DATASETS}, "unknown-placeholder"),
        ({"v": "{dataset:}"}, {"datasets": DATASETS}, "unknown-placeholder"),
        ({"v": "{dataset}"}, {"datasets": DATASETS}, "unknown-placeholder"),
        ({"{dataset:ct}": "v"}, {"datasets": DATASETS}, "invalid-key"),
        ({}, {"datasets": ["ct"]}, "invalid-parameter"),
        ({}, {"datasets": {"CT": "/data"}}, "invalid-parameter"),
        ({}, {"datasets": {"ct": "data"}}, "invalid-parameter"),
    ],
)
def test_refused(config: Any, options: dict[str, Any], code: str) -> None:
    error = refused(config, **options)
    assert [fault.code for fault in error.faults] == [code]
    str(error).encode()  # printable anywhere


def test_dotted_keys_that_share_a_table_do_not_conflict() -> None:
    config = {"a.b": 1, "a.c": 2, "a-b": 3, "ab": 4}
    assert pool(config).preview[0]["config"] == config


def test_message_names_everything() -> None:
    error = refused({"name": "client_{indx}"}, cluster="paris")
    assert str(error) == (
        "pool 'gpu' (cluster 'paris'): node_config key 'name', value 'client_{indx}', position 8: unknown placeholder "
        "{indx}; did you mean {index}? Known here: {cluster}, {index}, {node}, {pool}, {replicas}"
    )
    assert error.errors == [
        {
            "code": "unknown-placeholder",
            "key": "name",
            "value": "client_{indx}",
            "position": 8,
            "placeholder": "{indx}",
            "nearest": "{index}",
            "parameter": None,
            "message": str(error),
        }
    ]


@each_row(
    ("written", "meant", "options"),
    [
        ("{Index}", "{index}", {}),
        ("{ index }", "{index}", {}),
        ("{replica}", "{replicas}", {}),
        ("{nodename}", "{node}", {}),
        ("{regoin}", "{region}", {"region": "eu"}),
        ("{partiton}", "{partition}", {"first_partition": 0, "partitions": 4}),
        ("{name_space}", "{namespace}", {"namespace": "flower"}),
        ("{ dataset:ct }", "{dataset:ct}", {"datasets": {"ct": "/data/ct"}}),
        ("{dataset: ct}", "{dataset:ct}", {"datasets": {"ct": "/data/ct"}}),
        ("{Dataset:ct}", "{dataset:ct}", {"datasets": {"ct": "/data/ct"}}),
        ("{dataset:ctt}", "{dataset:ct}", {"datasets": {"ct": "/data/ct", "mri": "/data/mri"}}),
    ],
)
def test_nearest_placeholder(written: str, meant: str, options: dict[str, Any]) -> None:
    error = refused({"v": written}, **options)
    assert error.errors[0]["nearest"] == meant
    assert f"did you mean {meant}?" in str(error)


@each_row(
    ("value", "read"),
    [
        ("{dataset:ct}", "/data/ct"),
        ("{dataset:ct}/train/{index}", "/data/ct/train/0"),
        ({"string": "{dataset:ct}"}, "/data/ct"),
        ("{dataset:a-1}", '/data/$(X)/"q"'),
        # Braces around anything else with a colon are text, as before.
        ("{data:ct}", "{data:ct}"),
        ("{datasets:ct}", "{datasets:ct}"),
        ('{"dataset": 1}', '{"dataset": 1}'),
    ],
)
def test_the_path_of_a_dataset_is_a_string(value: Any, read: str) -> None:
    assert first(value, datasets=DATASETS) == read


def test_datasets_do_not_count_and_need_no_variable() -> None:
    found = pool({"v": "{dataset:ct}"}, datasets=DATASETS)
    assert (found.counts, found.env, found.warnings) == (None, [], [])
    assert expand({"v": "{dataset:ct}"}, mode="DaemonSet", pool="edge", datasets=DATASETS).argument == 'v="/data/ct"'


def test_message_says_which_parameter_is_missing() -> None:
    assert "first_partition was not set" in str(refused({"v": "{partition}"}))


def test_message_of_mixed_counting_names_both_places() -> None:
    message = str(refused({"a": "{index}", "b": "p{partition}"}, first_partition=0))
    for part in ("'a'", "'{index}'", "'b'", "'p{partition}'", "position 2", "counts one way"):
        assert part in message


def test_a_long_value_is_cut_around_the_fault() -> None:
    message = str(refused({"v": "x" * 500 + "{indx}" + "y" * 500}))
    assert "position 501" in message
    assert "{indx}yy" in message
    assert len(message) < 350


def test_all_faults_in_one_go() -> None:
    error = refused({"a": "{indx} {nodes}", "b c": None, "d": 1, "d.e": "{Pool}"}, replicas=None)
    assert [(fault.code, fault.key) for fault in error.faults] == [
        ("invalid-parameter", None),
        ("unknown-placeholder", "a"),
        ("unknown-placeholder", "a"),
        ("invalid-key", "b c"),
        ("unsupported-value", "b c"),
        ("key-conflict", "d.e"),
        ("unknown-placeholder", "d.e"),
    ]
    assert error.code == "invalid-parameter"
    assert len(str(error).splitlines()) == len(error.faults)


def test_result_is_plain_data() -> None:
    class Text(str):
        """As Ansible's tagged strings are."""

    class Number(int):
        """As Ansible's tagged integers are."""

        def __repr__(self) -> str:
            return "no number"

    got = pool({Text("k"): Text("x"), Text("n"): Number(5)}, pool=Text("p"), replicas=Number(1))
    assert got.argument == 'k="x" n=5'
    forms = [got.argument, pool({"k": Text("{pool}")}, pool=Text("p")).argument]
    assert {type(argument) for argument in forms} == {str}
    assert {type(key) for key in got.preview[0]["config"]} == {str}


FRAGMENTS = [
    *("{index}", "{replicas}", "{node}", "{pool}", "{region}", "{", "}", "{}", "{a-b}"),
    *("$", "$$", "$(", "$(FLOWER_INDEX)", ")", '"', "'", "\\", "\\u0022", "=", "#", ".toml"),
    *(" ", "\t", "\n", "\r", "\x00", "\x7f", "\u2028", "é", "北", "a", "Z", "0", "7", "-", "+", "true", "_"),
]


@each_row("seed", range(100))
def test_any_text_arrives_as_it_is(seed: int) -> None:
    rnd = random.Random(seed)
    config = {f"k{number}": "".join(rnd.choices(FRAGMENTS, k=rnd.randint(0, 8))) for number in range(rnd.randint(1, 5))}
    values = {"replicas": "2", "node": "n-1", "pool": '$(X)"\\', "region": "{index}"}
    got = pool(
        {key: {"string": text} for key, text in config.items()}, pool=values["pool"], region="{index}", nodes=["n-1"]
    )
    for entry in got.preview:
        values["index"] = str(entry["index"])
        wanted = {key: re.sub(r"\{([a-z]+)\}", lambda m: values[m[1]], text) for key, text in config.items()}
        assert entry["config"] == wanted
        assert flower_toml.read(entry["argument"]) == wanted


def test_a_number_of_replicas_has_a_bound() -> None:
    with pytest.raises(NodeConfigError, match="replicas: must be an integer of at most 1000, not 1000000000"):
        pool({"v": "{index}"}, replicas=10**9)
    with pytest.raises(NodeConfigError, match="partitions: must be an integer of at most 2147483647"):
        pool({"v": "{index}"}, partitions=2**31)


def test_without_preview_an_argument_that_is_too_long_is_refused_all_the_same() -> None:
    options = {"replicas": 1000, "first_partition": 1, "partitions": 2000}
    assert pool({"v": "{partition}"}, preview=False, **options).preview == []
    for preview in (False, True):
        with pytest.raises(NodeConfigError, match="argument would have"):
            pool({"v": "{partition}" + "x" * 131071}, preview=preview, **options)


def test_a_brace_that_is_never_closed_is_read_in_linear_time() -> None:
    value = "{dataset:" + " " * 120000  # minutes, if it were quadratic
    assert first(value, datasets=DATASETS) == value
