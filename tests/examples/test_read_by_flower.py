# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Flower itself reads what the collection writes: any node config and any run config arrive as they were given."""

from __future__ import annotations

import math
from pathlib import Path
from random import Random
from typing import Any

import pytest
from flwr.cli import flower_config
from flwr.cli.constant import DEFAULT_FLOWER_CONFIG_TOML
from flwr.common.config import parse_config_args
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from ansible_collections.federated.flower.plugins.module_utils import kubelet
from ansible_collections.federated.flower.plugins.module_utils.node_config import NodeConfigError, expand
from ansible_collections.federated.flower.plugins.plugin_utils.flower import connection_file, run_config
from ansible_collections.federated.flower.plugins.plugin_utils.migration.conversion import PLACEHOLDER
from ansible_collections.federated.flower.plugins.plugin_utils.migration.federation_resource import from_federation
from ansible_collections.federated.flower.plugins.plugin_utils.migration.helm_values import convert

# Half of a surrogate pair is no text; braces would be placeholders, which the unit tests have.
TEXT = some.text(some.characters(exclude_categories=["Cs"]), max_size=60)
INTEGERS = some.integers(-(2**63), 2**63 - 1)
NUMBERS = some.floats(allow_nan=False, allow_infinity=False)
VALUES = some.one_of(some.booleans(), INTEGERS, NUMBERS, TEXT)
KEYS = some.from_regex(r"[A-Za-z0-9_-]{1,40}", fullmatch=True)
CHECKED = settings(max_examples=500, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])

FEWER = settings(CHECKED, max_examples=200)


def typed(config: dict[str, Any]) -> dict[str, tuple[type, str]]:
    """Make True, 1 and 1.0 differ in a comparison, and 0.0 and -0.0."""
    return {key: (type(value), repr(value)) for key, value in config.items()}


def arguments(config: dict[str, Any], replicas: int = 1) -> list[str | None]:
    """What each pod's process receives, after the kubelet has resolved the argument of the pod template."""
    made = expand(config, mode="StatefulSet", pool="cpu", replicas=replicas)
    values = [{one["name"]: str(index) for one in made.env} for index in range(replicas)]
    return [made.argument and kubelet.expand(made.argument, pod) for pod in values]


def as_given(value: Any) -> Any:
    """A value in the form whose text is taken as it is."""
    return {"string": value.replace("{", "(")} if isinstance(value, str) else value


@CHECKED
@given(some.dictionaries(KEYS, VALUES, max_size=30))
def test_any_node_config_arrives(config: dict[str, Any]) -> None:
    (argument,) = arguments({key: as_given(value) for key, value in config.items()})
    wanted = {key: value.replace("{", "(") if isinstance(value, str) else value for key, value in config.items()}
    assert typed(parse_config_args([argument] if argument else None)) == typed(wanted)


# Texts full of what placeholders, shells, TOML and the kubelet read: braces, quotes, dollars, backslashes.
PUZZLES = some.text(some.sampled_from("{}$\"'\\`=() ,#\n\té€a1_:"), max_size=30)


@FEWER
@given(some.dictionaries(KEYS, PUZZLES, min_size=1, max_size=5))
def test_any_text_with_braces_arrives_or_is_refused_by_name(config: dict[str, str]) -> None:
    """What is no placeholder is text, in the short form as well as in that which forces a string."""
    try:
        (argument,) = arguments({key: {"string": value} for key, value in config.items()})
    except NodeConfigError as refused:
        assert {fault.key for fault in refused.faults} <= {key for key, value in config.items() if PLACEHOLDER.search(value)}
        return
    assert typed(parse_config_args([argument])) == typed(config)
    (short,) = arguments(dict(config))
    read = parse_config_args([short])
    assert {key: str(value) for key, value in read.items() if isinstance(value, str)}.items() <= config.items()


@FEWER
@given(some.dictionaries(KEYS, some.one_of(VALUES, PUZZLES), max_size=20))
def test_any_node_config_of_the_chart_arrives_or_is_refused_by_name(config: dict[str, Any]) -> None:
    """Through the conversion, with the types of YAML."""
    result = convert("supernode", {"supernode": {"node": {"config": config}}})
    (line,) = result["report"] or [{"result": "default", "why": "", "to": ""}]
    if line["result"] == "refused":
        assert "has a private key" in line["why"] or any(f"the value of {key} " in line["why"] for key in config)
        return
    (argument,) = arguments(result["variables"]["supernode_pools"][0]["node_config"])
    kept = {key: value for key, value in config.items() if f"without {key}: " not in line["to"]}
    assert typed(parse_config_args([argument] if argument else None)) == typed(kept)


@FEWER
@given(some.dictionaries(KEYS, some.one_of(TEXT, PUZZLES, INTEGERS.map(str)), max_size=20))
def test_any_node_config_of_a_federation_arrives_or_is_refused_by_name(config: dict[str, str]) -> None:
    """Through the conversion: text, and what is a number or a boolean as one, as the operator means it."""
    pool = {"name": "cpu", "replicas": 1, "nodeConfig": config}
    spec = {"mode": "StatefulSet", "isolationMode": "subprocess", "superlink": {}, "supernodes": {"pools": [pool]}}
    parts = from_federation({"apiVersion": "flwr.exalsius.ai/v1", "kind": "Federation", "metadata": {"name": "x"}, "spec": spec})
    (line,) = (one for one in parts[2]["report"] if one["parameter"].endswith(".nodeConfig"))
    if line["result"] == "refused":
        assert "has a private key" in line["why"] or any(f"the value of {key} " in line["why"] for key in config)
        return
    (argument,) = arguments(parts[2]["variables"]["supernode_pools"][0]["node_config"])
    read = parse_config_args([argument] if argument else None)
    assert set(read) == {key for key in config if f"without {key}: " not in line["to"]}
    for key, value in read.items():
        if isinstance(value, str):
            assert value == config[key]
        else:
            assert str(value).lower() == config[key].lstrip("+") or int(config[key]) == value


@FEWER
@given(some.dictionaries(KEYS, VALUES, max_size=12), some.randoms(use_true_random=False))
def test_any_order_of_a_node_config_gives_the_same_argument(config: dict[str, Any], chance: Random) -> None:
    order = chance.sample(list(config), len(config))
    assert arguments({key: as_given(config[key]) for key in order}) == arguments({key: as_given(value) for key, value in config.items()})


@CHECKED
@given(some.text(min_size=1, max_size=20), VALUES)
def test_any_key_arrives_or_is_refused_by_name(key: str, value: Any) -> None:
    try:
        (argument,) = arguments({key: as_given(value)})
    except NodeConfigError as refused:
        assert any(fault.key == key for fault in refused.faults)
    else:
        assert list(parse_config_args([argument])) == [key]


@CHECKED
@given(KEYS, some.integers(1, 12))
def test_every_replica_has_its_own_number(key: str, replicas: int) -> None:
    read = [parse_config_args([argument]) for argument in arguments({key: "{index}"}, replicas)]
    assert read == [{key: index} for index in range(replicas)]


@pytest.mark.parametrize("count", [0, 1, 100, 2000])
def test_any_number_of_entries_arrives(count: int) -> None:
    config = {f"key-{number}": number for number in range(count)}
    (argument,) = arguments(config)
    assert parse_config_args([argument] if argument else None) == config


@CHECKED
@given(some.dictionaries(some.text(some.characters(exclude_categories=["Cs"]), max_size=20), VALUES, max_size=20))
def test_any_run_config_arrives(tmp_path: Path, config: dict[str, Any]) -> None:
    file = tmp_path / "run.toml"
    file.write_text(run_config.write(config), encoding="utf-8")
    read = parse_config_args([str(file)])
    assert typed(read) == typed(config)
    assert all(math.isfinite(value) for value in read.values() if isinstance(value, float))


def test_flower_reads_a_connection_and_may_write_the_file_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLWR_HOME", str(tmp_path))
    path, values = tmp_path / "config.toml", {"address": "localhost:8000", "root-certificates": str(tmp_path / 'an "ä" folder/study.crt')}
    path.write_text(connection_file.with_connection(DEFAULT_FLOWER_CONFIG_TOML + "# mine\n", "study", values), encoding="utf-8")
    found = flower_config.read_superlink_connection("study")
    assert (found.address, found.root_certificates, found.insecure) == (*values.values(), False)
    flower_config.write_superlink_connection(flower_config.parse_superlink_connection({"address": "lab:1"}, "lab"))
    text = path.read_text(encoding="utf-8")
    assert "# mine" not in text, "comments stay: then they could mark our connection"
    assert connection_file.with_connection(text, "study", values) == text
    path.write_text(connection_file.without_connection(text, "study"), encoding="utf-8")
    assert {name: flower_config.read_superlink_connection(name).address for name in ("local", "supergrid", "lab", None)} == {
        "local": ":local:", "supergrid": "api.flower.ai", "lab": "lab:1", None: ":local:",
    }  # fmt: skip
