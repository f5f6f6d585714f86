# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What differs between Kubernetes and OpenShift."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base import platforms
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import network_policies, superlink, supernode
from ansible_collections.federated.flower.plugins.plugin_utils.spec.hub_spec import HubSpec
from ansible_collections.federated.flower.plugins.plugin_utils.spec.site_spec import SiteSpec
from ansible_collections.federated.flower.tests.unit.read import yaml_file
from ansible_collections.federated.flower.tests.unit.rows import each_row

IDS = ("run_as_user", "run_as_group", "fs_group")
OPEN: dict[str, Any] = {
    **dict.fromkeys(IDS, "auto"),
    "dns": platforms.KUBE_DNS,
    "monitoring_namespaces": [],
    "federation": "flower",
    "namespace": "flower",
    "version": "1.41.0",
    "exposure": "auto",
    "storage_size": "1Gi",
}


@each_row(
    ("groups", "found"),
    [
        (["apps", "route.openshift.io", "security.openshift.io"], "openshift"),
        (["apps"], "kubernetes"),
        ([], "kubernetes"),
        # A CustomResourceDefinition that someone installed.
        (["apps", "route.openshift.io"], "kubernetes"),
        (["security.openshift.io"], "kubernetes"),
    ],
)
def test_a_platform_is_known_by_its_groups(groups: list[str], found: str) -> None:
    assert platforms.of_groups(groups) == found


@pytest.mark.parametrize("found_later", [False, True])
def test_openshift_chooses_users_dns_monitoring_and_exposure(found_later: bool) -> None:
    spec = HubSpec.parse(OPEN if found_later else {**OPEN, "platform": "openshift"})
    spec = spec.on("openshift") if found_later else spec
    assert [getattr(spec, name) for name in IDS] == [None, None, None]
    assert (spec.exposure, spec.dns) == ("route", platforms.OPENSHIFT_DNS)
    assert spec.monitoring_namespaces == ["openshift-user-workload-monitoring"]
    assert spec.platform == "openshift"


@each_row("platform", ["", "auto", "kubernetes"])
def test_kubernetes_is_the_default(platform: str) -> None:
    for spec in (HubSpec.parse({**OPEN, "platform": platform}), HubSpec.parse(OPEN).on("kubernetes")):
        assert [getattr(spec, name) for name in IDS] == [49999, 49999, 49999]
        assert (spec.exposure, spec.monitoring_namespaces) == ("load_balancer", [])
        assert sorted(map(str, spec.dns)) == sorted(map(str, [*platforms.KUBE_DNS, *platforms.NODE_DNS]))


def test_what_a_user_sets_stays() -> None:
    dns = [{"cidr": "10.0.0.10"}]
    given = {**OPEN, "run_as_user": 1000, "fs_group": None, "exposure": "node_port", "dns": dns, "monitoring_namespaces": ["x"]}
    for spec in (HubSpec.parse({**given, "platform": "openshift"}), HubSpec.parse(given).on("openshift")):
        assert (spec.run_as_user, spec.run_as_group, spec.fs_group) == (1000, None, None)
        assert (spec.exposure, spec.dns, spec.monitoring_namespaces) == ("node_port", dns, ["x"])


def test_the_roles_leave_these_to_the_platform() -> None:
    for role in ("superlink", "supernode"):
        defaults = yaml_file("roles", role, "defaults", "main.yml")
        assert {defaults[f"{role}_{name}"] for name in IDS} == {f"{{{{ flower_{name} | default('auto') }}}}" for name in IDS}
        options = yaml_file("roles", role, "meta", "argument_specs.yml")["argument_specs"]["main"]["options"]
        assert options[f"{role}_dns"]["default"] == platforms.KUBE_DNS
        assert options[f"{role}_platform"]["choices"] == list(platforms.PLATFORMS)


def test_no_pod_of_openshift_has_a_user_of_its_own() -> None:
    """The security context constraint restricted-v2 refuses every user and fsGroup that is not of the namespace's range."""
    hub = HubSpec.parse({**OPEN, "platform": "openshift", "outputs_enabled": True}).complete()
    site = SiteSpec.parse({**OPEN, "platform": "openshift", "pools": [{"name": "cpu"}]}).complete()
    objects = [*superlink.objects(hub), *supernode.objects(site)]
    pods = [item["spec"]["template"]["spec"] for item in objects if "template" in item.get("spec", {})]
    assert len(pods) == 3
    for pod in pods:
        one = [*(pod.get("initContainers") or []), *pod["containers"]]
        contexts = [pod["securityContext"], *(container["securityContext"] for container in one)]
        assert not any({"runAsUser", "runAsGroup", "fsGroup", "seLinuxOptions"} & set(context) for context in contexts)
    assert {item["kind"] for item in objects} & {"SecurityContextConstraints"} == set()


def test_policies_know_caches_on_nodes() -> None:
    """Pods of GKE and kubespray ask these and no pod of kube-dns."""
    site = SiteSpec.parse({**OPEN, "pools": [{"name": "cpu"}]}).complete()
    peers = [rule["to"] for rule in network_policies.egress_rules(site.dns)]
    assert [{"ipBlock": {"cidr": "169.254.0.0/16"}}] in peers
    assert [one["podSelector"]["matchLabels"]["k8s-app"] for (one,) in peers if "podSelector" in one] == ["kube-dns", "node-local-dns"]
    assert {rule["ports"][0]["port"] for rule in network_policies.egress_rules(site.dns)} == {53}


def test_policies_know_the_dns_of_openshift() -> None:
    site = SiteSpec.parse({**OPEN, "platform": "openshift", "pools": [{"name": "cpu"}]}).complete()
    (rule, *_more) = network_policies.egress_rules(site.dns)
    assert rule["ports"] == [{"port": 5353, "protocol": "UDP"}, {"port": 5353, "protocol": "TCP"}]
    (peer,) = rule["to"]
    assert peer["namespaceSelector"] == {"matchLabels": {"kubernetes.io/metadata.name": "openshift-dns"}}
