# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A plan is the same for the same fleet, shows no secret, notices every change, and lets nothing else be written."""

from __future__ import annotations

import copy
import datetime
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.apply.order import id_of
from ansible_collections.federated.flower.plugins.plugin_utils.apply.watching import Step
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.plan import (
    plan_comparison,
    plan_document,
    planned_object,
    pod_changes,
)
from ansible_collections.federated.flower.plugins.plugin_utils.plan.plan_permission import Allowed

HEADER = {
    "collection": "0.1.0", "federation": "oncology", "namespace": "flower", "hub": "hub", "hosts": ["hub", "site-a", "site-b"],
    "tags": "", "skip_tags": "",
}  # fmt: skip
ORIGIN = {"made": "2026-11-24T21:00:00+00:00", "by": "jane@laptop", "until": "2026-11-25T21:00:00+00:00"}
PEM = "-----BEGIN CERTIFICATE-----\nMIIBstand\nin0000\n-----END CERTIFICATE-----"


def config(name: str = "settings", uid: str = "", **data: str) -> dict[str, Any]:
    meta: dict[str, Any] = {"name": name, "namespace": "flower"}
    if uid:
        meta |= {"uid": uid, "resourceVersion": "7"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


def workload(image: str, replicas: int = 2, kind: str = "StatefulSet") -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "supernode-cpu", "namespace": "flower", "uid": "u9"},
        "spec": {"replicas": replicas, "template": {"spec": {"containers": [{"image": image}]}}},
    }


def step(desired: dict[str, Any] | None, live: dict[str, Any] | None, host: str = "site-a", serves: str = "", **more: Any) -> Step:
    shown = desired or live
    assert shown is not None
    change = "deleted" if desired is None else "created" if live is None else "changed"
    return Step(host, serves or host, id_of(shown), shown["apiVersion"], change, desired, live, more.pop("now", desired), **more)


def plan(*steps: Step, stand_ins: tuple[str, ...] = (), facts: Any = (), failed: tuple[str, ...] = ()) -> dict[str, Any]:
    records = [{"entry": planned_object.entry(one, planned_object.StandIns(stand_ins))} for one in steps]
    return plan_document.compose(HEADER, [*records, *facts], failed)


CHANGED = step(config(mode="new"), config(uid="u1", mode="old"))
CREATED = step(config("other", a="1"), None, "hub")


def test_the_same_fleet_gives_the_same_plan() -> None:
    one, other = plan(CHANGED, CREATED), plan(CREATED, CHANGED)
    assert plan_document.sha256(one) == plan_document.sha256(other)
    assert plan_document.write(one, ORIGIN) == plan_document.write(other, ORIGIN)
    (entry,) = one["clusters"]["site-a"]["objects"]
    assert "-  mode: old" in entry["diff"] and "+  mode: new" in entry["diff"]


def test_a_file_is_read_as_it_was_written_and_any_edit_is_refused() -> None:
    content = plan(CHANGED, CREATED, facts=[{"site": "site-a", "facts": {"partitions": [{"pool": "cpu", "offset": 0, "size": 2}]}}])
    text = plan_document.write(content, ORIGIN)
    assert plan_document.read(text, "plan.yml") == (content, ORIGIN)
    assert "partitions of pool cpu: 0-1" in text
    for old, new in (
        ("mode: new", "mode: bad"), ("~ ConfigMap", "+ ConfigMap"), ("jane", "joan"), ("2026-11-25T21", "2027-11-25T21"),
        ("uid: u1", "uid: u2"), ("change: created", "change: deleted"),
    ):  # fmt: skip
        assert old in text
        for count in (1, -1):
            with pytest.raises(ClusterError, match=r"plan.yml was edited"):
                plan_document.read(text.replace(old, new, count), "plan.yml")
    for broken in (text + "more: 1\n", text.replace("plan:", "plan: ["), text.replace("seal:", "sale:")):
        with pytest.raises(ClusterError, match=r"plan.yml was edited"):
            plan_document.read(broken, "plan.yml")
    with pytest.raises(ClusterError, match="is not a plan"):
        plan_document.read("---\nplan: {}\n", "plan.yml")


def test_a_plan_becomes_too_old() -> None:
    until = datetime.datetime.fromisoformat(ORIGIN["until"])
    assert plan_document.late(ORIGIN, until) == ""
    assert "2026-11-25T21" in plan_document.late(ORIGIN, until + datetime.timedelta(seconds=1))


def test_no_secret_is_in_a_plan_and_that_it_changes_is() -> None:
    def secret(**data: str) -> dict[str, Any]:
        return {**config("login", "u3", **data), "kind": "Secret"}

    found = plan(step(secret(user="anVzdA==", password="bmV3ZXI="), secret(user="anVzdA==", password="b2xkZXI="), "hub"))
    (entry,) = planned_object.objects(found)
    text = plan_document.write(found, ORIGIN)
    assert not any(value in text for value in ("anVzdA==", "bmV3ZXI=", "b2xkZXI="))
    assert "+  password: (another secret)" in entry["diff"] and "-  password: (secret)" in entry["diff"]
    assert " user: (secret)" in entry["diff"].replace("   ", " ") and entry["was"] == "resourceVersion 7"
    other = plan(step(secret(user="anVzdA==", password="b3RoZXI="), secret(user="anVzdA==", password="b2xkZXI="), "hub"))
    assert other == found, "a digest of the value would let short ones be guessed"


def test_what_cannot_be_known_in_advance_is_the_same_in_every_plan() -> None:
    def foreseen(number: int) -> dict[str, Any]:
        pem = PEM.replace("0000", f"{number:04}")
        bundle, name = config("trust", **{"ca.crt": pem + "\n", "address": "unknown.invalid:9092"}), f"deployment-{number:012x}"
        template = {**config(name, ca=pem), "kind": "AddOnTemplate"}
        addon = {**config("addon", uses=name), "kind": "ManagedClusterAddOn"}
        marks = (pem, "unknown.invalid", name)
        return plan(step(bundle, None), step(template, None), step(addon, None), CREATED, stand_ins=marks)

    assert foreseen(1) == foreseen(2)
    entries = {one["object"]: one for one in planned_object.objects(foreseen(1))}
    assert [name for name, one in entries.items() if one["later"]] == [
        "AddOnTemplate flower/deployment-*", "ConfigMap flower/trust", "ManagedClusterAddOn flower/addon",
    ]  # fmt: skip
    assert "(made when the plan is applied)" in entries["ConfigMap flower/trust"]["diff"]
    allowed = Allowed(foreseen(1))
    for real in (config("trust", **{"ca.crt": "real"}), {**config("deployment-0123456789ab"), "kind": "AddOnTemplate"}):
        assert allowed.fault(step(real, None), []) == ""
    assert "not in the plan" in allowed.fault(step({**config("strange-0123456789ab"), "kind": "AddOnTemplate"}, None), [])


def test_an_object_may_depend_on_something_unknown_without_containing_it() -> None:
    mark = planned_object.mark_of("site-a", id_of(config("policy")))
    (entry,) = planned_object.objects(plan(step(config("policy"), None), stand_ins=(mark,)))
    assert entry["later"] and not entry["becomes"]
    (entry,) = planned_object.objects(plan(step(config("policy"), None, "site-b"), stand_ins=(mark,)))
    assert not entry["later"]


def test_each_kind_of_stand_in_is_found_and_not_shown() -> None:
    pems = [PEM.replace("0000", f"{number:04}") for number in range(1, 51)]
    names = [f"deployment-{number:012x}" for number in range(50)]
    known = planned_object.StandIns([*pems, *names, "unknown.invalid", *pems])
    text = f"before {pems[7]}\n{PEM} at unknown.invalid:9092 of x-{names[3]}."
    assert sorted(known.within(text)) == sorted([pems[7], names[3], "unknown.invalid"])
    assert known.without(text) == f"before (made when the plan is applied)\n{PEM} at (made when the plan is applied):9092 of x-deployment-*."
    assert not known.within("another.invalid, deployment-00000000ffff")
    assert planned_object.StandIns().without(text) == text


def test_a_certificate_that_takes_the_place_of_another_is_not_shown() -> None:
    live, new = config(uid="u1", **{"ca.crt": PEM + "\n"}), PEM.replace("stand", "other").replace("0000", "0001")
    found = plan(step(config(**{"ca.crt": new + "\n"}), live), stand_ins=(new,))
    (entry,) = planned_object.objects(found)
    assert entry["later"] and "other" not in entry["diff"] and "(made when the plan is applied)" in entry["diff"]


def test_only_what_is_planned_is_written() -> None:
    content = plan(CHANGED, CREATED)
    allowed = Allowed(content)
    assert allowed.fault(CHANGED, []) == allowed.fault(CREATED, []) == ""
    live = config(uid="u1", mode="old")
    faults = {
        "not in the plan": step(config("third"), None),
        "planned to be changed, and would be deleted": step(None, live),
        "deleted and created again": step(config(mode="new"), {**live, "metadata": {**live["metadata"], "uid": "u2"}}),
        "it was changed since": step(config(mode="new"), {**live, "data": {"mode": "odd"}}),
        "the inventory wants something else": step(config(mode="newer"), live),
        "planned to be created, and would be changed": step(config("other", a="1"), config("other", "u4"), "hub"),
    }
    for words, one in faults.items():
        assert words in allowed.fault(one, []), words
    assert "not in the plan" in allowed.fault(step(config(mode="new"), live, "site-b"), []), "another cluster"
    assert allowed.fault(step(config("third"), None, passing=True), []) == ""
    # What this run has written is another object than the plan's; its content still has to be the planned one, or later one.
    noted = allowed.written(CHANGED)
    assert noted is not None
    done = {(noted["cluster"], noted["object"])}
    assert allowed.fault(step(config(mode="new"), {**live, "data": {"mode": "new"}}), done) == ""


def test_what_is_written_is_line_for_line_what_was_planned() -> None:
    content = plan(CHANGED, CREATED, step(None, config("old", "u5"), "hub"))
    allowed = Allowed(content)
    steps = [CREATED, CHANGED, step(None, config("old", "u5"), "hub")]
    done = [allowed.written(one) for one in steps]
    planned, applied = plan_comparison.outcome(content, [one for one in done if one])
    assert planned == applied and len(planned) == 3
    planned, applied = plan_comparison.outcome(content, [one for one in done[:2] if one])
    assert [line for line in planned if line not in applied] == ["hub: deleted ConfigMap flower/old"]


def test_every_difference_between_plan_and_present_is_named() -> None:
    planned = plan(CHANGED, CREATED)
    live = config(uid="u1", mode="odd")
    moved = plan(step(config(mode="new"), live), CREATED, step(config("third"), None))
    assert plan_comparison.differences(planned, moved) == [
        "site-a: ConfigMap flower/settings: it was changed since",
        "site-a: ConfigMap flower/third would be created, which is not planned",
    ]
    assert plan_comparison.differences(planned, plan(CREATED)) == [
        "site-a: ConfigMap flower/settings was to be changed, and that is not needed any more"
    ]
    other = {**planned, "hosts": ["hub", "site-a"], "collection": "0.2.0"}
    assert plan_comparison.differences(planned, other) == [
        "release of the collection: 0.1.0 in the plan, 0.2.0 now",
        "hosts, by inventory and --limit: hub, site-a, site-b in the plan, hub, site-a now",
    ]
    assert "could not be looked at" in plan_comparison.differences(plan(CREATED, failed=("site-a",)), planned)[0]
    for facts in ({"words": ["keys: new"]}, {"partitions": [{"pool": "cpu", "offset": 2, "size": 1}]}):
        assert plan_comparison.differences(planned, plan(CHANGED, CREATED, facts=[{"site": "site-a", "facts": facts}]))


def test_the_rest_of_a_plan_is_a_part_of_it() -> None:
    planned = plan(CHANGED, CREATED)
    assert plan_comparison.is_rest(planned, plan(CREATED)) and plan_comparison.is_rest(planned, plan())
    assert not plan_comparison.is_rest(planned, plan(CREATED, step(config("third"), None)))
    assert not plan_comparison.is_rest(planned, plan(step(config(mode="new"), config(uid="u1", mode="odd"))))
    assert not plan_comparison.is_rest(planned, {**plan(CREATED), "hosts": ["hub"]})
    assert plan_document.is_empty(plan()) and plan_document.is_empty(plan(failed=("site-a",))) and not plan_document.is_empty(planned)


def test_an_object_that_several_sites_share_is_there_once() -> None:
    shared = [step(config("addon"), None, "hub", site) for site in ("site-a", "site-b")]
    (entry,) = plan(*shared)["clusters"]["hub"]["objects"]
    assert entry["for"] == ["site-a", "site-b"]
    own = plan(shared[0])
    assert own["clusters"]["site-a"]["objects"][0]["cluster"] == "hub"
    assert "  + ConfigMap flower/addon on hub" in plan_document.text(own)


def test_facts_that_differ_each_time_are_left_out() -> None:
    def facts(serial: str) -> list[dict[str, Any]]:
        noted = {
            "certificates": [{"change": "issued", "name": "superlink-gateway", "serial": serial, "not_after": serial}],
            "objects": [{"change": "created", "object": "ConfigMap flower/other"}, {"change": "changed", "object": "ConfigMap flower/clients"}],
            "words": ["keys: new keys for 0, 1"],
        }
        return [{"site": "hub", "facts": noted}]

    one = plan(CREATED, facts=facts("1f"))
    assert one == plan(CREATED, facts=facts("2a"))
    assert one["clusters"]["hub"]["steps"] == [
        "certificates superlink-gateway issued", "changed ConfigMap flower/clients", "keys: new keys for 0, 1",
    ]  # fmt: skip


def test_pods_that_restart() -> None:
    old, new = workload("a"), workload("b")
    assert pod_changes.words(old, new) == ["restarts 2 pods"]
    assert pod_changes.words(old, workload("a", 3)) == ["2 pods become 3"]
    assert pod_changes.words(None, workload("a", 1)) == ["starts 1 pod"] and pod_changes.words(old, None) == ["stops 2 pods"]
    assert pod_changes.words(workload("a", kind="DaemonSet"), workload("b", kind="DaemonSet")) == ["restarts a pod on each of its nodes"]
    assert pod_changes.words(config(), config(a="1")) == pod_changes.words(old, copy.deepcopy(old)) == []

    def work(*manifests: dict[str, Any]) -> dict[str, Any]:
        return {"kind": "ManifestWork", "spec": {"workload": {"manifests": list(manifests)}}}

    assert pod_changes.words(work(old, config()), work(new, config())) == ["restarts 2 pods"]


def test_what_the_api_server_chooses_for_a_service_is_no_difference() -> None:
    def service(**spec: Any) -> dict[str, Any]:
        return {**config("front", "u6"), "kind": "Service", "spec": spec}

    def foreseen(port: int) -> dict[str, Any]:
        now = service(type="NodePort", clusterIP="10.0.0.9", ports=[{"port": 9092, "nodePort": port}])
        return planned_object.entry(step(service(type="NodePort", ports=[{"port": 9092}]), service(clusterIP="10.0.0.9", ports=[{"port": 9092}]), now=now))

    assert foreseen(30001) == foreseen(30002)


def test_partitions_are_named() -> None:
    noted = [
        {"pool": "cpu", "offset": 0, "size": 2},
        {"pool": "gpu", "offset": 2, "size": 1},
        {"pool": "old", "change": "freed"},
        {"pool": "none", "offset": 3, "size": 0},
    ]
    found = plan(facts=[{"site": "site-a", "facts": {"partitions": noted}}])
    assert found["clusters"]["site-a"]["partitions"] == {"cpu": "0-1", "gpu": "2", "none": "none", "old": "freed"}
