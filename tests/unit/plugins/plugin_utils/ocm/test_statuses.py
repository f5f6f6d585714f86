# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What comes back of ManifestWorks: applied, ready, keys."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import site_jobs
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import (
    addon_objects,
    key_work,
    nodes_work,
    statuses,
    through_hub,
)
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import statuses as works
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates, keypairs
from ansible_collections.federated.flower.plugins.plugin_utils.site_keys import keys, maker, public

GROUP = "cluster.open-cluster-management.io"


def part(names: list[str], **labels: str) -> dict[str, Any]:
    """A PlacementDecision."""
    return {
        "metadata": {"labels": {f"{GROUP}/{key.replace('_', '-')}": value for key, value in labels.items()}},
        "status": {"decisions": [{"clusterName": name, "reason": ""} for name in names]},
    }


def placement(selected: int, *conditions: tuple[str, str, str, str]) -> dict[str, Any]:
    """A Placement with its status."""
    keys = ("type", "status", "reason", "message")
    status = {"numberOfSelectedClusters": selected, "conditions": [dict(zip(keys, one)) for one in conditions]}
    return {"metadata": {"name": "p", "namespace": "flower"}, "status": status}


def test_all_slices_count() -> None:
    found = statuses.decisions(
        [
            part(["a", "b"], decision_group_name="canary", decision_group_index="0"),
            part(["c", ""], decision_group_name="", decision_group_index="1"),
            part(["d"], decision_group_index="1"),
            part(["e"]),
            part(["f"], decision_group_index="first"),
            {"metadata": {"name": "new"}},
        ]
    )
    assert {name: (one["ocm_decision_group"], one["ocm_decision_group_index"]) for name, one in found.items()} == {
        "a": ("canary", 0),
        "b": ("canary", 0),
        "c": ("", 1),
        "d": ("", 1),
        "e": ("", 0),
        "f": ("", 0),
    }


@pytest.mark.parametrize(
    ("item", "found", "words"),
    [
        (placement(3), 3, ""),
        (placement(2), 3, ""),
        (placement(150), 100, "has selected 150 clusters, but its decisions list only 100 so far"),
        ({"metadata": {"name": "p", "namespace": "flower"}}, 0, "check that the placement controller is running on the hub"),
        (placement(0, ("PlacementSatisfied", "True", "AllDecisionsScheduled", "")), 0, "has selected no cluster"),
        (
            placement(
                0,
                ("PlacementMisconfigured", "False", "Succeedconfigured", "Placement configurations check pass"),
                ("PlacementSatisfied", "False", "NoManagedClusterSetBindings", "No valid ManagedClusterSetBindings found"),
            ),
            0,
            "no cluster: No valid ManagedClusterSetBindings found. A ManagedClusterSetBinding in the namespace flower binds",
        ),
        (
            placement(0, ("PlacementMisconfigured", "True", "InvalidSelector", "bad selector")),
            0,
            "has selected no cluster: bad selector",
        ),
        (placement(0, ("PlacementSatisfied", "False", "NoManagedClusterMatched", "")), 0, "NoManagedClusterMatched"),
    ],
)  # fmt: skip
def test_remarks(item: dict[str, Any], found: int, words: str) -> None:
    told = statuses.remark(item, found)
    assert words in told
    assert bool(told) == bool(words)


def test_a_work_is_applied_when_the_agent_has_seen_its_present_form(parsed_ocm_site, status):
    wanted = status.nodes(parsed_ocm_site())
    assert works.applied(None).why == "nothing was delivered yet"
    assert "not applied it" in works.applied(wanted | {"metadata": {**wanted["metadata"], "generation": 1}}).why
    live = status.taken(wanted, {})
    assert works.applied(live).ready
    live["metadata"]["generation"] = 5
    assert not works.applied(live).ready and not works.applied(live).failed
    assert works.applied(status.taken(wanted, {}, refused="StatefulSet")) == (
        False,
        "StatefulSet flower/supernode-default: forbidden",
        True,
    )


def test_ready_is_pods_ready_in_the_present_form(parsed_ocm_site, status):
    wanted = status.nodes(parsed_ocm_site(pools=[{"name": "default", "replicas": 2, "node_config": {}}]))
    assert "has not been reported" in nodes_work.state(status.taken(wanted, {})).why
    assert "1 of 2 replicas are ready" in nodes_work.state(status.taken(wanted, status.numbers(wanted, 1))).why
    assert nodes_work.state(status.taken(wanted, status.numbers(wanted, 2))).ready
    unseen = status.numbers(wanted, 2, observedGeneration=1)
    assert not nodes_work.state(status.taken(wanted, unseen)).ready
    rolling = status.numbers(wanted, 2, updatedReplicas=1, updateRevision="r2")
    assert not nodes_work.state(status.taken(wanted, rolling)).ready


def test_numbers_of_an_older_workload_never_count(parsed_ocm_site, status):
    old = status.nodes(parsed_ocm_site())
    new = status.nodes(parsed_ocm_site(image="mirror/supernode:new"))
    live = status.taken(new, status.numbers(old, 1))
    assert not nodes_work.state(live).ready and "has not been reported" in nodes_work.state(live).why
    assert nodes_work.rows(live)[0]["ready"] == 0


def test_pods_are_restarted_by_another_mark_and_keep_the_one_that_they_have(parsed_ocm_site, status):
    own = status.own(parsed_ocm_site())
    plain, marked, other = (nodes_work.build(parsed_ocm_site(), own, status.OWNER, mark) for mark in ("", "1a2b", "3c4d"))
    assert [nodes_work.mark_of(work) for work in (None, plain, marked, other)] == ["", "", "1a2b", "3c4d"]
    assert (
        len({addon_objects.content_of(item) for work in (plain, marked, other) for item in nodes_work.sets_of(work)})
        == 3
    )
    assert plain == status.nodes(parsed_ocm_site())


@pytest.mark.parametrize("changes", [{}, {"annotations": {"example.com/note": "{{X}}"}}])
def test_a_restart_changes_nothing_but_the_mark(changes, parsed_ocm_site, status):
    spec = parsed_ocm_site(**changes)
    own = status.own(spec)
    for before in ("", "1a2b"):
        live = status.taken(nodes_work.build(spec, own, status.OWNER, before), {})
        live["metadata"] |= {"uid": "4-5-6", "resourceVersion": "7", "managedFields": []}
        assert nodes_work.remarked(live, "3c4d") == nodes_work.build(spec, own, status.OWNER, "3c4d")
    assert nodes_work.pod_names(live) == ["supernode-default-3"]
    nodes_work.sets_of(live)[0]["spec"]["replicas"] = 2**63 - 1  # by its agent
    assert len(nodes_work.pod_names(live)) == 1000


def test_the_mark_follows_what_pods_read(parsed_ocm_site):
    def mark(**digests):
        held = {"supernode-default-keys": {"3": "aa"}, "supernode-superexec": {"secret": "bb"}, **digests}
        return through_hub.mark(parsed_ocm_site(), public.Public(digests=held))

    new_key = mark(**{"supernode-default-keys": {"3": "cc"}})
    new_secret = mark(**{"supernode-superexec": {"secret": "dd"}})
    # The sidecar loads its files itself.
    assert mark() == mark(**{"supernode-local-tls": {"tls.crt": "ee"}})
    assert len({mark(), new_key, new_secret}) == 3


def test_why_pods_wait_is_told(parsed_ocm_site, status):
    wanted = status.nodes(parsed_ocm_site())
    values = status.numbers(wanted, 0)
    values["Pod", "supernode-default-3"] = {"phase": "Pending", "waiting": "ImagePullBackOff"}
    live = status.taken(wanted, values)
    assert nodes_work.trouble(live) == "pod supernode-default-3: ImagePullBackOff"
    values["Pod", "supernode-default-3"]["waiting"] = "ContainerCreating"
    assert nodes_work.trouble(status.taken(wanted, values)) == ""


def test_an_add_on_has_a_config_when_ocm_says_so_of_this_very_one(parsed_ocm_site, status):
    wanted = status.references(parsed_ocm_site())
    assert statuses.addon_state(None, wanted).why == "there is none"
    assert statuses.addon_state(status.addon(wanted), wanted).ready
    assert "does not have" in statuses.addon_state(status.addon(wanted, last=False), wanted).why
    other = status.references(parsed_ocm_site(sidecar_max_connections=50))
    assert "not applied" in statuses.addon_state(status.addon(other), wanted).why
    failed = status.addon(wanted)
    failed["status"]["conditions"][0].update(reason="Failed", message="invalid character")
    assert statuses.addon_state(failed, wanted) == (False, "invalid character", True)


# ---- keys ------------------------------------------------------------------------------------------------------------

POOL = keys.Pool("default", ["3"], 3)
SECRETS = site_jobs.secret_names(["default"])


def request():
    return {
        "federation": "flower",
        "namespace": "flower",
        "pools": [{"name": "default", "names": ["3"], "offset": 3}],
        "dead": [],
        "client": "site-a",
        "drop": {},
        "renew": {},
        "listener": "",
        "secrets": SECRETS,
        "owner": {"apiVersion": "v1", "kind": "ConfigMap", "name": site_jobs.OWNER, "uid": "7-8-9"},
    }


def published():
    """The ConfigMap that the site's job writes."""
    live = {}
    for secret in maker.decide(request(), {}).writes:
        stored = copy.deepcopy(secret)
        stored["metadata"].update(uid="uid of " + secret["metadata"]["name"], resourceVersion="1")
        live[secret["metadata"]["name"]] = stored
    held = certificates.client_request(keypairs.make_client_key(), "site-a")
    return public.record("flower", "flower", live, "site-a", held)


def fed_back(config_map):
    """What the agent makes of it: the first value of each path."""
    standing = {owner["name"] for owner in config_map["metadata"]["ownerReferences"]}
    return {"public": config_map["data"]["public.json"], **{f"stands-{name}": name for name in standing}}


def test_public_halves_come_back_whole(parsed_ocm_site, status):
    made = published()
    work = key_work.idle_work(parsed_ocm_site(), SECRETS, status.OWNER)
    live = status.taken(
        work, {("ConfigMap", "supernode-public"): fed_back(made), ("ConfigMap", site_jobs.OWNER): {"uid": "7-8-9"}}
    )
    assert key_work.result(live, "flower") == public.read(made)
    found = public.survey(keys.Wanted([POOL], client="site-a"), key_work.result(live, "flower"))
    assert found.reasons == [] and [key["name"] for key in found.keys] == ["3"]
    assert key_work.owner_uid(live) == "7-8-9"


def test_a_secret_that_is_gone_is_noticed_through_the_hub(parsed_ocm_site, status):
    made = published()
    values = fed_back(made)
    del values["stands-supernode-default-keys"]
    work = key_work.idle_work(parsed_ocm_site(), SECRETS, status.OWNER)
    live = status.taken(work, {("ConfigMap", "supernode-public"): values})
    found = public.survey(keys.Wanted([POOL], client="site-a"), key_work.result(live, "flower"))
    assert found.reasons == ["supernode-default-keys: it does not exist"]


def test_nothing_is_told_by_a_config_map_that_is_gone_or_never_was(parsed_ocm_site, status):
    work = key_work.idle_work(parsed_ocm_site(), SECRETS, status.OWNER)
    assert key_work.result(None, "flower") == public.Public()
    assert key_work.result(status.taken(work, {}), "flower") == public.Public()
    live = status.taken(work, {("ConfigMap", "supernode-public"): fed_back(published())})
    for one in live["status"]["resourceStatus"]["manifests"]:
        one["conditions"] = [status.condition("Applied", "True"), status.condition("Available", "False")]
    assert key_work.result(live, "flower") == public.Public()


def test_what_someone_else_wrote_is_refused(parsed_ocm_site, status):
    work = key_work.idle_work(parsed_ocm_site(), SECRETS, status.OWNER)
    live = status.taken(work, {("ConfigMap", "supernode-public"): {"public": "{}"}})
    with pytest.raises(ClusterError, match="was not written by the site's Job"):
        key_work.result(live, "flower")


def test_how_the_job_gets_on(parsed_ocm_site, status):
    work = key_work.keygen_work(parsed_ocm_site(), request(), {"a.py": ""}, 60, status.OWNER)
    job = ("Job", key_work.job_of(work))
    assert job[1].startswith("supernode-keys-")
    assert key_work.job_of(key_work.idle_work(parsed_ocm_site(), SECRETS, status.OWNER)) == ""
    assert key_work.job_state(status.taken(work, {})).why == "its state has not been reported yet"
    assert key_work.job_state(status.taken(work, {job: {"active": 1}})).why == "its pod has not terminated yet"
    assert key_work.job_state(status.taken(work, {job: {"succeeded": 1}})).ready
    failed = key_work.job_state(status.taken(work, {job: {"failed": "True", "message": "BackoffLimitExceeded"}}))
    assert (failed.failed, failed.why) == (True, "BackoffLimitExceeded")


def test_no_private_half_and_no_secret_is_in_any_work(parsed_ocm_site, status):
    for work in (
        key_work.keygen_work(parsed_ocm_site(), request(), {"a.py": ""}, 60, status.OWNER),
        key_work.idle_work(parsed_ocm_site(), SECRETS, status.OWNER),
        status.nodes(parsed_ocm_site()),
    ):
        assert "PRIVATE" not in str(work)
        assert all(item["kind"] != "Secret" for item in work["spec"]["workload"]["manifests"])
