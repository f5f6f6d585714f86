# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the actions on a hub and its standby refuse before they stop, overwrite or delete anything. Copies themselves need real pods."""

from __future__ import annotations

import os
from contextlib import nullcontext
from functools import partial
from types import SimpleNamespace

import pytest

from ansible_collections.federated.flower.plugins.action import superlink_standby
from ansible_collections.federated.flower.plugins.plugin_utils.actions import standby_action
from ansible_collections.federated.flower.plugins.plugin_utils.apply import field_conflicts
from ansible_collections.federated.flower.plugins.plugin_utils.backup import (
    hub_objects,
    hub_pair,
    volume_pod,
)
from ansible_collections.federated.flower.plugins.plugin_utils.backup.database import Volume
from ansible_collections.federated.flower.plugins.plugin_utils.backup.leadership import ACTIVE, FENCED, STANDBY, Term
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.labels import record_labels
from ansible_collections.federated.flower.plugins.plugin_utils.flower import runs
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import NotServed, Unreachable
from ansible_collections.federated.flower.tests.unit.passing_time import Time
from ansible_collections.federated.flower.tests.unit.plugins.plugin_utils.backup.two_hubs import SPACE, Kept, act

SERVES = Term(ACTIVE, 1, "hub", "spare", "2026-11-24T20:00:00Z")
COPY = Term(STANDBY, 1, "hub", "spare", "2026-11-24T20:00:00Z", "spare-data-superlink-0", "hub-data-superlink-0")


class Pair:
    """A hub, and a standby that has a copy of it."""

    def __init__(self, parsed_hub):
        self.clusters = {"hub": Kept("hub"), "spare": Kept("spare")}
        self.specs = {name: parsed_hub(version="1.41.0", outputs_enabled=True) for name in self.clusters}
        self.hub, self.spare = self.clusters.values()
        self.hub.put_hub()
        self.hub.put_term(SERVES)
        self.spare.put("ConfigMap", "flower-ledger", data=self.hub.objects["ConfigMap", "flower-ledger"]["data"])
        self.spare.put("PersistentVolumeClaim", "data-superlink-0", metadata={"annotations": {volume_pod.RESTORED: "the hub hub"}})
        self.spare.put_term(COPY)
        self.measured = {"size": 1, "free": 2**40}

    def act(self, module, **given):
        """For the standby."""
        return act(module, "spare", self.clusters, self.specs, hub="hub", **given)

    def plan(self, **given):
        """Plan a failover."""
        return self.act(superlink_standby, state="planned", confirmed=True, **given)

    def lose_volume(self):
        """The hub's volume is deleted, and created again."""
        self.hub.put("PersistentVolumeClaim", "data-superlink-0", metadata={"uid": "new"})


@pytest.fixture
def pair(parsed_hub, monkeypatch):
    monkeypatch.setattr(runs, "read_all", lambda _cli: [{"run-id": 1, "status": "finished:completed"}])
    made = Pair(parsed_hub)
    monkeypatch.setattr(Volume, "ask", lambda _self, action: made.measured)
    return made


@pytest.fixture
def copied(monkeypatch):
    """The copies that are made."""
    made = []

    def copy(source, target, **how):
        made.append((source.host, target.host, target.cluster.term()))
        return hub_pair.CopyResult("2026-11-25T08:00:00Z", "spare-data-superlink-0")

    monkeypatch.setattr(hub_pair, "copy", copy)
    return made


# ---- other volumes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("own", [SERVES, Term(FENCED, 2, "spare"), None])
def test_a_failover_does_not_copy_a_hub_with_other_volumes(pair, own):
    pair.hub.objects.pop(("ConfigMap", "flower-standby"))
    if own is not None:
        pair.hub.put_term(own)
    assert pair.plan()["plan"]["copy"]
    pair.lose_volume()
    with pytest.raises(ClusterError, match="hub has another volume for its database .* Nothing was changed"):
        pair.plan()
    assert pair.plan(accept_volumes=True)["plan"]["copy"]
    planned = pair.plan(hub_lost=True)
    assert not planned["plan"]["copy"] and planned["plan"]["promote"]


@pytest.mark.parametrize("own", [SERVES, None])
def test_a_schedule_does_not_copy_a_hub_with_other_volumes(pair, copied, own):
    """Without a record, it was restored from a backup, which may be older than the copy."""
    pair.hub.objects.pop(("ConfigMap", "flower-standby"))
    if own is not None:
        pair.hub.put_term(own)
    pair.lose_volume()
    with pytest.raises(ClusterError, match="hub has another volume for its database"):
        pair.act(superlink_standby)
    assert not copied and pair.spare.term() == COPY and pair.hub.term() == own
    pair.act(superlink_standby, accept_volumes=True)
    assert len(copied) == 1 and pair.spare.term().hub_claim == pair.hub.term().hub_claim == "new"
    pair.act(superlink_standby)


def test_the_first_copy_notes_the_volume_and_so_does_a_failover(pair, copied, monkeypatch):
    pair.spare.put_term(Term(STANDBY, 1, "hub", "spare", "2026-11-24T20:00:00Z", "spare-data-superlink-0"))  # of an earlier release
    pair.act(superlink_standby)
    assert pair.spare.term().hub_claim == "hub-data-superlink-0"
    monkeypatch.setattr(volume_pod, "remove", lambda *_arguments: None)
    plan = pair.plan()["plan"]
    pair.hub.put_term(Term(FENCED, plan["number"], "spare"))
    pair.act(superlink_standby, state="promoted", plan=plan)
    assert pair.spare.term() == Term(ACTIVE, 2, "spare", "hub", hub_claim="spare-data-superlink-0")


# ---- before the hub is stopped -----------------------------------------------------------------------------------------


def test_a_failover_that_could_not_copy_is_refused_before_the_hub_is_stopped(pair, parsed_hub):
    pair.specs["spare"] = parsed_hub(version="1.40.0", outputs_enabled=True)
    with pytest.raises(ClusterError, match=r"cannot read the database of Flower 1\.41\.0 on hub: .* Nothing was changed"):
        pair.plan(check=True)
    pair.specs["spare"] = parsed_hub(version="1.41.0")
    assert pair.plan()["plan"]


def test_so_is_one_into_a_namespace_of_someone_else(pair):
    others = {"labels": {"app.kubernetes.io/managed-by": "federated.flower", "app.kubernetes.io/instance": "other"}}
    pair.spare.put("Namespace", "flower", metadata=others)
    with pytest.raises(ClusterError, match="spare: v1 Namespace flower|spare: Namespace"):
        pair.plan()


@pytest.mark.parametrize(("manager", "notes", "refused"), [
    ({"manager": "kustomize-controller", "operation": "Apply"}, {}, True),
    ({"manager": "argocd-controller", "operation": "Update"}, {}, True),
    ({"manager": "kubectl-scale", "operation": "Update"}, {}, False),
    ({"manager": "kustomize-controller", "operation": "Apply"}, {field_conflicts.TAKE_FROM: "kustomize-controller"}, False),
])  # fmt: skip
def test_a_hub_that_someone_would_start_again_is_not_stopped(pair, monkeypatch, manager, notes, refused):
    workload = {"kind": "StatefulSet", "metadata": {"name": "superlink", "managedFields": [manager], "annotations": notes}, "spec": {}}
    monkeypatch.setattr(hub_pair, "workloads", lambda *_place: [workload])
    if not refused:
        assert pair.plan()["plan"]["fence"]
        return
    with pytest.raises(ClusterError, match=r"StatefulSet flower/superlink as well, .*take-fields-from=.*controller\. Nothing was changed"):
        pair.plan()
    assert pair.plan(hub_lost=True)["plan"]["promote"]


@pytest.mark.parametrize("notes", [{}, {field_conflicts.TAKE_FROM: "argocd-controller"}])
def test_one_that_comes_back_is_stopped_again(pair, monkeypatch, notes):
    """Also if its record says already that it is fenced; whoever would start it again is named after it was stopped."""
    stopped = []
    manager = {"manager": "argocd-controller", "operation": "Apply"}
    workload = {"kind": "StatefulSet", "metadata": {"name": "superlink", "managedFields": [manager], "annotations": notes}, "spec": {"replicas": 1}}
    monkeypatch.setattr(hub_pair, "workloads", lambda *_place: [workload])
    monkeypatch.setattr(Kept, "patch", lambda _self, *place: stopped.append(place), raising=False)
    pair.hub.put_term(Term(FENCED, 2, "spare"))
    pair.spare.put_term(Term(ACTIVE, 2, "spare", "hub"))
    plan = pair.plan()["plan"]
    assert plan["fence"] and not (plan["copy"] or plan["promote"])
    fence = partial(act, superlink_standby, "hub", pair.clusters, pair.specs, hub="spare", state="fenced", plan=plan)
    if notes:
        assert fence()["changed"]
    else:
        with pytest.raises(ClusterError, match="hub is stopped. But hub: argocd-controller applies StatefulSet flower/superlink as well"):
            fence()
    assert len(stopped) == 1
    workload["spec"]["replicas"] = 0
    assert not pair.plan()["plan"]["fence"]


def test_runs_that_begin_while_the_lease_is_waited_for_forbid_it_as_well(pair, monkeypatch):
    plan = pair.plan()["plan"]
    monkeypatch.setattr(runs, "read_all", lambda _cli: [{"run-id": 7, "status": "running"}])
    monkeypatch.setattr(hub_pair, "workloads", lambda *_place: [])
    fence = partial(act, superlink_standby, "hub", pair.clusters, pair.specs, hub="spare", state="fenced", plan=plan)
    with pytest.raises(ClusterError, match=r"active runs .7.*Nothing was changed"):
        fence()
    assert pair.hub.term() == SERVES
    assert fence(abandon_runs=True)["changed"] and pair.hub.term() == Term(FENCED, 2, "spare")


@pytest.mark.parametrize(("enabled", "lost"), [(True, False), (True, True), (False, False)])
def test_the_plan_says_that_outputs_are_left_behind(pair, parsed_hub, enabled, lost):
    pair.specs["spare"] = parsed_hub(version="1.41.0", outputs_enabled=enabled)
    lines = pair.plan(hub_lost=lost)["lines"]
    assert any("leave the outputs of runs on the volume of hub" in line for line in lines) is enabled


def test_room_for_the_copy_is_measured_before_the_hub_is_stopped(pair):
    measured = {"size": 6 * 2**30, "free": 4 * 2**30}
    assert "hub: a copy of its database needs 6.0 GiB" in hub_pair.room_error("hub", measured)
    assert hub_pair.room_error("hub", {**measured, "free": 7 * 2**30}) == ""
    pair.measured = measured
    with pytest.raises(ClusterError, match="superlink_storage_size. Nothing was changed"):
        pair.plan()


@pytest.mark.parametrize(("other", "ready"), [
    (Term(STANDBY, 1, "hub", "spare"), True),
    (Term(ACTIVE, 2, "spare"), False),  # the hub is to be fenced first, which the copy does
])  # fmt: skip
def test_nothing_is_written_before_it_is_known_whose_cluster_it_is(pair, other, ready):
    pair.spare.put_term(other)
    assert pair.act(superlink_standby, state="checked")["ready"] is ready
    pair.spare.put("ConfigMap", "flower-ledger", data={"ledger.json": '{"id": "another"}'})
    pair.spare.put_term(Term(STANDBY, 1, "hub", "spare"))
    with pytest.raises(ClusterError, match="has another hub of a federation flower, which is not replaced.*Nothing was changed"):
        pair.act(superlink_standby, state="checked")


def test_a_standby_that_does_not_answer_is_not_taken_for_a_lost_hub(pair):
    def silent(*_arguments):
        raise Unreachable("spare: no answer")

    get = pair.spare.get
    pair.spare.get = lambda version, kind, name, space=None: silent() if name == "flower-ledger" else get(version, kind, name, space)
    with pytest.raises(ClusterError, match="spare: no answer"):
        pair.plan()


def test_what_fails_when_the_hub_is_stopped_names_the_way_back(pair, copied):
    plan = pair.plan()["plan"]
    pair.hub.put_term(Term(FENCED, plan["number"], "spare"))
    pair.lose_volume()
    with pytest.raises(ClusterError, match="hub is fenced, and no hub serves.* delete the ConfigMap flower-standby") as refused:
        pair.act(superlink_standby, state="promoted", plan=plan)
    assert "another volume" in refused.value.message and not copied and pair.spare.term() == COPY


@pytest.mark.parametrize("state", ["fenced", "promoted"])
def test_no_step_of_a_failover_is_done_without_its_plan(pair, state):
    with pytest.raises(ClusterError, match="state is .* missing: plan"):
        pair.act(superlink_standby, state=state)
    assert pair.hub.term() == SERVES and pair.spare.term() == COPY


# ---- active runs -------------------------------------------------------------------------------------------------------


def test_runs_that_cannot_be_listed_forbid_a_failover(pair, monkeypatch):
    def refuse(_cli):
        raise ClusterError("hub: no right to exec")

    monkeypatch.setattr(runs, "read_all", refuse)
    with pytest.raises(ClusterError, match="whether hub has active runs"):
        pair.plan()
    assert any("cannot be listed (hub: no right to exec)" in line for line in pair.plan(abandon_runs=True)["lines"])
    pair.hub.put("Pod", "superlink-0", status={"containerStatuses": [{"name": "superlink", "ready": False, "state": {"waiting": {}}}]})
    assert any("its SuperLink is down (container waiting)" in line for line in pair.plan()["lines"])


# ---- a standby that is removed -----------------------------------------------------------------------------------------


def leave(pair):
    found = pair.act(superlink_standby, state="absent")
    return found["removable"]


def test_a_copy_that_was_never_completed_can_be_removed(pair, copied):
    for name in [name for name in pair.spare.objects if name[0] == "ConfigMap"]:
        pair.spare.objects.pop(name)
    pair.act(superlink_standby)
    ((_hub, _standby, begun),) = copied
    assert begun == Term(STANDBY, 1, "hub", "spare"), "the record comes first"
    pair.spare.put_term(begun)
    assert leave(pair) and pair.hub.term().standby == ""


def test_what_has_no_record_may_be_another_hub_and_is_not_removed(pair):
    pair.spare.objects.pop(("ConfigMap", "flower-standby"))
    assert not leave(pair) and "run federated.flower.standby first" in pair.act(superlink_standby, state="absent")["msg"]


def test_one_that_may_have_the_only_outputs_is_removed_only_on_demand(pair):
    """It has served before."""
    pair.spare.put("PersistentVolumeClaim", "superlink-outputs")
    with pytest.raises(ClusterError, match="spare: the volume claim flower/superlink-outputs would be deleted, .* -e flower_delete_volumes=true"):
        leave(pair)
    assert pair.hub.term() == SERVES
    assert pair.act(superlink_standby, state="absent", delete_volumes=True)["removable"] and pair.hub.term() == Term(ACTIVE, 1, "hub")


# ---- copies that are repeated ------------------------------------------------------------------------------------------


@pytest.fixture
def follow(pair, copied, monkeypatch):
    """Follow the hub for a minute; C(during) is called before each copy."""
    time = Time()
    monkeypatch.setattr(standby_action.time, "monotonic", time.monotonic)
    monkeypatch.setattr(standby_action.time, "sleep", time.sleep)
    monkeypatch.setattr(standby_action, "run_facts", lambda _vars: {"pid": os.getppid()})
    lease = SimpleNamespace(take=lambda *_more: "taken", kept=nullcontext, give_back=lambda: True)
    monkeypatch.setattr(standby_action, "Lease", lambda *_arguments: lease)
    monkeypatch.setattr(standby_action.lease_object, "identity", lambda *_arguments: "me")

    def run(during=lambda count: None, **given):
        found = superlink_standby.ActionModule._copy_again
        monkeypatch.setattr(superlink_standby.ActionModule, "_copy_again", lambda *arguments: during(len(copied)) or found(*arguments))
        return pair.act(superlink_standby, state="followed", seconds=60, interval=20, **given)

    return run


def test_a_hub_that_is_followed_is_copied_again_and_again(follow, copied):
    assert follow()["copies"] == len(copied) == 3


def test_a_hub_that_does_not_answer_is_tried_again(follow, copied):
    failures = [1]
    assert follow(during=lambda _count: silent() if failures and failures.pop() else None)["copies"] == len(copied) == 2
    with pytest.raises(ClusterError, match="hub was not followed until the end: hub: no answer"):
        follow(during=lambda _count: silent())


def test_it_ends_when_the_standby_serves(follow, pair):
    found = follow(during=lambda count: pair.spare.put_term(Term(ACTIVE, 2, "spare")) if count else None)
    assert found["copies"] == 1 and "until spare serves, in term 2" in found["msg"]


@pytest.mark.parametrize("lost", [False, True])
def test_it_begins_no_copy_of_a_hub_without_a_record_or_with_another_volume(follow, pair, copied, lost):
    pair.lose_volume() if lost else pair.hub.objects.pop(("ConfigMap", "flower-standby"))
    with pytest.raises(ClusterError, match="another volume" if lost else "has no record of that. Run federated.flower.standby"):
        follow(accept_volumes=True)
    assert not copied and pair.spare.term() == COPY


def silent():
    raise Unreachable("hub: no answer")


# ---- what is of one cluster --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("served", "written"), [(True, ["other"]), (False, ["other", "superlink-gateway-issued"]), (None, ["other", "superlink-gateway-issued"])]
)
def test_what_cert_manager_issued_for_the_standby_itself_stays(pair, monkeypatch, served, written):
    """Failing back with the Secret of the other cluster would leave no hub that serves."""
    marks = {"labels": record_labels("flower", "superlink", "credentials"), "managedFields": [{"manager": "federated.flower", "operation": "Update"}]}
    for host, cluster in pair.clusters.items():
        for name in ("superlink-gateway-issued", "other", "gone", "flower-ca"):
            cluster.put("Secret", name, metadata=marks, data={"tls.crt": "ca" if name == "flower-ca" else host})
    pair.hub.objects.pop(("Secret", "gone"))
    pair.hub.objects.pop(("Secret", "flower-ca"))  # lost there: the standby has the only copy
    pair.hub.objects.pop(("Secret", "superlink-gateway-issued")) if served else None  # another source there: what is of the standby stays as well
    if served:
        pair.spare.put("Certificate", "superlink-gateway")
    if served is None:
        found = Kept.get
        monkeypatch.setattr(Kept, "get", lambda self, version, kind, *place: unserved() if kind == "Certificate" else found(self, version, kind, *place))
    monkeypatch.setattr(
        Kept, "list", lambda self, _version, kind, place, **_more: [one for one in self.objects.values() if (one["kind"], place) == (kind, SPACE)]
    )
    deleted = []
    monkeypatch.setattr(Kept, "delete", lambda self, _version, _kind, name, *_place, **_more: deleted.append(name))
    written_to = []
    monkeypatch.setattr(volume_pod, "running", lambda *_arguments: nullcontext("its volume"))
    monkeypatch.setattr(hub_objects.common_objects, "namespace_objects", lambda _spec: [])
    spec = pair.specs["hub"]
    entries = hub_objects.collect(pair.hub, spec.namespace, "flower-ca", spec.federation)
    done = hub_objects.restore(
        pair.spare, spec, "flower-ca", entries, lambda volume: written_to.append(volume) is None, source="the hub hub", seconds=1, is_standby=True,
    )  # fmt: skip
    assert written_to == ["its volume"] and done.database
    assert sorted(one["name"] for one in done.objects if one["kind"] == "Secret" and one["change"] == "changed") == written
    assert deleted == ["gone"]
    assert pair.spare.objects["Secret", "superlink-gateway-issued"]["data"]["tls.crt"] == ("spare" if served else "hub")


def unserved():
    raise NotServed("spare", "discover", 404, {})
