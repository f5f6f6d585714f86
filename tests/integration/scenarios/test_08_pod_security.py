# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""Pod Security: namespaces enforce "restricted", and everything runs as any user that a cluster assigns."""

from __future__ import annotations

import copy

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Forbidden
from ansible_collections.federated.flower.tests.integration.scenarios.lane import CA_NAMESPACE, NAMESPACE

SPACE = f"{NAMESPACE}-uid"
# As OpenShift's SCC restricted-v2 does it: a user from the namespace's range, group 0, and files belong to an unknown user.
ANY_USER = {"flower_run_as_user": 1000650000, "flower_run_as_group": 0, "flower_fs_group": None}


def test_every_namespace_enforces_restricted(fed):
    for context, name in (("hub", NAMESPACE), ("hub", CA_NAMESPACE), ("site-a", NAMESPACE), ("site-b", NAMESPACE)):
        labels = fed.cluster(context).get("v1", "Namespace", name)["metadata"]["labels"]
        levels = {mode: labels.get(f"pod-security.kubernetes.io/{mode}") for mode in ("enforce", "warn", "audit")}
        assert set(levels.values()) == {"restricted"}, f"{name} on {context}: {levels}"


@pytest.mark.parametrize("name", ["", "-ca"])
def test_a_pod_with_privileges_is_refused(fed, name):
    pod = {"containers": [{"name": "root", "image": "none", "securityContext": {"privileged": True}}]}
    with pytest.raises(Forbidden, match='violates PodSecurity "restricted'):
        fed.hub.apply(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "root", "namespace": NAMESPACE + name},
                "spec": pod,
            }
        )


@pytest.fixture(scope="module")
def small(federation):
    """The smallest federation, beside the other one, as a random user."""
    hosts = federation.base()
    del hosts["site-b"]
    hosts["site-a"]["supernode_pools"] = [{**copy.deepcopy(hosts["site-a"]["supernode_pools"][0]), "replicas": 1}]
    settled = federation.settled
    run = federation.site(hosts, flower_namespace=SPACE, flower_ca_namespace=f"{SPACE}-ca", **ANY_USER)
    federation.settled = settled
    yield run
    for context in ("hub", "site-a"):
        for name in (SPACE, f"{SPACE}-ca"):
            if federation.cluster(context).get("v1", "Namespace", name):
                federation.cluster(context).delete("v1", "Namespace", name, propagation="Background")


def test_everything_runs_as_a_random_user(federation, small):
    assert "1 SuperNode of 1 site is online" in small.messages()
    seen = {}
    for context, name in (("hub", "superlink"), ("hub", "serverapp"), ("site-a", "supernode")):
        for pod, found in federation.pods(context, SPACE, name).items():
            assert "fsGroup" not in found["spec"]["securityContext"]
            status = found["status"]
            for container in [*status.get("initContainerStatuses", []), *status["containerStatuses"]]:
                assert container["ready"] and container["restartCount"] == 0, (pod, container)
                who = ["sh", "-c", "id -u; id -g; cat /proc/1/status"]
                result = federation.cluster(context).exec(SPACE, pod, container["name"], who)
                user, group, *rest = result.stdout.decode().splitlines()
                first = next(line.split()[1:] for line in rest if line.startswith("Uid:"))
                seen[f"{pod}/{container['name']}"] = (user, group, first)
    assert set(seen) == {
        "superlink-0/superlink",
        "superlink-0/gateway",
        "serverapp-0/superexec",
        "serverapp-0/outputs",
        "supernode-cpu-0/supernode",
        "supernode-cpu-0/superexec",
        "supernode-cpu-0/sidecar",
    }
    assert {(user, group, *uids) for user, group, uids in seen.values()} == {("1000650000", "0", *["1000650000"] * 4)}
