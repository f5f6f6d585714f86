# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Sites that join a SuperLink which is not in the inventory: numbers, keys for its administrator, and what pods report."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.object_names import SiteAccess
from ansible_collections.federated.flower.plugins.plugin_utils.fleet import other_superlink
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.outcome import Outcomes
from ansible_collections.federated.flower.plugins.plugin_utils.sites import direct_acceptance
from ansible_collections.federated.flower.plugins.plugin_utils.sites.site import (
    OTHER_SUPERLINK,
    KeyResult,
    Restart,
    Site,
    StepResult,
)
from ansible_collections.federated.flower.plugins.plugin_utils.spec.site_spec import SiteSpec
from ansible_collections.federated.flower.tests.unit.rows import each_row
from ansible_collections.federated.flower.tests.unit.specs import CA, supernode_faults

NUMBERED = {"partition-id": "{partition}", "num-partitions": "{partitions}"}
JOINS = {"address": "fl.example.com:9092", "ca": CA}


def site_with(*pools: Mapping[str, Any], partitions: int = 0, seconds: int = 0, **superlink: Any) -> Site:
    given = {
        "cluster": "site-a", "namespace": "flower", "federation": "demo", "version": "1.42.0", "pools": list(pools), "partitions": partitions,
        "superlink": {**JOINS, **superlink}, "superlink_address": JOINS["address"], "ca_bundle": CA, "mtls": False, "platform": "kubernetes",
    }  # fmt: skip
    return Site("site-a", SiteSpec.parse(given), SiteAccess("direct", "controller", "direct"), seconds=seconds, identity=OTHER_SUPERLINK, given=given)


def test_numbers_are_of_the_site_alone_and_begin_where_its_administrator_says() -> None:
    site = site_with({"name": "a", "replicas": 2, "node_config": NUMBERED}, {"name": "b", "node_config": NUMBERED}, {"name": "c"}, first_partition=4)
    other_superlink.complete(site, SimpleNamespace())
    assert site.spec.allocation == {
        "a": {"offset": 4, "partitions": 7}, "b": {"offset": 6, "partitions": 7}, "c": {"offset": 0, "partitions": 7}
    }  # fmt: skip
    fixed = site_with({"name": "a", "replicas": 2, "node_config": NUMBERED}, partitions=10)
    other_superlink.complete(fixed, SimpleNamespace())
    assert fixed.spec.allocation == {"a": {"offset": 0, "partitions": 10}}


def test_more_supernodes_than_partitions_are_refused() -> None:
    with pytest.raises(ClusterError, match="supernode_partitions: 5 is too small: the SuperNodes of the site have the numbers 4 to 5"):
        other_superlink.complete(site_with({"name": "a", "replicas": 2, "node_config": NUMBERED}, partitions=5, first_partition=4), SimpleNamespace())


def test_the_ca_bundle_may_be_in_a_secret() -> None:
    site = site_with({"name": "a"}, ca_secret="consortium-ca")
    with pytest.raises(ClusterError, match=r"Secret flower/consortium-ca \(supernode_superlink.ca_secret\) does not exist, or has no ca.crt"):
        other_superlink.complete(site, SimpleNamespace(get=lambda *_place: None))
    other_superlink.complete(site, SimpleNamespace(get=lambda *_place: {"data": {"ca.crt": "Q0E="}}))
    assert site.spec.ca_bundle == "CA"


class Run:
    """What a deployment needs of a run."""

    show_diff = rendering = False

    def __init__(self, *, check: bool = False) -> None:
        self.check = check

    def note(self, site: str | None = None, **facts: Iterable[Any]) -> None:
        pass

    def failed(self, site: str, message: str) -> None:
        pass

    def say_details(self, text: str) -> None:
        print(text)


class Backend:
    """A site with one SuperNode, whose pod is as C(state) says; its key counts up when it is replaced."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self.state, self.number, self.running = state, 1, 1
        ready = {"observedGeneration": 1, "readyReplicas": 1, "replicas": 1, "updatedReplicas": 1, "currentRevision": "r", "updateRevision": "r"}
        live = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"generation": 1}, "spec": {"replicas": 1}, "status": ready}
        self.cluster = SimpleNamespace(skew=0.0, get=lambda *_place: live)

    def detect_platform(self) -> None:
        pass

    def make_keys(self, allocation: Mapping[str, Any], dead: Sequence[str]) -> KeyResult:
        self.number += f"SHA256:{self.number}" in dead
        key = {"pool": "a", "name": "0", "fingerprint": f"SHA256:{self.number}", "public_key": f"ecdsa key{self.number}", "expected": True}
        return KeyResult(changed=bool(dead), keys=[key], msg="keys")

    def apply(self, objects: Sequence[Any], gate: Any) -> StepResult:
        assert any(one["kind"] == "StatefulSet" for one in objects)
        return StepResult(msg="applied")

    def restart(self, wanted: Restart, result: dict[str, Any]) -> None:
        if self.running != self.number:
            self.running = self.number
            result.update(changed=True, restarted=["supernode-a-0"])

    def accepted(self, keys: Sequence[Any], expected: int) -> tuple[int, str]:
        return direct_acceptance.watch(self.cluster, site_with({"name": "a"}), self.pods, keys, expected)  # type: ignore[arg-type]

    def pods(self) -> list[dict[str, Any]]:
        ready = {"type": "Ready", "status": "True" if "running" in self.state else "False"}
        status = {"phase": "Running", "containerStatuses": [{"name": "supernode", "state": self.state}], "conditions": [ready]}
        return [{"metadata": {"name": "supernode-a-0"}, "spec": {}, "status": status}]


def run_since(seconds: int) -> dict[str, Any]:
    began = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=seconds)
    return {"running": {"startedAt": began.isoformat()}}


REFUSED = {"waiting": {"reason": "CrashLoopBackOff"}}


def deploy(backend: Backend, folder: Path, *, check: bool = False, **options: Any) -> Any:
    run: Any = Run(check=check)
    outcomes = Outcomes(run, ["site-a"], 1)
    sites = {"site-a": site_with({"name": "a"}, public_keys=str(folder / "keys"))}
    other_superlink.deploy(run, sites, {"site-a": backend}, outcomes, **options)  # type: ignore[dict-item]
    return outcomes["site-a"]


def test_keys_that_are_not_registered_are_named_and_do_not_fail_the_site(tmp_path: Path) -> None:
    outcome = deploy(Backend(REFUSED), tmp_path)
    assert (tmp_path / "keys/site-a-a-0.pub").read_text() == "ecdsa key1\n"
    assert not outcome.failed and outcome.changed and outcome.msg == "0 of 1 SuperNodes have been running for 20 s"
    (warning,) = outcome.warnings
    assert "the administrator of fl.example.com:9092 registers these keys" in warning and "site-a-a-0.pub (flwr supernode register FILE)" in warning
    assert "CrashLoopBackOff" in warning
    assert outcome.facts == {
        "superlink": "fl.example.com:9092",
        "public_keys": [{"pool": "a", "name": "0", "fingerprint": "SHA256:1", "public_key": "ecdsa key1"}],
    }


def test_a_supernode_that_was_accepted_is_no_warning_and_a_second_run_changes_nothing(tmp_path: Path) -> None:
    backend = Backend(run_since(60))
    assert deploy(backend, tmp_path).changed
    outcome = deploy(backend, tmp_path)
    assert not outcome.changed and not outcome.warnings and outcome.msg == "1 of 1 SuperNodes have been running for 20 s"


def test_pods_that_do_not_start_fail_the_site(tmp_path: Path) -> None:
    outcome = deploy(Backend({"waiting": {"reason": "ImagePullBackOff"}}), tmp_path)
    assert outcome.failed and "pods are not ready after 0 s" in outcome.msg and "ImagePullBackOff" in outcome.msg


def test_a_rotation_makes_keys_and_the_next_one_restarts_supernodes_with_them(tmp_path: Path) -> None:
    backend = Backend(run_since(60))
    deploy(backend, tmp_path)
    first = deploy(backend, tmp_path, renew=True)
    assert (tmp_path / "keys/site-a-a-0.pub").read_text() == "ecdsa key2\n" and (backend.number, backend.running) == (2, 1)
    assert first.changed and "new keys were created" in first.warnings[0] and "rotate_certs has run again" in first.warnings[0]
    second = deploy(backend, tmp_path, renew=True)
    assert (backend.number, backend.running) == (2, 2) and second.changed and "1 SuperNodes restarted with their new keys" in second.msg


def test_check_mode_writes_no_keys(tmp_path: Path) -> None:
    outcome = deploy(Backend(REFUSED), tmp_path, check=True)
    assert outcome.changed and not (tmp_path / "keys").exists() and not outcome.warnings


ADDRESS = "supernode_superlink.address: "


@each_row(
    ("superlink", "more", "words"),
    [
        ({"ca": CA}, {"superlink_address": ""}, f"{ADDRESS}None is not set"),
        ({"address": "fl.example.com", "ca": CA}, {}, f"{ADDRESS}'fl.example.com' is not \"host:port\""),
        ({"address": "fl.example.com:9092"}, {}, "supernode_superlink.ca: None is not set, nor is ca_secret"),
        ({**JOINS, "ca_secret": "a"}, {}, "is set, and ca_secret as well"),
        ({**JOINS, "ca": "x"}, {}, "supernode_superlink.ca: 'x' is not a PEM certificate"),
        ({**JOINS, "address": "10.0.0.1:9092"}, {}, "supernode_superlink.server_name: None is not set, and address has no DNS name"),
        ({**JOINS, "server_name": "a b"}, {}, "supernode_superlink.server_name: 'a b'"),
        ({**JOINS, "first_partition": -1}, {}, "supernode_superlink.first_partition: -1 is below 0"),
        ({**JOINS, "adress": "x"}, {}, "supernode_superlink.adress"),
        (JOINS, {"superlink_address": "other:9092"}, "differs from supernode_superlink_address"),
        (JOINS, {"mtls": True}, "cannot be combined with supernode_mtls"),
        (JOINS, {"connectivity": "skupper"}, "cannot be combined with flower_connectivity: skupper"),
        (JOINS, {"delivery": "ocm"}, "cannot be combined with flower_delivery: ocm, which requires a hub"),
        (JOINS, {"state": "absent"}, "supernode_state: 'absent' is for your own playbooks with this role"),
    ],
)
def test_wrong_variables_are_refused_by_name(superlink: dict[str, Any], more: dict[str, Any], words: str) -> None:
    given = {**site_with({"name": "a"}).given, "superlink": superlink, "superlink_address": superlink.get("address"), "delivery": "direct", **more}
    assert any(words in one for one in supernode_faults(given)), supernode_faults(given)


def test_right_variables_are_not_refused() -> None:
    given = {**site_with({"name": "a"}).given, "delivery": "direct"}
    assert supernode_faults(given) == []
    by_name = {"address": "10.0.0.1:9092", "ca_secret": "consortium-ca", "server_name": "fl.example.com"}
    assert supernode_faults({**given, "superlink": by_name, "superlink_address": "10.0.0.1:9092", "ca_bundle": ""}) == []
