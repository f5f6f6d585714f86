# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which releases and images an upgrade compares, refuses and rolls back to."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.fleet import flower_versions
from ansible_collections.federated.flower.plugins.plugin_utils.flower import known_releases
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import supernode
from ansible_collections.federated.flower.plugins.plugin_utils.spec.site_spec import SiteSpec
from ansible_collections.federated.flower.tests.unit.rows import each_row


def what(version: str, registry: str = "r", pools: tuple[str, ...] = ("cpu",)) -> dict[str, Any]:
    """What runs, or is wanted, at a site."""
    images = {"supernode": f"{registry}/supernode:{version}", "superexec": f"{registry}/superexec:{version}"}
    return {"version": version, "workloads": [{"name": f"supernode-{pool}", "pool": pool, "images": dict(images)} for pool in pools]}


OLD, NEW = what("1.40.0"), what("1.41.0")


@each_row(
    ("live", "want", "differs", "words"),
    [
        (OLD, NEW, True, "1.40.0 -> 1.41.0"),
        (NEW, NEW, False, "1.41.0, as it is"),
        (NEW, what("1.41.0", "mirror"), True, "1.41.0, r/superexec:1.41.0 -> mirror/superexec:1.41.0; r/supernode:1.41.0 -> mirror/supernode:1.41.0"),
        (NEW, what("1.41.0", pools=("cpu", "gpu")), False, "1.41.0, as it is"),
        (flower_versions.NOTHING, NEW, False, "new: 1.41.0"),
    ],
)
def test_what_changes(live: Any, want: Any, differs: bool, words: str) -> None:
    assert flower_versions.differs(live, want) is differs
    assert flower_versions.change(live, want) == words


def test_what_is_wanted_is_what_is_rendered() -> None:
    given = {
        "version": "1.40.0", "federation": "f", "namespace": "n", "cluster": "c", "pools": [{"name": "cpu", "replicas": 1}],
        "http_proxy": {"address": "proxy:3128"},
    }  # fmt: skip
    spec = SiteSpec.parse(given).complete()
    objects = supernode.objects(spec)
    found = flower_versions.wanted(spec.version, objects)
    (one,) = found["workloads"]
    assert (one["name"], one["pool"]) == ("supernode-cpu", "cpu")
    assert one["images"]["supernode"] == "docker.io/flwr/supernode:1.40.0" and {"sidecar", "tunnel"} <= set(one["images"])
    # The way back renders what ran before.
    newer = SiteSpec.parse({**given, "version": "1.41.0", "image": "x/supernode:none", "sidecar_image": "x/haproxy:1", "tunnel_image": "x/socat:1"}).complete()
    assert flower_versions.wanted(newer.version, supernode.objects(newer)) != found
    back = flower_versions.former_site(newer, found)
    assert flower_versions.wanted(back.version, supernode.objects(back)) == found


def test_the_hub_as_before() -> None:
    was = {
        "version": "1.40.0",
        "workloads": [
            {"name": "superlink", "pool": None, "images": {"superlink": "s", "gateway": "g"}},
            {"name": "serverapp", "pool": None, "images": {"superexec": "e"}},
        ],
    }
    assert flower_versions.former_hub(was) == {
        "superlink_version": "1.40.0", "superlink_image": "s", "superlink_gateway_image": "g", "superlink_serverapp_image": "e",
    }  # fmt: skip


@each_row(
    ("hub", "site", "words"),
    [
        (("1.41.0", "1.40.0"), ("1.40.0", "1.40.0"), "hub: flower_version: 1.40.0 is older than 1.41.0, which the SuperLink runs"),
        (("1.40.0", "1.40.0"), ("1.40.0", "1.41.0"), "a: flower_version: 1.41.0 is newer than 1.40.0 of the hub hub"),
        (("1.41.0", "1.41.0"), ("1.41.0", "1.40.0"), "a: flower_version: 1.40.0 is older than 1.41.0, which its SuperNodes run"),
        (("1.40.0", "1.41.0"), ("1.40.0", "1.40.0"), ""),
        (("1.40.0", "1.41.0"), ("1.40.0", "1.41.0"), ""),
        (("1.41.0", "1.41.0"), ("1.40.0", "1.41.0"), ""),
    ],
)
def test_what_is_refused(hub: tuple[str, str], site: tuple[str, str], words: str) -> None:
    found = flower_versions.faults("hub", (what(hub[0]), what(hub[1])), {"a": (what(site[0]), what(site[1]))})
    assert [words in one for one in found] == ([True] if words else [])


@each_row(
    ("version", "state", "refused"),
    [
        ("1.40.0", {"state": {"running": {}}}, True),
        ("1.40.0", {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": {"exitCode": 1}}}, True),
        ("1.40.0", {"state": {"waiting": {"reason": "ImagePullBackOff"}}}, False),
        ("1.41.0", {"state": {"running": {}}}, False),
        ("1.42.0", {"state": {"running": {}}}, False),
    ],
)
def test_site_does_not_go_back_to_a_release_that_cannot_open_the_database(version: str, state: dict[str, Any], refused: bool) -> None:
    statuses = [{"name": "gateway", "state": {"running": {}}}, {"name": "superlink", **state}]
    pod = {"metadata": {"labels": {"app.kubernetes.io/version": "1.41.0"}}, "status": {"containerStatuses": statuses}}
    said = flower_versions.started_fault(version, [pod])
    assert ("flower_version: 1.40.0 is older than 1.41.0" in said) is refused and bool(said) is refused
    assert not flower_versions.started_fault(version, [])


def test_releases() -> None:
    assert known_releases.release_of("1.41.0") == known_releases.release_of("v1.41") == known_releases.release_of("1.41.0-py3.13") == (1, 41, 0)
    assert known_releases.is_older("1.40.0", "1.41.0") and not known_releases.is_older("1.41.0", "1.41.0") and not known_releases.is_older("", "1.41.0")
    assert not known_releases.untested("1.41.0", "1.40.0") and not known_releases.untested("1.42.0", "1.41.0")
    assert not known_releases.untested("1.43.0", "1.43.2") and known_releases.untested("1.42.0", "1.40.0")
    assert known_releases.same_database("1.41.0", "1.41.0") and not known_releases.same_database("1.40.0", "1.41.0")
    assert not known_releases.same_database("1.41.0", "1.42.0") and known_releases.same_database("1.42.0", "1.42.0")
    assert not known_releases.same_database("1.42.0", "1.42.1"), "of what is not known nothing is claimed"


def test_a_bundle_is_shown_as_one_that_people_apply() -> None:
    sites = {"a": (OLD, NEW), "clinic": (OLD, NEW), "done": (NEW, NEW)}
    assert flower_versions.table("hub", (OLD, NEW), [["a"], ["clinic", "done"]], sites, {"clinic", "done"}) == [
        "hub hub: 1.40.0 -> 1.41.0",
        "wave 1 of 2, a: 1.40.0 -> 1.41.0",
        "wave 2 of 2, clinic: a bundle with 1.41.0, which the administrators of the site apply",
        "wave 2 of 2, done: 1.41.0, as it is",
    ]
    (fault,) = flower_versions.faults("hub", (OLD, OLD), {"clinic": (NEW, OLD)}, {"clinic"})
    assert fault.startswith("clinic: flower_version: 1.40.0 is older than 1.41.0, which its last bundle has")


def test_releases_of_which_nothing_is_known_are_named_once() -> None:
    assert flower_versions.warnings("1.43.0", {"a": (NEW, NEW), "b": (what("1.43.0"), what("1.43.0"))}) == [
        "a: SuperNodes 1.41.0 were never tested with a SuperLink 1.43.0; they may be offline until they are upgraded"
    ]


@each_row(
    ("former", "live", "want", "never_started", "other"),
    [
        ("1.40.0", "1.40.0", "1.41.0", True, ""),
        ("1.40.0", "1.40.0", "1.41.0", False, "1.41.0"),
        ("1.41.0", "1.41.0", "1.41.0", False, ""),
        ("1.40.0", "1.41.0", "1.41.0", True, "1.41.0"),  # an earlier run started it
        ("1.40.0", "1.41.0", "1.42.0", True, "1.41.0"),
        ("1.40.0", "", "1.41.0", True, "an unknown release"),
    ],
)
def test_which_database_the_release_of_before_may_find(former: str, live: str, want: str, never_started: bool, other: str) -> None:
    assert flower_versions.unreadable_since(former, live, want, never_started=never_started) == other


def test_other_images() -> None:
    assert flower_versions.other_images(NEW, NEW) == ""
    assert "supernode-cpu/supernode runs r/supernode:1.40.0, not r/supernode:1.41.0" in flower_versions.other_images(OLD, NEW)
    assert "runs nothing" in flower_versions.other_images(flower_versions.NOTHING, NEW)
