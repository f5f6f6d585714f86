# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts of a federation, records of owners, hosts that are one place, and what else is in a namespace."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.labels import selector
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import superlink, supernode
from ansible_collections.federated.flower.plugins.plugin_utils.marks import owners, proof
from ansible_collections.federated.flower.plugins.plugin_utils.sites import (
    namespace_contents,
    namespace_inspection,
    removing,
)
from ansible_collections.federated.flower.tests.unit.rows import each_row

OURS = {"app.kubernetes.io/managed-by": "federated.flower", "app.kubernetes.io/instance": "flower"}


def named(kind: str, name: str, labels: Any = None, **meta: Any) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": name, "uid": f"uid-{kind}-{name}", "labels": labels or {}, **meta}}


# ---- parts


@pytest.mark.parametrize("render, part", [(superlink.objects, owners.PART_HUB), (supernode.objects, owners.PART_SITE)])
def test_every_rendered_object_says_its_part(parsed_hub: Any, parsed_site: Any, render: Any, part: str) -> None:
    spec = parsed_hub() if part == owners.PART_HUB else parsed_site(clientapp="workload")
    assert {owners.part_of(item) for item in render(spec) if item["kind"] != "Namespace"} == {part}
    name = "superlink" if part == owners.PART_HUB else "supernode"
    assert {owners.part_of(item) for item in namespace_inspection.reserved_objects(name, spec)} == {part}


def test_parts_of_what_has_no_labels_that_say_it() -> None:
    assert owners.part_of(named("ConfigMap", "applyset-superlink")) == owners.PART_HUB
    assert owners.part_of(named("Role", "flower-site-controller", OURS)) == owners.PART_SITE
    assert owners.part_of(named("Role", "flower-site-controller", {**OURS, owners.PART: "hub"})) == owners.PART_HUB
    assert owners.part_of(named("Namespace", "flower", {"app.kubernetes.io/name": "flower"})) == ""


def test_the_secret_of_a_proxy_is_reserved_where_variables_have_the_login(parsed_site: Any) -> None:
    """One that the user names is the user's, and other sites do not write it."""

    def is_reserved(**changes: Any) -> bool:
        return "supernode-http-proxy" in {item["metadata"]["name"] for item in namespace_inspection.reserved_objects("supernode", parsed_site(**changes))}

    proxy = {"address": "proxy.example.com:3128"}
    assert is_reserved(http_proxy=proxy, http_proxy_credentials=["username", "password"])
    assert not is_reserved(http_proxy={**proxy, "secret": "supernode-http-proxy"})
    assert not is_reserved()


def test_an_account_that_the_other_part_binds_is_needed() -> None:
    account, other = (named("ServiceAccount", name, OURS, namespace="flower") for name in ("auditor", "unbound"))
    site = named("RoleBinding", "flower-site-auditor", OURS, namespace="flower")
    hub = {**named("RoleBinding", "flower-hub-auditor", OURS), "subjects": [{"kind": "ServiceAccount", "namespace": "flower", "name": "auditor"}]}
    found = [account, other, site, hub]
    assert owners.needed_by_others(found, owners.PART_SITE, all_bindings=True) == [account, hub]
    assert owners.needed_by_others(found, owners.PART_HUB, all_bindings=True) == [site]
    assert owners.needed_by_others(found, owners.PART_SITE, all_bindings=False) == [account, other, hub]


# ---- records


def parent(**notes: str) -> dict[str, Any]:
    return {"metadata": {"name": "applyset-supernode", "namespace": "flower", "annotations": notes}}


def test_a_site_of_this_hub_is_no_stranger() -> None:
    wanted = owners.deployment_notes("flower", "site-a", "1")
    assert owners.other_deployment_error(parent(**wanted), wanted) == ""
    assert owners.other_deployment_error(None, wanted) == ""
    assert owners.other_deployment_error(parent(), wanted) == "", "older than the record"
    assert owners.other_deployment_error(parent(**wanted), owners.deployment_notes("flower", "site-a")) == "", "nobody asked the hub"


@each_row(
    "wanted, words",
    [
        (owners.deployment_notes("other", "site-a", "1"), "another federation, flower"),
        (owners.deployment_notes("flower", "site-a", "2"), "the federation flower of another hub, as its site site-a"),
        (owners.deployment_notes("flower", "site-b", "1"), "site-a, another site of this federation"),
    ],
)
def test_a_stranger_is_refused(wanted: dict[str, str], words: str) -> None:
    fault = owners.other_deployment_error(parent(**owners.deployment_notes("flower", "site-a", "1")), wanted)
    assert words in fault and "namespace flower" in fault and "flower_claim_sites=true" in fault


def test_the_old_name_of_a_renamed_site_is_freed_first() -> None:
    """Its keys are refused while they are those of another name in the ledger (C(state/key_claims.py))."""
    fault = owners.other_deployment_error(parent(**owners.deployment_notes("flower", "site-a", "1")), owners.deployment_notes("flower", "site-b", "1"))
    assert fault.index("flower_forget_sites=site-a") < fault.index("flower_claim_sites=true")


# ---- what else is in a namespace

AUTOMATIC = [named("ConfigMap", "kube-root-ca.crt"), named("ServiceAccount", "default")]


def test_a_namespace_with_nothing_of_others() -> None:
    workload = named("StatefulSet", "superlink", {**OURS, "app.kubernetes.io/name": "superlink"})
    pod = named("Pod", "superlink-0", ownerReferences=[{"uid": workload["metadata"]["uid"]}])
    claim = named("PersistentVolumeClaim", "data-superlink-0", selector("flower", "superlink"))
    rights = named("ConfigMap", "applyset-rights", {proof.MANAGED_BY: "federated.flower"})
    listed = [*AUTOMATIC, workload, pod, claim, rights, workload]
    assert namespace_contents.others(listed, "flower", owners.PART_HUB) == []
    assert namespace_contents.words([], owners.PART_HUB) == ""


@each_row(
    "strange",
    [
        named("ConfigMap", "theirs"),
        named("Pod", "theirs", ownerReferences=[{"uid": "of an object that is not in the namespace"}]),
        named("Service", "superlink", {**OURS, proof.INSTANCE: "other"}),
        named("Service", "superlink", {proof.INSTANCE: "flower"}, annotations={proof.ADOPT: "true"}),
        named("PersistentVolumeClaim", "theirs"),
        named("PersistentVolumeClaim", "theirs", {proof.INSTANCE: "flower"}),
        named("PersistentVolumeClaim", "theirs", {proof.INSTANCE: "flower", "app.kubernetes.io/name": "postgresql"}),
        named("ResourceQuota", "limits"),
        named("Secret", "flower-ca-copy", OURS),  # by hand: nothing of ours wrote it
        named("PersistentVolumeClaim", "superlink-outputs-copy", {**OURS, "app.kubernetes.io/name": "superlink"}),
    ],
)
def test_a_namespace_with_something_of_others(strange: dict[str, Any]) -> None:
    found = namespace_contents.others([*AUTOMATIC, strange], "flower", owners.PART_HUB)
    assert found == [strange]
    assert (
        namespace_contents.words(found, owners.PART_HUB)
        == f"it contains {strange['kind']} {strange['metadata']['name']}, not known to be of this collection"
    )


def test_a_namespace_with_the_other_part() -> None:
    ledger = named("ConfigMap", "flower-ledger", {**OURS, "app.kubernetes.io/name": "flower-ledger"})
    found = namespace_contents.others([*AUTOMATIC, ledger], "flower", owners.PART_SITE)
    assert found == [ledger] and namespace_contents.words(found, owners.PART_SITE) == "it also contains the hub"


def test_a_namespace_with_objects_of_skupper_goes() -> None:
    """Its Link to the hub has a name that begins as those of the hub's rights do."""
    link = named("Link", "flower-hub-skupper-router", {**OURS, "app.kubernetes.io/name": "skupper"})
    rights = named("RoleBinding", "flower-hub-operator", OURS)
    assert namespace_contents.others([*AUTOMATIC, link], "flower", owners.PART_SITE) == []
    assert namespace_contents.others([*AUTOMATIC, link, rights], "flower", owners.PART_SITE) == [rights]


# ---- claims and volumes of datasets

OF_SITE = {proof.INSTANCE: "flower", "app.kubernetes.io/name": "supernode"}
WRITTEN = [{"manager": "federated.flower"}]


@each_row(
    ("claim", "goes"),
    [
        (named("PersistentVolumeClaim", "data-superlink-0", selector("flower", "superlink")), True),
        (named("PersistentVolumeClaim", "dataset-ct", {**OURS, **OF_SITE}, managedFields=WRITTEN), True),
        (named("PersistentVolumeClaim", "dataset-ct", {**OURS, **OF_SITE}, managedFields=[]), False),
        (named("PersistentVolumeClaim", "dataset-ct", OF_SITE, annotations={proof.ADOPT: "true"}), False),
    ],
)
def test_a_claim_that_was_adopted_or_copied_stays(claim: dict[str, Any], goes: bool) -> None:
    assert removing.goes(claim, "flower") is goes


def volume(claim: str | None = "dataset-ct", namespace: str = "flower") -> dict[str, Any]:
    ref = {"claimRef": {"name": claim, "namespace": namespace}} if claim else {}
    return {**named("PersistentVolume", "pv"), "spec": ref}


def identity(kind: str, name: str) -> dict[str, Any]:
    where = {"namespace": "flower"} if kind == "PersistentVolumeClaim" else {}
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, **where}}


CLAIM = identity("PersistentVolumeClaim", "dataset-ct")
NAMESPACE = identity("Namespace", "flower")


@each_row(
    ("going", "one", "claims", "added"),
    [
        ([CLAIM], volume(), [CLAIM], ["PersistentVolume"]),
        ([], volume(), [], ["PersistentVolume"]),
        ([], volume(None), [CLAIM], ["PersistentVolume"]),
        ([NAMESPACE], volume(), [CLAIM], ["PersistentVolumeClaim", "PersistentVolume"]),
        ([NAMESPACE], volume(), [], ["PersistentVolume"]),
        ([], volume(), [CLAIM], []),
        ([NAMESPACE], volume(namespace="other"), [CLAIM], []),
        ([identity("Namespace", "flower-ca")], volume(), [CLAIM], []),
    ],
)
def test_a_volume_stays_with_its_claim(going: Any, one: Any, claims: Any, added: list[str]) -> None:
    found = removing.Leftovers(list(going))
    removing.with_volumes(found, [one], claims, "flower")
    assert [item["kind"] for item in found.going[len(going) :]] == added
    assert bool(found.kept) is not bool(added)
