# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rights: golden files of the Roles, and the rules behind them."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from ansible_collections.federated.flower.plugins.action.supernode import ActionModule
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.fleet import role_objects
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.outcome import Outcomes
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.role_objects import beside, rights_objects
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import site_jobs, superlink, supernode
from ansible_collections.federated.flower.plugins.plugin_utils.rights import grants
from ansible_collections.federated.flower.plugins.plugin_utils.rights.ask import rights_of_work
from ansible_collections.federated.flower.plugins.plugin_utils.rights.grants import controller_rights
from ansible_collections.federated.flower.plugins.plugin_utils.rights.grants import grants as grants_grants
from ansible_collections.federated.flower.plugins.plugin_utils.rights.need import (
    CLUSTER,
    TEARDOWN,
    WORKS,
    Right,
    missing,
    rights,
    singles,
)
from ansible_collections.federated.flower.plugins.plugin_utils.rights.table import CONTROLLER, TABLE
from ansible_collections.federated.flower.plugins.plugin_utils.sites.registry import access_of
from ansible_collections.federated.flower.plugins.plugin_utils.spec.hub_spec import HubSpec
from ansible_collections.federated.flower.plugins.plugin_utils.spec.site_spec import SiteSpec
from ansible_collections.federated.flower.tests.unit.read import ROOT
from ansible_collections.federated.flower.tests.unit.rows import each_row

SETTINGS = {
    "controller": {"kind": "ServiceAccount", "name": "flower-controller"},
    "scientists": [{"kind": "Group", "name": "flower-scientists"}],
    "scientist_ways": ["exec", "portforward"],
    "auditors": [{"kind": "Group", "name": "flower-auditors"}],
    "state": "present",
    "ca_namespace": "flower-ca",
}
HUB = {
    "default": {},
    "skupper": {},
    "ocm": {},
    "clientapps": {},
    "metrics": {"metrics": {"enabled": True, "monitor": True}},
    "node-port": {"exposure": "node_port", "superlink_address": "", "create_namespace": False},
    "route": {
        "exposure": "route",
        "host": "flower.apps.example.com",
        "certificates_source": "cert_manager",
        "issuer": {"kind": "ClusterIssuer", "name": "corporate"},
    },
}
SITE = {
    "default": {},
    "skupper": {"connectivity": "skupper", "superlink_address": "flower-superlink:9092"},
    "daemon": {
        "pools": [{"name": "edge", "mode": "DaemonSet"}],
        "create_namespace": False,
        "key_source": "site",
        "keys_account": True,
    },
    "datasets": {
        "datasets": [
            {"name": "ct", "claim": "radiology-ct"},
            {"name": "scratch", "new_claim": {"size": "20Gi"}},
            {"name": "archive", "volume": {"nfs": {"server": "nfs.example.com", "path": "/export"}}},
            {"name": "codes", "secret": "icd-codes"},
        ],
    },
}
PEOPLE = {
    "controller": [
        {"kind": "ServiceAccount", "name": "awx", "namespace": "awx"},
        {"kind": "User", "name": "ann@example.com"},
    ],
    "auditors": [],
}


@pytest.mark.parametrize("name", HUB)
def test_golden_of_the_hub(name, superlink_spec, golden):
    ways = {"skupper": ["skupper"], "ocm": ["ocm"], "clientapps": ["ocm", "clientapps", "enable_gates"]}
    settings = SETTINGS | (PEOPLE if name == "route" else {}) | dict.fromkeys(ways.get(name, []), True)
    golden(f"rights-superlink-{name}", rights_objects("superlink", superlink_spec(**HUB[name]), settings))


def test_the_gateway_is_read_and_the_route_is_ours(parsed_hub):
    spec = parsed_hub(exposure="gateway_api", gateway={"name": "public", "namespace": "infra"})
    found = controller_rights("superlink", spec, "flower-ca", works=WORKS)
    assert list(map(str, found["infra"])) == ["get gateways.gateway.networking.k8s.io in namespace infra (public)"]
    verbs = {right.verb for right in found["flower"] if right.resource == "tlsroutes"}
    assert verbs == {"get", "list", "create", "patch", "delete"}
    assert "infra" not in controller_rights("superlink", parsed_hub(exposure="traefik", host="a.example"), "flower-ca", works=WORKS)


def test_a_hub_with_sites_behind_both_gets_the_rights_for_both(superlink_spec, parsed_hub):
    def given(**ways):
        found = controller_rights("superlink", parsed_hub(**ways), "flower-ca", works=WORKS)
        return {right for there in found.values() for right in there}

    both = given(skupper=True, ocm=True)
    assert both == given(skupper=True) | given(ocm=True)
    assert given() < given(skupper=True) < both and given() < given(ocm=True) < both
    asked = roles(
        rights_objects("superlink", superlink_spec(), SETTINGS | {"skupper": True, "ocm": True}), "controller"
    )
    for namespace, wanted in controller_rights(
        "superlink", parsed_hub(skupper=True, ocm=True), "flower-ca"
    ).items():
        assert missing(wanted, asked.get(namespace, [])) == []


@pytest.mark.parametrize("name", SITE)
def test_golden_of_a_site(name, supernode_spec, golden):
    golden(f"rights-supernode-{name}", rights_objects("supernode", supernode_spec(**SITE[name]), SETTINGS))


def test_the_guide_names_what_is_needed_on_the_whole_cluster(parsed_site):
    page = "".join((ROOT / "docs/docsite/rst/guide_rights.rst").read_text(encoding="utf-8").lower().split())
    needs = [need for listed in TABLE.values() for need in listed]
    needs += grants.dataset_needs(CONTROLLER, parsed_site(**SITE["datasets"]))
    kinds = {need.resource.partition(".")[0].partition("/")[0] for need in needs if need.place == CLUSTER}
    assert {"nodes", "clusterissuers", "persistentvolumes"} < kinds
    assert {kind for kind in kinds if kind not in page} == set()


def roles(objects, holder):
    """Namespace (empty: the cluster) -> rules of a holder."""
    return {
        item["metadata"].get("namespace", ""): item["rules"]
        for item in objects
        if item["kind"] in ("Role", "ClusterRole") and f"-{holder}" in item["metadata"]["name"]
    }


@pytest.fixture(params=[*(("superlink", name) for name in HUB), *(("supernode", name) for name in SITE)], ids="-".join)
def part_and_spec(request, superlink_spec, supernode_spec):
    """Part, variables and spec of every case."""
    part, name = request.param
    if part == "superlink":
        variables = superlink_spec(**HUB[name])
        return part, variables, HubSpec.parse(variables)
    variables = supernode_spec(**SITE[name])
    return part, variables, SiteSpec.parse(variables)


def test_cert_manager_takes_rights_of_its_own(parsed_hub):
    def needed(**issuer):
        return controller_rights(
            "superlink", parsed_hub(certificates_source="cert_manager", issuer=issuer), "flower-ca"
        )

    of_issuer = needed(name="a")
    assert Right("create", "cert-manager.io", "certificates", "flower") in of_issuer["flower"]
    assert Right("get", "cert-manager.io", "issuers", "flower") in of_issuer["flower"]
    assert Right("get", "cert-manager.io", "clusterissuers", "") in needed(name="a", kind="ClusterIssuer")[""]
    external = needed(name="a", group="x.example")
    assert not any("issuers" in right.resource for there in external.values() for right in there)


def test_policies_take_rights_where_they_are_made(parsed_hub, parsed_site):
    def verbs(found, namespace):
        return {right.verb for right in found.get(namespace, []) if right.resource == "networkpolicies"}

    hub = controller_rights("superlink", parsed_hub(), "flower-ca")
    assert {"patch", "delete"} <= verbs(hub, "flower") and verbs(hub, "flower-ca") == {"get", "create", "patch"}
    end = controller_rights("superlink", parsed_hub(), "flower-ca", works=[TEARDOWN])
    assert verbs(end, "flower") == verbs(end, "flower-ca") == {"get", "list", "delete"}
    assert "patch" in verbs(controller_rights("supernode", parsed_site()), "flower")
    owned = controller_rights("superlink", parsed_hub(create_namespace=False), "flower-ca")
    assert "patch" in verbs(owned, "flower") and not verbs(owned, "flower-ca")
    for off in (
        controller_rights("superlink", parsed_hub(network_policies=False), "flower-ca"),
        controller_rights("supernode", parsed_site(network_policies=False)),
    ):
        assert not any(verbs(off, namespace) for namespace in off)


def test_what_the_preflight_asks_for_is_what_the_roles_give(part_and_spec):
    part, variables, spec = part_and_spec
    given = roles(rights_objects(part, variables, SETTINGS), "controller")
    for namespace, wanted in controller_rights(part, spec, "flower-ca", works=WORKS).items():
        assert missing(wanted, given.get(namespace, [])) == []


def test_a_rotation_takes_the_same_rights_whatever_the_spec(part_and_spec):
    """Its actions ask for them without a spec."""
    part, _variables, spec = part_and_spec
    found = controller_rights(part, spec, "flower-ca", works=["rotate"])
    asked = rights_of_work(part, "rotate", spec.namespace, "flower-ca")
    assert {where: set(rights) for where, rights in asked.items()} == {
        where: set(rights) for where, rights in found.items()
    }


def test_the_roles_give_nothing_that_no_work_needs(part_and_spec):
    part, variables, spec = part_and_spec
    wanted = {one for found in controller_rights(part, spec, "flower-ca", works=WORKS).values() for one in found}
    for namespace, rules in roles(rights_objects(part, variables, SETTINGS), "controller").items():
        for rule in rules:
            assert len(rule["apiGroups"]) == 1
            for resource in rule["resources"]:
                for verb in rule["verbs"]:
                    for name in rule.get("resourceNames", [""]):
                        assert Right(verb, rule["apiGroups"][0], resource, namespace, name) in wanted


def test_nobody_gets_a_wildcard_or_may_give_rights(part_and_spec):
    part, variables, _spec = part_and_spec
    for item in rights_objects(part, variables, SETTINGS):
        for rule in item.get("rules", []):
            words = [*rule["apiGroups"], *rule["resources"], *rule["verbs"]]
            assert not {"*", "bind", "escalate", "impersonate", "serviceaccounts/token"} & set(words)


def test_what_the_controller_gives_away_is_its_own(part_and_spec):
    """The API server refuses a Role with a rule that its maker does not have."""
    part, variables, spec = part_and_spec
    render = superlink.objects if part == "superlink" else supernode.objects
    given = roles(rights_objects(part, variables, SETTINGS), "controller")
    for item in render(spec):
        for rule in item.get("rules", []) if item["kind"] == "Role" else ():
            wanted = [
                Right(verb, group, resource, item["metadata"]["namespace"], name)
                for group in rule["apiGroups"]
                for resource in rule["resources"]
                for verb in rule["verbs"]
                for name in rule.get("resourceNames", [""])
            ]
            assert missing(wanted, given[item["metadata"]["namespace"]]) == []


def test_a_site_that_makes_its_keys_lets_nobody_else_see_secrets(supernode_spec):
    spec = supernode_spec(key_source="site")
    made = rights_objects("supernode", spec, SETTINGS)
    assert not any("secrets" in rule["resources"] for rule in roles(made, "controller")["flower"])
    job = {item["kind"]: item for item in made if item["metadata"]["name"] == site_jobs.ACCESS}
    assert set(job) == {"ServiceAccount", "Role", "RoleBinding"}
    assert job["Role"]["rules"] == site_jobs.rules(site_jobs.secret_names(pool["name"] for pool in spec["pools"]))
    by_controller = rights_objects("supernode", supernode_spec(), SETTINGS)
    assert not any(item["metadata"]["name"] == site_jobs.ACCESS for item in by_controller)


def test_the_controller_gets_rights_for_chosen_works_only(supernode_spec):
    def resources(*works):
        made = rights_objects("supernode", supernode_spec(key_source="site"), SETTINGS | {"works": list(works)})
        return {name for rule in roles(made, "controller")["flower"] for name in rule["resources"]}

    assert "pods/exec" in resources() and resources() == resources(*WORKS)
    assert "pods/exec" not in resources("deploy", "teardown") and "statefulsets" in resources("deploy")


def test_who_gives_the_job_its_rights_has_them(parsed_site):
    """The API server refuses a Role with a rule that its maker does not have."""
    spec = parsed_site(key_source="site")
    own = controller_rights("supernode", spec)["flower"]
    rules = [{"verbs": [one.verb], "apiGroups": [one.group], "resources": [one.resource],
              "resourceNames": [one.name] if one.name else []} for one in own]  # fmt: skip
    assert missing(singles(site_jobs.rules(["supernode-a-keys"]), "flower"), rules) == []
    assert {
        "create roles.rbac.authorization.k8s.io in namespace flower",
        "create jobs.batch in namespace flower",
    } <= set(map(str, own))
    given = controller_rights("supernode", replace(spec, keys_account=True), works=WORKS)["flower"]
    assert not any(one.resource == "secrets" or (one.verb, one.resource) == ("create", "roles") for one in given)


def test_rights_follow_the_kinds_that_are_rendered(part_and_spec):
    part, _variables, spec = part_and_spec
    made = {(item["apiVersion"].rpartition("/")[0], item["kind"]) for item in
            (superlink.objects if part == "superlink" else supernode.objects)(spec)}  # fmt: skip
    # Rights on what is created for datasets are limited to its names: see rights/grants.py.
    named = {("", "PersistentVolume"), ("", "PersistentVolumeClaim")}
    assert made - {("", "Namespace"), *named} <= set(grants.rendered_kinds(spec))


def test_rights_do_not_follow_switches(parsed_hub, parsed_site):
    few = parsed_hub(isolation="subprocess", protect_runs=False)
    assert grants.rendered_kinds(few) == grants.rendered_kinds(parsed_hub())
    pools = [{"name": "edge", "mode": "DaemonSet"}]
    assert grants.rendered_kinds(parsed_site(pools=pools)) == grants.rendered_kinds(parsed_site())


def test_the_whole_cluster_is_asked_for_where_nothing_else_does(parsed_hub, parsed_site):
    def wide(part, spec):
        return controller_rights(part, spec, "flower-ca").get("", [])

    nodes = [Right("list", "", "nodes", "")]
    assert wide("superlink", parsed_hub(exposure="node_port", superlink_address="")) == nodes
    assert wide("superlink", parsed_hub(exposure="node_port", superlink_address="", host="hub.example.com")) == []
    assert wide("superlink", parsed_hub(exposure="load_balancer", superlink_address="")) == []
    assert wide("supernode", parsed_site(pools=[{"name": "edge", "mode": "DaemonSet"}])) == nodes
    assert wide("supernode", parsed_site(pools=[{"name": "a100", "gpu": {"count": 1}}])) == []
    assert wide("supernode", parsed_site(datasets=SITE["datasets"]["datasets"][:2])) == []
    assert {right.name for right in wide("supernode", parsed_site(**SITE["datasets"]))} == {"flower-flower-dataset-archive"}


def test_claims_of_others_cannot_be_deleted(parsed_site):
    found = controller_rights("supernode", parsed_site(**SITE["datasets"]), works=WORKS)["flower"]
    on_claims = {(one.verb, one.name) for one in found if one.resource == "persistentvolumeclaims"}
    assert {name for verb, name in on_claims if verb == "delete"} == {"dataset-archive", "dataset-scratch"}
    assert {verb for verb, name in on_claims if name == "radiology-ct"} == {"get"}
    assert {verb for verb, name in on_claims if not name} == {"list"}


def test_a_namespace_that_is_not_there_has_to_be_made(parsed_hub):
    spec = parsed_hub()
    found = controller_rights("superlink", spec, "flower-ca", absent=["flower-ca"])
    assert found[""] == [Right("create", "", "namespaces", "", "flower-ca")]
    assert str(found[""][0]) == "create namespaces on the whole cluster (flower-ca)"


def test_a_deployment_is_not_refused_for_what_other_works_need(parsed_hub):
    told = {
        str(one) for found in controller_rights("superlink", parsed_hub(), "flower-ca").values() for one in found
    }
    assert "get pods/exec in namespace flower (superlink-0)" in told
    for other in (
        "get pods/exec in namespace flower",
        "delete pods in namespace flower",
        "delete secrets in namespace flower-ca",
    ):
        assert other not in told


def test_scientists_get_the_ways_that_were_chosen(parsed_hub):
    def resources(ways):
        given = grants_grants("scientist", "superlink", parsed_hub(), "flower-ca", pod_access=ways)
        return {(need.resource, need.names) for needs in given.values() for need in needs}

    always = {("pods", "superlink-0"), ("pods", "serverapp-0"), ("configmaps", "flower-datasets"), ("configmaps", "flower-packages")}
    assert resources(["portforward"]) == {*always, ("pods/portforward", "superlink-0")}
    assert resources(["exec"]) == {*always, ("pods/exec", "superlink-0"), ("pods/exec", "serverapp-0")}


def test_only_the_controller_reads_secrets_and_changes_anything(part_and_spec):
    part, _variables, spec = part_and_spec
    for holder in ("scientist", "auditor"):
        for needs in grants_grants(holder, part, spec, "flower-ca").values():
            for need in needs:
                assert need.resource != "secrets"
                assert "/" in need.resource or set(need.verbs.split()) <= {"get", "list", "watch"}
    assert not any("exec" in need.resource for need in TABLE["auditor", part])


def test_a_backup_changes_nothing_but_its_note(parsed_hub):
    found = {
        str(one)
        for place, needs in grants_grants("backup", "superlink", parsed_hub(), "flower-ca").items()
        for need in needs
        for one in rights(need, place)
    }
    assert {one for one in found if not one.startswith(("get ", "list "))} == {
        "create configmaps in namespace flower",
        "update configmaps in namespace flower (flower-backup)",
        "create pods/exec in namespace flower (superlink-0)",
    }
    assert {one for one in found if "flower-ca" in one} == {"list secrets in namespace flower-ca"}


def test_a_backup_has_rights_on_the_hub_only(superlink_spec, supernode_spec):
    given = SETTINGS | {"backup": {"kind": "ServiceAccount", "name": "flower-backup"}}
    hub, before = (rights_objects("superlink", superlink_spec(), settings) for settings in (given, SETTINGS))
    added = [(item["kind"], item["metadata"]["namespace"], item["metadata"]["name"]) for item in hub if item not in before]
    assert added == [
        ("ServiceAccount", "flower-ca", "flower-backup"),
        ("Role", "flower", "flower-hub-backup"), ("RoleBinding", "flower", "flower-hub-backup"),
        ("Role", "flower-ca", "flower-hub-backup"), ("RoleBinding", "flower-ca", "flower-hub-backup"),
    ]  # fmt: skip
    site = rights_objects("supernode", supernode_spec(), given)
    assert site == rights_objects("supernode", supernode_spec(), SETTINGS)


AUDITOR = {"auditors": [{"kind": "ServiceAccount", "name": "auditor", "namespace": "flower"}]}


def accounts(objects):
    """Accounts by namespace and name."""
    return {(item["metadata"]["namespace"], item["metadata"]["name"]): item for item in objects if item["kind"] == "ServiceAccount"}


def test_hub_and_site_write_a_common_account_alike(superlink_spec, supernode_spec):
    """Otherwise each run of one changes what the other wrote."""
    hub, site = (
        rights_objects(part, spec(), SETTINGS | AUDITOR) for part, spec in (("superlink", superlink_spec), ("supernode", supernode_spec))
    )
    common = accounts(hub).keys() & accounts(site).keys()
    assert common == {("flower", "auditor")}
    assert accounts(hub)["flower", "auditor"] == accounts(site)["flower", "auditor"]


def test_a_host_that_is_hub_and_site_has_each_object_once(superlink_spec, supernode_spec):
    """Also where the two render it in different ways."""
    hub = rights_objects("superlink", superlink_spec(labels={"of": "the-hub"}), SETTINGS | AUDITOR | {"skupper": True})
    site = rights_objects("supernode", supernode_spec(), SETTINGS | AUDITOR)
    both = [*hub, *beside(site, hub)]
    ids = [(item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"]) for item in both]
    assert len(set(ids)) == len(ids) and both[: len(hub)] == hub
    assert {("Namespace", None, "flower"), ("ServiceAccount", "flower", "auditor"), ("Role", "flower", "flower-site-auditor")} <= set(ids)
    assert beside(site, []) == site


def test_an_account_without_rights_is_not_created(supernode_spec):
    scientist = {"scientists": [{"kind": "ServiceAccount", "name": "ann", "namespace": "flower"}]}
    site = rights_objects("supernode", supernode_spec(), SETTINGS | scientist)
    assert ("flower", "ann") not in accounts(site) and ("flower", "flower-controller") in accounts(site)


@each_row(("delivery", "own_access"), [("direct", True), ("ocm", False), ("bundle", False)])
def test_a_site_that_is_not_reached_directly_needs_no_rights(supernode_spec, delivery, own_access):
    action = object.__new__(ActionModule)
    outcomes = Outcomes(SimpleNamespace(), ["site-a"], 1)
    site = SimpleNamespace(access=access_of({"flower_delivery": delivery}), given=supernode_spec())
    action.work({"state": "described", "rights": SETTINGS, "beside": []}, {"site-a": site}, outcomes)
    facts = outcomes["site-a"].facts
    assert facts["own_access"] is own_access and bool(facts["rights"]) is own_access


def test_every_row_says_what_it_is_for():
    for needs in TABLE.values():
        for need in needs:
            assert need.purpose and not need.purpose.endswith(".") and need.verbs


def right(verb, group, resource, name=""):
    """A right in some namespace."""
    return Right(verb, group, resource, "here", name)


def test_rights_are_found_in_rules():
    rule = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods", "*/exec"]}
    assert missing([right("get", "", "pods"), right("list", "", "pods/exec")], [rule]) == []
    assert missing([right("patch", "", "pods"), right("get", "apps", "pods")], [rule]) == [
        right("patch", "", "pods"),
        right("get", "apps", "pods"),
    ]
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
    assert missing([right("patch", "apps", "statefulsets")], [everything]) == []


def test_a_rule_for_some_names_is_a_right_on_these():
    rule = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["one"]}
    all_pods, two = right("get", "", "pods"), right("get", "", "pods", "two")
    assert missing([right("get", "", "pods", "one"), two, all_pods], [rule]) == [two, all_pods]


WRONG = {
    "controller.kind": (
        {"controller": {"name": "x"}},
        ["flower_rbac_controller.kind", "None", "ServiceAccount, User, Group"],
    ),
    "controller.name": (
        {"controller": {"kind": "ServiceAccount", "name": "A B"}},
        ["flower_rbac_controller.name", "'A B'"],
    ),
    "not a mapping": ({"scientists": ["ann"]}, ["flower_rbac_scientists[0]", "'ann'", "not a mapping"]),
    "no list": ({"auditors": "[]"}, ["flower_rbac_auditors", "'[]'", "not a list"]),
    "no name": ({"auditors": [{"kind": "Group", "name": " "}]}, ["flower_rbac_auditors[0].name", "not a name"]),
    "everybody": (
        {"scientists": [{"kind": "Group", "name": "system:authenticated"}]},
        ["flower_rbac_scientists[0].name", "'system:authenticated'", "too many users"],
    ),
    "all accounts": (
        {"scientists": [{"kind": "Group", "name": "system:serviceaccounts:flower"}]},
        ["flower_rbac_scientists[0].name", "too many users"],
    ),
    "namespace": (
        {"auditors": [{"kind": "User", "name": "ann", "namespace": "x"}]},
        ["flower_rbac_auditors[0].namespace", "'x'", "not apply to a User"],
    ),
    "unknown key": (
        {"auditors": [{"kind": "User", "name": "ann", "group": "x"}]},
        ["flower_rbac_auditors[0].group", "is not one of kind, name, namespace"],
    ),
    "way": ({"scientist_ways": ["attach"]}, ["flower_rbac_scientist_ways[0]", "'attach'", "exec, portforward"]),
    "no way": ({"scientist_ways": []}, ["flower_rbac_scientist_ways", "[]", "no access"]),
    "work": ({"works": ["sing"]}, ["flower_rbac_works[0]", "'sing'", "deploy, rotate, upgrade, teardown, logs"]),
    "state": ({"state": "gone"}, ["flower_rbac_state", "'gone'", "present, absent"]),
}


@each_row("name", WRONG)
def test_wrong_settings_are_named(name, supernode_spec):
    changes, words = WRONG[name]
    with pytest.raises(ClusterError) as caught:
        rights_objects("supernode", supernode_spec(), SETTINGS | changes)
    (fault,) = str(caught.value).splitlines()
    for word in ("site-a: ", *words):
        assert word in fault


def test_faults_of_spec_and_settings_come_at_once(superlink_spec):
    with pytest.raises(ClusterError) as caught:
        rights_objects("superlink", superlink_spec(port=0), SETTINGS | {"state": "gone"})
    assert "superlink_port" in str(caught.value) and "flower_rbac_state" in str(caught.value)


def test_subjects_stand_where_they_belong():
    settings = {"controller": [{"kind": "ServiceAccount", "name": "a"}, {"kind": "ServiceAccount", "name": "a"}]}
    assert role_objects.subjects(settings, "controller", "flower-ca") == [
        role_objects.Subject("ServiceAccount", "a", "flower-ca")
    ]
    assert role_objects.subjects({"controller": {}}, "controller", "flower-ca") == []
