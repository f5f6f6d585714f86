# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Extra arguments, as C(argparse) in Flower's programs reads them. tests/examples compares the options with Flower's own."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.tests.unit.rows import each_row
from ansible_collections.federated.flower.tests.unit.specs import superlink_faults, supernode_faults

SITE: list[tuple[list[Any], str]] = [
    (["--insec"], "[0]: '--insec' contradicts what the role sets: use flower_insecure (--insecure)"),
    (["--superl", "other:1"], "[0]: '--superl' contradicts what the role sets: use superlink_address (--superlink)"),
    (["--superexec-a=/x"], "[0]: '--superexec-a' contradicts"),
    (["--node-c", "a=1"], "[0]: '--node-c' contradicts what the role sets: use node_config of the pool"),
    (["--root-cert=/x"], "[0]: '--root-cert' contradicts"),
    (["--max-retries=3", "--max-wait-time", "-1", "--isol=process"], "[3]: '--isol' contradicts"),
    (["--help"], "[0]: '--help' ends the process at once"),
    (["--hel"], "[0]: '--hel' ends the process at once (--help)"),
    (["-h"], "[0]: '-h' ends the process at once"),
    (["-hV"], "[0]: '-h' ends the process at once"),
    (["--version"], "[0]: '--version' ends the process at once"),
    (["word"], "is neither an option of flower-supernode nor the value of one"),
    (["--max-retries", "3", "s3cr3t"], "[2]: a value of the type str (not shown) is neither an option"),
    (["--max-retries 3"], "[0]: '--max-retries 3' is not an option of flower-supernode"),
    (["--max-retris=3"], "[0]: '--max-retris' is not an option of flower-supernode"),
    (["--max=3"], "is the beginning of --max-retries and --max-wait-time"),
    (["--max-retries"], "[0]: '--max-retries' has no value"),
    (["--max-retries", "--trusted-entities=/x"], "[0]: '--max-retries' has no value"),
    (["--max-retries=many"], "[0]: '--max-retries' has a value that flower-supernode does not accept"),
    (["--clientappio-api-address", "0.0.0.0:9094"], "[0]: '--clientappio-api-address' is refused by Flower 1.40 and later"),
    (["--rest"], "[0]: '--rest' is not an option of flower-supernode"),
    (["--flwr-dir=/app/.flwr"], "[0]: '--flwr-dir' is not an option"),
    (["--"], "is neither an option"),
    ([""], "is neither an option"),
    ([None], "is neither an option"),
    ([True], "is neither an option"),
]
HUB: list[tuple[list[Any], str]] = [
    (["--insec"], "[0]: '--insec' contradicts what the role sets: use flower_insecure (--insecure)"),
    (["--databas", ":memory:"], "[0]: '--databas' contradicts"),
    (["--simul"], "[0]: '--simul' contradicts what the role sets: a SuperLink that simulates"),
    (["--fleet-api-address=0.0.0.0:9092"], "[0]: '--fleet-api-address' has no effect since Flower 1.40"),
    (["--executor=flwr.superexec.deployment:executor"], "[0]: '--executor' is not an option of flower-superlink"),
    (["--auth-list-public-keys", "/keys/clients.csv"], "[0]: '--auth-list-public-keys' is refused by Flower 1.40"),
    (["--serverappio-api-address", "0.0.0.0:9091"], "[0]: '--serverappio-api-address' is refused by"),
    (["--log-rotation-backup-count", "0"], "has a value that flower-superlink does not accept"),
    (["--log-f"], "[0]: '--log-f' has no value"),
]


@each_row(("arguments", "words"), SITE)
def test_arguments_of_supernodes(arguments: list[Any], words: str, supernode_spec: Any) -> None:
    found = supernode_faults(supernode_spec(extra_args=arguments))
    assert found and all(one.startswith("site-a: supernode_extra_args[") for one in found)
    assert words in "\n".join(found) and "s3cr3t" not in "\n".join(found)
    assert "supernode_pools[0].extra_args[" in supernode_faults(supernode_spec(pools=[{"name": "a", "extra_args": arguments}]))[0]


@each_row(("arguments", "words"), HUB)
def test_arguments_of_superlinks(arguments: list[Any], words: str, superlink_spec: Any) -> None:
    assert words in "\n".join(superlink_faults(superlink_spec(extra_args=arguments)))


@each_row(
    "arguments",
    [[], ["--max-retries=5"], ["--max-retries", 5], ["--max-r", "5", "--trusted-entities", "/x y"], ["--max-wait-time=0.5"], ["--max-wait-time", "3."]],
)
def test_arguments_that_are_taken(arguments: list[Any], supernode_spec: Any, superlink_spec: Any) -> None:
    assert supernode_faults(supernode_spec(extra_args=arguments)) == []
    hub = superlink_spec(extra_args=["--log-file", "/data/a.log", "--log-rotation-i=5"], serverapp_extra_args=["--executor-config=/x"])
    assert superlink_faults(hub) == []


def test_a_later_release_may_have_more_options(supernode_spec: Any) -> None:
    given = ["--new-option", "value", "--max-retries=2"]
    assert supernode_faults(supernode_spec(extra_args=given, version="1.43.0")) == []
    assert "is not an option" in supernode_faults(supernode_spec(extra_args=given, version="1.42.1"))[0]
    assert "contradicts" in supernode_faults(supernode_spec(extra_args=["--insec"], version="1.43.0"))[0]
