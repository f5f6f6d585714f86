# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an upgrade compares, refuses, keeps and judges."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.manifests import supernode
from ansible_collections.federated.flower.plugins.plugin_utils.spec.site_spec import SiteSpec
from ansible_collections.federated.flower.plugins.plugin_utils.upgrade import (
    as_before,
    releases,
    unfinished,
    verdict,
    way_back,
    what_runs,
)

POOL = "federated.flower/pool"


def what(version: str, registry: str = "r", pools: tuple[str, ...] = ("cpu",)) -> dict[str, Any]:
    """What runs, or is wanted, at a site."""
    images = {"supernode": f"{registry}/supernode:{version}", "superexec": f"{registry}/superexec:{version}"}
    return {"version": version, "workloads": [{"name": f"supernode-{pool}", "pool": pool, "images": dict(images)} for pool in pools]}


OLD, NEW = what("1.40.0"), what("1.41.0")


@pytest.mark.parametrize(
    ("live", "want", "differs", "words"),
    [
        (OLD, NEW, True, "1.40.0 -> 1.41.0"),
        (NEW, NEW, False, "1.41.0, as it is"),
        (NEW, what("1.41.0", "mirror"), True, "1.41.0, r/superexec:1.41.0 -> mirror/superexec:1.41.0; r/supernode:1.41.0 -> mirror/supernode:1.41.0"),
        (NEW, what("1.41.0", pools=("cpu", "gpu")), False, "1.41.0, as it is"),
        (what_runs.NOTHING, NEW, False, "new: 1.41.0"),
    ],
)
def test_what_changes(live: Any, want: Any, differs: bool, words: str) -> None:
    assert what_runs.differs(live, want) is differs
    assert what_runs.change(live, want) == words


def test_what_is_wanted_is_what_is_rendered() -> None:
    given = {
        "version": "1.40.0", "federation": "f", "namespace": "n", "cluster": "c", "pools": [{"name": "cpu", "replicas": 1}],
        "http_proxy": {"address": "proxy:3128"},
    }  # fmt: skip
    spec = SiteSpec.parse(given).complete()
    objects = supernode.objects(spec)
    found = what_runs.wanted(spec.version, objects)
    (one,) = found["workloads"]
    assert (one["name"], one["pool"]) == ("supernode-cpu", "cpu")
    assert one["images"]["supernode"] == "docker.io/flwr/supernode:1.40.0" and {"sidecar", "tunnel"} <= set(one["images"])
    # The way back renders what ran before.
    newer = SiteSpec.parse({**given, "version": "1.41.0", "image": "x/supernode:none", "sidecar_image": "x/haproxy:1", "tunnel_image": "x/socat:1"}).complete()
    assert what_runs.wanted(newer.version, supernode.objects(newer)) != found
    back = as_before.site_as_before(newer, found)
    assert what_runs.wanted(back.version, supernode.objects(back)) == found


def test_the_hub_as_before() -> None:
    was = {
        "version": "1.40.0",
        "workloads": [
            {"name": "superlink", "pool": None, "images": {"superlink": "s", "gateway": "g"}},
            {"name": "serverapp", "pool": None, "images": {"superexec": "e"}},
        ],
    }
    assert as_before.hub_as_before(was) == {
        "superlink_version": "1.40.0", "superlink_image": "s", "superlink_gateway_image": "g", "superlink_serverapp_image": "e",
    }  # fmt: skip


@pytest.mark.parametrize(
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
    found = what_runs.faults("hub", what(hub[0]), what(hub[1]), {"a": what(site[0])}, {"a": what(site[1])})
    assert [words in one for one in found] == ([True] if words else [])


@pytest.mark.parametrize(
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
    said = what_runs.started_fault(version, [pod])
    assert ("flower_version: 1.40.0 is older than 1.41.0" in said) is refused and bool(said) is refused
    assert not what_runs.started_fault(version, [])


def test_releases() -> None:
    assert releases.release_of("1.41.0") == releases.release_of("v1.41") == releases.release_of("1.41.0-py3.13") == (1, 41, 0)
    assert releases.is_older("1.40.0", "1.41.0") and not releases.is_older("1.41.0", "1.41.0") and not releases.is_older("", "1.41.0")
    assert not releases.untested("1.41.0", "1.40.0") and not releases.untested("1.42.0", "1.41.0")
    assert not releases.untested("1.43.0", "1.43.2") and releases.untested("1.42.0", "1.40.0")
    assert releases.same_database("1.41.0", "1.41.0") and not releases.same_database("1.40.0", "1.41.0")
    assert not releases.same_database("1.41.0", "1.42.0") and releases.same_database("1.42.0", "1.42.0")
    assert not releases.same_database("1.42.0", "1.42.1"), "of what is not known nothing is claimed"


def begin(known: Any, live: Any = None, target: Any = None, *, answers: bool = False) -> Any:
    live, target = live or OLD, target or NEW
    sites = {"a": (live, target), "b": (OLD, target)}
    begun = unfinished.is_hub_begun(known, live, target["version"], answers=answers)
    return unfinished.begin(known, "now", [["a"], ["b"]], (live, target), sites, hub_begun=begun)


def test_what_ran_before_is_kept() -> None:
    first = begin({})
    assert first["sites"]["a"] == {"was": OLD, "state": "waiting"} and first["hub"]["state"] == "waiting"
    assert begin(first) == first
    broken = what("1.41.0", "none")
    half = {**first, "hub": {"was": OLD, "state": "begun"}, "backup": "x", "sites": {**first["sites"], "a": {"was": OLD, "state": "begun"}}}
    again = begin(half, broken)
    assert again["sites"]["a"] == {"was": OLD, "state": "begun"} and again["hub"]["was"] == OLD and again["backup"] == "x"
    done = {**first, "sites": {"a": {"was": OLD, "state": "done"}, "b": {"was": OLD, "state": "waiting"}}}
    assert begin(done, NEW)["sites"]["a"] == {"was": NEW, "state": "done"}
    left_out = unfinished.begin(half, "now", [["b"]], (OLD, NEW), {"b": (OLD, NEW)}, hub_begun=True)
    assert left_out["sites"]["a"]["was"] == OLD, "it is not reached in this run, and its state is still known"
    other = begin(half, broken, what("1.42.0"))
    assert other["target"] == "1.42.0" and other["sites"]["a"]["was"] == OLD, "what is half done is never what ran before"
    assert other["hub"] == {"was": OLD, "state": "begun"} and other["backup"] == "x", "the way back stays that of the hub that does not answer"


@pytest.mark.parametrize(
    ("live", "target", "answers", "begun"),
    [
        (NEW, what("1.42.0"), True, False),  # it ended at the hub, and another upgrade begins
        (NEW, what("1.42.0"), False, True),
        (OLD, NEW, True, False),  # interrupted before the hub was changed
        (OLD, NEW, False, True),
        (NEW, NEW, True, True),  # to be completed
        (NEW, what("1.41.0", "mirror"), True, True),  # half of what ran may be of another registry
        (what("1.40.0", "mirror"), what("1.42.0"), True, True),  # half changed
    ],
)
def test_a_hub_that_an_earlier_run_left(live: Any, target: Any, answers: bool, begun: bool) -> None:
    """Only what a SuperLink that answers runs, and all of it, is what runs before the next upgrade, which then has its own backup."""
    half = {**begin({}), "hub": {"was": OLD, "state": "begun"}, "backup": "x"}
    assert unfinished.is_hub_begun(half, live, target["version"], answers=answers) is begun
    assert not unfinished.is_hub_begun({**half, "hub": {"was": OLD, "state": "done"}}, live, target["version"], answers=answers)
    assert not unfinished.is_hub_begun({}, live, target["version"], answers=answers)
    again = begin(half, live, target, answers=answers)
    assert again["hub"] == ({"was": OLD, "state": "begun"} if begun else {"was": live, "state": "waiting"})
    assert again["backup"] == ("x" if again["hub"]["was"] == OLD else ""), "an archive is the way back to what ran when it was written"


@pytest.mark.parametrize(
    ("was", "live", "want", "never_started", "other"),
    [
        ("1.40.0", "1.40.0", "1.41.0", True, ""),
        ("1.40.0", "1.40.0", "1.41.0", False, "1.41.0"),
        ("1.41.0", "1.41.0", "1.41.0", False, ""),
        ("1.40.0", "1.41.0", "1.41.0", True, "1.41.0"),  # an earlier run started it
        ("1.40.0", "1.41.0", "1.42.0", True, "1.41.0"),
        ("1.40.0", "", "1.41.0", True, "a release that is not known"),
    ],
)
def test_which_database_the_release_of_before_may_find(was: str, live: str, want: str, never_started: bool, other: str) -> None:
    assert way_back.other_format(was, live, want, never_started=never_started) == other


def test_words() -> None:
    progress = {**begin({}), "sites": {"a": {"state": "rolled back"}, "b": {"state": "done"}}}
    assert "hub waiting, 1 of 2 sites done, a rolled back" in unfinished.words(progress)
    assert "rolled back, the backup before it is /b/a.tar; federated" in unfinished.words({**progress, "backup": "/b/a.tar"})
    assert "backup" not in unfinished.words({**progress, "backup": unfinished.WAIVED})
    assert unfinished.words({}) == ""


def test_what_is_left_to_an_upgrade_that_is_not_complete() -> None:
    progress = {**begin({}), "sites": {name: {"state": state} for name, state in (("a", "rolled back"), ("b", "done"), ("c", "waiting"), ("d", "begun"))}}
    assert unfinished.held(progress, "hub") == ["hub", "a", "c", "d"]
    assert unfinished.held({**progress, "hub": {"state": "done"}}, "hub") == ["a", "c", "d"]
    assert unfinished.held({}, "hub") == []


def judge(**changed: Any) -> Any:
    given: dict[str, Any] = {
        "results": {"a": {}, "b": {}},
        "offline": {},
        "other": {},
        "run": {},
        "accepted": {},
        "was": {"a": OLD, "b": OLD},
        "want": {"a": NEW, "b": NEW},
        "before": [],
        "allowed": 0,
    }
    return verdict.of_wave(["a", "b"], **{**given, **changed})


def test_a_wave_that_is_good() -> None:
    assert judge() == {"why": {}, "back": {}, "stop": False}
    assert judge(run={"status": "finished:completed"})["stop"] is False


def test_a_site_that_fails() -> None:
    failed = {"results": {"a": {"failed": True, "msg": "a: no"}, "b": {}}}
    assert judge(**failed) == {"why": {"a": "a: no"}, "back": {"a": OLD, "b": OLD}, "stop": True}
    assert judge(**failed, allowed=1) == {"why": {"a": "a: no"}, "back": {"a": OLD}, "stop": False}
    assert judge(**failed, allowed=1, before=["z"])["stop"] is True
    assert judge(**failed, was={"a": what_runs.NOTHING, "b": NEW})["back"] == {}, "a new site, and one that was there already"
    assert judge(offline={"b": "cpu/0 is offline"})["why"] == {"b": "b: cpu/0 is offline"}
    assert judge(other={"b": "x"})["stop"] is True


def test_an_acceptance_run_that_fails() -> None:
    found = judge(run={"status": "finished:failed", "msg": "no"})
    assert found["stop"] and set(found["back"]) == {"a", "b"} and "the acceptance run failed: no" in found["why"]["a"]


def test_a_site_that_does_not_pass_its_acceptance() -> None:
    found = judge(accepted={"a": {"accepted": True}, "b": {"accepted": False, "reasons": ["cpu: clock: 40 s ahead", "cpu: port: timed out"]}}, allowed=1)
    assert found == {"why": {"b": "b is not accepted: cpu: clock: 40 s ahead; cpu: port: timed out"}, "back": {"b": OLD}, "stop": False}
    failed = {"a": {"failed": True, "msg": "a: no"}, "b": {}}
    assert judge(results=failed, accepted={"a": {"accepted": False}})["why"]["a"] == "a: no", "what came first"


def test_other_images() -> None:
    assert verdict.other_images(NEW, NEW) == ""
    assert "supernode-cpu/supernode runs r/supernode:1.40.0, not r/supernode:1.41.0" in verdict.other_images(OLD, NEW)
    assert "runs nothing" in verdict.other_images(what_runs.NOTHING, NEW)


def test_the_results_of_sites() -> None:
    gate = judge(results={"a": {"failed": True, "msg": "a: no"}, "b": {}})
    found = verdict.results(["a", "b"], gate, {"a": {}, "b": {}})
    assert found["a"] == {"changed": True, "failed": True, "msg": "a: no; it runs 1.40.0 again"}
    assert found["b"]["failed"] is False and found["b"]["msg"] == "b: its wave failed; it runs 1.40.0 again"
    text = verdict.stopped(1, [["a", "b"], ["c"]], found, 0)
    assert "wave 1 of 2 failed" in text and "Not touched: c." in text
    worse = verdict.results(["a"], gate, {"a": {"failed": True, "msg": "a: gone"}})
    assert worse["a"]["failed"] and "could not be rolled back to 1.40.0: a: gone" in worse["a"]["msg"]


def test_a_wave_whose_images_cannot_be_pulled_does_not_begin() -> None:
    waves = [["a"], ["b", "c"], ["d"]]
    assert verdict.without(["b", "c"], {}, ["a"], waves, 0) == {"sites": ["b", "c"], "failed_sites": ["a"], "stop": False, "msg": ""}
    stopped = verdict.without(["b", "c"], {"c": "c: node n: no image."}, [], waves, 0)
    assert stopped["stop"] and stopped["sites"] == [] and stopped["failed_sites"] == ["c"]
    assert "wave 2 of 3 does not begin: c: node n: no image. Not touched: b, c, d." in stopped["msg"]
    fewer = verdict.without(["b", "c"], {"c": "c: node n: no image."}, [], waves, 1)
    assert fewer == {"sites": ["b"], "failed_sites": ["c"], "stop": False, "msg": ""}
    assert verdict.without(["b", "c"], {"c": "no image"}, ["a"], waves, 1)["stop"]
    assert verdict.number_of(["b"], waves) == 2
