# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from dataclasses import replace

from ansible_collections.federated.flower.plugins.plugin_utils.manifests import common_objects
from ansible_collections.federated.flower.plugins.plugin_utils.skupper import skupper_requirements, state
from ansible_collections.federated.flower.plugins.plugin_utils.spec.network_spec import NetworkSiteSpec
from ansible_collections.federated.flower.tests.unit.plugins.plugin_utils.skupper import objects as given
from ansible_collections.federated.flower.tests.unit.rows import each_row

LABELS = tuple(f"pod-security.kubernetes.io/{mode}" for mode in ("audit", "enforce", "warn"))
SPEC = NetworkSiteSpec(namespace="flower", pod_security="auto")
# Skupper's controller 2.2.1 in a namespace of Kubernetes 1.34.4 that enforces restricted, 2026-11-22.
SAID = (
    'pods "skupper-router-5c7d9b6f4-" is forbidden: violates PodSecurity "restricted:latest": seccompProfile (pod or containers '
    '"config-init", "router", "kube-adaptor" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")'
)
REFUSED = {
    "kind": "Deployment",
    "metadata": {"name": "skupper-router", "namespace": "flower"},
    "status": {"conditions": [{"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": SAID}]},
}
NOT_RUNNING = given.site(conditions=[given.condition("Configured"), given.condition("Running", False, "Pending")])


def live(level="restricted", *, ours=True):
    labels = {**(given.OURS if ours else {}), **({LABELS[1]: level} if level else {})}
    return {"metadata": {"name": "flower", "labels": labels}}


@each_row(
    ("more", "levels"),
    [
        ({"pod_security": "auto"}, ["restricted"] * 3),
        ({"pod_security": "auto", "skupper": True}, ["restricted", "baseline", "restricted"]),
        ({"pod_security": "auto", "connectivity": "skupper"}, ["restricted", "baseline", "restricted"]),
        ({"pod_security": "auto", "connectivity": "direct"}, ["restricted"] * 3),
        ({"pod_security": "restricted", "connectivity": "skupper"}, ["restricted"] * 3),
        ({"pod_security": "baseline"}, ["baseline"] * 3),
        ({"pod_security": "", "connectivity": "skupper"}, [None] * 3),
    ],
)
def test_a_namespace_with_routers_enforces_what_they_keep_to(more, levels, parsed_site):
    (made,) = common_objects.namespace_objects(parsed_site(**more))
    assert [made["metadata"]["labels"].get(label) for label in LABELS] == levels


def test_another_namespace_of_the_hub_has_no_routers(parsed_hub):
    spec = parsed_hub(pod_security="auto", skupper=True)
    (ca,) = common_objects.namespace_objects(spec.beside("flower-ca"))
    assert (ca["metadata"]["name"], ca["metadata"]["labels"][LABELS[1]]) == ("flower-ca", "restricted")
    assert spec.beside(spec.namespace) == spec


@each_row(
    ("spec", "item", "changes"),
    [
        (SPEC, live(), True),
        (SPEC, live("baseline"), False),
        (SPEC, live(""), False),
        (SPEC, live(ours=False), False),
        (SPEC, None, False),
        (replace(SPEC, pod_security="restricted"), live(), False),
        (replace(SPEC, create_namespace=False), live(), False),
    ],
)
def test_only_a_namespace_of_ours_is_changed_and_only_when_nobody_said_otherwise(spec, item, changes):
    assert skupper_requirements.is_to_change(spec, item) is changes
    assert ("From now on it enforces baseline" in skupper_requirements.level_warning(spec, item, running=False)) is changes


@each_row(
    ("level", "said", "hopeless"),
    [
        ("restricted", "Set flower_pod_security to auto or baseline", True),
        ("", "Set flower_pod_security to auto or baseline", True),  # what the API server enforces by default
        ("baseline", "violates PodSecurity", False),
    ],
)
def test_a_site_without_router_pods_says_what_refuses_them(level, said, hopeless):
    found = state.site(NOT_RUNNING, pods=[], deployments=[REFUSED], namespace=live(level))
    assert SAID in found.why and said in found.why and found.failed is hopeless


def test_a_quota_is_quoted_and_waited_for():
    full = {"type": "ReplicaFailure", "status": "True", "message": 'pods "x" is forbidden: exceeded quota: compute'}
    found = state.site(NOT_RUNNING, deployments=[{**REFUSED, "status": {"conditions": [full]}}], namespace=live())
    assert "exceeded quota: compute" in found.why and not found.failed
    over = {**full, "status": "False"}
    found = state.site(NOT_RUNNING, deployments=[{**REFUSED, "status": {"conditions": [over]}}], namespace=live())
    assert found.why == "its router does not run: there are no pods"
